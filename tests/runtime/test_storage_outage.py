"""The checkpoint storage goes away under a running job and comes back: checkpoints fail visibly, rows flow on, and the
job recovers by itself."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from tests.runtime.command import Command, fake_source, ids, job, parquet_sink, published, staged
from tests.runtime.zombie import PATIENCE_S, until
from tests.servers.minio import MinIO
from tests.torture.process import Engine, peak_bytes

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600), pytest.mark.xdist_group("commands")]

ROWS = 8_000
AWAY_S = 12.0
"""Longer than the rows flow: the job also waits with its last checkpoint for the storage to come back."""

MB = 1_000_000


@frozen
class Happened:
    """A line of the timeline."""

    at_s: float
    what: str
    """``completed``, ``failed`` or what was done to the storage."""

    text: str


def a_job(folder: Path, storage: dict[str, str] | None = None) -> Command:
    """Eight seconds of rows, with a checkpoint every half second, of which any number may fail."""
    env = "job.mode = BATCH, parallelism = 2, checkpoint.interval = 500, read_limit.rows_per_second = 1000"
    source, sink = fake_source("ids", rows=ROWS, splits=80), parquet_sink("ids", folder / "out")
    return Command.of(folder, job(env, [source], [sink]), tolerated=1000, storage=storage)


def records(engine: Engine) -> Iterator[dict[str, Any]]:
    """What it logged; a line that is being written is left out."""
    for line in engine.output.splitlines(keepends=True):
        if line.startswith("{") and line.endswith("}\n"):
            yield json.loads(line)


def checkpoints(engine: Engine, began: float) -> list[Happened]:
    """What the log of the job says of them."""
    found = []
    for record in records(engine):
        message = record["message"]
        if message.startswith("checkpoint ") and (" completed " in message or " aborted: " in message):
            at_s = datetime.fromisoformat(record["time"]).timestamp() - began
            found.append(Happened(at_s, "failed" if " aborted: " in message else "completed", message))
    return found


def outlives_an_outage(command: Command, take_away: Callable[[], object], give_back: Callable[[], object]) -> None:
    """Runs the job, takes its storage away for a while, prints the timeline and judges it."""
    out, began = command.folder / "out", time.time()
    engine = command.begin("--log-format", "json")

    def count(what: str) -> int:
        return Counter(each.what for each in checkpoints(engine, began))[what]

    until(lambda: count("completed") >= 3 and published(out), engine)
    take_away()
    gone_s, before = time.time() - began, len(staged(out))
    until(lambda: count("failed") >= 3 and len(staged(out)) > before + 5, engine)  # rows flow on
    until(lambda: time.time() - began > gone_s + AWAY_S, engine)
    waiting, memory = len(staged(out)), peak_bytes(engine.pid)
    give_back()
    back_s = time.time() - began
    code = engine.wait(PATIENCE_S)
    ended_s = time.time() - began
    events = [
        *checkpoints(engine, began),
        Happened(gone_s, "storage", "taken away"),
        Happened(back_s, "storage", f"given back; {waiting} staged files wait, driver at most {memory // MB} MB"),
        Happened(ended_s, "job", f"ended with {code}"),
    ]
    for event in sorted(events, key=lambda event: event.at_s):
        print(f"{event.at_s:6.1f} s  {event.what:9}  {event.text.replace(f'{command.folder}/', '')[:200]}")
    assert code == 0, engine.output
    while_away = [each.what for each in checkpoints(engine, began) if gone_s + 1 < each.at_s < back_s]
    assert "completed" not in while_away
    assert while_away.count("failed") >= 3
    assert [each.what for each in checkpoints(engine, began)][-1] == "completed"
    assert [record["restarts"] for record in records(engine) if record["message"] == "ended"] == [0]
    assert memory < 400 * MB
    assert ids(out) == list(range(1, ROWS + 1))
    assert not staged(out)


@pytest.mark.torture
def test_a_job_outlives_a_storage_folder_that_is_taken_away(tmp_path: Path) -> None:
    command, away = a_job(tmp_path), tmp_path / "away"
    state = tmp_path / "state"
    outlives_an_outage(command, lambda: state.rename(away), lambda: away.rename(state))


@pytest.fixture
def minio(tmp_path: Path) -> Iterator[MinIO]:
    server = MinIO(tmp_path / "minio")
    server.start()
    yield server
    server.kill()


@pytest.mark.servers
def test_a_job_outlives_an_object_store_that_is_killed(tmp_path: Path, minio: MinIO) -> None:
    bucket = minio.make_bucket("outage")
    command = a_job(tmp_path / "job", minio.configuration(bucket, namespace="/seatunnel/"))
    outlives_an_outage(command, minio.kill, minio.start)
