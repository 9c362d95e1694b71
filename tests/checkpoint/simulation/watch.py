"""Whether a pipeline tells that its checkpoints do not complete."""

from typing import TYPE_CHECKING

from seatunnel_core.checkpoint import commands
from seatunnel_core.checkpoint.commands import Command
from seatunnel_core.checkpoint.events import Event
from seatunnel_core.checkpoint.transitions import Phase
from tests.checkpoint.simulation.invariants.checkpoints import CheckpointsEnd
from tests.checkpoint.simulation.invariants.invariant import Invariant

if TYPE_CHECKING:
    from tests.checkpoint.simulation.engine import Engine
    from tests.checkpoint.simulation.world import World


class DeadCheckpointersShow(Invariant):
    """No pipeline runs for more than three intervals without a completed checkpoint and says nothing; and none says so
    whose checkpoints complete."""

    rule = "lesson 8"

    def __init__(self, world: "World") -> None:
        super().__init__(world)
        self._completed_ms: dict[Engine, int] = {}
        """Since when an engine that runs has been silent."""

        policy = world.scenario.policy
        shortest_ms = 1_000
        self._patience_ms = 3 * max(policy.interval_ms or 0, policy.min_pause_ms, shortest_ms)

    def handled(self, engine: "Engine", before: Phase, event: Event, result: tuple[Command, ...]) -> None:
        now_ms = self.world.clock.now_ms
        running = engine.protocol.phase is Phase.RUNNING
        completed = any(isinstance(command, commands.CheckpointCompleted) for command in result)
        if not running or before is not Phase.RUNNING or completed:
            self._completed_ms[engine] = now_ms
        if not running or self.world.scenario.policy.interval_ms is None:
            return
        silent_ms = now_ms - max(self._completed_ms[engine], engine.paused_until_ms)
        said = "no checkpoint has completed" in engine.progress().degraded
        self.require(
            said or silent_ms <= self._patience_ms + CheckpointsEnd.LATE_MS,
            f"silent for {silent_ms} ms, and all is well",
        )
        silent_ms = now_ms - self._completed_ms[engine]
        self.require(not said or silent_ms >= self._patience_ms, f"degraded after {silent_ms} ms")
