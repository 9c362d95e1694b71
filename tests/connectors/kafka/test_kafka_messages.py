"""What messages of Kafka become, and what ``kafka.config`` means; no broker is needed."""

import io
import json
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.connector_api.several_tables import source_of
from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connector_api.testing.drive import Skipped
from seatunnel_core.connectors.kafka.cluster import Cluster
from seatunnel_core.connectors.kafka.encoding import Encoder
from seatunnel_core.connectors.kafka.settings import translated
from seatunnel_core.connectors.kafka.source import KafkaSource
from seatunnel_core.connectors.messages.avro import avro_schema
from seatunnel_core.errors import RowError, UsageError
from seatunnel_core.rows.batch import Batch
from seatunnel_core.work.split import Split
from tests.connectors.file.formats.test_inferred_json import Noted
from tests.connectors.kafka.sources import Message

FIELDS = {"id": "int", "name": "string", "price": "decimal(8, 2)"}


def source(**more: Any) -> KafkaSource:
    given = {"bootstrap.servers": "localhost:9092", "topic": "t", "schema": {"fields": FIELDS}, **more}
    return KafkaSource(options_of(KafkaSource, given))


def rows(*values: Any, **more: Any) -> list[tuple[int, Any]]:
    """Each row with its kind."""
    messages = [
        Message(each if each is None or isinstance(each, bytes) else json.dumps(each).encode()) for each in values
    ]
    found = []
    for batch in source(**more)._decoder.batches(messages, Skipped()):
        kinds = [0] * batch.rows.num_rows if batch.kinds is None else batch.kinds.to_pylist()
        found += [(kind, list(row.values())) for kind, row in zip(kinds, batch.rows.to_pylist(), strict=True)]
    return found


def said(found: list[tuple[int, Any]]) -> list[tuple[int, list[str]]]:
    return [(kind, [str(value) for value in row]) for kind, row in found]


OLD, NEW = {"id": 1, "name": "a", "price": 1.5}, {"id": 1, "name": "b", "price": "2.50"}
CHANGES: dict[str, list[Any]] = {
    "canal_json": [
        {"data": [OLD], "type": "INSERT"},
        {"data": [NEW], "old": [{"name": "a", "price": "1.50"}], "type": "UPDATE"},
        {"data": NEW, "type": "DELETE"},
        {"data": None, "type": "ALTER", "isDdl": True},
    ],
    "debezium_json": [
        {"schema": {}, "payload": {"before": None, "after": OLD, "op": "c"}},
        {"before": OLD, "after": NEW, "op": "u"},
        {"before": NEW, "after": None, "op": "d"},
        None,
    ],
    "maxwell_json": [
        {"type": "insert", "data": OLD},
        {"type": "update", "data": NEW, "old": {"name": "a", "price": 1.5}},
        {"type": "delete", "data": NEW},
        {"type": "table-create"},
    ],
    "ogg_json": [
        {"op_type": "I", "after": OLD},
        {"op_type": "U", "before": OLD, "after": NEW},
        {"op_type": "D", "before": NEW},
    ],
}


@pytest.mark.parametrize("format", CHANGES)
def test_changes_are_rows_with_kinds(format: str) -> None:
    old, new = ["1", "a", "1.50"], ["1", "b", "2.50"]
    wanted = [(0, old), (1, old), (2, new), (3, new)]
    assert said(rows(*CHANGES[format], format=format)) == wanted
    assert said(rows(*CHANGES[format], format=format.replace("_", "-"))) == wanted


def test_debezium_is_taken_of_one_table() -> None:
    messages = [{"after": {"id": n}, "op": "r", "source": {"db": "d", "table": t}} for n, t in ((1, "a"), (2, "b"))]
    only = {"database_name": "d", "table_name": "b"}
    found = rows(*messages, format="debezium_json", debezium_record_table_filter=only)
    assert [row[0] for _, row in found] == [2]


@pytest.mark.parametrize(
    ("format", "value", "what"),
    [
        ("json", b"[1]", "expected an object"),
        ("json", {"id": 2**40}, "column 'id': 1099511627776 is not of type int"),
        ("json", None, "the message has a key but no value"),
        ("text", b"\xff,a", "invalid text: 'utf-8' codec"),
        ("canal_json", {"data": [], "type": "MERGE"}, "expected 'type' INSERT, UPDATE or DELETE, found 'MERGE'"),
        ("canal_json", {"type": "INSERT"}, "'data' is missing"),
        ("debezium_json", {"before": None, "after": None, "op": "d"}, "REPLICA IDENTITY FULL"),
        ("avro", b"\x00\x00\x00\x00\x01abcdefgh", "schema registry"),
        ("avro", b"\x02", "invalid avro"),
    ],
)
def test_a_message_that_is_none_says_where_it_is(format: str, value: Any, what: str) -> None:
    with pytest.raises(RowError, match="topic t, partition 3, offset 7") as raised:
        rows(value, format=format)
    assert what in str(raised.value)


