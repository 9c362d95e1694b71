"""The databases that the connector ``Jdbc`` reads and writes, each under the same few names."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.jdbc.sink import JdbcSink
from seatunnel_core.connectors.jdbc.source import JdbcSource
from seatunnel_core.connectors.testing import options_of
from tests.servers.mariadb import MariaDB
from tests.servers.postgres import Postgres
from tests.servers.shared import shared

EACH = [
    "sqlite",
    pytest.param("postgresql", marks=pytest.mark.servers),
    pytest.param("mysql", marks=pytest.mark.servers),
]
"""For ``parametrize``: SQLite needs no server."""


@frozen
class Database:
    """One with nothing in it."""

    kind: str
    options: dict[str, Any]
    """Of a connector ``Jdbc``."""

    def run(self, *statements: str) -> Sequence[Any]:
        """The rows of the last one."""
        with closing(self._connected()) as connection:
            cursor = connection.cursor()
            for statement in statements:
                cursor.execute(statement)
            found = cursor.fetchall() if cursor.description else []
            connection.commit()
            return list(found)

    def quoted(self, name: str) -> str:
        mark = "`" if self.kind == "mysql" else '"'
        return mark + name.replace(mark, mark * 2) + mark

    def source(self, **options: Any) -> JdbcSource:
        return JdbcSource(options_of(JdbcSource, {**self.options, **options}))

    def sink(self, **options: Any) -> JdbcSink:
        return JdbcSink(options_of(JdbcSink, {**self.options, **options}))

    def _connected(self) -> Any:
        if self.kind == "sqlite":
            return sqlite3.connect(self.options["url"].removeprefix("jdbc:sqlite:"))
        return shared(Postgres).connect() if self.kind == "postgresql" else shared(MariaDB).connect()


def empty(kind: str, folder: Path) -> Database:
    """A database of a kind; a server's is shared with those who had it before, and emptied."""
    forget()
    if kind == "sqlite":
        return Database(kind, {"url": f"jdbc:sqlite:{folder}/shop.db"})
    if kind == "postgresql":
        found = Database(kind, shared(Postgres).options())
        found.run("DROP SCHEMA IF EXISTS public CASCADE", "CREATE SCHEMA public")
        return found
    shared(MariaDB).empty()
    return Database(kind, shared(MariaDB).options())
