"""Events that the runtime reports to the protocol, each with its time."""

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from seatunnel_core.work.committable import Committable
from seatunnel_core.work.fact import Fact
from seatunnel_core.work.failure import Failure
from seatunnel_core.work.split import Split
from seatunnel_core.work.unit import AttemptId
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef, CheckpointType, PipelineState


@frozen(kw_only=True)
class Event:
    """Base class of events."""

    now_ms: int


@frozen(kw_only=True)
class Started(Event):
    """First event of every start and restart of the pipeline."""


@frozen(kw_only=True)
class EpochClaimed(Event):
    """The marker of the new epoch is stored (R4a)."""

    epoch: int


@frozen(kw_only=True)
class CheckpointsListed(Event):
    """Stored checkpoints of the pipeline, and the largest epoch with a marker (R4b)."""

    checkpoints: tuple[CheckpointInfo, ...]
    newest_epoch: int | None


@frozen(kw_only=True)
class CheckpointLoaded(Event):
    """The requested checkpoint was read; its state is still encoded."""

    state: PipelineState


@frozen(kw_only=True)
class CheckpointDamaged(Event):
    """The requested checkpoint cannot be read; ``intact`` is the newest readable one."""

    ref: CheckpointRef
    intact: CheckpointRef | None
    message: str


@frozen(kw_only=True)
class PublishedListed(Event):
    """Output that is published according to the targets (R10)."""

    published: Mapping[str, frozenset[str]] = field(repr=False)
    """IDs of committables of this pipeline, by sink; empty for a target that does not record them."""


@frozen(kw_only=True)
class CheckpointStored(Event):
    """A checkpoint is durable, and no newer engine was found after it was stored (R5)."""

    ref: CheckpointRef


@frozen(kw_only=True)
class FenceLost(Event):
    """A newer epoch has a marker, or the marker of this epoch was removed (R5): another engine runs the job."""

    message: str


@frozen(kw_only=True)
class StorageFailed(Event):
    """A storage command failed; ``ref`` is the checkpoint to be stored, if any."""

    failure: Failure
    ref: CheckpointRef | None = None


@frozen(kw_only=True)
class TimerFired(Event):
    """The timer with this key is due."""

    key: str


@frozen(kw_only=True)
class SinksPrepared(Event):
    """All sinks are prepared for the epoch, and pending save modes are applied."""


@frozen(kw_only=True)
class Enumerated(Event):
    """The splits of a source are determined and stored (R12)."""

    source: str
    splits: tuple[Split, ...] = field(repr=False)
    attachment: str
    """Name of the stored enumeration, for a later ``Enumerate``."""


@frozen(kw_only=True)
class Found(Event):
    """A poll of an unbounded source succeeded; it may have found no splits."""

    source: str
    splits: tuple[Split, ...] = field(repr=False)
    """New splits, numbered from the requested index."""

    memory: Mapping[str, Any] = field(repr=False)
    """New cursor of the source, as JSON values."""

    again_ms: int | None
    """Delay before the next poll, in milliseconds; ``None`` if the source has ended."""


@frozen(kw_only=True)
class PollFailed(Event):
    """A poll of an unbounded source failed."""

    source: str
    failure: Failure


@frozen(kw_only=True)
class UnitFinished(Event):
    """An attempt of a work unit has read its splits and staged the rows."""

    task: str
    attempt: AttemptId
    rows_read: int
    bytes_read: int
    rows_skipped: int
    committables: dict[str, Committable]
    """Staged output of the unit by sink; a sink that received no rows may be absent."""

    facts: tuple[Fact, ...] = field(default=(), repr=False)
    """Facts that the split readers reported to the source, in order (R17)."""


@frozen(kw_only=True)
class UnitFailed(Event):
    """An attempt of a work unit failed."""

    task: str
    attempt: AttemptId
    failure: Failure
    reading: str = ""
    """Description of the unit's input: files and positions."""


@frozen(kw_only=True)
class CommitSucceeded(Event):
    """A sink has published the committables of a commit; ``ids`` are their IDs in order."""

    sink: str
    ids: tuple[str, ...]


@frozen(kw_only=True)
class CommitFailed(Event):
    """A commit failed after publishing ``committed``. The other committables may also have been published."""

    sink: str
    committed: tuple[str, ...]
    failure: Failure


@frozen(kw_only=True)
class Completed(Event):
    """Every sink has published the output that it held back until the last row (R16)."""


@frozen(kw_only=True)
class Swept(Event):
    """A sweep has removed unused staged output (R9)."""

    removed: int
    """Number of staged outputs removed."""


@frozen(kw_only=True)
class Retracted(Event):
    """The output that was published after the restored checkpoint is rolled back (R10)."""

    removed: int
    """Number of published outputs removed by this attempt."""


@frozen(kw_only=True)
class ConnectorFailed(Event):
    """A connector call in the driver, such as prepare, enumerate, complete or sweep, failed permanently."""

    failure: Failure


@frozen(kw_only=True)
class TriggerRequested(Event):
    """Request for a checkpoint before the interval has passed."""

    checkpoint_type: CheckpointType


@frozen(kw_only=True)
class SavepointRequested(Event):
    """Request for a savepoint with the next checkpoint. Notices: ``SavepointCompleted``, ``SavepointFailed``."""

    name: str
    stop: bool = False
    """True to end the pipeline as ``STOPPED`` once the savepoint is stored."""

    drain: bool = False
    """True to process and publish all emitted splits first, and then end the pipeline as with ``stop``."""


@frozen(kw_only=True)
class StopRequested(Event):
    """Request for a clean stop: a final checkpoint with the units in flight, then ``EndPipeline(STOPPED)``."""