def test_text_and_avro_and_messages_without_a_schema() -> None:
    assert said(rows(b"1,a,1.5", b"2", format="text")) == [(0, ["1", "a", "1.50"]), (0, ["2", "None", "None"])]
    assert said(rows(b"1||a", format="text", field_delimiter="||")) == [(0, ["1", "a", "None"])]
    assert said(rows(b"1|a|1.5|more", format="text", field_delimiter=r"\|")) == [(0, ["1", "a", "1.50"])]
    assert said(rows(b"1  a 1.5", format="text", field_delimiter=r"(\s)+")) == [(0, ["1", "a", "1.50"])]
    with pytest.raises(RowError, match="found 4 fields, expected 3 according to the schema"):
        rows(b"1,a,1.5,x", format="text", format_error_handle_way="FAIL")
    assert rows(b"any\nthing", schema={}) == [(0, ["any\nthing"])]
    import fastavro

    schema = fastavro.parse_schema(avro_schema(source()._schema.columns))
    stream = io.BytesIO()
    from decimal import Decimal

    fastavro.schemaless_writer(stream, schema, {"id": 1, "name": "ä", "price": Decimal("1.50")})
    assert said(rows(stream.getvalue(), format="avro")) == [(0, ["1", "ä", "1.50"])]


def test_an_empty_field_of_text_is_null_as_it_is_in_files() -> None:
    """A null of the sink came back as a text without characters."""
    schema = {"fields": {"a": "string", "b": "string", "c": "int"}}
    assert rows(b",x,", b"", schema=schema, format="text") == [(0, [None, "x", None]), (0, [None, None, None])]
    apart = {"null_format": "\\N", "empty_value": "TEXT"}
    assert rows(rb"\N,,\N", schema=schema, format="text", **apart) == [(0, [None, "", None])]
    assert rows(rb"\N,,", schema=schema, format="text", null_format=r"\N") == [(0, [None, None, None])]


@pytest.mark.parametrize(
    ("null", "options", "expected"),
    [("", {}, [None, None, "x"]), ("\\N", {"null_format": "\\N", "empty_value": "TEXT"}, [None, "", "x"])],
)
def test_null_that_is_written_as_text_is_read_as_null(null: str, options: dict[str, Any], expected: list[Any]) -> None:
    encoder = Encoder(
        topic="t",
        topic_column=None,
        format="text",
        delimiter=",",
        null=null,
        key_columns=(),
        partition=None,
        assigned=(),
    )
    written = pa.RecordBatch.from_pydict({"a": [1, 1, 1], "b": pa.array([None, "", "x"], pa.string())})
    values = [value for *_, value in encoder.messages(Batch(table="t", rows=written))]
    found = rows(*values, schema={"fields": {"a": "bigint", "b": "string"}}, format="text", **options)
    assert [row[1] for _, row in found] == expected
    if null:
        with pytest.raises(RowError, match="would be read as null"):
            encoder.messages(Batch(table="t", rows=written.set_column(1, "b", pa.array(["x", null, "y"]))))


def test_json_that_is_read_fast_is_what_is_read_with_care() -> None:
    schema = {"fields": {"id": "bigint", "name": "string", "at": "timestamp"}}
    values = [b'{"id": 1, "name": "a", "more": [1]}', b'{"at": "2024-02-29T01:02:03", "id": null}']
    fast = rows(*values, schema=schema)
    assert [row for _, row in fast] == [row for _, row in rows(*(value + b"\n" for value in values), schema=schema)]
    assert len(rows(b'{"id": 1}', b'{"id": \n 2}', schema=schema)) == 2
    with pytest.raises(RowError):
        rows(b'{"id": 1}{"id": 2}', b"", schema=schema)


def test_names_of_java_are_translated_or_refused() -> None:
    jaas = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="me" password="s3cr\\"et";'
    written = {
        "max.poll.records": "500",
        "enable.auto.commit": "false",
        "buffer.memory": "33554432",
        "sasl.jaas.config": jaas,
        "security.protocol": "SASL_SSL",
        "acks": "all",
    }
    assert translated(written) == {
        "queue.buffering.max.kbytes": "32768",
        "sasl.username": "me",
        "sasl.password": 's3cr"et',
        "security.protocol": "sasl_ssl",
        "acks": "all",
    }
    kerberos = 'com.sun.security.auth.module.Krb5LoginModule required keyTab="/k.keytab" principal="me@X";'
    found = {"sasl.kerberos.keytab": "/k.keytab", "sasl.kerberos.principal": "me@X"}
    assert translated({"sasl.jaas.config": kerberos}) == found
    for key, value in {
        "group.id": "x",
        "interceptor.classes": "X",
        "sasl.jaas.config": "secret",
        "ssl.truststore.location": "/a.jks",
        "sasl.mechanism": "AWS_MSK_IAM",
    }.items():
        with pytest.raises(UsageError, match=key.replace(".", r"\.")) as told_:
            translated({key: value})
        assert "secret" not in str(told_.value)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"format": "protobuf"}, "protobuf is not supported"),
        ({"format": "canal_json", "schema": {}}, "required for format = canal_json"),
        ({"start_mode": "timestamp"}, "'start_mode.timestamp': required with start_mode = timestamp"),
        ({"start_mode": "specific_offsets"}, "'start_mode.offsets'"),
        ({"start_mode.offsets": {"t": "x"}}, 'expected the form "topic-0" = 50'),
        ({"topic": "[", "pattern": True}, "is not a regular expression"),
        ({"topic": " , "}, "must not be empty"),
        ({"kafka.config": {"auto.offset.reset": "soon"}}, "earliest, latest or none"),
    ],
)
def test_options_that_do_not_go_together_are_named(options: dict[str, Any], what: str) -> None:
    with pytest.raises(UsageError, match="option") as told_:
        source(**options)
    assert what in str(told_.value)


