"""The sink ``Jdbc`` on a real PostgreSQL: its types, keys and statements, and a disk that is full."""

import os
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from seatunnel_core.connector_api.testing import read
from seatunnel_core.connector_api.testing.drive import begin, commit, place, sink_place, stage
from seatunnel_core.connector_api.testing.kill_suite import SCHEMA, numbered
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.errors import CommitError, RowError, SinkError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.kind import RowKind
from tests.connectors.jdbc.databases import Database
from tests.connectors.jdbc.sink_units import EXACT, stage_of
from tests.servers.process import require, unavailable

pytestmark = [pytest.mark.servers, pytest.mark.parametrize("database", ["postgresql"], indirect=True)]


TYPES: list[tuple[str, pa.DataType, Any]] = [
    ("smallint", pa.int8(), 7),
    ("integer", pa.int64(), 7),
    ("bigint", pa.int32(), 7),
    ("real", pa.float32(), 1.5),
    ("double precision", pa.float64(), 0.1),
    ("boolean", pa.bool_(), True),
    ("numeric(15,2)", pa.decimal128(20, 2), Decimal("12.50")),
    ("numeric", pa.decimal128(20, 2), Decimal("12.50")),
    ("numeric(20,0)", pa.uint64(), 2**64 - 1),
    ("text", pa.large_string(), "a\nb"),
    ("varchar(5)", pa.string(), "abc"),
    ("char(3)", pa.string(), "x"),
    ("bytea", pa.binary(), b"\x00\xff"),
    ("date", pa.date32(), date(2024, 2, 29)),
    ("time", pa.time64("us"), time(1, 2, 3, 4)),
    ("timestamp(3)", pa.timestamp("us"), datetime(2024, 2, 29, 1, 2, 3, 4000)),
    ("timestamptz", pa.timestamp("us", "UTC"), datetime(2024, 2, 28, 23, 2, 3, tzinfo=UTC)),
    ("json", pa.string(), '{"a": 1}'),
    ("integer[]", pa.list_(pa.int32()), [1, None, 3]),
    ("text[]", pa.list_(pa.string()), ["a", None]),
]
CONVERTED: list[tuple[str, pa.DataType, Any]] = [
    ("jsonb", pa.string(), '{"b": 2}'),
    ("xml", pa.string(), "<a/>"),
    ("uuid", pa.string(), "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ("inet", pa.string(), "10.0.0.1/8"),
    ("interval", pa.string(), "1 day 02:00:00"),
    ("mood", pa.string(), "glad"),
    ("amount", pa.decimal128(8, 2), Decimal("1.50")),
    ("uuid[]", pa.list_(pa.string()), ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]),
    ("timetz", pa.string(), "01:02:03+02"),
    ("bit(3)", pa.string(), "101"),
]
ARRAYS: list[tuple[str, pa.DataType, Any]] = [
    ("boolean[]", pa.list_(pa.bool_()), [True, None, False]),
    ("smallint[]", pa.list_(pa.int16()), [-(2**15), None]),
    ("bigint[]", pa.list_(pa.int64()), [2**63 - 1, None]),
    ("real[]", pa.list_(pa.float32()), [1.5, None]),
    ("double precision[]", pa.list_(pa.float64()), [1e300, None]),
    ("numeric(12,3)[]", pa.list_(pa.decimal128(12, 3)), [Decimal("-1.500"), None]),
    ("varchar(9)[]", pa.list_(pa.string()), ['a,"{}\\', "", "NULL", None]),
    ("bytea[]", pa.list_(pa.binary()), [b"\x00\xff", b"", None]),
    ("date[]", pa.list_(pa.date32()), [date(2024, 2, 29), None]),
    ("time[]", pa.list_(pa.time64("us")), [time(1, 2, 3, 4), None]),
    ("timestamp[]", pa.list_(pa.timestamp("us")), [datetime(2024, 2, 29, 1, 2, 3, 4), None]),
    ("timestamptz[]", pa.list_(pa.timestamp("us", "UTC")), [datetime(2024, 2, 29, 1, 2, 3, 4, tzinfo=UTC), None]),
]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("types", [TYPES, CONVERTED, ARRAYS])
def test_each_type_goes_in_and_comes_back(database: Database, types: Any, exact: bool) -> None:
    database.run("CREATE TYPE mood AS ENUM ('glad', 'sad')")
    database.run("CREATE DOMAIN amount AS numeric(8,2) CHECK (VALUE > 0)")
    database.run(f"CREATE TABLE kinds ({', '.join(f'c{n} {kind}' for n, (kind, _, _) in enumerate(types))})")
    columns = pa.schema([(f"c{number}", kind) for number, (_, kind, _) in enumerate(types)])
    values = {f"c{number}": value for number, (_, _, value) in enumerate(types)}
    rows = pa.RecordBatch.from_pylist([values, dict.fromkeys(values)], schema=columns)
    of, here = database.sink(generate_sink_sql=True, is_exactly_once=exact, table="public.kinds"), place()
    of.prepare(sink_place(here))
    commit(of, [stage(of, TableSchema(table="kinds", columns=columns), [rows], here)], here)
    full, empty = read(database.source(table_path="kinds"))
    found = {types[number][0]: value for number, value in enumerate(full.values())}
    wanted = {kind: "x  " if kind == "char(3)" else value for kind, _, value in types}
    assert {**found, "numeric": Decimal(found.get("numeric", 0)).normalize()} == {
        **wanted,
        "numeric": Decimal(wanted.get("numeric", 0)).normalize(),
    }
    assert set(empty.values()) == {None}


