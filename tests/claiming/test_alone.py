"""``-r`` of a job that runs on this machine: refused, unless it is to be taken over."""

import os

import pytest

from seatunnel_core.claiming import alone
from seatunnel_core.errors import UsageError
from seatunnel_core.job.restoring import Restore
from seatunnel_core.reporting.report import JobOutcome
from tests.runtime.ground import ALL, OLD, ROWS, WAIT_S, Ground, committed, run_through, until

pytestmark = pytest.mark.timeout(300)


def test_a_job_that_runs_is_not_restored_beside_itself(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second command with ``-r`` ended the one that worked, as a zombie, in the midst of its work."""
    text = ground.tables("a", rows_per_second=25)
    with ground.run(text) as first:
        first.start()
        until(lambda: committed(first) > 0, first)
        with (
            pytest.raises(UsageError, match=f"the job {OLD} runs in this process. Stop it first, with seatunnel -can"),
            ground.run(text, restore=Restore()) as second,
        ):
            second.start()
        monkeypatch.setattr(alone, "getpid", lambda: 1)
        with (
            pytest.raises(UsageError, match=rf"runs in process {os.getpid()}\. .*or restore it with take_over=True"),
            ground.run(text, restore=Restore()) as second,
        ):
            second.start()


def test_a_job_that_runs_is_taken_over_where_that_is_asked_for(ground: Ground) -> None:
    text = ground.tables("a", rows_per_second=25)
    with ground.run(text) as first:
        first.start()
        until(lambda: committed(first) > 0, first)
        report, _ = run_through(ground.run(ground.tables("a", rows_per_second=None), restore=Restore(take_over=True)))
        assert report.outcome is JobOutcome.FINISHED, report
        lost = first.wait(WAIT_S)
        assert lost is not None
        assert lost.outcome is JobOutcome.FAILED
    assert ground.rows("a") == ALL


def test_a_job_that_has_ended_here_is_restored_before_its_handle_is_closed(ground: Ground) -> None:
    text = ground.tables("a", rows_per_second=None)
    with ground.run(text) as first:
        first.start()
        assert first.wait(WAIT_S) is not None
        report, _ = run_through(ground.run(text, restore=Restore()))
        assert report.ended_before
        assert sum(view.rows_committed for view in report.pipelines) == ROWS
