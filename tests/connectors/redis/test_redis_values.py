"""Values of each type of Redis and of columns, both ways, on a real server."""

import datetime as dt
import decimal
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.batch import Batch, RowKind, TableSchema
from seatunnel_core.connector_api.errors import CommitError, RowError, SinkError, SourceError
from seatunnel_core.connector_api.several_tables import source_of
from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import commit, options_of, plan, read
from seatunnel_core.connector_api.testing.drive import Skipped, begin, finished, place, sink_place
from seatunnel_core.connectors.redis.sink import RedisSink
from seatunnel_core.connectors.redis.source import RedisSource
from tests.servers.redis_server import RedisServer

pytestmark = [pytest.mark.servers, pytest.mark.xdist_group("redis")]


def sink(server: RedisServer, **options: Any) -> RedisSink:
    return RedisSink(options_of(RedisSink, server.options(**options)))


def written(server: RedisServer, rows: pa.RecordBatch, kinds: Sequence[RowKind] = (), **options: Any) -> None:
    made, here = sink(server, **options), place()
    made.prepare(sink_place(here))
    given = pa.array([int(kind) for kind in kinds], pa.int8()) if kinds else None
    writer = begin(made, TableSchema(table="shop.people", columns=rows.schema), here)
    writer.write(Batch(table="shop.people", rows=rows, kinds=given))
    commit(made, [finished(writer, here)], here)
    made.clear(sink_place(here))


def rows_of(server: RedisServer, context: Skipped | None = None, **options: Any) -> list[dict[str, Any]]:
    source = RedisSource(options_of(RedisSource, server.options(**options)))
    return read(source, plan(source, PlanningContext(parallelism=2)), context=context)


PEOPLE = pa.record_batch({"id": [1, 2, 1], "name": ["Ann", "Bo, Jr", "Cy"]})


_OF_ID = {"key": "h", "hash_key_field": "id"}
_CUSTOM = {"support_custom_key": True}
_TEXT = {"format": "text", "field_delimiter": "|"}


@pytest.mark.parametrize(
    ("type", "options", "expected"),
    [
        ("key", {"key": "id", "value_field": "name"}, {b"1": b"Cy", b"2": b"Bo, Jr"}),
        ("string", {"key": "n:{id}", **_CUSTOM, **_TEXT}, {b"n:1": b"1|Cy"}),
        ("key", {"key": "all"}, {b"all": b'{"id":1,"name":"Cy"}'}),
        ("hash", {"key": "h"}, {b"h": {b"id": b"1", b"name": b"Cy"}}),
        ("hash", {**_OF_ID, "hash_value_field": "name"}, {b"h": {b"1": b"Cy", b"2": b"Bo, Jr"}}),
        ("hash", _OF_ID, {b"h": {b"1": b'{"id":1,"name":"Cy"}'}}),
        ("list", {"key": "l", "value_field": "name"}, {b"l": [b"Ann", b"Bo, Jr", b"Cy"]}),
        ("set", {"key": "s", "value_field": "id"}, {b"s": {b"1", b"2"}}),
        ("zset", {"key": "z-${table_name}", "value_field": "id"}, {b"z-people": [(b"1", 1.0), (b"2", 1.0)]}),
        ("list", {"key": "${table_name}-{${id}}", **_CUSTOM}, {b"people-{2}": [b'{"id":2,"name":"Bo, Jr"}']}),
    ],
)
def test_rows_become_values_of_each_type(
    server: RedisServer, client: Any, type: str, options: dict[str, Any], expected: Mapping[bytes, Any]
) -> None:
    written(server, PEOPLE, data_type=type, **options)
    for key, value in expected.items():
        found: Any = {
            "string": lambda key: client.get(key),
            "hash": lambda key: client.hgetall(key),
            "list": lambda key: client.lrange(key, 0, -1),
            "set": lambda key: client.smembers(key),
            "zset": lambda key: client.zrange(key, 0, -1, withscores=True),
        }[client.type(key).decode()](key)
        assert (found if not isinstance(value, dict) else {k: found[k] for k in value}) == value
    assert client.keys("seatunnel*") == [], "nothing is left"


