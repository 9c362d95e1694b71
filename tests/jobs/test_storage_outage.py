"""The checkpoint storage goes away under a running job and comes back: checkpoints fail visibly, rows flow on, and the
job recovers by itself."""

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from tests.claiming.zombie import PATIENCE_S, ending, until
from tests.jobs.small_disk import fill, small_disk
from tests.runtime.command import Command, fake_source, ids, job, parquet_sink, published, staged
from tests.servers.objects.minio import MinIO
from tests.servers.proxy import Plan, Proxy
from tests.torture.process import Engine, peak_bytes

AWAY_S = float(os.environ.get("SEATUNNEL_AWAY_S", "12"))
"""Longer than the rows flow: the job also waits with its last checkpoint for the storage to come back."""

INTERVAL_S = 1
ROWS_PER_SECOND = 1_000
ROWS = round(ROWS_PER_SECOND * (3 * INTERVAL_S + AWAY_S / 2))
LATE_S = 1.5
"""So much later than due something may be said on a busy machine."""

MB = 1_000_000

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(PATIENCE_S + 3 * AWAY_S + 300),
    pytest.mark.xdist_group("commands-of-jobs"),
]


@frozen
class Happened:
    """A line of the timeline."""

    at_s: float
    what: str
    """``completed``, ``failed``, ``DEGRADED``, or who something was done to."""

    text: str


