"""The source ``Redis``: the values of keys that match a pattern."""

import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, ClassVar

from seatunnel_core import stored
from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import SourceError, UsageError
from seatunnel_core.connector_api.option import Option, Options
from seatunnel_core.connector_api.source import DiscoveredObject, Enumeration, PlanningContext, ReadContext, Source
from seatunnel_core.connector_api.values import Split
from seatunnel_core.connectors.keyed.rows import KeyedRows, shown
from seatunnel_core.connectors.messages.decoding import Message, declared_or_content
from seatunnel_core.connectors.messages.options import DELIMITER, require_delimiter
from seatunnel_core.connectors.redis import options as opt
from seatunnel_core.connectors.redis.server import OWN, Server
from seatunnel_core.connectors.unused_options import without_effect

MOST_KEYS = 500_000
"""Estimated number of keys per split. A split keeps its keys in memory, because SCAN may return a key twice."""

_BATCH_ROWS = 8_192

_READING: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("key", "string"), ("GET",)),
    "hash": ("HGETALL",),
    "list": ("LRANGE", 0, -1),
    "set": ("SMEMBERS",),
    "zset": ("ZRANGE", 0, -1),
}
"""Commands that read a value, keyed by data type. The Redis key is inserted after the command name."""


class RedisSource(Source):
    """The keys are divided into splits by a checksum. Each value is read as a whole."""

    identifier: ClassVar[str] = "Redis"
    declared: ClassVar[tuple[Option[Any], ...]] = opt.SOURCE_OPTIONS
    task_modules: tuple[str, ...] = ("redis",)
    beside_tables = frozenset(option.key for option in opt.SERVER)
    caveat = "Exception: if keys change, expire or appear while the job runs, another read returns different rows"
    example = 'host = "localhost", keys = "user:*", data_type = hash, schema { fields { id = bigint, name = string } }'

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._server = Server.of(options)
        require_delimiter(options[DELIMITER])
        self._type = options[opt.DATA_TYPE]
        self._schema, declared = declared_or_content(options)
        kv = self._type == "hash" and options[opt.HASH_MODE] == "kv"
        each_field = kv and not options[opt.READ_KEY]
        named = kv or options[opt.READ_KEY]
        if named and not declared:
            raise UsageError(
                "option 'schema' is missing; declare a column for the key, or for the field if hash_key_parse_mode = kv"
            )
        default = self._schema.columns.names[0] if each_field else "key"
        self._rows = KeyedRows(
            self._schema,
            declared=declared,
            hashes=self._type == "hash",
            each_field=each_field,
            key=(options[opt.KEY_FIELD] or default) if named else None,
            value=options[opt.SINGLE],
            option=opt.SINGLE.key,
        )
        self._decoder = self._rows.decoder(options[opt.FORMAT], options[DELIMITER])
        naming = "read_key_enabled = true or hash_key_parse_mode = kv"
        self.remarks = without_effect(
            options,
            (opt.HASH_MODE, "data_type = hash", self._type == "hash"),
            (opt.KEY_FIELD, naming, named),
            (opt.SINGLE, naming, self._rows.uses_value_column),
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

    def _found(self, client: Any, keys: Sequence[bytes], context: ReadContext) -> Iterator[Message]:
        """Yield a row for each value, element or field of the keys. Expired keys yield no rows."""
        requests = client.pipeline(transaction=False)
        command, *arguments = _READING[self._type]
        for key in keys:
            requests.execute_command(command, key, *arguments)
        for key, value in zip(keys, requests.execute(raise_on_error=False), strict=True):
            if isinstance(value, Exception):
                raise self._server.failed(SourceError, value, f"key {shown(key)}: ")
            yield from self._rows.messages(key, value, context)
