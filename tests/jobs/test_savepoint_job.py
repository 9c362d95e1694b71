"""Savepoints of a real job, asked for by other processes: complete while it runs, and each row once after one
stopped it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from seatunnel_core.cli.main import main
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.job.savepoint import JobSavepoint
from seatunnel_storage_api.discovery import open_storage
from seatunnel_storage_api.state import CheckpointType
from tests.runtime.command import Command, column, fake_source, job, parquet_sink, published, staged

pytestmark = [
    pytest.mark.spark,
    pytest.mark.torture,
    pytest.mark.xdist_group("commands-of-jobs"),
    pytest.mark.timeout(240),
]

ROWS = 4_000


def ask(command: Command, *flags: str) -> str:
    environment = {**os.environ, "HOME": str(command.folder / "home"), "XDG_STATE_HOME": ""}
    done = subprocess.run(
        [sys.executable, "-m", "seatunnel_core.cli", *flags],
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def savepoints(command: Command) -> tuple[JobSavepoint, ...]:
    """As the manifest names them; each part is seen to be in the storage."""
    with open_storage("hdfs", {"namespace": f"{command.folder}/state/"}) as storage:
        found = storage.get_manifest(command.job_id)
        assert found is not None
        taken = Manifest.from_bytes(found.body).savepoints
        for each in taken:
            (ref,) = each.pipelines.values()
            stored = {info.ref: info.checkpoint_type for info in storage.list_checkpoints(command.job_id, 1)}
            assert stored[ref] is CheckpointType.SAVEPOINT
    return taken


def assert_measured(command: Command, said: Callable[[list[str]], str], *, most: int) -> None:
    """What another process reads of the running job: as JSON, and as Prometheus' own reader reads it."""
    figures: dict[str, int] = {"SinkCommittedCount": 0}
    deadline = time.monotonic() + 60
    while not figures["SinkCommittedCount"]:  # counted when the whole commit has ended: a file may be there before
        assert time.monotonic() < deadline
        (metrics,) = json.loads(said(["--metrics", command.job_id]))
        figures = metrics["metrics"]
    assert 0 < figures["SinkCommittedCount"] <= figures["SourceReceivedCount"] <= most
    text = said(["--metrics", command.job_id, "--open-metrics"])
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    own = {sample.name: sample.value for sample in samples if sample.labels.get("job_id") == command.job_id}
    committed, staged_rows = own["SinkCommittedCount_total"], own["SinkWriteCount_total"]
    assert 0 < committed <= staged_rows <= own["SourceReceivedCount_total"] <= most
    assert own["seatunnel_checkpoints_completed_total"] > 0
    assert "seatunnel_checkpoint_age_seconds" in own


@pytest.fixture
def said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[list[str]], str]:
    """What the command prints, without a process of its own, which on a busy machine takes as long as the job."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", "")

    def said(argv: list[str]) -> str:
        assert main(argv) == 0
        return capsys.readouterr().out

    return said


def test_it_is_taken_from_outside_and_the_job_goes_on_from_the_one_that_stopped_it(
    tmp_path: Path, said: Callable[[list[str]], str]
) -> None:
    """As slow as it has to be for the processes that ask, which start on a busy machine."""
    env = "job.mode = BATCH, checkpoint.interval = 200, read_limit.rows_per_second = ${rate:100}"
    sources, sinks = [fake_source("ids", rows=ROWS, splits=40)], [parquet_sink("ids", tmp_path / "out")]
    command = Command.of(tmp_path, job(env, sources, sinks))
    engine = command.begin()
    deadline = time.monotonic() + 60
    while not published(tmp_path / "out"):
        assert engine.exit_code is None, engine.output
        assert time.monotonic() < deadline, engine.output
        time.sleep(0.05)
    assert command.job_id in ask(command, "-l")
    assert_measured(command, said, most=ROWS)
    assert "The job continues." in ask(command, "-s", command.job_id, "--keep-running", "--savepoint-name", "mine")
    assert engine.exit_code is None
    assert "The job has stopped." in ask(command, "-s", command.job_id)
    assert engine.wait(60) == 130
    assert [(each.name, each.stopped) for each in savepoints(command)] == [("mine", False), ("1", True)]
    assert 0 < len(column(tmp_path / "out", "id")) < ROWS, "it was stopped on the way"
    resumed = command.resume("-i", "rate=4000")
    assert resumed.wait(120) == 0, resumed.output
    assert column(tmp_path / "out", "id") == list(range(1, ROWS + 1))
    assert not staged(tmp_path / "out")
    assert [each.name for each in savepoints(command)] == ["mine", "1"]
    assert command.job_id not in ask(command, "-l")
