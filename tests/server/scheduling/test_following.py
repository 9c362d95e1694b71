"""What is decided of jobs that have a host, as tables."""

import pytest
from attrs import evolve

from seatunnel_core.server.host.protocol import HostedJob
from seatunnel_core.server.member_report import HostReport
from seatunnel_core.server.scheduling.decisions import (
    Change,
    Close,
    End,
    Forget,
    Kill,
    Open,
    Order,
    Record,
    Start,
    Stop,
)
from seatunnel_core.server.scheduling.following import orphaned_jobs
from seatunnel_core.server.scheduling.schedule import decide
from seatunnel_core.server.scheduling.view import Member
from seatunnel_core.server.state.records import SHARED, DesiredState, JobRecord, JobState, Requirements
from tests.server.scheduling.views import BOOT, GIVEN, HERE, JOB, RUNNING, THERE, host, hosted, member, view

WAITING = evolve(JOB, attempt=1, since=9.0)
"""The job of ``RUNNING`` when its host is gone."""

OWN = evolve(GIVEN, dedicated=True, process="1-1")
"""A job in a host of its own."""


def decided(
    record: JobRecord | None,
    *jobs: HostedJob,
    here: Member | None = None,
    requirements: Requirements | None = None,
    **ages: float,
) -> list[Change | Order]:
    """Return what is decided of a job and its host on ``HERE``; ages are of the job."""
    found = decide(
        view(
            *([] if record is None else [record]),
            members={HERE: member(host(*jobs)) if here is None else here},
            requirements={"1": requirements or Requirements()},
            **{name: {"1": age} for name, age in ages.items()},
        )
    )
    return [*found.changes, *found.orders]


def ended(decisions: list[Change | Order]) -> tuple[JobState, str]:
    (decision,) = decisions
    assert isinstance(decision, End)
    return decision.ended.state, decision.ended.error


# -- the host is there ------------------------------------------------------------------------------------------------


def test_a_job_that_its_host_does_not_have_is_ordered_until_it_has_it() -> None:
    """The order was lost, or the leader before gave it and died."""
    assert decided(GIVEN) == [Start(HERE, SHARED, GIVEN)]
    assert decided(GIVEN, here=member(host(ready=False))) == []


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
    cancelled = evolve(RUNNING, wanted=DesiredState.CANCEL)
    assert decided(cancelled, hosted(JobState.RUNNING)) == [Stop(HERE, SHARED, "1", DesiredState.CANCEL)]
    assert decided(cancelled, hosted(JobState.CANCELING)) == [
        Record(evolve(cancelled, state=JobState.CANCELING, since=9.0))
    ]
    saved = evolve(RUNNING, wanted=DesiredState.SAVEPOINT)
    assert decided(saved, hosted(JobState.RUNNING)) == [Stop(HERE, SHARED, "1", DesiredState.SAVEPOINT)]
    assert decided(saved, hosted(JobState.CANCELING)) == [Stop(HERE, SHARED, "1", DesiredState.SAVEPOINT)]
    assert ended(decided(saved, hosted(JobState.SAVEPOINT_DONE))) == (JobState.SAVEPOINT_DONE, "")


def test_cancelling_ends_whatever_hangs() -> None:
    """After a while without the last checkpoint, and then with the host. A savepoint may take its time."""
    cancelled = evolve(RUNNING, wanted=DesiredState.CANCEL, state=JobState.CANCELING)
    canceling = hosted(JobState.CANCELING)
    assert decided(cancelled, canceling, stopping_s=19.0) == []
    assert decided(cancelled, canceling, stopping_s=21.0) == [Stop(HERE, SHARED, "1", DesiredState.CANCEL_AT_ONCE)]
    assert decided(cancelled, canceling, stopping_s=36.0) == [Kill(HERE, SHARED, BOOT, "1")]
    silent = member(HostReport(name=SHARED, boot=BOOT, status=None))
    assert decided(cancelled, here=silent, stopping_s=34.0) == []
    assert decided(cancelled, here=silent, stopping_s=36.0) == [Kill(HERE, SHARED, BOOT, "1")]
    saved = evolve(RUNNING, wanted=DesiredState.SAVEPOINT, state=JobState.DOING_SAVEPOINT)
    assert decided(saved, hosted(JobState.DOING_SAVEPOINT), stopping_s=1_000.0) == []


