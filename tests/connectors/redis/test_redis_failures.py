"""Redis when something fails: passwords, replicas, full memory, restarts, a lost server, older engines, a cluster."""

import logging
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import CommitError, SinkError, SourceError
from seatunnel_core.connector_api.sink import Guarantee, SinkWriter
from seatunnel_core.connector_api.testing import commit, options_of, plan, read, stage
from seatunnel_core.connector_api.testing.drive import begin, finished, place, sink_place
from seatunnel_core.connector_api.testing.kill_suite import SCHEMA, numbered
from seatunnel_core.connectors.redis.sink import RedisSink
from seatunnel_core.connectors.redis.source import RedisSource
from tests.connectors.redis.cluster import there, whole_cluster
from tests.servers.process import deaf_port
from tests.servers.redis_server import RedisServer

pytestmark = [pytest.mark.servers, pytest.mark.xdist_group("redis")]


def sink_of(server: RedisServer, **options: Any) -> RedisSink:
    return RedisSink(options_of(RedisSink, {"key": "l", "data_type": "list", **server.options(**options)}))


def begun(server: RedisServer, **options: Any) -> tuple[RedisSink, SinkWriter]:
    made = sink_of(server, **options)
    made.prepare(sink_place(place()))
    return made, begin(made, SCHEMA, place())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"auth": "s3cret-wrong"}, "check user and auth"),
        ({"auth": ""}, "check user and auth"),
        ({"user": "nobody"}, "check user and auth"),
        ({"db_num": 99}, "DB index is out of range"),
        ({"host": "no-such-host.invalid"}, "check that the server is running"),
    ],
)
def test_mistakes_are_named_without_the_password(server: RedisServer, options: dict[str, Any], said: str) -> None:
    wrong = {**server.options(), **options}
    source = RedisSource(options_of(RedisSource, {**wrong, "keys": "*", "data_type": "key"}))
    for attempt, kind in ((source.require_input, SourceError), (lambda: plan(source), SourceError)):
        with pytest.raises(kind, match=said) as raised:
            attempt()
        assert "s3cret" not in str(raised.value) + repr(source.options) + repr(source.__dict__)
    sink = RedisSink(options_of(RedisSink, {**wrong, "key": "l", "data_type": "list"}))
    for step in (lambda: sink.prepare(sink_place(place())), lambda: sink.dry_run(None)):
        with pytest.raises(SinkError, match=said):
            step()


def test_a_server_that_is_down_may_be_up_later(server: RedisServer) -> None:
    source = RedisSource(options_of(RedisSource, {**server.options(port=deaf_port()), "keys": "*", "data_type": "key"}))
    with pytest.raises(SourceError) as raised:
        plan(source)
    assert raised.value.retryable


def test_a_user_without_rights_is_named(server: RedisServer) -> None:
    with server.client() as client:
        client.acl_setuser("reader", enabled=True, passwords=["+p"], commands=["+ping", "+info"], keys=["*"])
    with pytest.raises(SinkError, match=r"pipeline 1, sink Redis: .*allow the user these commands"):
        sink_of(server, user="reader", auth="p").prepare(sink_place(place()))


def test_a_read_only_replica_is_refused_before_a_row_moves(server: RedisServer) -> None:
    replica = RedisServer(settings=("--replicaof", "127.0.0.1", str(server.port), "--masterauth", server.password))
    replica.start()
    try:
        with pytest.raises(SinkError, match="use the address of the primary"):
            sink_of(replica).prepare(sink_place(place()))
    finally:
        replica.stop()


def test_a_server_that_may_lose_rows_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    server = RedisServer(settings=("--appendonly", "no", "--maxmemory-policy", "allkeys-lru"))
    server.start()
    try:
        with caplog.at_level(logging.WARNING):
            sink_of(server).prepare(sink_place(place()))
        assert "appendonly is no" in caplog.text
        assert "maxmemory-policy is allkeys-lru" in caplog.text
    finally:
        server.stop()


def test_full_memory_is_retried_and_publishes_each_row_once(server: RedisServer) -> None:
    """First while rows are staged, then while they are published."""
    sink, writer = begun(server)
    writer.write(Batch(table=SCHEMA.table, rows=numbered(0, 500)))
    with server.client() as client:
        try:
            client.config_set("maxmemory", 1)
            with pytest.raises(SinkError, match="raise maxmemory") as raised:
                writer.write(Batch(table=SCHEMA.table, rows=numbered(500, 500)))
            assert raised.value.retryable
            unit = finished(writer, place())
            with pytest.raises(CommitError, match="raise maxmemory") as failed:
                commit(sink, [unit], place())
            assert (failed.value.retryable, client.llen("l")) == (True, 0)
        finally:
            client.config_set("maxmemory", 0)
        commit(sink, [unit], place(), may_be_committed=True)
        assert client.llen("l") == 500


