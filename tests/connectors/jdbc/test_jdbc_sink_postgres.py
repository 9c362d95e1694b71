"""The sink ``Jdbc`` on a real PostgreSQL: the kit with its kills, types, messages, connections, a killed server."""

import gc
import os
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.jdbc.sink import JdbcSink
from seatunnel_core.connectors.jdbc.source import JdbcSource
from seatunnel_core.connectors.sink import Sink
from seatunnel_core.connectors.testing import SinkConformance, options_of, plan, read
from seatunnel_core.connectors.testing.drive import begin, commit, place, sink_place, stage
from seatunnel_core.connectors.testing.kill_suite import SCHEMA, numbered
from seatunnel_core.errors import CommitError, RowError, SinkError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.kind import RowKind
from tests.servers.connections import owners
from tests.servers.postgres import PASSWORD, Postgres
from tests.servers.process import require, unavailable

pytestmark = pytest.mark.servers

EXACT = {"generate_sink_sql": True, "is_exactly_once": True}
STAGED = "SELECT tablename::text FROM pg_tables WHERE tablename ~ '^seatunnel_[0-9a-f]{12}_'"


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    running = Postgres()
    running.start()
    yield running
    forget()
    running.stop()


@pytest.fixture
def database(server: Postgres) -> Iterator[Any]:
    """A connection to a database with nothing in it."""
    gc.collect()  # what a killed sink had open locks tables until then
    forget()
    with closing(server.connect()) as connection:
        others = "FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        connection.execute(f"SELECT pg_terminate_backend(pid) {others}")  # of what was killed amid a statement
        connection.execute("DROP SCHEMA IF EXISTS public CASCADE")
        connection.execute("CREATE SCHEMA public")
        yield connection
    forget()


def sink(server: Postgres, **options: Any) -> JdbcSink:
    return JdbcSink(options_of(JdbcSink, {**server.options(), **options}))


@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # connections of what was killed
@pytest.mark.filterwarnings("ignore::ResourceWarning")
class TestJdbcSinkOnPostgres(SinkConformance):
    sink_class = JdbcSink
    kills = 10

    @pytest.fixture(autouse=True)
    def target(self, server: Postgres, database: Any) -> None:
        self.server, self.database = server, database

    def sink(self) -> Sink:
        """Of a process of its own: what a dead one had open is closed, and locks nothing any more."""
        gc.collect()
        forget()
        return super().sink()

    def emptying(self) -> Mapping[str, Any]:
        return {**self.options(), "data_save_mode": "DROP_DATA"}

    def options(self) -> Mapping[str, Any]:
        return {**self.server.options(), "table": "people", **EXACT}

    def visible(self) -> Sequence[Mapping[str, Any]]:
        try:
            return [{"id": number} for (number,) in self.database.execute("SELECT id FROM people").fetchall()]
        except psycopg.errors.UndefinedTable:
            return []

    def staged(self) -> int:
        gc.collect()
        return len(self.database.execute(STAGED).fetchall())


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


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("types", [TYPES, CONVERTED])
def test_each_type_goes_in_and_comes_back(server: Postgres, database: Any, types: Any, exact: bool) -> None:
    database.execute("CREATE TYPE mood AS ENUM ('glad', 'sad')")
    database.execute("CREATE DOMAIN amount AS numeric(8,2) CHECK (VALUE > 0)")
    database.execute(f"CREATE TABLE kinds ({', '.join(f'c{n} {kind}' for n, (kind, _, _) in enumerate(types))})")
    columns = pa.schema([(f"c{number}", kind) for number, (_, kind, _) in enumerate(types)])
    values = {f"c{number}": value for number, (_, _, value) in enumerate(types)}
    rows = pa.RecordBatch.from_pylist([values, dict.fromkeys(values)], schema=columns)
    of, here = sink(server, generate_sink_sql=True, is_exactly_once=exact, table="public.kinds"), place()
    of.prepare(sink_place(here))
    commit(of, [stage(of, TableSchema(table="kinds", columns=columns), [rows], here)], here)
    back = JdbcSource(options_of(JdbcSource, {**server.options(), "table_path": "kinds"}))
    full, empty = read(back, plan(back))
    found = {types[number][0]: value for number, value in enumerate(full.values())}
    wanted = {kind: "x  " if kind == "char(3)" else value for kind, _, value in types}
    assert {**found, "numeric": Decimal(found.get("numeric", 0)).normalize()} == {
        **wanted,
        "numeric": Decimal(wanted.get("numeric", 0)).normalize(),
    }
    assert set(empty.values()) == {None}


