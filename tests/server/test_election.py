"""The election: its rules as tables, under a virtual clock with random faults, and with rules that are left out."""

import math
from collections.abc import Callable

import pytest
from attrs import evolve

from seatunnel_core.server.election import Claim, Election, Look, Role, Seen, SendBeat, StepDown, Timing
from tests.server.simulated_cluster import Cluster, Faults, ViolationError

TIMING = Timing()
OTHER = Seen(claimed=3, term=3, number=7, leader="b", members=("a", "b", "c"))


def standby(seen: Seen = OTHER, *, now: float = 100.0) -> Election:
    election = Election("a", TIMING)
    assert election.tick(now) == [Look()]
    election.looked(now, now, seen)
    return election


def leader(*, now: float = 100.0) -> Election:
    election = standby(Seen(), now=now)
    assert election.tick(now) == [Claim()]
    election.claimed(now, now, 1, Seen(claimed=1))
    return election


def looking() -> Election:
    election = standby()
    election.tick(101.0)
    return election


def refused() -> Election:
    election = standby(evolve(OTHER, members=("b", "c", "a")))
    election.refused(100.1, "b")
    return election


def raced() -> Election:
    election = standby(Seen())
    election.tick(100.0)
    election.claim_failed(100.0)
    election.tick(100.0)
    return election


def claiming() -> Election:
    election = standby(Seen())
    election.tick(100.0)
    return election


def beating() -> Election:
    election = leader()
    election.tick(100.0)
    return election


def unheard() -> Election:
    election = beating()
    election.beat_failed(100.0)
    return election


def deposed() -> Election:
    election = leader()
    election.deposed(100.0, "a newer term")
    return election


@pytest.mark.parametrize(
    ("made", "pause_s"),
    [
        (standby, 1.0),
        (looking, math.inf),
        (refused, 0.3),
        (raced, 0.4),
        (claiming, math.inf),
        (leader, 0.0),
        (beating, math.inf),
        (unheard, 0.5),
        (deposed, 0.0),
    ],
)
def test_nothing_is_due_until_the_pause_is_over(made: Callable[[], Election], pause_s: float) -> None:
    """A node that does nothing was woken fifty times a second to find that nothing was due."""
    assert made().pause_s(100.0) == pytest.approx(pause_s)
    if pause_s:
        assert made().tick(min(100.0 + pause_s, 1e6) - 0.001) == []
    if pause_s < math.inf:
        assert made().tick(100.001 + pause_s) != []


def test_whoever_finds_no_leader_ever_claims_at_once() -> None:
    assert standby(Seen()).tick(100.0) == [Claim()]


def test_a_node_that_led_in_an_earlier_life_claims_at_once() -> None:
    assert standby(evolve(OTHER, leader="a")).tick(100.0) == [Claim()]


def test_a_standby_waits_until_the_beat_was_the_same_for_the_timeout() -> None:
    election = standby()
    assert election.tick(109.9) == [Look()]
    election.looked(109.9, 109.9, OTHER)
    assert election.tick(110.9) == [Look()]
    election.looked(110.9, 110.95, OTHER)
    assert election.tick(111.0) == [Claim()]
    assert election.role is Role.CLAIMING


def test_a_standby_that_was_paused_looks_before_it_claims() -> None:
    """It saw a beat, was stopped for a minute, and would depose a leader that has beaten all the time."""
    election = standby()
    assert election.tick(160.0) == [Look()]
    election.looked(160.0, 160.0, evolve(OTHER, number=40))
    assert Claim() not in election.tick(161.0)
    election = standby()
    election.refused(160.0, "b")
    assert election.tick(160.0) == [Look()]
    election.looked(160.0, 160.0, evolve(OTHER, claimed=4, term=4, number=0, leader="c"))
    assert Claim() not in election.tick(160.1)


def test_each_new_beat_begins_the_wait_again() -> None:
    election = standby()
    election.tick(109.0)
    election.looked(109.0, 109.5, evolve(OTHER, number=8))
    for at in (112.0, 119.4):
        election.looked(at, at, evolve(OTHER, number=8))
        assert Claim() not in election.tick(at)
    election.looked(119.5, 119.5, evolve(OTHER, number=8))
    assert Claim() in election.tick(119.5)


def test_a_claim_without_a_beat_begins_the_wait_again_too() -> None:
    election = standby()
    election.tick(109.0)
    election.looked(109.0, 109.0, evolve(OTHER, claimed=4))
    election.looked(110.5, 110.5, evolve(OTHER, claimed=4))
    assert Claim() not in election.tick(110.5)


