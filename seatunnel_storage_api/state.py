"""The values that cross the storage interface."""

import enum

from attrs import field, frozen


class CheckpointType(enum.Enum):
    """Why a checkpoint was taken. The value is the word in its file name."""

    CHECKPOINT = "checkpoint"
    """Taken at the interval, or on request."""

    SAVEPOINT = "savepoint"
    """Requested by a user; never pruned."""

    RESTORE_POINT = "restore-point"
    """The first of an epoch: the state from which the pipeline started."""

    COMPLETED_POINT = "completed-point"
    """The final one of a bounded pipeline; the newest one is never pruned."""

    SCHEMA_CHANGE_BEFORE = "schema-change-before"
    SCHEMA_CHANGE_AFTER = "schema-change-after"


@frozen(order=True)
class CheckpointRef:
    """Names a checkpoint within its pipeline. Sorts as "latest" does: by epoch, then by id."""

    epoch: int
    checkpoint_id: int

    def __str__(self) -> str:
        return f"{self.epoch}-{self.checkpoint_id}"


@frozen(kw_only=True)
class PipelineState:
    """One checkpoint of one pipeline."""

    job_id: str
    pipeline_id: int
    epoch: int
    checkpoint_id: int
    checkpoint_type: CheckpointType
    states: bytes = field(repr=False)
    """The state of every vertex, opaque to the storage."""

    base: CheckpointRef | None = None
    """The checkpoint from which this one's epoch started; ``None`` for a pipeline that had never run."""

    @property
    def ref(self) -> CheckpointRef:
        """The epoch and id."""
        return CheckpointRef(self.epoch, self.checkpoint_id)


@frozen(kw_only=True)
class CheckpointInfo:
    """Metadata of a checkpoint in a listing, without reading it."""

    job_id: str
    pipeline_id: int
    epoch: int
    checkpoint_id: int
    checkpoint_type: CheckpointType
    base: CheckpointRef | None
    size_bytes: int
    """Size of the stored object, header included."""

    stored_at: float | None
    """Seconds since 1970 by the storage's clock; for display only, never for decisions."""

    @property
    def ref(self) -> CheckpointRef:
        """The epoch and id."""
        return CheckpointRef(self.epoch, self.checkpoint_id)


@frozen(kw_only=True)
class PipelineListing:
    """The result of one listing of a pipeline's folder."""

    checkpoints: tuple[CheckpointInfo, ...] = ()
    """All that exist, orphaned ones included, sorted by (epoch, id): the last one is the latest."""

    epochs: tuple[int, ...] = ()
    """The epoch markers that exist, sorted. Markers of fenced engines are removed in time."""

    @property
    def newest_epoch(self) -> int | None:
        """The largest marker; ``None`` if the pipeline was never claimed."""
        return self.epochs[-1] if self.epochs else None

    @property
    def highest_epoch(self) -> int:
        """The largest epoch of any marker or checkpoint; 0 if there is none."""
        return max([0, *self.epochs, *(info.epoch for info in self.checkpoints)])


@frozen(kw_only=True)
class Manifest:
    """One version of a job's manifest."""

    version: int
    """From 1; the largest one is the job's."""

    body: bytes = field(repr=False)
    """Opaque to the storage."""
