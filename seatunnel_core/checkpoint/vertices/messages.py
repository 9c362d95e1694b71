"""What the coordinator and the vertices of one pipeline tell each other. Nothing here leaves the process."""

from attrs import field, frozen

from seatunnel_core.checkpoint.state.vertex_id import VertexId
from seatunnel_core.checkpoint.state.vertex_state import SinkState, SourceState, TaskState, VertexState
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.failure import Failure
from seatunnel_core.work.split import Split

# From the coordinator to a source and on to its task, or to a sink.


@frozen
class RestoreSource:
    state: SourceState


@frozen
class RestoreTask:
    state: TaskState
    epoch: int


@frozen
class RestoreSink:
    state: SinkState
    epoch: int


@frozen
class Plan:
    """To a source: get your splits. It answers ``SourceReady``."""


@frozen
class Begin:
    """Down every channel from source to task: from here on splits flow."""

    to_come_bytes: int = 0
    """From a source to its task: the weight of all splits that it will emit."""

    to_come_splits: int = 0
    """And how many they are."""


@frozen
class Barrier:
    """Down every channel: what came before it belongs to the checkpoint, what comes after does not."""

    checkpoint_id: int
    last: bool = False
    """Nothing follows it: a clean stop."""


@frozen
class Halt:
    """To a source: emit nothing any more, and end."""


@frozen
class Prepared:
    """To a sink: its save mode has acted."""


@frozen
class Completed:
    """To a sink: the checkpoint is durable and fenced; publish what it contains. It answers ``Settled``."""

    checkpoint_id: int


# Along the channels source -> task -> sink, and back.


@frozen
class SplitSent:
    split: Split = field(repr=False)


@frozen
class SourceEnded:
    """No split follows. Barriers do."""


@frozen
class CommittableSent:
    committable: Committable


@frozen
class Credit:
    """Back to the source: so many splits more may be sent (R3)."""

    splits: int


@frozen
class Correction:
    """Back to the source: a unit had so much more (or less) than its splits had said."""

    rows: int
    bytes: int


@frozen
class SinkPressure:
    """Back to the tasks: whether the sink is at its bound (R1)."""

    sink: str
    full: bool


# To the coordinator.


@frozen
class SourceReady:
    source: str
    splits: int


@frozen
class Acknowledge:
    vertex: VertexId
    checkpoint_id: int
    state: VertexState = field(repr=False)


@frozen
class Drained:
    """The task's source has ended, and nothing of it is in flight."""

    task: str


@frozen
class Pressure:
    """A sink came to its bound or left it, or what it holds became covered by a completed checkpoint."""

    sink: str
    full: bool
    uncovered: bool
    """Whether another checkpoint would let it publish more."""

    reason: str = ""


@frozen
class Settled:
    """All that the checkpoint ``checkpoint_id`` contained for this sink is published; told once for each that
    completed."""

    sink: str
    checkpoint_id: int


@frozen
class Broken:
    """A unit or a commit failed for good."""

    failure: Failure


ToSource = RestoreSource | Plan | Begin | Barrier | Credit | Correction | Halt
ToTask = RestoreTask | Begin | Barrier | SplitSent | SourceEnded | SinkPressure
ToSink = RestoreSink | Prepared | Completed
TaskToSink = CommittableSent | Barrier
ToCoordinator = SourceReady | Acknowledge | Drained | Pressure | Settled | Broken
Message = ToSource | ToTask | ToSink | TaskToSink | ToCoordinator
