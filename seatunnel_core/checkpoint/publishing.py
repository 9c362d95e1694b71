"""How long it takes until what a completed checkpoint contains is published."""

from seatunnel_core.checkpoint.commands import CheckpointPublished
from seatunnel_core.checkpoint.context import PipelineContext


class Publishing:
    """The completed checkpoints of this epoch whose commits are under way. A sink settles them in their order."""

    def __init__(self, context: PipelineContext) -> None:
        self._context = context
        self._open: dict[int, tuple[int, set[str]]] = {}
        """By checkpoint: when it completed, and the sinks that have not published all of it."""

    def completed(self, checkpoint_id: int) -> None:
        self._open[checkpoint_id] = (self._context.wiring.now_ms, set(self._context.sinks))

    def settled(self, sink: str, checkpoint_id: int) -> None:
        """A sink has published what the checkpoint contains. Of the restore point, what the base had left over."""
        if checkpoint_id not in self._open:
            return
        completed_ms, unsettled = self._open[checkpoint_id]
        unsettled.discard(sink)
        if not unsettled:
            del self._open[checkpoint_id]
            commit_ms = self._context.wiring.now_ms - completed_ms
            self._context.wiring.do(CheckpointPublished(checkpoint_id=checkpoint_id, commit_ms=commit_ms))
