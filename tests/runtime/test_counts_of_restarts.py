"""What a pipeline has counted is told also while it starts again, and after starts that failed."""

from pathlib import Path

from seatunnel_core.reporting.report import JobOutcome
from tests.runtime.ground import WAIT_S, committed, ground_in, until


def test_a_pipeline_that_cannot_start_again_still_says_what_it_has_committed(tmp_path: Path) -> None:
    """The storage goes away for good: checkpoints fail, and so does the start after them."""
    with ground_in(tmp_path) as ground:
        ground.work.mkdir(parents=True)
        one_restart = "job.retry.times = 1, job.retry.interval.seconds = 0"
        with ground.run(ground.tables("a").replace("job.retry.times = 0", one_restart)) as run:
            run.start()
            until(lambda: committed(run) > 0, run)
            (ground.work / "state").rename(ground.work / "gone")
            report = run.wait(WAIT_S)
        assert report is not None
        assert report.outcome is JobOutcome.FAILED
        (view,) = report.pipelines
        assert view.restarts == 1, view.failure
        assert view.rows_committed >= len(ground.rows("a")) > 0
