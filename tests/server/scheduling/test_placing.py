"""Where jobs without a host go, and what they wait for, as tables."""

import itertools

import pytest
from attrs import evolve

from seatunnel_core.server.member_report import HostReport, MemberReport
from seatunnel_core.server.scheduling.decisions import End, Record
from seatunnel_core.server.scheduling.placing import MOST_OWN_HOSTS, Slots, slots_of
from seatunnel_core.server.scheduling.schedule import decide
from seatunnel_core.server.scheduling.view import Member, View
from seatunnel_core.server.state.records import SHARED, DesiredState, JobRecord, JobState, Requirements
from tests.server.scheduling.views import BOOT, GIVEN, HERE, JOB, THERE, host, hosted, member, view


def jobs(*names: str) -> list[JobRecord]:
    """Return jobs that were submitted in this order."""
    return [evolve(JOB, job_id=name, submitted_at=float(at)) for at, name in enumerate(names, 1)]


def offering(*slots: int) -> dict[str, Member]:
    """Return members ``a``, ``b`` … whose hosts offer so many slots."""
    return {name: member(host(offered=each)) for name, each in zip("abcdef", slots, strict=False)}


def placed(seen: View) -> dict[str, str]:
    """Return the members that jobs are given to."""
    return {each.job.job_id: each.job.host for each in decide(seen).changes if isinstance(each, Record)}


def test_a_job_is_given_to_a_host_as_a_new_attempt() -> None:
    assert decide(view(JOB)).changes == (Record(evolve(GIVEN, since=9.0)),)
    again = evolve(JOB, attempt=3, deaths=1)
    assert decide(view(again)).changes == (Record(evolve(GIVEN, since=9.0, attempt=4, deaths=1)),)


@pytest.mark.parametrize("here", [member(host(ready=False)), member(), Member(), member(host(), busy=True)])
def test_nothing_is_given_without_a_warm_host(here: Member) -> None:
    found = decide(view(JOB, members={HERE: here}))
    assert not found.changes
    assert found.reasons["1"] in ("no worker process is ready", "no node that can run the job responds")


def test_jobs_are_given_in_the_order_in_which_they_were_submitted() -> None:
    seen = view(*jobs("b", "c", "a"))
    assert list(placed(seen)) == ["b", "c", "a"]


def test_jobs_are_spread_over_the_members() -> None:
    seen = view(*jobs("1", "2", "3", "4"), members={HERE: member(host()), THERE: member(host())})
    assert placed(seen) == {"1": HERE, "2": THERE, "3": HERE, "4": THERE}
    running = evolve(GIVEN, job_id="0", state=JobState.RUNNING)
    members = {HERE: member(host(hosted(JobState.RUNNING, job_id="0"))), THERE: member(host())}
    assert placed(view(running, *jobs("1", "2"), members=members)) == {"1": THERE, "2": HERE}
    assert placed(view(*jobs("1"), members={**members, THERE: member(host(), lost=True)})) == {"1": HERE}


def test_a_job_that_is_to_end_and_that_no_host_has_is_at_its_end() -> None:
    for wanted in (DesiredState.CANCEL, DesiredState.CANCEL_AT_ONCE, DesiredState.SAVEPOINT):
        (end,) = decide(view(evolve(JOB, wanted=wanted), members={HERE: member()})).changes
        assert isinstance(end, End)
        assert end.ended.state is JobState.CANCELED
    begun = evolve(JOB, wanted=DesiredState.SAVEPOINT, attempt=1)
    assert isinstance(decide(view(begun)).changes[0], Record), "its savepoint is taken by the next attempt"


