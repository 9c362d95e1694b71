"""The sink ``Jdbc`` on each real server: the kit with its kills, messages, fences, connections, a killed server."""

import gc
import os
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pymysql
import pytest

from seatunnel_core.connector_api.testing.drive import commit, place, sink_place, stage
from seatunnel_core.connector_api.testing.kill_suite import SCHEMA, numbered
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.jdbc.sink import JdbcSink
from seatunnel_core.errors import CommitError, RowError, SinkError
from seatunnel_core.rows.batch import Batch, TableSchema
from tests.connectors.jdbc.databases import Database, empty
from tests.connectors.jdbc.sink_units import EXACT, JdbcSinkSuite
from tests.servers.connections import owners
from tests.shared import SERVERS

pytestmark = pytest.mark.servers


@pytest.fixture(params=SERVERS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    yield empty(request.param, tmp_path)
    forget()


def on_each(names: str, *cases: tuple[Any, ...]) -> pytest.MarkDecorator:
    """Cases of a test, each with the kind of the database that it is for in front."""
    return pytest.mark.parametrize(("database", *names.split()), cases, indirect=["database"])


@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # connections of what was killed
@pytest.mark.filterwarnings("ignore::ResourceWarning")
class TestJdbcSinkOnServers(JdbcSinkSuite):
    kills = 10

    @pytest.fixture(autouse=True)
    def target(self, database: Database) -> None:
        self.database = database

    def options(self) -> Mapping[str, Any]:
        return {**self.database.options, "table": "people", **EXACT}

    def visible(self) -> Sequence[Mapping[str, Any]]:
        try:
            return [{"id": number} for (number,) in self.database.run("SELECT id FROM people")]
        except (psycopg.errors.UndefinedTable, pymysql.err.ProgrammingError):
            return []

    def staged(self) -> int:
        gc.collect()
        return len(self.database.staged())

    def lose_table(self) -> bool:
        gc.collect()
        self.database.run("DROP TABLE people")
        return True


@pytest.mark.parametrize("exact", [True, False])
@on_each(
    "columns value said",
    ("postgresql", "id bigint, name varchar(3)", "name 1", "value too long for type character varying(3)"),
    ("postgresql", "id bigint, name text NOT NULL", None, 'null value in column "name"'),
    ("postgresql", "id bigint, name uuid", "name 1", 'invalid input syntax for type uuid: "name 1"'),
    ("postgresql", "id bigint, name bit(3)", "1010", "bit string length 4 does not match type bit(3)"),
    ("postgresql", "id oid, name varchar(3)", "name 1", "value too long for type character varying(3)"),
    ("postgresql", "id oid, name short", "name 1", "value too long for type character varying(3)"),
    ("postgresql", "id bigint, name jsonb", "{", "invalid input syntax for type json"),
    ("mysql", "id bigint, name varchar(3)", "name 1", "Data too long for column 'name'"),
    ("mysql", "id bigint, name text NOT NULL", None, "Column 'name' cannot be null"),
    ("mysql", "id bigint, name enum('a')", "b", "Data truncated for column 'name'"),
    ("mysql", "id bigint, name varchar(9) character set latin1", "日本", "Incorrect string value"),
    ("mysql", "id bigint, name inet6", "x", "Incorrect inet6 value: 'x'"),
)
def test_a_row_that_the_table_cannot_hold_is_named_in_the_task(
    database: Database, columns: str, value: str | None, said: str, exact: bool
) -> None:
    if database.kind == "postgresql":
        database.run("CREATE DOMAIN short AS varchar(3)")
    database.run(f"CREATE TABLE people ({columns})")
    of, here = database.sink(generate_sink_sql=True, is_exactly_once=exact, table="people"), place()
    of.prepare(sink_place(here))
    rows = pa.RecordBatch.from_pylist([{"id": 1, "name": value}], schema=SCHEMA.columns)
    with pytest.raises(RowError) as caught:
        stage(of, SCHEMA, [rows], here)
    assert said in str(caught.value)
    assert f"the rows of {database.name}.people cannot be written" in str(caught.value)
    assert not caught.value.retryable
    assert database.staged() == []


@pytest.mark.parametrize("exact", [True, False])
@on_each(
    "query found",
    (
        "postgresql",
        "INSERT INTO people (name, id) VALUES (upper(:name), :id::int * 10);",
        [(10, "NAME 1"), (20, "NAME 2")],
    ),
    (
        "postgresql",
        "insert into people (id, name)\nvalues (?, 'it''s ? (' || ?)",
        [(1, "it's ? (name 1"), (2, "it's ? (name 2")],
    ),
    ("postgresql", "INSERT INTO people VALUES (?, ?) ON CONFLICT (id) DO NOTHING", [(1, "name 1"), (2, "name 2")]),
    ("mysql", "INSERT INTO people (name, id) VALUES (upper(:name), :id * 10);", [(10, "NAME 1"), (20, "NAME 2")]),
    (
        "mysql",
        "insert into people (id, name)\nvalues (?, concat('it''s ? (', ?))",
        [(1, "it's ? (name 1"), (2, "it's ? (name 2")],
    ),
    (
        "mysql",
        "INSERT INTO people VALUES (?, ?) ON DUPLICATE KEY UPDATE id = VALUES(id)",
        [(1, "name 1"), (2, "name 2")],
    ),
    ("mysql", "REPLACE INTO people VALUES (?, ?)", [(1, "name 1"), (2, "name 2")]),
)
def test_a_statement_takes_the_columns_of_the_rows(database: Database, query: str, found: Any, exact: bool) -> None:
    database.run("CREATE TABLE people (id bigint PRIMARY KEY, name text)")
    of, here = database.sink(query=query, is_exactly_once=exact), place()
    of.prepare(sink_place(here))
    commit(of, [stage(of, SCHEMA, [numbered(1, 2)], here)], here)
    assert database.run("SELECT * FROM people ORDER BY id") == found


def test_a_commit_waits_for_a_newer_engine_and_then_stops(database: Database) -> None:
    """A real fence: the newer engine holds the row in the moment in which the older one commits."""
    of, here = database.sink(table="people", **EXACT), place()
    of.prepare(sink_place(here))
    committable = stage(of, SCHEMA, [numbered(0, 3)], here)
    met: list[str] = []

    def late() -> None:
        try:
            commit(of, [committable], here)
        except CommitError as error:
            met.append(str(error))

    with database.transaction("UPDATE seatunnel_pipelines SET epoch = 2") as newer:
        committing = threading.Thread(target=late)
        committing.start()
        committing.join(0.5)
        assert committing.is_alive(), "it waits for the row"
        newer.commit()
    committing.join()
    assert "another engine has taken over this job: its epoch is 2, and the epoch of this engine is 1" in met[0]
    assert database.run("SELECT count(*) FROM people") == [(0,)]


@on_each(
    "said",
    ("postgresql", "canceling statement due to lock timeout"),
    ("mysql", "Lock wait timeout exceeded"),
)
def test_a_new_engine_does_not_wait_for_ever_for_one_that_sleeps_in_its_commit(
    database: Database, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = database.sink(table="people", **EXACT)
    of.prepare(sink_place(place()))
    monkeypatch.setattr("seatunnel_core.connectors.jdbc.publishing._CLAIM_S", 1)
    sleeping = database.transaction("SELECT * FROM seatunnel_pipelines FOR UPDATE")
    with sleeping, pytest.raises(SinkError, match=said) as caught:
        of.prepare(sink_place(place(epoch=2)))
    assert caught.value.retryable
    of.prepare(sink_place(place(epoch=2)))


def test_a_server_that_is_killed_in_the_midst_of_commits_costs_no_row(database: Database) -> None:
    """Ten times: what was staged before survives it, and a commit whose answer was lost is not repeated."""
    of, here = database.sink(table="people", max_commit_attempts=1, **EXACT), place()
    of.prepare(sink_place(here))
    for unit in range(1, 11):
        committables = [
            stage(of, SCHEMA, [numbered(unit * 100 + part * 10, 10)], place(unit=unit * 10 + part)) for part in range(4)
        ]
        killing = threading.Timer(0.004 * unit, database.server.kill)
        killing.start()
        with suppress(SinkError):
            commit(of, committables, here)
        killing.join()
        database.server.restart()
        commit(of, committables, here, may_be_committed=True)
    found = Counter(number for (number,) in database.run("SELECT id FROM people"))
    assert database.staged() == []
    assert found == Counter(
        unit * 100 + part * 10 + row for unit in range(1, 11) for part in range(4) for row in range(10)
    )


def test_many_tables_and_writers_share_a_few_connections(database: Database) -> None:
    of, here = database.sink(connection_pool_size=4, **EXACT), place()
    schemas = [TableSchema(table=f"t{number}", columns=SCHEMA.columns) for number in range(60)]
    of.prepare(sink_place(here))
    of.create_tables(schemas, sink_place(here))
    most, stop = 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not stop.is_set():
            most = max(most, len(ports_of_sinks(database)))

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
    assert len(database.staged()) == 60
    assert 2 <= most <= 4


def ports_of_sinks(database: Database) -> set[int]:
    """The ports of the connections of this process that a server has, but for the one that asks."""
    asked = {
        "postgresql": "SELECT client_port FROM pg_stat_activity WHERE application_name = 'seatunnel'",
        "mysql": "SELECT substring_index(HOST, ':', -1) FROM information_schema.PROCESSLIST "
        "WHERE ID <> CONNECTION_ID()",
    }
    ports = {int(port) for (port,) in database.run(asked[database.kind]) if str(port).isdigit()}
    return ports & owners(os.getpid()).keys()


@on_each(
    "options said",
    ("postgresql", {"password": "wrong-one"}, 'password authentication failed for user "seatunnel"'),
    ("postgresql", {"table": "nowhere.people"}, 'schema "nowhere" does not exist'),
    ("postgresql", {"database": "other", "table": "public.people"}, "but url opens postgres"),
    ("mysql", {"password": "wrong-one"}, "Access denied for user 'seatunnel'"),
    ("mysql", {"table": "nowhere.people"}, "Unknown database 'nowhere'"),
    (
        "mysql",
        {"query": "INSERT INTO peple VALUES (?, ?)", "generate_sink_sql": False},
        "Table 'shop.peple' doesn't exist",
    ),
)
def test_what_is_wrong_is_said_before_data_moves(database: Database, options: dict[str, Any], said: str) -> None:
    of = database.sink(**{"table": "people", **EXACT, **options})
    with pytest.raises(SinkError, match="pipeline 1, sink Jdbc: ") as caught:
        prepare(of)
    assert said in str(caught.value)
    assert database.options["password"] not in str(caught.value)
    assert "wrong-one" not in str(caught.value)


def prepare(of: JdbcSink) -> None:
    of.prepare(sink_place(place()))
    of.create_tables([SCHEMA], sink_place(place()))
