"""Tables that are dropped while their job is stopped: whole jobs, with tasks in this process."""

import re
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from attrs import frozen
from pyiceberg.catalog import load_catalog

from seatunnel_core.checkpoint.state import codec
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.job.restoring import Restore
from seatunnel_core.reporting.report import JobOutcome
from seatunnel_core.runtime.job_run import JobRun
from tests.connectors.iceberg.iceberg_tables import catalog_of
from tests.runtime.command import fake_source, job
from tests.runtime.ground import ALL, ROWS, Ground, committed, ground_in, kill, run_through, until

pytestmark = pytest.mark.timeout(300)


@frozen(kw_only=True)
class Target:
    """A target with one table, and what its users do to it."""

    sink: str
    named: str
    do: Callable[[Path, str], Any]
    """Runs a statement, or what stands for it."""

    may_be_committed: bool = False
    """Whether a table that was created again in its place is recognised."""

    dropped: str = "DROP TABLE orders"
    made: str = "CREATE TABLE orders (id BIGINT, text VARCHAR(100))"
    moved: str = "ALTER TABLE orders RENAME TO elsewhere"
    back: str = "ALTER TABLE elsewhere RENAME TO orders"
    count: str = "SELECT count(*) FROM orders"
    ids: str = "SELECT id FROM orders"


def in_sqlite(folder: Path, statement: str) -> Any:
    forget()
    with sqlite3.connect(f"{folder}/shop.db") as connection:
        return [row[0] for row in connection.execute(statement).fetchall()]


def in_duckdb(folder: Path, statement: str) -> Any:
    with duckdb.connect(f"{folder}/shop.duckdb") as connection:
        return [row[0] for row in connection.execute(statement).fetchall()]


def in_iceberg(folder: Path, what: str) -> Any:
    catalog = load_catalog("default", **catalog_of(folder))
    if what.startswith("SELECT"):
        return catalog.load_table("shop.orders").scan().to_arrow()["id"].to_pylist()
    if what == "moved":
        return catalog.rename_table("shop.orders", "shop.elsewhere")
    if what == "back":
        return catalog.rename_table("shop.elsewhere", "shop.orders")
    return catalog.create_table("shop.orders", catalog.load_table("shop.elsewhere").schema())


_CATALOG = 'type = sql, uri = "sqlite:///{work}/catalog.db", warehouse = "file://{work}/warehouse"'
_SHOP = "namespace = shop"
_URL = 'url = "jdbc:sqlite:{work}/shop.db", table = orders'
TARGETS = {
    "jdbc": Target(
        sink=f"Jdbc {{ plugin_input = a, {_URL}, generate_sink_sql = true, is_exactly_once = true }}",
        named="orders",
        do=in_sqlite,
    ),
    "jdbc-at-once": Target(
        sink=f"Jdbc {{ plugin_input = a, {_URL}, generate_sink_sql = true, primary_keys = [id] }}",
        named="orders",
        do=in_sqlite,
    ),
    "duckdb": Target(
        sink='DuckDB { plugin_input = a, path = "{work}/shop.duckdb", table = orders }',
        named="main.orders",
        do=in_duckdb,
    ),
    "iceberg": Target(
        sink=f"Iceberg {{ plugin_input = a, iceberg.catalog.config {{ {_CATALOG} }}, {_SHOP}, table = orders }}",
        named="shop.orders",
        do=in_iceberg,
        may_be_committed=True,
        moved="moved",
        back="back",
    ),
}


def text(ground: Ground, target: Target, *, rows_per_second: int | None = 150) -> str:
    limit = "" if rows_per_second is None else f", read_limit.rows_per_second = {rows_per_second}"
    env = f"job.mode = BATCH, checkpoint.interval = 40, job.retry.times = 0{limit}"
    sink = target.sink.replace("{work}", str(ground.work))
    return job(env, [fake_source("a", rows=ROWS, splits=60)], [sink])


