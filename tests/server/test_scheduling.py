"""What a leader does next with its jobs, as tables."""

import pytest
from attrs import evolve

from seatunnel_core.server.host.protocol import HostedJob, HostStatus
from seatunnel_core.server.scheduling import Decision, End, Forget, KillHost, Record, Start, Stop, View, decide
from seatunnel_core.server.state.records import JobRecord, JobState, Wanted

HERE = "here:1"
JOB = JobRecord(job_id="1", name="copy", text="", format="hocon", submitted_at=1.0, since=1.0)
GIVEN = evolve(JOB, state=JobState.SCHEDULED, host=HERE, attempt=1)
RUNNING = evolve(GIVEN, state=JobState.RUNNING)


def hosted(state: JobState, *, attempt: int = 1, job_id: str = "1", error: str = "") -> HostedJob:
    return HostedJob(job_id=job_id, attempt=attempt, state=state, error=error, metrics={"SinkWriteCount": 3})


def decided(
    record: JobRecord | None,
    *jobs: HostedJob,
    ready: bool = True,
    host: bool = True,
    stopping_s: float = 0.0,
    started_s: float = 1_000.0,
) -> list[Decision]:
    status = HostStatus(pid=1, term=1, ready=ready, slots=2, jobs=jobs) if host else None
    records = {} if record is None else {record.job_id: record}
    view = View(
        jobs=records,
        host=status,
        address=HERE,
        now=9.0,
        stopping_s={"1": stopping_s},
        started_s={"1": started_s},
    )
    return decide(view)


def test_a_job_that_no_host_has_is_started_as_a_new_attempt() -> None:
    assert decided(JOB) == [Start(evolve(GIVEN, since=9.0))]
    assert decided(RUNNING) == [Start(evolve(GIVEN, attempt=2, since=9.0))], "its host died"
    elsewhere = evolve(RUNNING, host="there:2")
    assert decided(elsewhere) == [Start(evolve(GIVEN, attempt=2, since=9.0))], "its member does not lead any more"


@pytest.mark.parametrize("record", [JOB, RUNNING])
def test_nothing_starts_without_a_warm_host(record: JobRecord) -> None:
    assert decided(record, ready=False) == []
    assert decided(record, host=False) == []


def test_jobs_start_in_the_order_in_which_they_were_submitted() -> None:
    jobs = {number: evolve(JOB, job_id=number, submitted_at=at) for number, at in (("b", 2.0), ("c", 1.0), ("a", 3.0))}
    status = HostStatus(pid=1, term=1, ready=True, slots=2, jobs=())
    found = decide(View(jobs=jobs, host=status, address=HERE, now=9.0))
    assert [each.job.job_id for each in found if isinstance(each, Start)] == ["c", "b", "a"]


def test_transitions_are_recorded_once() -> None:
    assert decided(GIVEN, hosted(JobState.SCHEDULED)) == []
    assert decided(GIVEN, hosted(JobState.RUNNING)) == [Record(evolve(RUNNING, since=9.0))]
    assert decided(RUNNING, hosted(JobState.RUNNING)) == []


@pytest.mark.parametrize("state", [JobState.FINISHED, JobState.FAILED])
def test_an_end_goes_to_the_history(state: JobState) -> None:
    (end,) = decided(RUNNING, hosted(state, error="why"))
    assert isinstance(end, End)
    assert (end.ended.state, end.ended.error, end.ended.attempts) == (state, "why", 1)
    assert end.ended.metrics == {"SinkWriteCount": 3}