def test_a_job_that_is_never_planned_fails() -> None:
    assert decided(GIVEN, hosted(JobState.SCHEDULED), placed_s=599.0) == []
    state, error = ended(decided(GIVEN, hosted(JobState.SCHEDULED), placed_s=601.0))
    assert state is JobState.FAILED
    assert "within 600 s: its checkpoint storage, a source or a sink does not respond; see job-1.log" in error
    unclaimed = decided(GIVEN, evolve(hosted(JobState.SCHEDULED), claimed=False), placed_s=601.0)
    assert [change.ended.begun for change in unclaimed if isinstance(change, End)] == [False], "it can be started again"
    assert decided(RUNNING, hosted(JobState.RUNNING), placed_s=1e6) == []


def test_a_job_whose_host_leaves_is_no_cancelled_job() -> None:
    leaving = member(host(hosted(JobState.CANCELED), ready=False))
    assert decided(RUNNING, here=leaving) == [Record(WAITING)]
    saved = evolve(RUNNING, wanted=DesiredState.SAVEPOINT)
    assert decided(saved, here=leaving) == [Record(evolve(WAITING, wanted=DesiredState.SAVEPOINT))]


def test_a_job_that_an_earlier_attempt_took_over_goes_on_with_a_further_one() -> None:
    """A host was stopped with its order in the socket, and began an old attempt when it was continued."""
    assert decided(RUNNING, hosted(JobState.FAILED, fenced=True)) == [Record(WAITING)]


def test_another_attempt_than_the_recorded_one_is_cleared_away() -> None:
    record = evolve(RUNNING, attempt=2)
    assert decided(record, hosted(JobState.RUNNING)) == [Stop(HERE, SHARED, "1", DesiredState.CANCEL_AT_ONCE)]
    assert decided(record, hosted(JobState.FAILED)) == [Forget(HERE, SHARED, "1")]


def test_a_job_that_cannot_be_started_delays_no_other_order_to_its_process() -> None:
    """The orders to a process are carried out up to the first one that fails: no other job of the process could be
    stopped, although that may provide what the start lacks."""
    cancelled = evolve(RUNNING, job_id="2", submitted_at=2.0, wanted=DesiredState.CANCEL)
    orphaned = hosted(JobState.FAILED, job_id="9")
    members = {HERE: member(host(hosted(JobState.RUNNING, job_id="2"), orphaned))}
    assert decide(view(GIVEN, cancelled, members=members)).orders == (
        Stop(HERE, SHARED, "2", DesiredState.CANCEL),
        Forget(HERE, SHARED, "9"),
        Start(HERE, SHARED, GIVEN),
    )


# -- orphaned jobs -----------------------------------------------------------------------------------------------------


def test_a_job_that_is_not_recorded_is_cleared_away() -> None:
    assert decided(None, hosted(JobState.FINISHED, job_id="9")) == [Forget(HERE, SHARED, "9")]
    assert decided(None, hosted(JobState.RUNNING, job_id="9")) == [Stop(HERE, SHARED, "9", DesiredState.CANCEL_AT_ONCE)]


@pytest.mark.parametrize("returned", [JobState.RUNNING, JobState.FAILED])
def test_a_member_that_returns_is_cleared_of_what_was_given_to_others(returned: JobState) -> None:
    record = evolve(RUNNING, attempt=2)
    members = {
        HERE: member(host(hosted(JobState.RUNNING, attempt=2))),
        THERE: member(host(hosted(returned), boot="other")),
    }
    order = Forget(THERE, SHARED, "1") if returned.is_end else Stop(THERE, SHARED, "1", DesiredState.CANCEL_AT_ONCE)
    assert decide(view(record, members=members)).orders == (order,)


