"""Pending checkpoint."""

from collections.abc import Callable, Iterable

from seatunnel_core.checkpoint.state.vertex_id import VertexId
from seatunnel_core.checkpoint.state.vertex_state import VertexState, VertexStates
from seatunnel_storage_api.state import CheckpointType


class PendingCheckpoint:
    """Checkpoint that is complete when every vertex has acknowledged its barrier."""

    def __init__(
        self, checkpoint_id: int, checkpoint_type: CheckpointType, *, vertices: Iterable[VertexId], triggered_ms: int
    ) -> None:
        self.checkpoint_id = checkpoint_id
        self.checkpoint_type = checkpoint_type
        self.triggered_ms = triggered_ms
        self.missing = dict.fromkeys(vertices)
        """Vertices that have not acknowledged yet, in the order of the topology."""

        self.storing_since_ms: int | None = None
        self.state_bytes = 0
        self.savepoints: tuple[str, ...] = ()
        """Names of the savepoints that are taken with this checkpoint."""

        self._states: dict[VertexId, VertexState] = {}

    @property
    def is_final(self) -> bool:
        """True if all input has been read, so that the pipeline finishes with this checkpoint."""
        return self.checkpoint_type is CheckpointType.COMPLETED_POINT

    def acknowledge(self, vertex: VertexId, state: VertexState) -> bool:
        """Record the state of ``vertex``; return True if every vertex has now acknowledged."""
        del self.missing[vertex]
        self._states[vertex] = state
        return not self.missing

    def awaited(self, now_ms: int, doing: Callable[[VertexId], tuple[str, int]]) -> str:
        """Describe what delays the checkpoint: the storage, or each missing vertex with its current activity."""
        if self.storing_since_ms is not None:
            storing_ms = now_ms - self.storing_since_ms
            return f"all vertices have acknowledged; the storage has been writing the checkpoint for {storing_ms} ms"
        missing = ((vertex, *doing(vertex)) for vertex in self.missing)
        return "no acknowledgement from " + "; ".join(
            f"{vertex} ({what}, for {now_ms - since_ms} ms)" for vertex, what, since_ms in missing
        )

    def states(self) -> VertexStates:
        """Return the states of all vertices. Call it after the last acknowledgement."""
        return VertexStates.of(self._states)
