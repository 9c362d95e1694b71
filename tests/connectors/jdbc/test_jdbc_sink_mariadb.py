"""The sink ``Jdbc`` on a real MariaDB: the kit with its kills, types, keys, messages, connections, a killed server."""

import gc
import os
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pymysql
import pytest

from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.jdbc.sink import JdbcSink
from seatunnel_core.connectors.jdbc.source import JdbcSource
from seatunnel_core.connectors.sink import Sink
from seatunnel_core.connectors.testing import SinkConformance, options_of, plan, read
from seatunnel_core.connectors.testing.drive import commit, place, sink_place, stage
from seatunnel_core.connectors.testing.kill_suite import SCHEMA, numbered
from seatunnel_core.errors import CommitError, RowError, SinkError
from seatunnel_core.rows.batch import Batch, TableSchema
from tests.connectors.jdbc.test_jdbc_sink import AFTER, BEFORE, CHANGES, GONE, NEW, batch, write
from tests.servers.connections import owners
from tests.servers.mariadb import PASSWORD, MariaDB

pytestmark = pytest.mark.servers

EXACT = {"generate_sink_sql": True, "is_exactly_once": True}
STAGED = (
    "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop' AND "
    "TABLE_NAME REGEXP '^seatunnel_[0-9a-f]{12}_'"
)


@pytest.fixture(scope="module")
def server() -> Iterator[MariaDB]:
    running = MariaDB()
    running.start()
    yield running
    forget()
    running.stop()


@pytest.fixture
def shop(server: MariaDB) -> Iterator[Any]:
    """Runs statements in the database ``shop``, in which there is nothing."""
    gc.collect()
    forget()
    server.empty()
    yield lambda *statements: server.run(*statements)
    forget()


def sink(server: MariaDB, **options: Any) -> JdbcSink:
    return JdbcSink(options_of(JdbcSink, {**server.options(), **options}))


@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # connections of what was killed
@pytest.mark.filterwarnings("ignore::ResourceWarning")
class TestJdbcSinkOnMariaDB(SinkConformance):
    sink_class = JdbcSink
    kills = 10

    @pytest.fixture(autouse=True)
    def target(self, server: MariaDB, shop: Any) -> None:
        self.server, self.shop = server, shop

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
            return [{"id": number} for (number,) in self.shop("SELECT id FROM people")]
        except pymysql.err.ProgrammingError:
            return []

    def staged(self) -> int:
        gc.collect()
        return len(self.shop(STAGED))


LONG = "12345678901234567890123456789012345.123456789012345678901234567890"
TYPES: list[tuple[str, pa.DataType, Any]] = [
    ("bit(1)", pa.bool_(), True),
    ("bit(11)", pa.binary(), b"\x06\x01"),
    ("tinyint", pa.int8(), -7),
    ("tinyint(1)", pa.bool_(), True),
    ("tinyint unsigned", pa.int32(), 255),
    ("smallint unsigned", pa.int64(), 65535),
    ("int unsigned", pa.uint32(), 4294967295),
    ("bigint", pa.int32(), 7),
    ("bigint unsigned", pa.uint64(), 18446744073709551615),
    ("float", pa.float32(), 1.5),
    ("double", pa.float64(), 0.1),
    ("decimal(15,2)", pa.decimal128(20, 2), Decimal("12.50")),
    ("decimal(65,30)", pa.decimal256(65, 30), Decimal(LONG)),
    ("decimal(30,20)", pa.decimal128(30, 20), Decimal("0.00000000000000000001")),
    ("year", pa.int16(), 2024),
    ("date", pa.date32(), date(2024, 2, 29)),
    ("time(6)", pa.time64("us"), time(1, 2, 3, 4)),
    ("datetime(6)", pa.timestamp("us"), datetime(2024, 2, 29, 1, 2, 3, 4)),
    ("timestamp(6)", pa.timestamp("us"), datetime(2024, 2, 29, 1, 2, 3, 4)),
    ("datetime", pa.timestamp("us", "UTC"), datetime(2024, 2, 29, 1, 2, 3, tzinfo=UTC)),
    ("char(3)", pa.string(), "x"),
    ("varchar(20)", pa.large_string(), "näme\n'\\ 🚲\0"),
    ("varchar(20) character set latin1", pa.string(), "näme"),
    ("longtext", pa.string(), "a\nb"),
    ("json", pa.string(), '{"a": "\\\\"}'),
    ("enum('glad','sad')", pa.string(), "glad"),
    ("set('a','b')", pa.string(), "a,b"),
    ("varbinary(3)", pa.binary(), b"\x00\xff'"),
    ("longblob", pa.binary(), b""),
    ("point", pa.binary(), bytes.fromhex("E61000000101000000000000000000F03F0000000000000040")),
    ("inet6", pa.string(), "::1"),
]


