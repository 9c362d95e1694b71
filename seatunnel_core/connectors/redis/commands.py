"""Rows as commands of Redis: the name, the key and at most two arguments."""

from collections.abc import Iterator

from seatunnel_core.connector_api.batch import Batch, RowKind, TableSchema
from seatunnel_core.connector_api.errors import RowError, SinkError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.column_options import require_columns
from seatunnel_core.connectors.column_template import ColumnTemplate, column_bytes, present_bytes
from seatunnel_core.connectors.file.formats.writer import FileStyle
from seatunnel_core.connectors.kafka.encoding import lines
from seatunnel_core.connectors.redis import options as opt
from seatunnel_core.connectors.redis.server import OWN, shown
from seatunnel_core.connectors.staging.table_names import VARIABLE

_REMOVED = (int(RowKind.UPDATE_BEFORE), int(RowKind.DELETE))
_COMMANDS = {
    **dict.fromkeys(("key", "string"), (("SET", "key", "value"), ("DEL", "key"))),
    "hash": (("HSET", "key", "field", "value"), ("HDEL", "key", "field")),
    "list": (("RPUSH", "key", "value"), ("LREM", "key", "one", "value")),
    "set": (("SADD", "key", "value"), ("SREM", "key", "value")),
    "zset": (("ZADD", "key", "one", "value"), ("ZREM", "key", "value")),
}
"""Commands that add and remove a value of each type."""


class RowCommands:
    """Commands for the rows of one table."""

    def __init__(self, options: Options, schema: TableSchema) -> None:
        """Raise ``SinkError`` if an option names an absent column, or the format cannot hold a column."""
        is_hash, key, placeholders = options[opt.DATA_TYPE] == "hash", options[opt.KEY], options[opt.CUSTOM]
        if not placeholders and "${" in VARIABLE.sub("", key):
            raise SinkError(f"option 'key': {key!r} has columns; add support_custom_key = true")
        value = opt.HASH_VALUE if is_hash else opt.VALUE
        self._value: str | None = options[value]
        self._field: str | None = options[opt.HASH_KEY] if is_hash else None
        self._commands = _COMMANDS[options[opt.DATA_TYPE]]
        self._key = ColumnTemplate(opt.KEY.key, key, schema, placeholders=placeholders)
        require_columns(value.key, filter(None, [self._value]), schema)
        require_columns(opt.HASH_KEY.key, filter(None, [self._field]), schema)
        self._style = FileStyle(format=options[opt.FORMAT], delimiter=options[opt.DELIMITER])
        self._by_column = is_hash and not self._field
        if not self._by_column and not self._value:
            self._style.writer.refuse(schema.columns)

    def of(self, batch: Batch) -> Iterator[tuple[str | bytes, ...]]:
        """Yield the commands of a batch, in order.

        Raises:
            RowError: A key is null or belongs to the sink's state, or a value has no text.
        """
        rows, keys = batch.rows, self._key.values(batch.rows)
        for key in keys:
            if key.startswith(OWN):
                raise RowError(f"key {shown(key)}: keys that begin with {OWN.decode()} are the sink's own state")
        kinds = [0] * len(keys) if batch.kinds is None else batch.kinds.to_pylist()
        if self._by_column:
            columns = [(name.encode(), column_bytes(rows, name)) for name in rows.schema.names]
            parts = ((row, name, values[row]) for row in range(len(keys)) for name, values in columns)
        else:
            values = column_bytes(rows, self._value) if self._value else lines(self._style, rows)
            fields = present_bytes(rows, self._field) if self._field else [b""] * len(keys)
            parts = ((row, fields[row], values[row] or b"") for row in range(len(keys)))
        for row, field, value in parts:  # a null column is removed from its hash
            words = {"key": keys[row], "field": field, "value": value, "one": b"1"}
            name, *arguments = self._commands[value is None or kinds[row] in _REMOVED]
            yield (name, *(words[argument] for argument in arguments))
