"""Two masters that share a database and nothing else: state, manifests, checkpoints and rows lie in it."""

import time
from pathlib import Path

import pytest

from seatunnel_core.cli.main import main
from tests.figures import Figure
from tests.runtime.command import fake_source, job
from tests.server.nodes import Node, some_nodes, until
from tests.server.test_single_node import ROWS
from tests.server.test_two_masters import both_ready
from tests.servers.mariadb import MariaDB
from tests.servers.postgres import Postgres
from tests.servers.shared import shared

pytestmark = [pytest.mark.spark, pytest.mark.servers, pytest.mark.torture, pytest.mark.timeout(900)]

ENGINE = """seatunnel:
  engine:
    checkpoint:
      storage:
        type: jdbc
        plugin-config:
          namespace: /{name}/
          url: {url}
          user: {user}
          password: {password}
"""


@pytest.fixture(params=[Postgres, pytest.param(MariaDB, marks=pytest.mark.twin)])
def server(request: pytest.FixtureRequest) -> Postgres | MariaDB:
    made: Postgres | MariaDB = shared(request.param)
    return made


def a_job(server: Postgres | MariaDB, table: str, *, rows_per_second: int) -> str:
    """A job whose rows take a while, into the same database."""
    keys = ", ".join(f'{key} = "{value}"' for key, value in server.options().items())
    more = f'generate_sink_sql = true, table = "{table}", is_exactly_once = true'
    sink = f"Jdbc {{ plugin_input = numbers, {keys}, {more} }}"
    env = f"job.mode = BATCH, checkpoint.interval = 200, read_limit.rows_per_second = {rows_per_second}"
    return job(env, [fake_source("numbers", rows=ROWS, splits=80)], [sink])


def rows_in(server: Postgres | MariaDB, table: str) -> list[int]:
    connection = server.connect()
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT id FROM {table} ORDER BY id")
            return [number for (number,) in cursor.fetchall()]
    finally:
        connection.close()


def configure(folder: Path, server: Postgres | MariaDB, name: str) -> None:
    (folder / "config/seatunnel.yaml").write_text(ENGINE.format(name=name, **server.options()), "utf-8")


def ready(nodes: list[Node], folder: Path, server: Postgres | MariaDB, name: str) -> tuple[Node, Node]:
    configure(folder, server, name)
    return both_ready(nodes)


@pytest.mark.parametrize("how", ["agent", "all"])
def test_the_leader_is_killed_and_the_other_goes_on(
    server: Postgres | MariaDB, how: str, tmp_path: Path, figure: Figure
) -> None:
    with some_nodes(tmp_path, 2) as nodes:
        leader, standby = ready(nodes, tmp_path, server, f"killed-{how}")
        table = f"killed_{how}"
        standby.submit(a_job(server, table, rows_per_second=50), "1")
        leader.wait_rows("1")
        before, began = leader.committed("1"), time.monotonic()
        leader.kill_agent() if how == "agent" else leader.kill()
        until("the standby leads", standby.leads)
        led = time.monotonic() - began
        standby.wait_rows("1", least=before + 30)
        committed = time.monotonic() - began
        assert standby.wait_end("1")["jobStatus"] == "FINISHED"
        assert rows_in(server, table) == list(range(1, ROWS + 1))
        assert server.options()["password"] not in leader.log() + standby.log()
        assert not (tmp_path / "checkpoints").exists()
        figure(f"{type(server).__name__}, {how} killed: led after {led:.2f} s, rows after {committed:.2f} s")


@pytest.mark.parametrize("server", [Postgres, MariaDB], indirect=True)  # each driver tells it in its own way
def test_the_server_is_killed_and_the_job_goes_on(server: Postgres | MariaDB, tmp_path: Path, figure: Figure) -> None:
    with some_nodes(tmp_path, 2) as nodes:
        leader, standby = ready(nodes, tmp_path, server, "server-killed")
        leader.submit(a_job(server, "server_killed", rows_per_second=50), "1")
        leader.wait_rows("1")
        began = time.monotonic()
        server.restart()
        up = time.monotonic() - began
        ended = standby.wait_end("1")
        assert ended["jobStatus"] == "FINISHED", ended
        assert rows_in(server, "server_killed") == list(range(1, ROWS + 1))
        figure(f"{type(server).__name__} killed, up after {up:.1f} s: ended after {time.monotonic() - began:.1f} s")


def test_a_tool_reads_the_checkpoints_of_the_cluster(
    server: Postgres | MariaDB, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with some_nodes(tmp_path, 1) as (node,):
        configure(tmp_path, server, "tool")
        node.start()
        node.wait_ready()
        node.submit(a_job(server, "tool", rows_per_second=100_000), "1")
        assert node.wait_end("1")["jobStatus"] == "FINISHED"
        assert main(["checkpoints", "list", "--engine-config", str(tmp_path / "config/seatunnel.yaml")]) == 0
        told = capsys.readouterr().out
        assert "1" in told
        assert server.options()["password"] not in told