@pytest.mark.parametrize(("deaths", "pause_s"), [(1, 0.0), (2, 1.0), (3, 2.0), (5, 8.0)])
def test_a_job_that_ends_its_hosts_rests_longer_each_time(deaths: int, pause_s: float) -> None:
    record = evolve(JOB, attempt=deaths, deaths=deaths)
    early = decide(view(record, waiting_s={"1": max(0.0, pause_s - 0.1)}))
    assert bool(early.changes) is (pause_s == 0.0)
    assert "next attempt in" in early.reasons.get("1", "next attempt in")
    (given,) = decide(view(record, waiting_s={"1": pause_s})).changes
    assert isinstance(given, Record)
    assert given.job.dedicated is (deaths >= 2)


# -- hosts of one job -------------------------------------------------------------------------------------------------


def test_a_job_with_options_of_its_own_gets_a_host_of_its_own() -> None:
    requirements = {"1": Requirements(own_host=True)}
    (given,) = decide(view(JOB, requirements=requirements)).changes
    assert given == Record(evolve(GIVEN, since=9.0, process="", dedicated=True))
    warming = {HERE: member(host(ready=False))}
    assert placed(view(JOB, requirements=requirements, members=warming)) == {"1": HERE}, "it needs no warm one"
    full = [evolve(GIVEN, job_id=f"own{number}", dedicated=True) for number in range(MOST_OWN_HOSTS)]
    found = decide(view(*full, JOB, requirements=requirements, members={HERE: member(host(), busy=False)}))
    assert found.reasons == {"1": "all nodes have the maximum of 8 dedicated worker processes"}


@pytest.mark.parametrize("own", [False, True])
def test_a_job_that_is_submitted_again_does_not_end_as_it_did_before(own: bool) -> None:
    """The end that a member still shows is of the job's earlier life, whose attempt has the same number."""
    old = hosted(JobState.FAILED, error="of the earlier life")
    here = member(host(), host(old, name="1", boot="1-1", ready=False)) if own else member(host(old))
    again, requirements = evolve(JOB, restore=True), {"1": Requirements(own_host=own)}
    found = decide(view(again, members={HERE: here}, requirements=requirements))
    assert not found.changes
    assert "previous run" in found.reasons["1"]
    assert len(found.orders) == 1, "it is cleared away"
    both = {HERE: here, THERE: member(host())}
    assert placed(view(again, members=both, requirements=requirements)) == {"1": THERE}
    assert placed(view(again, requirements=requirements)) == {"1": HERE}


# -- tags -------------------------------------------------------------------------------------------------------------


def test_a_job_with_a_tag_filter_goes_to_members_that_have_all_of_its_tags() -> None:
    members = {HERE: member(host(), zone="a"), THERE: member(host(), zone="b", disk="ssd")}
    for tags, where in (({"zone": "b"}, THERE), ({"zone": "a"}, HERE), ({"zone": "b", "disk": "ssd"}, THERE)):
        assert placed(view(JOB, members=members, requirements={"1": Requirements(tags=tags)})) == {"1": where}
    found = decide(view(JOB, members=members, requirements={"1": Requirements(tags={"zone": "a", "disk": "ssd"})}))
    assert found.reasons == {"1": "no node has the tags disk=ssd, zone=a"}
    assert not found.changes, "a node with the tags may join later"


# -- slots ------------------------------------------------------------------------------------------------------------


def test_slots_that_are_dynamic_are_not_counted() -> None:
    seen = view(*jobs(*"123456789"), members=offering(0), requirements={"1": Requirements(slots=1_000)})
    assert len(placed(seen)) == 9
    assert slots_of(seen, {}) == Slots(total=0, free=0)


def test_slots_are_counted_over_all_members() -> None:
    held = evolve(GIVEN, job_id="0", host="a")
    seen = view(
        held, *jobs("1", "2", "3"), members=offering(4, 4), requirements={"0": Requirements(slots=3)}, waits=True
    )
    assert slots_of(seen, {}) == Slots(total=8, free=5)
    assert placed(seen) == {"1": "b", "2": "b"}
    assert decide(seen).reasons == {"3": "it needs 2 slots, but only 1 of 8 are free"}


