"""The databases that the connector ``Jdbc`` reads and writes, each under the same few names."""

import gc
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from attrs import frozen

from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.jdbc.sink import JdbcSink
from seatunnel_core.connectors.jdbc.source import JdbcSource
from tests.servers.mariadb import MariaDB
from tests.servers.postgres import Postgres
from tests.servers.shared import shared


@frozen
class Database:
    """One with nothing in it."""

    kind: str
    options: dict[str, Any]
    """Of a connector ``Jdbc``."""

    server: Any = None
    """The ``Postgres`` or ``MariaDB`` that has it; ``None``: a file."""

    @property
    def name(self) -> str:
        """How a server calls it."""
        return str(self.options["url"].rpartition("/")[2])

    def run(self, *statements: str) -> Sequence[Any]:
        """The rows of the last one."""
        with closing(self._connected()) as connection:
            cursor = connection.cursor()
            for statement in statements:
                cursor.execute(statement)
            found = cursor.fetchall() if cursor.description else []
            connection.commit()
            return list(found)

    @contextmanager
    def transaction(self, statement: str) -> Iterator[Any]:
        """A connection to a server that has run a statement and not committed it."""
        with closing(self._connected()) as connection:
            cursor = connection.cursor()
            cursor.execute("BEGIN")
            cursor.execute(statement)
            yield connection

    def staged(self) -> list[str]:
        """The tables of a server that hold what a sink has staged."""
        asked = {
            "postgresql": "SELECT tablename::text FROM pg_tables WHERE tablename ~ '^seatunnel_[0-9a-f]{12}_'",
            "mysql": "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND "
            "TABLE_NAME REGEXP '^seatunnel_[0-9a-f]{12}_'",
        }
        return [name for (name,) in self.run(asked[self.kind])]

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
        return self.server.connect()


def empty(kind: str, folder: Path) -> Database:
    """A database of a kind; a server's is shared with those who had it before, and emptied."""
    if kind == "sqlite":
        forget()
        return Database(kind, {"url": f"jdbc:sqlite:{folder}/shop.db"})
    gc.collect()  # what a killed sink had open locks tables until then
    forget()
    if kind == "postgresql":
        server = shared(Postgres)
        found = Database(kind, server.options(), server)
        others = "FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        found.run(f"SELECT pg_terminate_backend(pid) {others}")  # of what was killed amid a statement
        found.run(
            "DROP SCHEMA IF EXISTS public CASCADE", "CREATE SCHEMA public", "GRANT USAGE ON SCHEMA public TO PUBLIC"
        )
        return found
    shop = shared(MariaDB)
    shop.empty()
    return Database(kind, shop.options(), shop)


# -- a file of SQLite, by its path


def ask(file: Path, statement: str) -> list[Any]:
    with closing(sqlite3.connect(file)) as database:
        return database.execute(statement).fetchall()


def run(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


def sink(file: Path, **options: Any) -> JdbcSink:
    return JdbcSink(options_of(JdbcSink, {"url": f"jdbc:sqlite:{file}", **options}))