def test_what_users_want_is_ordered_until_it_is_done() -> None:
    cancelled = evolve(RUNNING, wanted=Wanted.CANCEL)
    assert decided(cancelled, hosted(JobState.RUNNING)) == [Stop("1", Wanted.CANCEL)]
    assert decided(cancelled, hosted(JobState.CANCELING)) == [
        Record(evolve(cancelled, state=JobState.CANCELING, since=9.0))
    ]
    saved = evolve(RUNNING, wanted=Wanted.SAVEPOINT)
    assert decided(saved, hosted(JobState.RUNNING)) == [Stop("1", Wanted.SAVEPOINT)]
    assert decided(saved, hosted(JobState.CANCELING)) == [Stop("1", Wanted.SAVEPOINT)]
    (end,) = decided(saved, hosted(JobState.SAVEPOINT_DONE))
    assert isinstance(end, End)
    assert end.ended.state is JobState.SAVEPOINT_DONE


def test_a_cancelled_job_that_no_host_has_is_at_its_end() -> None:
    for record in (evolve(JOB, wanted=Wanted.CANCEL), evolve(RUNNING, wanted=Wanted.CANCEL_AT_ONCE)):
        (end,) = decided(record, host=False)
        assert isinstance(end, End)
        assert end.ended.state is JobState.CANCELED


def test_cancelling_ends_whatever_hangs() -> None:
    """After a while without the last checkpoint, and then with the host. A savepoint may take its time."""
    cancelled = evolve(RUNNING, wanted=Wanted.CANCEL, state=JobState.CANCELING)
    assert decided(cancelled, hosted(JobState.CANCELING), stopping_s=19.0) == []
    assert decided(cancelled, hosted(JobState.CANCELING), stopping_s=21.0) == [Stop("1", Wanted.CANCEL_AT_ONCE)]
    assert decided(cancelled, hosted(JobState.CANCELING), stopping_s=41.0) == [KillHost("1")]
    saved = evolve(RUNNING, wanted=Wanted.SAVEPOINT, state=JobState.DOING_SAVEPOINT)
    assert decided(saved, hosted(JobState.DOING_SAVEPOINT), stopping_s=1_000.0) == []


@pytest.mark.parametrize(("attempt", "pause_s"), [(1, 0.0), (2, 1.0), (3, 2.0), (5, 8.0), (30, 60.0)])
def test_a_job_that_ends_its_host_again_and_again_waits_longer_each_time(attempt: int, pause_s: float) -> None:
    record = evolve(RUNNING, attempt=attempt)
    assert bool(decided(record, started_s=max(0.0, pause_s - 0.1))) is (pause_s == 0.0)
    assert [type(each) for each in decided(record, started_s=pause_s)] == [Start]


def test_a_savepoint_in_flight_survives_its_host() -> None:
    """The job starts again, and the savepoint is ordered then. One that had never begun has nothing to save."""
    saved = evolve(RUNNING, wanted=Wanted.SAVEPOINT)
    (start,) = decided(saved)
    assert isinstance(start, Start)
    assert start.job.wanted is Wanted.SAVEPOINT
    (end,) = decided(evolve(JOB, wanted=Wanted.SAVEPOINT))
    assert isinstance(end, End)


def test_another_attempt_than_the_recorded_one_is_cleared_away() -> None:
    """The host of a former leader that leads again: its attempt was fenced by the one that another member started."""
    record = evolve(RUNNING, attempt=2, host="there:2")
    assert decided(record, hosted(JobState.RUNNING)) == [Stop("1", Wanted.CANCEL_AT_ONCE)]
    assert decided(record, hosted(JobState.FAILED)) == [Forget("1")]
    assert decided(evolve(record, host=HERE), hosted(JobState.FAILED)) == [Forget("1")]


def test_a_job_whose_host_leaves_is_no_cancelled_job() -> None:
    assert decided(RUNNING, hosted(JobState.CANCELED), ready=False) == [Forget("1")]


def test_a_job_that_is_not_recorded_is_forgotten() -> None:
    assert decided(None, hosted(JobState.FINISHED, job_id="9")) == [Forget("9")]
    assert decided(None, hosted(JobState.RUNNING, job_id="9")) == [Stop("9", Wanted.CANCEL_AT_ONCE)]
