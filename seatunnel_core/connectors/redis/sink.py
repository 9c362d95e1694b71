"""The sink ``Redis``: rows are staged in Redis as commands, which a script carries out when they are committed."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, ClassVar

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.capabilities import SupportsDryRun, SupportsPublishedQuery
from seatunnel_core.connector_api.errors import CommitError, SinkError
from seatunnel_core.connector_api.option import Option, Options
from seatunnel_core.connector_api.sink import Guarantee, Sink, SinkContext, SinkWriter, Staged, WriterContext
from seatunnel_core.connector_api.values import Committable
from seatunnel_core.connector_api.written_options import written_options
from seatunnel_core.connectors.redis import options as opt
from seatunnel_core.connectors.redis import staging
from seatunnel_core.connectors.redis.commands import RowCommands
from seatunnel_core.connectors.redis.server import Server
from seatunnel_core.connectors.tables.errors import named_errors

_LOST = (
    "the server lost what the job keeps there: it was emptied, restarted without its data or replaced by another one, "
    "or the job has ended. Restore the data and resume the job, or start a new job"
)
_log = logging.getLogger(__name__)


class RedisSink(Sink, SupportsDryRun, SupportsPublishedQuery):
    """On one server each row is published once. In a cluster a commit that was interrupted repeats commands."""

    identifier: ClassVar[str] = "Redis"
    declared: ClassVar[tuple[Option[Any], ...]] = opt.SINK_OPTIONS
    isolates_bad_rows = True
    task_modules: ClassVar[tuple[str, ...]] = ("redis",)
    example = 'host = "localhost", key = "user:${id}", support_custom_key = true, data_type = hash'

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.server = Server.of(options)
        self.needs_order = options[opt.DATA_TYPE] in ("key", "string", "hash")
        if self.server.cluster:
            repeats = options[opt.DATA_TYPE] == "list"
            self.guarantee = Guarantee.AT_LEAST_ONCE if repeats else Guarantee.IDEMPOTENT  # type: ignore[misc]
            self.weakness = "repeats commands of an interrupted commit: a cluster has no transactions over its nodes"

    @property
    def bound_to(self) -> Mapping[str, str]:
        return written_options(self.options, opt.HOST, opt.PORT, opt.DB_NUM, opt.MODE, opt.NODES)

    def check_schema(self, schema: TableSchema) -> None:
        RowCommands(self.options, schema)

    def dry_run(self, schemas: Sequence[TableSchema] | None) -> Sequence[str]:
        with self.server.client(SinkError) as client:
            self._require_primary(client)
        return [f"{self.server} accepts the login"]

    def _require_primary(self, client: Any) -> None:
        """Raise ``SinkError`` for a replica; log a warning if the server may lose rows that it has acknowledged."""
        found = client.info(**({"target_nodes": client.RANDOM} if self.server.cluster else {}))
        if found["role"] != "master" and not self.server.cluster:
            raise self.server.failed(SinkError, "READONLY")
        if not found["aof_enabled"]:
            _log.warning("%s: appendonly is no, so a restart of the server may lose rows", self.server)
        if found["maxmemory_policy"].startswith("allkeys"):
            _log.warning("%s: maxmemory-policy is %s, which may remove rows", self.server, found["maxmemory_policy"])

    def prepare(self, context: SinkContext) -> None:
        with self._client(context) as client:
            self._require_primary(client)
            known = staging.run(client, staging.BEGIN, context, context.prepared_in)
            if known > context.epoch:
                raise SinkError(f"{self.server}: a newer engine, of epoch {known}, resumed the job")
            if known >= 0:
                raise SinkError(f"{self.server}: {_LOST}")

    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> "RedisWriter":
        return RedisWriter(self, {schema.table: RowCommands(self.options, schema) for schema in schemas}, context)

    def commit(self, committables: Sequence[Committable], context: SinkContext, *, may_be_committed: bool) -> None:
        with self._client(context, CommitError) as client:
            for committable in committables:
                name = str(committable.body.get("list"))
                if name and name.partition(":")[0] != committable.id:
                    raise CommitError(f"the committable {committable.id!r} was not created by this sink")
                outcome = ["more" if name else "published"]
                while outcome[0] == "more":
                    done = self._carry_out(client, name, context) if self.server.cluster else 0
                    arguments = (name, self.options[opt.EXPIRE], done, done or staging.MOST)
                    outcome = staging.run(client, staging.PUBLISH, context, *arguments)
                if outcome[0] == "failed":
                    raise self.server.failed(CommitError, f"key {outcome[1]!r}: {outcome[2]}")
                if outcome[0] in ("lost", "gone") or (outcome == ["before"] and not may_be_committed):
                    raise CommitError(f"{self.server}: the staged rows {name}: {_LOST}")

    def _carry_out(self, client: Any, name: str, context: SinkContext) -> int:
        """Execute the first commands of a staged list in a cluster, and return their number."""
        found = client.lrange(f"{staging.prefix(context)}rows:{name}", 0, staging.MOST * 5 - 1)
        requests = client.pipeline()
        for at in range(0, len(found), 5):
            requests.execute_command(found[at + 1].decode(), *found[at + 2 : at + 1 + int(found[at])])
            if self.options[opt.EXPIRE] > 0:
                requests.expire(found[at + 2], self.options[opt.EXPIRE])
        requests.execute()
        return len(found) // 5

    def published(self, context: SinkContext) -> Iterable[str]:
        with self._client(context) as client:
            return [name.decode() for name in client.hkeys(f"{staging.prefix(context)}commits")]

    def sweep(self, context: SinkContext, keep: frozenset[str], *, final: bool) -> int:
        with self._client(context) as client:
            swept = staging.run(
                client, staging.SWEEP, context, context.epoch + final, 0 if final else context.epoch, *keep
            )
        if swept < 0:
            raise SinkError(f"pipeline {context.pipeline_id}, sink Redis: a newer engine resumed the job")
        return int(swept)

    def clear(self, context: SinkContext) -> None:
        super().clear(context)
        with self._client(context) as client:
            client.unlink(*(f"{staging.prefix(context)}{name}" for name in ("epoch", "staged", "commits")))

    @contextmanager
    def _client(self, context: SinkContext, kind: type[SinkError] = SinkError) -> Iterator[Any]:
        """Open a client; errors contain the pipeline and the sink."""
        who = f"pipeline {context.pipeline_id}, sink {self.identifier}"
        with named_errors(who, "failed", kind, kind), self.server.client(kind) as client:
            yield client


class RedisWriter(SinkWriter):
    """A writer that appends the commands of its rows to a list in Redis."""

    def __init__(self, sink: RedisSink, commands: Mapping[str, RowCommands], context: WriterContext) -> None:
        """Create a writer with the commands of each table."""
        self._sink, self._commands, self._context = sink, commands, context
        self._name = f"{context.source_ordinal}-{context.epoch}-{context.unit}:{context.attempt}"
        self._rows = self._bytes = 0

    def write(self, batch: Batch) -> None:
        commands = [(len(words), *words, *[b""] * (4 - len(words))) for words in self._commands[batch.table].of(batch)]
        most = min(staging.MOST, self._sink.options[opt.BATCH])
        with self._sink.server.client(SinkError) as client:
            for at in range(0, len(commands), most):
                parts = (part for command in commands[at : at + most] for part in command)
                if not staging.run(client, staging.STAGE, self._context, self._name, *parts):
                    raise SinkError(f"{self._sink.server}: {_LOST}")
        self._rows += batch.rows.num_rows
        self._bytes += batch.rows.nbytes

    def finish(self) -> Staged:
        return Staged(body={"list": self._name if self._rows else ""}, rows=self._rows, bytes=self._bytes)

    def abort(self) -> None:
        with suppress(SinkError), self._sink.server.client(SinkError) as client:
            client.srem(f"{staging.prefix(self._context)}staged", self._name)
            client.unlink(f"{staging.prefix(self._context)}rows:{self._name}")
