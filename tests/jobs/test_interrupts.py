"""Ctrl-C on a real process, at many moments: the exit code says what the last words say, and nobody sees a traceback.

A second Ctrl-C in the moment when the job ended let the process die of the signal.
"""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.figures import Figure
from tests.runtime.command import Command, column, fake_source, job, parquet_sink, published, staged
from tests.torture.process import Engine

pytestmark = [
    pytest.mark.torture,
    pytest.mark.long,
    pytest.mark.timeout(1800),
    pytest.mark.xdist_group("commands-of-jobs"),
]

READY = Path(__file__).with_name("ready.py")
ROWS = 4_000
MOMENTS = 24


def until(condition: Callable[[], object], engine: Engine) -> None:
    deadline = time.monotonic() + 120
    while not condition() and engine.exit_code is None:
        assert time.monotonic() < deadline, engine.output
        time.sleep(0.005)


def interrupt(engine: Engine) -> None:
    with suppress(ProcessLookupError):  # it has ended
        engine.signal(signal.SIGINT)


def seconds_to_end(engine: Engine) -> float:
    begun = time.monotonic()
    engine.wait(120)
    return time.monotonic() - begun


def test_at_any_moment_of_a_command_that_shows_a_closing_table(tmp_path: Path, figure: Figure) -> None:
    """The job has ended before, so the command starts no Spark, and most of its time is its beginning and its end."""
    whole = job("job.mode = BATCH", [fake_source("a", rows=7)], [parquet_sink("a", tmp_path / "out")])
    command = Command.of(tmp_path, whole)
    assert command.begin().wait(120) == 0

    def again() -> Engine:
        engine = command.start("-r", command.job_id, script=READY)
        until(lambda: "ready" in engine.output, engine)
        return engine

    whole_s = min(seconds_to_end(again()) for _ in range(3))
    codes = []
    for moment in range(MOMENTS):
        engine = again()
        time.sleep(whole_s * moment / MOMENTS)
        interrupt(engine)
        codes.append(engine.wait(120))
        assert codes[-1] == (0 if "finished" in engine.output else 130), engine.output
        assert ("Stopped." in engine.output) == (codes[-1] == 130), engine.output
        assert "Traceback" not in engine.output
    assert 130 in codes
    for _ in range(MOMENTS):
        engine = again()
        until(lambda: "finished" in engine.output, engine)  # noqa: B023  # called here only
        interrupt(engine)
        assert engine.wait(120) == 0, engine.output
        assert "Stopped." not in engine.output
        assert "Traceback" not in engine.output
    figure(
        f"one Ctrl-C at {MOMENTS} moments in {whole_s:.2f} s: 130 {codes.count(130)} times, 0 {codes.count(0)} times; "
        f"right behind the closing table: 0 {MOMENTS} times"
    )


def slow(folder: Path) -> Command:
    """40 splits that a speed limit lets flow for about five seconds."""
    env = "job.mode = BATCH, checkpoint.interval = 200, read_limit.rows_per_second = 800"
    sources, sinks = [fake_source("ids", rows=ROWS, splits=40)], [parquet_sink("ids", folder / "out")]
    return Command.of(folder, job(env, sources, sinks))


def stopping(command: Command) -> Engine:
    """A job in its middle, interrupted once."""
    engine = command.begin()
    until(lambda: published(command.folder / "out"), engine)
    interrupt(engine)
    return engine


def test_a_second_one_at_any_moment_of_a_stop(tmp_path: Path, figure: Figure) -> None:
    whole_s = seconds_to_end(stopping(slow(tmp_path / "first")))
    for moment in range(16):
        command = slow(tmp_path / str(moment))
        engine = stopping(command)
        time.sleep(whole_s * moment / 14)
        interrupt(engine)
        assert engine.wait(120) == 130, engine.output
        assert f"-r {command.job_id}" in engine.output.splitlines()[-1], engine.output
        assert "Traceback" not in engine.output
        assert not engine.left_over()
    assert command.resume().wait(120) == 0
    assert column(command.folder / "out", "id") == list(range(1, ROWS + 1))
    assert not staged(command.folder / "out")
    figure(f"a second Ctrl-C at 16 moments in {whole_s:.2f} s: 130 each time")


def test_a_third_one_leaves_though_spark_does_not_answer(tmp_path: Path) -> None:
    command = slow(tmp_path)
    engine = command.begin()
    until(lambda: published(command.folder / "out"), engine)
    (jvm,) = engine.jvms()
    os.kill(jvm.pid, signal.SIGSTOP)
    for said in ("Stopping after a final checkpoint", "Stopping at once", "Stopped."):
        interrupt(engine)
        until(lambda said=said: said in engine.output, engine)  # type: ignore[misc]
    assert engine.wait(60) == 130, engine.output
    assert "Traceback" not in engine.output
    engine.end()
    assert command.resume().wait(120) == 0
    assert column(command.folder / "out", "id") == list(range(1, ROWS + 1))
