"""Decoder that turns a stream of log events into transactions, Arrow batches of changed rows, and statements."""

from collections.abc import Callable, Iterable, Iterator
from zlib import crc32

from attrs import evolve

from seatunnel_core.connectors.mysql_log import event_types as et
from seatunnel_core.connectors.mysql_log.captured_tables import Tables
from seatunnel_core.connectors.mysql_log.change_batch import ChangeBatch, Outcome, Reason, Statement, Transaction
from seatunnel_core.connectors.mysql_log.changed_rows import ChangedRows
from seatunnel_core.connectors.mysql_log.columns import ValueRules
from seatunnel_core.connectors.mysql_log.errors import (
    LogError,
    MalformedLogError,
    StatementLoggedError,
    UnsupportedLogError,
)
from seatunnel_core.connectors.mysql_log.events import (
    CHECKED,
    CHECKSUM_BYTES,
    HEADER,
    HEADER_BYTES,
    QueryEvent,
    XaId,
    format_description_of,
    incident_of,
    query_of,
    rotate_of,
    xa_prepare_of,
)
from seatunnel_core.connectors.mysql_log.fields import DAMAGED
from seatunnel_core.connectors.mysql_log.payload import payload_events
from seatunnel_core.connectors.mysql_log.position import LogPosition, unwrapped
from seatunnel_core.connectors.mysql_log.statements import StatementKind, kind_of_statement, without_values, xa_id_of
from seatunnel_core.connectors.mysql_log.values.compressed_value import uncompressed_part

Event = tuple[bytes, int, int]
"""A buffer, with the offsets of an event's header and of the end of the event."""

_FORGETTING = 4_096
"""Number of transactions between removals of cached table IDs."""

_STANDALONE = 1
"""Flag of a MariaDB transaction with a single statement and without COMMIT."""

_BEGIN_BYTES = 19
"""Minimum size of the body of a query event with the statement ``BEGIN``."""

_HEADER = HEADER.unpack_from
_OF_FILES = (et.FORMAT_DESCRIPTION, et.ROTATE)
"""Event types at the start and end of log files. A server also generates such events, with or without a checksum."""

_FIRST_OFFSET = 4