def test_a_host_of_a_job_that_has_none_is_closed() -> None:
    own = host(hosted(JobState.FINISHED), name="1", boot="1-1")
    close = Close(HERE, "1", "1-1")
    assert decided(None, here=member(host(), own)) == [close]
    assert decided(RUNNING, here=member(host(hosted(JobState.RUNNING)), own)) == [close]
    assert close in decided(evolve(OWN, attempt=2, process="1-2"), here=member(host(), own))


# -- the host is gone -------------------------------------------------------------------------------------------------


SEEN = (BOOT,)


@pytest.mark.parametrize("gone", [member(host(boot="another"), ended=SEEN), member(ended=SEEN)])
def test_the_end_of_a_host_is_counted_and_its_jobs_go_on(gone: Member) -> None:
    assert decided(RUNNING, here=gone) == [Record(evolve(WAITING, deaths=1))]
    assert decided(evolve(RUNNING, deaths=1), here=gone) == [Record(evolve(WAITING, deaths=2))]
    assert decided(evolve(RUNNING, deaths=1), here=gone, placed_s=601.0) == [Record(WAITING)], "it lived for long"


def test_hosts_that_were_lost_with_their_nodes_let_no_job_fail() -> None:
    """Six nodes in a row were killed and started again at once, and a job failed that had done nothing to them."""
    for restarted in (member(), member(host(boot="another")), member(ended=("another",))):
        assert decided(evolve(RUNNING, deaths=5), here=restarted) == [Record(evolve(WAITING, deaths=5))]


def test_a_job_that_ends_each_of_its_hosts_fails() -> None:
    state, error = ended(decided(evolve(RUNNING, deaths=5), here=member(ended=SEEN)))
    assert state is JobState.FAILED
    assert "6 consecutive worker processes" in error
    assert "job-1.log" in error


def test_a_cancelled_job_whose_host_is_gone_is_at_its_end() -> None:
    for wanted in (DesiredState.CANCEL, DesiredState.CANCEL_AT_ONCE):
        assert ended(decided(evolve(RUNNING, wanted=wanted), here=member()))[0] is JobState.CANCELED


def test_a_savepoint_in_flight_survives_its_host() -> None:
    saved = evolve(RUNNING, wanted=DesiredState.SAVEPOINT)
    assert decided(saved, here=member(ended=SEEN)) == [Record(evolve(WAITING, wanted=DesiredState.SAVEPOINT, deaths=1))]


# -- the member does not answer ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("silent", [Member(), member(host(), busy=True)])
def test_nothing_is_decided_from_what_is_not_known(silent: Member) -> None:
    """A new leader asks first, and nothing is ordered twice while an order is under way."""
    for record in (GIVEN, RUNNING, evolve(RUNNING, wanted=DesiredState.CANCEL), OWN, evolve(OWN, process="")):
        assert decided(record, here=silent) == []


@pytest.mark.parametrize("silent", [Member(), member(host(hosted(JobState.RUNNING)), busy=True)])
def test_a_cancelled_job_ends_though_its_member_does_not_answer(silent: Member) -> None:
    cancelled = evolve(RUNNING, wanted=DesiredState.CANCEL)
    state, error = ended(decided(cancelled, here=silent, stopping_s=51.0))
    assert state is JobState.CANCELED
    assert HERE in error


