"""The source ``Jdbc`` on a real PostgreSQL: types, planning, one state for all splits, connections."""

import logging
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import SourceConformance, options_of, plan, read
from seatunnel_core.connector_api.testing.drive import shipped
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.jdbc.source import JdbcSource
from seatunnel_core.errors import SourceError, UsageError
from tests.servers.connections import owners
from tests.servers.postgres import PASSWORD, Postgres
from tests.servers.process import deaf_port

pytestmark = pytest.mark.servers

ROWS = [{"id": number, "name": None if number % 7 == 0 else f"näme\n{number}"} for number in range(1, 301)]


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    running = Postgres()
    running.start()
    yield running
    forget()
    running.stop()


@pytest.fixture
def shop(server: Postgres) -> Iterator[Any]:
    """A connection, and an empty schema ``shop``."""
    with closing(server.connect()) as connection:
        connection.execute("DROP SCHEMA IF EXISTS shop CASCADE")
        connection.execute("CREATE SCHEMA shop")
        connection.execute("CREATE TABLE shop.people (id bigint PRIMARY KEY, name text)")
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO shop.people VALUES (%(id)s, %(name)s)", ROWS)
        connection.execute("ANALYZE shop.people")
        yield connection
    forget()


def source(server: Postgres, **options: Any) -> JdbcSource:
    return JdbcSource(options_of(JdbcSource, {**server.options(), **options}))


class TestJdbcOnPostgres(SourceConformance):
    source_class = JdbcSource

    @pytest.fixture(autouse=True)
    def database(self, server: Postgres, shop: Any) -> None:
        self.server = server

    def options(self) -> Mapping[str, Any]:
        return {**self.server.options(), "table_path": "postgres.shop.people", "split.size": 40, "fetch_size": 7}

    def expected(self) -> Sequence[Mapping[str, Any]]:
        return ROWS


SAMPLED = {"split.sample-sharding.threshold": 2, "split.inverse-sampling.rate": 3}
LONG = "12345678901234567890123456789012345678901.125"
TYPES: list[tuple[str, str, Any]] = [
    ("smallint", "-7", -7),
    ("integer", "7", 7),
    ("bigint", "9007199254740993", 9007199254740993),
    ("real", "1.5", 1.5),
    ("double precision", "0.1", 0.1),
    ("boolean", "true", True),
    ("numeric(15,2)", "1234567890123.45", Decimal("1234567890123.45")),
    ("numeric(50,3)", LONG, Decimal(LONG)),
    ("numeric", "1.25", Decimal("1.250000000000000000")),
    ("numeric(3,-2)", "12300", "12300"),
    ("text", "'a\nb'", "a\nb"),
    ("varchar(5)", "'abc'", "abc"),
    ("char(3)", "'x'", "x  "),
    ("name", "'x'", "x"),
    ("bytea", "'\\x00ff'", b"\x00\xff"),
    ("date", "'2024-02-29'", date(2024, 2, 29)),
    ("time", "'01:02:03.000004'", time(1, 2, 3, 4)),
    ("timetz", "'01:02:03+02'", "01:02:03+02"),
    ("timestamp", "'2024-02-29 01:02:03.000004'", datetime(2024, 2, 29, 1, 2, 3, 4)),
    ("timestamptz", "'2024-02-29 01:02:03+02'", datetime(2024, 2, 28, 23, 2, 3, tzinfo=UTC)),
    ("interval", "'1 day 2 hours'", "1 day 02:00:00"),
    ("json", "'{\"a\": 1}'", '{"a": 1}'),
    ("jsonb", "'{\"b\":2}'", '{"b": 2}'),
    ("xml", "'<a/>'", "<a/>"),
    ("uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ("inet", "'10.0.0.1/8'", "10.0.0.1/8"),
    ("point", "'(1,2)'", "(1,2)"),
    ("bit(3)", "B'101'", "101"),
    ("int4range", "'[1,5)'", "[1,5)"),
    ("integer[]", "'{1,NULL,3}'", [1, None, 3]),
    ("text[]", "'{a,NULL}'", ["a", None]),
    ("uuid[]", "'{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}'", ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]),
    ("numeric(5,2)[]", "'{1.5}'", [Decimal("1.50")]),
    ("shop.mood", "'glad'", "glad"),
    ("shop.amount", "1.5", Decimal("1.50")),
]  # fmt: skip