def split(index: int, partition: int, start: int, end: int, topic: str = "t") -> Split:
    body = {"topic": topic, "partition": partition, "start": start, "end": end}
    return Split(index=index, weight_bytes=1, rows=1, body=body)


def test_a_group_gets_offsets_of_published_ranges_only(monkeypatch: pytest.MonkeyPatch) -> None:
    told_: list[dict[Any, int]] = []
    monkeypatch.setattr(Cluster, "commit", lambda _, group, offsets, notes: told_.append(dict(offsets)))
    made = source()
    planned = [split(0, 0, 0, 10), split(1, 1, 0, 5), split(2, 0, 10, 20)]
    made.acknowledge(planned, planned[1:], {})
    made.acknowledge(planned, planned[1:], {})
    made.acknowledge(planned, [], {})
    assert told_ == [{("t", 0): 10, ("t", 1): 0}, {("t", 0): 20, ("t", 1): 5}]
    memory = {"topics": {"t": {"0": 40, "1": 5}}, "listed_ms": 0}
    made.acknowledge([], [split(3, 0, 30, 40)], memory)
    assert told_[2:] == [{("t", 0): 30}]
    assert not source(commit_on_checkpoint=False).acknowledges


def test_each_table_has_its_own_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    told_: list[Any] = []
    monkeypatch.setattr(Cluster, "commit", lambda _, group, offsets, notes: told_.append((group, dict(offsets))))
    entries = [{"topic": name, "consumer.group": f"of-{name}"} for name in ("a", "b")]
    entries[1]["commit_on_checkpoint"] = "false"
    given = {"bootstrap.servers": "localhost:9092", "tables_configs": entries}
    made = source_of(KafkaSource, options_of(KafkaSource, given))
    assert made.acknowledges
    own = (("a", split(0, 0, 0, 10, "a")), ("b", split(1, 0, 0, 10, "b")), ("a", split(2, 0, 10, 20, "a")))
    planned = [evolve(each, body={"table": table, "split": each.body}) for table, each in own]
    made.acknowledge(planned, planned[2:], {})
    assert told_ == [("of-a", {("a", 0): 10})]


def test_a_message_that_goes_on_in_the_next_one_is_no_row() -> None:
    """Where as many objects as messages were found, it was taken for one when another message had two."""
    broken = [b'{"id": 1, "x": [', b"{}]}", b'{"id": 2}{"id": 3}', b'{"id": 4}']
    with pytest.raises(RowError, match="offset 7: invalid json"):
        rows(*broken, schema={"fields": {"id": "int"}})


def test_messages_of_most_types_are_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A decimal, a date or a row among the columns left all messages to Python's ``json``, one by one."""
    monkeypatch.setattr("seatunnel_core.connectors.messages.decoding.parsed", lambda _: pytest.fail("read alone"))
    fields = {**FIELDS, "day": "date", "inner": {"at": "timestamp_tz", "list": "array<float>"}}
    whole = {"price": "2.50", "day": "2024-02-29", "inner": {"at": "2024-02-29T10:00:00+02:00", "list": [0.5, None]}}
    found = rows({"id": 1, "name": "a"}, whole, schema={"fields": fields})
    assert said(found) == [
        (0, ["1", "a", "None", "None", "None"]),
        (0, ["None", "None", "2.50", "2024-02-29", str(found[1][1][4])]),
    ]
    assert str(found[1][1][4]["at"]) == "2024-02-29 08:00:00+00:00"


@pytest.mark.parametrize("format", ["json", "maxwell_json"])
@pytest.mark.parametrize("careful", [False, True])
def test_keys_that_differ_in_case_are_counted(format: str, careful: bool) -> None:
    """Their columns were null without a word."""

    def message(row: dict[str, Any]) -> Message:
        found = row if format == "json" else {"database": "d", "table": "t", "type": "insert", "data": row}
        return Message(json.dumps(found, indent=1 if careful else None).encode())

    context = Noted()
    messages = [message({"ID": 1, "name": "a", "price": 1}), message({"id": 2, "name": "b", "more": 2})]
    (batch,) = source(format=format)._decoder.batches(messages, context)
    assert batch.rows["id"].to_pylist() == [None, 2]
    (note,) = context.notes.items()
    assert note[0].startswith("have the key 'ID' but no 'id': the names differ in case")
    assert note[1] == (1, "topic t, partition 3, offset 7")
