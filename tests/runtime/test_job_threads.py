"""How a job ends when something breaks that no pipeline answers for."""

from collections.abc import Callable
from threading import Thread
from time import sleep
from typing import Any

import pytest
from attrs import define, field

from seatunnel_core.checkpoint.commands import Outcome
from seatunnel_core.claiming.claim import Claim
from seatunnel_core.errors import SavepointError, UsageError
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.reporting.report import JobOutcome, JobReport, PipelineView
from seatunnel_core.reporting.series import Point
from seatunnel_core.runtime.job_threads import JobThreads
from seatunnel_core.spark.backend import SparkBackend
from seatunnel_core.spark.starting.settings import SparkSettings
from seatunnel_core.work.failure import Failure, FailureKind
from seatunnel_storage_api.errors import StorageUnavailableError
from seatunnel_storage_api.memory import MemoryStorage
from seatunnel_storage_api.storage import CheckpointStorage
from tests.jobs.at_once import AtOnce


@define
class PlannedNothing:
    """A job with a name."""

    name: str = "broken"
    manifest: Manifest | None = None
    warnings: tuple[str, ...] = ()
    pipelines: tuple[Any, ...] = ()


@define(slots=False)
class Pipeline:
    """One that runs until it is abandoned."""

    threads: JobThreads = field(repr=False)
    outcome: Outcome | None = None
    cleared: int = 0
    failure: Failure | None = None
    asked_to_stop: bool = False
    sources_closed: bool = False
    id: int = 1
    point: Point = field(factory=Point)

    def stop(self) -> None:
        self.asked_to_stop = True

    def abandon(self) -> None:
        if self.outcome is not None:
            return
        self.outcome = Outcome.STOPPED
        self.threads.pipeline_ended(self)  # type: ignore[arg-type]

    def close_sources(self) -> None:
        self.sources_closed = True

    def clear(self) -> None:
        assert self.threads._backend.stopped, "tasks may still stage"  # type: ignore[attr-defined]
        self.cleared += 1

    def view(self) -> PipelineView:
        return PipelineView(id=1, name="in -> out", phase="stopped")


class Backend(SparkBackend):
    """One that only knows whether it was stopped."""

    stopped = False

    def stop(self) -> None:
        self.stopped = True


@define
class Dispatcher:
    """One that has given up so many batches."""

    lost_batches: int

    def close(self) -> None: ...


def threads_that(
    hears: Callable[[JobReport], None] = lambda _report: None,
    *,
    storage: CheckpointStorage | None = None,
    job: PlannedNothing | None = None,
) -> JobThreads:
    """One that nothing was started of, and which ``hears`` of its end."""
    return JobThreads(
        job_id="job-1",
        claim=Claim(version=1, job=job or PlannedNothing()),  # type: ignore[arg-type]
        engine=None,  # type: ignore[arg-type]
        storage=storage,  # type: ignore[arg-type]
        backend=Backend(SparkSettings()),
        on_begun=None,
        on_end=hears,
        restored=False,
    )


def running(threads: JobThreads, *, lost_batches: int = 0) -> JobThreads:
    """Its loop runs, and so does what stands for Spark."""
    threads._spark.set_result(Dispatcher(lost_batches))  # type: ignore[arg-type]
    threads._spark_starter = Thread(target=lambda: None)
    threads._thread.start()
    threads._spark_starter.start()
    return threads


def test_a_job_that_breaks_has_failed_even_if_its_last_pipeline_is_quick_to_stop() -> None:
    """The pipelines are abandoned, and the last one concludes the job: it was told as stopped by a person, exit code
    130, whenever that came before the word of what broke."""
    reports: list[JobReport] = []
    threads = threads_that(reports.append)
    threads._storage_pool = AtOnce()  # type: ignore[assignment]
    threads._runs.append(Pipeline(threads))  # type: ignore[arg-type]
    threads._break(RuntimeError("an unexpected thing"))
    threads._loop.close()
    assert {report.outcome for report in reports} == {JobOutcome.FAILED}
    assert "an unexpected thing" in reports[0].failure


def test_what_breaks_a_job_is_reported_with_its_code(caplog: pytest.LogCaptureFixture) -> None:
    reports: list[JobReport] = []
    threads = threads_that(reports.append)
    threads._break(StorageUnavailableError("no answer"))
    threads._loop.close()
    assert [(report.failure, report.code) for report in reports] == [("no answer", "STORAGE-UNAVAILABLE")]
    assert [vars(record)["code"] for record in caplog.records] == ["STORAGE-UNAVAILABLE"]


