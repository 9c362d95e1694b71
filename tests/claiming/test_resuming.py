"""What ``-r`` finds: an unknown job, a finished one, one that had stored nothing, one that a person stopped, one that
another process takes over."""

import signal
import time
from pathlib import Path

import pytest

from tests.figures import Figure
from tests.runtime.command import Command, column, fake_source, job, parquet_sink, published, staged
from tests.torture.process import Engine

pytestmark = pytest.mark.xdist_group("commands")

ROWS = 4_000


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """40 splits that a speed limit lets flow for about eight seconds."""
    env = "job.mode = BATCH, checkpoint.interval = 200, read_limit.rows_per_second = ${rate:500}"
    return Command.of(
        tmp_path, job(env, [fake_source("ids", rows=ROWS, splits=40)], [parquet_sink("ids", tmp_path / "out")])
    )


def until(condition: object, engine: Engine, timeout_s: float = 60) -> None:
    """Wait until the callable says yes."""
    assert callable(condition)
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert engine.exit_code is None, engine.output
        assert time.monotonic() < deadline, engine.output
        time.sleep(0.01)


def every_row_once(command: Command) -> None:
    assert column(command.folder / "out", "id") == list(range(1, ROWS + 1))
    assert not staged(command.folder / "out")


def test_an_unknown_job_is_an_error(command: Command) -> None:
    engine = command.start("-r", "no-such-job")
    assert engine.wait(60) == 2
    assert "there is no job no-such-job in the checkpoint storage" in engine.output
    assert "Traceback" not in engine.output


@pytest.mark.torture
@pytest.mark.spark
def test_a_job_that_stored_nothing_begins_again_says_so_and_shows_its_table_when_it_is_asked_for_again(
    tmp_path: Path,
) -> None:
    """Killed between its claim and its first epoch; then finished; then asked for once more."""
    command = Command.of(
        tmp_path, job("job.mode = BATCH", [fake_source("a", rows=7)], [parquet_sink("a", tmp_path / "out")])
    )
    engine = command.begin(stop=["link", r"\.manifest$", 1, "after"])
    until(lambda: engine.stopped, engine)
    engine.kill()
    engine.end()

    engine = command.resume()
    assert engine.wait(90) == 0, engine.output
    assert "starts from the beginning" in engine.output
    assert column(tmp_path / "out", "id") == [1, 2, 3, 4, 5, 6, 7]

    files = published(tmp_path / "out")
    engine = command.resume()
    while engine.exit_code is None:
        assert not engine.jvms(), "a finished job needs no Spark"
        time.sleep(0.02)
    assert engine.exit_code == 0, engine.output
    assert "finished" in engine.output
    assert "committed" in engine.output
    assert published(tmp_path / "out") == files


@pytest.mark.torture
@pytest.mark.timeout(300)
def test_ctrl_c_takes_a_last_checkpoint_and_the_job_goes_on_from_it(command: Command, figure: Figure) -> None:
    engine = command.begin()
    until(lambda: published(command.folder / "out"), engine)
    before = command.checkpoints()
    engine.signal(signal.SIGINT)
    assert engine.wait(60) == 130, engine.output
    assert "Stopping after a final checkpoint" in engine.output
    assert f"-r {command.job_id}" in engine.output.splitlines()[-1], "the command that goes on is the last word"
    assert command.checkpoints() - before, "a final checkpoint was stored"
    assert not engine.left_over()
    stopped_at = len(column(command.folder / "out", "id"))
    assert 0 < stopped_at < ROWS
    engine = command.resume()
    assert engine.wait(90) == 0, engine.output
    every_row_once(command)
    figure(f"Ctrl-C after {stopped_at:,} of {ROWS:,} rows: exit code 130, and every row once after -r")


@pytest.mark.torture
@pytest.mark.timeout(300)
def test_of_two_processes_the_second_claims_the_job_and_the_first_says_so(command: Command, figure: Figure) -> None:
    """The first is as slow as it has to be for processes that start on a busy machine."""
    first = command.begin("-i", "rate=20")
    until(lambda: published(command.folder / "out"), first)
    refused = command.resume()
    assert refused.wait(90) == 2, refused.output
    assert "runs in process" in refused.output
    assert "--take-over" in refused.output
    second = command.resume("--take-over", "-i", "rate=1000")
    assert first.wait(90) == 1, first.output
    assert "another engine" in first.output
    assert "Traceback" not in first.output
    assert second.wait(90) == 0, second.output
    every_row_once(command)
    figure(f"two processes on one job: the first ended with 1, the second with 0, {ROWS:,} rows once")
