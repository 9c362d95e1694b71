"""Polling of an unbounded source."""

from collections.abc import Callable, Mapping
from typing import Any

from seatunnel_core.checkpoint.commands import Poll
from seatunnel_core.checkpoint.events import Found
from seatunnel_core.checkpoint.vertices.limits import Limits
from seatunnel_core.checkpoint.vertices.wiring import Wiring
from seatunnel_core.work.fact import Fact


class Polling:
    """Polls of one unbounded source, one at a time. Transient failures are retried without limit."""

    def __init__(self, source: str, limits: Limits, wiring: Wiring) -> None:
        self.memory: Mapping[str, Any] = {}
        """Latest cursor returned by the source; empty before the first poll."""

        self.is_under_way = False
        self._source = source
        self._limits = limits
        self._wiring = wiring
        self._resting = False
        self.has_all = False
        """True if the source has no more data."""

        self._failures = 0
        self._facts: tuple[Fact, ...] = ()
        """Facts that ``memory`` does not contain yet, in order (R17)."""

        self._passed = 0
        """Number of facts that the poll in progress received."""

    def poll(self, next_index: int) -> None:
        """Poll for splits from ``next_index`` on, unless a poll is in progress or not due yet."""
        if not self.is_under_way and not self._resting and not self.has_all:
            self.is_under_way = True
            self._passed = len(self._facts)
            self._wiring.do(Poll(source=self._source, memory=self.memory, facts=self._facts, next_index=next_index))

    def learn(self, facts: tuple[Fact, ...]) -> int:
        """Keep facts for the next poll, which is due at once unless the last poll failed.

        Return the number of facts that the task may drop.
        """
        if self.has_all:
            return len(facts)
        self._facts += facts
        if self._resting and not self._failures:
            self._wiring.cancel_timer(f"poll:{self._source}")
            self._resting = False
        return 0

    def found(self, event: Found, go_on: Callable[[], None]) -> int:
        """Record the result of a poll and call ``go_on`` after the delay. Return the number of facts to drop."""
        self.is_under_way = False
        self._failures = 0
        self.memory = event.memory
        self.has_all = event.again_ms is None
        absorbed = len(self._facts) if self.has_all else self._passed
        self._facts = self._facts[absorbed:]
        if event.again_ms is not None:
            self._rest(0 if self._facts else event.again_ms, go_on)
        return absorbed

    def failed(self, go_on: Callable[[], None]) -> None:
        """Call ``go_on`` after a pause that grows with each consecutive failure."""
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
