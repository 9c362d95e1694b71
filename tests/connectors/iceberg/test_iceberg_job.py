"""A whole job into Iceberg, killed while rows are on their way and restored. Tasks run in this process."""

from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog import load_catalog

from seatunnel_core.job.restoring import Restore
from seatunnel_core.reporting.report import JobOutcome
from seatunnel_core.runtime.job_run import JobRun
from tests.connectors.iceberg.iceberg_tables import catalog_of, iceberg_sink, table_in
from tests.runtime.command import fake_source, job
from tests.runtime.ground import ALL, OLD, ROWS, Ground, committed, ground_in, kill, run_through, until

pytestmark = pytest.mark.timeout(300)


TWO_TABLES = """
  FakeSource {
    plugin_output = a
    tables_configs = [
      { row.num = 300, split.num = 30, auto.increment.enabled = true
        schema { table = "old.orders", fields { id = bigint } } }
      { row.num = 300, split.num = 30, auto.increment.enabled = true
        schema { table = "old.names", fields { id = bigint, name = string } } }
    ]
  }"""


def text(ground: Ground, *, more: str = "", rows_per_second: int | None = 150, source: str = "") -> str:
    limit = "" if rows_per_second is None else f", read_limit.rows_per_second = {rows_per_second}"
    env = f"job.mode = BATCH, checkpoint.interval = 40, job.retry.times = 0{limit}"
    sink = iceberg_sink("a", ground.work, more=f"exactly_once = true\n{more}")
    return job(env, [source or fake_source("a", rows=ROWS, splits=60)], [sink])


def table(ground: Ground) -> Any:
    return table_in(ground.work, "a")


def kill_in_the_middle(run: JobRun) -> None:
    run.start()
    until(lambda: committed(run) >= ROWS // 6, run)
    kill(run)


def test_a_killed_job_is_restored_to_every_row_once(tmp_path: Path) -> None:
    with ground_in(tmp_path) as ground:
        ground.work.mkdir()
        with ground.run(text(ground)) as first:
            kill_in_the_middle(first)
        before = len(table(ground).snapshots())
        assert 0 < table(ground).scan().count() < ROWS
        report, _ = run_through(ground.run(text(ground, rows_per_second=None), restore=Restore()))
        assert report.outcome is JobOutcome.FINISHED, report
    found = table(ground)
    assert sorted(found.scan().to_arrow()["id"].to_pylist()) == ALL
    assert len(found.snapshots()) > before
    summary = found.current_snapshot().summary.additional_properties
    assert {key: summary[f"seatunnel.{key}"] for key in ("job-id", "pipeline-id", "sink")} == {
        "job-id": OLD,
        "pipeline-id": "1",
        "sink": "0",
    }
    named = {Path(path).name for path in found.inspect.all_files()["file_path"].to_pylist()}
    assert {path.name for path in ground.work.rglob("data/**/*.parquet")} == named, "what dead attempts staged is gone"


def test_a_killed_job_with_two_tables_is_restored_to_every_row_once_in_each(tmp_path: Path) -> None:
    several = (
        'namespace = "${database_name}", table = "new_${table_name}", iceberg.table.partition-keys = "bucket(id, 2)"'
    )
    with ground_in(tmp_path) as ground:
        ground.work.mkdir()
        with ground.run(text(ground, more=several, source=TWO_TABLES)) as first:
            kill_in_the_middle(first)
        free = text(ground, more=several, source=TWO_TABLES, rows_per_second=None)
        report, _ = run_through(ground.run(free, restore=Restore()))
        assert report.outcome is JobOutcome.FINISHED, report
    catalog = load_catalog("default", **catalog_of(ground.work))
    named = set()
    for name in ("new_orders", "new_names"):
        found = catalog.load_table(("old", name))
        assert sorted(found.scan().to_arrow()["id"].to_pylist()) == list(range(1, ROWS // 2 + 1))
        named |= {Path(path).name for path in found.inspect.all_files()["file_path"].to_pylist()}
    assert {path.name for path in ground.work.rglob("data/**/*.parquet")} == named, "what dead attempts staged is gone"


def test_rows_that_do_not_fit_fail_the_job_before_any_moves(tmp_path: Path) -> None:
    with ground_in(tmp_path) as ground:
        ground.work.mkdir()
        report, _ = run_through(ground.run(text(ground, more="schema_save_mode = IGNORE", rows_per_second=None)))
        assert report.outcome is JobOutcome.FAILED
        (view,) = report.pipelines
        assert "the table shop.a does not exist, and schema_save_mode is IGNORE" in str(view.failure)
        assert (view.rows_committed, list(ground.work.rglob("*.parquet"))) == (0, [])
