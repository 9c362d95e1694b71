"""The last checkpoints of a pipeline that this process completed or aborted; some are not in the storage."""

from collections import deque

from attrs import frozen

from seatunnel_core.checkpoint import commands
from seatunnel_core.clock import wall_clock
from seatunnel_core.stored_fields import Stored

KEPT = 200

COMPLETED, FAILED, CANCELED = "COMPLETED", "FAILED", "CANCELED"


@frozen(kw_only=True)
class RecentCheckpoint(Stored):
    """A checkpoint that completed or was aborted."""

    epoch: int
    checkpoint_id: int
    type: str
    """Value of its ``CheckpointType``; empty for an aborted one."""

    status: str
    """``COMPLETED``, ``FAILED``, or ``CANCELED`` for one that was no longer needed."""

    ended_at: float
    """Time of its end in seconds since 1970, for display only."""

    duration_ms: int | None = None
    """Time from the trigger until it was durable; ``None`` unless it completed."""

    state_bytes: int | None = None
    reason: str = ""
    """Reason for aborting it."""


class RecentCheckpoints:
    """The last ``KEPT`` checkpoints. One thread writes, any may read."""

    def __init__(self) -> None:
        self._epoch = 0
        self._found: deque[RecentCheckpoint] = deque(maxlen=KEPT)

    def epoch_started(self, epoch: int) -> None:
        """Set the epoch of the following checkpoints."""
        self._epoch = epoch

    def completed(self, notice: commands.CheckpointCompleted) -> None:
        """Record a durable checkpoint."""
        self._found.append(
            RecentCheckpoint(
                epoch=self._epoch,
                checkpoint_id=notice.checkpoint_id,
                type=notice.checkpoint_type.value,
                status=COMPLETED,
                ended_at=wall_clock(),
                duration_ms=notice.duration_ms,
                state_bytes=notice.state_bytes,
            )
        )

    def aborted(self, notice: commands.CheckpointAborted) -> None:
        """Record an aborted checkpoint."""
        self._found.append(
            RecentCheckpoint(
                epoch=self._epoch,
                checkpoint_id=notice.checkpoint_id,
                type="",
                status=FAILED if notice.kind.is_failure else CANCELED,
                ended_at=wall_clock(),
                reason=notice.reason,
            )
        )

    def listed(self) -> tuple[RecentCheckpoint, ...]:
        """Return the checkpoints, oldest first."""
        return tuple(self._found)
