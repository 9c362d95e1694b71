"""Observed end positions of a log with their times, from which the lag of a reader is computed."""

from typing import Any, Generic, Protocol, TypeVar

from attrs import frozen


class Ordered(Protocol):
    """A position in a log."""

    def __le__(self, other: Any, /) -> bool:
        """Return True if this position is before or equal to the other one."""


P = TypeVar("P", bound=Ordered)

_MOST = 512
"""Maximum number of observations. If there are more, every second one is removed, which makes the lag less precise."""


@frozen
class LogTimes(Generic[P]):
    """Observed ends of a log with their times, oldest first. Never empty."""

    _observed: tuple[tuple[P, int], ...]

    @property
    def end(self) -> P:
        """Last observed end."""
        return self._observed[-1][0]

    def and_one(self, end: P, at_ms: int) -> "LogTimes[P]":
        """Add an end of the log and the server's time, in milliseconds, at which it was observed."""
        before = self._observed
        if before[-1][0] == end:
            before = before[:-1]
        if len(before) >= _MOST:
            before = before[::2]
        return LogTimes((*before, (end, at_ms)))

    def since(self, position: P) -> "LogTimes[P]":
        """Remove the observations that are not needed for the lag of a reader at a position."""
        passed = sum(1 for end, _ in self._observed if end <= position)
        return LogTimes(self._observed[max(0, passed - 1) :])

    def lag_seconds(self, position: P, committed_ms: int = 0) -> float | None:
        """Return the lag of a reader in seconds: the age of the first unread data. ``None`` if it is unknown.

        Args:
            position: Position up to which the log has been read.
            committed_ms: Time of the last commit before it, in milliseconds since 1970; 0 if it is unknown.
        """
        end, now_ms = self._observed[-1]
        if end <= position:
            return 0.0
        reached = max((at_ms for each, at_ms in self._observed if each <= position), default=0)
        newest = max(reached, committed_ms)
        return None if newest == 0 else round(max(0, now_ms - newest) / 1000, 1)
