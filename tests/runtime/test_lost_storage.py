"""Folders of checkpoints that are moved away, or created again without content, while a job runs or is stopped."""

import re
import shutil
from pathlib import Path

import pytest

from seatunnel_core.errors import SeaTunnelError, UsageError
from seatunnel_core.job.restoring import Restore
from seatunnel_core.reporting.report import JobOutcome
from tests.runtime.ground import ALL, OLD, ROWS, WAIT_S, Ground, committed, ground_in, kill, run_through, until

pytestmark = pytest.mark.timeout(300)


def refused(ground: Ground) -> str:
    """Restore the job where its checkpoints are missing, and return the error."""
    with pytest.raises(SeaTunnelError) as caught:
        run_through(ground.run(ground.tables("a", rows_per_second=None), restore=Restore()))
    assert isinstance(caught.value, UsageError)
    return str(caught.value)


def finishes_with_each_row_once(ground: Ground) -> None:
    report, _ = run_through(ground.run(ground.tables("a", rows_per_second=None), restore=Restore()))
    assert report.outcome is JobOutcome.FINISHED, report
    assert ground.rows("a") == ALL


@pytest.mark.parametrize("left", ["nothing", "an empty folder", "an empty folder of the job"])
def test_checkpoints_that_are_lost_while_the_job_runs_end_it_with_an_error(left: str, tmp_path: Path) -> None:
    with ground_in(tmp_path) as ground:
        ground.work.mkdir()
        state, away = ground.work / "state", ground.work / "away"
        with ground.run(ground.tables("a", rows_per_second=150)) as run:
            run.start()
            until(lambda: committed(run) >= ROWS // 6, run)
            state.rename(away)
            if left != "nothing":
                (state / OLD if left.endswith("job") else state).mkdir(parents=True)
            report = run.wait(WAIT_S)
        assert report is not None
        assert report.outcome is not JobOutcome.FINISHED, "it ended as if all were well"
        assert report.pipelines[0].rows_committed < ROWS
        seen = len(ground.rows("a"))
        assert re.search(rf"there is no job {OLD}|no such|{re.escape(str(state))}", refused(ground))
        assert len(ground.rows("a")) == seen, "nothing is published without checkpoints"
        shutil.rmtree(state, ignore_errors=True)
        away.rename(state)
        finishes_with_each_row_once(ground)


@pytest.mark.parametrize("left", ["nothing", "an empty folder", "the manifest"])
def test_checkpoints_that_are_lost_while_the_job_is_stopped_are_an_error(left: str, tmp_path: Path) -> None:
    with ground_in(tmp_path) as ground:
        ground.work.mkdir()
        state, away = ground.work / "state", ground.work / "away"
        with ground.run(ground.tables("a", rows_per_second=150)) as run:
            run.start()
            until(lambda: committed(run) >= ROWS // 6, run)
            kill(run)
        seen = ground.rows("a")
        state.rename(away)
        if left == "the manifest":
            shutil.copytree(away, state)
            for folder in (state / OLD).glob("0*"):  # of its pipelines
                shutil.rmtree(folder)
            report, _ = run_through(ground.run(ground.tables("a", rows_per_second=None), restore=Restore()))
            assert report.outcome is JobOutcome.FAILED
            assert "the job has no checkpoint" in report.pipelines[0].failure
        else:
            if left == "an empty folder":
                state.mkdir()
            assert f"there is no job {OLD}" in refused(ground)
        assert ground.rows("a") == seen
        shutil.rmtree(state, ignore_errors=True)
        away.rename(state)
        finishes_with_each_row_once(ground)
