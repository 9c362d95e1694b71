"""The source ``Redis``: the values of keys that match a pattern."""

import json
import zlib
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, ClassVar

import pyarrow as pa
from attrs import frozen

from seatunnel_core import stored
from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import RowError, SourceError, UsageError
from seatunnel_core.connector_api.option import Option, Options
from seatunnel_core.connector_api.source import DiscoveredObject, Enumeration, PlanningContext, ReadContext, Source
from seatunnel_core.connector_api.values import Split
from seatunnel_core.connectors.kafka.decoding import Decoder, declared_or_content
from seatunnel_core.connectors.redis import options as opt
from seatunnel_core.connectors.redis.server import OWN, Server

MOST_KEYS = 500_000
"""Estimated number of keys of a split, which it keeps in memory to recognise keys that SCAN returns twice."""

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
    content: bytes

    def value(self) -> bytes:
        return self.content


def _where(found: _Found) -> str:
    return found.where


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
        self._type, self._single = options[opt.DATA_TYPE], options[opt.SINGLE]
        self._schema, declared = declared_or_content(options)
        columns = self._schema.columns.names
        each_field = self._type == "hash" and options[opt.HASH_MODE] == "kv"
        if each_field and options[opt.READ_KEY]:
            raise UsageError(
                "option 'read_key_enabled': it does not go with hash_key_parse_mode = kv; remove one of them"
            )
        named = each_field or options[opt.READ_KEY]
        self._name: str | None = options[opt.KEY_FIELD] or (columns[0] if each_field else "key") if named else None
        self._each_field = each_field
        for name in (self._name, self._single):
            if name and name not in columns:
                raise UsageError(f"option 'schema': it lacks the column {name!r}; it has {', '.join(columns)}")
        binary = [each.name for each in self._schema.columns if pa.types.is_binary(each.type)]
        self._binary = frozenset(binary)
        self._single = binary[0] if len(columns) == 1 and binary else self._single
        is_object = named or self._single in self._binary or self._type == "hash"
        self._decoder = Decoder(
            schema=self._schema,
            format="json" if is_object else options[opt.FORMAT],
            declared=declared,
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
                yield from self._decoder.batches(list(self._found(client, keys, context)), context)

    def _found(self, client: Any, keys: Sequence[bytes], context: ReadContext) -> Iterator[_Found]:
        """Yield a row for each value, element or field of the keys; none for a key that expired meanwhile."""
        requests = client.pipeline(transaction=False)
        command, *arguments = _READING[self._type]
        for key in keys:
            requests.execute_command(command, key, *arguments)
        for key, value in zip(keys, requests.execute(raise_on_error=False), strict=True):
            where = f"key {key.decode(errors='backslashreplace')!r}"
            if isinstance(value, Exception):
                raise self._server.failed(SourceError, f"{where}: {value}")
            for part, name, content in self._parts(key, value):
                try:
                    yield _Found(where + part, self._row(name, content))
                except ValueError as error:
                    context.skip(RowError(f"{where}{part}: {error}"))

    def _parts(self, key: bytes, value: Any) -> Iterable[tuple[str, bytes, Any]]:
        """Return the parts of a value that become rows: location, key or field, and content."""
        if self._each_field:
            return [(f", field {name!r}", name, each) for name, each in sorted(value.items())]
        if isinstance(value, dict | bytes):
            return [("", key, value)] if value != {} else []
        elements = sorted(value) if isinstance(value, set) else value or ()
        return [(f", element {number}", key, each) for number, each in enumerate(elements, 1)]

    def _row(self, name: bytes, content: Any) -> bytes:
        """Return the input of the decoder: an object with the key or field, or only the content."""
        row = {self._name: name.decode()} if self._name else {}
        if isinstance(content, dict):
            texts = {field.decode(): self._text(field.decode(), value) for field, value in content.items()}
            return json.dumps({**texts, **row}, ensure_ascii=False).encode()
        if not row and self._single not in self._binary:
            return bytes(content)
        if content.startswith(b"{") and content.endswith(b"}") and self._single not in self._binary:
            before, comma = content[:-1].decode(), ", " if content[1:-1].strip() else ""
            return f"{before}{comma}{json.dumps(row)[1:]}".encode()
        if not self._single:
            raise ValueError("expected an object {…}; write single_field_name, the column of other values")
        return json.dumps({**row, self._single: self._text(self._single, content)}).encode()

    def _text(self, column: str, value: bytes) -> str:
        return (b64encode(value) if column in self._binary else value).decode()
