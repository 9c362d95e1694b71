"""An engine that falls asleep and wakes up as a zombie, with the job's checkpoints in S3. `test_fencing.py` does it on
local files, at more moments."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.command import Command, fake_source, ids, job, parquet_sink, published, staged
from tests.runtime.zombie import PATIENCE_S, ends_as_zombie, show, until
from tests.servers.minio import MinIO

pytestmark = [
    pytest.mark.spark,
    pytest.mark.servers,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("commands"),
]

ROWS = 4_000


@pytest.fixture
def minio(tmp_path: Path) -> Iterator[MinIO]:
    server = MinIO(tmp_path / "minio")
    server.start()
    yield server
    server.kill()


@pytest.mark.parametrize("woken", ["while the other works", "after its end"])
def test_an_engine_that_wakes_up_ends_and_says_why(tmp_path: Path, minio: MinIO, woken: str) -> None:
    env = "job.mode = BATCH, parallelism = 2, checkpoint.interval = 200, read_limit.rows_per_second = 800"
    source, sink = fake_source("ids", rows=ROWS, splits=40), parquet_sink("ids", tmp_path / "out")
    bucket = minio.make_bucket("zombies")
    storage = minio.configuration(bucket, namespace="/seatunnel/")
    command = Command.of(tmp_path / "job", job(env, [source], [sink]), storage=storage)
    out = tmp_path / "out"

    first = command.begin()
    until(lambda: published(out), first)
    first.signal_all(signal.SIGSTOP)
    before = len(published(out))
    second = command.resume()
    if woken == "while the other works":
        until(lambda: len(published(out)) > before, second)
        first.signal_all(signal.SIGCONT)
        ends_as_zombie(first)
        assert second.wait(PATIENCE_S) == 0, second.output
    else:
        assert second.wait(PATIENCE_S) == 0, second.output
        files = published(out)
        first.signal_all(signal.SIGCONT)
        ends_as_zombie(first)
        assert published(out) == files
    show(f"first, woken {woken}", first)
    show("second", second)
    assert ids(out) == list(range(1, ROWS + 1))
    assert not staged(out)