def test_a_table_is_made_for_the_types_of_the_rows(database: Database) -> None:
    columns = pa.schema([(f"c{number}", kind) for number, (_, kind, _) in enumerate(TYPES)])
    of = database.sink(generate_sink_sql=True, table="public.made")
    of.prepare(sink_place(place()))
    of.create_tables([TableSchema(table="made", columns=columns, primary_key=("c2",))], sink_place(place()))
    asked = "SELECT data_type FROM information_schema.columns WHERE table_name = 'made' ORDER BY ordinal_position"
    found = [kind for (kind,) in database.run(asked)]
    assert found[:7] == ["smallint", "bigint", "integer", "real", "double precision", "boolean", "numeric"]
    assert found[-5:] == [
        "timestamp without time zone",
        "timestamp with time zone",
        "text",
        "ARRAY",
        "ARRAY",
    ]


def test_a_key_that_is_there_stops_the_commit_and_is_named(database: Database) -> None:
    database.run("CREATE TABLE people (id bigint UNIQUE, name text)")
    database.run("INSERT INTO people VALUES (1, 'old')")
    of, here = database.sink(table="people", **EXACT), place()
    of.prepare(sink_place(here))
    committable = stage(of, SCHEMA, [numbered(0, 3)], here)
    with pytest.raises(CommitError, match=r"Key \(id\)=\(1\) already exists") as caught:
        commit(of, [committable], here)
    assert not caught.value.retryable
    assert database.run("SELECT count(*) FROM people") == [(1,)]