@pytest.mark.parametrize("type", ["key", "hash", "list", "set", "zset"])
def test_deleted_and_updated_rows_are_removed(server: RedisServer, client: Any, type: str) -> None:
    rows = pa.record_batch({"id": [1, 2, 2, 2, 1], "name": ["a", "b", "b", "c", "a"]})
    kinds = [RowKind.INSERT, RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE]
    fields = {"hash_key_field": "id", "hash_value_field": "name"} if type == "hash" else {"value_field": "name"}
    written(server, rows, kinds, data_type=type, key="id", **fields)
    assert client.keys() == [b"2"]
    left = {
        "key": lambda: client.get("2"),
        "hash": lambda: client.hget("2", "2"),
        "list": lambda: b"".join(client.lrange("2", 0, -1)),
        "set": lambda: b"".join(client.smembers("2")),
        "zset": lambda: b"".join(client.zrange("2", 0, -1)),
    }[type]()
    assert left == b"c"


def test_a_null_field_of_a_hash_is_removed_and_bytes_are_written_as_they_are(server: RedisServer, client: Any) -> None:
    rows = pa.record_batch({"id": ["", ""], "raw": [b"\x00\xff\r\n", None], "n": pa.array([None, 1], pa.int64())})
    written(server, rows, data_type="hash", key="id")
    assert client.hgetall("") == {b"id": b"", b"n": b"1"}, "the empty key is a key"
    written(server, rows.slice(0, 1), data_type="key", key="k", value_field="raw")
    assert client.get("k") == b"\x00\xff\r\n"


EXTREMES = {
    "tiny": (pa.int8(), -128),
    "big": (pa.int64(), -(2**63)),
    "ratio": (pa.float64(), 5e-324),
    "small": (pa.float32(), 3.4028234663852886e38),
    "price": (pa.decimal128(38, 18), decimal.Decimal("-99999999999999999999.999999999999999999")),
    "yes": (pa.bool_(), True),
    "day": (pa.date32(), dt.date(9999, 12, 31)),
    "at": (pa.timestamp("us"), dt.datetime(1, 1, 1, 0, 0, 0, 1)),
    "moment": (pa.timestamp("us", "UTC"), dt.datetime(1969, 12, 31, 23, 59, 59, 999999, dt.UTC)),
    "hour": (pa.time64("us"), dt.time(23, 59, 59, 999999)),
    "text": (pa.string(), 'ü"\\{}\n😀'),
    "raw": (pa.binary(), bytes(range(256))),
    "tags": (pa.list_(pa.string()), ["a,b", ""]),
    "person": (pa.struct({"name": pa.string(), "age": pa.int32()}), {"name": "Ann", "age": 2**31 - 1}),
}
FIELDS = {
    **dict(zip(EXTREMES, ("tinyint", "bigint", "double", "float", "decimal(38, 18)", "boolean", "date"), strict=False)),
    "at": "timestamp",
    "moment": "timestamp_tz",
    "hour": "time",
    "text": "string",
    "raw": "bytes",
    "tags": "array<string>",
    "person": {"name": "string", "age": "int"},
}


@pytest.mark.parametrize("options", [{"data_type": "key"}, {"data_type": "hash"}, {"data_type": "list"}])
def test_the_extremes_of_each_type_come_back(server: RedisServer, options: dict[str, Any]) -> None:
    columns = pa.schema([(name, kind) for name, (kind, _) in EXTREMES.items()])
    row = {name: value for name, (_, value) in EXTREMES.items()}
    written(server, pa.RecordBatch.from_pylist([row], schema=columns), key="k", **options)
    assert rows_of(server, keys="k", schema={"fields": FIELDS}, **options) == [row]


