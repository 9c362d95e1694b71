"""Commands and notices of the checkpoint protocol.

The runtime carries a command out and reports the outcome as the event that the command names. Failures are
``StorageFailed`` for a command to the checkpoint storage and ``ConnectorFailed`` for one to a source or the sinks,
except where the command names another. Commands are values: the state machines do no I/O, start no thread and read no
clock.
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
    """Read one checkpoint. Answer: ``CheckpointLoaded`` or ``CheckpointDamaged``."""

    ref: CheckpointRef


@frozen(kw_only=True)
class ListPublished:
    """List the committables that the targets themselves show as published, before anything is stored (R10).

    Answer: ``PublishedListed``.
    """

    epoch: int


@frozen(kw_only=True)
class StoreCheckpoint:
    """Store a checkpoint, then check that the epoch is still the newest (R5).

    Answer: ``CheckpointStored`` or ``FenceLost``.
    """

    state: PipelineState
    """The checkpoint as it is stored."""

    content: VertexStates = field(repr=False)
    """The decoded content."""


@frozen(kw_only=True)
class SetTimer:
    """Deliver ``TimerFired(key)`` at ``at_ms`` of the events' clock, in place of an earlier timer of the same key."""

    key: str
    at_ms: int


@frozen(kw_only=True)
class CancelTimer:
    """Cancel the timer of this key."""

    key: str


@frozen(kw_only=True)
class PrepareSinks:
    """Prepare the sinks for the epoch, and apply the save modes that are pending. Answer: ``SinksPrepared``.

    Preparing raises the epoch rows of databases, creates staging folders, and proves that tasks and driver see the same
    target.
    """

    epoch: int
    save_mode_pending: frozenset[str]
    """The names of the sinks with a save mode that has not acted yet."""

    prepared_in: Mapping[str, int] = field(factory=dict)
    """The newest epoch that prepared the target of a sink, by name of the sink; absent if none is known to have."""

    published_to: Mapping[str, Mapping[str, str]] = field(factory=dict)
    """The tables to which a sink has published rows, with their identities, by name of the sink; absent if none."""


@frozen(kw_only=True)
class Enumerate:
    """Find out which splits a source has (R12). Answer: ``Enumerated``.

    If ``attachment`` names a frozen enumeration, read it; otherwise plan the source and freeze the result.
    """

    source: str
    attachment: str | None
    total: int | None = None
    """Number of splits of the frozen enumeration; ``None`` before there is one."""


@frozen(kw_only=True)
class Poll:
    """Ask an unbounded source for splits beyond what it remembers (R12). Answer: ``Found`` or ``PollFailed``."""

    source: str
    memory: Mapping[str, Any] = field(repr=False)
    """The cursor of the source, as JSON values; empty for the first poll."""

    next_index: int
    """The index of the first split that is found."""


@frozen(kw_only=True)
class RunUnit:
    """Run one attempt of a work unit on Spark.

    Answer: ``UnitFinished`` or ``UnitFailed``, with the id of the attempt.
    """

    task: str
    attempt: UnitAttempt

    restored: bool = False
    """True if it was in flight in the restored checkpoint, so that an earlier attempt may have started."""


@frozen(kw_only=True)
class CancelUnits:
    """Cancel what runs on Spark for this pipeline; answers that still come are ignored."""


@frozen(kw_only=True)
class Commit:
    """Publish committables, in order. Answer: ``CommitSucceeded`` or ``CommitFailed``."""

    sink: str
    committables: tuple[Committable, ...]
    may_be_committed: bool
    """True if an earlier attempt, here or in a former process, may already have published them (R8)."""


@frozen(kw_only=True)
class Complete:
    """Publish what waits for the last row: replaced rows, deletions of absent keys (R16). Answer: ``Completed``."""

    epoch: int