@pytest.mark.parametrize("exact", [True, False])
def test_upserts_and_deletes_in_their_order(database: Database, exact: bool) -> None:
    database.run("CREATE TABLE people (id bigint PRIMARY KEY, name text)")
    database.run("INSERT INTO people VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    of = database.sink(generate_sink_sql=True, is_exactly_once=exact, table="people", primary_keys=["id"])
    here = place()
    of.prepare(sink_place(here))
    writer = begin(of, SCHEMA, here)
    names = [(1, "a2"), (2, None), (4, "d"), (4, "d2"), (3, None), (3, "c2")]
    rows = pa.RecordBatch.from_pylist([{"id": number, "name": name} for number, name in names], schema=SCHEMA.columns)
    kinds = [RowKind.INSERT, RowKind.DELETE, RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE, RowKind.INSERT]
    writer.write(Batch(table=SCHEMA.table, rows=rows, kinds=pa.array([int(kind) for kind in kinds], pa.int8())))
    commit(of, [stage_of(writer.finish())], here)
    assert database.run("SELECT * FROM people ORDER BY id") == [(1, "a2"), (3, "c2"), (4, "d2")]


STRICT: list[tuple[str, str]] = [
    ("uuid", "5a1f0c9e-3c1b-4c6e-9a55-0d6c3c1f7b10"),
    ("json", '{"mast": 2}'),
    ("jsonb", '{"mast": 2}'),
    ("xml", "<a/>"),
    ("inet", "10.1.2.3/32"),
    ("cidr", "10.1.2.0/24"),
    ("macaddr", "08:00:2b:01:02:03"),
    ("interval", "1 day 02:00:00"),
    ("mood", "calm"),
    ("bit(3)", "101"),
    ("varbit", "10"),
    ("money", "$1.50"),
    ("tsvector", "'a' 'b'"),
    ("int4range", "[1,5)"),
    ("point", "(1,2)"),
    ("int", "7"),
    ("numeric(8,2)", "1.50"),
    ("boolean", "true"),
    ("date", "2024-02-29"),
    ("timestamp", "2024-02-29 01:02:03"),
    ("time", "24:00:00"),
    ("bytea", "\\x00ff"),
    ("short", "ab"),
    ("text[]", "{a,b}"),
    ("uuid[]", "{5a1f0c9e-3c1b-4c6e-9a55-0d6c3c1f7b10}"),
    ("text", "it's"),
    ("char(5)", "abc"),
    ("varchar(5)", "abc"),
    ("name", "x"),
]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("marks", ["?", ":"])
def test_a_statement_takes_texts_for_columns_of_any_type(database: Database, marks: str, exact: bool) -> None:
    """They were staged as texts, and the server does not make a uuid, json or enum of one by itself."""
    database.run("CREATE TYPE mood AS ENUM ('calm', 'wild')")
    database.run("CREATE DOMAIN short AS varchar(3)")
    names = [f"c{number}" for number in range(len(STRICT))]
    database.run(f"CREATE TABLE boats ({', '.join(f'{n} {kind}' for n, (kind, _) in zip(names, STRICT, strict=True))})")
    schema = TableSchema(table="boats", columns=pa.schema([(name, pa.string()) for name in names]))
    places = ", ".join("?" if marks == "?" else f":{name}" for name in names)
    of, here = database.sink(query=f"INSERT INTO boats VALUES ({places})", is_exactly_once=exact), place()
    of.prepare(sink_place(here))
    values = [dict(zip(names, [value for _, value in STRICT], strict=True)), dict.fromkeys(names)]
    commit(of, [stage(of, schema, [pa.RecordBatch.from_pylist(values, schema=schema.columns)], here)], here)
    shown = ", ".join(f"{name}::text" for name in names)
    full, nothing = database.run(f"SELECT {shown} FROM boats ORDER BY c0")
    expected = [value if kind != "char(5)" else "abc" for kind, value in STRICT]
    assert list(full) == expected
    assert set(nothing) == {None}


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("INSERT INTO boats VALUES (:id, concat(:id, '-', :name), :name::jsonb ?? 'a')", ("7", '7-{"a": 1}', True)),
        ("INSERT INTO boats VALUES (?::int + 1, ?, false)", ("8", '{"a": 1}', False)),
    ],
)
def test_a_statement_may_use_a_place_twice_and_in_expressions(
    database: Database, query: str, found: Any, exact: bool
) -> None:
    database.run("CREATE TABLE boats (id int, said text, has boolean)")
    schema = TableSchema(table="boats", columns=pa.schema([("id", pa.string()), ("name", pa.string())]))
    rows = pa.RecordBatch.from_pylist([{"id": "7", "name": '{"a": 1}'}], schema=schema.columns)
    of, here = database.sink(query=query, is_exactly_once=exact), place()
    of.prepare(sink_place(here))
    commit(of, [stage(of, schema, [rows], here)], here)
    assert database.run("SELECT id::text, said, has FROM boats") == [found]


@pytest.mark.parametrize("exact", [True, False])
def test_a_text_that_is_none_of_a_place_is_refused_in_the_task(database: Database, exact: bool) -> None:
    database.run("CREATE TABLE boats (id uuid, name text)")
    schema = TableSchema(table="boats", columns=pa.schema([("id", pa.string()), ("name", pa.string())]))
    rows = pa.RecordBatch.from_pylist([{"id": "not one", "name": "a"}], schema=schema.columns)
    of, here = database.sink(query="INSERT INTO boats VALUES (?, ?)", is_exactly_once=exact), place()
    of.prepare(sink_place(here))
    with pytest.raises(RowError, match='invalid input syntax for type uuid: "not one"'):
        stage(of, schema, [rows], here)


