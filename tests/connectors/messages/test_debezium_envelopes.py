"""Changed rows as Debezium's messages, which a source of these messages reads as the same rows."""

import base64
import datetime as dt
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connector_api.testing.drive import Skipped
from seatunnel_core.connectors.kafka.encoding import Encoder
from seatunnel_core.connectors.kafka.sink import KafkaSink
from seatunnel_core.connectors.kafka.source import KafkaSource
from seatunnel_core.connectors.messages.debezium_envelopes import MESSAGES, DebeziumFormat
from seatunnel_core.connectors.messages.decoding import Decoder, Message
from seatunnel_core.errors import RowError, SinkError, UsageError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.kind import RowKind

COLUMNS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("name", pa.string()),
        ("pay", pa.decimal128(10, 2)),
        ("photo", pa.binary()),
        ("born", pa.date32()),
        ("at", pa.time64("us")),
        ("seen", pa.timestamp("us")),
        ("made", pa.timestamp("ms")),
        ("logged", pa.timestamp("us", "UTC")),
        ("ok", pa.bool_()),
        ("ratio", pa.float64()),
        ("tags", pa.list_(pa.decimal128(5, 1))),
    ]
)
SCHEMA = TableSchema(table="shop.people", columns=COLUMNS, primary_key=("id",))
FULL = {
    "id": 1,
    "name": 'Ada "A"',
    "pay": Decimal("-129.05"),
    "photo": b"\x00\xff",
    "born": dt.date(1815, 12, 10),
    "at": dt.time(23, 59, 59, 5),
    "seen": dt.datetime(2026, 11, 28, 22, 30, 1, 7),
    "made": dt.datetime(2026, 11, 28, 22, 30, 1, 7000),
    "logged": dt.datetime(2026, 11, 28, 22, 30, 1, 7, dt.UTC),
    "ok": True,
    "ratio": 0.5,
    "tags": [Decimal("1.5"), None],
}
EMPTY: dict[str, Any] = {**dict.fromkeys(COLUMNS.names), "id": 2}
WHERE = {"db": "shop", "table": "people", "ts_ms": 1_700_000_000_000, "file": "binlog.000003", "pos": 154}
FORM = DebeziumFormat(connector="mysql", server="s1", key_schemas=False, value_schemas=False)
NEW, BEFORE, AFTER, GONE = RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE

Row = Mapping[str, Any]


def batch(*rows: tuple[RowKind, Row], absent: Mapping[str, Sequence[bool]] | None = None) -> Batch:
    return Batch(
        table=SCHEMA.table,
        rows=pa.RecordBatch.from_pylist([dict(row) for _, row in rows], COLUMNS),
        kinds=pa.array([kind.value for kind, _ in rows], pa.int8()),
        absent={name: pa.array(mask) for name, mask in (absent or {}).items()},
    )


def messages(form: DebeziumFormat, of: Batch, snapshot: bool = False) -> list[tuple[str, str, str | None]]:
    made = form.messages(of, SCHEMA, [WHERE] * of.rows.num_rows, ts_ms=5, snapshot=snapshot)
    assert made.rows.schema.equals(MESSAGES)
    assert made.inserts_only
    return [tuple(row.values()) for row in made.rows.to_pylist()]


def values(form: DebeziumFormat, of: Batch) -> list[Any]:
    return [None if value is None else json.loads(value) for *_, value in messages(form, of)]


def test_a_message_has_both_rows_and_where_they_come_from() -> None:
    ((topic, key, value),) = messages(FORM, batch((BEFORE, EMPTY), (AFTER, {**EMPTY, "name": "x", "ok": False})))
    assert (topic, json.loads(key)) == ("s1.shop.people", {"id": 2})
    found = json.loads(value or "")
    assert found["before"] == EMPTY
    assert found["after"] == {**EMPTY, "name": "x", "ok": False}
    assert found["source"] == {
        "version": "seatunnel", "connector": "mysql", "name": "s1", "snapshot": "false", **WHERE
    }  # fmt: skip
    assert {name: found[name] for name in ("op", "ts_ms", "transaction")} == {
        "op": "u",
        "ts_ms": 5,
        "transaction": None,
    }


def test_values_have_the_forms_of_debezium() -> None:
    (found,) = values(FORM, batch((NEW, FULL)))
    assert found["after"] == {
        "id": 1,
        "name": 'Ada "A"',
        "pay": base64.b64encode(b"\xcd\x97").decode(),  # -12905
        "photo": "AP8=",
        "born": -56270,
        "at": 86_399_000_005,
        "seen": 1_795_905_001_000_007,
        "made": 1_795_905_001_007,
        "logged": "2026-11-28T22:30:01.000007Z",
        "ok": True,
        "ratio": 0.5,
        "tags": [base64.b64encode(b"\x0f").decode(), None],
    }


