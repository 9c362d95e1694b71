"""Reading of a log range in a task."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from seatunnel_core.connector_api.batch import Batch
from seatunnel_core.connector_api.errors import SourceChangedError, SourceError
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connectors.change_data.emission import Emission
from seatunnel_core.connectors.change_data.emitted import both, emitted
from seatunnel_core.connectors.change_data.log_order import LoggedRows, LogOrder
from seatunnel_core.connectors.change_data.origins import Commit, RowNumbers, TableRows
from seatunnel_core.connectors.change_data.shape import START_ANEW, shape_changes, shape_message
from seatunnel_core.connectors.jdbc.databases.dialect import Dialect
from seatunnel_core.connectors.postgres_cdc.captured_checks import old_columns
from seatunnel_core.connectors.postgres_cdc.catalog_tables import require_same_table
from seatunnel_core.connectors.postgres_cdc.cursor import ColumnsChange, Mark
from seatunnel_core.connectors.postgres_cdc.message_source import logged_at
from seatunnel_core.connectors.postgres_cdc.seen import SeenRows, seen_rows
from seatunnel_core.connectors.postgres_cdc.settings import Settings
from seatunnel_core.connectors.postgres_cdc.tables import Captured
from seatunnel_core.connectors.postgres_cdc.visibility import become_visible
from seatunnel_core.connectors.postgres_log.change_batch import ChangeBatch, TableChanges, Transaction, Truncation
from seatunnel_core.connectors.postgres_log.log_table import LogTable
from seatunnel_core.connectors.postgres_log.lsn import Lsn
from seatunnel_core.connectors.postgres_log.slot_reader import SlotReader
from seatunnel_core.connectors.postgres_log.sql_connection import connect, run
from seatunnel_core.rows.batch import Origins

_EPOCH_MS = 946_684_800_000
"""PostgreSQL's epoch (2000-01-01), in milliseconds since 1970."""

_REMEDY = "run ALTER TABLE … REPLICA IDENTITY FULL"
_MIXED = (
    "The transaction contains rows with the old columns and rows with the new ones, and the log does not show how "
    "the change altered the earlier rows"
)


@frozen(kw_only=True)
class LogRange:
    """A log range. It contains the transactions that were committed in the range."""

    start: Lsn
    end: Lsn
    confirm: Lsn
    """Position before which the server may discard the log."""

    tables: tuple[tuple[str, str], ...] = field(repr=False)
    """Name and fingerprint of each captured table. Marks refer to tables by index."""

    oids: tuple[int, ...] = field(default=(), repr=False)
    """Object ID of each captured table."""

    marks: tuple[Mark, ...] = ()
    """Marks of the chunks; empty if no mark contains a transaction of the range."""

    job: str = ""
    """ID of the job that holds the lock of the slot."""

    awaits_visibility: bool = False
    """True to report whether all transactions of the range are visible to new snapshots at its end."""

    def body(self) -> dict[str, Any]:
        """Return the range as the body of a split."""
        return {
            "log": {
                "start": str(self.start),
                "end": str(self.end),
                "confirm": str(self.confirm),
                "tables": [list(each) for each in self.tables],
                "oids": list(self.oids),
                "marks": [mark.record() for mark in self.marks],
                "job": self.job,
                "visibility": self.awaits_visibility,
            }
        }

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "LogRange":
        """Return the range from the body of a split."""
        log = body["log"]
        return cls(
            start=Lsn.parse(log["start"]),
            end=Lsn.parse(log["end"]),
            confirm=Lsn.parse(log["confirm"]),
            tables=tuple((name, shape) for name, shape in log["tables"]),
            oids=tuple(log.get("oids", ())),
            marks=tuple(map(Mark.from_record, log["marks"])),
            job=str(log.get("job", "")),
            awaits_visibility=bool(log.get("visibility")),
        )


