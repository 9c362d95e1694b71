"""A whole job whose server dies: its name leads to the promoted replica, and the target equals it row by row."""

import contextlib
import json
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from attrs import define

from seatunnel_core.reporting.report import JobOutcome
from seatunnel_core.runtime.job_run import JobRun
from tests.cdc.job import CopyJob
from tests.connectors.mysql_cdc.cdc_servers import cdc_options
from tests.connectors.mysql_cdc.test_cdc_job import copied, lived, moved, same, text, until
from tests.connectors.mysql_cdc.writers import Writers
from tests.runtime.ground import ground_in
from tests.servers.replicas import MovingName, Pair
from tests.torture.process import Engine

pytestmark = [pytest.mark.servers, pytest.mark.spark, pytest.mark.timeout(600)]


PATIENCE_S = 120.0
EACH = pytest.mark.parametrize("kind", [pytest.param("gtids", marks=pytest.mark.twin), "maria"])


@define
class Copied:
    """The captured database and its target, as parts of a job file."""

    url: str
    password: str
    username: str
    folder: Path

    def source_block(self, database: str, tables: Sequence[str], slot: str, options: str) -> str:
        return f"""MySQL-CDC {{ url = "{self.url}", username = "{self.username}", password = "{self.password}",
            table-names = {json.dumps(tables)}, snapshot.split.size = 500 }}"""

    def sink_block(self, target: str, options: str) -> str:
        return f"""Jdbc {{ url = "jdbc:sqlite:{self.folder}/copy.db", generate_sink_sql = true,
            table = "${{table_name}}", is_exactly_once = true }}"""


@EACH
def test_a_job_that_was_killed_is_resumed_at_the_replica(kind: str, tmp_path: Path) -> None:
    """``kill -9`` ends the job and then the primary, while writers are active and ranges are in flight."""
    import pymysql

    pair = Pair(kind)
    with pair.running(), closing(MovingName(pair.primary)) as name:
        writers = Writers(pair.primary)
        writers.create(rows=1_000)
        found = cdc_options(pair.primary)
        captured: Any = Copied(name.url, found["password"], found["username"], tmp_path)
        job = CopyJob(folder=tmp_path, captured=captured, database="shop", tables=("shop.t", "shop.u"), slot="",
                      interval_ms=100)  # fmt: skip
        job.write()
        with contextlib.ExitStack() as stack:
            stack.callback(job.end)
            engine = job.start()
            wait_until(lambda: same(pair.primary, tmp_path), PATIENCE_S, engine)
            with contextlib.suppress(pymysql.err.MySQLError), writers.running():
                killed_while_writing(engine, writers, tmp_path)
                pair.wait_until_replicated()
                pair.fail_over()
            name.move(pair.replica)
            later = Writers(pair.replica)
            with later.running():
                killed_while_writing(job.start(), later, tmp_path)
            engine = job.start()
            wait_until(lambda: same(pair.replica, tmp_path), PATIENCE_S, engine)
            assert job.stop(PATIENCE_S) == 130, engine.output[-4000:]
        assert same(pair.replica, tmp_path)
        assert len(copied(tmp_path, "t")) > 500


def killed_while_writing(engine: Engine, writers: Writers, folder: Path) -> None:
    """Kill a job after its target has changed twice."""
    wait_for_changes(engine, writers, folder)
    wait_for_changes(engine, writers, folder)
    engine.signal(signal.SIGKILL)
    assert engine.wait(PATIENCE_S) == -9


def wait_for_changes(engine: Engine, writers: Writers, folder: Path) -> None:
    seen, before = copied(folder, "t"), writers.transactions
    wait_until(lambda: copied(folder, "t") != seen and writers.transactions > before + 20, PATIENCE_S, engine)


def wait_until(condition: Callable[[], bool], patience_s: float, engine: Engine) -> None:
    deadline = time.monotonic() + patience_s
    while not condition():
        assert engine.exit_code is None, engine.output[-4000:]
        assert time.monotonic() < deadline, engine.output[-4000:]
        time.sleep(0.1)


@EACH
def test_the_target_equals_the_promoted_replica(kind: str, tmp_path: Path) -> None:
    """The job runs while the primary is killed with ``kill -9``, and is resumed at the replica after its own end."""
    pair = Pair(kind)
    with pair.running(), closing(MovingName(pair.primary)) as name, ground_in(tmp_path) as ground:
        ground.work.mkdir()
        writers = Writers(pair.primary)
        writers.create(rows=1_000)
        made = text(pair.primary, tmp_path).replace(pair.primary.url, name.url)
        assert name.url in made

        def fails_over(run: JobRun) -> None:
            with writers.running():
                moved(tmp_path)(run)
                before = writers.transactions
                until(lambda: writers.transactions > before + 50, run)
            until(lambda: same(pair.primary, tmp_path), run)
            pair.wait_until_replicated()
            pair.fail_over()
            name.move(pair.replica)
            later = Writers(pair.replica)
            with later.running():
                until(lambda: later.transactions > 50, run)
            until(lambda: same(pair.replica, tmp_path), run)

        report = lived(ground, made, fails_over, JobRun.kill)
        assert report.outcome is JobOutcome.STOPPED, report
        again = Writers(pair.replica)
        with again.running():
            until_transactions = lambda run: until(lambda: again.transactions > 20, run)  # noqa: E731
            lived(ground, made, until_transactions, JobRun.stop)
        last = lived(ground, made, lambda run: until(lambda: same(pair.replica, tmp_path), run), JobRun.stop)
        assert last.outcome is JobOutcome.STOPPED
        assert same(pair.replica, tmp_path)
        assert len(copied(tmp_path, "t")) > 500