@pytest.mark.parametrize("number", ["0.00", "1.27", "1.28", "-1.28", "-1.29", "99999999.99"])
def test_decimals_have_the_fewest_bytes_that_java_reads(number: str) -> None:
    (found,) = values(FORM, batch((NEW, {**EMPTY, "pay": Decimal(number)})))
    digits, unscaled = base64.b64decode(found["after"]["pay"]), int(Decimal(number) * 100)
    fewest = next(size for size in range(1, 9) if -(1 << 8 * size - 1) <= unscaled < 1 << 8 * size - 1)
    assert digits == unscaled.to_bytes(fewest, "big", signed=True)


def test_kinds_are_operations() -> None:
    of = batch((NEW, FULL), (AFTER, FULL), (GONE, EMPTY))
    assert [(each["op"], each["before"] is None) for each in values(FORM, of)] == [
        ("c", True),
        ("u", True),
        ("d", False),
    ]
    ((*_, value),) = messages(FORM, batch((NEW, FULL)), snapshot=True)
    assert (json.loads(value or "")["op"], json.loads(value or "")["source"]["snapshot"]) == ("r", "true")


def test_a_new_key_is_a_deletion_and_an_insertion() -> None:
    of = batch((BEFORE, FULL), (AFTER, {**FULL, "id": 9}))
    found = messages(evolve(FORM, tombstones=True), of)
    assert [(json.loads(key)["id"], value and json.loads(value)["op"]) for _, key, value in found] == [
        (1, "d"), (1, None), (9, "c")
    ]  # fmt: skip


def test_values_that_did_not_arrive_have_placeholders() -> None:
    absent = {"name": [True, True], "photo": [True, True], "pay": [True, False]}
    (found,) = values(FORM, batch((BEFORE, EMPTY), (AFTER, EMPTY), absent=absent))
    assert found["before"] == EMPTY
    assert found["after"]["name"] == "__debezium_unavailable_value"
    assert base64.b64decode(found["after"]["photo"]) == b"__debezium_unavailable_value"
    with pytest.raises(RowError, match=r"column 'pay', row 1 of a batch of shop\.people: the change does not contain"):
        messages(FORM, batch((AFTER, EMPTY), absent={"pay": [True]}))
    with pytest.raises(RowError, match="column 'id', row 1 of a batch"):
        messages(FORM, batch((AFTER, EMPTY), absent={"id": [True]}))


def test_postgresql_names_topics_by_schema_and_tables_without_a_key_have_none() -> None:
    where = {"db": "shop", "schema": "public", "table": "people", "ts_ms": 1, "lsn": 7}
    plain = evolve(SCHEMA, primary_key=())
    made = FORM.messages(batch((NEW, FULL)), plain, [where], ts_ms=5, snapshot=False)
    assert (made.rows["topic"][0].as_py(), made.rows["key"][0].as_py()) == ("s1.public.people", None)
    assert FORM.messages(batch(), SCHEMA, [], ts_ms=5, snapshot=False).rows.num_rows == 0


def test_an_old_row_alone_is_an_error() -> None:
    with pytest.raises(RowError, match="an old row, but its new row is missing"):
        messages(FORM, batch((BEFORE, FULL)))


def test_a_type_without_a_form_is_named_before_data_moves() -> None:
    FORM.check(SCHEMA)
    with pytest.raises(ValueError, match="the type map<string, int> cannot be written as COMPATIBLE_DEBEZIUM_JSON"):
        FORM.check(evolve(SCHEMA, columns=pa.schema([("m", pa.map_(pa.string(), pa.int32()))])))


@pytest.mark.parametrize("schemas", [True, False])
def test_a_source_of_these_messages_reads_the_same_rows(schemas: bool) -> None:
    form = DebeziumFormat(connector="mysql", server="s1", key_schemas=schemas, value_schemas=schemas, tombstones=True)
    of = batch((NEW, FULL), (BEFORE, FULL), (AFTER, {**FULL, "name": None}), (GONE, FULL), (NEW, EMPTY))
    found = [Message("m", None if value is None else value.encode()) for *_, value in messages(form, of)]
    decoder = Decoder(schema=SCHEMA, format="debezium_json", declared=True)
    (read,) = decoder.batches(found, Skipped())
    assert read.rows.to_pylist() == of.rows.to_pylist()
    assert read.kinds == of.kinds


