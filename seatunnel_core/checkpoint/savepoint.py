"""Savepoints: copies of checkpoints without staged output, taken when all of that output is published.

A savepoint's barrier reserves two IDs. *n* is an ordinary checkpoint with the committables; *n* + 1, the same cut
without them, is stored as the savepoint when they are committed. So a savepoint may be stored after a later checkpoint,
and is then not the latest. Without staged output, it remains valid after sweeps and can be moved to another storage.
"""

from collections.abc import Callable

from attrs import define

from seatunnel_core.checkpoint.commands import SavepointCompleted, SavepointFailed
from seatunnel_core.checkpoint.context import PipelineContext
from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_storage_api.state import CheckpointRef, CheckpointType


@define
class _Taking:
    """Savepoint in progress, with its completed checkpoint *n*."""

    names: tuple[str, ...]
    states: VertexStates
    unpublished: set[str]
    """Sinks that have not published all output of *n*."""


class Savepoints:
    """Savepoints of one pipeline, from request to completion or failure."""

    def __init__(self, context: PipelineContext, *, timeout_ms: int, over: Callable[[], None]) -> None:
        """Prepare for savepoints; ``over`` is called whenever a savepoint was stored or has failed."""
        self._context = context
        self._timeout_ms = timeout_ms
        self._over = over
        self._asked: list[str] = []
        self._asked_of_the_last: list[str] = []
        self._taking: dict[int, _Taking] = {}
        """Savepoints with a completed checkpoint *n*, by *n*."""

    def ask(self, name: str, *, of_the_last: bool = False) -> None:
        """Take a savepoint with the next checkpoint, or only with the last one."""
        (self._asked_of_the_last if of_the_last else self._asked).append(name)

    @property
    def asked(self) -> bool:
        """True if the next checkpoint also serves a savepoint."""
        return bool(self._asked)

    @property
    def open(self) -> bool:
        """True if a savepoint is still being stored."""
        return bool(self._taking)

    def take_asked(self, *, last: bool) -> tuple[str, ...]:
        """Return the requested savepoints that the new checkpoint serves, also those for the ``last`` one if it is."""
        names, self._asked = self._asked, []
        if last:
            names, self._asked_of_the_last = names + self._asked_of_the_last, []
        return tuple(names)

    def completed(self, checkpoint_id: int, names: tuple[str, ...], states: VertexStates) -> None:
        """Prepare the savepoints of checkpoint *n*, now being published; they fail if not stored within the timeout."""
        self._taking[checkpoint_id] = _Taking(names, states, set(self._context.sinks))
        self._context.wiring.set_timer(
            f"savepoint:{checkpoint_id}",
            self._context.wiring.now_ms + self._timeout_ms,
            lambda: self._give_up(
                checkpoint_id, f"not stored within {self._timeout_ms} ms: {self._doing(checkpoint_id)}"
            ),
        )

    def published(self, sink: str, checkpoint_id: int) -> None:
        """Record that a sink has published the output of checkpoint *n*; after the last sink, store the savepoint."""
        taking = self._taking.get(checkpoint_id)
        if taking is None:
            return
        taking.unpublished.discard(sink)
        if not taking.unpublished:
            self._context.store(checkpoint_id + 1, CheckpointType.SAVEPOINT, taking.states.without_staged())

    def stored(self, ref: CheckpointRef) -> None:
        """Report the savepoints stored as ``ref`` as completed; ignore any other checkpoint."""
        taking = self._close(ref.checkpoint_id - 1)
        if taking is not None:
            for name in taking.names:
                self._context.wiring.do(SavepointCompleted(name=name, ref=ref))
            self._over()

    def store_failed(self, ref: CheckpointRef, reason: str) -> None:
        """Report that the savepoint ``ref`` was not stored; ignore any other checkpoint."""
        self._give_up(ref.checkpoint_id - 1, reason)

    def refuse(self, names: tuple[str, ...], reason: str) -> None:
        """Report that the savepoints of these names will not be taken."""
        for name in names:
            self._context.wiring.do(SavepointFailed(name=name, reason=reason))

    def end(self, reason: str) -> None:
        """Report every unstored savepoint as failed, because the pipeline ends."""
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
        return f"{', '.join(map(repr, unpublished))} still publishes" if unpublished else "the storage is storing it"
