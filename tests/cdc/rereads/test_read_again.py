"""A captured table is read again while the job runs: the target is the source, row by row, also after ``kill -9``."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cdc.captured import COPY, DATABASES, EACH_KIND, Captured
from tests.cdc.comparison import difference
from tests.cdc.job import CopyJob
from tests.cdc.steps import Step
from tests.cdc.storm import Storm, wait_until
from tests.cdc.watcher import beacon_arrived, snapshot_arrived
from tests.torture.process import Engine

pytestmark = [pytest.mark.spark, pytest.mark.servers, pytest.mark.torture, pytest.mark.timeout(400)]

PATIENCE_S = 120.0
SOURCE = "read_again"
READ, PLANNED = "seatunnel_core.spark.unit_run:UnitRun.read_split", "seatunnel_core.runtime.source_io:SourceIO.poll"
AGAIN = "'reread': True"
"""Part of the split of a chunk that is read again, as the kit for kills writes it."""

REQUESTED = r"'rereads': \[\{"
"""Part of a cursor with a table that is read again."""


class Running:
    """A job under a storm."""

    def __init__(self, captured: Captured, folder: Path) -> None:
        self.storm = Storm(captured=captured, database=SOURCE, rows=900, per_second=150)
        self.job = CopyJob(
            folder=folder,
            captured=captured,
            database=SOURCE,
            tables=self.storm.tables,
            slot=SOURCE,
            source_options="snapshot.split.size = 40",
        )
        self._beacons = 0

    def named(self, table: str) -> str:
        """Return the name of a table in commands."""
        return f"{SOURCE}.public.{table}" if self.storm.captured.name == "postgres" else f"{SOURCE}.{table}"

    def wait(self, engine: Engine, condition: Callable[[], object], what: str) -> None:
        wait_until(lambda: self.storm.errors or engine.exit_code is not None or condition(), PATIENCE_S, what)
        assert not self.storm.errors, self.storm.errors
        assert engine.exit_code is None, f"ended with {engine.exit_code} before {what}:\n{engine.output[-4000:]}"

    def beacon(self, engine: Engine) -> None:
        """Wait until all that was committed before is in the target."""
        self._beacons += 1
        self.storm.light_beacon(self._beacons)
        self.wait(engine, lambda: beacon_arrived(self.storm, COPY, self._beacons), f"beacon {self._beacons}")

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "seatunnel_core.cli.main", *arguments]
        environment = self.job.surroundings()
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE_S)

    def reread(self, table: str) -> subprocess.CompletedProcess[str]:
        return self.command("tables", "reread", self.id, self.named(table))

    @property
    def id(self) -> str:
        printed = self.job.printed()
        assert printed is not None
        return printed[printed.index("-r") + 1]

    def snapshot(self) -> dict[str, Any]:
        """Return the progress of the tables; without any before the job responds."""
        found = self.command("--metrics", self.id)
        if found.returncode:
            return {"tables": 1, "tables_done": 0, "listed": []}
        (pipeline,) = json.loads(found.stdout)[0]["pipelines"]
        (source,) = pipeline["sources"].values() or [{}]
        return dict(source.get("snapshot") or {"tables": 1, "tables_done": 0, "listed": []})

    def is_done(self) -> bool:
        snapshot = self.snapshot()
        return bool(snapshot["tables"] == snapshot["tables_done"])

    def differences(self) -> str:
        found = (difference(self.storm.captured, SOURCE, COPY, table) for table in self.storm.tables)
        return "\n".join(filter(None, found))


@pytest.fixture
def running(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Running]:
    captured = DATABASES[request.param]()
    made = Running(captured, tmp_path)
    captured.release(SOURCE)
    made.storm.make_tables()
    captured.recreate(COPY)
    made.job.write()
    try:
        made.storm.begin()
        yield made
    finally:
        made.job.end()
        made.storm.over.set()
        made.storm.end()
        captured.release(SOURCE)


@pytest.mark.parametrize("running", EACH_KIND, indirect=True)
def test_a_damaged_table_is_read_again_and_the_job_is_killed(running: Running) -> None:
    """The storm goes on all the time, also over the table that is read again, and over the others."""
    storm, job = running.storm, running.job
    engine = job.start(Step(name="", phase="", at=READ, side="within", pattern=AGAIN, nth=3))
    running.wait(engine, lambda: snapshot_arrived(storm, COPY), "the snapshot")
    running.beacon(engine)
    storm.captured.run(COPY, "DELETE FROM credit")
    asked = running.reread("credit")
    assert asked.returncode == 0, asked.stderr + engine.output[-3000:]
    assert engine.wait(PATIENCE_S) == -9
    assert job.kill_file(0).exists(), "it was killed while it read a chunk again"

    engine = job.start(Step(name="", phase="", at=PLANNED, side="after", pattern=REQUESTED, nth=3))
    assert engine.wait(PATIENCE_S) == -9
    assert job.kill_file(1).exists(), "it was killed after chunks were planned, and before a checkpoint had them"

    engine = job.start()
    running.wait(engine, running.is_done, "the end of reading again")
    storm.end()
    running.beacon(engine)
    assert running.differences() == ""
    assert job.stop(PATIENCE_S) == 130, engine.output[-4000:]
