"""Polling of an unbounded source, and its cursor from one poll to the next."""

from collections.abc import Callable, Mapping
from typing import Any

from seatunnel_core.checkpoint.commands import Poll
from seatunnel_core.checkpoint.events import Found
from seatunnel_core.checkpoint.vertices.limits import Limits
from seatunnel_core.checkpoint.vertices.wiring import Wiring


class Polling:
    """The polls of one unbounded source: one at a time, with pauses in between.

    A retryable failure of a poll is retried without limit.
    """

    def __init__(self, source: str, limits: Limits, wiring: Wiring) -> None:
        self.memory: Mapping[str, Any] = {}
        """The cursor that the source returned; empty before the first poll."""

        self.is_under_way = False
        self._source = source
        self._limits = limits
        self._wiring = wiring
        self._resting = False
        self._failures = 0

    def poll(self, next_index: int) -> None:
        """Poll the source, unless a poll is in progress or not due yet.

        ``next_index`` is the index of the first split that is found.
        """
        if not self.is_under_way and not self._resting:
            self.is_under_way = True
            self._wiring.do(Poll(source=self._source, memory=self.memory, next_index=next_index))

    def found(self, event: Found, go_on: Callable[[], None]) -> None:
        """Store the result of a poll, and call ``go_on`` after the requested pause, if any."""
        self.is_under_way = False
        self._failures = 0
        self.memory = event.memory
        if event.again_ms is None:
            self._resting = True
        else:
            self._rest(event.again_ms, go_on)

    def failed(self, go_on: Callable[[], None]) -> None:
        """Pause, longer after each consecutive failure, and then call ``go_on``."""
        self.is_under_way = False
        self._failures += 1
        self._rest(self._limits.pause_before_retry(self._failures), go_on)

    def _rest(self, pause_ms: int, go_on: Callable[[], None]) -> None:
        def over() -> None:
            self._resting = False
            go_on()

        self._resting = pause_ms > 0
        if self._resting:
            self._wiring.set_timer(f"poll:{self._source}", self._wiring.now_ms + pause_ms, over)
