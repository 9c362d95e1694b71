"""What retention removes, and what it leaves."""

from typing import TYPE_CHECKING

from seatunnel_core.checkpoint import events
from seatunnel_core.checkpoint.commands import Command
from seatunnel_core.checkpoint.events import Event
from seatunnel_core.checkpoint.transitions import Phase
from seatunnel_storage_api.state import CheckpointRef, CheckpointType, PipelineState
from tests.checkpoint.simulation.invariants.invariant import Invariant, live_by_hand

if TYPE_CHECKING:
    from tests.checkpoint.simulation.engine import Engine
    from tests.checkpoint.simulation.world import World


class RetentionIsExact(Invariant):
    """Whoever stores the latest checkpoint leaves no more live ones than are to be retained; savepoints, the newest
    live completed point and what leads to a live savepoint are not counted and stay; the latest is never removed."""

    rule = "retention"

    def __init__(self, world: "World") -> None:
        super().__init__(world)
        self._listed: dict[CheckpointRef, frozenset[CheckpointRef]] = {}
        """By stored checkpoint: what its store saw, so that it answers for it."""

    def looked_clean(self, engine: "Engine", state: PipelineState) -> None:
        self._listed[state.ref] = frozenset(self.world.storage.checkpoints)

    def removed(self, refs: frozenset[CheckpointRef]) -> None:
        for ref in refs & self.world.storage.checkpoints.keys():
            self.require(ref != max(self.world.storage.checkpoints), f"{ref}, the latest, is removed")
            self.require(ref not in self._kept(), f"{ref} is removed, which nobody may prune")

    def handled(self, engine: "Engine", before: Phase, event: Event, result: tuple[Command, ...]) -> None:
        stored = self.world.storage.checkpoints
        if not isinstance(event, events.CheckpointStored) or event.ref != max(stored) or not self.is_newest(engine):
            return
        if not self.world.is_pruned(engine):
            return
        left = (live_by_hand(stored) - self._kept()) & self._listed[event.ref]
        most = self.world.scenario.retained
        self.require(len(left) <= most, f"after {event.ref} there are {sorted(left)}, and {most} are to be retained")

    def _kept(self) -> set[CheckpointRef]:
        """Savepoints, the newest live completed point, and of each epoch that ended since the oldest live savepoint the
        newest live one."""
        stored = self.world.storage.checkpoints
        savepoints = {ref for ref, state in stored.items() if state.checkpoint_type is CheckpointType.SAVEPOINT}
        live = sorted(live_by_hand(stored))
        completed = [ref for ref in live if stored[ref].checkpoint_type is CheckpointType.COMPLETED_POINT]
        oldest = min((ref.epoch for ref in live if ref in savepoints), default=None)
        ways = {ref.epoch: ref for ref in live if oldest is not None and oldest < ref.epoch < live[-1].epoch}
        return {*savepoints, *completed[-1:], *ways.values()}
