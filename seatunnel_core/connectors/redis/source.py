"""The source ``Redis``: the values of keys that match a pattern."""

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar

import pyarrow as pa
from attrs import frozen

from seatunnel_core import stored
from seatunnel_core.connector_api.batch import Batch, RowKind, TableSchema
from seatunnel_core.connector_api.errors import RowError, SourceError, UsageError
from seatunnel_core.connector_api.option import Option, Options
from seatunnel_core.connector_api.source import DiscoveredObject, Enumeration, PlanningContext, ReadContext, Source
from seatunnel_core.connector_api.values import Split
from seatunnel_core.connectors.kafka.decoding import Decoder, Rows, declared_or_content
from seatunnel_core.connectors.redis import options as opt
from seatunnel_core.connectors.redis.server import OWN, Server, shown
from seatunnel_core.rows.native_json import parsed

MOST_KEYS = 500_000
"""Estimated number of keys of a split, which it keeps in memory to recognise keys that SCAN returns twice."""

_BATCH_ROWS = 8_192

_READING: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("key", "string"), ("GET",)),
    "hash": ("HGETALL",),
    "list": ("LRANGE", 0, -1),
    "set": ("SMEMBERS",),
    "zset": ("ZRANGE", 0, -1),
}
"""Command that reads a value; the key follows its name."""


@frozen
class _Found:
    """A row in the form that the message decoder takes."""

    where: str
    content: Any
    """The value as it is, or the row by the names of its columns."""

    def value(self) -> Any:
        return self.content


def _where(found: _Found) -> str:
    return found.where


class _RowDecoder(Decoder):
    """The decoder of rows that are given by the names of their columns."""

    def _fast(self, messages: Sequence[Any], context: ReadContext) -> None:
        return None

    def _decode(self) -> Callable[[Any], Rows]:
        return lambda row: ((RowKind.INSERT, row),)