def test_a_table_is_made_for_the_types_of_the_rows(server: Postgres, database: Any) -> None:
    columns = pa.schema([(f"c{number}", kind) for number, (_, kind, _) in enumerate(TYPES)])
    of = sink(server, generate_sink_sql=True, table="public.made")
    of.prepare(sink_place(place()))
    of.create_tables([TableSchema(table="made", columns=columns, primary_key=("c2",))], sink_place(place()))
    asked = "SELECT data_type FROM information_schema.columns WHERE table_name = 'made' ORDER BY ordinal_position"
    found = [kind for (kind,) in database.execute(asked).fetchall()]
    assert found[:7] == ["smallint", "bigint", "integer", "real", "double precision", "boolean", "numeric"]
    assert found[-5:] == [
        "timestamp without time zone",
        "timestamp with time zone",
        "text",
        "ARRAY",
        "ARRAY",
    ]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("columns", "value", "said"),
    [
        ("id bigint, name varchar(3)", "name 1", "value too long for type character varying(3)"),
        ("id bigint, name text NOT NULL", None, 'null value in column "name"'),
        ("id bigint, name uuid", "name 1", 'invalid input syntax for type uuid: "name 1"'),
        ("id bigint, name bit(3)", "1010", "bit string length 4 does not match type bit(3)"),
        ("id oid, name varchar(3)", "name 1", "value too long for type character varying(3)"),
        ("id oid, name short", "name 1", "value too long for type character varying(3)"),
        ("id bigint, name jsonb", "{", "invalid input syntax for type json"),
    ],
)
def test_a_row_that_the_table_cannot_hold_is_named_in_the_task(
    server: Postgres, database: Any, columns: str, value: str | None, said: str, exact: bool
) -> None:
    database.execute("CREATE DOMAIN short AS varchar(3)")
    database.execute(f"CREATE TABLE people ({columns})")
    of, here = sink(server, generate_sink_sql=True, is_exactly_once=exact, table="people"), place()
    of.prepare(sink_place(here))
    rows = pa.RecordBatch.from_pylist([{"id": 1, "name": value}], schema=SCHEMA.columns)
    with pytest.raises(RowError) as caught:
        stage(of, SCHEMA, [rows], here)
    assert said in str(caught.value)
    assert "the rows of postgres.people cannot be written" in str(caught.value)
    assert not caught.value.retryable


def test_a_key_that_is_there_stops_the_commit_and_is_named(server: Postgres, database: Any) -> None:
    database.execute("CREATE TABLE people (id bigint UNIQUE, name text)")
    database.execute("INSERT INTO people VALUES (1, 'old')")
    of, here = sink(server, table="people", **EXACT), place()
    of.prepare(sink_place(here))
    committable = stage(of, SCHEMA, [numbered(0, 3)], here)
    with pytest.raises(CommitError, match=r"Key \(id\)=\(1\) already exists") as caught:
        commit(of, [committable], here)
    assert not caught.value.retryable
    assert database.execute("SELECT count(*) FROM people").fetchone() == (1,)


