"""Values in messages of Debezium, by the schemas that come with them and without; and truncated tables."""

import base64
import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pytest

from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connector_api.testing.drive import Skipped
from seatunnel_core.connectors.kafka.source import KafkaSource
from seatunnel_core.errors import RowError
from tests.connectors.kafka.sources import Message

CONNECT, TIME, DATA = "org.apache.kafka.connect.data.", "io.debezium.time.", "io.debezium.data."
DECIMAL_2 = {"type": "bytes", "name": f"{CONNECT}Decimal", "parameters": {"scale": "2"}}


def read(fields: dict[str, Any], *messages: Any, format: str = "debezium_json", context: Any = None) -> list[Any]:
    given = {"bootstrap.servers": "localhost:9092", "topic": "t", "format": format, "schema": {"fields": fields}}
    decoder = KafkaSource(options_of(KafkaSource, given))._decoder
    values = [Message(json.dumps(each).encode()) for each in messages]
    batches = decoder.batches(values, context or Skipped())
    return [row for batch in batches for row in batch.rows.to_pylist()]


def message(after: dict[str, Any], schemas: dict[str, Any] | None = None) -> dict[str, Any]:
    payload = {"before": None, "after": after, "op": "c"}
    if schemas is None:
        return payload
    row = {"type": "struct", "fields": [{"field": name, **schema} for name, schema in schemas.items()]}
    fields = [{"field": "before", **row}, {"field": "after", **row}, {"field": "op", "type": "string"}]
    return {"schema": {"type": "struct", "fields": fields}, "payload": payload}


def value(kind: str, written: Any, schema: dict[str, Any] | None = None) -> Any:
    """Return the value of a column ``v`` of a type."""
    (row,) = read({"v": kind}, message({"v": written}, None if schema is None else {"v": schema}))
    return row["v"]


def named(name: str, type: str = "int64") -> dict[str, Any]:
    return {"type": type, "name": name}


NINES = base64.b64encode((10**38 - 1).to_bytes(16, "big")).decode()
VARIABLE, ZONED = named(f"{DATA}VariableScaleDecimal", "struct"), named(f"{TIME}ZonedTimestamp", "string")
UNAVAILABLE_BYTES = base64.b64encode(b"__debezium_unavailable_value").decode()
"""What Debezium sends for bytes that PostgreSQL did not log."""

NOON = dt.datetime(2024, 2, 29, 12, 0, 0, 123456)
NOON_US = 1_709_208_000_123_456


