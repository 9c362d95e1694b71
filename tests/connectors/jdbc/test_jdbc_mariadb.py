"""The source ``Jdbc`` on a real MariaDB: types, planning, messages, connections."""

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import SourceConformance, options_of, plan, read
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.jdbc.source import JdbcSource
from seatunnel_core.errors import SourceError
from tests.servers.connections import owners
from tests.servers.mariadb import PASSWORD, MariaDB
from tests.servers.process import deaf_port

pytestmark = pytest.mark.servers

ROWS = [{"id": number, "name": None if number % 7 == 0 else f"näme\n'{number}\\ 🚲"} for number in range(1, 301)]


@pytest.fixture(scope="module")
def server() -> Iterator[MariaDB]:
    running = MariaDB()
    running.start()
    yield running
    forget()
    running.stop()


@pytest.fixture
def shop(server: MariaDB) -> Iterator[Any]:
    """Runs a statement; in the database ``shop`` is the table ``people`` and nothing else."""
    forget()
    server.empty()
    with closing(server.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE people (id bigint PRIMARY KEY, name text)")
        cursor.executemany("INSERT INTO people VALUES (%(id)s, %(name)s)", ROWS)
    yield lambda *statements: server.run(*statements)
    forget()


def source(server: MariaDB, **options: Any) -> JdbcSource:
    return JdbcSource(options_of(JdbcSource, {**server.options(), **options}))


class TestJdbcOnMariaDB(SourceConformance):
    source_class = JdbcSource

    @pytest.fixture(autouse=True)
    def database(self, server: MariaDB, shop: Any) -> None:
        self.server = server

    def options(self) -> Mapping[str, Any]:
        return {**self.server.options(), "table_path": "shop.people", "split.size": 40, "fetch_size": 7}

    def expected(self) -> Sequence[Mapping[str, Any]]:
        return ROWS


LONG = "12345678901234567890123456789012345.123456789012345678901234567890"
TYPES: list[tuple[str, str, Any]] = [
    ("bit(1)", "b'1'", True),
    ("bit(11)", "b'11000000001'", b"\x06\x01"),
    ("tinyint", "-7", -7),
    ("tinyint(1)", "1", True),
    ("tinyint unsigned", "255", 255),
    ("smallint unsigned", "65535", 65535),
    ("mediumint unsigned", "16777215", 16777215),
    ("int", "-7", -7),
    ("int unsigned", "4294967295", 4294967295),
    ("int(6) unsigned zerofill", "7", 7),
    ("bigint", "9007199254740993", 9007199254740993),
    ("bigint unsigned", "18446744073709551615", Decimal(18446744073709551615)),
    ("float", "0.123456789", 0.12345679104328156),
    ("double", "0.1", 0.1),
    ("decimal(15,2)", "1234567890123.45", Decimal("1234567890123.45")),
    ("decimal(8,2) unsigned", "1.5", Decimal("1.50")),
    ("decimal(65,30)", LONG, Decimal(LONG)),
    ("year", "2024", 2024),
    ("date", "'2024-02-29'", date(2024, 2, 29)),
    ("time", "'01:02:03'", time(1, 2, 3)),
    ("time(6)", "'01:02:03.000004'", time(1, 2, 3, 4)),
    ("datetime", "'2024-02-29 01:02:03'", datetime(2024, 2, 29, 1, 2, 3)),
    ("datetime(6)", "'2024-02-29 01:02:03.000004'", datetime(2024, 2, 29, 1, 2, 3, 4)),
    ("timestamp(3) null", "'2024-02-29 01:02:03.004'", datetime(2024, 2, 29, 1, 2, 3, 4000)),
    ("char(3)", "'x'", "x"),
    ("varchar(20)", "'näme'", "näme"),
    ("varchar(20) character set latin1", "'näme'", "näme"),
    ("varchar(20) collate utf8mb4_bin", "'näme'", "näme"),
    ("longtext", "'a\\nb'", "a\nb"),
    ("json", "'{\"a\": 1}'", '{"a": 1}'),
    ("enum('glad','sad')", "'glad'", "glad"),
    ("set('a','b')", "'a,b'", "a,b"),
    ("binary(3)", "x'00ff'", b"\x00\xff\x00"),
    ("varbinary(3)", "x'00ff'", b"\x00\xff"),
    ("longblob", "x'00ff27'", b"\x00\xff'"),
    ("point", "ST_GeomFromText('POINT(1 2)', 4326)", None),
    ("inet6", "'::1'", "::1"),
    ("uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
]


@pytest.mark.parametrize("how", ["table_path", "query"])
def test_each_type_becomes_a_value_of_rows(server: MariaDB, shop: Any, how: str) -> None:
    columns = ", ".join(f"c{number} {kind}" for number, (kind, _, _) in enumerate(TYPES))
    shop(f"CREATE TABLE kinds ({columns})", f"INSERT INTO kinds VALUES ({', '.join(w for _, w, _ in TYPES)})")
    shop("INSERT INTO kinds (c0) VALUES (NULL)")
    full, empty = read(source(server, **{how: "kinds" if how == "table_path" else "SELECT * FROM kinds"}))
    found = {TYPES[number][0]: value for number, value in enumerate(full.values())}
    point = found.pop("point")
    assert point[:4] == (4326).to_bytes(4, "little")
    assert found == {kind: value for kind, _, value in TYPES if kind != "point"}
    assert set(empty.values()) == {None}


@pytest.mark.parametrize(
    ("declared", "value", "said"),
    [
        ("time", "'25:00:00'", "row 1, column 'v': '25:00:00' does not fit"),
        ("time", "'-01:00:00'", "row 1, column 'v': '-01:00:00' does not fit"),
        ("tinyint(1)", "5", "5 is neither 0 nor 1"),
        (
            "date",
            "'0000-00-00'",
            "properties { zeroDateTimeBehavior = CONVERT_TO_NULL } reads",
        ),
        ("datetime", "'2024-00-10 00:00:00'", "row 1, column 'v': '2024-00-10 00:00:00' does not fit"),
    ],
)
def test_a_value_that_rows_cannot_hold_is_named(
    server: MariaDB, shop: Any, declared: str, value: str, said: str
) -> None:
    shop("SET sql_mode = ''", f"CREATE TABLE odd (v {declared})")
    shop("SET sql_mode = ''", f"INSERT INTO odd VALUES ({value})")
    of = source(server, table_path="odd")
    with pytest.raises(SourceError) as caught:
        read(of)
    assert said in str(caught.value)
    assert not caught.value.retryable


def test_what_cannot_be_held_can_be_read_otherwise(server: MariaDB, shop: Any) -> None:
    shop("SET sql_mode = ''", "CREATE TABLE odd (d datetime(6), t time, n tinyint(1))")
    shop("SET sql_mode = ''", "INSERT INTO odd VALUES ('0000-00-00', '-838:59:59', 5)")
    of = source(
        server,
        query="SELECT d, CAST(t AS CHAR) AS t, n FROM odd",
        int_type_narrowing=False,
        properties={"zeroDateTimeBehavior": "convertToNull"},
    )
    assert read(of) == [{"d": None, "t": "-838:59:59", "n": 5}]


@pytest.mark.parametrize("written", ["GMT%2B8", "UTC+8", "+08:00"])
def test_moments_are_read_in_the_zone_of_the_session(server: MariaDB, shop: Any, written: str) -> None:
    shop("CREATE TABLE moments (v timestamp)", "SET time_zone = '+00:00'")
    shop("SET time_zone = '+00:00'", "INSERT INTO moments VALUES ('2024-02-28 23:00:00')")
    of = source(server, table_path="moments", properties={"serverTimezone": written})
    assert read(of) == [{"v": datetime(2024, 2, 29, 7)}]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"table_path": "shop.peple"}, "the table shop.peple does not exist in mysql 127.0.0.1:"),
        ({"table_path": "a.b.c"}, "'a.b.c' is not a MySQL table name"),
        ({"table_path": "people", "partition_column": "nmae"}, "did you mean name?"),
        ({"query": "SELECT nam FROM people"}, "Unknown column 'nam'"),
        ({"query": "SELECT id, id FROM people"}, "Duplicate column name 'id'"),
        ({"query": "SELEC 1"}, "error in your SQL syntax"),
        ({"table_path": "people", "where_condition": "where nam = 1"}, "Unknown column 'nam'"),
        ({"query": "SELECT 1", "properties": {"colour": "red"}}, "colour is unknown for MySQL"),
        ({"query": "SELECT 1", "properties": {"sslMode": "VERIFY_CA"}}, "SSL"),
        ({"query": "SELECT 1", "password": "wrong-one"}, "Access denied for user 'seatunnel'"),
        ({"query": "SELECT 1", "user": "nobody"}, "Access denied for user 'nobody'"),
        ({"query": "SELECT 1", "url": "jdbc:mysql://127.0.0.1:{port}/none"}, "Unknown database 'none'"),
        ({"query": "SELECT 1", "url": "jdbc:mariadb://127.0.0.1:{deaf}/shop"}, "Connection refused"),
        ({"query": "SELECT 1", "url": "jdbc:mysql://no.such.host.invalid/shop"}, "no.such.host.invalid"),
    ],
)
def test_what_is_wrong_is_said_before_data_moves(
    server: MariaDB, shop: Any, options: dict[str, Any], said: str
) -> None:
    if "url" in options:
        options = {**options, "url": options["url"].format(port=server.port, deaf=deaf_port())}
    with pytest.raises(Exception) as caught:  # noqa: PT011
        source(server, **options).require_input()
    assert said in str(caught.value)
    assert PASSWORD not in str(caught.value)
    assert "wrong-one" not in str(caught.value)