@pytest.mark.parametrize("schemas", [True, False])
def test_values_that_did_not_arrive_are_read_as_such(schemas: bool) -> None:
    """A source of such messages rejected them, and updates without the row before."""
    form = evolve(FORM, value_schemas=schemas)
    absent = {"name": [True, False], "photo": [True, False]}
    of = batch((AFTER, {**FULL, "name": None, "photo": None}), (NEW, FULL), absent=absent)
    found = [Message("m", (value or "").encode()) for *_, value in messages(form, of)]
    (read,) = Decoder(schema=SCHEMA, format="debezium_json", declared=True).batches(found, Skipped())
    assert read.rows.to_pylist() == of.rows.to_pylist()
    assert read.kinds == of.kinds
    assert {name: mask.to_pylist() for name, mask in read.absent.items()} == absent


def kafka(**more: Any) -> Encoder:
    return Encoder(
        topic="",
        topic_column="topic",
        format="compatible_debezium_json",
        key_columns=(),
        partition=None,
        **{"assigned": (), **more},
    )


def test_kafka_sends_messages_as_they_are() -> None:
    made = evolve(FORM, tombstones=True).messages(batch((GONE, FULL)), SCHEMA, [WHERE], ts_ms=5, snapshot=False)
    encoder = kafka(largest={"": 10_000})
    encoder.check(TableSchema(table="t", columns=MESSAGES))
    sent, tombstone = encoder.messages(made)
    assert sent == ("s1.shop.people", -1, b'{"id":1}', made.rows["value"][0].as_py().encode())
    assert tombstone == ("s1.shop.people", -1, b'{"id":1}', None)
    assert kafka(assigned=("nothing", ""), partitions={"s1.shop.people": 3}).messages(made)[1][1] == 1
    with pytest.raises(SinkError, match="exactly the string columns topic, key and value, but the rows of shop"):
        evolve(encoder, topic_column=None).check(SCHEMA)


def test_decimals_keep_all_digits() -> None:
    """They were rounded to 28 digits."""
    for kind, text in (
        (pa.decimal128(38, 2), "123456789012345678901234567890123456.78"),
        (pa.decimal128(38, 2), "-123456789012345678901234567890123456.79"),
        (pa.decimal256(65, 0), "-" + "1234567890123" * 5),
        (pa.decimal256(76, 30), "9" * 46 + "." + "9" * 30),
    ):
        schema = TableSchema(table="t", columns=pa.schema([("n", kind)]))
        rows = pa.record_batch([pa.array([Decimal(text)], kind)], schema=schema.columns)
        made = FORM.messages(Batch(table="t", rows=rows), schema, [WHERE], ts_ms=1, snapshot=False)
        after = json.loads(made.rows["value"][0].as_py())["after"]
        number = int.from_bytes(base64.b64decode(after["n"]), "big", signed=True)
        assert str(number) == text.replace(".", "")


def test_kafka_accepts_only_inserted_messages_whose_columns_may_be_in_any_order() -> None:
    """Kinds were ignored, so that a deleted message was sent."""
    made = FORM.messages(batch((NEW, FULL)), SCHEMA, [WHERE], ts_ms=5, snapshot=False)
    columns = pa.schema([pa.field(name, pa.string(), nullable=False) for name in ("value", "topic", "key")])
    kafka().check(TableSchema(table="t", columns=columns))
    for kind in (GONE, BEFORE, AFTER):
        of = evolve(made, kinds=pa.array([int(kind)], pa.int8()))
        with pytest.raises(RowError, match="rows are deleted or updated, which compatible_debezium_json cannot repr"):
            kafka().messages(of)
    options = {"bootstrap.servers": "localhost:1", "topic": "${topic}", "format": "compatible_debezium_json"}
    with pytest.raises(UsageError, match="'partition_key_fields': cannot be combined with format = compatible_debez"):
        KafkaSink(options_of(KafkaSink, {**options, "partition_key_fields": ["key"]}))


def test_the_sink_of_kafka_accepts_the_format_and_its_source_does_not() -> None:
    options = {"bootstrap.servers": "localhost:1", "topic": "${topic}", "format": "COMPATIBLE_DEBEZIUM_JSON"}
    assert KafkaSink(options_of(KafkaSink, options))
    with pytest.raises(UsageError, match="compatible_debezium_json is not supported; use json, text"):
        KafkaSource(options_of(KafkaSource, {**options, "topic": "t"}))
