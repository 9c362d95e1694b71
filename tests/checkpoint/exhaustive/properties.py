"""What has to hold in every world: the invariants of docs/design/checkpoint-protocol.md, by the names there."""

from collections.abc import Iterable
from typing import NamedTuple

from attrs import frozen

from seatunnel_core.checkpoint.decisions.retracting import retractions
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.topology import Topology
from seatunnel_core.checkpoint.state.vertex_state import SourceState, TaskState
from seatunnel_core.work.retraction import Retraction
from seatunnel_storage_api import lineage
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef, PipelineState

NEVER = 1_000_000
"""An epoch above all."""


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

    debt: Retraction | None
    """What the next start takes back, because this one did not know that it was done (R10)."""

    @classmethod
    def of(cls, state: PipelineState, rows: int, topology: Topology) -> "Cut":
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
        if source.memory is not None:
            _require_facts(state.ref, source, task)
        waiting = [(Key(each.epoch, each.unit), bits(each.body["rows"])) for each in sink.uncommitted]
        somewhere = again
        for _, mask in (*held, *waiting):
            require(not somewhere & mask, "R1/R2", f"rows {some(somewhere & mask)} are twice in {state.ref}")
            somewhere |= mask
        debt = None
        if states.retracting is not None:
            gone = retractions(states, topology, epoch=NEVER, base_epoch=states.retracting.epoch)
            debt = gone["out"]
        return cls(again, tuple(held), tuple(waiting), bits(range(rows)) & ~somewhere, debt)

    def owes(self, key: Key) -> bool:
        """Whether a start from here takes back what was published under ``key``."""
        identity = f"0-{key.epoch}-{key.unit}"
        return self.debt is not None and self.debt.takes(identity, source=0, epoch=key.epoch, unit=key.unit)

    def require_restorable(
        self, published: int, staged: frozenset[Key], things: frozenset[tuple[Key, int]], where: str
    ) -> None:
        """RESTORABLE: a start from here reads what is not published, publishes what is staged, and loses nothing.
        ``things`` is what was published, where something may be taken back: a start does so before it reads."""
        for key, mask in things:
            if self.owes(key):
                published &= ~mask
                require(not self.gone & mask, "R10", f"{where} takes back {key}, whose rows it takes for published")
        staged = staged.union(key for key, _ in things)
        require(not self.again & published, "R6", f"{some(self.again & published)} published, and again in {where}")
        require(not self.gone & ~published, "R1/R2", f"{some(self.gone & ~published)} neither published nor in {where}")
        done = {key for key, _ in things}
        for key, mask in self.held:
            early = mask & published if key not in done else 0
            require(not early, "R6", f"{some(early)} published, and held back in {where}")
            require(key in staged, "R9", f"{where} holds {key} back, and it is not staged any more")
        for key, mask in self.waiting:
            require(key in staged or not mask & ~published, "R9", f"{where} names {key}, which is gone unpublished")


def _require_facts(ref: CheckpointRef, source: SourceState, task: TaskState) -> None:
    """R17: each fact of a row that was emitted is in one place, unless the row is in flight."""
    held = [fact for unit in task.units for fact in unit.facts]
    known = [*(source.memory or {}).get("known", ()), *(fact["split"] for fact in (*task.facts, *held))]
    running = [split.index for unit in task.units if unit.committables is None for split in unit.unit.splits]
    places = sorted((*known, *running))
    require(places == [*range(source.cursor)], "R17", f"facts of rows {places} in {ref}, of {source.cursor} rows")


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
