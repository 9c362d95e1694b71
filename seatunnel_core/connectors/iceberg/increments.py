"""Incremental reads of a table: the snapshots after the last one of the previous job.

The first job reads the whole table. Each later job reads the files that snapshots have added since. A snapshot that
changes or removes rows is rejected, because an increment contains only added rows.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen

from seatunnel_core.connector_api.errors import SourceError, UsageError
from seatunnel_core.connector_api.increments import Increment
from seatunnel_core.connector_api.values import Cursor, Window

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

SNAPSHOT = "snapshot"

_ADDS, _REWRITES = "append", "replace"
"""Iceberg's snapshot operations that only add rows, and those that move rows to other files unchanged."""


@frozen(kw_only=True)
class SnapshotIncrements:
    """A table that is read incrementally."""

    increment: Increment
    named: str
    reads: Mapping[str, str]
    """Value of ``Window.reads`` for this table's cursors."""

    def window(self, table: "TableMetadata", after: Cursor | None) -> Window:
        """Return the window of a job that starts now: up to the newest snapshot."""
        newest = table.current_snapshot()
        upto = after if newest is None else Cursor(value=str(newest.snapshot_id))
        window = Window(reads=self.reads, after=after, upto=upto)
        self.added(table, window)
        return window

    def added(self, table: "TableMetadata", window: Window) -> "Sequence[Snapshot] | None":
        """Return the snapshots with added files to read, oldest first; ``None`` to read the whole last snapshot."""
        if window.upto is None:
            return ()
        after = self._after(table, window)
        if after is None:
            return None
        found, at = list[Any](), self._number(window.upto.value)
        while at != after:  # The snapshot ``after`` may have expired.
            snapshot = table.snapshot_by_id(at)
            if snapshot is None or snapshot.parent_snapshot_id is None:
                raise SourceError(
                    f"{self.named} was read up to the snapshot {after}, but some later snapshots up to "
                    f"{window.upto.value} are missing: they have expired, or the table was rolled back or created "
                    f"again. {self._what_to_do(window.upto)}"
                )
            found.append(snapshot)
            at = snapshot.parent_snapshot_id
        for each in reversed(found):
            self._refuse_changing(each, window.upto)
        return [each for each in reversed(found) if _operation(each) == _ADDS]

    def _after(self, table: "TableMetadata", window: Window) -> int | None:
        """Return the ID of the snapshot after which reading starts; ``None`` to read all rows."""
        if window.after is not None:
            return self._number(window.after.value)
        if self.increment.start is None:
            return None
        start = self._number(self.increment.start)
        snapshot = table.snapshot_by_id(start)
        if snapshot is None:
            raise SourceError(
                f"option 'incremental': start: {self.named} has no snapshot {start}, or the snapshot has expired"
            )
        if snapshot.parent_snapshot_id is None:
            raise SourceError(
                f"option 'incremental': start: the content of {self.named} before {start}, its oldest "
                "snapshot, is unknown; set a later snapshot, or remove start to begin with all rows"
            )
        return int(snapshot.parent_snapshot_id)

    def _refuse_changing(self, snapshot: "Snapshot", upto: Cursor) -> None:
        operation = _operation(snapshot)
        if operation not in (_ADDS, _REWRITES):
            raise SourceError(
                f"the snapshot {snapshot.snapshot_id} of {self.named} ({operation}) changed or removed rows, but an "
                f"increment can contain only added rows. {self._what_to_do(upto)}"
            )

    def _what_to_do(self, upto: Cursor) -> str:
        return (
            "Load the whole table once without incremental, with write_mode replace or merge in the sink. Then "
            f"continue from this snapshot with seatunnel state set NAME SOURCE {upto.value}"
        )

    def _number(self, text: str) -> int:
        try:
            return int(text)
        except ValueError as error:
            raise SourceError(
                f"option 'incremental': {text!r} is not a snapshot ID of {self.named}; write a whole number"
            ) from error


def snapshot_increments(increment: Increment, named: str, reads: Mapping[str, str]) -> SnapshotIncrements:
    """Create the incremental reads of a table; raise ``UsageError`` if options contradict each other."""
    if increment.column != SNAPSHOT:
        raise UsageError(
            f"option 'incremental': Iceberg tables are read by snapshot, not by {increment.column!r}; set "
            f"column to {SNAPSHOT}"
        )
    if increment.key or increment.skips_nulls or increment.lag.strip("0"):
        raise UsageError("option 'incremental': key, nulls and lag apply to columns, not to snapshots; remove them")
    return SnapshotIncrements(increment=increment, named=named, reads={**reads, "column": SNAPSHOT})


def _operation(snapshot: "Snapshot") -> str:
    return "of an unknown kind" if snapshot.summary is None else str(snapshot.summary.operation.value)
