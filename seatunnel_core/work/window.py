"""How far a source was read in increments, and what the next one has: cursors and windows."""

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from seatunnel_core import stored


@frozen(kw_only=True)
class Cursor:
    """How far a source has been read: what ``value`` covers is delivered, and is not read again.

    Rows up to ``value`` may still arrive. Those from ``since`` on are read again and told apart by their digests; those
    below ``since`` come too late.
    """

    value: str
    """The largest value of the cursor column that was read, as the source writes it."""

    since: str | None = None
    """From where on rows are read again; ``None``: no row up to ``value``."""

    delivered: frozenset[str] = frozenset()
    """The digests of all rows from ``since`` up to ``value`` that were there when the increment was planned."""

    def record(self) -> dict[str, Any]:
        """JSON values only."""
        zone = {} if self.since is None else {"since": self.since, "delivered": " ".join(sorted(self.delivered))}
        return {"value": self.value, **zone}

    @classmethod
    def from_record(cls, record: Any) -> "Cursor":
        """Read what ``record`` gave.

        Raises:
            StoredValueError: It is something else.
        """
        zone = stored.has(record, "since")
        return cls(
            value=stored.text(record, "value"),
            since=stored.text(record, "since") if zone else None,
            delivered=frozenset(stored.text(record, "delivered").split()) if zone else frozenset(),
        )


@frozen(kw_only=True)
class Window:
    """One increment of a source: what came behind ``after``, up to ``upto``. Fixed for the whole life of its job."""

    reads: Mapping[str, str]
    """What is read, and by which column, in words of the source: a cursor means nothing for anything else."""

    after: Cursor | None = None
    """Where the increment before ended; ``None`` for the first one."""

    upto: Cursor | None = None
    """Where this one ends; ``None`` where there is nothing at all to read yet."""

    @property
    def end(self) -> Cursor | None:
        """The cursor after this increment."""
        return self.upto or self.after

    @property
    def fresh(self) -> frozenset[str]:
        """The digests from ``upto.since`` on that are not delivered yet."""
        known = frozenset() if self.after is None else self.after.delivered
        return frozenset() if self.upto is None else self.upto.delivered - known

    def record(self) -> dict[str, Any]:
        """JSON values only."""
        cursors = {"after": self.after, "upto": self.upto}
        return {
            "reads": dict(self.reads),
            **{name: each.record() for name, each in cursors.items() if each is not None},
        }

    @classmethod
    def from_record(cls, record: Any) -> "Window":
        """Read what ``record`` gave.

        Raises:
            StoredValueError: It is something else.
        """
        reads = stored.below(record, "reads")
        return cls(
            reads={name: stored.path(reads, name) for name in reads},
            after=Cursor.from_record(record["after"]) if stored.has(record, "after") else None,
            upto=Cursor.from_record(record["upto"]) if stored.has(record, "upto") else None,
        )
