"""Moves beside the faults that seeds draw: an older state, and another job under an active id."""

from collections.abc import Callable

import pytest

from tests.server.simulation.faults import CALM
from tests.server.simulation.play import play
from tests.server.simulation.world import World

pytestmark = pytest.mark.simulation


@pytest.mark.parametrize("database", [False, True])
def test_no_node_leads_with_a_state_that_is_older_than_what_it_has_seen(database: bool) -> None:
    """The state goes back by some seconds, in which jobs were acknowledged, and comes forward again later."""
    for seed in range(2):
        with World(seed, faults=CALM, database=database, jobs=40) as world:
            world.run(15)
            back, before = world.shared.copy(), set(world.records) | set(world.ends)
            world.run(15)
            forward, acknowledged = world.shared.copy(), world.counts["acknowledged submits"]
            assert set(world.records) | set(world.ends) != before, "jobs were accepted that the older state lacks"
            (leading,) = world.acting()
            world.kill(leading)  # with the server that fails over, or before a copy is brought back
            back()
            world.run(12)  # longer than a lease
            assert not world.acting()
            assert any("is older than the state that this node has seen" in each for each in problems(world))
            accepted = world.counts["acknowledged submits"]
            world.run(20)
            assert not world.acting()
            assert world.counts["acknowledged submits"] == accepted
            assert accepted >= acknowledged
            forward()
            world.start(leading)
            world.run(20)
            assert world.acting()
            world.heal()
            world.finish()


@pytest.mark.parametrize("database", [False, True])
def test_no_standby_leads_with_a_state_that_lacks_what_only_its_leader_has_seen(database: bool) -> None:
    """The state goes back before a standby reads its newest version; the leader that knows it goes on running."""
    for seed in range(2):
        with World(seed, faults=CALM, database=database, jobs=40) as world:
            world.run(15)
            back = until_only_the_leader_has_seen_the_newest_version(world)
            forward = world.shared.copy()
            back()
            world.run(6)  # longer than the leader's lease
            assert not world.acting()
            world.run(30)
            assert not world.acting()
            assert all("is older than the state that this node has seen" in each for each in problems(world))
            if not database:  # until its next heartbeat, the leader acknowledged changes that the newer state lacks
                continue
            forward()
            world.run(30)
            assert world.acting()
            assert not any(problems(world))
            world.heal()
            world.finish()


def until_only_the_leader_has_seen_the_newest_version(world: World) -> Callable[[], None]:
    """Run until a version is acknowledged that no standby has read; return what brings the one before back."""
    (leading,) = world.acting()
    stores = {machine.address: machine.agent.leadership._store for machine in world.machines.values()}
    newest = stores.pop(leading.address)
    for _ in range(10_000):
        back, before = world.shared.copy(), world.shared.open().observe().version
        world.run(0.01)
        if newest.newest > before and all(store.newest <= before for store in stores.values()):
            return back
    raise AssertionError("each version is read by a standby at once")


def problems(world: World) -> list[str]:
    """Return why nodes do not lead."""
    return [machine.agent.leadership._store.problem for machine in world.machines.values()]


def test_another_job_under_an_active_id_is_refused_whatever_fails() -> None:
    refused = sum(play(seed, rivals=True).counts["rivals refused"] for seed in range(3))
    assert refused > 5
