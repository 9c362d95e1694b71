"""Commands and notices of the checkpoint protocol.

The runtime executes a command and reports the outcome as the event that the command specifies. Failures are
``StorageFailed`` for a command to the checkpoint storage and ``ConnectorFailed`` for one to a source or the sinks,
unless the command specifies another event.
"""

import enum
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.fact import Fact
from seatunnel_core.work.failure import Failure
from seatunnel_core.work.retraction import Retraction
from seatunnel_core.work.unit import UnitAttempt
from seatunnel_storage_api.state import CheckpointRef, CheckpointType, PipelineState


@frozen(kw_only=True)
class Command:
    """A command or a notice."""


@frozen(kw_only=True)
class ClaimEpoch(Command):
    """Claim an epoch of at least ``minimum`` (R4a). Answer: ``EpochClaimed``."""

    minimum: int


@frozen(kw_only=True)
class ListCheckpoints(Command):
    """List the pipeline's checkpoints and its newest epoch marker (R4b). Answer: ``CheckpointsListed``."""


@frozen(kw_only=True)
class LoadCheckpoint(Command):
    """Read one checkpoint. Answer: ``CheckpointLoaded`` or ``CheckpointDamaged``."""

    ref: CheckpointRef


@frozen(kw_only=True)
class ListPublished(Command):
    """List the committables that the targets show as published (R10). Answer: ``PublishedListed``."""

    epoch: int


@frozen(kw_only=True)
class StoreCheckpoint(Command):
    """Store a checkpoint, then check that the epoch is the newest (R5). Answer: ``CheckpointStored``, ``FenceLost``."""

    state: PipelineState
    """Encoded checkpoint."""

    content: VertexStates = field(repr=False)
    """Decoded content."""


@frozen(kw_only=True)
class SetTimer(Command):
    """Deliver ``TimerFired(key)`` at ``at_ms`` of the events' clock; replaces an earlier timer with the same key."""

    key: str
    at_ms: int


@frozen(kw_only=True)
class CancelTimer(Command):
    """Cancel the timer with this key."""

    key: str


@frozen(kw_only=True)
class PrepareSinks(Command):
    """Prepare the sinks for the epoch, and apply the pending save modes. Answer: ``SinksPrepared``.

    It raises the epoch rows of databases, creates staging folders, and verifies that tasks and driver access the same
    target.
    """

    epoch: int
    save_mode_pending: frozenset[str]
    """Names of the sinks with save modes that have not been applied yet."""

    prepared_in: Mapping[str, int] = field(factory=dict)
    """Newest epoch that prepared a sink's target, by sink name; absent if none is known."""

    published_to: Mapping[str, Mapping[str, str]] = field(factory=dict)
    """Tables to which a sink has published rows, with their identities, by sink name."""


@frozen(kw_only=True)
class Enumerate(Command):
    """Determine the splits of a source (R12). Answer: ``Enumerated``.

    If ``attachment`` is set, read this frozen enumeration; otherwise plan the source and freeze the result.
    """

    source: str
    attachment: str | None
    total: int | None = None
    """Number of splits of the frozen enumeration; ``None`` if it does not exist yet."""

    memory: Mapping[str, Any] = field(factory=dict, repr=False)
    """Restored cursor of an unbounded source, as JSON values; empty if there is none."""


@frozen(kw_only=True)
class Poll(Command):
    """Request splits of an unbounded source beyond its cursor (R12). Answer: ``Found`` or ``PollFailed``."""

    source: str
    memory: Mapping[str, Any] = field(repr=False)
    """Cursor of the source, as JSON values; empty for the first poll."""

    facts: tuple[Fact, ...] = field(default=(), repr=False)
    """Facts of finished units that the cursor does not contain yet (R17). The cursor of ``Found`` contains them."""

    next_index: int
    """Index of the first split that the poll finds."""


@frozen(kw_only=True)
class RunUnit(Command):
    """Run an attempt of a work unit on Spark. Answer: ``UnitFinished`` or ``UnitFailed``, with its ID."""

    task: str
    attempt: UnitAttempt

    restored: bool = False
    """True if the unit was in flight in the restored checkpoint, so an earlier attempt may have started."""


@frozen(kw_only=True)
class CancelUnits(Command):
    """Cancel the units of this pipeline on Spark; their later events are ignored."""


@frozen(kw_only=True)
class Commit(Command):
    """Publish committables, in order. Answer: ``CommitSucceeded`` or ``CommitFailed``."""

    sink: str
    committables: tuple[Committable, ...]
    may_be_committed: bool
    """True if an earlier attempt, here or in a former process, may already have published them (R8)."""


