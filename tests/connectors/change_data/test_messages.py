"""Captured rows as Debezium's messages; values that Debezium 3.6 wrote for the same rows are recorded here."""

import datetime as dt
import json
import pickle
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.connector_api.batch import Batch
from seatunnel_core.connector_api.errors import SourceError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.change_data import messages
from seatunnel_core.connectors.change_data import options as opt
from seatunnel_core.connectors.change_data.log_order import LoggedRows
from seatunnel_core.connectors.change_data.messages import Messages, ignored_properties, rows_of_events
from seatunnel_core.connectors.jdbc import options as jdbc
from seatunnel_core.connectors.jdbc.column import Column, DatabaseTable
from seatunnel_core.connectors.jdbc.databases import mysql_values
from seatunnel_core.connectors.jdbc.databases.postgresql_values import column_of
from seatunnel_core.connectors.jdbc.reading import Found, Reading
from seatunnel_core.connectors.messages.debezium_envelopes import MESSAGES
from seatunnel_core.rows.kind import RowKind
from tests.connectors.mysql_cdc.tables import DIALECT

FORMAT = "COMPATIBLE_DEBEZIUM_JSON"
NEW, BEFORE, AFTER, GONE = RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE
WHERE = {"db": "shop", "table": "people", "file": "bin.000001", "pos": 7}
UTC = dt.UTC

OF_MYSQL: Mapping[str, tuple[str, Any, Any]] = {
    "id": ("bigint", 1, 1),
    "b1": ("tinyint(1)", True, 1),
    "tu": ("tinyint(3) unsigned", 200, 200),
    "bu": ("bigint unsigned", Decimal(2**64 - 1), "AP//////////"),
    "f4": ("float", 0.5, 0.5),
    "n": ("decimal(10,2)", Decimal("-129.05"), "zZc="),
    "by": ("varbinary(10)", b"\x00\xff", "AP8="),
    "d": ("date", dt.date(1815, 12, 10), -56270),
    "ti": ("time(6)", dt.time(23, 59, 59, 5), 86_399_000_005),
    "ti0": ("time", dt.time(1, 2, 3), 3_723_000_000),
    "dt": ("datetime", dt.datetime(2026, 11, 28, 22, 30, 1), 1_795_905_001_000),
    "dt3": ("datetime(3)", dt.datetime(2026, 11, 28, 22, 30, 1, 7000), 1_795_905_001_007),
    "dt6": ("datetime(6)", dt.datetime(2026, 11, 28, 22, 30, 1, 7), 1_795_905_001_000_007),
    "ts": ("timestamp", dt.datetime(2026, 11, 28, 22, 30, 1), "2026-11-28T22:30:01Z"),
    "ts6": ("timestamp(6)", dt.datetime(2026, 11, 28, 22, 30, 1, 500_000), "2026-11-28T22:30:01.500000Z"),
    "y": ("year(4)", 2026, 2026),
    "bi": ("bit(1)", True, True),
    "bi9": ("bit(9)", b"\x01\x41", "QQE="),
    "e": ("enum('a','b')", "b", "b"),
    "st": ("set('x','y')", "x,y", "x,y"),
    "j": ("json", '{"a": 1}', '{"a": 1}'),
}
"""Declared type, value in rows, and value in the messages of Debezium, by column."""