def test_a_failed_look_is_no_sign_of_life_and_none_of_death() -> None:
    election = standby()
    assert election.tick(105.0) == [Look()]
    election.look_failed()
    assert election.tick(120.0) == [Look()]
    election.looked(120.0, 120.0, OTHER)
    assert election.tick(120.0) == [Claim()]
    unseeing = Election("a", TIMING)
    assert unseeing.tick(0.0) == [Look()]
    unseeing.look_failed()
    assert unseeing.tick(1_000.0) == [Look()]


def test_one_look_at_a_time() -> None:
    election = Election("a", TIMING)
    assert election.tick(0.0) == [Look()]
    assert election.tick(50.0) == []


@pytest.mark.parametrize(("address", "pause"), [("a", 0.0), ("c", 0.2), ("unknown", 0.4)])
def test_a_refused_connection_shortens_the_wait_by_rank(address: str, pause: float) -> None:
    election = Election(address, TIMING)
    election.tick(100.0)
    election.looked(100.0, 100.0, OTHER)
    election.refused(100.1, "b")
    at = 100.1 + pause + 0.001
    if pause:
        election.looked(100.1, 100.1, OTHER)
        assert Claim() not in election.tick(at - 0.01)
    assert Claim() not in election.tick(at), "no look has begun since"
    election.looked(at, at, OTHER)
    assert Claim() in election.tick(at)


def test_a_refusal_of_another_address_means_nothing() -> None:
    election = standby()
    election.refused(100.1, "c")
    assert Claim() not in election.tick(101.0)


def test_a_refusal_says_nothing_of_a_node_that_has_claimed_and_not_beaten_yet() -> None:
    election = standby(evolve(OTHER, claimed=4))
    election.refused(100.1, "b")
    assert Claim() not in election.tick(101.0)
    own = standby(evolve(OTHER, claimed=4, leader="a"))
    assert Claim() not in own.tick(100.0)


def test_a_new_beat_closes_the_fast_path() -> None:
    election = Election("c", TIMING)
    election.tick(100.0)
    election.looked(100.0, 100.0, OTHER)
    election.refused(100.1, "b")
    election.looked(100.1, 100.2, evolve(OTHER, claimed=4, term=4, number=0, leader="a"))
    assert Claim() not in election.tick(101.5)


def test_a_term_that_flaps_closes_the_fast_path() -> None:
    election = standby()
    for number in range(4):
        election.looked(100.0, 100.0 + number / 10, evolve(OTHER, claimed=4 + number, term=4 + number))
    election.refused(100.5, "b")
    assert Claim() not in election.tick(101.0)
    last = evolve(OTHER, claimed=7, term=7)
    election.looked(112.0, 112.0, evolve(last, number=8))
    election.refused(112.0, "b")
    election.looked(112.0, 112.0, evolve(last, number=8))
    assert Claim() in election.tick(112.0)


def test_a_leader_beats_and_acts_while_its_lease_holds() -> None:
    election = leader()
    assert election.may_act(100.0)
    assert election.tick(100.0) == [SendBeat(0, True)]
    assert election.tick(101.9) == []
    assert election.may_act(104.9)
    assert not election.may_act(105.0)
    election.beat_acknowledged(100.5, 0)
    assert election.may_act(105.4)
    assert not election.may_act(105.5)
    assert election.tick(105.6) == [SendBeat(1, True)]
    election.beat_acknowledged(105.6, 1)
    assert election.may_act(105.7)


def test_a_beat_that_failed_is_sent_again_soon_under_another_number() -> None:
    election = leader()
    assert election.tick(100.0) == [SendBeat(0, True)]
    election.beat_failed(100.1)
    assert election.tick(100.2) == []
    assert election.tick(100.6) == [SendBeat(1, True)]
    election.beat_acknowledged(100.0, 0)
    assert election.tick(102.9) == [], "an answer to the beat before says nothing about this one"


def test_a_deposed_leader_steps_down_and_looks_again() -> None:
    election = leader()
    assert election.deposed(101.0, "newer") == [StepDown("newer")]
    assert not election.may_act(101.0)
    assert election.tick(101.0) == [Look()]
    assert election.deposed(102.0, "again") == []


