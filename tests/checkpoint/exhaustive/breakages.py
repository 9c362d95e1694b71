"""R4, R5, R6, R8, R9, R10 and R13 broken on purpose, to show that visiting all worlds of this size finds it."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from unittest.mock import patch

from attrs import frozen

from seatunnel_core.checkpoint.commands import Sweep
from seatunnel_core.checkpoint.context import PipelineContext
from seatunnel_core.checkpoint.coordinator import Coordinator
from seatunnel_core.checkpoint.decisions import restored as restored_module
from seatunnel_core.checkpoint.decisions.base import Base
from seatunnel_core.checkpoint.start import Start
from seatunnel_core.checkpoint.transitions import Phase
from seatunnel_core.checkpoint.vertices.messages import Acknowledge, Prepared
from seatunnel_core.checkpoint.vertices.sink import SinkVertex
from seatunnel_core.checkpoint.vertices.source import SourceVertex
from seatunnel_core.work.retraction import Retraction
from seatunnel_storage_api import lineage
from seatunnel_storage_api.state import CheckpointType
from tests.checkpoint.exhaustive.model import Model
from tests.checkpoint.exhaustive.properties import Key
from tests.checkpoint.exhaustive.worlds import Bounds, Op, World
from tests.checkpoint.simulation.fact_mutations import FACT_MUTATIONS
from tests.checkpoint.simulation.mutations import forget_what_was_seen
from tests.checkpoint.simulation.order_mutations import ORDER_MUTATIONS
from tests.checkpoint.simulation.rewind_mutations import REWIND_MUTATIONS

TWO = Bounds(engines=2, rows=1, triggers=(2, 1))
THREE = Bounds(engines=3, rows=1, triggers=(2, 0))
ENDLESS = Bounds(engines=2, rows=1, triggers=(1, 0), endless=True)
BACK = Bounds(engines=2, rows=1, triggers=(2, 0), rewinds=1)
BACK_AND_AGAIN = Bounds(engines=3, rows=1, triggers=(1, 0), rewinds=1)
ASKED = Bounds(engines=2, rows=2, triggers=(1, 0), asks=True)
KEYLESS_IN_THE_MIDDLE = Bounds(engines=1, rows=3, triggers=(0,), ordered=True, keys="a-a", faults=1)
KEYLESS_AT_THE_END = Bounds(engines=1, rows=3, triggers=(0,), ordered=True, keys="ab-", faults=1)
IN_ORDER = Bounds(engines=2, rows=2, triggers=(1, 0), ordered=True)


@frozen
class Breakage:
    """One rule, broken in the protocol, in the storage or in the target."""

    rule: str
    what: str
    bounds: Bounds
    model: type[Model] = Model
    broken: Callable[[], AbstractContextManager[Any]] = nullcontext

    def __str__(self) -> str:
        return f"{self.rule}: {self.what}"


class NobodyLooks(Model):
    def fenced(self, world: World, number: int, state_number: int) -> bool:
        return False


class NobodyLooksAfterTheRestorePoint(Model):
    def fenced(self, world: World, number: int, state_number: int) -> bool:
        kind = self.engines.states[state_number].checkpoint_type
        return kind is not CheckpointType.RESTORE_POINT and super().fenced(world, number, state_number)


class NobodyLooksAfterACheckpoint(Model):
    def fenced(self, world: World, number: int, state_number: int) -> bool:
        kind = self.engines.states[state_number].checkpoint_type
        return kind is CheckpointType.RESTORE_POINT and super().fenced(world, number, state_number)


class LooksBeforeItPuts(Model):
    store_begins_with = "check"

    def check(self, world: World, number: int, op: Op, how: str) -> World:
        if self.fenced(world, number, op[1]):
            return super().check(world, number, op, how)
        return self._goes_on(world, number, op, ("put", op[1]))

    def put(self, world: World, number: int, op: Op, how: str) -> World:
        world = self._acts(self.stored(world, number, op[1]), number, op[1])
        return self._stood(world, number, op)


class PublishingCopies(Model):
    def consumed(self, staged: frozenset[Key], key: Key) -> frozenset[Key]:
        return staged


class AnyEngineCompletes(Model):
    def refuses(self, world: World, number: int) -> bool:
        return False


class SweepsAll(Model):
    def sweep(self, world: World, number: int, op: Op, how: str) -> World:
        keys = tuple(sorted(key for key in world.staged if key.epoch <= number + 1))
        return self._goes_on(world, number, op, ("delete", keys))


def _latest_by_id(listed: Any, request: Any) -> Base:
    infos = sorted(listed, key=lambda info: (info.checkpoint_id, info.epoch))
    latest = infos[-1] if infos else None
    return Base(info=latest, cut=latest, restore_point_id=infos[-1].checkpoint_id + 1 if infos else 1)


def _do_not_wait_for_the_restore_point(self: Any) -> None:
    STORE(self)
    self.restore_point_stored()


STORE = Start._store_restore_point
ACKNOWLEDGED = Coordinator._acknowledged
PUBLISH = SinkVertex._publish


def _sweep_before_the_base_is_committed(self: Any, _event: Any) -> None:
    self._context.tell_sinks(Prepared())
    self.base_committed()


def _keep_nothing(self: Any) -> None:
    self._context.phase = Phase.SWEEPING
    self._wiring.do(Sweep(epoch=self._context.epoch, keep=frozenset(), final=False))


def _complete_before_stored(self: Any, message: Acknowledge) -> None:
    ACKNOWLEDGED(self, message)
    pending = self.pending.get(message.checkpoint_id)
    if pending is not None and not pending.missing:
        self._complete(pending)


def _never_again(self: Any) -> None:
    for entry in self._publishable:
        entry.may_be_committed = False
    PUBLISH(self)


def _never_complete(self: Any) -> None:
    self.phase = Phase.CLEANING
    self.wiring.do(Sweep(epoch=self.epoch, keep=frozenset(), final=True))


def _live_in_any_epoch(checkpoints: Any) -> Any:
    return frozenset(info.ref for info in checkpoints)


REWOUND = {
    "take nothing back": BACK,
    "do not record that rows are to be taken back": BACK,
    "leave what had no number yet": BACK,
    "leave what was in flight": BACK,
    "leave what is of newer epochs": BACK_AND_AGAIN,
}
"""Of the breakages of R10 that the simulation knows, those that show in worlds of this size."""


DIRECTLY = {
    "units that write directly run in every free slot": KEYLESS_IN_THE_MIDDLE,
    "newer units write while an older one waits for its retry": KEYLESS_IN_THE_MIDDLE,
    "newer units do not wait for one without ordering key": KEYLESS_IN_THE_MIDDLE,
    "a unit without ordering key does not wait for older ones": KEYLESS_AT_THE_END,
}
"""Of the breakages of R13 that the simulation knows, those that show in what is written."""

BREAKAGES: tuple[Breakage, ...] = (
    Breakage("R4c", "the latest is the largest id of any epoch", THREE, broken=lambda: patch.object(
        restored_module, "choose_base", _latest_by_id)),
    Breakage("R4d", "act before the restore point is stored", TWO, broken=lambda: patch.object(
        Start, "_store_restore_point", _do_not_wait_for_the_restore_point)),
    Breakage("R4e", "do not look after the restore point", THREE, NobodyLooksAfterTheRestorePoint),
    Breakage("R4", "sweep before the base is committed", TWO, broken=lambda: patch.object(
        Start, "sinks_prepared", _sweep_before_the_base_is_committed)),
    Breakage("R4", "what is orphaned counts", TWO, broken=lambda: patch.object(lineage, "live", _live_in_any_epoch)),
    Breakage("R5", "nobody looks", TWO, NobodyLooks),
    Breakage("R5", "do not look after a checkpoint", TWO, NobodyLooksAfterACheckpoint),
    Breakage("R5", "look, then store", TWO, LooksBeforeItPuts),
    Breakage("R5", "commit before the checkpoint is stored", TWO, broken=lambda: patch.object(
        Coordinator, "_acknowledged", _complete_before_stored)),
    Breakage("R8", "publishing copies and does not consume", TWO, PublishingCopies),
    Breakage("R8", "never say that a commit may have been done", TWO, broken=lambda: patch.object(
        SinkVertex, "_publish", _never_again)),
    Breakage("R9", "a sweep takes all that is staged", IN_ORDER, SweepsAll),
    Breakage("R9", "keep nothing that is held back for order", IN_ORDER, broken=lambda: patch.object(
        Start, "base_committed", _keep_nothing)),
    Breakage("R16", "never complete", TWO, broken=lambda: patch.object(PipelineContext, "complete", _never_complete)),
    Breakage("R16", "a replaced engine still completes", BACK, AnyEngineCompletes),
    Breakage("R10", "take what the base names for lost", ASKED, broken=lambda: patch.object(
        Retraction, "misses", lambda self, committable: True)),
    Breakage("R12", "forget what was seen", ENDLESS, broken=lambda: patch.object(
        SourceVertex, "_pass_barrier", forget_what_was_seen(SourceVertex._pass_barrier))),
    *(Breakage("R17", each.what, ENDLESS, broken=each.broken) for each in FACT_MUTATIONS
      if each.what in ("forget facts that the cursor does not contain", "keep facts that the cursor contains")),
    *(Breakage("R13", each.what, bounds, broken=each.broken) for each in ORDER_MUTATIONS
      if (bounds := DIRECTLY.get(each.what)) is not None),
    *(Breakage("R10", each.what, bounds, broken=each.broken) for each in REWIND_MUTATIONS
      if (bounds := REWOUND.get(each.what)) is not None),
)  # fmt: skip
