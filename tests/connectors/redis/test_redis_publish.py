"""Publishing of staged lists: parts of a unit, lists that are not complete, rights that are missing, other engines."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import CommitError, SinkError
from seatunnel_core.connector_api.sink import Staged
from seatunnel_core.connector_api.testing import commit, options_of, stage
from seatunnel_core.connector_api.testing.drive import begin, place, sink_place
from seatunnel_core.connector_api.testing.kill_suite import SCHEMA, numbered
from seatunnel_core.connector_api.values import Committable
from seatunnel_core.connectors.redis.sink import RedisSink
from tests.connectors.redis.cluster import there, whole_cluster
from tests.servers.redis_server import RedisServer
from tests.servers.shared import shared

pytestmark = [pytest.mark.servers, pytest.mark.xdist_group("redis")]

_OF_SCRIPTS = ("get", "set", "sadd", "srem", "smembers", "llen", "lrange", "ltrim", "hget", "hincrby", "hkeys", "hdel")
RIGHTS = ("info", "eval", "hgetall", "unlink", "rpush", "expire", *_OF_SCRIPTS)
"""Those that the page of the connector names, for a list."""


@pytest.fixture
def server() -> Iterator[RedisServer]:
    found = shared(RedisServer)
    with found.client() as client:
        client.flushall()
        yield found
        client.acl_deluser("writer")


def prepared(server: RedisServer, **options: Any) -> RedisSink:
    sink = RedisSink(options_of(RedisSink, {"key": "l", "data_type": "list", **server.options(), **options}))
    sink.prepare(sink_place(place()))
    return sink


def as_user(server: RedisServer, client: Any, *, without: str = "", **options: Any) -> RedisSink:
    """A sink of a user with the rights of the page, except one."""
    allowed = [f"+{right}" for right in RIGHTS if right != without]
    client.execute_command("ACL", "SETUSER", "writer", "reset", "on", ">p", "~seatunnel:{*", "~l", *allowed)
    given = {"key": "l", "data_type": "list", **server.options(user="writer", auth="p"), **options}
    return RedisSink(options_of(RedisSink, given))


def part(sink: RedisSink, attempt: str, rows: pa.RecordBatch | None) -> Staged:
    writer = begin(sink, SCHEMA, place(attempt=attempt))
    if rows is not None:
        writer.write(Batch(table=SCHEMA.table, rows=rows))
    return writer.finish()


def test_parts_of_a_unit_that_several_tasks_staged_are_published(server: RedisServer, client: Any) -> None:
    """A shuffle divides a unit among tasks; some of them have no row."""
    sink = prepared(server)
    parts = [part(sink, "1-0", numbered(0, 3)), part(sink, "1-1", None), part(sink, "1-2", numbered(3, 2))]
    merged = sink.merge(parts)
    unit = Committable(id="0-1-1", epoch=1, unit=1, source="s", rows=5, bytes=merged.bytes, body=merged.body)
    commit(sink, [unit], place())
    commit(sink, [unit], place(), may_be_committed=True)
    assert client.llen("l") == 5
    assert set(sink.published(sink_place(place()))) == {"0-1-1"}
    empty = sink.merge([part(sink, "1-0", None), part(sink, "1-1", None)])
    commit(sink, [evolve(unit, body=empty.body)], place())


def test_a_list_that_is_not_complete_is_refused(server: RedisServer, client: Any) -> None:
    """A machine that crashed with ``appendfsync everysec`` keeps the first part of a list, which was published."""
    sink = prepared(server)
    unit = stage(sink, SCHEMA, [numbered(0, 3)], place())
    [name] = client.scan_iter("seatunnel:*:rows:*")
    client.rpop(name, 5)
    for may_be_committed in (False, True):
        with pytest.raises(CommitError, match=r"pipeline 1, sink Redis: .*the staged rows 0-1-1:1-0: the server lost"):
            commit(sink, [unit], place(), may_be_committed=may_be_committed)
    assert client.llen("l") == 0


@pytest.mark.parametrize("right", ["ltrim", "hincrby", "srem", "expire", "rpush", "lrange"])
def test_a_missing_right_fails_before_a_row_is_published(server: RedisServer, client: Any, right: str) -> None:
    """The rows were published, and then the script failed: each retry published them again."""
    unit = stage(prepared(server), SCHEMA, [numbered(0, 3)], place())
    for _ in range(2):
        with pytest.raises(CommitError, match="allow the user these commands") as raised:
            commit(as_user(server, client, without=right, expire=100), [unit], place(), may_be_committed=True)
        assert (raised.value.retryable, client.llen("l")) == (False, 0)
    commit(as_user(server, client, expire=100), [unit], place(), may_be_committed=True)
    assert client.llen("l") == 3


def test_the_rights_of_the_page_are_enough(server: RedisServer, client: Any) -> None:
    sink = as_user(server, client)
    sink.dry_run(None)
    sink.prepare(sink_place(place()))
    sink.published(sink_place(place()))
    commit(sink, [stage(sink, SCHEMA, [numbered(0, 3)], place())], place())
    begin(sink, SCHEMA, place(unit=2)).abort()
    sink.sweep(sink_place(place()), frozenset(), final=False)
    sink.clear(sink_place(place()))
    assert client.keys() == [b"l"]


def test_a_committable_that_is_published_in_part_is_published(server: RedisServer, client: Any) -> None:
    """A rewind that does not know it would publish that part again."""
    rows = pa.record_batch({"id": ["a", "wrong", "a"]})
    client.set("wrong", "no list")
    sink = prepared(server, key="id", value_field="id")
    units = [stage(sink, TableSchema(table="t", columns=rows.schema), [rows], place(unit=unit)) for unit in (1, 2)]
    assert not sink.published(sink_place(place()))
    with pytest.raises(CommitError, match="key 'wrong': WRONGTYPE"):
        commit(sink, units, place())
    assert set(sink.published(sink_place(place()))) == {units[0].id}


def test_an_aborted_list_is_swept_if_it_could_not_be_removed(server: RedisServer, client: Any) -> None:
    """Its name was removed first, so nothing found the list any more."""
    sink = prepared(server)
    writer = begin(as_user(server, client, without="unlink"), SCHEMA, place())
    writer.write(Batch(table=SCHEMA.table, rows=numbered(0, 3)))
    writer.abort()
    assert sink.sweep(sink_place(place()), frozenset(), final=True) == 1
    assert list(client.scan_iter("seatunnel:*:rows:*")) == []


def test_a_cluster_carries_out_nothing_of_an_older_engine_or_of_half_a_list() -> None:
    with whole_cluster() as cluster, cluster.client() as client:
        options = {"key": "l", "data_type": "list", **there(cluster)}
        sink = RedisSink(options_of(RedisSink, options))
        sink.prepare(sink_place(place()))
        first, second = (stage(sink, SCHEMA, [numbered(0, 3)], place(unit=unit)) for unit in (1, 2))
        [name] = client.scan_iter("seatunnel:*:rows:0-1-1:*")
        client.rpop(name, 5)
        with pytest.raises(CommitError, match="the server lost"):
            commit(sink, [first], place())
        RedisSink(options_of(RedisSink, options)).prepare(sink_place(place(epoch=2)))
        with pytest.raises(CommitError, match=r"a newer engine \(epoch 2\) has resumed the job"):
            commit(sink, [second], place())
        assert client.llen("l") == 0


def test_a_failed_command_in_a_cluster_names_its_key_and_no_row() -> None:
    """The client puts the beginning of the command into the text, and that decided what the error means."""
    with whole_cluster() as cluster, cluster.client() as client:
        client.set("ROOM:1", "no list")
        rows = pa.record_batch({"id": ["ROOM:1"], "text": ["a Timeout of the secret Connection"]})
        options = {"key": "id", "data_type": "list", "value_field": "text", **there(cluster)}
        sink = RedisSink(options_of(RedisSink, options))
        sink.prepare(sink_place(place()))
        unit = stage(sink, TableSchema(table="t", columns=rows.schema), [rows], place())
        with pytest.raises(CommitError, match=r"key 'ROOM:1': WRONGTYPE .*change data_type") as raised:
            commit(sink, [unit], place())
        assert (raised.value.retryable, "secret" in str(raised.value)) == (False, False)


def test_redis_5_can_be_read_and_written(server: RedisServer) -> None:
    """It has no protocol 3, with which the client begins by default."""
    with prepared(server).server.client(SinkError) as client:
        assert client.client_info()["resp"] == "2"