@pytest.mark.parametrize("exact", [True, False])
def test_geometry_of_postgis_goes_in_and_comes_back_as_a_text(database: Database, exact: bool) -> None:
    try:
        database.run("CREATE EXTENSION postgis SCHEMA public")
    except psycopg.errors.FeatureNotSupported:
        unavailable("PostGIS is not installed: apt-get install postgresql-15-postgis-3")
    database.run("CREATE TABLE places (id bigint, at geometry(Point, 4326), area geography)")
    columns = pa.schema([("id", pa.int64()), ("at", pa.string()), ("area", pa.string())])
    values = [{"id": 1, "at": "SRID=4326;POINT(1 2)", "area": "POINT(3 4)"}, {"id": 2, "at": None, "area": None}]
    rows = pa.RecordBatch.from_pylist(values, schema=columns)
    of, here = database.sink(generate_sink_sql=True, is_exactly_once=exact, table="places"), place()
    of.prepare(sink_place(here))
    commit(of, [stage(of, TableSchema(table="places", columns=columns), [rows], here)], here)
    assert database.run("SELECT ST_AsEWKT(at), ST_AsText(area) FROM places ORDER BY id") == [
        ("SRID=4326;POINT(1 2)", "POINT(3 4)"),
        (None, None),
    ]
    found = sorted(read(database.source(table_path="places")), key=lambda row: row["id"])
    ((at, area),) = database.run("SELECT at::text, area::text FROM places WHERE id = 1")
    assert found == [{"id": 1, "at": at, "area": area}, {"id": 2, "at": None, "area": None}]


@pytest.mark.parametrize("exact", [True, False])
def test_a_full_disk_may_pass_and_costs_no_row(database: Database, exact: bool) -> None:
    require("prlimit")
    of, here = database.sink(generate_sink_sql=True, is_exactly_once=exact, table="people"), place()
    of.prepare(sink_place(here))
    rows = pa.RecordBatch.from_pylist(
        [{"id": number, "name": os.urandom(1000).hex()} for number in range(16_000)], schema=SCHEMA.columns
    )
    forget()
    database.server.let_files_grow_to(20 << 20)
    try:
        with pytest.raises(SinkError, match="could not extend file") as caught:
            stage(of, SCHEMA, [rows], here)
    finally:
        database.server.let_files_grow_to(None)
        forget()
    assert type(caught.value) is SinkError  # and not one of the rows
    assert caught.value.retryable  # there may be space when the unit is tried again
    assert database.run("SELECT count(*) FROM people") == [(0,)]
    assert database.staged() == []
    commit(of, [stage(of, SCHEMA, [rows], here)], here)
    assert database.run("SELECT count(*) FROM people") == [(16_000,)]


def test_rows_leave_no_warning_in_the_log_of_the_server(database: Database) -> None:
    """There was one behind each COPY: the driver began the transaction once more."""
    log: Path = database.server.folder / "server.log"
    before = log.stat().st_size
    of, here = database.sink(generate_sink_sql=True, is_exactly_once=True, table="people"), place()
    of.prepare(sink_place(here))
    commit(of, [stage(of, SCHEMA, [numbered(1, 4)], here)], here)
    assert database.run("SELECT count(*) FROM people") == [(4,)]
    assert "WARNING" not in log.read_bytes()[before:].decode("utf-8")


def test_a_view_takes_rows_that_are_inserted_and_the_message_says_how(database: Database) -> None:
    database.run("CREATE TABLE shelf (id integer)", "CREATE VIEW people AS SELECT id FROM shelf")
    schema, rows = TableSchema(table="t", columns=pa.schema([("id", pa.int32())])), pa.record_batch({"id": [1]})
    rows = rows.cast(schema.columns)
    for options in ({}, {"is_exactly_once": True}):
        of, here = database.sink(generate_sink_sql=True, table="public.people", **options), place(job_id=str(options))
        of.prepare(sink_place(here))
        if options:
            commit(of, [stage(of, schema, [rows], here)], here)
        else:
            with pytest.raises(RowError, match=r"the target is a view.*; set is_exactly_once = true"):
                stage(of, schema, [rows], here)
    assert database.run("SELECT id FROM shelf") == [(1,)]
