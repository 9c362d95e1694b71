"""Events outside of the protocol, as the runtime reports them.

Every event carries its time in ``now_ms``, so that no state machine reads a clock.
"""

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from seatunnel_core.work.committable import Committable
from seatunnel_core.work.failure import Failure
from seatunnel_core.work.split import Split
from seatunnel_core.work.unit import AttemptId
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef, CheckpointType, PipelineState


@frozen(kw_only=True)
class Started:
    """The first event of every start and restart of the pipeline."""

    now_ms: int


@frozen(kw_only=True)
class EpochClaimed:
    """The marker of a new epoch is stored (R4a)."""

    now_ms: int
    epoch: int


@frozen(kw_only=True)
class CheckpointsListed:
    """The stored checkpoints of the pipeline, and the largest epoch that has a marker (R4b)."""

    now_ms: int
    checkpoints: tuple[CheckpointInfo, ...]
    newest_epoch: int | None


@frozen(kw_only=True)
class CheckpointLoaded:
    """The requested checkpoint, with its state in bytes."""

    now_ms: int
    state: PipelineState


@frozen(kw_only=True)
class CheckpointDamaged:
    """The requested checkpoint cannot be read; ``intact`` is the newest readable one."""

    now_ms: int
    ref: CheckpointRef
    intact: CheckpointRef | None
    message: str


@frozen(kw_only=True)
class PublishedListed:
    """The output that the targets show as published (R10)."""

    now_ms: int
    published: Mapping[str, frozenset[str]] = field(repr=False)
    """IDs of committables of this pipeline, by sink; empty for a target without records of them."""


@frozen(kw_only=True)
class CheckpointStored:
    """A checkpoint is durable, and the fence check passed (R5)."""

    now_ms: int
    ref: CheckpointRef


@frozen(kw_only=True)
class FenceLost:
    """A newer epoch's marker exists, or the marker of this epoch was removed (R5)."""

    now_ms: int
    message: str


@frozen(kw_only=True)
class StorageFailed:
    """A storage command failed; ``ref`` is the checkpoint if one was to be stored."""

    now_ms: int
    failure: Failure
    ref: CheckpointRef | None = None


@frozen(kw_only=True)
class TimerFired:
    """The timer of this key is due."""

    now_ms: int
    key: str


@frozen(kw_only=True)
class SinksPrepared:
    """The sinks know the epoch, and the pending save modes are applied."""

    now_ms: int


@frozen(kw_only=True)
class Enumerated:
    """The splits of a source are known and frozen (R12)."""

    now_ms: int
    source: str
    splits: tuple[Split, ...] = field(repr=False)
    attachment: str
    """Name of the frozen enumeration, for a later ``Enumerate``."""


@frozen(kw_only=True)
class Found:
    """The splits that a poll found beyond the cursor of the source; possibly none."""

    now_ms: int
    source: str
    splits: tuple[Split, ...] = field(repr=False)
    """New splits, numbered from the requested index."""

    memory: Mapping[str, Any] = field(repr=False)
    """New cursor of the source, as JSON values."""

    again_ms: int | None
    """Delay before the next poll; ``None`` if the source has ended."""


@frozen(kw_only=True)
class PollFailed:
    """A poll of an unbounded source failed."""

    now_ms: int
    source: str
    failure: Failure


@frozen(kw_only=True)
class UnitFinished:
    """An attempt of a work unit has read its splits and staged the result."""

    now_ms: int
    task: str
    attempt: AttemptId
    rows_read: int
    bytes_read: int
    rows_skipped: int
    committables: dict[str, Committable]
    """Staged output of the unit, by sink; a sink that received no row from it may be absent."""


@frozen(kw_only=True)
class UnitFailed:
    """An attempt of a work unit failed."""

    now_ms: int
    task: str
    attempt: AttemptId
    failure: Failure
    reading: str = ""
    """Input of the unit, in words: files and positions in them."""


@frozen(kw_only=True)
class CommitSucceeded:
    """A sink has published the committables of a commit; ``ids`` contains their IDs in order."""

    now_ms: int
    sink: str
    ids: tuple[str, ...]


@frozen(kw_only=True)
class CommitFailed:
    """A commit failed after publishing ``committed``; the others may or may not be published."""

    now_ms: int
    sink: str
    committed: tuple[str, ...]
    failure: Failure


@frozen(kw_only=True)
class Completed:
    """Every sink has published its output held back until the last row (R16)."""

    now_ms: int


@frozen(kw_only=True)
class Swept:
    """A sweep is done."""

    now_ms: int
    removed: int
    """Number of staged outputs removed."""


@frozen(kw_only=True)
class Retracted:
    """The output that was published after the base is rolled back (R10)."""

    now_ms: int
    removed: int
    """Number of published outputs removed; those that an earlier attempt rolled back do not count."""


@frozen(kw_only=True)
class ConnectorFailed:
    """Listing published output, preparing, completing, sweeping, rolling back or enumerating failed permanently."""

    now_ms: int
    failure: Failure


@frozen(kw_only=True)
class TriggerRequested:
    """A request for a checkpoint before the interval is over."""

    now_ms: int
    checkpoint_type: CheckpointType


@frozen(kw_only=True)
class SavepointRequested:
    """A request for a savepoint, to be taken with the next checkpoint.

    Notices: ``SavepointCompleted``, ``SavepointFailed``.
    """

    now_ms: int
    name: str
    stop: bool = False
    """True if nothing follows its barrier: the pipeline ends as ``STOPPED`` when the savepoint is stored."""

    drain: bool = False
    """True if the pipeline ends as by ``stop``, but first finishes and publishes what the sources have emitted."""


@frozen(kw_only=True)
class StopRequested:
    """A request for a clean stop: a last checkpoint, then ``EndPipeline(STOPPED)``.

    Units in flight stay channel state.
    """

    now_ms: int


Event = (
    Started
    | EpochClaimed
    | CheckpointsListed
    | CheckpointLoaded
    | CheckpointDamaged
    | PublishedListed
    | CheckpointStored
    | FenceLost
    | StorageFailed
    | TimerFired
    | SinksPrepared
    | Enumerated
    | Found
    | PollFailed
    | UnitFinished
    | UnitFailed
    | CommitSucceeded
    | CommitFailed
    | Completed
    | Swept
    | Retracted
    | ConnectorFailed
    | TriggerRequested
    | SavepointRequested
    | StopRequested
)
