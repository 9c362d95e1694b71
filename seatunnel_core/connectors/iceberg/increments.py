"""The increments of a table: which snapshots a job reads that begins now, behind the one where the job before ended.

The first job reads the table as it is. Each later one reads the files that snapshots have added since. Rows that were
changed or removed in between would be missed, so a snapshot that does so is refused.
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
"""Iceberg's words for a snapshot that adds rows alone, and for one with the same rows in other files."""


@frozen(kw_only=True)
class SnapshotIncrements:
    """A table that is read in increments."""

    increment: Increment
    named: str
    reads: Mapping[str, str]
    """What a cursor of it belongs to: ``Window.reads``."""

    def window(self, table: "TableMetadata", after: Cursor | None) -> Window:
        """Return the window of a job that begins now: up to the newest snapshot.

        Raises:
            SourceError: Rows were changed or removed since the cursor, or it is no snapshot of the table any more.
        """
        newest = table.current_snapshot()
        upto = after if newest is None else Cursor(value=str(newest.snapshot_id))
        window = Window(reads=self.reads, after=after, upto=upto)
        self.added(table, window)
        return window

    def added(self, table: "TableMetadata", window: Window) -> "Sequence[Snapshot] | None":
        """Return the snapshots whose added files a job reads, older ones first; ``None``: it reads the last one whole.

        Raises:
            SourceError: As ``window``.
        """
        if window.upto is None:
            return ()
        after = self._after(table, window)
        if after is None:
            return None
        found, at = list[Any](), self._number(window.upto.value)
        while at != after:  # which itself may have expired
            snapshot = table.snapshot_by_id(at)
            if snapshot is None or snapshot.parent_snapshot_id is None:
                raise SourceError(
                    f"no snapshots lead from {after}, up to which {self.named} was read, to {window.upto.value}: some "
                    f"have expired, or the table was rolled back or made anew. {self._what_to_do(window.upto)}"
                )
            found.append(snapshot)
            at = snapshot.parent_snapshot_id
        for each in reversed(found):
            self._refuse_changing(each, window.upto)
        return [each for each in reversed(found) if _operation(each) == _ADDS]

    def _after(self, table: "TableMetadata", window: Window) -> int | None:
        """Return the snapshot behind which rows are read; ``None`` for all rows."""
        if window.after is not None:
            return self._number(window.after.value)
        if self.increment.start is None:
            return None
        start = self._number(self.increment.start)
        snapshot = table.snapshot_by_id(start)
        if snapshot is None:
            raise SourceError(f"option 'incremental': start: {self.named} has no snapshot {start}, or it has expired")
        if snapshot.parent_snapshot_id is None:
            raise SourceError(
                f"option 'incremental': start: it is not known what {self.named} had before {start}, its oldest "
                "snapshot; write a later one, or leave start out to begin with all rows"
            )
        return int(snapshot.parent_snapshot_id)

    def _refuse_changing(self, snapshot: "Snapshot", upto: Cursor) -> None:
        operation = _operation(snapshot)
        if operation not in (_ADDS, _REWRITES):
            raise SourceError(
                f"the snapshot {snapshot.snapshot_id} of {self.named} ({operation}) changed or removed rows, and an "
                f"increment has added rows alone. {self._what_to_do(upto)}"
            )

    def _what_to_do(self, upto: Cursor) -> str:
        return (
            "Load the whole table once without incremental, into a target that is replaced or merged into, and go on "
            f"behind that with seatunnel state set NAME SOURCE {upto.value}"
        )

    def _number(self, text: str) -> int:
        """Return the id of a snapshot as the state has it, or a user writes it."""
        try:
            return int(text)
        except ValueError as error:
            raise SourceError(
                f"option 'incremental': {text!r} is no snapshot of {self.named}; write its id, a whole number"
            ) from error


def snapshot_increments(increment: Increment, named: str, reads: Mapping[str, str]) -> SnapshotIncrements:
    """Return how a table is read in increments.

    Raises:
        UsageError: The options do not go together.
    """
    if increment.column != SNAPSHOT:
        raise UsageError(
            f"option 'incremental': tables of Iceberg are read by their snapshots, and not by {increment.column!r}; "
            f"write column = {SNAPSHOT}"
        )
    if increment.key or increment.skips_nulls or increment.lag.strip("0"):
        raise UsageError("option 'incremental': key, nulls and lag are for columns; snapshots have none of them")
    return SnapshotIncrements(increment=increment, named=named, reads={**reads, "column": SNAPSHOT})


def _operation(snapshot: "Snapshot") -> str:
    return "of an unknown kind" if snapshot.summary is None else str(snapshot.summary.operation.value)
