"""Restart delay of a worker process: none if it was ready before it ended, otherwise growing with each failure."""

import logging

logger = logging.getLogger("seatunnel.cluster")

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0


class Restarts:
    """Starts of one worker process. Times are the agent's monotonic seconds."""

    def __init__(self) -> None:
        self._was_ready = True
        self._gone_at: float | None = None
        self._pause_s = 0.0

    def ready(self) -> None:
        """Record that the process is ready."""
        self._was_ready = True

    def started(self) -> None:
        """Record that the process has been started."""
        self._gone_at, self._was_ready = None, False

    def is_due(self, now: float) -> bool:
        """Return True if the ended process must be started now."""
        if self._gone_at is None:
            self._gone_at = now
            self._pause_s = 0.0 if self._was_ready else min(LONGEST_PAUSE_S, max(FIRST_PAUSE_S, 2 * self._pause_s))
            if self._pause_s:
                logger.warning(
                    "the worker process ended before it was ready; restarting it in %.0f s: see "
                    "seatunnel-engine-host.log",
                    self._pause_s,
                )
        return now - self._gone_at >= self._pause_s
