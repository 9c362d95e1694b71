"""When a host that is gone is started again: at once if it had been ready, and later each time that it had not."""

import logging

logger = logging.getLogger("seatunnel.cluster")

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0


class Restarts:
    """The starts of one host. Times are the agent's monotonic seconds."""

    def __init__(self) -> None:
        self._was_ready = True
        self._gone_at: float | None = None
        self._pause_s = 0.0

    def ready(self) -> None:
        """Take in that the host is warm."""
        self._was_ready = True

    def started(self) -> None:
        """Take in that it was started."""
        self._gone_at, self._was_ready = None, False

    def is_due(self, now: float) -> bool:
        """Return whether the host, which is not there, is to be started now."""
        if self._gone_at is None:
            self._gone_at = now
            self._pause_s = 0.0 if self._was_ready else min(LONGEST_PAUSE_S, max(FIRST_PAUSE_S, 2 * self._pause_s))
            if self._pause_s:
                logger.warning(
                    "the host ended before it could run jobs, and is started again in %.0f s: see "
                    "seatunnel-engine-host.log",
                    self._pause_s,
                )
        return now - self._gone_at >= self._pause_s
