"""Messages between the coordinator and the vertices of one pipeline, inside one process."""

from attrs import field, frozen

from seatunnel_core.checkpoint.state.vertex_id import VertexId
from seatunnel_core.checkpoint.state.vertex_state import SinkState, SourceState, TaskState, VertexState
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.fact import Fact
from seatunnel_core.work.failure import Failure
from seatunnel_core.work.split import Split

# From the coordinator to a source and on to its task, or to a sink.


@frozen
class RestoreSource:
    """To a source: continue from this state."""

    state: SourceState


@frozen
class RestoreTask:
    """To a task: continue from this state in this epoch."""

    state: TaskState
    epoch: int


@frozen
class RestoreSink:
    """To a sink: continue from this state in this epoch."""

    state: SinkState
    epoch: int


@frozen
class Plan:
    """To a source: determine the splits. The source answers with ``SourceReady``."""


@frozen
class Begin:
    """To a source, which forwards it to its task: start emitting splits."""

    to_come_bytes: int = 0
    """Total weight of all splits that the source will emit."""

    to_come_splits: int = 0
    """Total number of splits that the source will emit."""


@frozen
class Barrier:
    """Through every channel: separates this checkpoint's messages from later ones (Chandy and Lamport's marker)."""

    checkpoint_id: int
    last: bool = False
    """True if no split follows the barrier, because the pipeline stops."""


@frozen
class Halt:
    """To a source: stop emitting splits, and end."""


@frozen
class Prepared:
    """To a sink: its target is prepared for the epoch, and its save mode was applied."""


@frozen
class Completed:
    """To a sink: the checkpoint is complete; publish its output. The sink answers with ``Published``."""

    checkpoint_id: int


# Along the channels source -> task -> sink, and back.


@frozen
class SplitSent:
    """From a source to its task: a split to read."""

    split: Split = field(repr=False)


@frozen
class SourceEnded:
    """From a source to its task: no more splits follow, only barriers."""


@frozen
class CommittableSent:
    """From a task to a sink: the output that one work unit staged for it."""

    committable: Committable


@frozen
class Credit:
    """From a task to its source: number of additional splits that it may send (R3)."""

    splits: int


@frozen
class Correction:
    """From a task to its source: difference between the actual size of a unit and the estimate."""

    rows: int
    bytes: int


@frozen
class FactsReported:
    """From a task to its source: facts of forwarded units (R17). The task keeps them until ``FactsAbsorbed``."""

    facts: tuple[Fact, ...] = field(repr=False)


@frozen
class FactsAbsorbed:
    """From a source to its task: the cursor now contains the oldest ``number`` facts."""

    number: int


@frozen
class SinkPressure:
    """From a sink to its tasks: ``full`` is True if the staged output has reached its limit (R1)."""

    sink: str
    full: bool


# To the coordinator.


@frozen
class SourceReady:
    """To the coordinator: a source has been enumerated and has this number of splits."""

    source: str
    splits: int


@frozen
class Acknowledge:
    """To the coordinator: the state that a vertex recorded for a checkpoint."""

    vertex: VertexId
    checkpoint_id: int
    state: VertexState = field(repr=False)


@frozen
class Drained:
    """To the coordinator: the source of a task has ended, and all its results are forwarded."""

    task: str


@frozen
class Pressure:
    """To the coordinator: whether a sink is full, sent when ``full`` or ``uncovered`` changes."""

    sink: str
    full: bool
    uncovered: bool
    """True if the next checkpoint would allow the sink to publish more."""

    reason: str = ""


@frozen
class Published:
    """To the coordinator: a sink has published all its output of a completed checkpoint."""

    sink: str
    checkpoint_id: int


@frozen
class Broken:
    """To the coordinator: a unit, a commit or a poll failed permanently."""

    failure: Failure


ToSource = RestoreSource | Plan | Begin | Barrier | Credit | Correction | FactsReported | Halt
ToTask = RestoreTask | Begin | Barrier | SplitSent | FactsAbsorbed | SourceEnded | SinkPressure
ToSink = RestoreSink | Prepared | Completed
TaskToSink = CommittableSent | Barrier
ToCoordinator = SourceReady | Acknowledge | Drained | Pressure | Published | Broken
Message = ToSource | ToTask | ToSink | TaskToSink | ToCoordinator
