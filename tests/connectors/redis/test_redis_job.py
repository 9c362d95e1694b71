"""Whole jobs from Redis to Redis: a process that is killed with ``kill -9``, and a server that is."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.command import Command, job
from tests.servers.redis_server import RedisServer

pytestmark = [pytest.mark.servers, pytest.mark.spark, pytest.mark.timeout(900), pytest.mark.xdist_group("redis")]

ROWS = 4_000
PATIENCE_S = 300


@pytest.fixture
def server() -> Iterator[RedisServer]:
    found = RedisServer()
    found.start()
    try:
        with found.client() as client:
            requests = client.pipeline()
            for number in range(ROWS):
                requests.hset(f"in:{number}", mapping={"id": number, "name": f"näme {number}"})
            requests.execute()
        yield found
    finally:
        found.stop()


def text(server: RedisServer, parallelism: int = 2, rows_per_second: int | None = None) -> str:
    limit = "" if rows_per_second is None else f", read_limit.rows_per_second = {rows_per_second}"
    env = f"parallelism = {parallelism}, checkpoint.interval = 200, job.retry.times = 20, "
    there = f'host = "127.0.0.1", port = {server.port}, auth = "{server.password}"'
    source = f'Redis {{ plugin_output = a, {there}, keys = "in:*", data_type = hash,\n'
    source += "schema { fields { id = bigint, name = string } } }"
    sink = f'Redis {{ plugin_input = [a], {there}, key = "out-${{table_name}}", data_type = list }}'
    return job(env + f"job.retry.interval.seconds = 1{limit}", [source], [sink])


def found(server: RedisServer) -> Counter[int]:
    with server.client() as client:
        return Counter(json.loads(row)["id"] for row in client.lrange("out-a", 0, -1))


def left(server: RedisServer) -> list[bytes]:
    with server.client() as client:
        return list(client.scan_iter("seatunnel:*"))


@pytest.mark.parametrize(
    "parallelism", [pytest.param(1, marks=pytest.mark.twin), 2, pytest.param(8, marks=pytest.mark.twin)]
)
def test_the_same_rows_at_every_parallelism(server: RedisServer, tmp_path: Path, parallelism: int) -> None:
    engine = Command.of(tmp_path, text(server, parallelism)).begin()
    assert engine.wait(PATIENCE_S) == 0, engine.output
    assert (found(server), left(server)) == (Counter(range(ROWS)), [])
    assert server.password not in engine.output


def test_a_killed_process_and_a_killed_server_cost_no_row_and_double_none(server: RedisServer, tmp_path: Path) -> None:
    command = Command.of(tmp_path, text(server, rows_per_second=ROWS // 10))

    def until(rows: int) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while found(server).total() < rows:
            assert engine.exit_code is None, engine.output
            assert time.monotonic() < deadline, engine.output
            time.sleep(0.02)

    engine = command.begin()
    until(ROWS // 10)
    engine.kill()
    engine.end()
    engine = command.resume()
    until(ROWS // 3)
    server.kill()
    server.start_again()
    assert engine.wait(PATIENCE_S) == 0, engine.output
    assert (found(server), left(server)) == (Counter(range(ROWS)), [])
