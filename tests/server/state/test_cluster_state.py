"""What the leader records of jobs: transitions, history, and their bounds."""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.errors import StoredValueError
from seatunnel_core.server.errors import DeposedError
from seatunnel_core.server.state.cluster_state import ClusterState, decode
from seatunnel_core.server.state.records import DesiredState, EndedJob, JobRecord, JobState
from seatunnel_core.server.state.store import Lease
from tests.server.state.stores import local_store


def a_job(job_id: str = "1", **values: Any) -> JobRecord:
    record = JobRecord(job_id=job_id, name="copy", text="env {}", format="hocon", submitted_at=10.0, since=10.0)
    return evolve(record, **values)


def an_end(job_id: str = "1", *, at: float = 100.0, state: JobState = JobState.FINISHED) -> EndedJob:
    return EndedJob(job_id=job_id, name="copy", state=state, attempts=1, submitted_at=10.0, ended_at=at)


def the_state(folder: Path, *, expire_s: float = 1_000.0, most: int = 100) -> ClusterState:
    return ClusterState(local_store(folder).claim(), expire_s=expire_s, most_history=most)


def test_records_come_back_as_they_were_written() -> None:
    job = a_job(variables={"day": "1"}, wanted=DesiredState.SAVEPOINT, state=JobState.RUNNING, host="h:1", attempt=3)
    assert JobRecord.from_bytes(job.to_bytes()) == job
    ended = evolve(an_end(), error="no such file", env={"job.name": "copy"}, metrics={"SourceReceivedCount": "3"})
    assert EndedJob.from_bytes(ended.to_bytes()) == ended


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"job_id": 1}'])
def test_what_is_no_record_is_refused(body: bytes) -> None:
    with pytest.raises(StoredValueError):
        JobRecord.from_bytes(body)
    with pytest.raises(StoredValueError):
        EndedJob.from_bytes(body)


def test_secrets_are_not_in_what_is_logged() -> None:
    assert "hunter2" not in repr(a_job(text="password = hunter2", variables={"p": "hunter2"}))


def test_a_value_that_cannot_be_read_hides_no_other_one() -> None:
    found = decode({"job/1": a_job().to_bytes(), "job/2": b"{", "history/3": an_end("3").to_bytes(), "other": b"?"})
    assert set(found.jobs) == {"1"}
    assert set(found.history) == {"3"}
    assert set(found.problems) == {"job/2"}


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"{}")])
def test_a_large_value_that_is_missing_or_damaged_hides_no_other_one(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    """It lies beside the log; its error made every claim fail, or ended the agent."""
    first = the_state(tmp_path)
    first.put(a_job("1", text="x" * 100_000))
    first.put(a_job("2"))
    (value,) = tmp_path.rglob("*.value")
    damage(value)
    for number in range(3, 5):
        later = the_state(tmp_path)
        assert "it is damaged" in later.problem("1")
        later.put(a_job(str(number)))
        assert set(later.snapshot().jobs) == {str(each) for each in range(2, number + 1)}


def test_a_large_value_that_a_newer_leader_has_removed_is_not_damaged(tmp_path: Path) -> None:
    older = local_store(tmp_path).claim()
    older.commit({"job/1": b"x" * 100_000})
    local_store(tmp_path).claim().commit({"job/1": None})
    with pytest.raises(DeposedError):
        decode(older.entries)


def test_the_next_leader_finds_jobs_and_history(tmp_path: Path) -> None:
    first = the_state(tmp_path)
    first.put(a_job("1"))
    first.put(a_job("2"))
    first.end(an_end("2"))
    second = the_state(tmp_path)
    assert set(second.snapshot().jobs) == {"1"}
    assert set(second.snapshot().history) == {"2"}
    assert second.job("1") == a_job("1")
    with pytest.raises(DeposedError):
        first.put(a_job("3"))
    assert first.job("3") is None


def test_a_job_is_either_open_or_ended(tmp_path: Path) -> None:
    state = the_state(tmp_path)
    state.put(a_job("1"))
    state.end(an_end("1"))
    assert state.job("1") is None
    assert state.ended("1") == an_end("1")
    state.put(a_job("1", restore=True))
    assert state.ended("1") is None
    after = the_state(tmp_path).snapshot()
    assert set(after.jobs) == {"1"}
    assert not after.history


def test_history_expires_by_age_and_by_number(tmp_path: Path) -> None:
    state = the_state(tmp_path, expire_s=50, most=3)
    for number in range(5):
        state.end(an_end(str(number), at=100.0 + number))
    assert set(state.snapshot().history) == {"2", "3", "4"}
    state.end(an_end("5", at=153.5))
    assert set(state.snapshot().history) == {"4", "5"}
    assert state.expire(1_000.0) == 2
    assert not the_state(tmp_path).snapshot().history
    assert state.snapshot().history == {}


def test_the_job_that_ends_now_is_kept_whatever_its_clock_says(tmp_path: Path) -> None:
    """A wall clock that was set back must not make the newest end vanish at once."""
    state = the_state(tmp_path, expire_s=50, most=1)
    state.end(an_end("new clock", at=10_000.0))
    state.end(an_end("old clock", at=10.0))
    assert "old clock" in state.snapshot().history


class _SlowLease(Lease):
    """A lease on a storage that does not answer until ``answers`` is set."""

    term = 1
    entries: Mapping[str, bytes] = {}

    def __init__(self) -> None:
        self.asked, self.answers = threading.Event(), threading.Event()

    def commit(self, changes: Mapping[str, bytes | None]) -> None:
        self.asked.set()
        assert self.answers.wait(120)

    def renew(self, number: int, body: bytes) -> None:
        raise NotImplementedError

    def release(self) -> None:
        raise NotImplementedError


def test_a_storage_that_does_not_answer_holds_up_nobody_who_looks() -> None:
    """An event loop looks: it has to send beats and to watch hosts meanwhile."""
    lease = _SlowLease()
    state = ClusterState(lease, expire_s=1.0)
    changing = threading.Thread(target=state.put, args=(a_job(),))
    changing.start()
    assert lease.asked.wait(60)
    found: list[int] = []
    looking = threading.Thread(target=lambda: found.append(len(state.snapshot().jobs)))
    looking.start()
    looking.join(60)
    assert found == [0], "what is not durable is not shown, and nobody waits for it"
    lease.answers.set()
    changing.join(60)
    looking.join(60)
    assert set(state.snapshot().jobs) == {"1"}
