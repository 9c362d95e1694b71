"""Commands and notices of the checkpoint protocol.

The runtime executes a command and reports the result as the event listed under *Answer*. If the command fails, it
reports ``StorageFailed`` for the checkpoint storage and ``ConnectorFailed`` for a source or a sink, unless the command
lists another event.
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
    """Base class of commands and notices."""


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
    """List the committables that are published according to the targets (R10). Answer: ``PublishedListed``."""

    epoch: int


@frozen(kw_only=True)
class StoreCheckpoint(Command):
    """Store a checkpoint, then check that the epoch is newest (R5). Answer: ``CheckpointStored`` or ``FenceLost``."""

    state: PipelineState
    """Encoded checkpoint."""

    content: VertexStates = field(repr=False)
    """The checkpoint before encoding."""


@frozen(kw_only=True)
class SetTimer(Command):
    """Deliver ``TimerFired(key)`` at ``at_ms`` on the events' clock, replacing any timer with the same key."""

    key: str
    at_ms: int


@frozen(kw_only=True)
class CancelTimer(Command):
    """Cancel the timer with this key."""

    key: str


@frozen(kw_only=True)
class PrepareSinks(Command):
    """Prepare the sinks for the epoch and apply pending save modes. Answer: ``SinksPrepared``.

    Preparing writes the epoch to target databases, creates staging folders, and verifies that tasks and the driver
    access the same target.
    """

    epoch: int
    save_mode_pending: frozenset[str]
    """Names of the sinks with a save mode that has not been applied yet."""

    prepared_in: Mapping[str, int] = field(factory=dict)
    """Newest epoch in which a sink prepared its target, keyed by sink name. Sinks with an unknown epoch are omitted."""

    published_to: Mapping[str, Mapping[str, str]] = field(factory=dict)
    """Tables to which a sink has published rows, with their identities, keyed by sink name."""


@frozen(kw_only=True)
class Enumerate(Command):
    """Determine the splits of a source (R12). Answer: ``Enumerated``.

    If ``attachment`` is set, the stored enumeration of this name is read; otherwise the source is planned and the
    enumeration is stored.
    """

    source: str
    attachment: str | None
    total: int | None = None
    """Number of splits of the stored enumeration; ``None`` before it exists."""

    memory: Mapping[str, Any] = field(factory=dict, repr=False)
    """Restored cursor of an unbounded source, as JSON values; empty if there is none."""


@frozen(kw_only=True)
class Poll(Command):
    """Request splits of an unbounded source beyond its cursor (R12). Answer: ``Found`` or ``PollFailed``."""

    source: str
    memory: Mapping[str, Any] = field(repr=False)
    """Cursor of the source, as JSON values; empty for the first poll."""

    facts: tuple[Fact, ...] = field(default=(), repr=False)
    """Facts reported by readers that the cursor does not contain yet (R17). The cursor in ``Found`` contains them."""

    next_index: int
    """Index for the first split that the poll finds."""


@frozen(kw_only=True)
class RunUnit(Command):
    """Run one attempt of a work unit on Spark. Answer: ``UnitFinished`` or ``UnitFailed`` of the same attempt."""

    task: str
    attempt: UnitAttempt

    restored: bool = False
    """True if the unit was in flight in the restored checkpoint, so an earlier attempt may have started."""


@frozen(kw_only=True)
class CancelUnits(Command):
    """Cancel all units of this pipeline on Spark. Their later events are ignored."""


@frozen(kw_only=True)
class Commit(Command):
    """Publish committables in order. Answer: ``CommitSucceeded`` or ``CommitFailed``."""

    sink: str
    committables: tuple[Committable, ...]
    may_be_committed: bool
    """True if an earlier attempt, possibly in an earlier process, may have published the committables (R8)."""


@frozen(kw_only=True)
class Complete(Command):
    """Publish the output that sinks hold back until the last row, such as deletions (R16). Answer: ``Completed``."""

    epoch: int