OF_POSTGRES: Mapping[str, tuple[str, Any, Any]] = {
    "id": ("int8:bigint", 1, 1),
    "n": ("numeric:numeric(10,2)", Decimal("-129.05"), "zZc="),
    "nn": ("numeric:numeric", Decimal("1.50"), {"scale": 1, "value": "Dw=="}),
    "ti": ("time:time without time zone", dt.time(23, 59, 59, 5), 86_399_000_005),
    "ti3": ("time:time(3) without time zone", dt.time(1, 2, 3, 4000), 3_723_004),
    "ts": ("timestamp:timestamp without time zone", dt.datetime(2026, 11, 28, 22, 30, 1, 7), 1_795_905_001_000_007),
    "ts3": (
        "timestamp:timestamp(3) without time zone",
        dt.datetime(2026, 11, 28, 22, 30, 1, 7000),
        1_795_905_001_007,
    ),
    "tz": (
        "timestamptz:timestamp with time zone",
        dt.datetime(2026, 11, 28, 20, 30, 1, 500_000, UTC),
        "2026-11-28T20:30:01.500000Z",
    ),
    "tz0": (
        "timestamptz:timestamp(0) with time zone",
        dt.datetime(2026, 11, 28, 22, 30, 1, 0, UTC),
        "2026-11-28T22:30:01Z",
    ),
    "tz3": (
        "timestamptz:timestamp(3) with time zone",
        dt.datetime(2026, 11, 28, 22, 30, 1, 7000, UTC),
        "2026-11-28T22:30:01.007Z",
    ),
    "u": ("uuid:uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    "j": ("jsonb:jsonb", '{"a": 1}', '{"a": 1}'),
    "ia": ("_int4:integer[]", [1, None], [1, None]),
    "na": ("_numeric:numeric(5,2)[]", ["1.50"], ["1.50"]),
}


def found(columns: list[Column]) -> Found:
    options = Options({jdbc.TABLE_PATH.key: "people"}, jdbc.SOURCE_OPTIONS)
    reading = Reading(dialect=DIALECT, options=options, path=("shop", "people"), query=None, where="")
    table = DatabaseTable(columns=tuple(columns), primary_key=("id",))
    return Found(reading=reading, columns=tuple(columns), split_column=None, table=table)


def of_mysql(*names: str) -> Found:
    columns = [mysql_values.column_of(name, OF_MYSQL[name][0]) for name in names or OF_MYSQL]
    narrowed = [evolve(each, arrow=pa.bool_()) if each.declared == "tinyint(1)" else each for each in columns]
    return found(narrowed)


def of_postgres() -> Found:
    columns = []
    for name, (declared, _, _) in OF_POSTGRES.items():
        base, _, written = declared.partition(":")
        columns.append(column_of(name, -1, base, "b", written, True))
    return found(columns)


def options(form: str = FORMAT, **debezium: str) -> Options:
    given = {name.replace("__", "."): value for name, value in debezium.items()}
    return Options({"format": form, "debezium": given}, opt.ROWS)


def encoder(connector: str = "mysql", **debezium: str) -> Messages:
    made = Messages.of(options(**debezium), connector)
    assert made is not None
    return made


def batch(of: Found, *rows: tuple[RowKind, Mapping[str, Any]]) -> Batch:
    schema = of.schema().columns
    kinds = pa.array([int(kind) for kind, _ in rows], pa.int8())
    return Batch(
        table="shop.people", rows=pa.RecordBatch.from_pylist([dict(row) for _, row in rows], schema), kinds=kinds
    )


def changed(made: Messages, of: Found, *rows: tuple[RowKind, Mapping[str, Any]]) -> list[Any]:
    where = [{**WHERE, "ts_ms": 5, "row": number} for number in range(len(rows))]
    return [row for each in made.changes([logged(of, where, *rows)]) for row in each.rows.to_pylist()]


def logged(
    of: Found, where: Sequence[Mapping[str, Any]], *rows: tuple[RowKind, Mapping[str, Any]], first: int = 0
) -> LoggedRows:
    """Rows of a table, each in its own event."""
    events = np.arange(first, first + len(rows))
    return LoggedRows(batch=batch(of, *rows), found=of, events=events, transactions=events, where=lambda: where)


def schema_of(message: Mapping[str, Any], side: str) -> dict[str, Any]:
    (row,) = [each for each in json.loads(message["value"])["schema"]["fields"] if each["field"] == side]
    return {each["field"]: each for each in row["fields"]}


@pytest.mark.parametrize(
    ("connector", "of", "values"), [("mysql", of_mysql(), OF_MYSQL), ("postgresql", of_postgres(), OF_POSTGRES)]
)
def test_values_are_those_of_debezium(connector: str, of: Found, values: Mapping[str, tuple[str, Any, Any]]) -> None:
    row = {name: value for name, (_, value, _) in values.items()}
    found = changed(encoder(connector), of, (NEW, row), (NEW, {**dict.fromkeys(values), "id": 2}))
    full, empty = (json.loads(each["value"])["payload"]["after"] for each in found)
    assert full == {name: message for name, (_, _, message) in values.items()}
    assert empty == {**dict.fromkeys(values), "id": 2}


def test_schemas_have_the_logical_types_of_debezium() -> None:
    (message,) = changed(encoder(), of_mysql(), (NEW, {"id": 1}))
    fields = schema_of(message, "after")
    assert {name: (each["type"], each.get("name", "").rpartition(".")[2]) for name, each in fields.items()} == {
        "id": ("int64", ""), "b1": ("int16", ""), "tu": ("int16", ""), "bu": ("bytes", "Decimal"),
        "f4": ("float", ""), "n": ("bytes", "Decimal"), "by": ("bytes", ""), "d": ("int32", "Date"),
        "ti": ("int64", "MicroTime"), "ti0": ("int64", "MicroTime"), "dt": ("int64", "Timestamp"),
        "dt3": ("int64", "Timestamp"), "dt6": ("int64", "MicroTimestamp"), "ts": ("string", "ZonedTimestamp"),
        "ts6": ("string", "ZonedTimestamp"), "y": ("int32", "Year"), "bi": ("boolean", ""), "bi9": ("bytes", "Bits"),
        "e": ("string", "Enum"), "st": ("string", "EnumSet"), "j": ("string", "Json"),
    }  # fmt: skip
    assert [name for name, each in fields.items() if not each["optional"]] == ["id"]
    assert json.loads(message["key"]) == {
        "schema": {
            "type": "struct",
            "fields": [{"type": "int64", "optional": False, "field": "id"}],
            "optional": False,
            "name": "mysql_binlog_source.shop.people.Key",
        },
        "payload": {"id": 1},
    }
    (message,) = changed(encoder("postgresql"), of_postgres(), (NEW, {"id": 1}))
    fields = schema_of(message, "after")
    assert fields["nn"]["name"] == "io.debezium.data.VariableScaleDecimal"
    assert [(each["type"], each["field"]) for each in fields["nn"]["fields"]] == [
        ("int32", "scale"),
        ("bytes", "value"),
    ]
    assert fields["ti3"]["name"] == "io.debezium.time.Time"
    assert (fields["ti3"]["type"], fields["u"]["name"]) == ("int32", "io.debezium.data.Uuid")


def test_the_source_block_has_types_that_do_not_depend_on_values() -> None:
    (message,) = changed(encoder(), of_mysql("id"), (NEW, {"id": 1}))
    types = {name: each["type"] for name, each in schema_of(message, "source").items()}
    assert types == {
        "version": "string", "connector": "string", "name": "string", "snapshot": "string", "db": "string",
        "table": "string", "file": "string", "pos": "int64", "ts_ms": "int64", "row": "int64",
    }  # fmt: skip


def test_properties_of_debezium() -> None:
    plain = {"key__converter__schemas__enable": "false", "value__converter__schemas__enable": "FALSE"}
    made = encoder(**plain, database__server__name="s1", tombstones__on__delete="true")
    found = changed(made, of_mysql("id"), (GONE, {"id": 1}))
    assert [(each["topic"], each["key"]) for each in found] == [("s1.shop.people", '{"id":1}')] * 2
    assert json.loads(found[0]["value"])["op"] == "d"
    assert found[1]["value"] is None
    assert encoder(topic__prefix="a", database__server__name="b").form.server == "a"
    assert [encoder(each).form.server for each in ("mariadb", "postgresql")] == [
        "mariadb_binlog_source",
        "postgres_cdc_source",
    ]
    assert Messages.of(options("DEFAULT"), "mysql") is None
    assert pickle.loads(pickle.dumps(encoder())) == encoder()
    with pytest.raises(UsageError, match=r"tombstones\.on\.delete = 'maybe'; expected true or false"):
        encoder(tombstones__on__delete="maybe")


def test_properties_without_effect_are_reported() -> None:
    given = options(topic__prefix="a", snapshot__mode="never")
    assert ignored_properties(given) == [
        "option 'debezium': snapshot.mode has no effect, because Debezium does not read the log"
    ]
    assert "topic.prefix" in ignored_properties(options("DEFAULT", topic__prefix="a"))[0]
    assert ignored_properties(options(topic__prefix="a")) == []


def test_rows_of_a_snapshot_are_reads() -> None:
    of, made = of_mysql("id"), encoder(value__converter__schemas__enable="false")
    plain = Batch(table="shop.people", rows=batch(of, (NEW, {"id": 1})).rows)
    ((message,),) = [each.rows.to_pylist() for each in made.snapshot(plain, of, WHERE)]
    value = json.loads(message["value"])
    assert (value["op"], value["before"], value["after"]) == ("r", None, {"id": 1})
    assert value["source"]["snapshot"] == "true"
    assert abs(value["source"]["ts_ms"] - value["ts_ms"]) < 60_000


def test_an_update_is_not_divided_between_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "_MOST_ROWS", 2)
    monkeypatch.setattr(messages, "_TABLE_ROWS", 0)
    of, made = of_mysql("id", "e"), encoder(value__converter__schemas__enable="false")
    rows: list[tuple[RowKind, Mapping[str, Any]]] = [
        (NEW, {"id": 1}),
        (BEFORE, {"id": 1}),
        (AFTER, {"id": 1, "e": "b"}),
        (GONE, {"id": 1}),
        (NEW, {"id": 2}),
    ]
    where = [{**WHERE, "row": number} for number in range(len(rows))]
    found = list(made.changes([logged(of, where, *rows)]))
    assert [each.rows.num_rows for each in found] == [2, 2]
    assert all(each.table == "default.default" and each.rows.schema.equals(MESSAGES) for each in found)
    values = [json.loads(row["value"]) for each in found for row in each.rows.to_pylist()]
    assert [(each["op"], each["source"]["row"]) for each in values] == [("c", 0), ("u", 2), ("d", 3), ("c", 4)]