def test_jobs_on_a_member_that_offers_nothing_yet_hold_their_slots() -> None:
    """The simulation found it: jobs with a host of their own were given to that member one after the other, since none
    of theirs counted."""
    own = evolve(GIVEN, job_id="0", host="a", dedicated=True, process="0-1", state=JobState.RUNNING)
    has_own = member(host(ready=False, offered=4), host(hosted(JobState.RUNNING, job_id="0"), name="0", boot="0-1"))
    members = {"a": has_own, "b": member(host(offered=4))}
    requirements = {str(number): Requirements(slots=3, own_host=True) for number in range(3)}
    seen = view(own, *jobs("1", "2"), members=members, requirements=requirements, waits=True)
    assert slots_of(seen, {}) == Slots(total=4, free=1)
    assert placed(seen) == {}
    unknown = evolve(seen, members={**members, "a": Member()})
    assert slots_of(unknown, {}) == Slots(total=4, free=1)
    assert slots_of(evolve(seen, members={**members, "a": Member(lost=True)}), {}) == Slots(total=4, free=4)


def test_no_slots_are_taken_while_all_hosts_that_offer_them_start() -> None:
    """The simulation found it: jobs with a host of their own were given to a member whose shared host started without
    being counted, as where slots are dynamic."""
    starting = HostReport(name=SHARED, boot=BOOT, status=None)
    requirements = {"1": Requirements(slots=2, own_host=True)}
    for strategy in ({"waits": True}, {"waits": False}):
        counted = {"a": Member(report=MemberReport(hosts=(starting,), offered=4))}
        seen = view(JOB, members=counted, requirements=requirements, **strategy)
        assert slots_of(seen, {}).starting
        assert not decide(seen).changes
        assert "it needs 2 slots, but only 0 of 0 are free" in decide(seen).reasons["1"]
        dynamic = {"a": Member(report=MemberReport(hosts=(starting,)))}
        assert placed(view(JOB, members=dynamic, requirements=requirements, **strategy)) == {"1": "a"}


def test_workers_that_several_members_use_count_once() -> None:
    report = MemberReport(hosts=(host(offered=4),), workers={"w1": 4, "w2": 6})
    members = {"a": Member(report=report), "b": Member(report=report), "c": member(host(offered=5))}
    held = evolve(GIVEN, job_id="0", host="b")
    seen = view(held, members=members, requirements={"0": Requirements(slots=7)})
    assert slots_of(seen, {}) == Slots(total=15, free=8)


def test_a_job_may_hold_more_slots_than_one_member_has() -> None:
    big = {"1": Requirements(slots=7)}
    assert placed(view(JOB, members=offering(4, 4), requirements=big)) == {"1": "a"}
    after = view(evolve(GIVEN, host="a"), members=offering(4, 4), requirements=big)
    assert slots_of(after, {}) == Slots(total=8, free=1)


def test_a_job_without_slots_is_rejected_or_waits() -> None:
    """One that had begun is never rejected, and none is while a host starts or a member has not answered."""
    requirements = {"1": Requirements(slots=5)}
    (end,) = decide(view(JOB, members=offering(4), requirements=requirements)).changes
    assert isinstance(end, End)
    assert end.ended.state is JobState.FAILED
    assert "it needs 5 slots, but all nodes that may run it together have only 4" in end.ended.error
    assert "job-schedule-strategy: WAIT" in end.ended.error
    begun = evolve(JOB, attempt=1)
    for seen in (
        view(JOB, members=offering(4), requirements=requirements, waits=True),
        view(begun, members=offering(4), requirements=requirements),
        view(JOB, members={**offering(4), "z": Member()}, requirements=requirements),
        view(JOB, members={**offering(4), "z": member(host(ready=False))}, requirements=requirements),
    ):
        found = decide(seen)
        assert not found.changes
        assert "it needs 5 slots" in found.reasons["1"]