@pytest.mark.parametrize(
    ("kind", "written", "schema", "expected"),
    [
        ("decimal(10, 2)", "1234", DECIMAL_2, Decimal("-26588.24")),
        ("decimal(10, 4)", "MDk=", DECIMAL_2, Decimal("123.4500")),
        ("decimal(38, 2)", NINES, DECIMAL_2, Decimal("9" * 36 + ".99")),
        ("string", "MDk=", DECIMAL_2, "123.45"),
        ("double", "MDk=", DECIMAL_2, 123.45),
        ("decimal(10, 2)", 123.45, DECIMAL_2, Decimal("123.45")),
        ("decimal(10, 2)", 1.5, {"type": "double"}, Decimal("1.50")),
        ("decimal(10, 0)", "1234", {"type": "string"}, Decimal(1234)),
        ("decimal(10, 3)", {"scale": 1, "value": "MDk="}, VARIABLE, Decimal("1234.500")),
        ("decimal(10, 0)", {"scale": -2, "value": "MA=="}, VARIABLE, Decimal(4800)),
        ("date", 19782, named(f"{TIME}Date", "int32"), dt.date(2024, 2, 29)),
        ("date", -719162, named(f"{CONNECT}Date", "int32"), dt.date(1, 1, 1)),
        ("string", 19782, named(f"{TIME}Date", "int32"), "2024-02-29"),
        ("int", 19782, named(f"{TIME}Date", "int32"), 19782),
        ("timestamp", NOON_US // 1000, named(f"{TIME}Timestamp"), NOON.replace(microsecond=123000)),
        ("timestamp", 5, named(f"{CONNECT}Timestamp"), dt.datetime(1970, 1, 1, 0, 0, 0, 5000)),
        ("timestamp", NOON_US, named(f"{TIME}MicroTimestamp"), NOON),
        ("timestamp", -1, named(f"{TIME}MicroTimestamp"), dt.datetime(1969, 12, 31, 23, 59, 59, 999999)),
        ("timestamp", NOON_US * 1000, named(f"{TIME}NanoTimestamp"), NOON),
        ("timestamp_tz", NOON_US, named(f"{TIME}MicroTimestamp"), NOON.replace(tzinfo=dt.UTC)),
        ("bigint", NOON_US, named(f"{TIME}MicroTimestamp"), NOON_US),
        ("time", 1, named(f"{TIME}Time", "int32"), dt.time(0, 0, 0, 1000)),
        ("time", 1, named(f"{CONNECT}Time", "int32"), dt.time(0, 0, 0, 1000)),
        ("time", 45_000_000, named(f"{TIME}MicroTime"), dt.time(0, 0, 45)),
        ("time", 45_000_000_000, named(f"{TIME}NanoTime"), dt.time(0, 0, 45)),
        ("timestamp", "2024-02-29T12:00:00.123456Z", ZONED, NOON),
        ("timestamp_tz", "2024-02-29T14:00:00.123456+02:00", ZONED, NOON.replace(tzinfo=dt.UTC)),
        ("string", "2024-02-29T14:00:00+02:00", ZONED, "2024-02-29T14:00:00+02:00"),
        ("time", "12:00:01Z", named(f"{TIME}ZonedTime", "string"), dt.time(12, 0, 1)),
        ("timestamp", "2024-02-29T12:00:00.123456Z", named(f"{TIME}IsoTimestamp", "string"), NOON),
        ("date", "2024-02-29Z", named(f"{TIME}IsoDate", "string"), dt.date(2024, 2, 29)),
        ("int", 2024, named(f"{TIME}Year", "int32"), 2024),
        ("bigint", "AgE=", named(f"{DATA}Bits", "bytes"), 258),
        ("bytes", "AgE=", named(f"{DATA}Bits", "bytes"), b"\x02\x01"),
        ("bytes", "AgE=", {"type": "bytes"}, b"\x02\x01"),
        ("array<decimal(10, 2)>", ["MDk=", None], {"type": "array", "items": DECIMAL_2}, [Decimal("123.45"), None]),
        ("array<date>", [0], {"type": "array", "items": named(f"{TIME}Date", "int32")}, [dt.date(1970, 1, 1)]),
        ("string", "1234", {"type": "string"}, "1234"),
        ("boolean", True, {"type": "boolean"}, True),
        ("boolean", 1, {"type": "int16"}, True),
        ("boolean", 0, {"type": "int16"}, False),
    ],
)  # fmt: skip
def test_a_value_is_read_by_its_schema(kind: str, written: Any, schema: dict[str, Any], expected: Any) -> None:
    assert value(kind, written, schema) == expected


@pytest.mark.parametrize(
    ("kind", "written", "expected"),
    [
        ("decimal(10, 2)", "1234", Decimal("-26588.24")),
        ("decimal(10, 2)", "1234.50", Decimal("1234.50")),
        ("decimal(10, 2)", 1234, Decimal("1234.00")),
        ("decimal(10, 2)", {"scale": 1, "value": "MDk="}, Decimal("1234.50")),
        ("date", 19782, dt.date(2024, 2, 29)),
        ("date", "2024-02-29", dt.date(2024, 2, 29)),
        ("time", 43_200_000, dt.time(12)),
        ("time", 43_200_000_000, dt.time(12)),
        ("time", 43_200_000_000_000, dt.time(12)),
        ("timestamp", NOON_US // 1_000_000, NOON.replace(microsecond=0)),
        ("timestamp", NOON_US // 1000, NOON.replace(microsecond=123000)),
        ("timestamp", NOON_US, NOON),
        ("timestamp", NOON_US * 1000, NOON),
        ("timestamp", "2024-02-29T12:00:00.123456Z", NOON),
        ("array<decimal(10, 2)>", ["1234"], [Decimal("-26588.24")]),
        ("bigint", NOON_US, NOON_US),
        ("string", "1234", "1234"),
        ("boolean", 1, True),
    ],
)
def test_a_value_without_a_schema_is_read_as_seatunnel_does(kind: str, written: Any, expected: Any) -> None:
    assert value(kind, written) == expected


@pytest.mark.parametrize(
    ("kind", "written", "schema", "what"),
    [
        ("decimal(10, 2)", "12345", DECIMAL_2, "'12345' is not a base64-encoded number"),
        ("decimal(10, 0)", "12345", None, "'12345' is not a base64-encoded number"),
        ("decimal(4, 2)", "1234", DECIMAL_2, "-26588.24 is not of type decimal(4, 2)"),
        ("decimal(10, 1)", "MDk=", DECIMAL_2, "123.45 is not of type decimal(10, 1)"),
        ("timestamp", "2024-02-29T12:00:00+02:00", ZONED, "timestamp_tz"),
        ("timestamp", 1, named(f"{TIME}NanoTimestamp"), "more precise than a microsecond"),
        ("date", 10**9, named(f"{TIME}Date", "int32"), "column 'v'"),
        ("time", -1, named(f"{TIME}MicroTime"), "not a time of day"),
        ("date", NOON_US, named(f"{TIME}MicroTimestamp"), "column 'v'"),
        ("array<string>", ["__debezium_unavailable_value"], None, "REPLICA IDENTITY FULL"),
        ("boolean", 2, {"type": "int16"}, "2 is not of type boolean"),
    ],
)
def test_a_value_that_cannot_be_right_is_rejected(kind: str, written: Any, schema: Any, what: str) -> None:
    with pytest.raises(RowError, match="topic t, partition 3, offset 7") as raised:
        value(kind, written, schema)
    assert what in str(raised.value)
    assert "column 'v'" in str(raised.value)


def test_only_the_messages_that_cannot_be_read_are_left_out() -> None:
    """Other rows disappeared with them."""
    schemas = {"id": {"type": "int32"}, "v": DECIMAL_2}
    messages = [message({"id": n, "v": v}, schemas) for n, v in ((1, "MDk="), (2, "*"), (3, None), (4, "1234"))]
    skipped = Skipped(fail=False)
    found = read({"id": "int", "v": "decimal(10, 2)"}, *messages, context=skipped)
    assert [(row["id"], row["v"]) for row in found] == [(1, Decimal("123.45")), (3, None), (4, Decimal("-26588.24"))]
    assert len(skipped.errors) == 1


def test_both_sides_of_an_update_are_read_by_the_schema() -> None:
    update = message({"v": "MDk="}, {"v": DECIMAL_2})
    update["payload"] = {"before": {"v": "1234"}, "after": {"v": "MDk="}, "op": "u"}
    found = read({"v": "decimal(10, 2)"}, update, {"schema": None, "payload": None})
    assert [row["v"] for row in found] == [Decimal("-26588.24"), Decimal("123.45")]


@pytest.mark.parametrize(
    ("format", "written"),
    [
        ("debezium_json", {"op": "t", "before": None, "after": None, "source": {"table": "t"}}),
        ("debezium_json", {"schema": {}, "payload": {"op": "t"}}),
        ("canal_json", {"type": "TRUNCATE", "isDdl": True, "data": None, "sql": "TRUNCATE TABLE t"}),
        ("canal_json", {"type": "ERASE", "isDdl": True, "data": None}),
        ("maxwell_json", {"type": "table-drop", "database": "d", "table": "t"}),
        ("maxwell_json", {"type": "table-truncate", "database": "d", "table": "t"}),
        ("ogg_json", {"op_type": "T", "table": "t"}),
    ],
)
def test_a_truncated_table_is_an_error_and_never_nothing(format: str, written: Any) -> None:
    """It was left out, and the rows stayed in the sink."""
    with pytest.raises(RowError, match=r"offset 7: .*truncated or dropped .*empty the target"):
        read({"v": "int"}, written, format=format)


def test_changed_messages_name_what_is_missing() -> None:
    with pytest.raises(RowError, match="ExtractNewRecordState"):
        read({"v": "int"}, {"v": 1})


def test_bytes_of_canal_have_a_character_for_each_byte() -> None:
    """They were taken for base64: other bytes, or an error."""
    row = {"id": "1", "v": "ab\xffd", "name": "ab"}
    types = {"id": "int(11)", "v": "blob", "name": "varchar(9)"}
    found = read(
        {"v": "bytes", "name": "string"}, {"type": "INSERT", "data": [row], "mysqlType": types}, format="canal_json"
    )
    assert found == [{"v": b"ab\xffd", "name": "ab"}]