SAMPLED = {"split.sample-sharding.threshold": 2, "split.inverse-sampling.rate": 3}


@pytest.mark.parametrize(
    "options",
    [
        {"partition_column": "name", "partition_num": 4},
        {"partition_column": "at", "partition_num": 4},
        {"partition_column": "price", "partition_num": 4},
        {"partition_column": "day", "partition_num": 4},
        {"partition_column": "name", "split.size": 75},
        {"partition_column": "id", "split.size": 75, "split.even-distribution.factor.upper-bound": 0.5},
        {"partition_column": "name", "split.size": 10, **SAMPLED},
        {"partition_column": "id", "partition_num": 4, "use_select_count": True},
    ],
)
def test_a_table_is_divided_by_columns_of_many_types(server: MariaDB, shop: Any, options: dict[str, Any]) -> None:
    shop(
        "CREATE TABLE many AS SELECT id, name, TIMESTAMP'2024-01-01 00:00:00' + INTERVAL id HOUR AS at, "
        "DATE'2024-01-01' + INTERVAL id DAY AS day, id * 1.25 AS price FROM people"
    )
    shop("ALTER TABLE many MODIFY price decimal(12,2) NULL")
    shop("INSERT INTO many (id) VALUES (301)", "ANALYZE TABLE many")
    of = source(server, table_path="many", **options)
    found = plan(of)
    assert len(found.splits) >= 4
    assert sorted(row["id"] for row in read(of, found)) == list(range(1, 302))
    assert max(len(read(of, found, [split])) for split in found.splits) < 200


