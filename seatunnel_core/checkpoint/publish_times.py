"""Time from the completion of a checkpoint until all its output is published."""

from seatunnel_core.checkpoint.commands import CheckpointPublished
from seatunnel_core.checkpoint.context import PipelineContext


class PublishTimes:
    """Completed checkpoints of this epoch that are not yet published by all sinks."""

    def __init__(self, context: PipelineContext) -> None:
        self._context = context
        self._open: dict[int, tuple[int, set[str]]] = {}
        """Completion time and sinks with unpublished output, keyed by checkpoint ID."""

    def completed(self, checkpoint_id: int) -> None:
        """Record the completion of a checkpoint."""
        self._open[checkpoint_id] = (self._context.wiring.now_ms, set(self._context.sinks))

    def published(self, sink: str, checkpoint_id: int) -> None:
        """Record that a sink has published the output of a checkpoint; send the notice after the last sink."""
        if checkpoint_id not in self._open:
            return
        completed_ms, unpublished = self._open[checkpoint_id]
        unpublished.discard(sink)
        if not unpublished:
            del self._open[checkpoint_id]
            commit_ms = self._context.wiring.now_ms - completed_ms
            self._context.wiring.do(CheckpointPublished(checkpoint_id=checkpoint_id, commit_ms=commit_ms))