class LogDecoder:
    """Decodes log events to batches, with at most one batch in memory."""

    def __init__(
        self,
        tables: Tables,
        start: LogPosition,
        *,
        rules: ValueRules | None = None,
        batch_rows: int = 65_536,
        batch_bytes: int = 32 << 20,
        stop: Callable[[Transaction], bool] | None = None,
    ) -> None:
        """Create a decoder.

        Args:
            tables: Selects the tables to capture.
            start: Position of the first event, which must not be inside a transaction.
            rules: Settings for the representation of values.
            batch_rows: Number of rows at which a batch ends, even inside a transaction. A batch may be larger, because
                row events are not divided.
            batch_bytes: Size of the row events at which a batch ends, in bytes.
            stop: Called at the end of each transaction. If it returns True, the stream ends.
        """
        self._captured, self._stop = tables, stop
        self._batch_rows, self._batch_bytes = batch_rows, batch_bytes
        self._rows = ChangedRows(tables, rules or ValueRules())
        self._file, self._offset = start.file, start.offset
        self._stopped = False
        self._tail = 0  # size of the checksum after each event, in bytes
        self._transaction: Transaction | None = None
        self._explicit = self._has_rows = False
        self._last_begin: bytes | None = None  # body of the last BEGIN event; most of these are equal
        self._payload_offset: int | None = None  # of the compressed transaction whose events are decoded
        self._next_transaction = 0
        self._transactions: list[Transaction] = []
        self._handlers = self._all_handlers()

    def _all_handlers(self) -> dict[int, Callable[[bytes, int, int, int], ChangeBatch | None]]:
        rows = (*et.INSERTS, *et.UPDATES, *et.DELETES)
        return {
            **dict.fromkeys(et.WITHOUT_ROWS, _ignored),
            **dict.fromkeys(rows, self._changed_rows),
            **dict.fromkeys((et.STOP, et.START_ENCRYPTION), _ignored),
            **dict.fromkeys((et.QUERY, et.QUERY_COMPRESSED, et.EXECUTE_LOAD_QUERY), self._query),
            **dict.fromkeys((et.GTID, et.ANONYMOUS_GTID, et.TAGGED_GTID), self._gtid),
            **dict.fromkeys((et.HEARTBEAT, et.HEARTBEAT_V2), self._heartbeat),
            et.MARIA_GTID: self._maria_gtid,
            et.TABLE_MAP: self._table_map,
            et.XID: self._xid,
            et.XA_PREPARE: self._xa_prepare,
            et.ROTATE: self._rotate,
            et.FORMAT_DESCRIPTION: self._format,
            et.INCIDENT: self._incident,
        }

    # -- the stream -----------------------------------------------------------------------------------------------

    def batches(self, events: Iterable[Event | None]) -> Iterator[ChangeBatch]:
        """Decode events.

        Args:
            events: Events in log order. ``None`` means that no event is currently available and ends the batch.

        Yields:
            Batches. The last batch marks the end of the stream.

        Raises:
            LogError: The log cannot be decoded. The message contains the position.
        """
        for event in events:
            found = self._batch(Reason.IDLE) if event is None else self._event(event)
            if found is None:
                continue
            if isinstance(found, ChangeBatch):
                yield found
            else:
                yield from found
            if self._stopped:
                return
        yield self._batch(Reason.END)

    def _event(self, event: Event) -> ChangeBatch | Iterator[ChangeBatch] | None:
        data, start, end = event
        try:
            timestamp, kind, _, size, log_pos, flags = _HEADER(data, start)
            if size != end - start:
                raise MalformedLogError(f"the header of the event states {size} bytes, but the event has {end - start}")
            if kind not in _OF_FILES:
                if log_pos:
                    offset = self._offset + size
                    self._offset = offset if offset & 0xFFFFFFFF == log_pos else unwrapped(offset, log_pos)
                if self._tail:
                    if crc32(data[start:end]) != CHECKED:
                        raise MalformedLogError("the checksum of the event is wrong")
                    end -= CHECKSUM_BYTES
            handler = self._handlers.get(kind)
            if handler is not None:
                return handler(data, start, end, timestamp)
            if kind == et.TRANSACTION_PAYLOAD:
                return self._payload(data, start, end)
            _require_ignorable(flags)
            return None
        except (LogError, UnicodeDecodeError, NotImplementedError, *DAMAGED) as error:
            raise self._located(error, data, start) from None

    def _located(self, error: Exception, data: bytes, start: int) -> LogError:
        """Return the error with the position and the type of the event added to its message."""
        kind = data[start + 4] if len(data) > start + 4 else 0
        where = f"{self._file}, the event {et.name_of(kind)} ({kind}) that ends at {self._offset}"
        if isinstance(error, NotImplementedError):
            return UnsupportedLogError(
                f"{where}: a JSON document is logged as a partial update, without the previous document; run SET "
                "GLOBAL binlog_row_image = 'FULL' or SET GLOBAL binlog_row_value_options = '' on the server"
            )
        if isinstance(error, LogError):
            return type(error)(f"{where}: {error}")
        return MalformedLogError(f"{where}: the event is damaged or incomplete: {error}")

    def _payload(self, data: bytes, start: int, end: int) -> Iterator[ChangeBatch]:
        """Decode the events of a compressed transaction. Not tested with a server."""
        self._payload_offset = self._offset - end + start - self._tail
        try:
            for inner, first, last in payload_events(data[start + HEADER_BYTES : end]):
                timestamp, kind, _, _, _, flags = _HEADER(inner, first)
                handler = self._handlers.get(kind)
                if handler is None:
                    _require_ignorable(flags)
                elif (batch := handler(inner, first, last, timestamp)) is not None:
                    yield batch
        except (LogError, UnicodeDecodeError, NotImplementedError, *DAMAGED) as error:
            raise self._located(error, data, start) from None
        self._payload_offset = None

    def _batch(self, reason: Reason) -> ChangeBatch:
        """Return the collected batch, and start a new one."""
        rows = self._rows.rows
        self._stopped = reason is Reason.STOP
        found = ChangeBatch(
            reason=reason,
            position=self._transaction.begin if self._transaction else LogPosition(self._file, self._offset),
            transactions=tuple(self._transactions),
            changes=self._rows.taken(),
            rows=rows,
        )
        self._transactions = [] if self._transaction is None else [self._transaction]
        return found

    # -- transactions ---------------------------------------------------------------------------------------------

    def _begin(self, begin: int, timestamp: int, gtid: bytes, *, explicit: bool) -> None:
        if self._transaction is not None:
            if self._has_rows:
                raise MalformedLogError("a transaction begins before another one has ended")
            self._closed(self._transaction, Outcome.COMMITTED, begin)
        number = self._next_transaction
        self._transaction = found = Transaction(number, self._file, begin, timestamp, gtid)
        self._transactions.append(found)
        self._next_transaction = number + 1
        self._explicit, self._has_rows = explicit, False
        if number % _FORGETTING == 0:
            self._rows.forget_ids()

    def _gtid(self, data: bytes, start: int, end: int, timestamp: int) -> None:
        self._begin(self._offset - end + start - self._tail, timestamp, data[start:end], explicit=False)

    def _maria_gtid(self, data: bytes, start: int, end: int, timestamp: int) -> None:
        explicit = not data[start + HEADER_BYTES + 12] & _STANDALONE
        self._begin(self._offset - end + start - self._tail, timestamp, data[start:end], explicit=explicit)

    def _end(self, outcome: Outcome, xa: XaId | None = None) -> ChangeBatch | None:
        found = self._transaction
        if found is None:
            raise MalformedLogError(
                "the beginning of the transaction that the event ends was not read, because the start position is "
                "inside a transaction; choose a start position between two transactions"
            )
        self._closed(found, outcome, self._offset, xa)
        if self._stop is not None and self._stop(found):
            return self._batch(Reason.STOP)
        return self._batch(Reason.FULL) if len(self._transactions) >= self._batch_rows else None

    def _closed(self, found: Transaction, outcome: Outcome, end: int, xa: XaId | None = None) -> None:
        found.end_file, found.end_offset, found.outcome, found.xa = self._file, end, outcome, xa
        self._transaction = None

    def _xid(self, data: bytes, start: int, end: int, timestamp: int) -> ChangeBatch | None:
        return self._end(Outcome.COMMITTED)

    def _xa_prepare(self, data: bytes, start: int, end: int, timestamp: int) -> ChangeBatch | None:
        xa, one_phase = xa_prepare_of(data[start + HEADER_BYTES : end])
        return self._end(Outcome.COMMITTED if one_phase else Outcome.PREPARED, xa)

    # -- statements -----------------------------------------------------------------------------------------------

    def _query(self, data: bytes, start: int, end: int, timestamp: int) -> ChangeBatch | None:
        kind, body = data[start + 4], data[start + HEADER_BYTES : end]
        if kind == et.QUERY and (body == self._last_begin or _is_begin(body)):
            self._last_begin = body
            if self._transaction is None:
                self._begin(self._offset - end + start - self._tail, timestamp, b"", explicit=True)
            self._explicit = True
            return None
        found = query_of(_plain_query(kind, body))
        meaning = StatementKind.ROWS if kind == et.EXECUTE_LOAD_QUERY else kind_of_statement(found.text)
        if self._transaction is None and meaning is not StatementKind.COMMIT:
            self._begin(self._offset - end + start - self._tail, timestamp, b"", explicit=False)
        if meaning in (StatementKind.BEGIN, StatementKind.XA_START):
            self._explicit = True
        elif meaning is StatementKind.COMMIT:
            return self._end(Outcome.COMMITTED)
        elif meaning in (StatementKind.ROLLBACK, StatementKind.ROLLBACK_TO):
            return self._rolled_back(meaning)
        elif meaning in (StatementKind.XA_COMMIT, StatementKind.XA_ROLLBACK):
            commits = meaning is StatementKind.XA_COMMIT
            return self._end(Outcome.XA_COMMITTED if commits else Outcome.XA_ROLLED_BACK, xa_id_of(found.text))
        elif meaning in (StatementKind.ROWS, StatementKind.DEFINITION):
            return self._statement(found, meaning)
        return None

    def _rolled_back(self, meaning: StatementKind) -> ChangeBatch | None:
        if self._has_rows:
            raise UnsupportedLogError(
                f"a {meaning.value} follows rows of captured tables: the transaction also changed tables with a "
                "storage engine that does not support transactions; read the changed tables again"
            )
        return self._end(Outcome.COMMITTED) if meaning is StatementKind.ROLLBACK else None

    def _statement(self, found: QueryEvent, meaning: StatementKind) -> ChangeBatch | None:
        transaction = self._transaction
        assert transaction is not None
        if meaning is StatementKind.ROWS and self._captured.may_change_rows(found):
            raise StatementLoggedError(
                f"a statement changed rows that are not in the log ({without_values(found.text)!r}); run SET GLOBAL "
                "binlog_format = 'ROW' on the server, and read the changed tables again"
            )
        stopped = None if self._explicit else self._end(Outcome.COMMITTED)
        if meaning is StatementKind.ROWS or transaction.alters_nothing or not self._captured.concerned_by(found):
            return stopped
        statement = Statement(
            kind=meaning,
            database=found.database,
            text=found.text,
            databases=found.databases,
            transaction=transaction,
        )
        if stopped is not None and stopped.reason is Reason.STOP:
            return evolve(stopped, statement=statement)
        batch = stopped or self._batch(Reason.STATEMENT)
        self._rows.forget_tables(found.text)
        return evolve(batch, reason=Reason.STATEMENT, statement=statement)

    # -- rows -----------------------------------------------------------------------------------------------------

    def _table_map(self, data: bytes, start: int, end: int, timestamp: int) -> None:
        self._rows.describe(data, start, end)

    def _changed_rows(self, data: bytes, start: int, end: int, timestamp: int) -> ChangeBatch | None:
        transaction, rows = self._transaction, self._rows
        offset = self._offset - end + start - self._tail if self._payload_offset is None else self._payload_offset
        if not rows.add(data, start, end, None if transaction is None else transaction.number, offset):
            return None
        self._has_rows = True
        full = rows.rows >= self._batch_rows or rows.bytes >= self._batch_bytes
        return self._batch(Reason.FULL) if full else None

    # -- the log itself -------------------------------------------------------------------------------------------

    def _rotate(self, data: bytes, start: int, end: int, timestamp: int) -> None:
        if crc32(data[start:end]) == CHECKED:
            end -= CHECKSUM_BYTES
        elif self._tail and timestamp:
            raise MalformedLogError("the checksum of the event is wrong")
        self._file, self._offset = rotate_of(data[start + HEADER_BYTES : end])

    def _format(self, data: bytes, start: int, end: int, timestamp: int) -> None:
        found = format_description_of(data[start + HEADER_BYTES : end])
        if found.checksums:
            body = bytearray(data[start : end - CHECKSUM_BYTES])
            body[17] &= 0xFE  # The checksum does not include the flag for a file in use.
            if crc32(body) != int.from_bytes(data[end - CHECKSUM_BYTES : end], "little"):
                raise MalformedLogError("the checksum of the event is wrong")
        self._tail = CHECKSUM_BYTES if found.checksums else 0
        self._rows.of_maria = "maria" in found.server_version.lower()
        if self._offset == _FIRST_OFFSET:
            self._offset += end - start

    def _heartbeat(self, data: bytes, start: int, end: int, timestamp: int) -> ChangeBatch:
        return self._batch(Reason.IDLE)

    def _incident(self, data: bytes, start: int, end: int, timestamp: int) -> None:
        raise LogError(
            f"the server reports that events are missing in its log ({incident_of(data[start + HEADER_BYTES : end])}); "
            "read the captured tables again"
        )


def _require_ignorable(flags: int) -> None:
    """Raise UnsupportedLogError for an unknown event unless its flags allow readers to ignore it."""
    if not flags & et.IGNORABLE_FLAG:
        raise UnsupportedLogError("events of this type are not supported, and may change rows")


def _ignored(data: bytes, start: int, end: int, timestamp: int) -> None:
    """Ignore an event without rows."""


def _is_begin(body: bytes) -> bool:
    """Return True if the statement in the body of a query event is exactly ``BEGIN``."""
    if len(body) < _BEGIN_BYTES or not body.endswith(b"\0BEGIN"):
        return False
    status_length = body[11] | body[12] << 8
    return 13 + status_length + body[8] + 6 == len(body)


def _plain_query(kind: int, body: bytes) -> bytes:
    """Convert the body of a query event of another type to the plain format."""
    if kind == et.EXECUTE_LOAD_QUERY:
        return body[:13] + body[26:]
    if kind == et.QUERY_COMPRESSED:
        status_length = int.from_bytes(body[11:13], "little")
        head = 13 + status_length + body[8] + 1
        return body[:head] + uncompressed_part(body[head:])
    return body
