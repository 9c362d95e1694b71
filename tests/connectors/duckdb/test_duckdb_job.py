"""Whole jobs into DuckDB, killed while rows are on their way and restored. Tasks run in this process."""

from pathlib import Path

import pytest

from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.job.restoring import Restore
from seatunnel_core.reporting.report import JobOutcome
from tests.connectors.duckdb.duckdb_file import FILE, asked, changed
from tests.runtime.command import fake_source, job
from tests.runtime.ground import ALL, ROWS, Ground, committed, ground_in, kill, run_through, until

pytestmark = pytest.mark.timeout(300)


def text(ground: Ground, more: str, *, rows_per_second: int | None = 150, sources: str = "a") -> str:
    limit = "" if rows_per_second is None else f", read_limit.rows_per_second = {rows_per_second}"
    env = f"job.mode = BATCH, checkpoint.interval = 40, job.retry.times = 0{limit}"
    named = ", ".join(sources)
    sink = f'DuckDB {{ plugin_input = [{named}], path = "{ground.work}/{FILE}", table = orders\n{more} }}'
    return job(env, [fake_source(name, rows=ROWS, splits=60) for name in sources], [sink])


@pytest.mark.parametrize("mode", ["append", "merge\nmerge_key = id", "replace"])
def test_a_killed_job_is_restored_to_every_row_once(mode: str, tmp_path: Path) -> None:
    with ground_in(tmp_path) as ground:
        ground.work.mkdir()
        if mode != "append":
            changed(ground.work, "CREATE TABLE orders (id BIGINT, text VARCHAR)")
            changed(ground.work, "INSERT INTO orders (id) VALUES (5), (-1)")
        with ground.run(text(ground, f"write_mode = {mode}")) as first:
            first.start()
            until(lambda: committed(first) >= ROWS // 6, first)
            kill(first)
        if mode == "replace":
            assert sorted(asked(ground.work, "SELECT id FROM orders")) == [(-1,), (5,)], "nothing before the end"
        else:
            assert 0 < asked(ground.work, "SELECT count(*) FROM orders")[0][0] < ROWS
        free = text(ground, f"write_mode = {mode}", rows_per_second=None)
        report, _ = run_through(ground.run(free, restore=Restore()))
        assert report.outcome is JobOutcome.FINISHED, report
        expected = sorted(ALL) if "merge" not in mode else [-1, *sorted(ALL)]
        assert sorted(number for (number,) in asked(ground.work, "SELECT id FROM orders")) == expected
        assert asked(ground.work, "SELECT count(*) FROM duckdb_schemas() WHERE schema_name = 'seatunnel'") == [(0,)]


def test_two_sources_are_not_merged_by_chance(tmp_path: Path) -> None:
    with ground_in(tmp_path) as ground:
        ground.work.mkdir()
        said = "the rows of its sources 'a', 'b' have no relative order"
        with pytest.raises(SeaTunnelError, match=said):
            run_through(ground.run(text(ground, "write_mode = merge, merge_key = id", sources="ab")))


def test_a_key_that_is_missing_ends_the_job_before_a_row_moves(tmp_path: Path) -> None:
    with ground_in(tmp_path) as ground:
        ground.work.mkdir()
        report, _ = run_through(ground.run(text(ground, "write_mode = merge, merge_key = idd")))
        assert report.outcome is JobOutcome.FAILED
        assert "option 'merge_key': the table a has no column 'idd'" in str(report)
        assert asked(ground.work, "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'orders'") == [(0,)]
