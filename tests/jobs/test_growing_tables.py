"""A nightly job whose source table gets columns and wider types goes on, also when it is killed in such a night."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import pytest

from seatunnel_core.job.restoring import Restore
from seatunnel_core.reporting.report import JobOutcome
from tests.connectors.duckdb.duckdb_file import FILE, asked
from tests.runtime.ground import Ground, committed, kill, run_through, until

pytestmark = pytest.mark.timeout(300)
TARGETS = ["Jdbc", "DuckDB"]


def change(ground: Ground, *statements: str) -> None:
    with closing(sqlite3.connect(ground.work / "source.db")) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


def text(ground: Ground, target: str, contract: str = "evolve", limit: str = "") -> str:
    url = f'url = "jdbc:sqlite:{ground.work}/target.db"' if target == "Jdbc" else f'path = "{ground.work}/{FILE}"'
    return f"""
        env {{ job.name = nightly, job.mode = BATCH, checkpoint.interval = 40, job.retry.times = 0{limit} }}
        source {{
          Jdbc {{
            url = "jdbc:sqlite:{ground.work}/source.db", table_path = orders
            incremental {{ column = changed }}, split.size = 10
          }}
        }}
        sink {{
          {target} {{ {url}, table = orders, write_mode = merge, merge_key = [id], schema_contract = {contract} }}
        }}
    """


def rows(ground: Ground, target: str) -> Sequence[tuple[Any, ...]]:
    selected = "SELECT * FROM orders ORDER BY id"
    if target == "DuckDB":
        return [row[:1] + row[2:] for row in asked(ground.work, selected)]
    with closing(sqlite3.connect(ground.work / "target.db")) as database:
        return [row[:1] + row[2:] for row in database.execute(selected)]


def night(ground: Ground, number: int, target: str, **how: str) -> str:
    report, _ = run_through(ground.run(text(ground, target, **how), f"night-{number}"))
    return str(report) if report.outcome is not JobOutcome.FINISHED else ""


@pytest.mark.parametrize("target", TARGETS)
def test_it_gets_the_column_and_older_rows_have_null_there(
    ground: Ground, target: str, caplog: pytest.LogCaptureFixture
) -> None:
    change(ground, "CREATE TABLE orders (id INTEGER PRIMARY KEY, changed INTEGER)", "INSERT INTO orders VALUES (1, 1)")
    assert not night(ground, 1, target)
    change(ground, "ALTER TABLE orders ADD COLUMN note TEXT", "INSERT INTO orders VALUES (2, 2, 'two')")
    assert "has no column 'note', which the rows of" in night(ground, 2, target, contract="freeze")
    assert "add it, or write schema_contract = evolve" in caplog.text
    report, _ = run_through(ground.run(text(ground, target), "night-2", restore=Restore()))
    assert report.outcome is JobOutcome.FINISHED, "with the contract changed it goes on"
    assert rows(ground, target) == [(1, None), (2, "two")]
    change(ground, "ALTER TABLE orders DROP COLUMN note", "UPDATE orders SET changed = 4 WHERE id = 2")
    assert not night(ground, 4, target), "a column that the source lacks any more stays"
    assert rows(ground, target) == [(1, None), (2, "two")]


@pytest.mark.parametrize("target", TARGETS)
def test_it_is_killed_in_the_night_in_which_the_table_grew(ground: Ground, target: str) -> None:
    change(ground, "CREATE TABLE orders (id INTEGER PRIMARY KEY, changed INTEGER)", "INSERT INTO orders VALUES (1, 1)")
    assert not night(ground, 1, target)
    many = "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 400) SELECT i, i, 'n' || i FROM n"
    change(ground, "ALTER TABLE orders ADD COLUMN note TEXT", f"INSERT INTO orders {many}")
    with ground.run(text(ground, target, limit=", read_limit.rows_per_second = 150"), "night-2") as killed:
        killed.start()
        until(lambda: committed(killed) >= 20, killed)
        kill(killed)
    assert 20 <= len(rows(ground, target)) < 400
    report, _ = run_through(ground.run(text(ground, target), "night-2", restore=Restore()))
    assert report.outcome is JobOutcome.FINISHED, report
    assert rows(ground, target) == [(1, None), *((number, f"n{number}") for number in range(2, 401))]