def test_text_comes_back_by_its_delimiter(server: RedisServer) -> None:
    written(server, PEOPLE, data_type="list", key="l", format="text", field_delimiter="|")
    schema = {"fields": {"id": "int", "name": "string"}}
    found = rows_of(server, keys="l", data_type="list", format="text", field_delimiter="|", schema=schema)
    assert found == PEOPLE.to_pylist()


@pytest.mark.parametrize("format", ["json", "text"])
def test_without_a_schema_a_row_is_the_content(server: RedisServer, client: Any, format: str) -> None:
    client.set("a", "1#2")
    client.hset("h", "f", "v")
    client.zadd("z", {"m": 1, "n": -1})
    assert rows_of(server, keys="a", data_type="key", format=format) == [{"content": "1#2"}]
    assert rows_of(server, keys="h", data_type="hash", format=format) == [{"content": '{"f": "v"}'}]
    assert rows_of(server, keys="z", data_type="zset", format=format) == [{"content": "n"}, {"content": "m"}]


def test_keys_and_fields_become_columns(server: RedisServer, client: Any) -> None:
    client.set("k:1", '{"n": 12345678901234567890123}')
    client.set("k:2", " plain ")
    client.set("k:3", "{}")
    client.hset("h", mapping={"001": json.dumps({"name": "Ann", "age": 26}), "002": "{}"})
    schema = {"fields": {"key": "string", "n": "decimal(38, 0)", "v": "string"}}
    named: dict[str, Any] = {"read_key_enabled": True, "single_field_name": "v", "schema": schema}
    assert sorted(rows_of(server, keys="k:*", data_type="key", **named), key=lambda row: row["key"]) == [
        {"key": "k:1", "n": decimal.Decimal(12345678901234567890123), "v": None},
        {"key": "k:2", "n": None, "v": " plain "},
        {"key": "k:3", "n": None, "v": None},
    ]
    schema = {"fields": {"hash_key": "string", "name": "string", "age": "int"}}
    assert rows_of(server, keys="h", data_type="hash", hash_key_parse_mode="kv", schema=schema) == [
        {"hash_key": "001", "name": "Ann", "age": 26},
        {"hash_key": "002", "name": None, "age": None},
    ]


def test_the_key_is_added_to_each_json_object(server: RedisServer, client: Any) -> None:
    """Objects with blanks around them went into the column of other values as a whole."""
    values = {"1": b'{"n": 1}\n', "2": b' {"n": 2}', "3": b"{abc}", "4": b'{"key": "x", "n": 4}', "5": b"7"}
    client.mset(values)
    schema = {"fields": {"key": "string", "n": "int", "v": "string"}}
    named: dict[str, Any] = {"read_key_enabled": True, "single_field_name": "v", "schema": schema}
    assert sorted(rows_of(server, keys="*", data_type="key", **named), key=lambda row: row["key"]) == [
        {"key": "1", "n": 1, "v": None},
        {"key": "2", "n": 2, "v": None},
        {"key": "3", "n": None, "v": "{abc}"},
        {"key": "4", "n": 4, "v": None},
        {"key": "5", "n": None, "v": "7"},
    ]
    skipped = Skipped(fail=False)
    client.set("6", '{"n": 1, "n": 2}')
    assert rows_of(server, skipped, keys="[36]", data_type="key", read_key_enabled=True, schema=schema) == []
    assert len(skipped.errors) == 2
    assert any("key '6'" in error and "'n' occurs more than once" in error for error in skipped.errors)


