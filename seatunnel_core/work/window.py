"""Cursors and windows of incremental reads: the position of a source, and its next increment."""

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from seatunnel_core import stored
from seatunnel_core.stored_fields import Stored, added, required


@frozen(kw_only=True)
class Cursor(Stored):
    """Position of a source: rows up to ``value`` have been delivered.

    Further rows up to ``value`` may arrive late. So rows from ``since`` on are read again and deduplicated by their
    digests. New rows below ``since`` are not read.
    """

    value: str
    """Largest value of the cursor column so far, in the notation of the source."""

    since: str | None = None
    """Value from which rows are read again; ``None`` to read only rows above ``value``."""

    delivered: frozenset[str] = frozenset()
    """Digests of all rows from ``since`` to ``value`` that existed when the increment was planned."""

    def record(self) -> dict[str, Any]:
        """Return the cursor as JSON values."""
        zone = {} if self.since is None else {"since": self.since, "delivered": " ".join(sorted(self.delivered))}
        return {"value": self.value, **zone}

    @classmethod
    def from_record(cls, record: Any) -> "Cursor":
        """Return the cursor from its ``record``."""
        zone = stored.has(record, "since")
        return cls(
            value=stored.text(record, "value"),
            since=stored.text(record, "since") if zone else None,
            delivered=frozenset(stored.text(record, "delivered").split()) if zone else frozenset(),
        )


@frozen(kw_only=True)
class Window(Stored):
    """One increment of a source: the rows after ``after``, up to ``upto``. Fixed for the lifetime of its job."""

    reads: Mapping[str, str] = required(path=True)
    """Options that define the data and the cursor column. A cursor is valid only for the same options."""

    after: Cursor | None = added(None, omitted=True)
    """End of the previous increment; ``None`` for the first one."""

    upto: Cursor | None = added(None, omitted=True)
    """End of this increment; ``None`` if the source is still empty."""

    @property
    def end(self) -> Cursor | None:
        """Cursor after this increment."""
        return self.upto or self.after

    @property
    def fresh(self) -> frozenset[str]:
        """Digests of the rows from ``upto.since`` on that were not delivered before."""
        known = frozenset() if self.after is None else self.after.delivered
        return frozenset() if self.upto is None else self.upto.delivered - known