def test_behind_a_beat_that_came_between_look_and_claim_the_new_leader_waits() -> None:
    """The old leader's beat was stored after the standby's last look and before its claim. It is acknowledged, so the
    old leader acts for half the timeout from when it sent it."""
    election = standby()
    election.looked(110.0, 110.0, OTHER)
    assert election.tick(110.0) == [Claim()]
    election.claimed(110.0, 110.1, 4, evolve(OTHER, claimed=4, number=8))
    assert not election.may_act(110.2)
    for number, sent in enumerate((110.2, 112.3, 114.4)):
        assert election.tick(sent) == [SendBeat(number, False)]
        election.beat_acknowledged(sent, number)
    assert not election.may_act(115.0)
    assert election.may_act(115.2)


def test_behind_a_leader_that_died_while_it_waited_the_next_one_waits_too() -> None:
    """The simulation found it: b leads and acts, c claims, waits for the end of b's lease, and dies; a takes the fast
    path because c is gone. b's lease still holds."""
    waiting = evolve(OTHER, acting=False)
    election = standby(waiting)
    election.refused(100.1, "b")
    election.looked(100.1, 100.1, waiting)
    assert election.tick(100.1) == [Claim()]
    election.claimed(100.1, 100.2, 4, evolve(waiting, claimed=4))
    assert not election.may_act(100.3)


def test_each_lost_race_doubles_the_pause() -> None:
    election = standby()
    at, pauses = 110.0, []
    for _ in range(4):
        while Claim() not in election.tick(at):
            election.looked(at, at, OTHER)
            at += 0.1
        election.claim_failed(at)
        lost = at
        while Claim() not in (commands := election.tick(at)):
            if Look() in commands:
                election.looked(at, at, OTHER)
            at += 0.05
        pauses.append(at - lost)
        election.claim_failed(at)
        at += 0.05
    assert pauses == sorted(pauses)
    assert pauses[-1] > 4 * pauses[0]


# -- simulation -------------------------------------------------------------------------------------------------------


def play(seed: int, *, election: type[Election] = Election, faults: Faults | None = None, nodes: int = 3) -> Cluster:
    """Break things for three minutes of virtual time, mend everything, and see that somebody leads."""
    cluster = Cluster(seed, nodes=nodes, election=election, faults=faults)
    cluster.run(180)
    cluster.heal()
    cluster.faults = Faults(kill=0, pause=0, storage=0, slow=0)
    healed = cluster.now
    cluster.run(45)
    cluster.check_acknowledged()
    if cluster.last_acting < healed + 40:
        raise ViolationError(f"seed {seed}: nobody leads although nothing is broken any more")
    return cluster


@pytest.mark.simulation
@pytest.mark.parametrize("first", range(0, 60, 10))
def test_under_faults_one_node_acts_at_a_time_and_nothing_acknowledged_is_lost(first: int) -> None:
    played = [play(seed, nodes=2 + seed % 3) for seed in range(first, first + 10)]
    assert sum(cluster.changes for cluster in played) > 1_000
    assert sum(len(cluster.terms_that_acted) for cluster in played) > 30


class WithoutLease(Election):
    """Acts for as long as nobody tells it that it is deposed."""

    def may_act(self, now: float) -> bool:
        return self.role is Role.LEADER


class WithoutLateBeat(Election):
    """Acts at once behind its claim, whatever beat it finds there."""

    def claimed(self, began: float, now: float, term: int, behind: Seen) -> None:
        super().claimed(began, now, term, behind)
        self._act_from = now


class FromTheAnswer(Election):
    """Counts its lease from when a beat was answered instead of when it was sent."""

    def beat_acknowledged(self, sent: float, number: int) -> None:
        super().beat_acknowledged(sent, number)
        self._lease_until += 2 * self.timing.timeout_s


class Impatient(Election):
    """Claims after a quarter of the timeout."""

    def _is_due(self, now: float) -> bool:
        return super()._is_due(now) or (self.seen is not None and now - self._seen_since > self.timing.timeout_s / 4)


class NeverClaimsAgain(Election):
    """Gives up after its first lost race."""

    def _is_due(self, now: float) -> bool:
        return super()._is_due(now) and self._lost_races == 0 and self.seen is not None and self.seen.is_empty


def play_many(election: type[Election], faults: Faults) -> None:
    for seed in range(300):
        play(seed, election=election, faults=faults)


MUTANTS = [WithoutLease, WithoutLateBeat, FromTheAnswer, Impatient, NeverClaimsAgain]


@pytest.mark.simulation
@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_simulation_finds_a_rule_that_is_left_out(mutant: type[Election]) -> None:
    faults = Faults(pause=0.05, slow=0.05)
    with pytest.raises(ViolationError):
        play_many(mutant, faults)