@frozen(kw_only=True)
class Sweep(Command):
    """Remove staged output that no live checkpoint refers to (R9). Answer: ``Swept``."""

    epoch: int
    keep: frozenset[str] = field(repr=False)
    """IDs of the committables to keep."""

    final: bool
    """True for the sweep after the last commit, which also removes output staged in this epoch."""


@frozen(kw_only=True)
class Retract(Command):
    """Roll back output that was published after the restored checkpoint (R10). Answer: ``Retracted``."""

    epoch: int
    retractions: Mapping[str, Retraction] = field(repr=False)
    """Output to roll back, by sink."""


class Outcome(enum.Enum):
    """Final state of a pipeline in this process."""

    FINISHED = "finished"
    """All rows are committed."""

    STOPPED = "stopped"
    """Stopped on request; the next start resumes from the latest checkpoint."""

    FAILED = "failed"
    """Failed; the runtime decides whether to restart the pipeline."""

    FENCED = "fenced"
    """Another engine runs this job, or the job was deleted (R5): the process must stop without committing anything."""


@frozen(kw_only=True)
class EndPipeline(Command):
    """End the pipeline in this process. This is the last command: later events have no effect."""

    outcome: Outcome
    failure: Failure | None = None


# Notices require no action; the runtime logs, counts and displays them.


@frozen(kw_only=True)
class EpochStarted(Command):
    """Notice that the restore point, the first checkpoint of the epoch, is durable: the pipeline can be resumed."""

    epoch: int
    base: CheckpointRef | None
    restored_units: int
    restored_committables: int


@frozen(kw_only=True)
class CheckpointTriggered(Command):
    """Notice that barriers for a checkpoint were sent."""

    checkpoint_id: int
    checkpoint_type: CheckpointType


@frozen(kw_only=True)
class CheckpointCompleted(Command):
    """Notice that a checkpoint is durable and that no newer engine was found after it was stored (R5)."""

    checkpoint_id: int
    checkpoint_type: CheckpointType
    acknowledge_ms: int
    """Time from the trigger until every vertex had acknowledged the barrier."""

    store_ms: int
    """Time from the last acknowledgement until the checkpoint was durable and the check for newer engines passed."""

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
    """Time from the completion of the checkpoint until the last sink had published its output."""


class AbortKind(enum.Enum):
    """Reason for aborting a pending checkpoint."""

    EXPIRED = "expired"
    """The checkpoint exceeded its timeout."""

    STORAGE = "storage"
    """The storage failed to store the checkpoint."""

    UNWRITABLE = "unwritable"
    """A state contains a value that cannot be encoded, because of a bug in a connector."""

    SUBSUMED = "subsumed"
    """A newer checkpoint, which includes this one, completed first."""

    REPLACED = "replaced"
    """The pipeline is stopping and takes a final checkpoint instead."""

    ENDED = "ended"
    """The pipeline ended before the checkpoint completed."""

    @property
    def is_failure(self) -> bool:
        """True if the abort counts as a failure of the checkpoint."""
        return self in (AbortKind.EXPIRED, AbortKind.STORAGE, AbortKind.UNWRITABLE)


@frozen(kw_only=True)
class CheckpointAborted(Command):
    """Notice that a pending checkpoint was aborted. The next checkpoint includes its content."""

    checkpoint_id: int
    kind: AbortKind
    reason: str
    """Reason for display; for an expired checkpoint, each vertex that has not acknowledged and its current activity."""


@frozen(kw_only=True)
class SavepointCompleted(Command):
    """Notice that a savepoint is durable; it does not refer to staged output."""

    name: str
    ref: CheckpointRef


@frozen(kw_only=True)
class SavepointFailed(Command):
    """Notice that a savepoint could not be taken. The pipeline itself may be healthy."""

    name: str
    reason: str


@frozen(kw_only=True)
class RowsCommitted(Command):
    """Notice that a sink has published rows."""

    sink: str
    rows: int
    bytes: int
    total_rows: int
    """Number of rows that this sink has committed since the first start of the pipeline, in all processes."""


@frozen(kw_only=True)
class Degraded(Command):
    """Notice that the pipeline is degraded, or has recovered if ``reason`` is empty."""

    reason: str
