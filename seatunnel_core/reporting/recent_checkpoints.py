"""The last checkpoints of a pipeline that this process completed or abandoned; some are not in the storage."""

from collections import deque

from attrs import frozen

from seatunnel_core.checkpoint import commands
from seatunnel_core.clock import wall_clock
from seatunnel_core.stored_fields import Stored

KEPT = 200

COMPLETED, FAILED, CANCELED = "COMPLETED", "FAILED", "CANCELED"


@frozen(kw_only=True)
class RecentCheckpoint(Stored):
    """One checkpoint, as it ended."""

    epoch: int
    checkpoint_id: int
    type: str
    """Value of its ``CheckpointType``; empty for an abandoned one."""

    status: str
    """``COMPLETED``, ``FAILED``, or ``CANCELED`` for one that was not needed any more."""

    ended_at: float
    """Seconds since 1970, for display only."""

    duration_ms: int | None = None
    """From the trigger until it was durable; of one that completed."""

    state_bytes: int | None = None
    reason: str = ""
    """Why it was given up."""


class RecentCheckpoints:
    """Keeps the last ``KEPT``. One thread writes, any may read."""

    def __init__(self) -> None:
        self._epoch = 0
        self._found: deque[RecentCheckpoint] = deque(maxlen=KEPT)

    def epoch_started(self, epoch: int) -> None:
        """Take in of which epoch those are that follow."""
        self._epoch = epoch

    def completed(self, notice: commands.CheckpointCompleted) -> None:
        """Note one that is durable."""
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
        """Note one that was given up."""
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
        """Return them, the oldest first."""
        return tuple(self._found)
