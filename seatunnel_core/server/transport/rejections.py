"""Log of requests that the member port rejects: they belong to another cluster or are signed with another secret."""

import logging
import time
from collections.abc import Callable

logger = logging.getLogger("seatunnel.cluster")

REPORT_S = 60.0
"""Interval between two log entries about the same rejection, in seconds."""

MOST_KNOWN = 1_000

_ROUTINE = ("the request is signed for an earlier process", "the request is not signed with the cluster's secret")
"""Reasons that are not logged, because restarts of other nodes and port scanners cause them routinely."""


class Rejections:
    """Log of rejected requests, with each combination of sender and reason at most once per ``REPORT_S``."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._reported: dict[tuple[str, str], float] = {}

    def report(self, sender: str, reason: str) -> None:
        """Log a rejected request, unless the reason is routine or was logged recently."""
        now = self._clock()
        if reason in _ROUTINE or now - self._reported.get((sender, reason), float("-inf")) < REPORT_S:
            return
        if len(self._reported) >= MOST_KNOWN:
            self._reported.clear()
        self._reported[sender, reason] = now
        logger.warning("a request from %s was rejected: %s", sender or "an unknown address", reason)