def test_each_type_becomes_a_value_of_rows(server: Postgres, shop: Any) -> None:
    shop.execute("CREATE TYPE shop.mood AS ENUM ('glad', 'sad')")
    shop.execute("CREATE DOMAIN shop.amount AS numeric(8,2) CHECK (VALUE > 0)")
    columns = ", ".join(f"c{number} {kind}" for number, (kind, _, _) in enumerate(TYPES))
    shop.execute(f"CREATE TABLE shop.kinds ({columns})")
    shop.execute(f"INSERT INTO shop.kinds VALUES ({', '.join(written for _, written, _ in TYPES)})")
    shop.execute("INSERT INTO shop.kinds (c0) VALUES (NULL)")
    full, empty = read(source(server, table_path="shop.kinds"))
    found = {TYPES[number][0]: value for number, value in enumerate(full.values())}
    assert found == {kind: value for kind, _, value in TYPES}
    assert set(empty.values()) == {None}


def test_a_number_that_is_too_long_for_rows_is_named(server: Postgres, shop: Any) -> None:
    shop.execute("CREATE TABLE shop.wide AS SELECT 12345678901234567890123::numeric AS amount")
    of = source(server, table_path="shop.wide")
    with pytest.raises(SourceError, match="row 1, column 'amount': '12345678901234567890123' does not fit"):
        read(of)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"table_path": "shop.peple"}, "the table shop.peple does not exist in postgresql 127.0.0.1:"),
        ({"table_path": "shop.people", "partition_column": "nmae"}, "did you mean name?"),
        ({"query": "SELECT nam FROM shop.people"}, 'column "nam" does not exist'),
        ({"query": "SELECT id, id FROM shop.people"}, "the query has two columns named 'id'"),
        ({"query": "SELEC 1"}, "syntax error"),
        ({"table_path": "shop.people", "where_condition": "where nam = 1"}, 'column "nam" does not exist'),
        ({"query": "SELECT 1", "properties": {"sslmode": "verify-full"}}, "SSL"),
        ({"query": "SELECT 1", "password": "wrong-one"}, 'password authentication failed for user "seatunnel"'),
        ({"query": "SELECT 1", "user": "nobody"}, 'password authentication failed for user "nobody"'),
        ({"query": "SELECT 1", "url": "jdbc:postgresql://127.0.0.1:{port}/none"}, 'database "none" does not exist'),
        ({"query": "SELECT 1", "url": "jdbc:postgresql://127.0.0.1:{deaf}/postgres"}, "Connection refused"),
        ({"query": "SELECT 1", "url": "jdbc:postgresql://no.such.host.invalid/postgres"}, "no.such.host.invalid"),
    ],
)
def test_what_is_wrong_is_said_before_data_moves(
    server: Postgres, shop: Any, options: dict[str, Any], said: str
) -> None:
    if "url" in options:
        options = {**options, "url": options["url"].format(port=server.port, deaf=deaf_port())}
    of = source(server, **options)
    with pytest.raises(SourceError) as caught:
        of.require_input()
    assert said in str(caught.value)
    assert PASSWORD not in str(caught.value)
    assert "wrong-one" not in str(caught.value)


def test_an_unknown_property_is_rejected_before_the_server_is_asked(server: Postgres) -> None:
    """The server's message was reported when the job had started."""
    with pytest.raises(UsageError, match="colour is unknown for PostgreSQL"):
        source(server, query="SELECT 1", properties={"colour": "red"})


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
    ],
)  # fmt: skip
def test_a_table_is_divided_by_columns_of_many_types(server: Postgres, shop: Any, options: dict[str, Any]) -> None:
    shop.execute(
        "CREATE TABLE shop.many AS SELECT id, name, timestamptz '2024-01-01+00' + id * interval '1 hour' AS at, "
        "date '2024-01-01' + id::int AS day, id * 1.25 AS price FROM shop.people"
    )
    shop.execute("INSERT INTO shop.many (id) VALUES (301)")
    of = source(server, table_path="shop.many", **options)
    found = plan(of)
    assert len(found.splits) >= 4
    assert sorted(row["id"] for row in read(of, found)) == list(range(1, 302))
    assert max(len(read(of, found, [split])) for split in found.splits) < 200


