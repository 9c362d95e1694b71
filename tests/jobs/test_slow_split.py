"""A checkpoint never waits for a split."""

import time
from pathlib import Path

import pytest

from tests.figures import Figure
from tests.runtime.command import Command, column, fake_source, job, parquet_sink, staged

SLOW_S = 30
WANTED = 25


@pytest.mark.torture
@pytest.mark.timeout(300)
def test_checkpoints_go_on_while_a_split_sleeps_and_a_kill_loses_nothing(tmp_path: Path, figure: Figure) -> None:
    """One split sleeps 30 s, a second source of the same sink keeps flowing; a checkpoint is due every second."""
    env = "job.mode = BATCH, parallelism = 2, checkpoint.interval = 1000, read_limit.rows_per_second = ${rate:40}"
    sources = [
        fake_source("slow", rows=10, pause_ms="${pause:" + str(SLOW_S * 1000) + "}"),
        fake_source("quick", rows=1200, splits=60, more="auto.increment.start = 1001"),
    ]
    command = Command.of(tmp_path, job(env, sources, [parquet_sink("slow, quick", tmp_path / "out")]))
    engine = command.begin()
    seen: set[str] = set()
    deadline = time.monotonic() + 90
    while len(seen) < WANTED:
        seen |= command.checkpoints()
        assert engine.exit_code is None, engine.output
        assert time.monotonic() < deadline, f"{len(seen)} checkpoints:\n{engine.output}"
        time.sleep(0.05)
    before = column(tmp_path / "out", "id")
    engine.kill()
    assert before, "the quick source was committed meanwhile"
    assert min(before) > 1000, "the slow split was still asleep"

    engine = command.resume("-i", "pause=1", "-i", "rate=1000")
    assert engine.wait(120) == 0, engine.output
    assert column(tmp_path / "out", "id") == [*range(1, 11), *range(1001, 2201)]
    assert not staged(tmp_path / "out")
    figure(f"{len(seen)} checkpoints were stored while one split slept; after kill -9 and -r every row is there once")
