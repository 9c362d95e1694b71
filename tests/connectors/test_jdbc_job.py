"""Whole jobs from PostgreSQL to PostgreSQL: processes that are killed with ``kill -9``, and a server that is."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.runtime.command import Command, job
from tests.servers.postgres import PASSWORD, USER, Postgres

pytestmark = [pytest.mark.servers, pytest.mark.spark, pytest.mark.timeout(900)]

ROWS = 12_000
KILLS = 3
PATIENCE_S = 300


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    running = Postgres()
    running.start()
    yield running
    running.stop()


@pytest.fixture
def database(server: Postgres) -> str:
    """The name of an empty database with one table, ``old``."""
    with closing(server.connect()) as connection:
        connection.execute("DROP DATABASE IF EXISTS shop WITH (FORCE)")
        connection.execute("CREATE DATABASE shop")
    with closing(server.connect("shop")) as connection:
        connection.execute(
            f"CREATE TABLE old AS SELECT id::bigint, 'näme ' || id AS name, id * 1.25 AS price, now() AS at, "
            f"jsonb_build_object('id', id) AS doc FROM generate_series(1, {ROWS}) AS id"
        )
        connection.execute("ALTER TABLE old ADD PRIMARY KEY (id)")
        connection.execute("ANALYZE old")
    return "shop"


def text(server: Postgres, rows_per_second: int | None, *, retries: int = 0, more: str = "") -> str:
    limit = "" if rows_per_second is None else f", read_limit.rows_per_second = {rows_per_second}"
    env = f"job.mode = BATCH, parallelism = 2, checkpoint.interval = 200, job.retry.times = {retries}{limit}"
    place = f'url = "jdbc:postgresql://127.0.0.1:{server.port}/shop", user = {USER}, password = "{PASSWORD}"'
    source = f"""
  Jdbc {{ plugin_output = a, {place}, table_path = "public.old", split.size = 500 }}"""
    sink = f"""
  Jdbc {{ plugin_input = [a], {place}, generate_sink_sql = true, table = "new", is_exactly_once = true, {more} }}"""
    return job(env, [source], [sink])


def found(server: Postgres) -> Counter[Any]:
    with closing(server.connect("shop")) as connection, suppress(psycopg.errors.UndefinedTable):
        return Counter(connection.execute("SELECT id, name, price, at, doc::text FROM new").fetchall())
    return Counter()


def wanted(server: Postgres) -> Counter[Any]:
    with closing(server.connect("shop")) as connection:
        return Counter(connection.execute("SELECT id, name, price, at, doc::text FROM old").fetchall())


def left(server: Postgres) -> list[Any]:
    """What the job leaves beside its rows."""
    with closing(server.connect("shop")) as connection:
        staged = "SELECT tablename FROM pg_tables WHERE tablename ~ '^seatunnel_[0-9a-f]{12}_'"
        rows = [connection.execute(f"SELECT * FROM {name}").fetchall()
                for name in ("seatunnel_pipelines", "seatunnel_commits")]  # fmt: skip
        return [connection.execute(staged).fetchall(), *rows]


def test_a_job_that_is_killed_again_and_again_moves_every_row_once(
    server: Postgres, database: str, tmp_path: Path
) -> None:
    Command.of(tmp_path, text(server, ROWS // 6, more="primary_keys = [id], enable_upsert = false"))
    command = Command(folder=tmp_path)
    before = 0
    for number in range(KILLS):
        engine = command.resume() if number else command.begin()
        while (count := found(server).total()) < before + ROWS // 10:
            assert engine.exit_code is None, engine.output
            assert engine.age_s < PATIENCE_S, engine.output
            time.sleep(0.02 * number)
        engine.kill()
        engine.end()
        assert count < ROWS, "the kill came too late"
        before = count
    Command.of(tmp_path, text(server, None, more="primary_keys = [id], enable_upsert = false"))
    last = command.resume()
    assert last.wait(PATIENCE_S) == 0, last.output
    assert found(server) == wanted(server)
    assert left(server) == [[], [], []]
    assert PASSWORD not in last.output


def test_a_server_that_dies_and_comes_back_costs_time_and_no_rows(
    server: Postgres, database: str, tmp_path: Path
) -> None:
    command = Command.of(tmp_path, text(server, ROWS // 12, retries=20))
    engine = command.begin()
    for number in range(1, 4):
        while found(server).total() < number * ROWS // 5:
            assert engine.exit_code is None, engine.output
            assert engine.age_s < PATIENCE_S, engine.output
            time.sleep(0.05)
        server.kill()
        time.sleep(0.5)
        server._process.start()
    assert engine.wait(PATIENCE_S) == 0, engine.output
    assert found(server) == wanted(server)
    assert left(server) == [[], [], []]