def test_all_splits_see_one_state_until_the_source_is_closed(server: Postgres, shop: Any) -> None:
    of = source(server, table_path="shop.people", **{"split.size": 60})
    found = plan(of)
    of.open(restored=False)
    shop.execute("DELETE FROM shop.people WHERE id > 10")
    shop.execute("INSERT INTO shop.people VALUES (1000, 'new')")
    assert sorted(row["id"] for row in read(of, found)) == list(range(1, 301))
    of.open(restored=False)
    assert sorted(row["id"] for row in read(of, found)) == list(range(1, 301)), "a restart in the same process"
    of.close()
    of.close()
    assert sorted(row["id"] for row in read(of, found)) == [*range(1, 11), 1000]


def test_a_new_process_is_refused_a_state_that_is_newer(
    server: Postgres, shop: Any, caplog: pytest.LogCaptureFixture
) -> None:
    of = source(server, table_path="shop.people")
    with caplog.at_level(logging.WARNING):
        of.open(restored=True)
    of.close()
    assert "continues with a newer state of postgresql 127.0.0.1" in caplog.text


def test_a_server_that_was_started_again_costs_the_state_and_no_row(server: Postgres, shop: Any) -> None:
    of = source(server, table_path="shop.people", **{"split.size": 60})
    found = plan(of)
    of.open(restored=False)
    in_task = shipped(of)
    server.restart()
    with pytest.raises(SourceError) as caught:
        read(in_task, found)
    assert caught.value.retryable, caught.value
    assert caught.value.needs_restart, "another attempt of the unit would find no snapshot either"
    of.open(restored=False)
    assert sorted(row["id"] for row in read(of, found)) == list(range(1, 301))
    of.close()


def test_all_sources_of_a_job_see_one_state_and_hold_one_connection(server: Postgres, shop: Any) -> None:
    """Each source held one, so that thirty tables used up the pool before the first sink had asked."""
    sources = [source(server, table_path="shop.people", connection_pool_size=2) for _ in range(12)]
    JdbcSource.meet(sources)
    for of in sources[:6]:
        of.open(restored=False)
    shop.execute("INSERT INTO shop.people VALUES (1001, 'late')")
    for of in sources[6:]:
        of.open(restored=False)
    sources[0].close()
    for of in (sources[1], sources[11]):
        assert len(read(shipped(of), plan(of))) == 300
    for of in sources[1:]:
        of.close()
    sources[3].open(restored=False)
    assert len(read(shipped(sources[3]), plan(sources[3]))) == 301, "a state of its own, when all others had ended"
    sources[3].close()


def test_two_hundred_tables_share_a_few_connections(server: Postgres, shop: Any) -> None:
    for number in range(200):
        shop.execute(f"CREATE TABLE shop.t{number} AS SELECT generate_series(1, 3) AS id")
    tables = [{"table_path": f"shop.t{number}"} for number in range(200)]
    of = source(server, table_list=tables, connection_pool_size=4)
    most, stop = 0, threading.Event()

    def watch() -> None:
        nonlocal most
        asked = "SELECT client_port FROM pg_stat_activity WHERE application_name = 'seatunnel'"
        with closing(server.connect()) as connection:
            while not stop.is_set():
                ports = connection.execute(asked).fetchall()
                most = max(most, len({port for (port,) in ports} & owners(os.getpid()).keys()))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        found = plan(of, PlanningContext(parallelism=2))
        of.open(restored=False)
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
        of.close()
    assert len(rows) == 600
    assert 2 <= most <= 4


def test_a_split_is_described_by_its_values(server: Postgres, shop: Any) -> None:
    of = source(server, table_path="shop.people", partition_num=3)
    assert list(of.describe(plan(of).splits)) == [
        "table postgres.shop.people, id below 101",
        "table postgres.shop.people, id from 101 below 201",
        "table postgres.shop.people, id from 201",
    ]