@frozen(kw_only=True)
class Complete(Command):
    """Publish the output held back until the last row: replacements and deletions (R16). Answer: ``Completed``."""

    epoch: int


@frozen(kw_only=True)
class Sweep(Command):
    """Remove staged data that no live checkpoint refers to (R9). Answer: ``Swept``."""

    epoch: int
    keep: frozenset[str] = field(repr=False)
    """IDs of the committables to keep."""

    final: bool
    """True for the sweep after the last commit, which also removes this epoch's own staged output."""


@frozen(kw_only=True)
class Retract(Command):
    """Roll back the output that was published after the base (R10). Answer: ``Retracted``."""

    epoch: int
    retractions: Mapping[str, Retraction] = field(repr=False)
    """Output that each sink rolls back, by sink."""


class Outcome(enum.Enum):
    """Final state of a pipeline in this process."""

    FINISHED = "finished"
    """All rows are committed."""

    STOPPED = "stopped"
    """Stopped on request; the next start continues from the latest checkpoint."""

    FAILED = "failed"
    """A failure ended the pipeline; the runtime decides whether to restart it."""

    FENCED = "fenced"
    """A newer engine runs this job, or the job was deleted (R5): stop everything, commit nothing."""


@frozen(kw_only=True)
class EndPipeline(Command):
    """End the pipeline in this process. This is the last command: later events change nothing."""

    outcome: Outcome
    failure: Failure | None = None


# Notices require no action; the runtime logs, counts and displays them.


@frozen(kw_only=True)
class EpochStarted(Command):
    """Notice that the restore point is durable: from now on the pipeline exists and can be resumed."""

    epoch: int
    base: CheckpointRef | None
    restored_units: int
    restored_committables: int


@frozen(kw_only=True)
class CheckpointTriggered(Command):
    """Notice that a checkpoint is pending: its barriers were sent."""

    checkpoint_id: int
    checkpoint_type: CheckpointType


@frozen(kw_only=True)
class CheckpointCompleted(Command):
    """Notice that a checkpoint is durable, and that no newer engine was detected afterwards (R5)."""

    checkpoint_id: int
    checkpoint_type: CheckpointType
    acknowledge_ms: int
    """Time from the trigger until every vertex had recorded its state."""

    store_ms: int
    """Time from the last acknowledgement until the checkpoint was durable and the fence check passed."""

    state_bytes: int

    @property
    def duration_ms(self) -> int:
        """Time from the trigger to the completion."""
        return self.acknowledge_ms + self.store_ms


@frozen(kw_only=True)
class CheckpointPublished(Command):
    """Notice that every sink has published the output of a completed checkpoint."""

    checkpoint_id: int
    commit_ms: int
    """Time from the completion until the last sink had published."""


class AbortKind(enum.Enum):
    """Reason for aborting a pending checkpoint."""

    EXPIRED = "expired"
    """The checkpoint exceeded its timeout."""

    STORAGE = "storage"
    """The storage failed to store the checkpoint."""

    UNWRITABLE = "unwritable"
    """A state contains a value that cannot be encoded: a bug of a connector."""

    SUBSUMED = "subsumed"
    """A newer checkpoint, which contains more, completed first."""

    REPLACED = "replaced"
    """The pipeline is stopping, and its last checkpoint contains more."""

    ENDED = "ended"
    """The pipeline ended first."""

    @property
    def is_failure(self) -> bool:
        """True if the abort counts as a failure of the checkpoint."""
        return self in (AbortKind.EXPIRED, AbortKind.STORAGE, AbortKind.UNWRITABLE)


@frozen(kw_only=True)
class CheckpointAborted(Command):
    """Notice that a pending checkpoint was aborted; the next one contains its content."""

    checkpoint_id: int
    kind: AbortKind
    reason: str
    """Reason for display. For an expired checkpoint: each missing vertex, with its current activity and the duration.
    """


@frozen(kw_only=True)
class SavepointCompleted(Command):
    """Notice that a savepoint is durable; it refers to no staged output."""

    name: str
    ref: CheckpointRef


@frozen(kw_only=True)
class SavepointFailed(Command):
    """Notice that a savepoint will not be taken; the pipeline itself may be healthy."""

    name: str
    reason: str


@frozen(kw_only=True)
class RowsCommitted(Command):
    """Notice that a sink has published rows."""

    sink: str
    rows: int
    bytes: int
    total_rows: int
    """Number of rows that this sink has committed since the pipeline first started, restarts included."""


@frozen(kw_only=True)
class Degraded(Command):
    """Notice that the pipeline is degraded; an empty ``reason`` means that it has recovered."""

    reason: str
