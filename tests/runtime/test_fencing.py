"""Two engines on one job, as real processes: whoever is older may do what rule R6 allows and nothing else, says why it
ends, and every row is there once. `docs/failures.md` tells users the same."""

import re
import signal
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from tests.runtime.command import Command, fake_source, file_sink, ids, job, published, staged
from tests.runtime.zombie import PATIENCE_S, ends_as_zombie, show, until
from tests.torture.moments import CHECKPOINT, FINAL, TARGET
from tests.torture.process import Engine

pytestmark = [
    pytest.mark.spark,
    pytest.mark.torture,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("commands"),
]

ROWS = 2_400
EPOCHS_PER_PROCESS = 100_000
"""The epochs of a job's n-th process begin with n times this."""


@frozen
class Moment:
    """Where the older engine falls asleep."""

    name: str
    stop: tuple[Any, ...] | None = None
    """``None``: anywhere, as soon as something is published."""

    whole_machine: bool = False
    """With its JVM and its Python workers, as when a laptop is closed."""


MOMENTS = (
    Moment("rows flow"),
    Moment("rows flow, and the whole machine sleeps", whole_machine=True),
    Moment("checkpoint stored, not looked at yet", ("link", CHECKPOINT, 2, "after", True)),
    Moment("looked, about to commit", ("commit", TARGET, 3, "before")),
    Moment("some files renamed, some not", ("rename", TARGET, 3, "after")),
    Moment("about to prune", ("unlink", CHECKPOINT, 1, "before", True)),
)


SHORT = (MOMENTS[2], MOMENTS[3])
"""The two of which the rules speak; the short form of the torture plays no others."""


def at(moment: Moment, *, always: bool) -> Any:
    return pytest.param(moment, id=moment.name, marks=() if always else pytest.mark.long)


def a_job(folder: Path, *, pipelines: int = 1, format: str = "parquet") -> Command:
    """Rows flow for about three seconds, with a checkpoint every fifth of a second."""
    env = "job.mode = BATCH, parallelism = 2, checkpoint.interval = 200, read_limit.rows_per_second = 800"
    names = [f"in{number}" for number in range(1, pipelines + 1)]
    sources = [fake_source(name, rows=ROWS, splits=24) for name in names]
    sinks = [file_sink(name, folder / "out" / name, format, more="batch_size = 40") for name in names]
    return Command.of(folder, job(env, sources, sinks))


def stored(command: Command) -> set[str]:
    """All that lies in the checkpoint storage, what is being written left out."""
    found = (command.folder / "state").rglob("*")
    return {
        str(path.relative_to(command.folder / "state")) for path in found if path.is_file() and ".tmp" not in path.parts
    }


def every_row_once(command: Command) -> None:
    for folder in sorted((command.folder / "out").iterdir()):
        assert ids(folder) == list(range(1, ROWS + 1)), folder.name
    assert not staged(command.folder / "out")


def put_to_sleep(command: Command, moment: Moment) -> Engine:
    engine = command.begin(stop=moment.stop)
    out = command.folder / "out"
    until(lambda: engine.stopped or (moment.stop is None and published(out)), engine)
    (engine.signal_all if moment.whole_machine else engine.signal)(signal.SIGSTOP)
    return engine


@pytest.mark.parametrize("moment", [at(moment, always=moment in SHORT) for moment in MOMENTS])
def test_an_engine_that_wakes_up_while_another_works_ends_and_says_why(tmp_path: Path, moment: Moment) -> None:
    """The second engine waits before its last checkpoint until the first has ended, so that what both do overlaps."""
    command = a_job(tmp_path)
    first = put_to_sleep(command, moment)
    before = published(tmp_path / "out")
    second = command.resume(stop=["link", FINAL, 1, "before"])
    until(lambda: second.stopped or len(published(tmp_path / "out")) > len(before), second)
    first.signal_all(signal.SIGCONT)
    ends_as_zombie(first)
    until(lambda: second.stopped, second)
    second.signal(signal.SIGCONT)
    assert second.wait(PATIENCE_S) == 0, second.output
    show(f"first, asleep when {moment.name}", first)
    show("second", second)
    every_row_once(command)