@frozen(kw_only=True)
class Sweep:
    """Remove staged data that no live checkpoint names (R9). Answer: ``Swept``."""

    epoch: int
    keep: frozenset[str] = field(repr=False)
    """The ids of the committables that must stay."""

    final: bool
    """True if this follows the last commit, so that this epoch's own staging is removed too."""


@frozen(kw_only=True)
class Retract:
    """Take back what was published after the base (R10). Answer: ``Retracted``."""

    epoch: int
    retractions: Mapping[str, Retraction] = field(repr=False)
    """The output that each sink rolls back, by sink."""


class Outcome(enum.Enum):
    """The end of a pipeline in this process."""

    FINISHED = "finished"
    """All rows are committed."""

    STOPPED = "stopped"
    """It was stopped on request; the next start continues from the latest checkpoint."""

    FAILED = "failed"
    """Something failed; the runtime decides whether to restart the pipeline."""

    FENCED = "fenced"
    """A newer engine runs this job, or the job was deleted (R5): stop everything, commit nothing."""


@frozen(kw_only=True)
class EndPipeline:
    """End the pipeline in this process. This is the last command: later events change nothing."""

    outcome: Outcome
    failure: Failure | None = None


# Notices: nothing has to be done; the runtime logs, counts and shows them.


@frozen(kw_only=True)
class EpochStarted:
    """A notice that the restore point is durable: from here on the pipeline exists and can be resumed."""

    epoch: int
    base: CheckpointRef | None
    restored_units: int
    restored_committables: int


@frozen(kw_only=True)
class CheckpointTriggered:
    """A notice that a checkpoint is pending: its barriers are on their way."""

    checkpoint_id: int
    checkpoint_type: CheckpointType


@frozen(kw_only=True)
class CheckpointCompleted:
    """A notice that a checkpoint is durable, and that no newer engine was seen afterwards (R5)."""

    checkpoint_id: int
    checkpoint_type: CheckpointType
    acknowledge_ms: int
    """From the trigger until every vertex had recorded its state."""

    store_ms: int
    """From then on until it was durable and no newer engine was seen."""

    state_bytes: int

    @property
    def duration_ms(self) -> int:
        """From the trigger to the completion."""
        return self.acknowledge_ms + self.store_ms


@frozen(kw_only=True)
class CheckpointPublished:
    """A notice that every sink has published what the completed checkpoint contains."""

    checkpoint_id: int
    commit_ms: int
    """From the completion until the last sink had published."""


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
        """True if the checkpoint itself failed."""
        return self in (AbortKind.EXPIRED, AbortKind.STORAGE, AbortKind.UNWRITABLE)


@frozen(kw_only=True)
class CheckpointAborted:
    """A notice that a pending checkpoint was given up; what it contained goes into the next one."""

    checkpoint_id: int
    kind: AbortKind
    reason: str
    """In words. Of an expired checkpoint: each vertex that had not acknowledged, what it was doing and for how long."""


@frozen(kw_only=True)
class SavepointCompleted:
    """A notice that a savepoint is durable; it names nothing that is staged."""

    name: str
    ref: CheckpointRef


@frozen(kw_only=True)
class SavepointFailed:
    """A notice that a savepoint will not be taken; the pipeline itself may be well."""

    name: str
    reason: str


@frozen(kw_only=True)
class RowsCommitted:
    """A notice that a sink has published rows."""

    sink: str
    rows: int
    bytes: int
    total_rows: int
    """Total of this sink since the pipeline first started, restarts included."""


@frozen(kw_only=True)
class Degraded:
    """A notice that something holds the pipeline up; an empty ``reason`` means that it is well again."""

    reason: str


Command = (
    ClaimEpoch
    | ListCheckpoints
    | LoadCheckpoint
    | ListPublished
    | StoreCheckpoint
    | SetTimer
    | CancelTimer
    | PrepareSinks
    | Enumerate
    | Poll
    | RunUnit
    | CancelUnits
    | Commit
    | Complete
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
