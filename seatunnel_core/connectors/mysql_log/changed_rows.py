"""Changed rows of all captured tables, before conversion to Arrow."""

from hashlib import sha256

import pyarrow as pa

from seatunnel_core.connectors.mysql_log import event_types as et
from seatunnel_core.connectors.mysql_log.captured_tables import Tables
from seatunnel_core.connectors.mysql_log.change_batch import LogTable, TableChanges
from seatunnel_core.connectors.mysql_log.columns import ValueRules, columns_of
from seatunnel_core.connectors.mysql_log.errors import MalformedLogError
from seatunnel_core.connectors.mysql_log.events import HEADER_BYTES
from seatunnel_core.connectors.mysql_log.fields import Fields
from seatunnel_core.connectors.mysql_log.row_collector import RowCollector
from seatunnel_core.connectors.mysql_log.table_map import table_map_of
from seatunnel_core.connectors.mysql_log.values.compressed_value import uncompressed_part

_ID_END = HEADER_BYTES + 6
_BODY = HEADER_BYTES + 8
"""Offset in a row event after the table ID and the flags."""

_NO_TABLE = b"\xff\xff\xff\0\0\0"
"""Table ID of an event that contains no rows and ends a statement."""

_FORMS = {
    kind: (kind in et.WITH_EXTRA_DATA, kind in et.UPDATES, kind in et.COMPRESSED_ROWS)
    for kind in (*et.INSERTS, *et.UPDATES, *et.DELETES)
}
"""Flags of each event type: extra data, images before and after an update, compressed rows."""

_MOST_IDS = 10_000
"""Maximum number of cached table IDs. If there are more, all are removed at the beginning of a transaction."""


class ChangedRows:
    """Changed rows of each table, with the table maps from the log."""

    def __init__(self, captured: Tables, rules: ValueRules) -> None:
        self._captured, self._rules = captured, rules
        self._by_shape: dict[bytes, RowCollector | None] = {}
        self._by_id: dict[bytes, RowCollector | None] = {}
        self._described: bytes | None = None  # body of the last table map event, if its table ID is cached
        self._filled: list[RowCollector] = []
        self._events = 0
        self.of_maria = False
        """True if MariaDB wrote the log."""

        self.rows = 0
        """Number of rows added since the last call to ``taken``."""

        self.bytes = 0
        """Total size of the events of these rows, in bytes."""

    def forget_ids(self) -> None:
        """Remove cached table IDs if there are many. The log repeats table maps before the rows of each statement."""
        if len(self._by_id) > _MOST_IDS:
            self._clear_ids()

    def _clear_ids(self) -> None:
        self._by_id.clear()
        self._described = None

    def forget_tables(self, statement: str) -> None:
        """Remove the tables that a DDL statement names, because it may change properties that the log does not contain.

        Raises:
            AssertionError: Rows were added since the last call to ``taken``.
        """
        assert not self._filled
        text = statement.lower().replace("``", "`")
        for shape, collector in [*self._by_shape.items()]:
            if collector is None or collector.table.name.lower() in text:
                del self._by_shape[shape]  # A table that was not captured may be captured now.
        self._clear_ids()

    def describe(self, data: bytes, start: int, end: int) -> None:
        """Process a table map event.

        Raises:
            LogError: A captured table has columns that are not supported or not declared.
        """
        described = data[start + HEADER_BYTES : end]
        if described == self._described:
            return
        shape = data[start + _BODY : end]
        if shape not in self._by_shape:
            self._by_shape[shape] = self._collector(shape)
        self._by_id[data[start + HEADER_BYTES : start + _ID_END]] = self._by_shape[shape]
        self._described = described

    def add(self, data: bytes, start: int, end: int, transaction: int | None, offset: int) -> bool:
        """Add the rows of an event, and return True if its table is captured.

        Args:
            data: A buffer.
            start: Offset of the event's header in the buffer.
            end: Offset after the event.
            transaction: Number of its transaction; ``None`` if none has begun.
            offset: File offset of the event.

        Raises:
            LogError: The rows cannot be read.
        """
        try:
            collector = self._by_id[data[start + HEADER_BYTES : start + _ID_END]]
        except KeyError:
            return self._without_table(data[start + HEADER_BYTES : start + _ID_END])
        if collector is None:
            return False
        if transaction is None:
            raise MalformedLogError(
                "the beginning of the event's transaction was not read, because the start position is inside a "
                "transaction; choose a start position between two transactions"
            )
        kind, at = data[start + 4], start + _BODY
        extra, updates, compressed = _FORMS[kind]
        if extra:
            at += data[at] | data[at + 1] << 8
        head = at + (collector.update_head_bytes if updates else collector.head_bytes)
        layout = collector.layout(kind, data[at:head])
        if not collector.rows:
            self._filled.append(collector)
        self._events += 1
        event = self._events, transaction, offset
        if compressed:
            part = uncompressed_part(data[head:end])
            self.rows += collector.add(layout, part, 0, len(part), event)
        else:
            self.rows += collector.add(layout, data, head, end, event)
        self.bytes += end - start
        return True

    def _without_table(self, table_id: bytes) -> bool:
        if table_id == _NO_TABLE:
            return False
        raise MalformedLogError(
            "no table map event precedes this event, because the start position is inside a transaction; choose a "
            "start position between two transactions"
        )

    def taken(self) -> tuple[TableChanges, ...]:
        """Return all rows as Arrow data, and remove them."""
        found = tuple(collector.taken() for collector in self._filled if collector.rows)
        self._filled = []
        self.rows = self.bytes = 0
        return found

    def _collector(self, shape: bytes) -> RowCollector | None:
        """Return the collector for the rows of a table; ``None`` if the table is not captured."""
        fields = Fields(shape, "a table map event")
        database = fields.sized().decode()
        fields.take(1)
        name = fields.sized().decode()
        declared = self._captured.columns(database, name)
        if declared is None:
            return None
        found = table_map_of(shape, of_maria=self.of_maria)
        if not self._captured.reads(found):
            return None
        logged = columns_of(found, declared, self._rules, self._captured.selects(database, name))
        visible = tuple(column for column in logged if not column.hidden)
        schema = pa.schema([pa.field(column.name, column.arrow) for column in visible])
        key = None if found.key is None else tuple(logged[number].name for number in found.key)
        table = LogTable(
            database=database,
            name=name,
            columns=visible,
            logged=logged,
            key=key,
            schema=schema,
            fingerprint=sha256(shape).hexdigest()[:16],
        )
        return RowCollector(table)
