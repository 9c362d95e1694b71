"""One file of DuckDB that many threads write: it stays open while others wait, and is closed behind them."""

import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pytest
from attrs import evolve

from seatunnel_core.connectors.duckdb import database as module
from seatunnel_core.connectors.duckdb.database import Database

THREADS = 12


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that were opened, in order."""
    found: list[str] = []
    connect = duckdb.connect

    def noted(path: str, **more: Any) -> Any:
        found.append(path)
        return connect(path, **more)

    monkeypatch.setattr(duckdb, "connect", noted)
    return found


def numbers(path: Path) -> list[int]:
    """What another process reads."""
    code = "import duckdb, sys; print(duckdb.connect(sys.argv[1], read_only=True).sql('FROM t').fetchall())"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    return sorted(int(part) for part in "".join(sign if sign.isdigit() else " " for sign in done.stdout).split())


def add(database: Database, number: int, *, commit: bool = True) -> None:
    with database.transaction() as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS t (n INTEGER)")
        connection.execute(f"INSERT INTO t VALUES ({number})")
        if commit:
            connection.commit()


def together(database: Database, first: Any, *others: Any) -> None:
    """Let the others wait while the first transaction is open."""
    with ThreadPoolExecutor(len(others)) as threads:
        with database.transaction() as connection:
            first(connection)
            found = [threads.submit(other) for other in others]
            until_waiting(database, len(others))
            connection.commit()
        for each in found:
            each.result()


def until_waiting(database: Database, count: int) -> None:
    (shared,) = (each for path, each in module._files.items() if path == str(Path(database.path).resolve()))
    deadline = time.monotonic() + 60
    while len(shared.waiting) < count:
        assert time.monotonic() < deadline
        threading.Event().wait(0.001)


def test_the_file_is_opened_once_for_threads_that_wait_and_closed_behind_them(
    tmp_path: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LONGEST_OPEN_S", 3600.0)
    database = Database(path=str(tmp_path / "a.duckdb"), properties={}, wait_s=0)
    others = [lambda n=n: add(database, n) for n in range(THREADS)]
    together(database, lambda connection: connection.execute("CREATE TABLE t (n INTEGER)"), *others)
    assert opened == [database.path]
    assert numbers(tmp_path / "a.duckdb") == list(range(THREADS))


def test_others_can_read_the_file_now_and_then(
    tmp_path: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LONGEST_OPEN_S", 0.0)
    database = Database(path=str(tmp_path / "a.duckdb"), properties={}, wait_s=0)
    others = [lambda n=n: add(database, n) for n in range(3)]
    together(database, lambda connection: connection.execute("CREATE TABLE t (n INTEGER)"), *others)
    assert len(opened) == 4


def test_a_transaction_that_fails_closes_the_file_and_is_rolled_back(tmp_path: Path, opened: list[str]) -> None:
    database = Database(path=str(tmp_path / "a.duckdb"), properties={}, wait_s=0)
    add(database, 1)

    def fails() -> None:
        with pytest.raises(duckdb.Error), database.transaction() as connection:
            connection.execute("INSERT INTO t VALUES (2); INSERT INTO nothing VALUES (1)")

    together(database, lambda connection: None, fails)
    add(database, 3, commit=False)
    assert numbers(tmp_path / "a.duckdb") == [1]


def test_a_file_that_was_replaced_while_it_was_open_gets_no_rows_meant_for_the_other(tmp_path: Path) -> None:
    """A thread that waits would write into the file that is gone: its rows would be lost, and be told as committed."""
    path, other = tmp_path / "a.duckdb", tmp_path / "other.duckdb"
    database = Database(path=str(path), properties={}, wait_s=0)
    add(database, 1)
    add(evolve(database, path=str(other)), 7)
    together(database, lambda connection: shutil.move(other, path), lambda: add(database, 8))
    assert numbers(path) == [7, 8]


def test_other_settings_open_the_file_anew(tmp_path: Path, opened: list[str]) -> None:
    database = Database(path=str(tmp_path / "a.duckdb"), properties={}, wait_s=0)
    other = evolve(database, properties={"memory_limit": "1GB"})
    together(database, lambda connection: connection.execute("CREATE TABLE t (n INTEGER)"), lambda: add(other, 1))
    assert len(opened) == 2
    assert numbers(tmp_path / "a.duckdb") == [1]