@pytest.mark.parametrize("exact", [True, False])
def test_upserts_and_deletes_in_their_order(server: Postgres, database: Any, exact: bool) -> None:
    database.execute("CREATE TABLE people (id bigint PRIMARY KEY, name text)")
    database.execute("INSERT INTO people VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    of = sink(server, generate_sink_sql=True, is_exactly_once=exact, table="people", primary_keys=["id"])
    here = place()
    of.prepare(sink_place(here))
    writer = begin(of, SCHEMA, here)
    names = [(1, "a2"), (2, None), (4, "d"), (4, "d2"), (3, None), (3, "c2")]
    rows = pa.RecordBatch.from_pylist([{"id": number, "name": name} for number, name in names], schema=SCHEMA.columns)
    kinds = [RowKind.INSERT, RowKind.DELETE, RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE, RowKind.INSERT]
    writer.write(Batch(table=SCHEMA.table, rows=rows, kinds=pa.array([int(kind) for kind in kinds], pa.int8())))
    from tests.connectors.jdbc.test_jdbc_sink import stage_of

    commit(of, [stage_of(writer.finish())], here)
    assert database.execute("SELECT * FROM people ORDER BY id").fetchall() == [(1, "a2"), (3, "c2"), (4, "d2")]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("INSERT INTO people (name, id) VALUES (upper(:name), :id::int * 10);", [(10, "NAME 1"), (20, "NAME 2")]),
        ("insert into people (id, name)\nvalues (?, 'it''s ? (' || ?)", [(1, "it's ? (name 1"), (2, "it's ? (name 2")]),
        ("INSERT INTO people VALUES (?, ?) ON CONFLICT (id) DO NOTHING", [(1, "name 1"), (2, "name 2")]),
    ],
)
def test_a_statement_takes_the_columns_of_the_rows(
    server: Postgres, database: Any, query: str, found: Any, exact: bool
) -> None:
    database.execute("CREATE TABLE people (id bigint PRIMARY KEY, name text)")
    of, here = sink(server, query=query, is_exactly_once=exact), place()
    of.prepare(sink_place(here))
    commit(of, [stage(of, SCHEMA, [numbered(1, 2)], here)], here)
    assert database.execute("SELECT * FROM people ORDER BY id").fetchall() == found


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
def test_a_statement_takes_texts_for_columns_of_any_type(
    server: Postgres, database: Any, marks: str, exact: bool
) -> None:
    """They were staged as texts, and the server does not make a uuid, json or enum of one by itself."""
    database.execute("CREATE TYPE mood AS ENUM ('calm', 'wild')")
    database.execute("CREATE DOMAIN short AS varchar(3)")
    names = [f"c{number}" for number in range(len(STRICT))]
    database.execute(
        f"CREATE TABLE boats ({', '.join(f'{n} {kind}' for n, (kind, _) in zip(names, STRICT, strict=True))})"
    )
    schema = TableSchema(table="boats", columns=pa.schema([(name, pa.string()) for name in names]))
    places = ", ".join("?" if marks == "?" else f":{name}" for name in names)
    of, here = sink(server, query=f"INSERT INTO boats VALUES ({places})", is_exactly_once=exact), place()
    of.prepare(sink_place(here))
    values = [dict(zip(names, [value for _, value in STRICT], strict=True)), dict.fromkeys(names)]
    commit(of, [stage(of, schema, [pa.RecordBatch.from_pylist(values, schema=schema.columns)], here)], here)
    shown = ", ".join(f"{name}::text" for name in names)
    full, nothing = database.execute(f"SELECT {shown} FROM boats ORDER BY c0").fetchall()
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
    server: Postgres, database: Any, query: str, found: Any, exact: bool
) -> None:
    database.execute("CREATE TABLE boats (id int, said text, has boolean)")
    schema = TableSchema(table="boats", columns=pa.schema([("id", pa.string()), ("name", pa.string())]))
    rows = pa.RecordBatch.from_pylist([{"id": "7", "name": '{"a": 1}'}], schema=schema.columns)
    of, here = sink(server, query=query, is_exactly_once=exact), place()
    of.prepare(sink_place(here))
    commit(of, [stage(of, schema, [rows], here)], here)
    assert database.execute("SELECT id::text, said, has FROM boats").fetchall() == [found]


