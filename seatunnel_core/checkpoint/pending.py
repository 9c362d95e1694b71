"""A checkpoint that is being taken."""

from collections.abc import Callable, Iterable

from seatunnel_core.checkpoint.state.vertex_id import VertexId
from seatunnel_core.checkpoint.state.vertex_state import VertexState, VertexStates
from seatunnel_storage_api.state import CheckpointType


class PendingCheckpoint:
    """Collects the acknowledgements of one barrier; complete when every vertex has answered."""

    def __init__(
        self, checkpoint_id: int, checkpoint_type: CheckpointType, *, vertices: Iterable[VertexId], triggered_ms: int
    ) -> None:
        self.checkpoint_id = checkpoint_id
        self.checkpoint_type = checkpoint_type
        self.triggered_ms = triggered_ms
        self.missing = dict.fromkeys(vertices)
        """The vertices that have not acknowledged yet, in the order of the topology."""

        self.storing_since_ms: int | None = None
        self.state_bytes = 0
        self.savepoints: tuple[str, ...] = ()
        """The names of the savepoints that are taken with it."""

        self._states: dict[VertexId, VertexState] = {}

    @property
    def is_final(self) -> bool:
        """Whether it contains all that there was to read, so that the pipeline finishes behind it."""
        return self.checkpoint_type is CheckpointType.COMPLETED_POINT

    def acknowledge(self, vertex: VertexId, state: VertexState) -> bool:
        """Take the state of ``vertex`` and say whether it was the last one that was missing."""
        del self.missing[vertex]
        self._states[vertex] = state
        return not self.missing

    def awaited(self, now_ms: int, doing: Callable[[VertexId], tuple[str, int]]) -> str:
        """Who holds it up, for a person: each vertex that has not acknowledged, what it does and how long, or the
        storage."""
        if self.storing_since_ms is not None:
            storing_ms = now_ms - self.storing_since_ms
            return f"every vertex acknowledged, and the storage has been storing for {storing_ms} ms"
        missing = ((vertex, *doing(vertex)) for vertex in self.missing)
        return "no acknowledgement from " + "; ".join(
            f"{vertex} ({what}, for {now_ms - since_ms} ms)" for vertex, what, since_ms in missing
        )

    def states(self) -> VertexStates:
        """The states of all vertices, once nothing is missing."""
        return VertexStates.of(self._states)
