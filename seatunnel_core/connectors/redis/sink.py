"""The sink ``Redis``: rows are staged in Redis as commands, which a script carries out when they are committed."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar

from attrs import evolve

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
from seatunnel_core.connectors.redis.server import Server, shown

_MOST_BYTES = 4_000_000
"""Size of the commands of a request, which the server holds in addition; one larger command is a request, too."""

_log = logging.getLogger(__name__)


class RedisSink(Sink, SupportsDryRun, SupportsPublishedQuery):
    """On one server each row is published once. In a cluster a commit that was interrupted repeats commands."""

    identifier: ClassVar[str] = "Redis"
    declared: ClassVar[tuple[Option[Any], ...]] = opt.SINK_OPTIONS
    isolates_bad_rows = True
    needs_order = True
    task_modules: ClassVar[tuple[str, ...]] = ("redis",)
    example = 'host = "localhost", key = "user:${id}", support_custom_key = true, data_type = hash'

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.server = Server.of(options)
        opt.check_delimiter(options, "\n")
        is_hash = options[opt.DATA_TYPE] == "hash"
        self.remarks = opt.without_effect(
            options,
            (opt.VALUE, "another data_type; for a hash write hash_value_field", not is_hash),
            (opt.HASH_KEY, "data_type = hash", is_hash),
            (opt.HASH_VALUE, "data_type = hash and hash_key_field", is_hash and options[opt.HASH_KEY]),
        )
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
        self._inspect(self.server)
        return [f"{self.server} accepts the login"]

    def _inspect(self, server: Server) -> None:
        """Raise ``SinkError`` for a replica; log a warning if the server may lose rows that it has acknowledged."""
        with server.client(SinkError) as client:
            found = client.info(**({"target_nodes": client.RANDOM} if server.cluster else {}))
        if found.get("role") == "slave" and not server.cluster:
            raise server.failed(SinkError, "READONLY")
        if found.get("aof_enabled") == 0:
            _log.warning("%s: appendonly is no, so a restart of the server may lose rows", server)
        if found.get("maxmemory_policy", "").startswith("allkeys"):
            _log.warning("%s: maxmemory-policy is %s, which may remove rows", server, found["maxmemory_policy"])

    def prepare(self, context: SinkContext) -> None:
        state = self._state(context)
        self._inspect(state.server)
        state.run(staging.BEGIN, context.prepared_in)

    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> "RedisWriter":
        return RedisWriter(self, {schema.table: RowCommands(self.options, schema) for schema in schemas}, context)

    def commit(self, committables: Sequence[Committable], context: SinkContext, *, may_be_committed: bool) -> None:
        state = self._state(context, CommitError)
        for committable in committables:
            for name, total in _lists(committable):
                outcome = self._publish(state, name, total)
                if outcome[0] == "failed":
                    raise state.server.failed(CommitError, outcome[2], f"key {outcome[1]!r}: ")
                if outcome[0] == "gone" or (outcome[0] == "before" and not may_be_committed):
                    raise CommitError(f"{state.server}: the staged rows {name}: {staging.LOST}")

    def _publish(self, state: staging.State, name: str, total: int) -> list[str]:
        """Publish a staged list of so many commands, and return the outcome of the last script."""
        cluster = state.server.cluster
        done, most, outcome = 0, 0 if cluster else staging.MOST, ["more"]
        while outcome[0] == "more":
            outcome = state.run(staging.PUBLISH, name, total, self.options[opt.EXPIRE], done, most)
            if cluster and outcome[0] == "more":
                done = most = self._carry_out(state, name)
        return outcome

    def _carry_out(self, state: staging.State, name: str) -> int:
        """Carry out the first commands of a staged list in a cluster, and return their number."""
        keys: list[bytes] = []
        with state.server.client(CommitError) as client:
            found = client.lrange(f"{state.prefix}rows:{name}", 0, staging.MOST * 5 - 1)
            requests = client.pipeline()
            for at in range(0, len(found), 5):
                requests.execute_command(found[at + 1].decode(), *found[at + 2 : at + 1 + int(found[at])])
                keys.append(found[at + 2])
                if self.options[opt.EXPIRE] > 0:
                    requests.expire(found[at + 2], self.options[opt.EXPIRE])
                    keys.append(found[at + 2])
            answers = requests.execute(raise_on_error=False)
        for key, answer in zip(keys, answers, strict=True):
            if isinstance(answer, Exception):
                raise state.server.failed(CommitError, answer, f"key {shown(key)}: ")
        return len(found) // 5

    def published(self, context: SinkContext) -> Iterable[str]:
        """Return also those that are published in part: a rewind would publish that part again."""
        return {name.partition(":")[0] for name, count in self._state(context).commits().items() if count}

    def sweep(self, context: SinkContext, keep: frozenset[str], *, final: bool) -> int:
        below = (context.epoch + final, 0 if final else context.epoch)
        return int(self._state(context).run(staging.SWEEP, *below, *keep)[1])

    def clear(self, context: SinkContext) -> None:
        super().clear(context)
        self._state(context).clear()

    def _state(self, context: SinkContext, kind: type[SinkError] = SinkError) -> staging.State:
        """Return the state; its errors name the pipeline and the sink."""
        server = evolve(self.server, caller=f"pipeline {context.pipeline_id}, sink {self.identifier}: ")
        return staging.State(server, context, kind)


def _lists(committable: Committable) -> list[tuple[str, int]]:
    """Return the names and lengths of the lists of a committable; raise ``CommitError`` unless this sink made it."""
    match committable.body.get("lists"):
        case [*lists]:
            found = [(name, total) for name, total in map(_list, lists) if name.startswith(f"{committable.id}:")]
            if len(found) == len(lists):
                return found
    raise CommitError(f"the committable {committable.id!r} was not created by this sink")


def _list(written: Any) -> tuple[str, int]:
    match written:
        case [str(name), int(total)]:
            return name, total
    return "", 0


class RedisWriter(SinkWriter):
    """A writer that appends the commands of its rows to a list in Redis."""

    def __init__(self, sink: RedisSink, commands: Mapping[str, RowCommands], context: WriterContext) -> None:
        """Create it with the commands of each table."""
        self._state, self._commands = staging.State(sink.server, context), commands
        self._most = min(staging.MOST, sink.options[opt.BATCH])
        self._name = f"{context.source_ordinal}-{context.epoch}-{context.unit}:{context.attempt}"
        self._staged = self._rows = self._bytes = 0

    def write(self, batch: Batch) -> None:
        commands = list(self._commands[batch.table].of(batch))  # all of them first: a bad row stages none
        for request in _requests(commands, self._most):
            self._state.run(staging.STAGE, self._name, *request)
        self._staged += len(commands)
        self._rows += batch.rows.num_rows
        self._bytes += batch.rows.nbytes

    def finish(self) -> Staged:
        lists = [[self._name, self._staged]] if self._staged else []
        return Staged(body={"lists": lists}, rows=self._rows, bytes=self._bytes)

    def abort(self) -> None:
        with suppress(SinkError):
            self._state.discard(self._name)


def _requests(commands: Iterable[tuple[str | bytes, ...]], most: int) -> Iterator[list[int | str | bytes]]:
    """Yield the elements of commands, for requests of a limited number and size."""
    elements: list[int | str | bytes] = []
    size = 0
    for words in commands:
        elements += [len(words), *words, *[b""] * (4 - len(words))]
        size += sum(map(len, words))
        if size >= _MOST_BYTES or len(elements) >= 5 * most:
            yield elements
            elements, size = [], 0
    if elements:
        yield elements