@pytest.mark.parametrize("exact", [True, False])
def test_each_type_goes_in_and_comes_back(server: MariaDB, shop: Any, exact: bool) -> None:
    columns = ", ".join(f"c{n} {kind}{' null' if kind[:4] == 'time' else ''}" for n, (kind, _, _) in enumerate(TYPES))
    shop(f"CREATE TABLE kinds ({columns})")
    fields = pa.schema([(f"c{number}", kind) for number, (_, kind, _) in enumerate(TYPES)])
    values = {f"c{number}": value for number, (_, _, value) in enumerate(TYPES)}
    rows = pa.RecordBatch.from_pylist([values, dict.fromkeys(values)], schema=fields)
    of, here = sink(server, generate_sink_sql=True, is_exactly_once=exact, table="kinds"), place()
    of.prepare(sink_place(here))
    commit(of, [stage(of, TableSchema(table="kinds", columns=fields), [rows], here)], here)
    back = JdbcSource(options_of(JdbcSource, {**server.options(), "table_path": "kinds"}))
    full, empty = read(back, plan(back))
    found = {TYPES[number][0]: value for number, value in enumerate(full.values())}
    assert found == {**{kind: value for kind, _, value in TYPES}, "datetime": datetime(2024, 2, 29, 1, 2, 3)}
    assert set(empty.values()) == {None}


def test_a_table_is_made_for_the_types_of_the_rows(server: MariaDB, shop: Any) -> None:
    columns = pa.schema([(f"c{number}", kind) for number, (_, kind, _) in enumerate(TYPES)])
    of = sink(server, generate_sink_sql=True, table="made")
    of.prepare(sink_place(place()))
    schema = TableSchema(table="made", columns=columns, primary_key=("c21", "c27", "c7"))
    of.create_tables([schema], sink_place(place()))
    asked = "SELECT COLUMN_TYPE FROM information_schema.COLUMNS WHERE TABLE_NAME = 'made' ORDER BY ORDINAL_POSITION"
    found = [kind for (kind,) in shop(asked)]
    assert found[:9] == [
        *("tinyint(1)", "longblob", "tinyint(4)", "tinyint(1)", "int(11)", "bigint(20)", "bigint(20)", "int(11)"),
        "bigint(20) unsigned",
    ]
    assert found[14:22] == [
        *("smallint(6)", "date", "time(6)", "datetime(6)", "datetime(6)", "datetime(6)", "longtext", "varchar(255)")
    ]
    assert shop("SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_NAME = 'made'") == [("InnoDB",)]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("columns", "value", "said"),
    [
        ("id bigint, name varchar(3)", "name 1", "Data too long for column 'name'"),
        ("id bigint, name text NOT NULL", None, "Column 'name' cannot be null"),
        ("id bigint, name enum('a')", "b", "Data truncated for column 'name'"),
        ("id bigint, name varchar(9) character set latin1", "日本", "Incorrect string value"),
        ("id bigint, name inet6", "x", "Incorrect inet6 value: 'x'"),
    ],
)
def test_a_row_that_the_table_cannot_hold_is_named_in_the_task(
    server: MariaDB, shop: Any, columns: str, value: str | None, said: str, exact: bool
) -> None:
    shop(f"CREATE TABLE people ({columns})")
    of, here = sink(server, generate_sink_sql=True, is_exactly_once=exact, table="people"), place()
    of.prepare(sink_place(here))
    rows = pa.RecordBatch.from_pylist([{"id": 1, "name": value}], schema=SCHEMA.columns)
    with pytest.raises(RowError) as caught:
        stage(of, SCHEMA, [rows], here)
    assert said in str(caught.value)
    assert "the rows of shop.people cannot be written" in str(caught.value)
    assert not caught.value.retryable
    assert shop(STAGED) == []


