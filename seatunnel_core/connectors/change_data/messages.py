"""Debezium messages for captured rows: the output of a source with ``format = COMPATIBLE_DEBEZIUM_JSON``."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, evolve, field, frozen

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import SourceError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.change_data.column_rules import is_rule
from seatunnel_core.connectors.change_data.debezium_columns import message_schema, with_message_types
from seatunnel_core.connectors.change_data.log_order import LoggedRows, runs
from seatunnel_core.connectors.change_data.options import DEBEZIUM, FORMAT
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.messages.debezium_envelopes import MESSAGES, DebeziumFormat, Message, message_rows
from seatunnel_core.rows.columns import sliced
from seatunnel_core.rows.kind import RowKind

TABLE = TableSchema(table="default.default", columns=MESSAGES)
"""The only table of a source that emits messages, named as in SeaTunnel."""

_SERVERS = ("topic.prefix", "database.server.name")
_KEY_SCHEMAS, _VALUE_SCHEMAS = "key.converter.schemas.enable", "value.converter.schemas.enable"
_TOMBSTONES = "tombstones.on.delete"
_KNOWN = (*_SERVERS, _KEY_SCHEMAS, _VALUE_SCHEMAS, _TOMBSTONES)
_MOST_ROWS = 2_000
"""Maximum number of rows encoded at once. It is low because each message may contain the schema of its table."""

_TABLE_ROWS, _MANY_ROWS = 40, 20_000
"""Average number of rows of a table encoded at once, and maximum number of rows, if there are many tables."""

_NAMES = {
    "mysql": "mysql_binlog_source",
    "mariadb": "mariadb_binlog_source",
    "postgresql": "postgres_cdc_source",
}
"""Default server name by connector."""


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


@frozen(kw_only=True)
class Messages:
    """Encoder that turns rows into Debezium messages; picklable."""

    form: DebeziumFormat
    now_ms: Callable[[], int] = field(default=_now_ms, repr=False)

    @classmethod
    def of(cls, options: Options, connector: str) -> "Messages | None":
        """Return the encoder for a job's options; ``None`` for ``format = DEFAULT``.

        Raises:
            UsageError: A Debezium property has an invalid value.
        """
        if options[FORMAT] == "DEFAULT":
            return None
        given: Mapping[str, str] = options[DEBEZIUM] or {}
        server = next((given[name] for name in _SERVERS if given.get(name)), _NAMES[connector])
        return cls(
            form=DebeziumFormat(
                connector=connector,
                server=server,
                key_schemas=_flag(given, _KEY_SCHEMAS, default=True),
                value_schemas=_flag(given, _VALUE_SCHEMAS, default=True),
                tombstones=_flag(given, _TOMBSTONES, default=False),
            )
        )

    def require_supported(self, tables: Sequence[Found]) -> None:
        """Raise SourceError if messages cannot represent the rows of a table."""
        for found in tables:
            schema = message_schema(found, self.form.connector)
            try:
                self.form.check(schema)
            except ValueError as error:
                raise SourceError(f"the table {schema.table}: {error}; use format = DEFAULT") from None

    def snapshot(self, batch: Batch, found: Found, where: Mapping[str, Any]) -> Iterator[Batch]:
        """Yield the messages for the rows of a chunk."""
        rows, source = batch.rows.num_rows, {"ts_ms": self.now_ms(), **where}
        numbers = np.arange(rows, dtype=np.int64)
        logged = LoggedRows(
            batch=batch, found=found, events=numbers, transactions=numbers, where=lambda: [source] * rows
        )
        yield from self.changes([logged], snapshot=True)

    def changes(self, tables: Sequence[LoggedRows], *, snapshot: bool = False) -> Iterator[Batch]:
        """Yield the messages for changed rows of several tables, in the order of the log."""
        encoders = [_TableEncoder.of(self, each, snapshot=snapshot) for each in tables]
        for sizes in _parts(tables):
            made = [message for encoder, size in zip(encoders, sizes, strict=True) for message in encoder.next(size)]
            if len(tables) > 1:
                made.sort(key=itemgetter(0))
            if made:
                yield Batch(table=TABLE.table, rows=message_rows(message for _, message in made))


@define
class _TableEncoder:
    """Encoder for the rows of a table, which are encoded in parts."""

    _messages: Messages
    _schema: TableSchema
    _rows: Batch
    _events: Sequence[int]
    _where: Sequence[Mapping[str, Any]]
    _is_snapshot: bool
    _at: int = 0

    @classmethod
    def of(cls, messages: Messages, logged: LoggedRows, *, snapshot: bool) -> "_TableEncoder":
        schema = message_schema(logged.found, messages.form.connector)
        rows = evolve(logged.batch, rows=with_message_types(logged.batch.rows, schema), origins=None)
        return cls(messages, schema, rows, logged.events.tolist(), logged.where(), snapshot)

    def next(self, size: int) -> Iterator[tuple[int, Message]]:
        """Yield the messages for the next rows, each with the number of its event."""
        start, self._at = self._at, self._at + size
        if not size:
            return
        part, where = sliced(self._rows, start, size), self._where[start : start + size]
        now, form = self._messages.now_ms(), self._messages.form
        for row, message in form.numbered(part, self._schema, where, ts_ms=now, snapshot=self._is_snapshot):
            yield self._events[start + row], message


def ignored_properties(options: Options) -> list[str]:
    """Return a note about Debezium properties that have no effect; an empty list if there are none."""
    given = [*(options[DEBEZIUM] or {})]
    known = _KNOWN if options[FORMAT] != "DEFAULT" else ()
    ignored = [name for name in given if name not in known and not is_rule(name)]
    if not ignored:
        return []
    return [f"option 'debezium': {', '.join(ignored)} has no effect, because Debezium does not read the log"]


def rows_of_events(kinds: npt.NDArray[np.int8], events: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the index of each changed row in its log event, from 0. Both rows of an update have the same index."""
    ends = (kinds != RowKind.UPDATE_BEFORE).astype(np.int64)
    before = np.cumsum(ends) - ends
    first = np.concatenate([[True], events[1:] != events[:-1]]) if len(events) else np.zeros(0, np.bool_)
    starts = np.maximum.accumulate(np.where(first, before, 0))
    found: npt.NDArray[np.int64] = before - starts
    return found


def _parts(tables: Sequence[LoggedRows]) -> Iterator[list[int]]:
    """Yield the number of rows of each table in each part of a batch. Both rows of an update are in the same part."""
    most = max(_MOST_ROWS, min(_MANY_ROWS, _TABLE_ROWS * len(tables)))
    rows, sizes = 0, [0] * len(tables)
    for table, start, size in runs([each.events for each in tables]):
        kinds, at = tables[table].batch.kinds, start
        while at < start + size:
            some = min(most - rows, start + size - at)
            if some and at + some < start + size and kinds is not None:
                some += int(kinds[at + some - 1].as_py() == RowKind.UPDATE_BEFORE)
            sizes[table] += some
            at, rows = at + some, rows + some
            if rows >= most:
                yield sizes
                rows, sizes = 0, [0] * len(tables)
    if rows:
        yield sizes


def _flag(given: Mapping[str, str], name: str, *, default: bool) -> bool:
    written = str(given.get(name, default)).lower()
    if written not in ("true", "false"):
        raise UsageError(f"option 'debezium': {name} = {given[name]!r}; expected true or false")
    return written == "true"
