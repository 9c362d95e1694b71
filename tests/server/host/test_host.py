"""The orders of a host: fenced by terms, and the same when they are repeated."""

from typing import Any

import pytest

from seatunnel_core.control.server import answer
from seatunnel_core.reporting.open_metrics import Sample
from seatunnel_core.server.host.host import Host
from seatunnel_core.server.host.protocol import HostedJob, HostStatus
from seatunnel_core.server.state.records import DesiredState, JobRecord, JobState


class Job:
    """A job that does what it is told."""

    threads = 1

    def __init__(self, record: JobRecord) -> None:
        self.record = record
        self.state = JobState.PENDING
        self.stopped: list[DesiredState] = []

    def start(self) -> None:
        if not self.threads:
            raise RuntimeError("can't start new thread")
        self.state = JobState.RUNNING

    def status(self) -> HostedJob:
        return HostedJob(job_id=self.record.job_id, attempt=self.record.attempt, state=self.state)

    def samples(self) -> list[Sample]:
        return [Sample("SinkWriteCount", "_total", {"job_id": self.record.job_id}, 5)]

    def stop(self, how: DesiredState) -> None:
        self.stopped.append(how)

    def join(self, timeout: float | None = None) -> bool:
        return self.state.is_end


@pytest.fixture
def jobs() -> list[Job]:
    return []


@pytest.fixture
def host(jobs: list[Job]) -> Host:
    def make(record: JobRecord) -> Job:
        jobs.append(Job(record))
        return jobs[-1]

    def look_at_java() -> tuple[int, list[Sample]]:
        return 43, [Sample("jvm_threads_current", "", {}, 7)]

    return Host(make, pid=42, name="", boot="b", offered=0, look_at_java=look_at_java, clock=lambda: 100.0)


def ask(host: Host, **request: Any) -> Any:
    import json

    answered = answer(json.dumps(request).encode(), host.verbs())
    return answered.get("answer", answered.get("error"))


def order(attempt: int = 1, *, term: int = 1, process: str = "b") -> dict[str, Any]:
    record = JobRecord(
        job_id="1",
        name="",
        text="",
        format="hocon",
        attempt=attempt,
        process=process,
        submitted_at=1.0,
        since=1.0,
    )
    return {"do": "start", "term": term, "job": record.to_bytes().decode()}


def test_lower_terms_are_refused(host: Host, jobs: list[Job]) -> None:
    ask(host, do="status", term=7)
    for verb in ("status", "stop", "forget", "leave"):
        assert "term 6 is rejected" in ask(host, do=verb, term=6, job_id="1", how="cancel")
    assert "term 6 is rejected" in ask(host, **order(term=6))
    assert not jobs
    assert not host.leaving.is_set()
    assert ask(host, do="hello") == {"pid": 42, "name": "", "boot": "b", "term": 7}


def test_an_order_that_is_repeated_starts_one_job(host: Host, jobs: list[Job]) -> None:
    assert ask(host, **order()) == {}
    assert ask(host, **order()) == {}
    assert [job.state for job in jobs] == [JobState.RUNNING]
    status = HostStatus.from_record(ask(host, do="status", term=1))
    assert status.job("1") == jobs[0].status()
    assert status.pid == 42


def test_a_host_that_stands_as_before_says_no_more_than_that(host: Host, jobs: list[Job]) -> None:
    ask(host, **order())
    status = ask(host, do="status", term=1)
    assert ask(host, do="status", term=1, seen=status["number"]) == {"unchanged": status["number"]}
    assert ask(host, do="status", term=1) == status
    jobs[0].state = JobState.FINISHED
    assert ask(host, do="status", term=1, seen=status["number"])["jobs"][0]["state"] == "FINISHED"


def test_a_job_that_was_given_to_another_process_is_refused(host: Host, jobs: list[Job]) -> None:
    """The simulation found it: the order came when the shared host had ended and the next one was there, which ran the
    job although the leader counted it as lost with its host, and told its end while it committed."""
    assert "was assigned to worker process a" in ask(host, **order(process="a"))
    assert not jobs


def test_a_job_that_gets_no_thread_is_started_by_the_next_order(
    host: Host, jobs: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was kept as a job that is planned for ever, and a repeated order was acknowledged. After 600 s it failed with
    a wrong reason, and the whole process was killed because of it."""
    monkeypatch.setattr(Job, "threads", 0)
    assert ask(host, **order()) == "job 1 cannot be started in this process now: can't start new thread"
    assert ask(host, do="status", term=1)["jobs"] == []
    monkeypatch.setattr(Job, "threads", 1)
    assert ask(host, **order()) == {}
    assert [job.state for job in jobs] == [JobState.PENDING, JobState.RUNNING]
    assert HostStatus.from_record(ask(host, do="status", term=1)).job("1") == jobs[1].status()


def test_another_attempt_waits_for_the_end_of_the_one_before(host: Host, jobs: list[Job]) -> None:
    ask(host, **order(1))
    assert "is still active in this process" in ask(host, **order(2))
    jobs[0].state = JobState.FAILED
    assert ask(host, **order(2)) == {}
    assert [job.record.attempt for job in jobs] == [1, 2]
    assert ask(host, **order(1)) == {}, "an old order that arrives late"
    assert len(jobs) == 2


def test_only_a_job_that_has_ended_is_forgotten(host: Host, jobs: list[Job]) -> None:
    ask(host, **order())
    assert "cannot be dropped" in ask(host, do="forget", term=1, job_id="1")
    jobs[0].state = JobState.FINISHED
    assert ask(host, do="forget", term=1, job_id="1") == {}
    assert ask(host, do="forget", term=1, job_id="1") == {}
    assert ask(host, do="status", term=1)["jobs"] == []


def test_stop_and_leave(host: Host, jobs: list[Job]) -> None:
    ask(host, **order())
    ask(host, do="stop", term=1, job_id="1", how="savepoint")
    assert ask(host, do="stop", term=1, job_id="unknown", how="cancel") == {}
    assert "is not a valid" in ask(host, do="stop", term=1, job_id="1", how="sing")
    assert jobs[0].stopped == [DesiredState.SAVEPOINT]
    ask(host, do="leave", term=1)
    assert host.leaving.is_set()
    assert not host.stop_all(DesiredState.CANCEL, 0.0)


def test_figures_are_those_of_all_jobs_of_any_term(host: Host, jobs: list[Job]) -> None:
    processes = {"host": 42, "java": 43}
    java = ["jvm_threads_current", "", {}, 7]
    assert ask(host, do="figures") == {"host": "", "processes": processes, "samples": [java]}
    ask(host, **order(term=7))
    assert len(jobs) == 1
    assert ask(host, do="figures")["samples"] == [java, ["SinkWriteCount", "_total", {"job_id": "1"}, 5]]
