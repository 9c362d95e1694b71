"""Debezium messages for captured rows: the output of a source with ``format = COMPATIBLE_DEBEZIUM_JSON``."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import SourceError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.change_data.column_rules import is_rule
from seatunnel_core.connectors.change_data.debezium_columns import message_schema, with_message_types
from seatunnel_core.connectors.change_data.options import DEBEZIUM, FORMAT
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.messages.debezium_envelopes import MESSAGES, DebeziumFormat
from seatunnel_core.rows.kind import RowKind

TABLE = TableSchema(table="default.default", columns=MESSAGES)
"""The only table of a source that emits messages, named as in SeaTunnel."""

_SERVERS = ("topic.prefix", "database.server.name")
_KEY_SCHEMAS, _VALUE_SCHEMAS = "key.converter.schemas.enable", "value.converter.schemas.enable"
_TOMBSTONES = "tombstones.on.delete"
_KNOWN = (*_SERVERS, _KEY_SCHEMAS, _VALUE_SCHEMAS, _TOMBSTONES)
_MOST_ROWS = 2_000
"""Maximum number of rows encoded at once. It is low because each message may contain the schema of its table."""

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
        now = self.now_ms()
        yield from self._batches(batch, found, [{"ts_ms": now, **where}] * batch.rows.num_rows, snapshot=True)

    def changes(self, batch: Batch, found: Found, where: Sequence[Mapping[str, Any]]) -> Iterator[Batch]:
        """Yield the messages for changed rows."""
        yield from self._batches(batch, found, where, snapshot=False)

    def _batches(
        self, batch: Batch, found: Found, where: Sequence[Mapping[str, Any]], *, snapshot: bool
    ) -> Iterator[Batch]:
        schema = message_schema(found, self.form.connector)
        typed = with_message_types(batch.rows, schema)
        for start, size in _parts(batch):
            part = Batch(
                table=TABLE.table,
                rows=typed.slice(start, size),
                kinds=None if batch.kinds is None else batch.kinds.slice(start, size),
                absent={name: mask.slice(start, size) for name, mask in batch.absent.items()},
            )
            sources = where[start : start + size]
            made = self.form.messages(part, schema, sources, ts_ms=self.now_ms(), snapshot=snapshot)
            if made.rows.num_rows:
                yield made


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


def _parts(batch: Batch) -> Iterator[tuple[int, int]]:
    """Yield the offset and length of each part of a batch. Both rows of an update are in the same part."""
    start, count = 0, batch.rows.num_rows
    while start < count:
        size = min(_MOST_ROWS, count - start)
        if start + size < count and batch.kinds is not None:
            size += int(batch.kinds[start + size - 1].as_py() == RowKind.UPDATE_BEFORE)
        yield start, size
        start += size


def _flag(given: Mapping[str, str], name: str, *, default: bool) -> bool:
    written = str(given.get(name, default)).lower()
    if written not in ("true", "false"):
        raise UsageError(f"option 'debezium': {name} = {given[name]!r}; expected true or false")
    return written == "true"
