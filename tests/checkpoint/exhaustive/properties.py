"""What has to hold in every world: the invariants of docs/checkpoint-protocol.md, by the names that they have there."""

from collections.abc import Iterable
from typing import NamedTuple

from attrs import frozen

from seatunnel_core.checkpoint import codec
from seatunnel_storage_api import lineage
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef, PipelineState


class BrokenError(Exception):
    """A world that must not be reached."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(f"{rule}: {message}")
        self.rule = rule


def require(holds: bool, rule: str, message: str) -> None:
    if not holds:
        raise BrokenError(rule, message)


class Key(NamedTuple):
    """The name of what one work unit staged."""

    epoch: int
    unit: int


@frozen
class Cut:
    """Where each row is by a stored state."""

    again: int
    """Rows that a start from here reads again: ahead of the cursor, or in flight. A bit for each."""

    held: tuple[tuple[Key, int], ...]
    """Finished and held back for order, each with its rows."""

    waiting: tuple[tuple[Key, int], ...]
    """Committables that are not known to be committed, each with its rows."""

    gone: int
    """Rows that are nowhere in it: a start takes them for published."""

    @classmethod
    def of(cls, state: PipelineState, rows: int) -> "Cut":
        states = codec.decode(state.states)
        (source,), (task,), (sink,) = states.sources.values(), states.tasks.values(), states.sinks.values()
        again = bits(range(source.cursor, rows))
        held: list[tuple[Key, int]] = []
        for unit in task.units:
            mask = bits(split.index for split in unit.unit.splits)
            if unit.committables is None:
                again |= mask
            else:
                held += [(Key(each.epoch, each.unit), mask) for each in unit.committables.values()]
        waiting = [(Key(each.epoch, each.unit), bits(each.body["rows"])) for each in sink.uncommitted]
        somewhere = again
        for _, mask in (*held, *waiting):
            require(not somewhere & mask, "R1/R2", f"rows {some(somewhere & mask)} are twice in {state.ref}")
            somewhere |= mask
        return cls(again, tuple(held), tuple(waiting), bits(range(rows)) & ~somewhere)

    def require_restorable(self, published: int, staged: frozenset[Key], where: str) -> None:
        """RESTORABLE: a start from here reads what is not published, publishes what is staged, and loses nothing."""
        require(not self.again & published, "R6", f"{some(self.again & published)} published, and again in {where}")
        require(not self.gone & ~published, "R1/R2", f"{some(self.gone & ~published)} neither published nor in {where}")
        for key, mask in self.held:
            require(not mask & published, "R6", f"{some(mask & published)} published, and held back in {where}")
            require(key in staged, "R9", f"{where} holds {key} back, and it is not staged any more")
        for key, mask in self.waiting:
            require(key in staged or not mask & ~published, "R9", f"{where} names {key}, which is gone unpublished")


def bits(rows: Iterable[int]) -> int:
    return sum(1 << row for row in set(rows))


def some(mask: int) -> str:
    """The rows of a mask, for people."""
    return "rows " + ", ".join(str(row) for row in range(mask.bit_length()) if mask >> row & 1)


def live_by_hand(stored: Iterable[CheckpointInfo]) -> frozenset[CheckpointRef]:
    """R4, written a second time: the latest, the smaller ids of its epoch, that epoch's base, and so on down. What the
    engine itself uses has to agree."""
    infos = {info.ref: info for info in stored}
    live: set[CheckpointRef] = set()
    head = max(infos, default=None)
    while head is not None:
        same_epoch = [ref for ref in infos if ref.epoch == head.epoch]
        live |= {ref for ref in same_epoch if ref.checkpoint_id <= head.checkpoint_id}
        head = infos[same_epoch[0]].base if same_epoch else None
    require(live == lineage.live(infos.values()), "R4", f"live are {live}, and lineage says something else")
    return frozenset(live)