@pytest.mark.parametrize("kind", [FailureKind.JOB, FailureKind.DATA])
def test_a_failure_that_ends_the_job_stops_the_other_pipelines(kind: FailureKind) -> None:
    """With a final checkpoint each; any other failure is its pipeline's own."""
    threads = threads_that()
    failed = Pipeline(threads, Outcome.FAILED, failure=Failure(kind=kind, message="the licence has ended"))
    other = Pipeline(threads)
    threads._runs += [failed, other]  # type: ignore[list-item]
    threads.pipeline_ended(failed)  # type: ignore[arg-type]
    threads._loop.close()
    assert other.asked_to_stop is (kind is FailureKind.JOB)
    assert other.outcome is None


@pytest.mark.parametrize(("lost_batches", "recorded", "cleared"), [(1, True, 1), (0, True, 0), (1, False, 0)])
def test_what_the_task_of_a_lost_batch_stages_late_is_cleared_when_spark_is_gone(
    lost_batches: int, recorded: bool, cleared: int
) -> None:
    """On a slow machine a batch was overdue, its unit ran again and was committed, and the first task, told to stop,
    staged its files half a second after the last sweep: they stayed for ever. A job that goes on is swept later."""
    threads = running(threads_that(), lost_batches=lost_batches)
    pipeline = Pipeline(threads, Outcome.FINISHED)
    threads._runs.append(pipeline)  # type: ignore[arg-type]
    threads._recorded = recorded
    threads.close()
    assert pipeline.cleared == cleared


@pytest.mark.parametrize("ended", [True, False])
def test_what_a_zombie_staged_is_cleared_when_the_job_has_ended_without_it(ended: bool) -> None:
    """It woke up after the job's end, and its workers staged what nobody would ever sweep. While the other engine works
    it touches nothing: that one's checkpoints may name what was staged here."""
    manifest = Manifest(job_name="job")
    with MemoryStorage() as storage:
        storage.put_manifest("job-1", 1, manifest.to_bytes())
        storage.put_manifest("job-1", 2, (manifest.closed({}) if ended else manifest).to_bytes())
        threads = running(threads_that(storage=storage, job=PlannedNothing(manifest=manifest)))
        pipeline = Pipeline(threads, Outcome.FENCED)
        threads._runs.append(pipeline)  # type: ignore[arg-type]
        threads.close()
    assert pipeline.cleared == ended


def test_a_job_that_is_closed_while_it_runs_gives_shut_pools_no_work(caplog: pytest.LogCaptureFixture) -> None:
    """A handle that was closed right after its job had begun logged `cannot schedule new futures after shutdown`: the
    pipelines were being abandoned on the loop, and the last one gave its report to a pool that was shut already."""
    reports: list[JobReport] = []
    threads = running(threads_that(reports.append))
    pipeline = Pipeline(threads)
    threads._runs.append(pipeline)  # type: ignore[arg-type]
    threads._loop.call_soon_threadsafe(sleep, 0.2)  # the loop is busy when the abandon comes
    with caplog.at_level("ERROR"):
        threads.close()
    assert caplog.messages == []
    assert pipeline.sources_closed, "the pool may have dropped that, too"
    assert {report.outcome for report in reports} <= {JobOutcome.STOPPED}


def test_a_job_whose_report_cannot_be_made_ends_all_the_same() -> None:
    """An error there was lost in the pool's thread, and the command waited for ever for a closing table."""
    reports: list[JobReport] = []
    threads = threads_that(reports.append)
    pipeline = Pipeline(threads)
    pipeline.view = lambda: PipelineView(id=1, name="a", phase="finished", no_such_field=0)  # type: ignore[call-arg,method-assign]
    threads._runs.append(pipeline)  # type: ignore[arg-type]
    threads._storage_pool = AtOnce()  # type: ignore[assignment]
    threads._conclude()
    threads._loop.close()
    assert {report.outcome for report in reports} == {JobOutcome.FAILED}
    assert "no_such_field" in reports[0].failure


def test_a_savepoint_that_is_asked_for_while_the_job_is_closed_is_answered() -> None:
    """Behind the last pipeline's end it met a closed loop, and said so as a bug; just before that nobody would have
    answered."""
    with MemoryStorage() as storage:
        manifest = Manifest(job_name="job")
        threads = running(threads_that(storage=storage, job=PlannedNothing(manifest=manifest)))
        asked = []
        heard: list[UsageError] = []

        def ask() -> None:
            while not heard:
                try:
                    asked.append(threads.savepoint(None, stop=False, drain=False))
                except UsageError as error:
                    heard.append(error)

        asking = Thread(target=ask)
        asking.start()
        threads.close()
        asking.join(timeout=60)
    assert "the job job-1 has ended" in str(heard[0])
    for future in asked:
        with pytest.raises(SavepointError):
            future.result(timeout=0)