@pytest.mark.parametrize("engine", ["MyISAM", "Aria"])
def test_a_table_without_transactions_is_refused_when_rows_are_to_come_exactly_once(
    server: MariaDB, shop: Any, engine: str
) -> None:
    shop(f"CREATE TABLE people (id bigint, name text) ENGINE={engine}")
    of = sink(server, table="people", **EXACT)
    of.prepare(sink_place(place()))
    with pytest.raises(SinkError, match=r"the table shop\.people has no transactions.*give it ENGINE=InnoDB"):
        of.create_tables([SCHEMA], sink_place(place()))
    write(sink(server, generate_sink_sql=True, table="people"), batch((NEW, 1, "a")))
    assert shop("SELECT * FROM people") == [(1, "a")]


def test_our_own_tables_have_transactions_whatever_the_default_is(server: MariaDB, shop: Any) -> None:
    of = sink(server, table="people", properties={"sessionVariables": "default_storage_engine=Aria"}, **EXACT)
    of.prepare(sink_place(place()))
    stage(of, SCHEMA, [numbered(0, 3)], place())
    asked = "SELECT DISTINCT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop'"
    assert shop(asked) == [("InnoDB",)]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("key", ["PRIMARY KEY", ""])
@pytest.mark.parametrize("more", ["", ", UNIQUE (other)"])
@pytest.mark.parametrize(("rows", "found"), CHANGES)
def test_rows_are_applied_by_kind_in_their_order(
    server: MariaDB, shop: Any, rows: list[tuple[Any, ...]], found: list[Any], more: str, key: str, exact: bool
) -> None:
    shop(f"CREATE TABLE people (id bigint {key}, name text, other int{more})")
    shop("INSERT INTO people (id, name) VALUES (1, 'a'), (2, 'b')")
    of = sink(server, generate_sink_sql=True, is_exactly_once=exact, table="people", primary_keys=["id"], batch_size=1)
    write(of, *(batch(row) for row in rows))
    assert shop("SELECT id, name FROM people ORDER BY id") == found


def test_a_row_with_the_other_key_of_another_row_does_not_replace_that(server: MariaDB, shop: Any) -> None:
    """What ``ON DUPLICATE KEY UPDATE`` would do without a word."""
    shop("CREATE TABLE people (id bigint PRIMARY KEY, name varchar(20) UNIQUE)")
    shop("INSERT INTO people VALUES (1, 'a'), (2, 'b')")
    of = sink(server, table="people", primary_keys=["id"], **EXACT)
    with pytest.raises(CommitError, match="Duplicate entry 'b' for key 'name'"):
        write(of, batch((NEW, 3, "b")))
    assert shop("SELECT * FROM people ORDER BY id") == [(1, "a"), (2, "b")]


def test_a_moment_with_a_zone_does_not_go_where_the_session_would_shift_it(server: MariaDB, shop: Any) -> None:
    shop("CREATE TABLE people (id bigint, at timestamp)")
    schema = TableSchema(table="people", columns=pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "UTC"))]))
    of = sink(server, table="people", **EXACT)
    of.prepare(sink_place(place()))
    with pytest.raises(SinkError, match=r"column 'at'.*does not fit into timestamp of the table shop\.people"):
        of.create_tables([schema], sink_place(place()))


def test_keys_are_the_same_where_the_table_says_so(server: MariaDB, shop: Any) -> None:
    shop("CREATE TABLE people (id varchar(9) PRIMARY KEY, name text) COLLATE utf8mb4_general_ci")
    schema = TableSchema(table="people", columns=pa.schema([("id", pa.string()), ("name", pa.string())]))
    of = sink(server, table="people", primary_keys=["id"], **EXACT)
    write(of, batch((NEW, "a", "1"), (NEW, "A", "2"), schema=schema), schema=schema)
    assert shop("SELECT name FROM people") == [("2",)]