def test_a_table_of_another_database_is_read_as_its_own(server: MariaDB, shop: Any) -> None:
    server.run("CREATE OR REPLACE DATABASE other", "CREATE TABLE other.`odd ``name` AS SELECT 1 AS `a b`")
    of = source(server, table_path="other.odd `name")
    found = plan(of)
    assert [schema.table for schema in found.schemas] == ["other.odd `name"]
    assert read(of, found) == [{"a b": 1}]


def test_who_left_a_split_in_the_middle_leaves_a_connection_that_others_can_use(server: MariaDB, shop: Any) -> None:
    of = source(server, table_path="people", fetch_size=10, connection_pool_size=2)
    found = plan(of)
    for _ in range(5):
        rows = of.read(found.splits[0], None)  # type: ignore[arg-type]
        next(rows)
        rows.close()  # type: ignore[attr-defined]
    assert len(read(of, found)) == 300


def test_two_hundred_tables_share_a_few_connections(server: MariaDB, shop: Any) -> None:
    shop(*(f"CREATE TABLE t{number} AS SELECT seq AS id FROM seq_1_to_3" for number in range(200)))
    of = source(server, table_list=[{"table_path": f"t{number}"} for number in range(200)], connection_pool_size=4)
    most, stop = 0, threading.Event()

    def watch() -> None:
        nonlocal most
        asked = "SELECT substring_index(HOST, ':', -1) FROM information_schema.PROCESSLIST"
        with closing(server.connect()) as connection, connection.cursor() as cursor:
            own = connection._sock.getsockname()[1]
            while not stop.is_set():
                cursor.execute(asked)
                ports = {int(port) for (port,) in cursor.fetchall() if port.isdigit()} - {own}
                most = max(most, len(ports & owners(os.getpid()).keys()))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        found = plan(of, PlanningContext(parallelism=2))
        rows: list[Any] = []
        readers = [
            threading.Thread(target=lambda first=first: rows.extend(read(of, found, found.splits[first::8])))
            for first in range(8)
        ]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
    finally:
        stop.set()
        watching.join()
    assert len(rows) == 600
    assert 2 <= most <= 4