@pytest.mark.parametrize("kind", TARGETS)
def test_a_table_that_is_lost_while_its_job_is_stopped_is_not_created_again(kind: str, tmp_path: Path) -> None:
    """It was created again, and the job ended with exit code 0 without the rows that it had committed before."""
    target = TARGETS[kind]
    with ground_in(tmp_path) as ground:
        ground.work.mkdir()
        with ground.run(text(ground, target)) as first:
            first.start()
            until(lambda: committed(first) >= ROWS // 6, first)
            kill(first)
        target.do(ground.work, target.moved)
        free = text(ground, target, rows_per_second=None)
        for _ in range(2):  # the first one leaves nothing that deceives the second one
            report, _ = run_through(ground.run(free, restore=Restore()))
            assert report.outcome is JobOutcome.FAILED
            said = report.pipelines[0].failure
            assert f"the table {target.named} does not exist, but this job has committed rows to it" in said
            assert "Restore the table with its rows and resume the job, or start a new job" in said
            with pytest.raises(Exception, match=r"(?i)orders"):
                target.do(ground.work, target.count)
        if target.may_be_committed:
            target.do(ground.work, target.made)
            report, _ = run_through(ground.run(free, restore=Restore()))
            assert report.outcome is JobOutcome.FAILED
            said = report.pipelines[0].failure
            assert f"the table {target.named} is not the table to which this job has committed rows" in said
            load_catalog("default", **catalog_of(ground.work)).drop_table("shop.orders")
        target.do(ground.work, target.back)
        report, _ = run_through(ground.run(free, restore=Restore()))
        assert report.outcome is JobOutcome.FINISHED, report
        assert sorted(target.do(ground.work, target.ids)) == ALL


def test_a_lost_table_is_not_created_again_where_another_option_of_its_sink_changes(tmp_path: Path) -> None:
    """A sink that stages from now on has another binding, but the same target. Its tables were forgotten, unless the
    last checkpoint still named rows to publish."""
    target = TARGETS["jdbc-at-once"]
    with ground_in(tmp_path) as ground:
        ground.work.mkdir()
        with ground.run(text(ground, target, rows_per_second=20)) as first:
            first.start()
            until(lambda: committed(first) > 0 and has_nothing_to_publish(first), first)
            kill(first)
        target.do(ground.work, target.moved)
        free = text(ground, target, rows_per_second=None)
        changed = free.replace("primary_keys = [id]", "primary_keys = [id], is_exactly_once = true")
        assert changed != free
        report, _ = run_through(ground.run(changed, restore=Restore()))
        assert report.outcome is JobOutcome.FAILED
        said = report.pipelines[0].failure
        assert f"the table {target.named} does not exist, but this job has committed rows to it" in said
        target.do(ground.work, target.back)
        report, _ = run_through(ground.run(changed, restore=Restore()))
        assert report.outcome is JobOutcome.FINISHED, report
        assert sorted(target.do(ground.work, target.ids)) == ALL


def has_nothing_to_publish(run: JobRun) -> bool:
    """Whether its latest checkpoint has rows that are published, and no others."""
    assert run._storage is not None
    state = run._storage.load(run.checkpoints()[-1])
    sinks = [] if state is None else codec.decode(state.states).sinks.values()
    return any(sink.rows_committed and not sink.uncommitted for sink in sinks)


@pytest.mark.parametrize("kind", TARGETS)
def test_a_lost_table_is_not_created_again_by_a_pipeline_without_rows_in_it(kind: str, tmp_path: Path) -> None:
    """It was created again, and the job ended with exit code 0 without the rows of a pipeline that had finished."""
    target = TARGETS[kind]
    with ground_in(tmp_path) as ground:
        stop_with_rows_of_one_pipeline(ground, target)
        target.do(ground.work, target.moved)
        free = shared(ground, target, rows_per_second=None)
        for _ in range(2):  # the first one leaves nothing that deceives the second one
            report, _ = run_through(ground.run(free, restore=Restore()))
            assert report.outcome is JobOutcome.FAILED, report
            lost = "does not exist, but this job has committed rows to it|no longer exists"  # where it has staged rows
            assert re.search(f"the table {target.named} ({lost})", report.pipelines[1].failure), report
            with pytest.raises(Exception, match=r"(?i)orders"):
                target.do(ground.work, target.count)
        target.do(ground.work, target.back)
        report, _ = run_through(ground.run(free, restore=Restore()))
        assert report.outcome is JobOutcome.FINISHED, report
        assert sorted(target.do(ground.work, target.ids)) == (ALL if kind == "jdbc-at-once" else sorted(FEW + ALL))


FEW = ALL[:10]


def shared(ground: Ground, target: Target, *, rows_per_second: int | None) -> str:
    """Two pipelines with one target, of which the first one has few rows."""
    limit = "" if rows_per_second is None else f", read_limit.rows_per_second = {rows_per_second}"
    env = f"job.mode = BATCH, checkpoint.interval = 40, job.retry.times = 0{limit}"
    sink = target.sink.replace("{work}", str(ground.work)) + "\n"
    sinks = [sink.replace("plugin_input = a", f"plugin_input = {name}") for name in "ab"]
    return job(env, [fake_source("a", rows=len(FEW)), fake_source("b", rows=ROWS)], sinks)


def stop_with_rows_of_one_pipeline(ground: Ground, target: Target) -> None:
    """Run the job until its first pipeline has finished, and kill it before the other one has committed rows."""
    for rows_per_second in (50, 20, 10, 5):
        shutil.rmtree(ground.work, ignore_errors=True)
        ground.work.mkdir()
        forget()
        with ground.run(shared(ground, target, rows_per_second=rows_per_second)) as first:
            first.start()
            until(lambda: "finished" in [view.phase for view in first.progress().pipelines], first)
            kill(first)
            views = first.progress().pipelines
            if [view.rows_committed for view in views] == [len(FEW), 0]:
                return
    pytest.fail("both pipelines have rows, however slow they are")