def test_a_row_that_is_there_is_an_error_without_upserts_and_changes_still_find_theirs(
    server: MariaDB, shop: Any
) -> None:
    shop("CREATE TABLE people (id bigint PRIMARY KEY, name text)", "INSERT INTO people VALUES (1, 'a'), (2, 'b')")
    of = sink(server, enable_upsert=False, table="people", primary_keys=["id"], **EXACT)
    write(of, batch((BEFORE, 1, "a"), (AFTER, 1, "x"), (GONE, 2, None), (NEW, 3, "c")))
    assert shop("SELECT * FROM people ORDER BY id") == [(1, "x"), (3, "c")]
    with pytest.raises(CommitError, match="Duplicate entry '1' for key 'PRIMARY'"):
        write(of, batch((NEW, 1, "y")), unit=2)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("INSERT INTO people (name, id) VALUES (upper(:name), :id * 10);", [(10, "A"), (20, "B")]),
        ("insert into people (id, name)\nvalues (?, concat('it''s ? (', ?))", [(1, "it's ? (a"), (2, "it's ? (b")]),
        ("INSERT INTO people VALUES (?, ?) ON DUPLICATE KEY UPDATE id = VALUES(id)", [(1, "a"), (2, "b")]),
        ("REPLACE INTO people VALUES (?, ?)", [(1, "a"), (2, "b")]),
    ],
)
def test_a_statement_takes_the_columns_of_the_rows(
    server: MariaDB, shop: Any, query: str, found: Any, exact: bool
) -> None:
    shop("CREATE TABLE people (id bigint PRIMARY KEY, name text)")
    write(sink(server, query=query, is_exactly_once=exact), batch((NEW, 1, "a"), (NEW, 2, "b")))
    assert shop("SELECT * FROM people ORDER BY id") == found


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("modes", "found"),
    [
        ({}, [(1, "a", None), (7, "x", "y")]),
        ({"data_save_mode": "DROP_DATA"}, [(1, "a", None)]),
        ({"schema_save_mode": "RECREATE_SCHEMA"}, [(1, "a")]),
        (
            {"data_save_mode": "CUSTOM_PROCESSING", "custom_sql": "UPDATE people SET old = 'z'"},
            [(1, "a", None), (7, "x", "z")],
        ),
        ({"data_save_mode": "ERROR_WHEN_DATA_EXISTS"}, "ERROR_WHEN_DATA_EXISTS"),
    ],
)
def test_save_modes_act_once(server: MariaDB, shop: Any, modes: dict[str, Any], found: Any, exact: bool) -> None:
    shop("CREATE TABLE people (id bigint, name text, old text)", "INSERT INTO people VALUES (7, 'x', 'y')")
    of, here = sink(server, generate_sink_sql=True, is_exactly_once=exact, table="people", **modes), place()
    of.prepare(sink_place(here))
    of.apply_save_mode(sink_place(here))
    if isinstance(found, str):
        with pytest.raises(SinkError, match=found):
            of.create_tables([SCHEMA], sink_place(here))
        return
    committable = stage(of, SCHEMA, [batch((NEW, 1, "a")).rows], here)
    commit(of, [committable], here)
    of.prepare(sink_place(place(epoch=2)))
    of.create_tables([SCHEMA], sink_place(place(epoch=2)))
    assert shop("SELECT * FROM people ORDER BY id") == found


def test_a_row_that_is_longer_than_a_statement_is_told(server: MariaDB, shop: Any) -> None:
    shop("SET GLOBAL max_allowed_packet = 1048576")
    forget()  # a connection keeps what it was told when it was opened
    try:
        of = sink(server, generate_sink_sql=True, table="people")
        write(of, *(batch((NEW, number, "x" * 300_000)) for number in range(9)))
        assert shop("SELECT count(*), min(length(name)) FROM people") == [(9, 300_000)]
        told = r"people.* row 2 of a batch takes 1,100,\d+ bytes.* 1,048,576.*max_allowed_packet"
        with pytest.raises(RowError, match=told):
            write(of, batch((NEW, 9, "x"), (NEW, 10, "x" * 1_100_000)))
    finally:
        shop("SET GLOBAL max_allowed_packet = 16777216")
        forget()


