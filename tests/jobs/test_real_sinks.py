"""What the runtime promises to sinks, seen at real ones: where a model of a sink cannot tell whether it is kept.

``test_broken_runtime`` breaks each of these promises, and the test of the same name here has to fail.
"""

import time

import pytest

from seatunnel_core.job.manifest import Manifest
from seatunnel_core.job.restoring import Restore
from seatunnel_core.reporting.report import JobOutcome, JobReport
from seatunnel_core.runtime.savepoints import ManifestWriter
from seatunnel_storage_api.errors import StorageUnavailableError
from tests.claiming.test_going_back import storage
from tests.runtime.command import published, staged
from tests.runtime.ground import ALL, OLD, ROWS, WAIT_S, Ground, committed, kill, run_through, until

pytestmark = pytest.mark.timeout(300)


def failure(report: JobReport | None) -> str:
    assert report is not None
    assert report.outcome is JobOutcome.FAILED, report
    return " ".join([report.failure, *(view.failure for view in report.pipelines)])


def test_a_damaged_newest_checkpoint_is_never_passed_over(ground: Ground) -> None:
    text = ground.tables("a", rows_per_second=100)
    with ground.run(text) as first:
        first.start()
        until(lambda: committed(first) >= ROWS // 5, first)
        kill(first)
    newest = max(ground.work.glob(f"state/{OLD}/0*/*.ckpt"))
    newest.write_bytes(newest.read_bytes()[:-40])
    rows = ground.rows("a")
    report, _ = run_through(ground.run(text, restore=Restore()))
    assert "is damaged" in failure(report)
    assert "the newest intact checkpoint is" in failure(report)
    assert ground.rows("a") == rows


def test_a_process_that_lost_one_pipeline_ends_all_of_them(ground: Ground) -> None:
    """Another process has the job: it goes on with the other pipelines too, and publishes their rows."""
    text = ground.tables("a", "b", rows_per_second=25)
    with ground.run(text) as first:
        first.start()
        until(lambda: committed(first) > 0, first)
        with storage(ground) as stored:
            stored.acquire_epoch(OLD, 1, 200_000)
        assert "another engine runs" in failure(first.wait(WAIT_S)) or "epoch 200000" in failure(first.wait(0))
    assert len(ground.rows("b")) < ROWS


def test_a_staged_file_that_is_gone_before_its_first_commit_was_not_published(ground: Ground) -> None:
    """Nobody has tried to publish it: somebody removed it, and its rows are lost."""
    text = ground.tables("a", rows_per_second=100).replace("checkpoint.interval = 40", "checkpoint.interval = 100000")
    with ground.run(text) as first:
        first.start()
        until(lambda: len(staged(ground.work)) > 5, first)
        oldest = min(staged(ground.work), key=lambda path: path.stat().st_mtime_ns)
        oldest.unlink()
        assert "is missing; it should have become" in failure(first.wait(WAIT_S))
    assert not published(ground.work / "out")


def test_staging_stays_until_the_end_of_the_job_is_recorded(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """The final checkpoint names what was published after it was stored; that it was is told by the staging folder. A
    process that dies before the end is recorded leaves the rest to the next one."""
    text = ground.tables("a", rows_per_second=None)
    write = ManifestWriter.write

    def dies(self: ManifestWriter, change: object) -> None:
        def ended(manifest: Manifest) -> Manifest:
            changed = change(manifest)  # type: ignore[operator]
            if changed.ended is not None:
                time.sleep(0.3)  # what was asked to clear before would do it now
                raise StorageUnavailableError("the storage is away")
            return changed

        write(self, ended)

    with monkeypatch.context() as patch:
        patch.setattr(ManifestWriter, "write", dies)
        with ground.run(text) as first:
            first.start()
            assert "the storage is away" in failure(first.wait(WAIT_S))
    report, _ = run_through(ground.run(text, restore=Restore()))
    assert report.outcome is JobOutcome.FINISHED, failure(report)
    assert ground.rows("a") == ALL