@pytest.mark.parametrize("most", [1, 2, 3, 100])
def test_messages_of_several_tables_have_the_order_of_the_log(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They came table by table. One topic may contain the messages of all tables."""
    monkeypatch.setattr(messages, "_MOST_ROWS", most)
    monkeypatch.setattr(messages, "_TABLE_ROWS", 0)
    of, made = of_mysql("id", "e"), encoder(value__converter__schemas__enable="false", tombstones__on__delete="true")
    moved: list[tuple[RowKind, Mapping[str, Any]]] = [(GONE, {"id": 1}), (BEFORE, {"id": 2}), (AFTER, {"id": 2})]
    back: list[tuple[RowKind, Mapping[str, Any]]] = [(NEW, {"id": 1}), (GONE, {"id": 1})]
    tables = [
        evolve(logged(of, [{**WHERE, "table": "a"}] * 3, *moved), events=np.array([2, 5, 5])),
        evolve(logged(of, [{**WHERE, "table": "b"}] * 2, *back), events=np.array([3, 4])),
        logged(of, [{**WHERE, "table": "c"}], (NEW, {"id": 9}), first=1),
    ]
    rows = [row for each in made.changes(tables) for row in each.rows.to_pylist()]
    found = [(row["topic"][-1], json.loads(row["value"])["op"] if row["value"] else None) for row in rows]
    assert found == [("c", "c"), ("a", "d"), ("a", None), ("b", "c"), ("b", "d"), ("b", None), ("a", "u")]


def test_a_batch_of_the_log_may_have_no_rows() -> None:
    assert list(encoder().changes([])) == []


def test_a_type_without_a_form_is_named() -> None:
    odd = found([*of_mysql("id").columns, Column(name="m", declared="map", arrow=pa.map_(pa.string(), pa.int8()))])
    encoder().require_supported([of_mysql()])
    with pytest.raises(SourceError, match=r"the table shop\.people: .*cannot be written .*; use format = DEFAULT"):
        encoder().require_supported([of_mysql(), odd])


def test_rows_have_their_number_in_their_event() -> None:
    kinds = np.array([NEW, NEW, BEFORE, AFTER, BEFORE, AFTER, GONE], np.int8)
    assert rows_of_events(kinds, np.array([1, 1, 2, 2, 2, 2, 3])).tolist() == [0, 1, 0, 0, 1, 1, 0]
    assert rows_of_events(kinds[:0], np.zeros(0, np.int64)).tolist() == []
