"""Whole jobs from PostgreSQL to PostgreSQL and from MariaDB to MariaDB: processes that are killed with ``kill -9``, and
servers that are."""

import random
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, ClassVar

import psycopg
import pymysql
import pytest

from tests.runtime.command import Command, job
from tests.servers.mariadb import MariaDB
from tests.servers.postgres import PASSWORD, USER, Postgres

pytestmark = [pytest.mark.servers, pytest.mark.spark, pytest.mark.timeout(900)]

ROWS = 12_000
KILLS = 3
SERVER_KILLS = 10
PATIENCE_S = 300


class Shop(ABC):
    """A server with a database ``shop``, where a job moves the table ``old`` to ``new``."""

    columns: ClassVar[str]
    server: Any

    @abstractmethod
    def begin(self) -> None:
        """An empty database with the table ``old``."""

    @abstractmethod
    def ask(self, statement: str) -> list[Any]:
        """The rows that a statement gives; none where a table is not there."""

    @property
    @abstractmethod
    def url(self) -> str: ...

    staged: ClassVar[str]

    def found(self) -> Counter[Any]:
        return Counter(self.ask(f"SELECT {self.columns} FROM new"))

    def wanted(self) -> Counter[Any]:
        return Counter(self.ask(f"SELECT {self.columns} FROM old"))

    def left(self) -> list[Any]:
        """What the job leaves beside its rows."""
        tables = ("seatunnel_pipelines", "seatunnel_commits")
        return [self.ask(self.staged), *(self.ask(f"SELECT * FROM {name}") for name in tables)]


class InPostgres(Shop):
    columns = "id, name, price, at, doc::text"
    staged = "SELECT tablename FROM pg_tables WHERE tablename ~ '^seatunnel_[0-9a-f]{12}_'"

    def __init__(self) -> None:
        self.server = Postgres()
        self.server.start()

    @property
    def url(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.server.port}/shop"

    def begin(self) -> None:
        with closing(self.server.connect()) as connection:
            connection.execute("DROP DATABASE IF EXISTS shop WITH (FORCE)")
            connection.execute("CREATE DATABASE shop")
        with closing(self.server.connect("shop")) as connection:
            connection.execute(
                f"CREATE TABLE old AS SELECT id::bigint, 'näme ' || id AS name, id * 1.25 AS price, now() AS at, "
                f"jsonb_build_object('id', id) AS doc FROM generate_series(1, {ROWS}) AS id"
            )
            connection.execute("ALTER TABLE old ADD PRIMARY KEY (id)")
            connection.execute("ANALYZE old")

    def ask(self, statement: str) -> list[Any]:
        with closing(self.server.connect("shop")) as connection, suppress(psycopg.errors.UndefinedTable):
            return list(connection.execute(statement).fetchall())
        return []


class InMariaDB(Shop):
    columns = "id, name, price, at, doc"
    staged = (
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop' AND "
        "TABLE_NAME REGEXP '^seatunnel_[0-9a-f]{12}_'"
    )

    def __init__(self) -> None:
        self.server = MariaDB()
        self.server.start()

    @property
    def url(self) -> str:
        return str(self.server.url)

    def begin(self) -> None:
        self.server.empty()
        self.server.run(
            "CREATE TABLE old (id bigint PRIMARY KEY, name text, price decimal(12, 2), at datetime(6), doc json)",
            f"INSERT INTO old SELECT seq, concat('näme ', seq), seq * 1.25, now(6), json_object('id', seq) "
            f"FROM seq_1_to_{ROWS}",
            "ANALYZE TABLE old",
        )

    def ask(self, statement: str) -> list[Any]:
        with suppress(pymysql.err.ProgrammingError):
            return list(self.server.run(statement))
        return []


@pytest.fixture(scope="module", params=[InPostgres, InMariaDB], ids=["PostgreSQL", "MariaDB"])
def running(request: pytest.FixtureRequest) -> Iterator[Shop]:
    shop = request.param()
    yield shop
    shop.server.stop()


@pytest.fixture
def shop(running: Shop) -> Shop:
    running.begin()
    return running


def text(shop: Shop, rows_per_second: int | None, *, retries: int = 0, more: str = "") -> str:
    limit = "" if rows_per_second is None else f", read_limit.rows_per_second = {rows_per_second}"
    env = f"job.mode = BATCH, parallelism = 2, checkpoint.interval = 200, job.retry.times = {retries}{limit}"
    place = f'url = "{shop.url}", user = {USER}, password = "{PASSWORD}"'
    source = f"""
  Jdbc {{ plugin_output = a, {place}, table_path = "old", split.size = 500 }}"""
    sink = f"""
  Jdbc {{ plugin_input = [a], {place}, generate_sink_sql = true, table = "new", is_exactly_once = true, {more} }}"""
    return job(env, [source], [sink])


def test_a_job_that_is_killed_again_and_again_moves_every_row_once(shop: Shop, tmp_path: Path) -> None:
    Command.of(tmp_path, text(shop, ROWS // 20, more="primary_keys = [id], enable_upsert = false"))
    command = Command(folder=tmp_path)
    before = 0
    for number in range(KILLS):
        engine = command.resume() if number else command.begin()
        while (count := shop.found().total()) < before + ROWS // 10:
            assert engine.exit_code is None, engine.output
            assert engine.age_s < PATIENCE_S, engine.output
            time.sleep(0.02 * number)
        engine.kill()
        engine.end()
        assert count < ROWS, "the kill came too late"
        before = count
    Command.of(tmp_path, text(shop, None, more="primary_keys = [id], enable_upsert = false"))
    last = command.resume()
    assert last.wait(PATIENCE_S) == 0, last.output
    assert shop.found() == shop.wanted()
    assert shop.left() == [[], [], []]
    assert PASSWORD not in last.output


@pytest.mark.twin
def test_a_server_that_dies_again_and_again_costs_time_and_no_rows(shop: Shop, tmp_path: Path) -> None:
    """Ten times, for one to three seconds each, always when more rows are there than before: what is lost with the
    server, a snapshot among it, is noticed at once, and who goes on does not wait longer from time to time."""
    command = Command.of(tmp_path, text(shop, ROWS // 30, retries=60))
    drawn = random.Random(7)
    engine = command.begin()
    for number in range(1, SERVER_KILLS + 1):
        while (count := shop.found().total()) < number * ROWS // (SERVER_KILLS + 2):
            assert engine.exit_code is None, engine.output
            assert engine.age_s < PATIENCE_S, engine.output
            time.sleep(0.05)
        assert count < ROWS, "the kill came too late"
        shop.server.kill()
        time.sleep(drawn.uniform(1, 3))
        shop.server.restart()
    assert engine.wait(PATIENCE_S) == 0, engine.output
    assert shop.found() == shop.wanted()
    assert shop.left() == [[], [], []]
