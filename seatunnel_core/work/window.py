"""Cursors and windows of incremental reads: the progress of a source, and its next increment."""

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from seatunnel_core import stored
from seatunnel_core.stored_fields import Stored, added, required


@frozen(kw_only=True)
class Cursor(Stored):
    """Progress of a source: rows up to ``value`` are delivered and not read again.

    Rows up to ``value`` may still arrive. Rows from ``since`` on are read again and deduplicated by their digests; new
    rows below ``since`` are too late.
    """

    value: str
    """Largest value of the cursor column read so far, in the source's notation."""

    since: str | None = None
    """Value from which rows are read again; ``None`` to read none up to ``value`` again."""

    delivered: frozenset[str] = frozenset()
    """Digests of all rows from ``since`` to ``value`` that existed when the increment was planned."""

    def record(self) -> dict[str, Any]:
        """Return the cursor as JSON values."""
        zone = {} if self.since is None else {"since": self.since, "delivered": " ".join(sorted(self.delivered))}
        return {"value": self.value, **zone}

    @classmethod
    def from_record(cls, record: Any) -> "Cursor":
        """Restore a cursor from the value returned by ``record``."""
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
    """Data that is read and the cursor column, as options of the source: a cursor is valid only for them."""

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
        """Digests from ``upto.since`` on that are not delivered yet."""
        known = frozenset() if self.after is None else self.after.delivered
        return frozenset() if self.upto is None else self.upto.delivered - known