@define
class RangeReader:
    """Reads one range."""

    _settings: Settings
    _dialect: Dialect
    _tables: Sequence[Captured]
    _range: LogRange
    _context: ReadContext
    _emission: Emission = field(factory=Emission)
    _numbers: dict[tuple[str, str], int] = field(init=False)
    _seen: dict[int, SeenRows | None] = field(init=False, factory=dict)
    _shapes: dict[int, object] = field(init=False, factory=dict)
    """Latest logged schema version with the planned columns, keyed by table index."""

    _last: dict[int, int] = field(init=False, factory=dict)
    """Number of the last transaction with rows that have the planned columns, keyed by table index."""

    _emitted_to: int = field(init=False, default=-1)
    """Number of the last transaction with emitted rows."""

    read_to: Lsn = field(init=False)
    """Position up to which the range was read; before its end if the columns of a table change there."""

    changed: ColumnsChange | None = field(init=False, default=None)
    """Column change at which reading stopped; ``None`` if the range was read to its end."""

    committed_ms: int = field(init=False, default=0)
    """Time of the last commit that was read, in milliseconds since 1970; 0 before the first one."""

    is_visible: bool = field(init=False, default=False)
    """True if all transactions that were read are known to be visible to new snapshots."""

    _row_numbers: RowNumbers = field(init=False, factory=RowNumbers)
    _order: LogOrder = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._numbers = {table.path: number for number, table in enumerate(self._tables)}
        self.read_to = self._range.end
        self._order = LogOrder(self._context)

    def fact(self) -> dict[str, Any]:
        """Return the report of a range that was read."""
        changed = {} if self.changed is None else {"changed": self.changed.record()}
        visible = {"visible": self.is_visible} if self._range.awaits_visibility else {}
        return {"read": str(self.read_to), "committed_ms": self.committed_ms, **changed, **visible}

    def batches(self) -> Iterator[Batch]:
        """Yield the changed rows of the captured tables, in order.

        Reading stops before the first transaction with a row whose columns differ from the planned ones. A batch is
        emitted only after the next batch was checked, because the last transaction of a batch may continue in the next
        batch with other columns.

        Raises:
            LogError: The log cannot be read.
            SourceError: The log contains a change that cannot be applied.
        """
        settings, wanted = self._settings, self._range
        with (
            closing(connect(settings.sql())) as connection,
            SlotReader(
                settings.log(connection.info.server_version, wanted.job),
                connection,
                settings.slot,
                [settings.publication],
                wanted.start,
                takes_over=bool(wanted.job),
                selects=self._emission.rules.selects,
            ) as reader,
        ):
            if wanted.confirm <= wanted.start:
                reader.confirm(wanted.confirm)
            held: ChangeBatch | None = None
            end: Transaction | None = None
            ids: list[npt.NDArray[np.uint32]] = []
            for batch in reader.batches(wanted.end):
                end = self._first_changed(batch)
                if wanted.awaits_visibility:
                    ids.append(np.unique(np.array([each.xid for each in batch.transactions], np.uint32)))
                if held is not None:
                    yield from self._of_batch(connection, held, end)
                held = batch
                if end is not None:
                    break
            if held is not None:
                yield from self._of_batch(connection, held, end)
            if wanted.awaits_visibility:
                self.is_visible = become_visible(connection, np.concatenate(ids) if ids else np.empty(0, np.uint32))

    def _of_batch(self, connection: Any, batch: ChangeBatch, end: Transaction | None) -> Iterator[Batch]:
        """Yield the rows of a batch before the transaction ``end``; all rows if ``end`` is ``None``."""
        before = [each for each in batch.transactions if end is None or each.number < end.number]
        for each in before:
            if each.complete:
                self.committed_ms = each.time_us // 1000 + _EPOCH_MS
        yield from self._emission.changes(self._logged(connection, batch, end), self._order)
        self._emitted_to = max([self._emitted_to, *(each.number for each in before)])
        if batch.truncation is not None and batch.truncation.transaction in before:
            self._require_seen(connection, batch.truncation)

    def _first_changed(self, batch: ChangeBatch) -> Transaction | None:
        """Return the first transaction with a row whose columns differ from the planned ones, or ``None``.

        Raises:
            SourceChangedError: The range cannot end before this transaction, for example because it was partly emitted.
        """
        found: Transaction | None = None
        is_mixed = False
        transactions = {each.number: each for each in batch.transactions}
        for changes in batch.changes:
            number = self._number(changes.table, f"log position {batch.position}")
            if number is None or self._has_planned_shape(number, changes, f"log position {batch.position}"):
                continue
            table = self._tables[number]
            first = transactions[int(changes.transactions[0])]
            if found is None or first.number < found.number:
                found, self.read_to = first, first.commit_lsn
                difference = shape_changes(changes.table.schema, table.found.schema().columns)
                message = shape_message(table.name, difference, str(first.commit_lsn))
                self.changed = ColumnsChange(table=table.name, shape=table.shape, message=message)
                is_mixed = self._last.get(number) == first.number
        if found is not None and self.changed is not None:
            is_begun = found.number <= self._emitted_to
            if is_mixed:
                raise SourceChangedError(f"{self.changed.message}. {_MIXED}. {START_ANEW}")
            if is_begun or self._range.marks or self._emission.messages is not None:
                raise SourceChangedError(f"{self.changed.message}. {START_ANEW}")
        return found

    def _has_planned_shape(self, number: int, changes: TableChanges, where: str) -> bool:
        """Return True if rows have the planned columns, and record the number of their last transaction."""
        if self._shapes.get(number) is not changes.table:
            table = self._tables[number]
            if shape_changes(changes.table.schema, table.found.schema().columns):
                return False
            self._require_key(table, changes.table, where)
            self._require_identity(table, changes.table, where)
            self._shapes[number] = changes.table
        self._last[number] = int(changes.transactions[-1])
        return True

    def _logged(self, connection: Any, batch: ChangeBatch, end: Transaction | None) -> list[LoggedRows]:
        """Return the rows of a batch to emit."""
        own = [(table, each) for each in batch.changes if (table := self._captured(batch, each, end)) is not None]
        rows = [
            TableRows(
                group=self._context.order_group(table.name).name, transactions=each.transactions, events=each.numbers
            )
            for table, each in own
        ]
        every = self._row_numbers.origins(rows, partial(_commit, batch))
        made = (
            self._emitted(connection, batch, table, changes, end, origins)
            for (table, changes), origins in zip(own, every, strict=True)
        )
        return [each for each in made if each is not None]

    def _captured(self, batch: ChangeBatch, changes: TableChanges, end: Transaction | None) -> Captured | None:
        """Return the table of changed rows; ``None`` if it is not captured, or all rows are at or after ``end``."""
        number = self._number(changes.table, f"log position {batch.position}")
        is_after = end is not None and not (changes.transactions < end.number).any()
        return None if number is None or is_after else self._tables[number]

    def _emitted(
        self,
        connection: Any,
        batch: ChangeBatch,
        table: Captured,
        changes: TableChanges,
        end: Transaction | None,
        origins: Origins,
    ) -> LoggedRows | None:
        where, schema = f"log position {batch.position}", table.found.schema()
        before = None if end is None else changes.transactions < end.number
        keep = both(before, self._unseen(connection, batch, table, changes))
        keep = both(keep, self._emission.rules.kept_changes(changes, table.found, where, _REMEDY))
        masked = self._emission.rules.masked_columns(table.found)
        made = emitted(changes, keep, schema, self._context, where, _REMEDY, origins, masked)
        if made is None:
            return None
        at = made.numbers
        return LoggedRows(
            batch=made.batch,
            found=table.found,
            events=changes.numbers[at],
            transactions=changes.transactions[at],
            where=partial(logged_at, self._settings.address.database, table.path, batch, changes, at),
        )

    def _number(self, table: LogTable, where: str) -> int | None:
        """Return the index of a logged table; ``None`` if it is not captured.

        Raises:
            SourceChangedError: A captured table was renamed, or another table has its name.
        """
        number, oids = self._numbers.get((table.namespace, table.name)), self._range.oids
        if number is not None and oids:
            require_same_table(self._tables[number].name, table.oid, oids[number], where)
        if number is None and table.oid in oids:
            raise SourceChangedError(
                f"{where}: the table {self._tables[oids.index(table.oid)].name} was renamed to {table}, so its changes "
                "are no longer captured. Start a new job"
            )
        return number

    def _require_key(self, table: Captured, logged: LogTable, where: str) -> None:
        """Raise ``SourceChangedError`` if the primary key has changed. Only the default replica identity shows this."""
        key = table.found.schema().primary_key
        if table.has_own_key and logged.identity == "DEFAULT" and set(logged.key) != set(key):
            raise SourceChangedError(
                f"{where}: the key of {table.name} has changed since the job started, from "
                f"{', '.join(key) or 'none'} to {', '.join(logged.key) or 'none'}. Start a new job"
            )

    def _require_identity(self, table: Captured, logged: LogTable, where: str) -> None:
        """Raise ``SourceChangedError`` if old rows of the log do not contain the columns that the job needs."""
        missing = set(old_columns(table, self._settings)) - set(logged.key)
        if missing:
            raise SourceChangedError(
                f"{where}: the replica identity of {table.name} was changed, so old rows do not contain the column "
                f"{min(missing)}; run ALTER TABLE … REPLICA IDENTITY FULL, and start a new job"
            )

    def _unseen(
        self, connection: Any, batch: ChangeBatch, table: Captured, changes: TableChanges
    ) -> npt.NDArray[np.bool_] | None:
        """Return a mask of the rows that no chunk contains; ``None`` for all.

        If a row moves between tables with one target, its insertion may be part of a chunk of one table, but its
        deletion is not part of the other table's chunk. Then both are emitted again.
        """
        seen = self._marks(connection, self._numbers[table.path])
        if seen is None:
            return None
        xids = _xids(batch, changes)
        found = seen.of(changes.rows, xids)
        for other in self._beside(connection, table):
            found = found & other.in_all_chunks(xids)
        return ~found

    def _beside(self, connection: Any, table: Captured) -> Iterator[SeenRows]:
        """Yield the marks of all tables in the table's group if their target replaces rows."""
        group = self._context.order_group(table.name)
        for number, other in enumerate(self._tables if group.replaces_rows else ()):
            if self._context.order_group(other.name).name == group.name:
                seen = self._marks(connection, number)
                yield from () if seen is None else (seen,)

    def _marks(self, connection: Any, number: int) -> SeenRows | None:
        if number not in self._seen:
            found = self._tables[number].found
            self._seen[number] = seen_rows(
                self._dialect, found, number, self._range.marks, lambda statement: run(connection, statement)
            )
        return self._seen[number]

    def _require_seen(self, connection: Any, truncation: Truncation) -> None:
        """Raise an error for a TRUNCATE of a captured table, unless the snapshot of the table was taken later."""
        for table in truncation.tables:
            number = self._number(table, f"log position {truncation.transaction.commit_lsn}")
            if number is None:
                continue
            seen, xid = self._marks(connection, number), truncation.transaction.xid
            beside = self._beside(connection, self._tables[number])
            if seen is None or not all(each.of_all_chunks(xid) for each in (seen, *beside)):
                raise SourceError(
                    f"TRUNCATE of {self._tables[number].name} at the log position {truncation.transaction.commit_lsn} "
                    "is not supported; use DELETE, or truncate the target and start a new job"
                )


def _commit(batch: ChangeBatch, number: int) -> Commit:
    """Return the transaction with the given number. A batch contains consecutive transactions."""
    found = batch.transactions[number - batch.transactions[0].number]
    return Commit(_EPOCH_MS + found.time_us // 1000, found.commit_lsn.padded)


def _xids(batch: ChangeBatch, changes: TableChanges) -> npt.NDArray[np.uint32]:
    """Return the ID of the transaction of each row."""
    numbers = np.array([each.number for each in batch.transactions], np.int64)
    xids = np.array([each.xid for each in batch.transactions], np.uint32)
    found: npt.NDArray[np.uint32] = xids[np.searchsorted(numbers, changes.transactions)]
    return found
