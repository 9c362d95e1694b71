"""Databases and engines that are killed while engines store: nothing is lost, doubled or partial."""

import contextlib
import secrets
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from attrs import frozen
from pymysql.err import OperationalError
from seatunnel_storage_jdbc.databases.mysql import MySQL

from seatunnel_storage_api.errors import StorageUnavailableError
from seatunnel_storage_api.testing.given import JOB, checkpoint, claim
from tests.figures import Figure
from tests.plugins.jdbc.jdbc_databases import File, Server, drop, fresh, tables
from tests.servers.mariadb import MariaDB
from tests.servers.postgres import Postgres
from tests.servers.shared import shared
from tests.servers.storm import Storm, contest
from tests.servers.storm_writer import storage_of

pytestmark = [pytest.mark.servers, pytest.mark.timeout(900)]


@frozen
class Killed:
    """A server that dies and comes back."""

    server: Postgres | MariaDB

    def kill(self) -> bool:
        self.server.kill()
        return True

    def start(self) -> None:
        self.server.restart()


@pytest.fixture(params=["sqlite", Postgres, MariaDB])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Server:
    made: Server = File(tmp_path / "state.db") if request.param == "sqlite" else shared(request.param)
    return made


@pytest.fixture
def configuration(server: Server) -> Iterator[dict[str, str]]:
    made = fresh(server)
    yield {"type": "jdbc", **made}
    with contextlib.suppress(Exception):
        drop(server, made)


def test_servers_and_engines_killed(
    server: Server, configuration: dict[str, str], tmp_path: Path, figure: Figure
) -> None:
    victims = [] if isinstance(server, File) else [Killed(server)]  # type: ignore[arg-type]
    storm = Storm(
        configuration=configuration,
        folder=tmp_path,
        victims=victims,
        kills=4,
        engine_kills=8,
        stores=400,
        engines=4,
    )
    storm.rage()
    with tables(server, configuration) as rows:
        storm.settle(lambda: [path.removeprefix(configuration["namespace"]) for path in rows.paths()])
        parts = rows.run(f"SELECT count(*) FROM {rows.table} WHERE number > 0")
    assert int(parts[0][0]) == 0, "what was deleted leaves no parts"
    figure(f"{type(server).__name__} killed: {storm}")


def test_of_sixteen_writers_one_wins(server: Server, configuration: dict[str, str], figure: Figure) -> None:
    said = contest(configuration, rounds=20, rivals=16)
    figure(f"{type(server).__name__}: {said}")


def test_a_state_larger_than_a_packet(server: Server, configuration: dict[str, str]) -> None:
    """64 MiB; MariaDB takes statements of 16 MiB, PostgreSQL messages of 1 GiB."""
    states = secrets.token_bytes(1 << 20) * 64
    with storage_of(configuration) as storage:
        epoch = claim(storage)
        storage.store_checkpoint(checkpoint(epoch, 1, states))
        latest = storage.get_latest_checkpoint(JOB, 1)
        assert latest is not None
        assert latest.states == states
        storage.delete_job(JOB)
    with tables(server, configuration) as rows:
        assert len(rows.run(f"SELECT path FROM {rows.table}")) == 1, (
            "the marker of the newest epoch stays, nothing else"
        )


def test_a_server_that_may_only_be_read_may_be_written_again() -> None:
    """It is a standby, or is made one: an engine waits for it, as for one that does not answer."""
    made = fresh(shared(Postgres))
    made["url"] += "?options=-c%20default_transaction_read_only%3Don"
    with pytest.raises(StorageUnavailableError, match="in a read-only transaction"):
        storage_of({"type": "jdbc", **made})
    refused = OperationalError(1290, "The MariaDB server is running with the --read-only option")
    assert MySQL().may_pass(refused)


def until_it_begins_with(server: Postgres | MariaDB, setting: str, value: str) -> None:
    """Until a session that begins has a value that the configuration has."""
    deadline = time.monotonic() + 60
    found = ""
    while found != value:
        assert time.monotonic() < deadline, f"{setting} is still {found}"
        with closing(server.connect()) as connection, closing(connection.cursor()) as cursor:
            cursor.execute(f"SHOW {setting}")
            (found,) = cursor.fetchone()


@pytest.mark.parametrize("kind", [Postgres, MariaDB])
def test_what_a_server_weakens_is_reported(
    kind: type[Postgres] | type[MariaDB], caplog: pytest.LogCaptureFixture
) -> None:
    server = shared(kind)
    setting = "fsync" if kind is Postgres else "innodb_flush_log_at_trx_commit"
    with closing(server.connect()) as connection, closing(connection.cursor()) as cursor:
        for value in ("off", "on") if kind is Postgres else ("2", "1"):
            if kind is Postgres:
                cursor.execute(f"ALTER SYSTEM SET {setting} = {value}")
                cursor.execute("SELECT pg_reload_conf()")
                until_it_begins_with(server, setting, value)
            else:
                cursor.execute(f"SET GLOBAL {setting} = {value}")
            caplog.clear()
            made = fresh(server)
            storage_of({"type": "jdbc", **made}).close()
            drop(server, made)
            assert (setting in caplog.text) == (value in ("off", "2"))
