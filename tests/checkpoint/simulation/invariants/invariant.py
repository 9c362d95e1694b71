"""What must hold whatever happens: one object per rule of the protocol, each with its own small memory.

They see what engines hear and say, and every step that changes the storage or the target. They know the
rules and not the implementation: what they need to know of a state they read from its stored bytes.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from seatunnel_core.checkpoint import commands
from seatunnel_core.checkpoint.commands import Command
from seatunnel_core.checkpoint.events import Event
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.checkpoint.transitions import Phase
from seatunnel_core.work.committable import Committable
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef, PipelineState

if TYPE_CHECKING:
    from tests.checkpoint.simulation.engine import Engine
    from tests.checkpoint.simulation.target import Published, StagedThing, StagingKey
    from tests.checkpoint.simulation.world import World


class ViolationError(Exception):
    """A rule does not hold."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(f"{rule}: {message}")
        self.rule = rule


class Invariant:
    """Watches a run. The default for everything is to look away."""

    rule: str

    def __init__(self, world: "World") -> None:
        self.world = world

    def handled(self, engine: "Engine", before: Phase, event: Event, result: tuple[Command, ...]) -> None: ...

    def put(self, engine: "Engine", state: PipelineState) -> None: ...

    def looked_clean(self, engine: "Engine", state: PipelineState) -> None: ...

    def published(
        self, engine: "Engine", sink: str, committable: Committable, publication: "Published | None"
    ) -> None: ...

    def save_mode(self, engine: "Engine", sink: str, deleted: "tuple[Published, ...]") -> None: ...

    def completed(self, engine: "Engine") -> None: ...

    def swept(self, engine: "Engine", things: "Mapping[StagingKey, StagedThing]") -> None: ...

    def taken_back(self, engine: "Engine", publication: "Published") -> None: ...

    def removed(self, refs: frozenset[CheckpointRef]) -> None: ...

    def at_end(self) -> None: ...

    def require(self, holds: bool, message: str, rule: str | None = None) -> None:
        if not holds:
            raise ViolationError(rule or self.rule, message)

    def is_newest(self, engine: "Engine") -> bool:
        """Whether nobody has claimed a newer epoch than ``engine``."""
        return engine.epoch is not None and max(self.world.storage.epochs) == engine.epoch


HOOKS = (
    "handled", "put", "looked_clean", "published", "save_mode", "completed", "swept", "taken_back", "removed", "at_end",
)  # fmt: skip


def listeners(invariants: "Iterable[Invariant]") -> dict[str, tuple[Callable[..., None], ...]]:
    """By what happens: those that do not look away."""
    return {
        hook: tuple(
            getattr(each, hook) for each in invariants if getattr(type(each), hook) is not getattr(Invariant, hook)
        )
        for hook in HOOKS
    }


@lru_cache(maxsize=2_000)
def understood(encoded: bytes) -> VertexStates:
    """What a stored state says. Many invariants read the same one."""
    return codec.decode(encoded)


def stores(result: Iterable[Command]) -> list[PipelineState]:
    return [command.state for command in result if isinstance(command, commands.StoreCheckpoint)]


def live_by_hand(
    states: Mapping[CheckpointRef, PipelineState] | Mapping[CheckpointRef, CheckpointInfo],
) -> set[CheckpointRef]:
    """R4, written a second time: the latest, the smaller ids of its epoch, its base, and so on down."""
    live: set[CheckpointRef] = set()
    head = max(states, default=None)
    while head is not None:
        same_epoch = [ref for ref in states if ref.epoch == head.epoch]
        live |= {ref for ref in same_epoch if ref.checkpoint_id <= head.checkpoint_id}
        head = states[same_epoch[0]].base if same_epoch else None
    return live


def named(states: VertexStates) -> list[tuple[str, Committable]]:
    """Every committable that a state names, with its sink."""
    held = [pair for task in states.tasks.values() for unit in task.units for pair in (unit.committables or {}).items()]
    waiting = [(name, committable) for name, sink in states.sinks.items() for committable in sink.uncommitted]
    return [*held, *waiting]
