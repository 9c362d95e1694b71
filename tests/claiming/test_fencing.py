"""Two engines on one job, as real processes: whoever is older may do what rule R6 allows and nothing else, says why it
ends, and every row is there once. `docs/guides/failures.md` tells users the same."""

from pathlib import Path
from typing import Any

import pytest

from tests.claiming.zombie import (
    EPOCHS_PER_PROCESS,
    PATIENCE_S,
    ROWS,
    Moment,
    a_job,
    epoch_of,
    every_row_once,
    moments,
    until,
    wakes_up_after_the_end,
    wakes_up_while_another_works,
)
from tests.figures import Figure
from tests.live_folder import files_below
from tests.runtime.command import Command, ids, published, staged
from tests.torture.moments import CHECKPOINT, FINAL
from tests.torture.process import Engine

pytestmark = [
    pytest.mark.spark,
    pytest.mark.torture,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("commands"),
]

MOMENTS = (*moments("link"), Moment("about to prune", ("unlink", CHECKPOINT, 1, "before", True)))
SHORT = (MOMENTS[2], MOMENTS[3])
"""The two of which the rules speak; the short form of the torture plays no others."""


def at(moment: Moment, *, always: bool) -> Any:
    return pytest.param(moment, id=moment.name, marks=() if always else pytest.mark.long)


def stored(command: Command) -> set[str]:
    """All that lies in the checkpoint storage, what is being written left out."""
    found = files_below(command.folder / "state")
    return {str(path.relative_to(command.folder / "state")) for path in found if ".tmp" not in path.parts}


@pytest.mark.parametrize("moment", [at(moment, always=moment in SHORT) for moment in MOMENTS])
def test_an_engine_that_wakes_up_while_another_works_ends_and_says_why(tmp_path: Path, moment: Moment) -> None:
    wakes_up_while_another_works(a_job(tmp_path), moment, put="link")


@pytest.mark.parametrize("moment", [at(moment, always=moment is SHORT[1]) for moment in MOMENTS])
def test_an_engine_that_wakes_up_after_the_end_changes_nothing(tmp_path: Path, moment: Moment) -> None:
    command = a_job(tmp_path)
    wakes_up_after_the_end(command, moment, lambda: stored(command))


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
    by_pipeline = {name.split("/")[-2]: max(0, epoch_of(name) // EPOCHS_PER_PROCESS) for name in sorted(final)}
    assert len(by_pipeline) == 3
    (process,) = set(by_pipeline.values())
    return process


@pytest.mark.parametrize("round", [0, pytest.param(1, marks=pytest.mark.long), pytest.param(2, marks=pytest.mark.long)])
def test_of_two_that_go_on_with_a_job_at_once_one_runs_all_of_it(tmp_path: Path, round: int, figure: Figure) -> None:
    command = a_job(tmp_path, pipelines=3)
    first = command.begin()
    until(lambda: published(tmp_path / "out"), first)
    first.kill()
    lost = loser(command.resume("--take-over"), command.resume("--take-over"))
    said = [line for line in lost.output.splitlines() if "another process" in line or "another engine" in line]
    assert said, lost.output
    process = one_process_ran_all(command)
    every_row_once(command)
    figure(
        f"round {round}: process {process} ran all three pipelines; the other ended with {lost.exit_code}: {said[0]}"
    )


@pytest.mark.parametrize("round", [0, pytest.param(1, marks=pytest.mark.long), pytest.param(2, marks=pytest.mark.long)])
def test_of_two_that_begin_a_job_at_once_one_runs_all_of_it(tmp_path: Path, round: int, figure: Figure) -> None:
    command = a_job(tmp_path, pipelines=3)
    lost = loser(command.begin(), command.begin())
    assert lost.exit_code == 2
    assert f"the job {command.job_id} exists already" in lost.output
    assert one_process_ran_all(command) == 1
    every_row_once(command)
    figure(
        f"round {round}: one ran all three pipelines; the other ended with 2: {lost.output.strip().splitlines()[-1]}"
    )


# -- the last commit ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_a_kill_between_the_final_store_and_its_commit_loses_nothing(
    tmp_path: Path, format: str, figure: Figure
) -> None:
    """R7: the final checkpoint is stored, and what it contains is staged and not published: all rows, because one that
    is taken just before it may leave it nothing."""
    command = a_job(tmp_path, format=format, between=False)
    first = command.begin(stop=["link", FINAL, 1, "after"])
    until(lambda: first.stopped, first)
    first.kill()
    first.end()
    committed, waiting = len(ids(tmp_path / "out" / "in1")), len(staged(tmp_path / "out"))
    assert committed == 0
    assert waiting
    second = command.resume()
    assert second.wait(PATIENCE_S) == 0, second.output
    every_row_once(command)
    figure(
        f"{format}: killed with {committed:,} of {ROWS:,} rows published and {waiting} files staged; after -r every "
        "row once, no staged file"
    )
