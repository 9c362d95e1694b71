"""What the protocol wants done. The runtime carries a command out and reports the outcome as an event.

Commands are values: the state machines do no I/O, start no thread and read no clock.
"""

import enum
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.failure import Failure
from seatunnel_core.work.retraction import Retraction
from seatunnel_core.work.unit import UnitAttempt
from seatunnel_storage_api.state import CheckpointRef, CheckpointType, PipelineState


@frozen(kw_only=True)
class ClaimEpoch:
    """Claim an epoch of at least ``minimum`` (R4a). Answer: ``EpochClaimed``."""

    minimum: int


@frozen(kw_only=True)
class ListCheckpoints:
    """List the pipeline's checkpoints and its newest epoch marker (R4b). Answer: ``CheckpointsListed``."""


@frozen(kw_only=True)
class LoadCheckpoint:
    """Read one checkpoint. Answer: ``CheckpointLoaded``."""

    ref: CheckpointRef


@frozen(kw_only=True)
class StoreCheckpoint:
    """Store, and look whether the epoch still is the newest (R5). Answer: ``CheckpointStored`` or ``FenceLost``."""

    state: PipelineState
    """The checkpoint as it is stored."""

    content: VertexStates = field(repr=False)
    """What its bytes contain."""


@frozen(kw_only=True)
class SetTimer:
    """Deliver ``TimerFired(key)`` at ``at_ms`` of the events' clock; replaces a timer of the same key."""

    key: str
    at_ms: int


@frozen(kw_only=True)
class CancelTimer:
    key: str


@frozen(kw_only=True)
class PrepareSinks:
    """Raise epoch rows, create staging folders, prove that tasks and driver see the same target; apply the save mode of
    the sinks in ``save_mode_pending``. Answer: ``SinksPrepared``."""

    epoch: int
    save_mode_pending: frozenset[str]


@frozen(kw_only=True)
class Enumerate:
    """Find out what a source holds: from the frozen enumeration ``attachment`` when there is one, else by planning the
    source and freezing the result (R12). Answer: ``Enumerated``."""

    source: str
    attachment: str | None
    total: int | None = None
    """How many splits the source emitted, or was to emit, when it was frozen."""


@frozen(kw_only=True)
class Poll:
    """Find out what an unbounded source has more than it remembers (R12). Answer: ``Found`` or ``PollFailed``."""

    source: str
    memory: Mapping[str, Any] = field(repr=False)
    """What it remembers; empty for the first look."""

    next_index: int
    """The index of the first split that is found."""


@frozen(kw_only=True)
class RunUnit:
    """Run one attempt at a work unit on Spark. Answer: ``UnitFinished`` or ``UnitFailed`` with the attempt's id."""

    task: str
    attempt: UnitAttempt

    restored: bool = False
    """Whether it was in flight in the checkpoint from which the epoch went on: it may have begun before."""


@frozen(kw_only=True)
class CancelUnits:
    """Stop what is running for this pipeline; answers that still come are ignored."""


@frozen(kw_only=True)
class Commit:
    """Publish, in order. Answer: ``CommitSucceeded`` or ``CommitFailed``."""

    sink: str
    committables: tuple[Committable, ...]
    again: bool
    """Whether an earlier attempt, here or in a former process, may already have published them (R8)."""


@frozen(kw_only=True)
class Sweep:
    """Remove staged things that no live checkpoint names (R9). Answer: ``Swept``."""

    epoch: int
    keep: frozenset[str] = field(repr=False)
    """Ids of committables that must stay."""

    final: bool
    """After the last commit: this epoch's own staging goes too."""


@frozen(kw_only=True)
class Retract:
    """Take back what was published after the base (R10). Answer: ``Retracted``."""

    epoch: int
    retractions: Mapping[str, Retraction] = field(repr=False)
    """By sink."""


class Outcome(enum.Enum):
    """How a pipeline ended, in this process."""

    FINISHED = "finished"
    """All rows are committed."""

    STOPPED = "stopped"
    """A person asked; the last checkpoint holds everything."""

    FAILED = "failed"
    """Something broke; the runtime decides whether to restart it."""

    FENCED = "fenced"
    """A newer engine runs this job, or the job was deleted (R5): stop everything, commit nothing."""


@frozen(kw_only=True)
class EndPipeline:
    """The last command: no event changes anything any more."""

    outcome: Outcome
    failure: Failure | None = None


# Notices: nothing has to be done; the runtime logs, counts and shows them.


@frozen(kw_only=True)
class EpochStarted:
    """The restore point is durable: from here on the pipeline exists and can be resumed."""

    epoch: int
    base: CheckpointRef | None
    restored_units: int
    restored_committables: int


@frozen(kw_only=True)
class CheckpointTriggered:
    checkpoint_id: int
    checkpoint_type: CheckpointType


@frozen(kw_only=True)
class CheckpointCompleted:
    checkpoint_id: int
    checkpoint_type: CheckpointType
    acknowledge_ms: int
    """From the trigger until every vertex had recorded its state."""

    store_ms: int
    """From then on until it was durable and no newer engine was seen."""

    state_bytes: int

    @property
    def duration_ms(self) -> int:
        return self.acknowledge_ms + self.store_ms


@frozen(kw_only=True)
class CheckpointPublished:
    """Every sink has published what the completed checkpoint contains."""

    checkpoint_id: int
    commit_ms: int
    """Since it completed."""


class AbortKind(enum.Enum):
    """Why a pending checkpoint was given up."""

    EXPIRED = "expired"
    """It took longer than its timeout."""

    STORAGE = "storage"
    """The storage did not take it."""

    UNWRITABLE = "unwritable"
    """A state holds what cannot be written: a bug of a connector."""

    SUBSUMED = "subsumed"
    """A newer one completed first, and contains more."""

    REPLACED = "replaced"
    """The pipeline stops, and its last checkpoint contains more."""

    ENDED = "ended"
    """The pipeline ended before."""

    @property
    def is_failure(self) -> bool:
        """Whether something went wrong with the checkpoint itself."""
        return self in (AbortKind.EXPIRED, AbortKind.STORAGE, AbortKind.UNWRITABLE)


@frozen(kw_only=True)
class CheckpointAborted:
    checkpoint_id: int
    kind: AbortKind
    reason: str
    """For a person. An expired one names each vertex that had not acknowledged, what it was doing and since when."""


@frozen(kw_only=True)
class SavepointCompleted:
    """It is durable, and names nothing that is staged."""

    name: str
    ref: CheckpointRef


@frozen(kw_only=True)
class SavepointFailed:
    """It will not come; the pipeline itself may be well."""

    name: str
    reason: str


@frozen(kw_only=True)
class RowsCommitted:
    sink: str
    rows: int
    bytes: int
    total_rows: int
    """Of this sink since the pipeline first started, restarts included."""


@frozen(kw_only=True)
class Degraded:
    """The pipeline runs but something does not move; ``reason`` is empty when it is well again."""

    reason: str


Command = (
    ClaimEpoch
    | ListCheckpoints
    | LoadCheckpoint
    | StoreCheckpoint
    | SetTimer
    | CancelTimer
    | PrepareSinks
    | Enumerate
    | Poll
    | RunUnit
    | CancelUnits
    | Commit
    | Sweep
    | Retract
    | EndPipeline
    | EpochStarted
    | CheckpointTriggered
    | CheckpointCompleted
    | CheckpointPublished
    | CheckpointAborted
    | SavepointCompleted
    | SavepointFailed
    | RowsCommitted
    | Degraded
)