def test_hashes_of_several_patterns_with_their_keys(server: RedisServer, client: Any) -> None:
    """SeaTunnel's example "Reading multiple key patterns": with the key each hash is one row, also with ``kv``."""
    client.hset("user:1", mapping={"name": "Ann", "age": 26})
    client.hset("order:7", mapping={"price": "1.5"})
    shared_options: dict[str, Any] = {"data_type": "hash", "hash_key_parse_mode": "kv", "read_key_enabled": True}
    schemas: dict[str, dict[str, str]] = {
        "user": {"id": "string", "name": "string", "age": "int"},
        "order": {"id": "string", "price": "double"},
    }
    found = {}
    for name, fields in schemas.items():
        given = {**shared_options, "key_field_name": "id", "schema": {"fields": fields}}
        found[name] = rows_of(server, keys=f"{name}:*", **given)
    assert found == {
        "user": [{"id": "user:1", "name": "Ann", "age": 26}],
        "order": [{"id": "order:7", "price": 1.5}],
    }


def test_fields_that_no_column_reads_may_be_any_bytes(server: RedisServer, client: Any) -> None:
    client.hset("h", mapping={"id": 1, b"\xff": b"\xfe", "other": b"\xfd"})
    assert rows_of(server, keys="h", data_type="hash", schema={"fields": {"id": "int"}}) == [{"id": 1}]
    with pytest.raises(RowError, match="key 'h': 'utf-8' codec"):
        rows_of(server, keys="h", data_type="hash")


def test_places_in_messages_are_texts(server: RedisServer, client: Any) -> None:
    client.hset("h", mapping={b"a\xff": "{}"})
    schema = {"fields": {"field": "string", "n": "int"}}
    with pytest.raises(RowError, match=r"key 'h', field 'a\\\\xff': "):
        rows_of(server, keys="h", data_type="hash", hash_key_parse_mode="kv", schema=schema)


def test_a_long_list_is_decoded_in_pieces(server: RedisServer, client: Any) -> None:
    client.rpush("l", *range(20_000))
    source = RedisSource(options_of(RedisSource, server.options(keys="l", data_type="list")))
    [split] = plan(source).splits
    batches = list(source.read(split, Skipped()))
    assert max(batch.rows.num_rows for batch in batches) <= 8_192
    assert [row for batch in batches for row in batch.rows.column(0).to_pylist()] == list(map(str, range(20_000)))


def test_binary_values_are_read_as_they_are(server: RedisServer, client: Any) -> None:
    client.set(b"\xff", b"\x00\xff")
    client.set("b:1", b"\xfe")
    assert rows_of(server, keys="?", data_type="key", schema={"fields": {"v": "bytes"}}) == [{"v": b"\x00\xff"}]
    named: dict[str, Any] = {
        "read_key_enabled": True,
        "single_field_name": "v",
        "schema": {"fields": {"key": "string", "v": "bytes"}},
    }
    assert rows_of(server, keys="b:*", data_type="key", **named) == [{"key": "b:1", "v": b"\xfe"}]


def test_bad_values_are_named_and_can_be_skipped(server: RedisServer, client: Any) -> None:
    client.rpush("l", '{"n": 1}', '{"n": "x"}', "[1]", b"\xff", '{"n": 2}')
    options: dict[str, Any] = {"keys": "l", "data_type": "list", "schema": {"fields": {"n": "int"}}}
    with pytest.raises(RowError, match="key 'l', element 2"):
        rows_of(server, **options)
    skipped = Skipped(fail=False)
    assert rows_of(server, skipped, **options) == [{"n": 1}, {"n": 2}]
    assert len(skipped.errors) == 3
    schema = {"fields": {"key": "string", "n": "int"}}
    named = Skipped(fail=False)
    found = rows_of(server, named, **{**options, "schema": schema}, read_key_enabled=True)
    assert found == [{"key": "l", "n": 1}, {"key": "l", "n": 2}], "those behind a bad element are read"
    assert len(named.errors) == 3


def test_a_key_of_another_type_is_named(server: RedisServer, client: Any) -> None:
    client.rpush("a list", "1")
    with pytest.raises(SourceError, match=r"key 'a list': WRONGTYPE .*change data_type"):
        rows_of(server, keys="*", data_type="hash")