def test_staged_rows_survive_a_killed_server() -> None:
    """Kill it after staging and between two committables; a client's next request is an error that may be retried."""
    server = RedisServer()
    server.start()
    try:
        sink, writer = begun(server)
        writer.write(Batch(table=SCHEMA.table, rows=numbered(0, 3)))
        server.kill()
        with pytest.raises(SinkError) as raised:
            writer.write(Batch(table=SCHEMA.table, rows=numbered(3, 3)))
        assert raised.value.retryable
        server.start_again()
        first = finished(writer, place())
        second = stage(sink, SCHEMA, [numbered(10, 2)], place(unit=2))
        commit(sink, [first], place())
        server.kill()
        with pytest.raises(CommitError) as failed:
            commit(sink, [first, second], place(), may_be_committed=True)
        assert failed.value.retryable
        server.start_again()
        commit(sink, [first, second], place(), may_be_committed=True)
        with server.client() as client:
            assert client.llen("l") == 5
    finally:
        server.stop()


def test_an_older_engine_neither_stages_nor_publishes_nor_sweeps(server: RedisServer) -> None:
    sink, writer = begun(server)
    kept = stage(sink, SCHEMA, [numbered(0, 1)], place(unit=2))
    sink_of(server).prepare(sink_place(place(epoch=2)))
    with pytest.raises(SinkError, match=r"a newer engine \(epoch 2\) has resumed the job"):
        writer.write(Batch(table=SCHEMA.table, rows=numbered(5, 1)))
    with pytest.raises(CommitError, match=r"a newer engine \(epoch 2\) has resumed the job"):
        commit(sink, [kept], place())
    with pytest.raises(SinkError, match="newer engine"):
        sink.sweep(sink_place(place()), frozenset(), final=True)
    with pytest.raises(SinkError, match="newer engine"):
        sink_of(server).prepare(sink_place(place()))
    commit(sink_of(server), [kept], place(epoch=2), may_be_committed=True)
    with server.client() as client:
        assert client.llen("l") == 1


def test_a_foreign_committable_is_refused(server: RedisServer) -> None:
    sink, _ = begun(server)
    unit = stage(sink, SCHEMA, [numbered(0, 1)], place())
    [[name, _]] = unit.body["lists"]
    for lists in (
        None,
        7,
        "x",
        [name],
        [[name]],
        [[name, "1"]],
        [[7, 1]],
        [["0-9-9:1-0", 1]],
        [[f"{unit.id}1:1-0", 1]],
    ):
        with pytest.raises(CommitError, match="was not created by this sink"):
            commit(sink, [evolve(unit, body={"lists": lists})], place())
    with pytest.raises(CommitError, match="was not created by this sink"):
        commit(sink, [evolve(unit, body={})], place())


@pytest.fixture
def cluster() -> Iterator[RedisServer]:
    with whole_cluster() as server:
        yield server


def test_a_cluster_is_read_and_written(cluster: RedisServer) -> None:
    """Keys of many slots; an interrupted commit may repeat commands, and ends with all rows."""
    options = {**there(cluster), "key": "k:{id}", "support_custom_key": True, "data_type": "hash", "expire": 1000}
    sink = RedisSink(options_of(RedisSink, options))
    assert (sink.guarantee, bool(sink.weakness)) == (Guarantee.IDEMPOTENT, True)
    sink.prepare(sink_place(place()))
    unit = stage(sink, SCHEMA, [numbered(0, 1_200)], place())
    commit(sink, [unit], place())
    commit(sink, [unit], place(), may_be_committed=True)
    sink.clear(sink_place(place()))
    fields = {"fields": {"id": "bigint", "name": "string"}}
    source = RedisSource(
        options_of(RedisSource, {**there(cluster), "keys": "k:*", "data_type": "hash", "schema": fields})
    )
    assert sorted(row["id"] for row in read(source)) == list(range(1_200))
    with cluster.client() as client:
        assert (client.dbsize(), 0 < client.ttl("k:7") <= 1000) == (1_200, True)


def test_a_list_in_a_cluster_is_written_at_least_once() -> None:
    options = {"mode": "cluster", "nodes": ["a:1"], "key": "k", "data_type": "list"}
    assert RedisSink(options_of(RedisSink, options)).guarantee is Guarantee.AT_LEAST_ONCE


def test_rows_of_a_key_keep_their_order(server: RedisServer) -> None:
    rows = pa.record_batch({"id": [1] * 2_500, "n": list(range(2_500))})
    sink = sink_of(server, key="id", data_type="key", value_field="n")
    assert sink.needs_order
    sink.prepare(sink_place(place()))
    commit(sink, [stage(sink, TableSchema(table="t", columns=rows.schema), [rows], place())], place())
    with server.client() as client:
        assert client.get("1") == b"2499"
