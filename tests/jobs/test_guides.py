"""The guides to databases and to incremental loads, typed as they stand, with Spark."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.foundation.snippets import Snippet, snippets
from tests.foundation.test_readme import type_in

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

DATABASES = "docs/guides/databases.md"
LOADS = "docs/guides/incremental-loads.md"
PATIENCE_S = 120


def of_page(page: str, *languages: str) -> list[Snippet]:
    return [each for each in snippets(*languages) if each.page == page]


def save(page: str, folder: Path) -> None:
    """Write the files that a page has its reader save."""
    for each in of_page(page, "hocon", "python"):
        if each.file:
            (folder / each.file).write_text(each.text, encoding="utf-8")


def rows(database: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(query).fetchall()


@pytest.mark.torture
def test_tables_are_copied_to_a_database_to_files_and_back(tmp_path: Path) -> None:
    save(DATABASES, tmp_path)
    said = [type_in(each.text, tmp_path) for each in of_page(DATABASES, "shell")]
    assert "exactly-once" in said[1]
    orders = rows(tmp_path / "shop.db", "SELECT id, customer, price FROM orders ORDER BY id")
    assert len(orders) == 1000
    for copy in ("warehouse.db", "reports.db"):
        assert rows(tmp_path / copy, "SELECT id, customer, price FROM orders ORDER BY id") == orders
    assert rows(tmp_path / "warehouse.db", "SELECT count(*) FROM customers") == [(10,)]
    assert pq.read_table(tmp_path / "files" / "orders").num_rows == 1000
    assert pq.read_table(tmp_path / "files" / "customers").num_rows == 10


@pytest.mark.torture
def test_new_rows_are_loaded_each_night(tmp_path: Path) -> None:
    save(DATABASES, tmp_path)
    save(LOADS, tmp_path)
    type_in("python shop.py", tmp_path)
    night, choices = [each.text for each in of_page(LOADS, "shell") if "new-orders" in each.text]
    days = "SELECT min(date(ordered_at)), max(date(ordered_at)), count(*) FROM orders"
    assert "2026-01-30 12:00:00  2026-01-30 11:55:00" in type_in(night, tmp_path)
    assert rows(tmp_path / "warehouse.db", days) == [("2026-01-10", "2026-01-30", 694)]
    with closing(sqlite3.connect(tmp_path / "shop.db")) as shop, shop:
        shop.execute("INSERT INTO orders VALUES (1000, 1, 1.5, '2026-02-01 12:00:00')")
        shop.execute("INSERT INTO orders VALUES (1001, 1, 1.5, '2026-01-30 11:56:00')")
        shop.execute("UPDATE orders SET price = 7, ordered_at = '2026-02-02 12:00:00' WHERE id = 3")
    assert "3 rows committed" in type_in(night.splitlines()[0], tmp_path)
    assert rows(tmp_path / "warehouse.db", days) == [("2026-01-10", "2026-02-02", 697)]
    assert rows(tmp_path / "warehouse.db", "SELECT price FROM orders WHERE id = 3") == [(7.0,)]
    set_back, reset = choices.splitlines()
    type_in(set_back, tmp_path)
    assert "366 rows committed" in type_in(night.splitlines()[0], tmp_path)
    assert "reads everything" in type_in(reset, tmp_path)


@pytest.mark.torture
def test_new_files_are_loaded_each_night(tmp_path: Path) -> None:
    save(LOADS, tmp_path)
    (nights,) = [each.text for each in of_page(LOADS, "shell") if "new-files" in each.text]
    said = type_in(nights, tmp_path)
    assert said.count("finished, 1 row committed") == 2, said
    lines = [line for file in (tmp_path / "new-files").glob("*.json") for line in file.read_text().splitlines()]
    assert sorted(lines) == ['{"id":4,"name":"four"}', '{"id":5,"name":"five"}']


@pytest.mark.torture
def test_files_of_a_folder_are_loaded_once_over_two_runs(tmp_path: Path) -> None:
    save(LOADS, tmp_path)
    begin, again = [each.text for each in of_page(LOADS, "shell") if "inbox" in each.text]
    here = {"XDG_RUNTIME_DIR": str(tmp_path)}
    drain, add, resume, last = again.splitlines()
    type_in(begin, tmp_path, **here)
    try:
        until_loaded(tmp_path, 2)
        type_in(f"{drain}\n{add}\n{resume}", tmp_path, **here)
        until_loaded(tmp_path, 3)
    finally:
        type_in(last, tmp_path, **here)
    assert sorted(loaded(tmp_path)) == ['{"id":1,"name":"one"}', '{"id":2,"name":"two"}', '{"id":3,"name":"three"}']


def loaded(folder: Path) -> list[str]:
    return [line for file in (folder / "loaded").glob("*.json") for line in file.read_text().splitlines()]


def until_loaded(folder: Path, number: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while len(loaded(folder)) < number:
        assert time.monotonic() < deadline, loaded(folder)
        time.sleep(0.2)