def test_a_key_does_not_decide_what_an_error_means(server: RedisServer, client: Any) -> None:
    """The key ``ROOM:1`` made of another type "raise maxmemory", which is retried."""
    client.rpush("ROOM:1", "1")
    with pytest.raises(SourceError, match=r"key 'ROOM:1': WRONGTYPE .*change data_type") as raised:
        rows_of(server, keys="*", data_type="key")
    assert not raised.value.retryable
    client.set("Timeout", "no list")
    with pytest.raises(CommitError, match=r"key 'Timeout': WRONGTYPE .*change data_type") as failed:
        written(server, PEOPLE, data_type="list", key="Timeout")
    assert not failed.value.retryable


def test_a_right_to_read_that_is_missing_is_named(server: RedisServer, client: Any) -> None:
    client.rpush("l", "1")
    client.execute_command("ACL", "SETUSER", "reader", "reset", "on", ">p", "~*", "+ping", "+dbsize", "+scan")
    options: dict[str, Any] = {"user": "reader", "auth": "p", "keys": "*", "data_type": "list"}
    with pytest.raises(SourceError, match=r"key 'l': NoPermissionError.*allow the user these commands"):
        rows_of(server, **options)
    client.execute_command("ACL", "SETUSER", "reader", "+lrange")
    assert rows_of(server, **options) == [{"content": "1"}]
    client.acl_deluser("reader")


def test_a_failed_command_repeats_none_before_it(server: RedisServer, client: Any) -> None:
    """The rows before the key of another type were published again by the retry."""
    client.set("2", "not a list")
    made, here = sink(server, key="id", data_type="list", value_field="name"), place()
    made.prepare(sink_place(here))
    writer = begin(made, TableSchema(table="t", columns=PEOPLE.schema), here)
    writer.write(Batch(table="t", rows=PEOPLE))
    unit = finished(writer, here)
    for may_be_committed in (False, True):
        with pytest.raises(CommitError, match="key '2': WRONGTYPE"):
            commit(made, [unit], here, may_be_committed=may_be_committed)
        assert client.lrange("1", 0, -1) == [b"Ann"]
    client.delete("2")
    commit(made, [unit], here, may_be_committed=True)
    assert (client.lrange("1", 0, -1), client.lrange("2", 0, -1)) == ([b"Ann", b"Cy"], [b"Bo, Jr"])


def test_many_rows_are_published_by_several_scripts_and_expire(server: RedisServer, client: Any) -> None:
    rows = pa.record_batch({"id": list(range(3_500))})
    written(server, rows, data_type="list", key="l", value_field="id", expire=100, batch_size=7)
    assert [int(each) for each in client.lrange("l", 0, -1)] == list(range(3_500))
    assert 0 < client.ttl("l") <= 100


def test_bad_options_and_columns_are_named(server: RedisServer) -> None:
    for options, said in (
        ({"key": "{nmae}", "support_custom_key": True}, "option 'key'.*'nmae'.*did you mean name"),
        ({"key": "k", "value_field": "nmae"}, "option 'value_field'.*'nmae'"),
    ):
        with pytest.raises(SinkError, match=said):
            sink(server, data_type="key", **options).check_schema(TableSchema(table="t", columns=PEOPLE.schema))
    with pytest.raises(RowError, match="column 'id', row 2 of a batch: the value is null"):
        written(server, pa.record_batch({"id": [1, None]}), data_type="key", key="id")


def test_several_tables_are_read(server: RedisServer, client: Any) -> None:
    client.set("a", "1")
    client.rpush("b", "2", "3")
    entries = [
        {"keys": "a", "data_type": "key", "schema": {"table": "one"}},
        {"keys": "b", "data_type": "list", "schema": {"table": "two"}},
    ]
    options = server.options(tables_configs=entries)
    source = source_of(RedisSource, options_of(RedisSource, options))
    assert sorted(row["content"] for row in read(source)) == ["1", "2", "3"]