def test_an_attempt_that_ends_is_kept_with_node_time_and_cause() -> None:
    placed = evolve(RUNNING, placed_at=5.0)
    lost, gone, failed = (
        decide(view(placed, members={HERE: here, THERE: member()})).changes[0]
        for here in (
            member(lost=True),
            member(host(boot="another"), ended=(BOOT,)),
            member(host(hosted(JobState.FAILED, error="it broke"))),
        )
    )
    assert isinstance(lost, Record)
    assert isinstance(gone, Record)
    assert isinstance(failed, End)
    past = [*lost.job.past, *gone.job.past, *failed.ended.past]
    assert [(each.attempt, each.host, each.started_at, each.ended_at) for each in past] == [(1, HERE, 5.0, 9.0)] * 3
    assert [each.cause for each in past] == [
        f"node {HERE} was lost: it did not respond to the leader in time",
        f"the job's worker process on {HERE} ended; see seatunnel-engine-host.log there",
        "it broke",
    ]
    assert (lost.job.placed_at, lost.job.host) == (0.0, "")


def test_jobs_of_a_lost_member_are_given_to_others() -> None:
    """That says nothing of the job. What the lost member still runs of it is fenced by the next attempt."""
    record = evolve(RUNNING, host=THERE, deaths=1)
    members = {HERE: member(host(ready=False)), THERE: member(host(hosted(JobState.RUNNING)), lost=True)}
    assert decide(view(record, members=members)).changes == (Record(evolve(WAITING, deaths=1, unfenced=True)),)


def test_a_cancelled_job_of_a_lost_member_is_taken_over_before_it_ends() -> None:
    """Or it would go on writing there after its end was told."""
    cancelled = evolve(RUNNING, host=THERE, wanted=DesiredState.CANCEL)
    members = {HERE: member(host()), THERE: Member(lost=True)}
    (released,) = decide(view(cancelled, members=members)).changes
    assert released == Record(evolve(WAITING, wanted=DesiredState.CANCEL, state=JobState.CANCELING, unfenced=True))
    (placed,) = decide(view(released.job, members=members)).changes
    taken = evolve(GIVEN, attempt=2, wanted=DesiredState.CANCEL, since=9.0, unfenced=True)
    assert placed == Record(taken)
    assert decide(view(taken, members=members)).orders == (Start(HERE, SHARED, taken),)
    waits = evolve(WAITING, wanted=DesiredState.CANCEL, unfenced=True)
    assert decide(view(waits, members=members)).changes == (Record(taken),), "it was cancelled only after the loss"
    (again,) = decided(taken, here=member(host(boot="another")))
    assert again == Record(evolve(released.job, attempt=2)), "that one ended before it had taken it over"
    opening = evolve(taken, dedicated=True, process="")
    assert decided(opening) == [Open(HERE, "1-2", opening)]
    going_on = evolve(taken, wanted=DesiredState.RUN)
    (runs,) = decided(going_on, hosted(JobState.RUNNING, attempt=2))
    assert runs == Record(evolve(going_on, state=JobState.RUNNING, unfenced=False))
    late = view(cancelled, members=members, stopping_s={"1": 51.0})
    assert ended(list(decide(late).changes))[0] is JobState.CANCELED
    without_host = view(released.job, members={HERE: member()}, stopping_s={"1": 51.0})
    assert ended(list(decide(without_host).changes))[0] is JobState.CANCELED


def test_a_cancelled_job_of_a_lost_member_does_not_fail_by_the_hosts_that_were_killed_for_it() -> None:
    """The simulation found it: each host that was to take it over was killed as soon as it was there, because the job
    had been cancelled for long, and the sixth of them let the job fail as one that ends its hosts."""
    taken = evolve(GIVEN, attempt=2, wanted=DesiredState.CANCEL, unfenced=True, deaths=5)
    starting = hosted(JobState.CANCELING, attempt=2)
    assert not [each for each in decided(taken, starting, stopping_s=36.0, placed_s=9.0) if isinstance(each, Kill)]
    assert decided(taken, starting, stopping_s=46.0, placed_s=11.0) == [Kill(HERE, SHARED, BOOT, "1")]
    (again,) = decided(taken, here=member(host(boot="another")), stopping_s=46.0)
    assert again == Record(
        evolve(WAITING, attempt=2, wanted=DesiredState.CANCEL, state=JobState.CANCELING, unfenced=True, deaths=5)
    )