@pytest.mark.parametrize("exact", [True, False])
def test_a_text_that_is_none_of_a_place_is_refused_in_the_task(server: Postgres, database: Any, exact: bool) -> None:
    database.execute("CREATE TABLE boats (id uuid, name text)")
    schema = TableSchema(table="boats", columns=pa.schema([("id", pa.string()), ("name", pa.string())]))
    rows = pa.RecordBatch.from_pylist([{"id": "not one", "name": "a"}], schema=schema.columns)
    of, here = sink(server, query="INSERT INTO boats VALUES (?, ?)", is_exactly_once=exact), place()
    of.prepare(sink_place(here))
    with pytest.raises(RowError, match='invalid input syntax for type uuid: "not one"'):
        stage(of, schema, [rows], here)


@pytest.mark.parametrize("exact", [True, False])
def test_geometry_of_postgis_goes_in_and_comes_back_as_a_text(server: Postgres, database: Any, exact: bool) -> None:
    try:
        database.execute("CREATE EXTENSION postgis SCHEMA public")
    except psycopg.errors.FeatureNotSupported:
        unavailable("PostGIS is not installed: apt-get install postgresql-15-postgis-3")
    database.execute("CREATE TABLE places (id bigint, at geometry(Point, 4326), area geography)")
    columns = pa.schema([("id", pa.int64()), ("at", pa.string()), ("area", pa.string())])
    values = [{"id": 1, "at": "SRID=4326;POINT(1 2)", "area": "POINT(3 4)"}, {"id": 2, "at": None, "area": None}]
    rows = pa.RecordBatch.from_pylist(values, schema=columns)
    of, here = sink(server, generate_sink_sql=True, is_exactly_once=exact, table="places"), place()
    of.prepare(sink_place(here))
    commit(of, [stage(of, TableSchema(table="places", columns=columns), [rows], here)], here)
    assert database.execute("SELECT ST_AsEWKT(at), ST_AsText(area) FROM places ORDER BY id").fetchall() == [
        ("SRID=4326;POINT(1 2)", "POINT(3 4)"),
        (None, None),
    ]
    back = JdbcSource(options_of(JdbcSource, {**server.options(), "table_path": "places"}))
    found = sorted(read(back, plan(back)), key=lambda row: row["id"])
    text = database.execute("SELECT at::text, area::text FROM places WHERE id = 1").fetchone()
    assert found == [{"id": 1, "at": text[0], "area": text[1]}, {"id": 2, "at": None, "area": None}]


@pytest.mark.parametrize("exact", [True, False])
def test_a_disk_that_is_full_costs_a_try_and_no_row(server: Postgres, database: Any, exact: bool) -> None:
    require("prlimit")
    of, here = sink(server, generate_sink_sql=True, is_exactly_once=exact, table="people"), place()
    of.prepare(sink_place(here))
    rows = pa.RecordBatch.from_pylist(
        [{"id": number, "name": os.urandom(1000).hex()} for number in range(16_000)], schema=SCHEMA.columns
    )
    forget()
    server.let_files_grow_to(20 << 20)
    try:
        with pytest.raises(SinkError, match="could not extend file") as caught:
            stage(of, SCHEMA, [rows], here)
    finally:
        server.let_files_grow_to(None)
        forget()
    assert caught.value.retryable
    assert database.execute("SELECT count(*) FROM people").fetchone() == (0,)
    assert database.execute(STAGED).fetchall() == []
    commit(of, [stage(of, SCHEMA, [rows], here)], here)
    assert database.execute("SELECT count(*) FROM people").fetchone() == (16_000,)


def test_a_commit_waits_for_a_newer_engine_and_then_stops(server: Postgres, database: Any) -> None:
    """A real fence: the newer engine holds the row in the moment in which the older one commits."""
    of, here = sink(server, table="people", **EXACT), place()
    of.prepare(sink_place(here))
    committable = stage(of, SCHEMA, [numbered(0, 3)], here)
    met: list[str] = []

    def late() -> None:
        try:
            commit(of, [committable], here)
        except CommitError as error:
            met.append(str(error))

    with closing(server.connect()) as newer:
        newer.autocommit = False
        newer.execute("UPDATE seatunnel_pipelines SET epoch = 2")
        committing = threading.Thread(target=late)
        committing.start()
        committing.join(0.5)
        assert committing.is_alive(), "it waits for the row"
        newer.commit()
    committing.join()
    assert "another engine goes on with this job: its epoch is 2, and this one has 1" in met[0]
    assert database.execute("SELECT count(*) FROM people").fetchone() == (0,)