def test_a_quota_of_writes_that_is_used_up_costs_a_try_and_no_row(server: MariaDB, shop: Any) -> None:
    shop("DROP USER IF EXISTS limited", "CREATE USER limited IDENTIFIED BY 'secret-one'")
    shop("GRANT ALL ON shop.* TO limited WITH MAX_UPDATES_PER_HOUR 6")
    of = sink(server, user="limited", password="secret-one", table="people", batch_size=1, **EXACT)
    here = place()
    of.prepare(sink_place(here))
    with pytest.raises(SinkError, match="has exceeded the 'max_updates_per_hour' resource") as caught:
        stage(of, SCHEMA, [numbered(number, 1) for number in range(9)], here)
    assert caught.value.retryable
    assert "secret-one" not in str(caught.value)
    forget()
    shop("GRANT ALL ON shop.* TO limited WITH MAX_UPDATES_PER_HOUR 0", "FLUSH USER_RESOURCES")
    again = place(epoch=2)
    of.prepare(sink_place(again))
    of.sweep(sink_place(again), frozenset(), final=False)
    commit(of, [stage(of, SCHEMA, [numbered(0, 9)], again)], again)
    assert shop("SELECT count(*) FROM people") == [(9,)]
    assert shop(STAGED) == []


def test_a_commit_waits_for_a_newer_engine_and_then_stops(server: MariaDB, shop: Any) -> None:
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

    with closing(server.connect()) as newer, newer.cursor() as cursor:
        newer.begin()
        cursor.execute("UPDATE seatunnel_pipelines SET epoch = 2")
        committing = threading.Thread(target=late)
        committing.start()
        committing.join(0.5)
        assert committing.is_alive(), "it waits for the row"
        newer.commit()
    committing.join()
    assert "another engine goes on with this job: its epoch is 2, and this one has 1" in met[0]
    assert shop("SELECT count(*) FROM people") == [(0,)]


def test_a_new_engine_does_not_wait_for_ever_for_one_that_sleeps_in_its_commit(
    server: MariaDB, shop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = sink(server, table="people", **EXACT)
    of.prepare(sink_place(place()))
    monkeypatch.setattr("seatunnel_core.connectors.jdbc.publishing._CLAIM_S", 1)
    with closing(server.connect()) as sleeping, sleeping.cursor() as cursor:
        sleeping.begin()
        cursor.execute("SELECT * FROM seatunnel_pipelines FOR UPDATE")
        with pytest.raises(SinkError, match="Lock wait timeout exceeded") as caught:
            of.prepare(sink_place(place(epoch=2)))
    assert caught.value.retryable
    of.prepare(sink_place(place(epoch=2)))


def test_a_server_that_is_killed_in_the_midst_of_commits_costs_no_row(server: MariaDB, shop: Any) -> None:
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
    found = Counter(number for (number,) in shop("SELECT id FROM people"))
    assert shop(STAGED) == []
    assert found == Counter(
        unit * 100 + part * 10 + row for unit in range(1, 11) for part in range(4) for row in range(10)
    )


def test_many_tables_and_writers_share_a_few_connections(server: MariaDB, shop: Any) -> None:
    of, here = sink(server, connection_pool_size=4, **EXACT), place()
    schemas = [TableSchema(table=f"t{number}", columns=SCHEMA.columns) for number in range(60)]
    of.prepare(sink_place(here))
    of.create_tables(schemas, sink_place(here))
    most, stop = 0, threading.Event()

    def watch() -> None:
        nonlocal most
        with closing(server.connect()) as connection, connection.cursor() as cursor:
            own = connection._sock.getsockname()[1]
            while not stop.is_set():
                cursor.execute("SELECT substring_index(HOST, ':', -1) FROM information_schema.PROCESSLIST")
                ports = {int(port) for (port,) in cursor.fetchall() if port.isdigit()} - {own}
                most = max(most, len(ports & owners(os.getpid()).keys()))

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
    assert len(shop(STAGED)) == 60
    assert 2 <= most <= 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"password": "wrong-one"}, "Access denied for user 'seatunnel'"),
        ({"table": "nowhere.people"}, "Unknown database 'nowhere'"),
        ({"query": "INSERT INTO peple VALUES (?, ?)", "generate_sink_sql": False}, "Table 'shop.peple' doesn't exist"),
    ],
)
def test_what_is_wrong_is_said_before_data_moves(
    server: MariaDB, shop: Any, options: dict[str, Any], said: str
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


def test_what_is_committed_is_not_staged_any_more(server: MariaDB, shop: Any) -> None:
    of, here = sink(server, table="people", **EXACT), place()
    of.prepare(sink_place(here))
    committable = stage(of, SCHEMA, [numbered(1, 1)], here)
    assert len(shop(STAGED)) == 1
    commit(of, [committable], here)
    assert shop(STAGED) == []
    commit(of, [committable], here, again=True)
    assert shop("SELECT id FROM people") == [(1,)]
