"""A whole cluster under a virtual clock, with random faults, and with lines of the real code that are broken."""

import os

import pytest

from seatunnel_core.server.state.records import JobState
from tests.server.simulation.faults import CALM
from tests.server.simulation.ledger import Ledger, ViolationError
from tests.server.simulation.mutants import MUTANTS, Mutant
from tests.server.simulation.play import play
from tests.server.simulation.totals import KINDS, faults_of
from tests.server.simulation.world import World

SEEDS = int(os.environ.get("SEATUNNEL_RUNS", "4"))
"""`make simulate-cluster` plays as many faults as one likes, and `.ci/run` 1,000."""

MOST_SEEDS = 200
"""So many are played at most until a broken line is found."""


@pytest.mark.simulation
@pytest.mark.timeout(36_000)
@pytest.mark.parametrize("part", range(2))
def test_under_faults_every_acknowledged_job_ends_once(part: int) -> None:
    played = [play(seed) for seed in range(part, SEEDS, 2)]
    assert sum(len(world.ends) for world in played) > 4 * len(played)
    assert sum(faults_of(world.counts) for world in played) > 50 * len(played)


@pytest.mark.simulation
def test_a_seed_plays_the_same_each_time() -> None:
    one, other = play(7), play(7)
    assert one.counts == other.counts
    assert one.loop.events == other.loop.events


@pytest.mark.simulation
@pytest.mark.parametrize("database", [False, True])
def test_jobs_of_other_members_go_on_when_the_leader_dies(database: bool) -> None:
    kept = 0
    for seed in range(4):
        with World(seed, faults=CALM, database=database) as world:
            world.run(15)
            (leading,) = world.acting()
            before = {
                job_id: record.attempt
                for job_id, record in world.records.items()
                if record.host not in ("", leading.address) and not record.name.startswith("poison")
            }
            killed = dict(world.killed_with)
            world.power_off(leading)
            leading.powered = True  # its machine refuses connections
            world.run(3)
            assert world.acting(), "another leads within 3 s"
            assert leading not in world.acting()
            world.run(5)
            alone = [job_id for job_id in before if world.killed_with[job_id] == killed.get(job_id, 0)]
            left = [job_id for job_id in alone if job_id in world.records]  # and no poison job ended its host
            assert {job_id: world.records[job_id].attempt for job_id in left} == {
                job_id: before[job_id] for job_id in left
            }
            kept += len(alone)
    assert kept > 4


@pytest.mark.simulation
def test_an_agent_that_is_started_again_adopts_its_hosts() -> None:
    with World(6, faults=CALM) as world:
        world.run(15)
        assert "poison" not in {asked.kind for asked in world.asked.values()}, "it would end a host"
        for machine in world.machines.values():
            world.kill(machine)
            world.start(machine)
        boots = {process.pid for process in world.hosts.values() if process.alive}
        world.run(10)
        assert boots >= {process.pid for process in world.hosts.values() if process.alive and not process.name}
        attempts = [record.attempt for record in world.records.values() if record.host]
        assert attempts
        assert set(attempts) == {1}


@pytest.mark.simulation
def test_a_machine_without_power_answers_nothing_and_its_jobs_go_elsewhere() -> None:
    with World(5, faults=CALM) as world:
        world.run(15)
        (leading,) = world.acting()
        world.power_off(leading)
        world.run(9)
        assert not world.acting(), "nothing says yet that it is gone"
        world.run(8)
        assert world.acting()
        world.run(15)
        assert all(record.host != leading.address for record in world.records.values())
        world.power_on(leading)
        world.heal()
        world.finish()
        assert {ended.state for ends in world.ends.values() for ended in ends} >= {JobState.FINISHED}


def test_what_was_acknowledged_is_found_or_told() -> None:
    changes: list[tuple[int, str, bytes | None, bytes | None]] = []
    ledger = Ledger(lambda *change: changes.append(change))
    ledger.claimed(1, {})
    ledger.committed(ledger.begun(1, {"job/1": b"a"}))
    doubtful = ledger.begun(1, {"job/2": b"b"})
    with pytest.raises(ViolationError, match="job/1"):
        ledger.claimed(2, {})
    with pytest.raises(ViolationError, match="job/3"):
        ledger.claimed(2, {"job/1": b"a", "job/3": b"?"})
    ledger.claimed(2, {"job/1": b"a"})
    with pytest.raises(ViolationError, match="term 2 lacks it"):
        ledger.committed(doubtful)
    assert changes == [(1, "job/1", None, b"a")]


def test_every_kind_of_fault_is_counted() -> None:
    assert {"kill_agent", "power", "cut", "lost", "operation_in_doubt", "jump"} <= set(KINDS)
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 15


@pytest.mark.mutants
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_simulation_finds_a_line_that_is_broken(mutant: Mutant) -> None:
    with mutant.applied(), pytest.raises(ViolationError):
        play_many()


def play_many() -> None:
    for seed in range(1_000, 1_000 + MOST_SEEDS):
        play(seed)
