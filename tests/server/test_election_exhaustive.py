"""Every schedule of a few faults on a small cluster: at each of some moments, all that can happen to each node."""

import itertools

import pytest

from seatunnel_core.server.election import Election, Timing
from tests.server.simulated_cluster import Cluster, Faults, ViolationError
from tests.server.test_election import WithoutLateBeat, WithoutLease

TIMING = Timing(beat_s=1.0, timeout_s=4.0, look_s=0.5)
CALM = Faults(kill=0, pause=0, storage=0, slow=0)
SPACING_S = 1.3
"""Between two moments: not a multiple of the beat, so that they fall into different phases of it."""


class Scripted(Cluster):
    """A cluster in which nothing happens by chance but the storage's few milliseconds."""

    def play(self, script: tuple[str, ...]) -> None:
        """Let each step's fault happen, a moment apart."""
        self.run(2.0)
        for step in script:
            self._happen(step)
            self.run(SPACING_S)
        self.heal()
        healed = self.now
        self.run(16.0)
        self.check_acknowledged()
        if self.last_acting < healed + 14:
            raise ViolationError(f"{script}: nobody leads although nothing is broken any more")

    def _happen(self, step: str) -> None:
        what, _, which = step.partition(" ")
        if what == "slow":
            self.storage.slow = 300.0 if self.storage.slow == 1.0 else 1.0
        elif which:
            agent = self.agents[int(which)]
            if what == "kill":
                self._start(agent) if not agent.alive else self._kill(agent)
            elif what == "pause" and agent.alive:
                if agent.paused:
                    self._continue(agent)
                else:
                    agent.paused = True


def play_all(nodes: int, moments: int, election: type[Election] = Election) -> int:
    """Play every schedule; return how many there are. A second kill starts a node, a second pause continues it."""
    steps = ["none", "slow", *(f"{what} {node}" for node in range(nodes) for what in ("kill", "pause"))]
    schedules = list(itertools.product(steps, repeat=moments))
    for script in schedules:
        try:
            Scripted(1, nodes=nodes, timing=TIMING, faults=CALM, election=election).play(script)
        except ViolationError as error:
            raise ViolationError(f"{script}: {error}") from error
    return len(schedules)


@pytest.mark.simulation
@pytest.mark.parametrize(("nodes", "moments"), [(2, 3), (3, 2)])
def test_no_schedule_breaks_the_election(nodes: int, moments: int) -> None:
    assert play_all(nodes, moments) == (2 + 2 * nodes) ** moments


@pytest.mark.torture
@pytest.mark.parametrize(
    ("nodes", "moments"),
    [(2, 4), (3, 3), *(pytest.param(*longer, marks=pytest.mark.long) for longer in ((2, 5), (3, 4)))],
)
def test_no_longer_schedule_breaks_the_election(nodes: int, moments: int) -> None:
    assert play_all(nodes, moments) == (2 + 2 * nodes) ** moments


@pytest.mark.simulation
@pytest.mark.parametrize("mutant", [WithoutLease, WithoutLateBeat])
def test_some_schedule_finds_a_rule_that_is_left_out(mutant: type[Election]) -> None:
    with pytest.raises(ViolationError):
        play_all(2, 4, mutant)
