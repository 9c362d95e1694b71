"""State that the start and the checkpoints of one pipeline share."""

from collections.abc import Mapping

from seatunnel_core.checkpoint.commands import Complete, StoreCheckpoint, Sweep
from seatunnel_core.checkpoint.decisions.base import Base
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.topology import Topology
from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.checkpoint.transitions import NEXT, Phase
from seatunnel_core.checkpoint.vertices.messages import Completed, ToSink, ToSource
from seatunnel_core.checkpoint.vertices.wiring import Channel, Wiring
from seatunnel_storage_api.state import CheckpointType, PipelineState


class PipelineContext:
    """State of one pipeline: its phase, its epoch, the restored checkpoint, and the channels to its vertices."""

    def __init__(self, *, job_id: str, pipeline_id: int, topology: Topology, wiring: Wiring) -> None:
        self.phase = Phase.CREATED
        """Current phase. Change it only through ``enter``."""

        self.epoch = 0
        """Epoch of this start; 0 before an epoch is claimed."""

        self.base = Base(info=None, cut=None, restore_point_id=1)
        self.is_extended = False
        """True if the job has vertices that the restored checkpoint lacks. They start even if the pipeline had
        finished."""

        self.last_completed_id: int | None = None
        self.last_completed_ms: int | None = None
        self.publishing = 0
        """ID of the last checkpoint that the sinks were instructed to publish."""

        self.unpublished: set[str] = set()
        """Sinks that have not published all output of that checkpoint."""

        self.topology = topology
        self.wiring = wiring
        self.job_id = job_id
        self._pipeline_id = pipeline_id

    def connect(
        self, *, sources: Mapping[str, Channel], tasks: Mapping[str, Channel], sinks: Mapping[str, Channel]
    ) -> None:
        """Set the channels to the vertices, by vertex name."""
        self.sources = sources
        self.tasks = tasks
        self.sinks = sinks

    def enter(self, phase: Phase) -> None:
        """Set the phase, which the transition table must allow. Only this method may change the phase."""
        assert phase in NEXT[self.phase], f"the phase cannot change from {self.phase} to {phase}"
        self.phase = phase

    @property
    def base_is_final(self) -> bool:
        """True if the pipeline had finished in the restored checkpoint and no vertex was added since."""
        cut = self.base.cut
        return cut is not None and cut.checkpoint_type is CheckpointType.COMPLETED_POINT and not self.is_extended

    def tell_sources(self, message: ToSource) -> None:
        """Send a message to every source."""
        for channel in self.sources.values():
            channel.send(message)

    def tell_sinks(self, message: ToSink) -> None:
        """Send a message to every sink."""
        for channel in self.sinks.values():
            channel.send(message)

    def store(self, checkpoint_id: int, checkpoint_type: CheckpointType, states: VertexStates) -> int:
        """Store the states as a checkpoint and return their size in bytes.

        Every checkpoint refers to the checkpoint that its epoch restored, so a late checkpoint of a replaced engine
        does not become part of the history (R4).

        Raises:
            StateFormatError: A split or a committable contains a value that is not JSON; nothing is stored.
        """
        encoded = codec.encode(states)
        state = PipelineState(
            job_id=self.job_id,
            pipeline_id=self._pipeline_id,
            epoch=self.epoch,
            checkpoint_id=checkpoint_id,
            checkpoint_type=checkpoint_type,
            states=encoded,
            base=self.base.ref,
        )
        self.wiring.do(StoreCheckpoint(state=state, content=states))
        return len(encoded)

    def mark_completed(self, checkpoint_id: int) -> None:
        """Record the ID of a checkpoint as the last completed one, with the current time."""
        self.last_completed_id = checkpoint_id
        self.last_completed_ms = self.wiring.now_ms

    def publish(self, checkpoint_id: int) -> None:
        """Instruct every sink to publish the output of the checkpoint; each one answers with ``Published``."""
        self.publishing = checkpoint_id
        self.unpublished = set(self.sinks)
        self.tell_sinks(Completed(checkpoint_id))

    def complete(self) -> None:
        """Make the sinks publish the output that they hold back until the last row (R16).

        Call it when every row is committed and the final checkpoint is complete.
        """
        self.enter(Phase.COMPLETING)
        self.wiring.do(Complete(epoch=self.epoch))

    def clean(self) -> None:
        """Sweep all staged output, including the output of this epoch (R9). No unit may start afterwards."""
        self.enter(Phase.CLEANING)
        self.wiring.do(Sweep(epoch=self.epoch, keep=frozenset(), final=True))
