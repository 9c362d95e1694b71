"""Options of the Redis connector, the commands of rows and the meaning of errors, without a server."""

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pytest
from redis import exceptions

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import RowError, SinkError, SourceError, UsageError
from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.redis.server import Server
from seatunnel_core.connectors.redis.sink import RedisSink, RowCommands
from seatunnel_core.connectors.redis.source import RedisSource
from seatunnel_core.connectors.redis.staging import padded
from seatunnel_core.connectors.staging.lists import requests

PEOPLE = pa.record_batch({"id": ["1", "seatunnel:{x"], "name": ["Ann", "Bo"]})
SCHEMA = TableSchema(table="shop.people", columns=PEOPLE.schema, comment="of {id} and ${name}")
KEYED = {"fields": {"key": "string", "v": "string"}}


def sink(**options: Any) -> RedisSink:
    return RedisSink(options_of(RedisSink, {"host": "h", "data_type": "list", "key": "k", **options}))


def source(**options: Any) -> RedisSource:
    return RedisSource(options_of(RedisSource, {"host": "h", "data_type": "key", "keys": "*", **options}))


def keys(**options: Any) -> list[bytes]:
    commands = RowCommands(sink(**options).options, SCHEMA)
    return [key for _, key, *_ in commands.of(Batch(table="shop.people", rows=PEOPLE.slice(0, 1)))]  # type: ignore[misc]


def test_a_key_with_columns_needs_support_custom_key() -> None:
    """All rows went into one key with that literal name."""
    with pytest.raises(
        SinkError,
        match=r"option 'key': 'user:\$\{id\}' contains column placeholders; also set support_custom_key "
        "= true",
    ):
        sink(key="user:${id}").check_schema(SCHEMA)
    assert keys(key="user:${id}", support_custom_key=True) == [b"user:1"]
    assert keys(key="${table_name}:{tag}") == [b"people:{tag}"]


@pytest.mark.parametrize("custom", [False, True])
def test_braces_in_a_comment_are_no_columns(custom: bool) -> None:
    expected = [b"of {id} and ${name}-people"]
    assert keys(key="${comment}-${table_name:t}", support_custom_key=custom) == expected


def test_the_state_of_the_sink_is_not_a_key_of_rows() -> None:
    commands = RowCommands(sink(key="id").options, SCHEMA)
    with pytest.raises(RowError, match=r"key 'seatunnel:\{x': .* are reserved for the sink"):
        list(commands.of(Batch(table="shop.people", rows=PEOPLE)))


@pytest.mark.parametrize("make", [sink, source])
def test_a_delimiter_is_a_text(make: Callable[..., Any]) -> None:
    with pytest.raises(UsageError, match=r"option 'field_delimiter'.*found ''"):
        make(format="text", field_delimiter="")


def test_a_delimiter_does_not_contain_the_end_of_a_row() -> None:
    with pytest.raises(UsageError, match=r"option 'field_delimiter'.*found ';\\n'"):
        sink(format="text", field_delimiter=";\n")
    source(format="text", field_delimiter="\n")


@pytest.mark.parametrize("seconds", [2**31, -(2**31) - 1, 2**60])
def test_a_time_to_live_that_redis_refuses_is_refused_here(seconds: int) -> None:
    """EXPIRE failed when the row was written already, so each retry wrote it again."""
    with pytest.raises(ValueError, match="expected a whole number"):
        sink(expire=seconds)


@pytest.mark.parametrize(
    ("make", "options", "named"),
    [
        (sink, {"data_type": "hash", "value_field": "name"}, "value_field"),
        (sink, {"data_type": "hash", "hash_value_field": "name"}, "hash_value_field"),
        (sink, {"data_type": "hash", "hash_key_field": "id", "hash_value_field": "name"}, ""),
        (sink, {"hash_key_field": "id"}, "hash_key_field"),
        (sink, {"hash_key_field": "id", "hash_value_field": "name"}, "hash_value_field"),
        (sink, {"value_field": "name"}, ""),
        (source, {"single_field_name": "v", "schema": KEYED}, "single_field_name"),
        (source, {"key_field_name": "key", "schema": KEYED}, "key_field_name"),
        (source, {"hash_key_parse_mode": "kv"}, "hash_key_parse_mode"),
        (source, {"read_key_enabled": True, "single_field_name": "v", "schema": KEYED}, ""),
        (source, {"single_field_name": "v", "schema": {"fields": {"v": "bytes", "w": "string"}}}, ""),
    ],
)
def test_options_without_effect_are_named(make: Callable[..., Any], options: Mapping[str, Any], named: str) -> None:
    found = make(**options).remarks
    assert any(f"option {named!r} has no effect: it requires" in remark for remark in found) == bool(named)
    assert bool(found) == bool(named)


def test_the_key_has_its_own_column() -> None:
    with pytest.raises(UsageError, match="option 'single_field_name': 'key' is the key column"):
        source(read_key_enabled=True, single_field_name="key", schema=KEYED)
    for options in ({"read_key_enabled": True}, {"data_type": "hash", "hash_key_parse_mode": "kv"}):
        with pytest.raises(UsageError, match="option 'schema' is missing"):
            source(key_field_name="content", **options)


@pytest.mark.parametrize("type", ["key", "string", "hash", "list", "set", "zset"])
def test_a_row_may_not_overtake_another(type: str) -> None:
    """The deletion of an element overtook its insertion."""
    assert sink(data_type=type).needs_order
    assert sink(data_type=type).replaces_rows is (type in ("key", "string", "hash"))


def test_requests_are_limited_in_number_and_size() -> None:
    commands: list[tuple[str | bytes, ...]] = [("RPUSH", b"l", b"x" * 1_500_000)] * 7
    assert [len(request) for request in requests(commands, 1_000, RedisSink.most_bytes)] == [3, 3, 1]
    assert [len(request) for request in requests(commands[:3], 2, RedisSink.most_bytes)] == [2, 1]
    assert [*map(padded, *requests([("DEL", b"k")], 9, 9))] == [[2, "DEL", b"k", b"", b""]]
    assert list(requests([], 9, 9)) == []


@pytest.mark.parametrize(
    ("error", "retryable", "advice"),
    [
        (exceptions.ResponseError("BUSY Redis is busy running a script."), True, "wait until the server responds"),
        (exceptions.MasterDownError("Link with MASTER is down"), True, "wait until the server responds"),
        ("MASTERDOWN Link with MASTER is down", True, "wait until the server responds"),
        (exceptions.BusyLoadingError("Redis is loading the dataset in memory"), True, ""),
        (exceptions.ConnectionError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify"), False, "check ssl, ssl_ca"),
        (exceptions.NoPermissionError("No permissions"), False, "allow the user these commands"),
        ("ERR The user executing the script can't run this command", False, "allow the user these commands"),
        ("WRONGTYPE Operation against a key", False, "change data_type"),
    ],
)
def test_the_text_of_an_error_decides_and_not_the_key(error: Exception | str, retryable: bool, advice: str) -> None:
    server = Server.of(sink().options)
    for key in ("ROOM:1", "Connection", "Timeout", "NOAUTH", "Cluster", "READONLY"):
        found = server.failed(SourceError, error, f"key {key!r}: ")
        assert (found.retryable, advice in str(found), repr(key) in str(found)) == (retryable, True, True)
