"""The start of a job in a host while its storage does not answer."""

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from attrs import evolve

from seatunnel_core.config.engine import EngineConfig, load_engine
from seatunnel_core.config.job_file import RawJob
from seatunnel_core.errors import UsageError
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.job.restoring import Restore
from seatunnel_core.reporting.metrics import JobMetrics
from seatunnel_core.reporting.report import JobOutcome, JobReport
from seatunnel_core.reporting.series import JobSeries
from seatunnel_core.runtime.job_run import JobRun
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

    def require_open(self) -> None:
        pass


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
    ("attempt", "stored", "failures", "claimed"),
    [
        (2, b"", [], False),
        (2, b"{}", [], True),
        (1, b"", [StorageUnavailableError("full")], False),
        (1, b"{}", [StorageUnavailableError("full")], True),
    ],
)
def test_an_attempt_that_cannot_plan_reports_whether_the_job_was_claimed_before(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    attempt: int,
    stored: bytes,
    failures: list[CheckpointStorageError],
    claimed: bool,
) -> None:
    """Otherwise, a job whose first process died before it planned could never be started again."""
    monkeypatch.setattr(job_thread, "_AGAIN_S", (0.01,))
    monkeypatch.setattr(job_thread, "JobRun", Runs([*failures, StorageAccessError("the source is down")]))
    thread, _ = stored_job(tmp_path, stored, attempt=attempt)
    thread.start()
    assert thread.join(60)
    assert (thread.status().state, thread.status().claimed) == (JobState.FAILED, claimed)


def test_a_later_attempt_that_cannot_read_the_storage_may_have_been_claimed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(*_: object) -> None:
        raise StorageAccessError("no permission")

    monkeypatch.setattr(job_thread, "open_storage", unreadable)
    thread, _ = stored_job(tmp_path, b"", attempt=2)
    thread.start()
    assert thread.join(60)
    assert (thread.status().state, thread.status().claimed) == (JobState.FAILED, True)


@pytest.mark.parametrize(
    ("changes", "claimed_for", "is_own"),
    [
        ({}, "s1", True),
        ({}, "s2", False),
        ({}, "", False),
        ({}, None, True),
        ({"submission": ""}, "s2", True),
        ({"restore": True}, "s2", True),
        ({"restore": True, "fresh": True}, "", True),
    ],
    ids=["own", "of another submission", "of a command", "of 0.1", "submitted to 0.1", "restored", "restored anew"],
)
@pytest.mark.parametrize("attempt", [1, 2])
def test_an_attempt_takes_over_only_what_its_submission_claimed_or_the_user_restores(
    tmp_path: Path, attempt: int, changes: dict[str, Any], claimed_for: str | None, is_own: bool
) -> None:
    stored = Manifest(job_name="one", submission=claimed_for).to_bytes()
    thread, raw = stored_job(tmp_path, stored, **{"submission": "s1", "attempt": attempt} | changes)
    if is_own:
        assert thread._exists(raw, repeated=True)
    else:
        with pytest.raises(UsageError, match="the job 1 exists already"):
            thread._exists(raw, repeated=True)
    assert thread.status().claimed is is_own


def test_a_job_of_another_submission_is_not_taken_over_after_a_failure_of_the_storage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was: the old job's report was returned, and the new job FINISHED without reading a row."""
    runs = Runs([StorageUnavailableError("full")])
    monkeypatch.setattr(job_thread, "_AGAIN_S", (0.01,))
    monkeypatch.setattr(job_thread, "JobRun", runs)
    monkeypatch.setattr(job_thread, "totals", lambda _: {})
    thread, _ = stored_job(tmp_path, Manifest(job_name="one", submission="").to_bytes(), submission="s1")
    thread.start()
    assert thread.join(60)
    status = thread.status()
    assert (status.state, status.fenced, status.claimed) == (JobState.FAILED, False, False)
    assert "the job 1 exists already" in status.error
    assert runs.restores == [None]


def test_the_manifest_of_a_new_job_names_its_submission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JobRun, "_work", lambda *_: None)
    text = RECORD.text.replace("row.num = 1", "schema { fields { id = bigint } }")
    thread, raw = stored_job(tmp_path, b"", submission="s1", text=text)
    thread._begin(raw, repeated=False).close()
    assert thread._exists(raw, repeated=True)
    other, _ = stored_job(tmp_path, b"", submission="s2")
    with pytest.raises(UsageError, match="the job 1 exists already"):
        other._exists(raw, repeated=True)


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
    return stored_job(folder, stored, restore=True, fresh=fresh)


def stored_job(folder: Path, stored: bytes, **changes: Any) -> tuple[JobThread, RawJob]:
    """Return a job with a storage that contains this manifest of it; none if it is empty."""
    engine = load_engine(engine_file(folder))
    if stored:
        storage = open_storage(engine.storage.type, engine.storage.effective)
        storage.put_manifest("1", 1, stored)
        storage.close()
    record = evolve(RECORD, **changes)
    return JobThread(record, engine, cast(Any, Backend())), SubmittedJob.of(record).read()


def test_a_job_fails_of_a_storage_that_refuses_it(begun: Any) -> None:
    thread, _ = begun(StorageAccessError("no permission"))
    assert thread.join(60)
    assert (thread.status().state, thread.status().fenced) == (JobState.FAILED, False)


def test_a_savepoint_that_gets_no_thread_is_taken_by_the_next_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """The job stayed one that takes a savepoint, and failed at its end, because it waited for that thread."""
    thread = JobThread(RECORD, cast(EngineConfig, None), cast(Any, Backend()))
    taken: list[bool] = []
    run: Any = SimpleNamespace(savepoint=lambda _name, *, stop: taken.append(stop))
    thread._run, thread._measured_in = run, int(1e18)
    monkeypatch.setattr(thread, "_measure", lambda _: None)

    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as without:
        without.setattr(threading.Thread, "start", start)
        thread.stop(DesiredState.SAVEPOINT)
    assert (thread.status().state, thread._saving) == (JobState.RUNNING, None)
    thread.stop(DesiredState.SAVEPOINT)
    assert thread._saving is not None
    thread._saving.join(60)
    assert taken == [True]