def test_a_job_that_nobody_wants_any_more_and_that_hangs_loses_its_host() -> None:
    """The simulation found it: its end was told while its host could not be reached, and when that could be reached
    again, the job was told to stop for ever."""
    hangs = hosted(JobState.CANCELING, job_id="9")
    key = f"{HERE} {BOOT} 9 1"
    assert list(orphaned_jobs(view(members={HERE: member(host(hangs))}))) == [key]
    assert list(orphaned_jobs(view(members={HERE: member(host(hangs), busy=True)}))) == [key], "its age goes on"
    for job, age_s, order in (
        (hangs, 34.0, Stop(HERE, SHARED, "9", DesiredState.CANCEL_AT_ONCE)),
        (hangs, 36.0, Kill(HERE, SHARED, BOOT, "9")),
        (hosted(JobState.FAILED, job_id="9"), 36.0, Forget(HERE, SHARED, "9")),
    ):
        seen = view(members={HERE: member(host(job))}, orphaned_s={key: age_s})
        assert decide(seen).orders == (order,)


# -- hosts of one job -------------------------------------------------------------------------------------------------


def test_a_host_of_its_own_is_opened_then_noted_then_ordered_to_start() -> None:
    placed = evolve(OWN, process="")
    assert decided(placed) == [Open(HERE, "1-1", placed)]
    starting = HostReport(name="1", boot="1-1", status=None)
    assert decided(placed, here=member(host(), starting)) == [Record(OWN)]
    assert decided(OWN, here=member(host(), starting)) == []
    assert decided(OWN, here=member(host(), host(name="1", boot="1-1", ready=False))) == []
    ready = host(name="1", boot="1-1")
    assert decided(OWN, here=member(host(), ready)) == [Start(HERE, "1", OWN)]
    assert ended(decided(evolve(placed, wanted=DesiredState.CANCEL)))[0] is JobState.CANCELED


def test_the_end_of_a_host_of_its_own_is_counted() -> None:
    gone = member(host(ready=False), ended=(OWN.process,))
    assert decided(OWN, here=gone) == [Record(evolve(WAITING, deaths=1))]


def test_a_suspected_job_that_runs_well_alone_returns_to_the_others() -> None:
    suspected = evolve(OWN, state=JobState.RUNNING, deaths=2)
    alone = member(host(), host(hosted(JobState.RUNNING), name="1", boot="1-1"))
    assert decided(suspected, here=alone, placed_s=59.0) == []
    assert decided(suspected, here=alone, placed_s=61.0) == [Record(evolve(suspected, deaths=0))]
    innocent = evolve(suspected, deaths=0)
    assert decided(innocent, here=alone, placed_s=61.0) == [Stop(HERE, "1", "1", DesiredState.CANCEL)]
    assert decided(innocent, here=alone, placed_s=61.0, requirements=Requirements(own_host=True)) == []


UNCLAIMED = evolve(hosted(JobState.FAILED), claimed=False)


@pytest.mark.parametrize(
    ("record", "last", "begun"),
    [
        (JOB, None, False),
        (GIVEN, UNCLAIMED, False),
        (GIVEN, hosted(JobState.FAILED), True),
        (GIVEN, None, True),
        (evolve(GIVEN, attempt=2), UNCLAIMED, False),
        (evolve(GIVEN, attempt=2), hosted(JobState.FAILED), True),
        (evolve(GIVEN, attempt=2), None, True),
        (evolve(GIVEN, attempt=2, unfenced=True), UNCLAIMED, True),
        (evolve(GIVEN, restore=True), UNCLAIMED, True),
        (evolve(GIVEN, restore=True, fresh=True), UNCLAIMED, False),
        (evolve(GIVEN, restore=True, fresh=True), hosted(JobState.FAILED), True),
    ],
)
def test_the_history_knows_whether_an_attempt_may_have_claimed_the_job(
    record: JobRecord, last: HostedJob | None, begun: bool
) -> None:
    assert view(record).ended(record, JobState.FAILED, hosted=last).begun is begun