def test_a_new_engine_does_not_wait_for_ever_for_one_that_sleeps_in_its_commit(
    server: Postgres, database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = sink(server, table="people", **EXACT)
    of.prepare(sink_place(place()))
    monkeypatch.setattr("seatunnel_core.connectors.jdbc.publishing._CLAIM_S", 1)
    with closing(server.connect()) as sleeping:
        sleeping.autocommit = False
        sleeping.execute("SELECT * FROM seatunnel_pipelines FOR UPDATE")
        with pytest.raises(SinkError, match="canceling statement due to lock timeout") as caught:
            of.prepare(sink_place(place(epoch=2)))
    assert caught.value.retryable
    of.prepare(sink_place(place(epoch=2)))


def test_a_server_that_is_killed_in_the_midst_of_commits_costs_no_row(server: Postgres, database: Any) -> None:
    """Ten times: what was staged before survives it, and a commit whose answer was lost is not repeated."""
    of, here = sink(server, table="people", max_commit_attempts=1, **EXACT), place()
    of.prepare(sink_place(here))
    for unit in range(1, 11):
        committables = [
            stage(of, SCHEMA, [numbered(unit * 100 + part * 10, 10)], place(unit=unit * 10 + part)) for part in range(4)
        ]
        killing = threading.Timer(0.004 * unit, server.kill)
        killing.start()
        with suppress(SinkError):
            commit(of, committables, here)
        killing.join()
        server.restart()
        commit(of, committables, here, again=True)
    with closing(server.connect()) as looking:
        found = Counter(number for (number,) in looking.execute("SELECT id FROM people").fetchall())
        assert looking.execute(STAGED).fetchall() == []
    assert found == Counter(
        unit * 100 + part * 10 + row for unit in range(1, 11) for part in range(4) for row in range(10)
    )


def test_many_tables_and_writers_share_a_few_connections(server: Postgres, database: Any) -> None:
    of, here = sink(server, connection_pool_size=4, **EXACT), place()
    schemas = [TableSchema(table=f"t{number}", columns=SCHEMA.columns) for number in range(60)]
    of.prepare(sink_place(here))
    of.create_tables(schemas, sink_place(here))
    most, stop = 0, threading.Event()

    def watch() -> None:
        nonlocal most
        asked = "SELECT client_port FROM pg_stat_activity WHERE application_name = 'seatunnel'"
        with closing(server.connect()) as connection:
            while not stop.is_set():
                ports = connection.execute(asked).fetchall()
                most = max(most, len({port for (port,) in ports} & owners(os.getpid()).keys()))

    def unit(number: int) -> None:
        writer = of.open_writer(schemas, place(unit=number))
        for schema in schemas[number::6]:
            writer.write(Batch(table=schema.table, rows=numbered(0, 5)))
        writer.finish()

    watching = threading.Thread(target=watch)
    watching.start()
    writers = [threading.Thread(target=unit, args=(number,)) for number in range(6)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    stop.set()
    watching.join()
    assert len(database.execute(STAGED).fetchall()) == 60
    assert 2 <= most <= 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"password": "wrong-one"}, 'password authentication failed for user "seatunnel"'),
        ({"table": "nowhere.people"}, 'schema "nowhere" does not exist'),
        ({"database": "other", "table": "public.people"}, "and url opens postgres"),
    ],
)
def test_what_is_wrong_is_said_before_data_moves(
    server: Postgres, database: Any, options: dict[str, Any], said: str
) -> None:
    of = sink(server, **{"table": "people", **EXACT, **options})
    with pytest.raises(SinkError, match="pipeline 1, sink Jdbc: ") as caught:
        _begun(of)
    assert said in str(caught.value)
    assert PASSWORD not in str(caught.value)
    assert "wrong-one" not in str(caught.value)


def _begun(of: JdbcSink) -> None:
    of.prepare(sink_place(place()))
    of.create_tables([SCHEMA], sink_place(place()))
