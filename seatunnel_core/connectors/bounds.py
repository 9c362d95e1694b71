"""Window boundaries for sources that compare cursor values in their own code instead of in a database."""

from collections.abc import Callable, Iterable
from typing import Any

from attrs import frozen

from seatunnel_core.connector_api.values import Cursor, Window


@frozen(kw_only=True)
class Bounds:
    """Comparison of the cursor values of a source with a window."""

    read: Callable[[str], Any]
    """Function that parses a cursor string into a value; raises ``SourceError`` for an invalid string."""

    start: str | None
    """Inclusive start of the first window; ``None`` for no limit."""

    def is_new(self, value: Any, digest: str, after: Cursor | None) -> bool:
        """Return True if a value is after a cursor and has not been delivered before."""
        if after is None:
            return self.start is None or bool(value >= self.read(self.start))
        if after.since is None:
            return bool(value > self.read(after.value))
        return value >= self.read(after.since) and digest not in after.delivered

    def has(self, value: Any, digest: str, window: Window) -> bool:
        """Return True if a value is in a window. Values that arrive after planning belong to the next window."""
        upto = window.upto
        if upto is None or upto.since is None or not self.is_new(value, digest, window.after):
            return False
        return value < self.read(upto.since) or digest in upto.delivered

    def last(self, new: Iterable[Any], after: Cursor | None) -> Any:
        """Return the end of a window from its new values; ``None`` if there are no values yet.

        The end is never below the cursor. Otherwise, late values would move the cursor back, and rows would be read
        again.
        """
        known = () if after is None else (self.read(after.value),)
        return max((*new, *known), default=None)
