"""Reader of a log range. It yields the changed rows to emit and reports the end of the range."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from attrs import field, frozen

from seatunnel_core import stored
from seatunnel_core.connector_api.batch import Batch
from seatunnel_core.connector_api.errors import SourceChangedError
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connectors.change_data.emission import Emission
from seatunnel_core.connectors.change_data.emitted import Flags, both, emitted
from seatunnel_core.connectors.change_data.log_order import LoggedRows, LogOrder
from seatunnel_core.connectors.change_data.origins import Commit, RowNumbers, TableRows
from seatunnel_core.connectors.change_data.shape import CONTINUE, START_ANEW, require_shape
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.mysql_cdc.chunk_places import places_of
from seatunnel_core.connectors.mysql_cdc.definitions import Definitions, only_changes_columns
from seatunnel_core.connectors.mysql_cdc.log_reader import Distributed, LogReader
from seatunnel_core.connectors.mysql_cdc.message_source import logged_at
from seatunnel_core.connectors.mysql_cdc.server import FULL_IMAGES, Server
from seatunnel_core.connectors.mysql_cdc.window_filter import WindowFilter
from seatunnel_core.connectors.mysql_log.change_batch import ChangeBatch, Reason, TableChanges, Transaction
from seatunnel_core.connectors.mysql_log.gtid import transactions_of
from seatunnel_core.connectors.mysql_log.logged_gtids import LoggedGtids, LoggedTransaction
from seatunnel_core.connectors.mysql_log.position import LogPosition
from seatunnel_core.connectors.mysql_log.statements import without_strings
from seatunnel_core.rows.batch import Origins

LIMIT_BYTES = 64 << 20
"""Total size of transactions, in bytes, after which a range ends early once the snapshot is complete."""


@frozen(kw_only=True)
class RangeReader:
    """Reader of a log range. It reads the whole range between windows, but may stop early after the snapshot."""

    server: Server
    tables: Mapping[str, Found] = field(repr=False)
    """Captured tables by name."""

    log: LogReader = field(repr=False)
    start: LogPosition
    end: LogPosition
    body: Mapping[str, Any] = field(repr=False)
    emission: Emission = field(factory=Emission)
    defined: LogPosition | None = None
    """Position up to which column changes are applied to the tables; ``None`` if the job was not resumed."""

    def batches(self, context: ReadContext) -> Iterator[Batch]:
        """Yield the changed rows.

        Raises:
            SourceChangedError: A captured table was redefined between windows, or its rows have other columns.
        """
        window = WindowFilter.of(self.body)
        limit = LIMIT_BYTES if window is None else None
        read, ended, committed = self.start, False, dict[str, int]()
        stopped, changed, statement = "", list[str](), ""
        order, numbers, gtids = LogOrder(context), RowNumbers(), LoggedGtids()
        distributed = Distributed(set(stored.texts(self.body, "prepared")))
        for batch in self.log.batches(self.start, self.end, limit_bytes=limit, distributed=distributed):
            end = self._end_before(batch)
            ended = end < self.end
            yield from self.emission.changes(self._logged(batch, end, window, numbers, context), order)
            if batch.reason is Reason.END:  # The numbers of another stream begin again.
                order = LogOrder(context)
            inside = _before(end, batch.transactions)
            if "gtids" in self.body:
                gtids.add(inside)
            if inside:
                committed = {"committed_ms": inside[-1].timestamp * 1000}
            is_beyond = len(inside) < len(batch.transactions)
            read = max([end, *(each.end for each in inside)]) if is_beyond else batch.position
            stopped, changed = self._redefined(batch, end, is_copying=window is not None)
            if changed and batch.statement is not None:
                statement = batch.statement.text
            if stopped or is_beyond:
                break
        prepared = sorted(distributed.prepared)
        if window is None:
            found = {"read": str(max(read, self.start)), "stopped": stopped, "prepared": prepared, "ended": ended}
            columns = {"changed": changed, "statement": statement} if changed else {}
            context.report_fact({**found, **self._read_gtids(gtids), **committed, **columns})
        elif stopped:
            raise SourceChangedError(stopped)
        else:
            context.report_fact({"prepared": prepared, **committed})

    def _read_gtids(self, gtids: LoggedGtids) -> Mapping[str, str]:
        """Return the GTIDs of all transactions before the end of the range if they are known."""
        known = self.server.known
        if known is None or "gtids" not in self.body or not gtids.is_complete:
            return {}
        base = transactions_of(stored.text(self.body, "gtids"), is_maria=known.is_maria)
        last = LoggedTransaction.of(gtids.last_event)
        return {"gtids": str(gtids.after(base)), "last": str(last or stored.text(self.body, "last"))}

    def _end_before(self, batch: ChangeBatch) -> LogPosition:
        """Return the end of the range, limited to the first transaction at or after the end time of the job."""
        if "until_ms" not in self.body:
            return self.end
        until_ms = stored.number(self.body, "until_ms")
        late = (each.begin for each in batch.transactions if milliseconds(each, round_up=False) >= until_ms)
        return min([self.end, *late])

    def _logged(
        self,
        batch: ChangeBatch,
        end: LogPosition,
        window: WindowFilter | None,
        numbers: RowNumbers,
        context: ReadContext,
    ) -> list[LoggedRows]:
        """Return the rows of a batch to emit."""
        transactions: Mapping[int, Transaction] = {each.number: each for each in batch.transactions}

        def commit_of(number: int) -> Commit:
            return _commit(transactions[number])

        tables = [_rows(self._found(each), each, context) for each in batch.changes]
        made = (
            self._emitted(changes, end, window, transactions, origins, context)
            for changes, origins in zip(batch.changes, numbers.origins(tables, commit_of), strict=True)
        )
        return [each for each in made if each is not None]

    def _found(self, changes: TableChanges) -> Found:
        return self.tables[f"{changes.table.database}.{changes.table.name}"]

    def _emitted(
        self,
        changes: TableChanges,
        end: LogPosition,
        window: WindowFilter | None,
        transactions: Mapping[int, Transaction],
        origins: Origins,
        context: ReadContext,
    ) -> LoggedRows | None:
        """Return the rows of a table to emit; ``None`` if there are none."""
        found = self._found(changes)
        schema = found.schema()
        first = transactions[int(changes.transactions[0])]
        require_shape(schema.table, changes.rows.schema, schema.columns, str(first.begin))
        keep = self._wanted(changes, end, transactions)
        if window is not None:
            placing, repeats = partial(places_of, self.server), context.order_group(schema.table).replaces_rows
            keep = both(keep, window.keep(found, changes, transactions, placing, repeats=repeats))
        where = f"transaction at {first.begin}"
        keep = both(keep, self.emission.rules.kept_changes(changes, found, where, FULL_IMAGES))
        masked = self.emission.rules.masked_columns(found)
        made = emitted(changes, keep, schema, context, where, FULL_IMAGES, origins, masked)
        if made is None:
            return None
        logged = partial(logged_at, changes, transactions, made.numbers)
        at = made.numbers
        events, numbers = changes.events[at], changes.transactions[at]
        return LoggedRows(batch=made.batch, found=found, events=events, transactions=numbers, where=logged)

    def _wanted(self, changes: TableChanges, end: LogPosition, transactions: Mapping[int, Transaction]) -> Flags | None:
        """Return a mask of the rows inside the range and not before the start time of the job; ``None`` for all."""
        found = tuple(transactions.values())
        if "since_ms" not in self.body and len(_before(end, found)) == len(found):
            return None
        wanted = {number for number, each in transactions.items() if self._is_wanted(each, end)}
        if len(wanted) == len(transactions):
            return None
        return np.array([int(number) in wanted for number in changes.transactions], np.bool_)

    def _is_wanted(self, transaction: Transaction, end: LogPosition) -> bool:
        since_ms = stored.number(self.body, "since_ms") if "since_ms" in self.body else 0
        return transaction.begin < end and milliseconds(transaction) >= since_ms

    def _redefined(self, batch: ChangeBatch, end: LogPosition, *, is_copying: bool) -> tuple[str, list[str]]:
        """Return a message if the statement at the end of the batch redefined captured tables, else ``""``.

        Also return the redefined tables if only columns were changed and a resumed job can continue; else an empty
        list.
        """
        statement = batch.statement
        if statement is None or not self._is_wanted(statement.transaction, end):
            return "", []
        definitions = self.log.tables
        assert isinstance(definitions, Definitions)
        tables = definitions.changes(statement)
        of_columns = only_changes_columns(statement.text)
        begin = statement.transaction.begin
        if not tables or (of_columns and self.defined is not None and begin < self.defined):
            return "", []
        is_resumable = of_columns and not is_copying and self.emission.messages is None
        is_resumable = is_resumable and all(map(definitions.describes, tables))
        message = (
            f"the statement at {begin} changes {'columns of ' if of_columns else ''}{', '.join(tables)}"
            f"{'' if is_resumable else ' in a way that is not captured'}: {without_strings(statement.text)!r}. No "
            f"later change was read. {CONTINUE if is_resumable else START_ANEW}"
        )
        return message, tables if is_resumable else []


def _rows(found: Found, changes: TableChanges, context: ReadContext) -> TableRows:
    group = context.order_group(found.reading.name).name
    return TableRows(group=group, transactions=changes.transactions, events=changes.events)


def _commit(transaction: Transaction) -> Commit:
    micros = transaction.commit_micros
    return Commit(transaction.timestamp * 1000 if micros is None else micros // 1000, transaction.begin.padded)


def _before(end: LogPosition, transactions: Sequence[Transaction]) -> Sequence[Transaction]:
    """Return the transactions that begin before a position, in log order."""
    if transactions and transactions[-1].begin < end:
        return transactions
    return [each for each in transactions if each.begin < end]


def milliseconds(transaction: Transaction, *, round_up: bool = True) -> int:
    """Return the commit time in milliseconds, rounded up or down if the server only logs seconds."""
    micros = transaction.commit_micros
    return transaction.timestamp * 1000 + 999 * round_up if micros is None else micros // 1000
