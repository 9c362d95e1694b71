"""What happened outside the protocol, told to it. Every event carries the time, so that no machine reads a clock."""

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
    now_ms: int
    epoch: int


@frozen(kw_only=True)
class CheckpointsListed:
    now_ms: int
    checkpoints: tuple[CheckpointInfo, ...]
    newest_epoch: int | None


@frozen(kw_only=True)
class CheckpointLoaded:
    now_ms: int
    state: PipelineState


@frozen(kw_only=True)
class CheckpointDamaged:
    """The checkpoint that was asked for cannot be read; ``intact`` is the newest one that can."""

    now_ms: int
    ref: CheckpointRef
    intact: CheckpointRef | None
    message: str


@frozen(kw_only=True)
class CheckpointStored:
    """Durable, and the fence check passed."""

    now_ms: int
    ref: CheckpointRef


@frozen(kw_only=True)
class FenceLost:
    """A newer epoch's marker is there, or our own is gone."""

    now_ms: int
    message: str


@frozen(kw_only=True)
class StorageFailed:
    """A storage command could not be carried out; ``ref`` says which store, when it was one."""

    now_ms: int
    failure: Failure
    ref: CheckpointRef | None = None


@frozen(kw_only=True)
class TimerFired:
    now_ms: int
    key: str


@frozen(kw_only=True)
class SinksPrepared:
    now_ms: int


@frozen(kw_only=True)
class Enumerated:
    now_ms: int
    source: str
    splits: tuple[Split, ...] = field(repr=False)
    attachment: str
    """Where the frozen enumeration lies: the name that a later ``Enumerate`` gets."""


@frozen(kw_only=True)
class Found:
    """What an unbounded source had more than it remembered, perhaps nothing."""

    now_ms: int
    source: str
    splits: tuple[Split, ...] = field(repr=False)
    """Numbered from the index that was asked for."""

    memory: Mapping[str, Any] = field(repr=False)
    """What it has to remember from now on."""

    again_ms: int | None
    """After how long it is worth looking again; ``None`` when nothing more will ever come."""


@frozen(kw_only=True)
class PollFailed:
    now_ms: int
    source: str
    failure: Failure


@frozen(kw_only=True)
class UnitFinished:
    now_ms: int
    task: str
    attempt: AttemptId
    rows_read: int
    bytes_read: int
    rows_skipped: int
    committables: dict[str, Committable]
    """By sink; a sink that got no row from the unit may be absent."""


@frozen(kw_only=True)
class UnitFailed:
    now_ms: int
    task: str
    attempt: AttemptId
    failure: Failure
    reading: str = ""
    """What the unit reads, for a person: files and where in them."""


@frozen(kw_only=True)
class CommitSucceeded:
    now_ms: int
    sink: str
    ids: tuple[str, ...]


@frozen(kw_only=True)
class CommitFailed:
    """``committed`` were published before the failure; the rest may or may not be."""

    now_ms: int
    sink: str
    committed: tuple[str, ...]
    failure: Failure


@frozen(kw_only=True)
class Swept:
    now_ms: int
    removed: int


@frozen(kw_only=True)
class Retracted:
    now_ms: int
    removed: int
    """Published things that are gone now; those that an earlier attempt took back do not count."""


@frozen(kw_only=True)
class PlaceFailed:
    """Preparing, sweeping, retracting or enumerating failed for good."""

    now_ms: int
    failure: Failure


@frozen(kw_only=True)
class TriggerRequested:
    now_ms: int
    checkpoint_type: CheckpointType


@frozen(kw_only=True)
class SavepointRequested:
    """A savepoint, with the next checkpoint that is triggered. Notices: ``SavepointCompleted``, ``SavepointFailed``."""

    now_ms: int
    name: str
    stop: bool = False
    """Nothing follows its barrier: the pipeline ends as ``STOPPED`` when the savepoint is stored."""

    drain: bool = False
    """Like ``stop``, but what the sources have emitted is finished and published first."""


@frozen(kw_only=True)
class StopRequested:
    """A clean stop: a last checkpoint, then ``EndPipeline(STOPPED)``. Units in flight stay channel state."""

    now_ms: int


Event = (
    Started
    | EpochClaimed
    | CheckpointsListed
    | CheckpointLoaded
    | CheckpointDamaged
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
    | Swept
    | Retracted
    | PlaceFailed
    | TriggerRequested
    | SavepointRequested
    | StopRequested
)
