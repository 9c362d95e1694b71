"""Whole jobs from MySQL and MariaDB: their target equals the source while jobs die, stop and are restored."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connectors.mysql_cdc import splits
from seatunnel_core.connectors.mysql_cdc.source import MySQLCdcSource
from seatunnel_core.job.restoring import Restore
from seatunnel_core.reporting.report import JobOutcome, JobReport
from seatunnel_core.rows.batch import Batch
from seatunnel_core.runtime.job_run import JobRun
from seatunnel_core.work.split import Split
from tests.connectors.mysql_cdc.cdc_servers import cdc_options
from tests.connectors.mysql_cdc.writers import Writers
from tests.runtime.command import job
from tests.runtime.ground import Ground, ground_in, run_through

pytestmark = [pytest.mark.servers, pytest.mark.spark, pytest.mark.timeout(600)]

PATIENCE_S = 60


def text(server: Any, folder: Path, more: str = "", *, directly: bool = False) -> str:
    found = cdc_options(server, "t", "u")
    source = f"""
  MySQL-CDC {{ url = "{found["url"]}", username = "{found["username"]}", password = "{found["password"]}",
    table-names = ["shop.t", "shop.u"], snapshot.split.size = 500, {more} }}"""
    sink = f"""
  Jdbc {{ url = "jdbc:sqlite:{folder}/copy.db", generate_sink_sql = true, table = "${{table_name}}",
    is_exactly_once = {"false" if directly else "true"} }}"""
    return job("job.mode = STREAMING, parallelism = 2, checkpoint.interval = 100", [source], [sink])


def copied(folder: Path, table: str) -> list[Any]:
    with closing(sqlite3.connect(folder / "copy.db")) as connection:
        try:
            return sorted(connection.execute(f"SELECT id, a, b FROM {table}").fetchall())
        except sqlite3.OperationalError:
            return []


def same(server: Any, folder: Path) -> bool:
    return all(sorted(server.run(f"SELECT id, a, b FROM {table}")) == copied(folder, table) for table in ("t", "u"))


def until(condition: Callable[[], bool], run: JobRun) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        report = run.wait(0.1)
        assert report is None, report
        assert time.monotonic() < deadline, "it takes too long"


def lived(ground: Ground, made: str, alive: Callable[[JobRun], object], end: Callable[[JobRun], object]) -> JobReport:
    """One process of the job: the first one, or one that continues it."""
    lives = ground.folder / "lives"
    lives.touch()
    restore = Restore() if lives.read_text() else None
    lives.write_text("begun")
    with ground.run(made, restore=restore) as run:
        run.start()
        alive(run)
        end(run)
        report = run.wait(PATIENCE_S)
        assert report is not None
        return report


def stop_with_savepoint(run: JobRun) -> None:
    run.savepoint("end", stop=True, timeout=PATIENCE_S)


def moved(folder: Path) -> Callable[[JobRun], object]:
    """Wait until the target has changed."""
    seen = copied(folder, "t")
    return lambda run: until(lambda: copied(folder, "t") != seen, run)


def test_the_target_equals_the_source_although_the_job_dies(server: Any, tmp_path: Path) -> None:
    writers = Writers(server)
    writers.create(rows=2_000)
    with ground_in(tmp_path) as ground:
        ground.work.mkdir()
        made = text(server, tmp_path)
        with writers.running():
            for end in (JobRun.kill, stop_with_savepoint, JobRun.kill):
                report = lived(ground, made, moved(tmp_path), end)
                assert report.outcome is JobOutcome.STOPPED, report
        last = lived(ground, made, lambda run: until(lambda: same(server, tmp_path), run), JobRun.stop)
        assert last.outcome is JobOutcome.STOPPED
    assert same(server, tmp_path)


def test_a_job_ends_at_the_end_of_the_log(server: Any, tmp_path: Path) -> None:
    writers = Writers(server)
    writers.create(rows=2_000)
    with ground_in(tmp_path) as ground:
        ground.work.mkdir()
        with writers.running():
            timer = threading.Timer(1, writers.stop)
            timer.start()
            report, _ = run_through(ground.run(text(server, tmp_path, "stop.mode = latest")))
            timer.join()
        assert report.outcome is JobOutcome.FINISHED, report
    assert len(copied(tmp_path, "t")) > 1_000


def test_a_sink_that_writes_directly_gets_chunks_in_parallel_and_changes_in_their_order(
    server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writers end before all chunks are read, so that the job, which ends at the end of the log that there is then,
    has all that they wrote."""
    begun: list[str] = []
    read = MySQLCdcSource.read

    def noted(self: MySQLCdcSource, split: Split, context: Any) -> Iterator[Batch]:
        begun.append("begins")
        if "chunk" in split.body:
            time.sleep(0.1)
            if begun.count("begins") > 8:
                writers.end()
        yield from read(self, split, context)
        begun.append("ends")

    monkeypatch.setattr(MySQLCdcSource, "read", noted)
    monkeypatch.setattr(splits, "ROW_BYTES", 1_000_000)  # each chunk is a work unit
    writers = Writers(server)
    writers.create(rows=4_000)
    with ground_in(tmp_path) as ground:
        ground.work.mkdir()
        with writers.running():
            report, _ = run_through(ground.run(text(server, tmp_path, "stop.mode = latest", directly=True)))
    assert report.outcome is JobOutcome.FINISHED, report
    assert same(server, tmp_path)
    assert any(two == ("begins", "begins") for two in pairwise(begun)), "chunks are read at the same time"