@pytest.mark.parametrize("moment", [at(moment, always=moment is SHORT[1]) for moment in MOMENTS])
def test_an_engine_that_wakes_up_after_the_end_changes_nothing(tmp_path: Path, moment: Moment) -> None:
    """R6: it may have stored one more checkpoint, which is void, and finish a deletion. It publishes nothing."""
    command = a_job(tmp_path)
    first = put_to_sleep(command, moment)
    second = command.resume()
    assert second.wait(PATIENCE_S) == 0, second.output
    files, objects = published(tmp_path / "out"), stored(command)
    first.signal_all(signal.SIGCONT)
    ends_as_zombie(first)
    show(f"first, asleep when {moment.name}", first)
    show("second", second)
    assert published(tmp_path / "out") == files
    more = stored(command) - objects
    print(f"what the first left in the storage after it woke up: {sorted(more) or 'nothing'}")
    assert all(_epoch(name) // EPOCHS_PER_PROCESS == 1 and name.endswith(".ckpt") for name in more)
    assert len(more) <= 1
    assert all(_epoch(name) // EPOCHS_PER_PROCESS == 1 for name in objects - stored(command))
    every_row_once(command)
    again = command.resume()
    assert again.wait(PATIENCE_S) == 0, again.output
    assert "no row was moved now" in again.output


def _epoch(name: str) -> int:
    """Of a checkpoint or a marker; the first number of its name."""
    found = re.match(r"0*(\d+)[-.]", name.rpartition("/")[2])
    assert found, name
    return int(found[1])


# -- two at once ----------------------------------------------------------------------------------------------------


def loser(one: Engine, other: Engine) -> Engine:
    """Of two processes one finishes the job, and the other one does not."""
    one.wait(PATIENCE_S)
    other.wait(PATIENCE_S)
    won, lost = sorted((one, other), key=lambda engine: engine.exit_code or 0)
    assert won.exit_code == 0, f"{one.output}\n{other.output}"
    assert lost.exit_code in (1, 2), lost.output
    assert "Traceback" not in lost.output
    return lost


def one_process_ran_all(command: Command) -> int:
    """The final checkpoints of all pipelines come from the same process; its number."""
    final = [name for name in stored(command) if ".completed-point." in name]
    by_pipeline = {name.split("/")[-2]: max(0, _epoch(name) // EPOCHS_PER_PROCESS) for name in sorted(final)}
    assert len(by_pipeline) == 3
    (process,) = set(by_pipeline.values())
    return process


@pytest.mark.parametrize("round", [0, pytest.param(1, marks=pytest.mark.long), pytest.param(2, marks=pytest.mark.long)])
def test_of_two_that_go_on_with_a_job_at_once_one_runs_all_of_it(tmp_path: Path, round: int) -> None:
    command = a_job(tmp_path, pipelines=3)
    first = command.begin()
    until(lambda: published(tmp_path / "out"), first)
    first.kill()
    lost = loser(command.resume(), command.resume())
    said = [line for line in lost.output.splitlines() if "another process" in line or "another engine" in line]
    assert said, lost.output
    process = one_process_ran_all(command)
    every_row_once(command)
    print(f"round {round}: process {process} ran all three pipelines; the other ended with {lost.exit_code}: {said[0]}")


@pytest.mark.parametrize("round", [0, pytest.param(1, marks=pytest.mark.long), pytest.param(2, marks=pytest.mark.long)])
def test_of_two_that_begin_a_job_at_once_one_runs_all_of_it(tmp_path: Path, round: int) -> None:
    command = a_job(tmp_path, pipelines=3)
    lost = loser(command.begin(), command.begin())
    assert lost.exit_code == 2
    assert f"the job {command.job_id} exists already" in lost.output
    assert one_process_ran_all(command) == 1
    every_row_once(command)
    print(f"round {round}: one ran all three pipelines; the other ended with 2: {lost.output.strip().splitlines()[-1]}")


# -- the last commit ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_a_kill_between_the_final_store_and_its_commit_loses_nothing(tmp_path: Path, format: str) -> None:
    """R7: the final checkpoint is stored, and what it contains is staged and not published."""
    command = a_job(tmp_path, format=format)
    first = command.begin(stop=["link", FINAL, 1, "after"])
    until(lambda: first.stopped, first)
    first.kill()
    first.end()
    committed, waiting = len(ids(tmp_path / "out" / "in1")), len(staged(tmp_path / "out"))
    assert committed < ROWS
    assert waiting
    second = command.resume()
    assert second.wait(PATIENCE_S) == 0, second.output
    every_row_once(command)
    print(
        f"{format}: killed with {committed:,} of {ROWS:,} rows published and {waiting} files staged; after -r every "
        "row once, no staged file"
    )
