"""Savepoints: copies of checkpoints without staged output, stored once all of that output is published.

The barrier of a savepoint reserves two IDs. Checkpoint *n* is an ordinary checkpoint; when its output is published, the
same state without committables is stored as savepoint *n* + 1. Later checkpoints may be stored before it, so a
savepoint is not always the latest. It remains valid after sweeps and can be moved to another storage.
"""

from collections.abc import Callable

from attrs import define

from seatunnel_core.checkpoint.commands import SavepointCompleted, SavepointFailed
from seatunnel_core.checkpoint.context import PipelineContext
from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_storage_api.state import CheckpointRef, CheckpointType


@define
class _Taking:
    """Savepoint that waits until the output of its checkpoint *n* is published."""

    names: tuple[str, ...]
    states: VertexStates
    unpublished: set[str]
    """Sinks that have not published all output of *n*."""


class Savepoints:
    """Savepoints of one pipeline, from request to completion or failure."""

    def __init__(self, context: PipelineContext, *, timeout_ms: int, over: Callable[[], None]) -> None:
        """Create the savepoint tracker of a pipeline; ``over`` is called whenever a savepoint is stored or fails."""
        self._context = context
        self._timeout_ms = timeout_ms
        self._over = over
        self._asked: list[str] = []
        self._asked_of_the_last: list[str] = []
        self._taking: dict[int, _Taking] = {}
        """Savepoints for which checkpoint *n* is complete, keyed by *n*."""

    def ask(self, name: str, *, of_the_last: bool = False) -> None:
        """Request a savepoint with the next checkpoint, or only with the final one."""
        (self._asked_of_the_last if of_the_last else self._asked).append(name)

    @property
    def asked(self) -> bool:
        """True if a savepoint is requested with the next checkpoint."""
        return bool(self._asked)

    @property
    def open(self) -> bool:
        """True if a savepoint is in progress."""
        return bool(self._taking)

    def take_asked(self, *, last: bool) -> tuple[str, ...]:
        """Return the names of the savepoints to take with the new checkpoint, and remove them from the requests."""
        names, self._asked = self._asked, []
        if last:
            names, self._asked_of_the_last = names + self._asked_of_the_last, []
        return tuple(names)

    def completed(self, checkpoint_id: int, names: tuple[str, ...], states: VertexStates) -> None:
        """Start the savepoints of the completed checkpoint *n*; they fail if they are not stored within the timeout."""
        self._taking[checkpoint_id] = _Taking(names, states, set(self._context.sinks))
        self._context.wiring.set_timer(
            f"savepoint:{checkpoint_id}",
            self._context.wiring.now_ms + self._timeout_ms,
            lambda: self._give_up(
                checkpoint_id, f"not stored within {self._timeout_ms} ms: {self._doing(checkpoint_id)}"
            ),
        )

    def published(self, sink: str, checkpoint_id: int) -> None:
        """Record that a sink has published the output of checkpoint *n*; store the savepoint after the last sink."""
        taking = self._taking.get(checkpoint_id)
        if taking is None:
            return
        taking.unpublished.discard(sink)
        if not taking.unpublished:
            self._context.store(checkpoint_id + 1, CheckpointType.SAVEPOINT, taking.states.without_staged())

    def stored(self, ref: CheckpointRef) -> None:
        """Report that the savepoints stored as ``ref`` are complete; ignore other checkpoints."""
        taking = self._close(ref.checkpoint_id - 1)
        if taking is not None:
            for name in taking.names:
                self._context.wiring.do(SavepointCompleted(name=name, ref=ref))
            self._over()

    def store_failed(self, ref: CheckpointRef, reason: str) -> None:
        """Report that the savepoint ``ref`` could not be stored; ignore other checkpoints."""
        self._give_up(ref.checkpoint_id - 1, reason)

    def refuse(self, names: tuple[str, ...], reason: str) -> None:
        """Report that the savepoints with these names cannot be taken."""
        for name in names:
            self._context.wiring.do(SavepointFailed(name=name, reason=reason))

    def end(self, reason: str) -> None:
        """Report every unfinished savepoint as failed, because the pipeline ends."""
        self.refuse(self.take_asked(last=True), reason)
        for checkpoint_id in list(self._taking):
            taking = self._close(checkpoint_id)
            self.refuse(taking.names if taking else (), reason)

    def _give_up(self, checkpoint_id: int, reason: str) -> None:
        taking = self._close(checkpoint_id)
        if taking is not None:
            self.refuse(taking.names, reason)
            self._over()

    def _close(self, checkpoint_id: int) -> _Taking | None:
        self._context.wiring.cancel_timer(f"savepoint:{checkpoint_id}")
        return self._taking.pop(checkpoint_id, None)

    def _doing(self, checkpoint_id: int) -> str:
        unpublished = sorted(self._taking[checkpoint_id].unpublished)
        if not unpublished:
            return "the storage is still writing the savepoint"
        return f"waiting for {', '.join(map(repr, unpublished))} to publish"
