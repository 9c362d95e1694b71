"""Last checkpoints and failures of a pipeline in this process, including checkpoints that are not in the storage."""

from collections import deque
from collections.abc import Iterable

from attrs import frozen

from seatunnel_core.checkpoint import commands
from seatunnel_core.clock import wall_clock
from seatunnel_core.stored_fields import Stored
from seatunnel_core.work.failure import Failure

KEPT = 200

COMPLETED, FAILED, CANCELED = "COMPLETED", "FAILED", "CANCELED"


@frozen(kw_only=True)
class RecentCheckpoint(Stored):
    """A checkpoint that completed or was aborted."""

    epoch: int
    checkpoint_id: int
    type: str
    """Value of the ``CheckpointType``; empty for an aborted checkpoint."""

    status: str
    """``COMPLETED``, ``FAILED``, or ``CANCELED`` for a checkpoint that was no longer needed."""

    ended_at: float
    """End time in seconds since 1970, for display only."""

    duration_ms: int | None = None
    """Time from the trigger until the checkpoint was durable; ``None`` if it was aborted."""

    state_bytes: int | None = None
    reason: str = ""
    """Reason for aborting the checkpoint."""


class RecentCheckpoints:
    """The last ``KEPT`` checkpoints. One thread writes; any thread may read."""

    def __init__(self) -> None:
        self._epoch = 0
        self._found: deque[RecentCheckpoint] = deque(maxlen=KEPT)

    def epoch_started(self, epoch: int) -> None:
        """Set the epoch of the following checkpoints."""
        self._epoch = epoch

    def completed(self, notice: commands.CheckpointCompleted) -> None:
        """Record a completed checkpoint."""
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


KEPT_FAILURES = 10
MOST_SHOWN = 20
"""Maximum number of failures that are shown for a job."""

LONGEST_MESSAGE = 500


@frozen(kw_only=True)
class RecentFailure(Stored):
    """A failure, after which the pipeline may have restarted."""

    pipeline: int
    at: float
    """Time in seconds since 1970, for display only."""

    message: str
    code: str


class RecentFailures:
    """The last ``KEPT_FAILURES`` failures. One thread writes; any thread may read."""

    def __init__(self) -> None:
        self._found: deque[tuple[float, Failure]] = deque(maxlen=KEPT_FAILURES)

    def failed(self, failure: Failure) -> None:
        """Record a failure."""
        self._found.append((wall_clock(), failure))

    def listed(self, pipeline: int) -> tuple[RecentFailure, ...]:
        """Return the failures with the number of their pipeline, oldest first."""
        return tuple(
            RecentFailure(pipeline=pipeline, at=at, message=shortened(failure.message), code=failure.code)
            for at, failure in tuple(self._found)
        )


def shortened(message: str) -> str:
    """Return a message shortened to ``LONGEST_MESSAGE`` characters."""
    return message if len(message) <= LONGEST_MESSAGE else f"{message[: LONGEST_MESSAGE - 1]}…"


def latest(failures: Iterable[RecentFailure]) -> list[RecentFailure]:
    """Return the last ``MOST_SHOWN`` failures of a job's pipelines, oldest first."""
    return sorted(failures, key=lambda each: each.at)[-MOST_SHOWN:]
