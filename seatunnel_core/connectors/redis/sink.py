"""The sink ``Redis``: stages rows in Redis as commands, which a script executes when they are committed."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from attrs import evolve

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.capabilities import SupportsDryRun
from seatunnel_core.connector_api.errors import RowError, SinkError
from seatunnel_core.connector_api.option import Option, Options
from seatunnel_core.connector_api.sink import Guarantee, RowOrder, SinkContext, TargetOrder, WriterContext
from seatunnel_core.connector_api.written_options import written_options
from seatunnel_core.connectors.keyed.column_template import ColumnTemplate
from seatunnel_core.connectors.keyed.entries import Entries
from seatunnel_core.connectors.keyed.rows import shown
from seatunnel_core.connectors.messages.encoding import RowFormat
from seatunnel_core.connectors.messages.options import DELIMITER, require_delimiter
from seatunnel_core.connectors.redis import options as opt
from seatunnel_core.connectors.redis.server import OWN, Server
from seatunnel_core.connectors.redis.staging import MOST, RedisLists
from seatunnel_core.connectors.staging.lists import Item, ListSink
from seatunnel_core.connectors.staging.table_names import VARIABLE
from seatunnel_core.connectors.unused_options import without_effect

_COMMANDS = {
    **dict.fromkeys(("key", "string"), (("SET", "key", "value"), ("DEL", "key"))),
    "hash": (("HSET", "key", "field", "value"), ("HDEL", "key", "field")),
    "list": (("RPUSH", "key", "value"), ("LREM", "key", "one", "value")),
    "set": (("SADD", "key", "value"), ("SREM", "key", "value")),
    "zset": (("ZADD", "key", "one", "value"), ("ZREM", "key", "value")),
}
"""Commands that add and remove a value, keyed by type."""

_log = logging.getLogger(__name__)


class RowCommands:
    """Converter of a table's rows to commands."""

    def __init__(self, options: Options, schema: TableSchema) -> None:
        """Create a converter. Raise SinkError if a column is missing or the format cannot represent it."""
        is_hash, key, placeholders = options[opt.DATA_TYPE] == "hash", options[opt.KEY], options[opt.CUSTOM]
        if not placeholders and "${" in VARIABLE.sub("", key):
            raise SinkError(f"option 'key': {key!r} contains column placeholders; also set support_custom_key = true")
        value, field = opt.HASH_VALUE if is_hash else opt.VALUE, options[opt.HASH_KEY] if is_hash else None
        self._commands = _COMMANDS[options[opt.DATA_TYPE]]
        self._entries = Entries(
            key=ColumnTemplate(opt.KEY.key, key, schema, placeholders=placeholders),
            value=options[value],
            field=field,
            by_column=is_hash and not field,
            format=RowFormat(format=options[opt.FORMAT], delimiter=options[DELIMITER]),
        )
        self._entries.check(schema, value=value.key, field=opt.HASH_KEY.key)

    def of(self, batch: Batch) -> Iterator[Item]:
        """Yield the commands of a batch, in order.

        Raises:
            RowError: A key is null or reserved for the sink's state, or a value has no string form.
        """
        for entry in self._entries.of(batch):
            if entry.key.startswith(OWN):
                raise RowError(f"key {shown(entry.key)}: keys that begin with {OWN.decode()} are reserved for the sink")
            words = {"key": entry.key, "field": entry.field, "value": entry.value, "one": b"1"}
            name, *arguments = self._commands[entry.removed]
            yield (name, *(words[argument] for argument in arguments))


class RedisSink(ListSink, SupportsDryRun):
    """Publishes each row once on a single server. In a cluster, a commit that was interrupted repeats commands."""

    identifier: ClassVar[str] = "Redis"
    declared: ClassVar[tuple[Option[Any], ...]] = opt.SINK_OPTIONS
    task_modules: tuple[str, ...] = ("redis",)
    example = 'host = "localhost", key = "user:${id}", support_custom_key = true, data_type = hash'

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.server = Server.of(options)
        self.most_items = min(MOST, options[opt.BATCH])
        require_delimiter(options[DELIMITER], "\n")
        is_hash = options[opt.DATA_TYPE] == "hash"
        self.replaces_rows = options[opt.DATA_TYPE] in ("key", "string", "hash")
        self.remarks = without_effect(
            options,
            (opt.VALUE, "another data_type; with data_type = hash, use hash_value_field", not is_hash),
            (opt.HASH_KEY, "data_type = hash", is_hash),
            (opt.HASH_VALUE, "data_type = hash and hash_key_field", is_hash and options[opt.HASH_KEY]),
        )
        if self.server.cluster:
            repeats = options[opt.DATA_TYPE] == "list"
            self.guarantee = Guarantee.AT_LEAST_ONCE if repeats else Guarantee.IDEMPOTENT
            self.weakness = "repeats commands of an interrupted commit: a cluster has no transactions across its nodes"

    @property
    def bound_to(self) -> Mapping[str, str]:
        return written_options(self.options, opt.HOST, opt.PORT, opt.DB_NUM, opt.MODE, opt.NODES)

    def order_of(self, schema: TableSchema) -> TargetOrder:
        """Return the texts of the key and its columns: commands of different keys may be executed in any order."""
        key = ColumnTemplate(opt.KEY.key, self.options[opt.KEY], schema, placeholders=self.options[opt.CUSTOM])
        order = RowOrder.KEY if key.columns else RowOrder.ALL
        columns, replaces = tuple(key.columns), self.replaces_rows
        return TargetOrder(target="\0".join(key.texts), order=order, key=columns, one_row_per_key=replaces)

    def items(self, schema: TableSchema) -> Callable[[Batch], Iterable[Item]]:
        return RowCommands(self.options, schema).of

    def lists(self, context: SinkContext | WriterContext, kind: type[SinkError] = SinkError) -> RedisLists:
        server = evolve(self.server, caller=f"pipeline {context.pipeline_id}, sink {self.identifier}: ")
        return RedisLists(server=server, context=context, kind=kind, expire=self.options[opt.EXPIRE])

    def dry_run(self, schemas: Sequence[TableSchema] | None) -> Sequence[str]:
        self._inspect(self.server)
        return [f"{self.server} accepts the login"]

    def prepare(self, context: SinkContext) -> None:
        self._inspect(self.lists(context).server)
        super().prepare(context)

    def _inspect(self, server: Server) -> None:
        """Raise SinkError for a replica. Log a warning if the server may lose acknowledged rows."""
        with server.client(SinkError) as client:
            found = client.info(**({"target_nodes": client.RANDOM} if server.cluster else {}))
        if found.get("role") == "slave" and not server.cluster:
            raise server.failed(SinkError, "READONLY")
        if found.get("aof_enabled") == 0:
            _log.warning("%s: appendonly is no, so a restart of the server may lose rows", server)
        if found.get("maxmemory_policy", "").startswith("allkeys"):
            _log.warning("%s: maxmemory-policy is %s, which may remove rows", server, found["maxmemory_policy"])
