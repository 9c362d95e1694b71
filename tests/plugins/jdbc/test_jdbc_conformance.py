"""The storage of type ``jdbc`` keeps every promise: on SQLite, and on real PostgreSQL and MariaDB servers."""

import collections
import contextlib
import re
import sqlite3
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import ClassVar

import pytest
import sqlalchemy as sa
from seatunnel_storage_jdbc.storage import JdbcStorage

from seatunnel_storage_api.discovery import load_factory
from seatunnel_storage_api.storage import CheckpointStorage, CheckpointStorageFactory
from seatunnel_storage_api.testing import Backdoor, CheckpointStorageConformance
from tests.plugins.jdbc.jdbc_databases import File, Server, drop, fresh, tables
from tests.servers import mariadb, postgres
from tests.servers.shared import shared

_VERBS = {"INSERT": "put", "DELETE": "delete", "UPDATE": "confirm"}


class OnDatabase(CheckpointStorageConformance):
    """Tables of its own for each test."""

    @pytest.fixture
    def factory(self) -> CheckpointStorageFactory:
        return load_factory("jdbc")

    @pytest.fixture
    def configuration(self, server: Server) -> Iterator[dict[str, str]]:
        made = fresh(server)
        yield made
        drop(server, made)

    @pytest.fixture
    def backdoor(
        self, server: Server, factory: CheckpointStorageFactory, configuration: dict[str, str]
    ) -> Iterator[Backdoor]:
        factory.create(configuration).close()  # makes the table
        with tables(server, configuration) as rows:
            yield rows

    @contextlib.contextmanager
    def requests(
        self, storage: CheckpointStorage, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[collections.Counter[str]]:
        """Count the statements that go to the database; those of SQLAlchemy's pool are not among them."""
        counted: collections.Counter[str] = collections.Counter()

        def count(_: object, __: object, statement: str, *___: object) -> None:
            if re.match("INSERT|DELETE|UPDATE|SELECT", statement):
                counted[_VERBS.get(statement[:6]) or ("read" if "body" in statement else "list")] += 1

        assert isinstance(storage, JdbcStorage)
        sa.event.listen(storage._database._users.engine, "before_cursor_execute", count)
        yield counted
        sa.event.remove(storage._database._users.engine, "before_cursor_execute", count)


class TestOnSQLite(OnDatabase):
    backend = "SQLite"
    backend_version = f"SQLite {sqlite3.sqlite_version}"

    @pytest.fixture
    def server(self, tmp_path: Path) -> Server:
        return File(tmp_path / "state.db")


@pytest.mark.servers
class TestOnPostgreSQL(OnDatabase):
    backend = "PostgreSQL"
    backend_version = f"PostgreSQL 15, psycopg {metadata.version('psycopg')}"
    secrets = (postgres.PASSWORD,)

    @pytest.fixture
    def server(self) -> Server:
        return shared(postgres.Postgres)


@pytest.mark.servers
class TestOnMariaDB(OnDatabase):
    backend = "MariaDB"
    backend_version = f"MariaDB 10.11, PyMySQL {metadata.version('pymysql')}"
    secrets = (mariadb.PASSWORD,)
    cost_of_a_payload: ClassVar[dict[str, int]] = {"read": 1, "confirm": 1}
    """InnoDB shows a commit before it is durable, so what is read is confirmed by a commit behind it."""

    @pytest.fixture
    def server(self) -> Server:
        return shared(mariadb.MariaDB)