class RedisSource(Source):
    """A split reads the keys with certain checksums, each value as a whole."""

    identifier: ClassVar[str] = "Redis"
    declared: ClassVar[tuple[Option[Any], ...]] = opt.SOURCE_OPTIONS
    task_modules: ClassVar[tuple[str, ...]] = ("redis",)
    beside_tables = frozenset(option.key for option in opt.SERVER)
    caveat = "Not so for keys that change, expire or appear while the job runs: a repeated read has their new values"
    example = 'host = "localhost", keys = "user:*", data_type = hash, schema { fields { id = bigint, name = string } }'

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._server = Server.of(options)
        opt.check_delimiter(options)
        self._type, self._single = options[opt.DATA_TYPE], options[opt.SINGLE]
        self._schema, self._declared = declared_or_content(options)
        columns = self._schema.columns.names
        kv = self._type == "hash" and options[opt.HASH_MODE] == "kv"
        self._each_field = kv and not options[opt.READ_KEY]
        named = kv or options[opt.READ_KEY]
        if named and not self._declared:
            raise UsageError("option 'schema': it is missing; declare a column for the key, or with kv for the field")
        default = columns[0] if self._each_field else "key"
        self._name: str | None = (options[opt.KEY_FIELD] or default) if named else None
        for name in filter(None, (self._name, self._single)):
            if name not in columns:
                raise UsageError(f"option 'schema': it lacks the column {name!r}; it has {', '.join(columns)}")
        if self._name and self._name == self._single:
            raise UsageError(f"option 'single_field_name': {self._single!r} is the column of the key; name another one")
        self._binary = frozenset(each.name for each in self._schema.columns if pa.types.is_binary(each.type))
        self.remarks = opt.without_effect(
            options,
            (opt.HASH_MODE, "data_type = hash", self._type == "hash"),
            (opt.KEY_FIELD, "read_key_enabled = true or hash_key_parse_mode = kv", named),
            (opt.SINGLE, "read_key_enabled = true or hash_key_parse_mode = kv", named or self._single in self._binary),
        )
        self._single = columns[0] if len(columns) == 1 and self._binary else self._single
        self._is_row = named or self._type == "hash" or self._single in self._binary
        self._decoder = (_RowDecoder if self._is_row else Decoder)(
            schema=self._schema,
            format="json" if self._is_row else options[opt.FORMAT],
            declared=self._declared,
            delimiter=options[opt.DELIMITER],
            place=_where,
        )

    def planned_schemas(self) -> tuple[TableSchema, ...]:
        return (self._schema,)

    def require_input(self) -> None:
        with self._server.client(SourceError) as client:
            client.ping()

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        with self._server.client(SourceError) as client:
            keys = client.dbsize()
        parts = max(planning.parallelism, -(-keys // MOST_KEYS))
        rows = max(1, keys // parts)
        splits = (
            Split(index=part, weight_bytes=rows * 100, rows=rows, body={"part": part, "of": parts})
            for part in range(parts)
        )
        return Enumeration(schemas=(self._schema,), splits=tuple(splits))

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        part, parts = stored.number(split.body, "part"), stored.number(split.body, "of", least=1)
        seen, size = set[bytes](), self.options[opt.BATCH]
        with self._server.client(SourceError) as client:
            scanned = client.scan_iter(self.options[opt.KEYS], size)
            while some := list(islice(scanned, size)):
                mine = (key for key in some if zlib.crc32(key) % parts == part and not key.startswith(OWN))
                keys = [key for key in dict.fromkeys(mine) if key not in seen]
                seen.update(keys)
                found = self._found(client, keys, context)
                while some_rows := list(islice(found, _BATCH_ROWS)):
                    yield from self._decoder.batches(some_rows, context)

    def _found(self, client: Any, keys: Sequence[bytes], context: ReadContext) -> Iterator[_Found]:
        """Yield a row for each value, element or field of the keys; none for a key that expired meanwhile."""
        requests = client.pipeline(transaction=False)
        command, *arguments = _READING[self._type]
        for key in keys:
            requests.execute_command(command, key, *arguments)
        for key, value in zip(keys, requests.execute(raise_on_error=False), strict=True):
            where = f"key {shown(key)}"
            if isinstance(value, Exception):
                raise self._server.failed(SourceError, value, f"{where}: ")
            for part, name, content in self._parts(key, value):
                try:
                    yield _Found(where + part, self._row(name, content) if self._is_row else content)
                except ValueError as error:
                    context.skip(RowError(f"{where}{part}: {error}"))

    def _parts(self, key: bytes, value: Any) -> Iterable[tuple[str, bytes, Any]]:
        """Return the parts of a value that become rows: location, key or field, and content."""
        if self._each_field:
            return [(f", field {shown(name)}", name, each) for name, each in sorted(value.items())]
        if isinstance(value, dict | bytes):
            return [("", key, value)] if value != {} else []
        elements = sorted(value) if isinstance(value, set) else value or ()
        return [(f", element {number}", key, each) for number, each in enumerate(elements, 1)]

    def _row(self, name: bytes, content: Any) -> Mapping[str, Any]:
        """Return a row: the fields of a hash or object, or the value in the column for it; and the key or field."""
        row = self._of_hash(content) if isinstance(content, dict) else self._of_value(content)
        if self._name:
            row[self._name] = self._plain(self._name, name)
        return row

    def _of_hash(self, content: Mapping[bytes, bytes]) -> dict[str, Any]:
        if not self._declared:
            return {"content": json.dumps({k.decode(): v.decode() for k, v in content.items()}, ensure_ascii=False)}
        texts = {field.decode(errors="backslashreplace"): value for field, value in content.items()}
        return {name: self._plain(name, value) for name, value in texts.items()}

    def _of_value(self, content: bytes) -> dict[str, Any]:
        """Return the object that a value contains, unless it is bytes; else the value in its column."""
        if self._single not in self._binary:
            try:
                row = parsed(content)
            except ValueError:
                row = None
            if isinstance(row, dict):
                return row
            if not self._single:
                raise ValueError("expected an object {…}; write single_field_name, the column of other values")
        return {self._single: self._plain(self._single, content)}

    def _plain(self, column: str, value: bytes) -> str | bytes:
        """Return the bytes for a column of bytes, and for one that nothing reads; else the text."""
        return value if column in self._binary or column not in self._schema.columns.names else value.decode()
