"""Rate limit in rows or bytes per second."""

from attrs import evolve, frozen

SAVED_UP_MS = 200
"""Maximum idle time for which tokens accumulate, to compensate for timers that fire a few milliseconds late."""


@frozen(kw_only=True)
class TokenBucket:
    """Token bucket with debt: each split is charged in full, and the next split waits until the level is at least 0.

    While idle, the bucket gains at most ``burst_ms`` worth of tokens. Refunds of excess charges are not limited. All
    numbers are integers, so rounding errors cannot accumulate.
    """

    per_second: int
    """Limit per second; at least 1."""

    burst_ms: int = 0
    level_milli: int = 0
    """Level in thousandths of a token; negative if in debt."""

    updated_ms: int = 0

    def at(self, now_ms: int) -> "TokenBucket":
        """Return the bucket at ``now_ms``, with the tokens for the elapsed time added."""
        elapsed_ms = max(0, now_ms - self.updated_ms)
        saved_up = min(self.level_milli + elapsed_ms * self.per_second, self.burst_ms * self.per_second)
        return evolve(self, level_milli=max(self.level_milli, saved_up), updated_ms=max(now_ms, self.updated_ms))

    def charge(self, tokens: int) -> "TokenBucket":
        """Return the bucket without ``tokens``; a negative number corrects an estimate that was too high."""
        return evolve(self, level_milli=self.level_milli - tokens * 1000)

    def ready_ms(self) -> int:
        """Return the earliest time at which the bucket has no debt, so that a split may be emitted."""
        if self.level_milli >= 0:
            return self.updated_ms
        return self.updated_ms + -(self.level_milli // self.per_second)
