"""The start of a job in a host while its storage does not answer."""

from pathlib import Path
from typing import Any, cast

import pytest
from attrs import evolve

from seatunnel_core.config.engine import EngineConfig, load_engine
from seatunnel_core.config.job_file import RawJob
from seatunnel_core.errors import UsageError
from seatunnel_core.job.restoring import Restore
from seatunnel_core.reporting.metrics import JobMetrics
from seatunnel_core.reporting.report import JobOutcome, JobReport
from seatunnel_core.reporting.series import JobSeries
from seatunnel_core.server.host import job_thread
from seatunnel_core.server.host.job_thread import JobThread
from seatunnel_core.server.state.records import DesiredState, JobRecord, JobState
from seatunnel_core.server.submitted_job import SubmittedJob
from seatunnel_storage_api.discovery import open_storage
from seatunnel_storage_api.errors import CheckpointStorageError, StorageAccessError, StorageUnavailableError
from tests.runtime.command import engine_file
from tests.server.nodes import until

RECORD = JobRecord(
    job_id="1",
    name="one",
    text="env { job.mode = BATCH }, source { FakeSource { row.num = 1 } }, sink { Console {} }",
    format="hocon",
    attempt=1,
    submitted_at=0.0,
    since=0.0,
)


class Runs:
    """Runs of a job whose claims fail one after the other, as they are told."""

    def __init__(self, failures: list[CheckpointStorageError]) -> None:
        self.failures = failures
        self.restores: list[Restore | None] = []
        self.closed = 0

    def __call__(self, *_: object, restore: Restore | None, **__: object) -> "Runs":
        self.restores.append(restore)
        return self

    def start(self) -> None:
        if self.failures:
            raise self.failures.pop(0)

    def wait(self) -> JobReport:
        return JobReport(
            job_id="1", name="one", outcome=JobOutcome.FINISHED, pipelines=(), started_at=0.0, ended_at=0.0
        )

    def series(self, most: int) -> dict[str, Any]:
        return JobSeries().record(most=most)

    def metrics(self) -> Any:
        return JobMetrics(job_id="1", name="one", started_at=0.0, state="running", pipelines=())

    def close(self) -> None:
        self.closed += 1


class Backend:
    def is_alive(self) -> bool:
        return True


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give a function that starts a job whose claims fail as they are told; a storage that answers has the job."""

    def begin(*failures: CheckpointStorageError) -> tuple[JobThread, Runs]:
        runs = Runs(list(failures))
        monkeypatch.setattr(job_thread, "JobRun", runs)
        monkeypatch.setattr(job_thread, "totals", lambda _: {})
        monkeypatch.setattr(JobThread, "_exists", lambda _self, _raw, *, repeated: repeated)
        thread = JobThread(RECORD, cast(EngineConfig, None), cast(Any, Backend()))
        thread.start()
        return thread, runs

    monkeypatch.setattr(job_thread, "_AGAIN_S", (0.01,))
    return begin


def test_a_job_waits_for_a_storage_that_does_not_answer(begun: Any) -> None:
    """It failed for good when the storage was full, or its database restarted, in the moment in which it began."""
    thread, runs = begun(StorageUnavailableError("full"), StorageUnavailableError("full"))
    assert thread.join(60)
    assert thread.status().state is JobState.FINISHED
    assert runs.closed == 3
    assert [restore is not None for restore in runs.restores] == [False, True, True], "a claim may be stored unsaid"


def test_a_job_that_waits_for_its_storage_is_cancelled_at_once(begun: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_thread, "_AGAIN_S", (600.0,))
    thread, runs = begun(StorageUnavailableError("down"))
    until("it waits", lambda: runs.closed, wait_s=60)
    thread.stop(DesiredState.CANCEL)
    assert thread.join(60)
    assert thread.status().state is JobState.FAILED
    assert thread.status().fenced, "the leader ends it, if no lost host may still run it"


def test_a_job_says_whether_it_has_claimed(begun: Any) -> None:
    """Then something of it may be stored, and otherwise nothing is."""
    for failures, claimed in (((), True), ((StorageAccessError("no permission"),), False)):
        thread, _ = begun(*failures)
        assert thread.join(60)
        assert thread.status().claimed is claimed


@pytest.mark.parametrize(
    ("stored", "fresh", "goes_on"), [(b"", True, False), (b"{}", True, True), (b"{}", False, True)]
)
def test_a_job_that_nobody_has_claimed_may_begin_from_nothing(
    tmp_path: Path, stored: bytes, fresh: bool, goes_on: bool
) -> None:
    thread, raw = restored(tmp_path, stored, fresh=fresh)
    assert thread._exists(raw, repeated=False) is goes_on


def test_a_job_that_may_have_been_claimed_does_not_begin_anew(tmp_path: Path) -> None:
    thread, raw = restored(tmp_path, b"", fresh=False)
    with pytest.raises(UsageError, match="no job 1 in the checkpoint storage to resume from"):
        thread._exists(raw, repeated=False)


def restored(folder: Path, stored: bytes, *, fresh: bool) -> tuple[JobThread, RawJob]:
    """Return a job that is to go on, with a storage that has a manifest of it, or not."""
    engine = load_engine(engine_file(folder))
    if stored:
        storage = open_storage(engine.storage.type, engine.storage.effective)
        storage.put_manifest("1", 1, stored)
        storage.close()
    record = evolve(RECORD, restore=True, fresh=fresh)
    return JobThread(record, engine, cast(Any, Backend())), SubmittedJob.of(record).read()


def test_a_job_fails_of_a_storage_that_refuses_it(begun: Any) -> None:
    thread, _ = begun(StorageAccessError("no permission"))
    assert thread.join(60)
    assert (thread.status().state, thread.status().fenced) == (JobState.FAILED, False)