def a_job(folder: Path, storage: dict[str, str] | None = None) -> Command:
    """A checkpoint every second, of which any number may fail; one that hangs is given up after two."""
    env = (
        f"job.mode = BATCH, parallelism = 2, checkpoint.interval = {INTERVAL_S * 1000}, checkpoint.timeout = 2000, "
        f"read_limit.rows_per_second = {ROWS_PER_SECOND}"
    )
    source, sink = fake_source("ids", rows=ROWS, splits=ROWS // 100), parquet_sink("ids", folder / "out")
    return Command.of(folder, job(env, [source], [sink]), tolerated=1000, storage=storage)


def records(engine: Engine) -> Iterator[dict[str, Any]]:
    """What it logged; a line that is being written is left out."""
    for line in engine.output.splitlines(keepends=True):
        if line.startswith("{") and line.endswith("}\n"):
            yield json.loads(line)


def logged(engine: Engine, began: float) -> list[Happened]:
    """What the log of the job says of its checkpoints."""
    found = []
    for record in records(engine):
        message = record["message"]
        at_s = datetime.fromisoformat(record["time"]).timestamp() - began
        if message.startswith("degraded: "):
            found.append(Happened(at_s, "DEGRADED", message))
        elif message.startswith("checkpoint ") and (" completed " in message or " aborted: " in message):
            found.append(Happened(at_s, "failed" if " aborted: " in message else "completed", message))
    return found


def outlives_an_outage(
    command: Command, take_away: Callable[[], object], give_back: Callable[[], object], *, reason: str
) -> None:
    """Runs the job, takes its storage away for a while, prints the timeline and judges it. ``reason`` finds why the
    job says that it is degraded."""
    with ending(command.begin("--log-format", "json")) as engine:
        _outlives(engine, command, take_away, give_back, reason)


def _outlives(
    engine: Engine, command: Command, take_away: Callable[[], object], give_back: Callable[[], object], reason: str
) -> None:
    out, began = command.folder / "out", time.time()

    def count(what: str) -> int:
        return sum(each.what == what for each in logged(engine, began))

    until(lambda: count("completed") >= 3 and published(out), engine)
    take_away()
    gone_s, before = time.time() - began, len(staged(out))
    until(lambda: count("failed") >= 2 and len(staged(out)) > before + 5, engine)  # rows flow on
    until(lambda: time.time() - began > gone_s + AWAY_S, engine, patience_s=PATIENCE_S + AWAY_S)
    waiting, memory = len(staged(out)), peak_bytes(engine.pid)
    back_s = time.time() - began  # a server answers the job before it is known to be ready
    give_back()
    code = engine.wait(PATIENCE_S)
    events = logged(engine, began)
    done = [
        Happened(gone_s, "storage", "taken away"),
        Happened(back_s, "storage", f"given back; {waiting} staged files wait, driver at most {memory // MB} MB"),
        Happened(time.time() - began, "job", f"ended with {code}, {len(ids(out)):,} of {ROWS:,} rows"),
    ]
    for event in sorted([*events, *done], key=lambda event: event.at_s):
        print(f"{event.at_s:6.1f} s  {event.what:9}  {event.text.replace(f'{command.folder}/', '')[:200]}")
    assert code == 0, engine.output
    says_so_in_time(events, gone_s, reason)
    while_away = [each.what for each in events if gone_s + 1 < each.at_s < back_s]
    assert "completed" not in while_away
    assert while_away.count("failed") >= 2
    assert [each.what for each in events if each.what != "DEGRADED"][-1] == "completed"
    assert [record["restarts"] for record in records(engine) if record["message"] == "ended"] == [0]
    assert memory < 400 * MB
    assert ids(out) == list(range(1, ROWS + 1))
    assert not staged(out)


def says_so_in_time(events: list[Happened], gone_s: float, reason: str) -> None:
    """DEGRADED, with its reason, three intervals after the last checkpoint that completed."""
    last = max(each.at_s for each in events if each.what == "completed" and each.at_s < gone_s + 1)
    said = next(each for each in events if each.what == "DEGRADED" and each.at_s > gone_s)
    assert 3 * INTERVAL_S - 0.1 <= said.at_s - last <= 3 * INTERVAL_S + LATE_S
    assert "no checkpoint has completed for " in said.text
    assert re.search(reason, said.text)


@pytest.mark.torture
def test_a_job_outlives_a_storage_folder_that_is_taken_away(tmp_path: Path) -> None:
    command, away = a_job(tmp_path), tmp_path / "away"
    state = tmp_path / "state"
    outlives_an_outage(command, lambda: state.rename(away), lambda: away.rename(state), reason=f"failed: .*{state}")


@pytest.mark.torture
def test_a_job_that_is_killed_while_its_storage_is_full_is_restored_to_every_row_once(tmp_path: Path) -> None:
    """A resume fails clearly while the disk is full, publishes nothing, and works when there is space again."""
    with small_disk(tmp_path / "state", "size=2m") as state:
        if state is None:
            pytest.skip("A FULL STORAGE WAS NOT TESTED: no small file system can be mounted here (it takes root)")
        command, out, began = a_job(tmp_path), tmp_path / "out", time.time()
        with ending(command.begin("--log-format", "json")) as engine:

            def count(what: str) -> int:
                return sum(each.what == what for each in logged(engine, began))

            until(lambda: count("completed") >= 3 and published(out), engine)
            ballast = fill(state)
            before = len(staged(out))
            until(lambda: count("failed") >= 2 and len(staged(out)) > before + 5, engine)
            reasons = [each.text for each in logged(engine, began) if each.what == "failed"]
            assert any("No space left on device" in reason for reason in reasons), reasons
            engine.kill()
        seen = ids(out)
        with ending(command.resume()) as refused:
            assert refused.wait(PATIENCE_S) in (1, 2), refused.output
            assert "No space left on device" in refused.output
        assert ids(out) == seen
        ballast.unlink()
        with ending(command.resume()) as last:
            assert last.wait(PATIENCE_S) == 0, last.output
        assert ids(out) == list(range(1, ROWS + 1))
        assert not staged(out)


@pytest.fixture
def minio(tmp_path: Path) -> Iterator[MinIO]:
    with MinIO(tmp_path / "minio") as server:
        yield server


HANGS = "all vertices have acknowledged; the storage has been writing the checkpoint for "


@pytest.mark.servers
def test_a_job_outlives_an_object_store_that_is_killed(tmp_path: Path, minio: MinIO) -> None:
    command = a_job(tmp_path / "job", minio.configuration(minio.make_bucket("outage"), namespace="/seatunnel/"))
    outlives_an_outage(command, minio.kill, minio.start, reason=f"{HANGS}|no server responds at the endpoint")


@pytest.mark.servers
@pytest.mark.twin
def test_a_job_outlives_an_object_store_that_sleeps(tmp_path: Path, minio: MinIO) -> None:
    """It takes connections, answers nothing, and answers all of it when it wakes up."""
    command = a_job(tmp_path / "job", minio.configuration(minio.make_bucket("asleep"), namespace="/seatunnel/"))
    outlives_an_outage(command, minio.process.pause, minio.process.resume, reason=HANGS)


@pytest.mark.servers
@pytest.mark.twin
def test_a_job_outlives_a_network_that_swallows_requests(tmp_path: Path, minio: MinIO) -> None:
    """What was asked meanwhile is never answered, as behind a firewall that has forgotten its connections: the client
    has to give up on those by itself."""
    bucket = minio.make_bucket("swallowed")
    with Proxy(f"127.0.0.1:{minio.port}", Plan(seed=1, share=0)) as proxy:
        more = {"fs.s3a.endpoint": f"http://{proxy.address}"}
        command = a_job(tmp_path / "job", minio.configuration(bucket, namespace="/seatunnel/", **more))
        outlives_an_outage(command, proxy.swallows.set, proxy.swallows.clear, reason=HANGS)