def test_free_slots_are_all_slots_when_no_job_has_a_host() -> None:
    """They are derived from records, so nothing that happened before can have kept one."""
    for records in ([], jobs("1", "2")):
        assert slots_of(view(*records, members=offering(4, 8)), {}) == Slots(total=12, free=12)


def waiting_for_big(age_s: float, *, big: int = 6) -> View:
    held = evolve(GIVEN, job_id="0", host="a")
    requirements = {"big": Requirements(slots=big), "0": Requirements(slots=4)}
    ages = {"big": age_s, "small": 1.0}
    return view(held, *jobs("big", "small"), members=offering(8), requirements=requirements, waits=True, waiting_s=ages)


def test_small_jobs_pass_a_big_one_by_until_it_has_waited_for_long() -> None:
    assert placed(waiting_for_big(59.0)) == {"small": "a"}
    late = waiting_for_big(61.0)
    assert placed(late) == {}
    assert decide(late).reasons == {
        "big": "it needs 6 slots, but only 4 of 8 are free",
        "small": "it needs 2 slots, but only 4 of 8 are free; these jobs have waited longer: big",
    }


def test_a_big_job_that_can_never_start_blocks_nobody() -> None:
    assert placed(waiting_for_big(1e6, big=9)) == {"small": "a"}


def test_a_job_whose_tags_nobody_has_blocks_nobody() -> None:
    ages = {"tagged": 1e6}
    requirements = {"tagged": Requirements(tags={"zone": "c"})}
    seen = view(*jobs("tagged", "small"), members=offering(2), requirements=requirements, waits=True, waiting_s=ages)
    assert placed(seen) == {"small": "a"}


def test_a_job_that_waits_for_the_slots_of_some_members_leaves_the_others_alone() -> None:
    members = {"a": member(host(offered=4), zone="x"), "b": member(host(offered=4))}
    held = evolve(GIVEN, job_id="0", host="a")
    requirements = {"big": Requirements(slots=4, tags={"zone": "x"})}
    seen = view(
        held,
        *jobs("big", "1", "2", "3"),
        members=members,
        requirements=requirements,
        waiting_s={"big": 61.0},
        waits=True,
    )
    assert placed(seen) == {"1": "b", "2": "b"}


def test_whatever_waits_and_runs_no_slot_is_given_twice() -> None:
    """All small clusters: what jobs hold is never more than there is, unless they held it before."""
    played = 0
    for offered, wanted, age, waits in itertools.product(
        itertools.product((2, 4, 5), repeat=2), itertools.product((2, 3, 6, 10), repeat=3), (0.0, 100.0), (False, True)
    ):
        names = [f"{number}" for number in range(len(wanted))]
        seen = view(
            *jobs(*names),
            members=offering(*offered),
            requirements={name: Requirements(slots=each) for name, each in zip(names, wanted, strict=True)},
            waits=waits,
            waiting_s=dict.fromkeys(names, age),
        )
        given = placed(seen)
        held = sum(each for name, each in zip(names, wanted, strict=True) if name in given)
        assert held <= sum(offered)
        found = decide(seen)
        ends = {each.ended.job_id for each in found.changes if isinstance(each, End)}
        assert set(given) | ends | set(found.reasons) == set(names)
        assert not (ends and waits)
        played += 1
    assert played == 9 * 64 * 4


@pytest.mark.parametrize("requirements", [Requirements(), Requirements(own_host=True)])
def test_a_job_waits_for_the_first_worker(requirements: Requirements) -> None:
    bare = host(ready=False, application="app-1")
    found = decide(view(JOB, members={HERE: member(bare)}, requirements={"1": requirements}))
    assert not found.changes
    assert found.reasons["1"] == "no worker node has joined, or its executor is starting"
    able = host(application="app-1", executors=1)
    assert decide(view(JOB, members={HERE: member(able)}, requirements={"1": requirements})).changes
