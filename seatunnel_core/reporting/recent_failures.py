"""The last failures of a pipeline in this process, which restarted or ended it."""

from collections import deque
from collections.abc import Iterable

from attrs import frozen

from seatunnel_core.clock import wall_clock
from seatunnel_core.stored_fields import Stored
from seatunnel_core.work.failure import Failure

KEPT = 10
MOST_SHOWN = 20
"""Maximum number of failures of a job that are shown."""

LONGEST_MESSAGE = 500


@frozen(kw_only=True)
class RecentFailure(Stored):
    """One failure. The pipeline may have been restarted after it."""

    pipeline: int
    at: float
    """Time in seconds since 1970, for display only."""

    message: str
    code: str


class RecentFailures:
    """The last ``KEPT`` failures. One thread writes, any may read."""

    def __init__(self) -> None:
        self._found: deque[tuple[float, Failure]] = deque(maxlen=KEPT)

    def failed(self, failure: Failure) -> None:
        """Record a failure."""
        self._found.append((wall_clock(), failure))

    def listed(self, pipeline: int) -> tuple[RecentFailure, ...]:
        """Return the failures as those of a pipeline, oldest first."""
        return tuple(
            RecentFailure(pipeline=pipeline, at=at, message=shortened(failure.message), code=failure.code)
            for at, failure in tuple(self._found)
        )


def shortened(message: str) -> str:
    """Return a message with at most ``LONGEST_MESSAGE`` characters."""
    return message if len(message) <= LONGEST_MESSAGE else f"{message[: LONGEST_MESSAGE - 1]}…"


def latest(failures: Iterable[RecentFailure]) -> list[RecentFailure]:
    """Return the last ``MOST_SHOWN`` failures of a job's pipelines, oldest first."""
    return sorted(failures, key=lambda each: each.at)[-MOST_SHOWN:]
