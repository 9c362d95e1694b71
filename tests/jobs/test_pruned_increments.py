"""A nightly job of two pipelines: one loads what is new, the other removes what its source has no more.

Tasks run in this process.
"""

import sqlite3
from contextlib import closing
from functools import partial

import pytest

from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.job.restoring import Restore
from seatunnel_core.reporting.report import JobOutcome
from seatunnel_core.runtime.job_run import JobRun
from tests.connectors.duckdb.duckdb_file import FILE, asked
from tests.runtime.ground import Ground, committed, kill, run_through, until

pytestmark = pytest.mark.timeout(300)
NIGHTS = 3


def source(ground: Ground, *statements: str) -> list[tuple[int, int]]:
    with closing(sqlite3.connect(ground.work / "source.db")) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()
        return database.execute("SELECT id, changed FROM orders ORDER BY id").fetchall()


def target(ground: Ground, kind: str) -> list[tuple[int, int]]:
    selected = "SELECT id, changed FROM orders ORDER BY id"
    if kind == "DuckDB":
        return list(asked(ground.work, selected))
    with closing(sqlite3.connect(ground.work / "target.db")) as database:
        return database.execute(selected).fetchall()


def text(ground: Ground, kind: str, *, keys: str = "", limit: str = "") -> str:
    url = f'url = "jdbc:sqlite:{ground.work}/target.db"' if kind == "Jdbc" else f'path = "{ground.work}/{FILE}"'
    shop = f'url = "jdbc:sqlite:{ground.work}/source.db"'
    return f"""
        env {{ job.name = nightly, job.mode = BATCH, checkpoint.interval = 40, job.retry.times = 0{limit} }}
        source {{
          Jdbc {{ plugin_output = new, {shop}, table_path = orders, incremental {{ column = changed }} }}
          Jdbc {{ plugin_output = keys, {shop}, query = "SELECT id FROM orders", partition_column = id, {keys} }}
        }}
        sink {{
          {kind} {{ plugin_input = new, {url}, table = orders, write_mode = merge, merge_key = [id] }}
          {kind} {{ plugin_input = keys, {url}, table = orders, write_mode = prune }}
        }}
    """


def has_committed(run: JobRun) -> bool:
    return committed(run) > 0


@pytest.mark.parametrize("kind", ["Jdbc", "DuckDB"])
def test_the_target_has_what_the_source_has_each_night_also_after_a_kill(ground: Ground, kind: str) -> None:
    source(ground, "CREATE TABLE orders (id INTEGER PRIMARY KEY, changed INTEGER)")
    for night in range(NIGHTS):
        had = source(
            ground,
            f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60) "
            f"INSERT INTO orders SELECT {1000 * night} + i, {night + 1} FROM n",
            f"UPDATE orders SET changed = {night + 1} WHERE id % 7 = {night}",
            f"DELETE FROM orders WHERE id % 5 = {night}",
        )
        restore = None
        if night == 1:
            with ground.run(text(ground, kind, limit=", read_limit.rows_per_second = 60"), f"night-{night}") as first:
                first.start()
                until(partial(has_committed, first), first)
                kill(first)
            restore = Restore()
        report, _ = run_through(ground.run(text(ground, kind), f"night-{night}", restore=restore))
        assert report.outcome is JobOutcome.FINISHED, report
        assert target(ground, kind) == had


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("incremental { column = id }", "removes the rows of earlier jobs .write_mode = prune., but its source"),
        (
            "row_error_handle_way = SKIP",
            "write_mode = prune and deletes rows with keys that are absent from the input, but",
        ),
    ],
)
def test_keys_that_are_not_all_keys_are_refused(ground: Ground, keys: str, said: str) -> None:
    source(ground, "CREATE TABLE orders (id INTEGER PRIMARY KEY, changed INTEGER)", "INSERT INTO orders VALUES (1, 1)")
    with pytest.raises(SeaTunnelError, match=said):
        run_through(ground.run(text(ground, "DuckDB", keys=keys)))
