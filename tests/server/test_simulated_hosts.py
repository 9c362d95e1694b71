"""Jobs on the hosts of several members under a virtual clock, with random faults, and with rules that are left out."""

import os

import pytest
from attrs import evolve

from seatunnel_core.server.member_report import MemberReport
from seatunnel_core.server.scheduling.decisions import Decisions, End, Start
from seatunnel_core.server.scheduling.schedule import decide
from seatunnel_core.server.scheduling.view import CANCELLED, View
from seatunnel_core.server.state.records import JobState
from tests.server.simulated_cluster import Faults, ViolationError
from tests.server.simulated_hosts import HostedCluster

CALM = Faults(kill=0, pause=0, storage=0, slow=0)
SEEDS = int(os.environ.get("SEATUNNEL_RUNS", "24"))


def play(seed: int, world: type[HostedCluster] = HostedCluster, *, nodes: int = 3) -> HostedCluster:
    """Break things for two minutes of virtual time, mend everything, and see that all jobs end."""
    cluster = world(seed, nodes=nodes)
    cluster.run(120)
    cluster.heal()
    cluster.faults = CALM
    cluster.run(150)
    cluster.check_acknowledged()
    return cluster


@pytest.mark.simulation
@pytest.mark.timeout(36_000)
@pytest.mark.parametrize("part", range(4))
def test_under_faults_every_acknowledged_job_ends_once(part: int) -> None:
    played = [play(seed, nodes=2 + seed % 3) for seed in range(part, SEEDS, 4)]
    assert sum(len(cluster.history) for cluster in played) > 4 * len(played)
    assert sum(cluster.attempts for cluster in played) > 4 * len(played)


def lead_and_kill(seed: int, world: type[HostedCluster] = HostedCluster) -> tuple[dict[str, int], dict[str, int]]:
    """Kill the leader with its hosts; return the attempts of jobs on other members before and after."""
    cluster = world(seed, nodes=3, faults=CALM)
    cluster.run(12)
    leading = next(agent for agent in cluster.agents if agent.address in cluster.leaders)
    for process in cluster.processes[leading.address].values():
        process.alive = False
    cluster._kill(leading)
    before = {job_id: job.attempt for job_id, job in cluster.records.items() if job.host not in ("", leading.address)}
    cluster.run(8)
    assert cluster.leaders, "another leads"
    after = {job_id: job.attempt for job_id, job in cluster.records.items() if job_id in before}
    return {job_id: before[job_id] for job_id in after}, after


@pytest.mark.simulation
def test_jobs_of_other_members_go_on_when_the_leader_dies() -> None:
    kept = 0
    for seed in range(20):
        before, after = lead_and_kill(seed)
        assert before == after
        kept += len(before)
    assert kept > 10


class WithoutAsking(HostedCluster):
    """A new leader takes a member that has not answered yet for one without hosts."""

    @staticmethod
    def decides(view: View) -> Decisions:
        members = {
            address: member if member.report is not None else evolve(member, report=MemberReport())
            for address, member in view.members.items()
        }
        return decide(evolve(view, members=members))


class WithoutTakingOver(HostedCluster):
    """A cancelled job of a lost member is at its end at once."""

    @staticmethod
    def decides(view: View) -> Decisions:
        found = decide(view)
        lost = [
            End(view.ended(job, JobState.CANCELED))
            for job in view.jobs.values()
            if job.wanted in CANCELLED and job.host and view.members[job.host].lost
        ]
        return evolve(found, changes=tuple(lost)) if lost else found


class WithoutClearing(HostedCluster):
    """What members have and no record names stays there."""

    @staticmethod
    def decides(view: View) -> Decisions:
        found = decide(view)
        named = {job_id for job_id, job in view.jobs.items() if job.host}
        return evolve(found, orders=tuple(order for order in found.orders if _job_of(order) in named))


class WithoutRepeating(HostedCluster):
    """A job that its host does not have is ordered once."""

    def __init__(self, *arguments: object, **more: object) -> None:
        self._given: set[tuple[str, int]] = set()
        super().__init__(*arguments, **more)  # type: ignore[arg-type]

    def decides(self, view: View) -> Decisions:
        orders = []
        for order in (found := decide(view)).orders:
            if isinstance(order, Start):
                key = (order.job.job_id, order.job.attempt)
                if key in self._given:
                    continue
                self._given.add(key)
            orders.append(order)
        return evolve(found, orders=tuple(orders))


def _job_of(order: object) -> str:
    job = getattr(order, "job", None)
    return job.job_id if job is not None else getattr(order, "job_id", "") or getattr(order, "host", "")


MUTANTS = [WithoutTakingOver, WithoutClearing, WithoutRepeating]


@pytest.mark.mutants
@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_simulation_finds_a_rule_that_is_left_out(mutant: type[HostedCluster]) -> None:
    with pytest.raises(ViolationError):
        play_many(mutant)


@pytest.mark.simulation
def test_a_leader_that_does_not_ask_first_lets_jobs_pause() -> None:
    found = [lead_and_kill(seed, WithoutAsking) for seed in range(10)]
    assert any(before != after for before, after in found)


def play_many(world: type[HostedCluster]) -> None:
    for seed in range(200):
        play(seed, world)
