"""Values that are passed through the storage interface."""

import enum

from attrs import field, frozen


class CheckpointType(enum.Enum):
    """Reason for taking a checkpoint. The value is the word in the checkpoint's file name."""

    CHECKPOINT = "checkpoint"
    """Taken at the interval, or on request."""

    SAVEPOINT = "savepoint"
    """Requested by a user; never expires."""

    RESTORE_POINT = "restore-point"
    """First checkpoint of an epoch: the state from which the pipeline started."""

    COMPLETED_POINT = "completed-point"
    """Final checkpoint of a bounded pipeline; the newest one never expires."""

    SCHEMA_CHANGE_BEFORE = "schema-change-before"
    SCHEMA_CHANGE_AFTER = "schema-change-after"


@frozen(order=True)
class CheckpointRef:
    """Identity of a checkpoint within its pipeline. Sorted by epoch, then by ID; the largest is the latest."""

    epoch: int
    checkpoint_id: int

    def __str__(self) -> str:
        return f"{self.epoch}-{self.checkpoint_id}"


@frozen(kw_only=True)
class PipelineState:
    """Checkpoint of a pipeline."""

    job_id: str
    pipeline_id: int
    epoch: int
    checkpoint_id: int
    checkpoint_type: CheckpointType
    states: bytes = field(repr=False)
    """State of every vertex, opaque to the storage."""

    base: CheckpointRef | None = None
    """Checkpoint from which this one's epoch started; ``None`` for a pipeline that had never run."""

    @property
    def ref(self) -> CheckpointRef:
        """Epoch and ID of the checkpoint."""
        return CheckpointRef(self.epoch, self.checkpoint_id)


@frozen(kw_only=True)
class CheckpointInfo:
    """Metadata of a listed checkpoint, obtained without reading it."""

    job_id: str
    pipeline_id: int
    epoch: int
    checkpoint_id: int
    checkpoint_type: CheckpointType
    base: CheckpointRef | None
    size_bytes: int
    """Size of the stored object, including its header."""

    stored_at: float | None
    """Time in seconds since 1970 by the storage's clock; for display only, never for decisions."""

    @property
    def ref(self) -> CheckpointRef:
        """Epoch and ID of the checkpoint."""
        return CheckpointRef(self.epoch, self.checkpoint_id)


@frozen(kw_only=True)
class PipelineListing:
    """Result of listing a pipeline's folder once."""

    checkpoints: tuple[CheckpointInfo, ...] = ()
    """All existing checkpoints, including orphaned ones, sorted by (epoch, ID): the last one is the latest."""

    epochs: tuple[int, ...] = ()
    """Existing epoch markers, sorted. Markers of fenced engines are removed later."""

    @property
    def newest_epoch(self) -> int | None:
        """Largest epoch with a marker; ``None`` if the pipeline was never claimed."""
        return self.epochs[-1] if self.epochs else None

    @property
    def highest_epoch(self) -> int:
        """Largest epoch of any marker or checkpoint; 0 if there is none."""
        return max([0, *self.epochs, *(info.epoch for info in self.checkpoints)])


@frozen(kw_only=True)
class Manifest:
    """One version of a job's manifest."""

    version: int
    """Version number, from 1. The largest version is valid."""

    body: bytes = field(repr=False)
    """Content, opaque to the storage."""
