"""The databases whose changes are captured, each with a source and a target of its own, and their own text of rows."""

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import closing
from typing import Any, ClassVar

import pytest
from attrs import define, field

from tests.connectors.postgres_log.log_shop import LogPostgres
from tests.servers.mariadb import MariaDB
from tests.servers.mysql_server import GTIDS, LoggingMariaDB, LoggingMySQL
from tests.servers.shared import shared

_RELEASE_S = 30
COPY = "copy"
"""Database of the targets; it is on the same server, so that the log also has transactions of others."""


@define
class LoggingMySQLWithGtids(LoggingMySQL):
    """MySQL 8.0.15 with a binary log and GTIDs."""

    settings: Sequence[str] = field(factory=lambda: GTIDS, kw_only=True)


class Captured(ABC):
    """One database server with a source database and a target database."""

    name: ClassVar[str]
    source: ClassVar[str]
    """Identifier of the connector."""

    types: ClassVar[dict[str, str]]
    """SQL types by the names that the storm uses."""

    deadlocks: ClassVar[frozenset[object]]
    """Codes of errors after which a transaction is run again."""

    @abstractmethod
    def connect(self, database: str) -> Any:
        """Return a connection that commits each statement outside of a transaction."""

    @abstractmethod
    def recreate(self, database: str) -> None:
        """Create a database, without what an earlier job left."""

    @abstractmethod
    def release(self, slot: str) -> None:
        """Remove what a job left on the server: its slot and publication."""

    @abstractmethod
    def source_block(self, database: str, tables: Sequence[str], slot: str, more: str) -> str:
        """Return the source of a job."""

    @abstractmethod
    def sink_block(self, database: str, more: str = "") -> str:
        """Return the sink of a job, with further options."""

    @abstractmethod
    def columns(self, connection: Any, table: str) -> list[str]:
        """Return the names of the columns of a table, sorted."""

    @abstractmethod
    def as_text(self, column: str) -> str:
        """Return the expression for the database's own text of a value."""

    @abstractmethod
    def code(self, error: Exception) -> object:
        """Return the server's code of an error."""

    @abstractmethod
    def is_lost(self, error: Exception) -> bool:
        """Return True if an error means that the server was killed, or is not yet ready again."""

    @abstractmethod
    def read_snapshot(self, connection: Any, statements: Sequence[str]) -> list[list[tuple[Any, ...]]]:
        """Return the rows of several queries, all of one state of the database."""

    def run(self, database: str, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements; return the rows of the last one."""
        with closing(self.connect(database)) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []

    def quoted(self, name: str) -> str:
        return f'"{name}"'

    def _is_deadlock(self, error: Exception) -> bool:
        return self.code(error) in self.deadlocks


class CapturedPostgres(Captured):
    """Debian's PostgreSQL."""

    name = "postgres"
    source = "Postgres-CDC"
    types: ClassVar[dict[str, str]] = {
        "id": "bigint",
        "text": "text",
        "decimal": "numeric(18, 4)",
        "time": "timestamptz(6)",
        "bytes": "bytea",
    }
    deadlocks = frozenset({"40P01", "40001"})

    def __init__(self) -> None:
        self.server = shared(LogPostgres)

    def connect(self, database: str) -> Any:
        return self.server.connect(database)

    def recreate(self, database: str) -> None:
        self.run("postgres", f"DROP DATABASE IF EXISTS {database} WITH (FORCE)", f"CREATE DATABASE {database}")

    def release(self, slot: str) -> None:
        active = f"FROM pg_replication_slots WHERE slot_name = '{slot}' AND active"
        deadline = time.monotonic() + _RELEASE_S
        while self.run("postgres", f"SELECT pg_terminate_backend(active_pid) {active}"):  # only signals the session
            assert time.monotonic() < deadline, f"the slot {slot} is still in use"
            time.sleep(0.05)
        drop = f"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '{slot}'"
        self.run("postgres", drop)

    def source_block(self, database: str, tables: Sequence[str], slot: str, more: str) -> str:
        names = ", ".join(f'"{database}.public.{table}"' for table in tables)
        options = self.server.options(database)
        return f"""
  Postgres-CDC {{
    url = "{options["url"]}"
    username = "{options["user"]}"
    password = "{options["password"]}"
    database-names = ["{database}"]
    schema-names = ["public"]
    table-names = [{names}]
    slot.name = "{slot}"
    {more}
  }}"""

    def sink_block(self, database: str, more: str = "") -> str:
        return sink_block(self.server.options(database), "public.${table_name}", more)

    def columns(self, connection: Any, table: str) -> list[str]:
        asked = "SELECT column_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name = %s"
        with connection.cursor() as cursor:
            cursor.execute(asked, (table,))
            return sorted(name for (name,) in cursor.fetchall())

    def as_text(self, column: str) -> str:
        return f"{self.quoted(column)}::text"

    def code(self, error: Exception) -> object:
        return getattr(error, "sqlstate", None)

    def is_lost(self, error: Exception) -> bool:
        import psycopg

        return isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)) and not self._is_deadlock(error)

    def read_snapshot(self, connection: Any, statements: Sequence[str]) -> list[list[tuple[Any, ...]]]:
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            return [list(connection.execute(statement).fetchall()) for statement in statements]


class CapturedMariaDB(Captured):
    """Debian's MariaDB."""

    name = "mariadb"
    source = "MySQL-CDC"
    kind: ClassVar[type[MariaDB]] = LoggingMariaDB
    types: ClassVar[dict[str, str]] = {
        "id": "bigint",
        "text": "varchar(200)",
        "decimal": "decimal(18, 4)",
        "time": "datetime(6)",
        "bytes": "varbinary(64)",
    }
    deadlocks = frozenset({1205, 1213, 1020})

    def __init__(self) -> None:
        self.server = shared(self.kind)

    def connect(self, database: str) -> Any:
        return self.server.connect(database)

    def recreate(self, database: str) -> None:
        self.server.empty(database)

    def release(self, slot: str) -> None:
        """Nothing: a binary log has no slots."""

    def source_block(self, database: str, tables: Sequence[str], slot: str, more: str) -> str:
        names = ", ".join(f'"{database}.{table}"' for table in tables)
        options = self.server.options(database)
        return f"""
  {self.source} {{
    url = "{options["url"]}"
    username = "{options["user"]}"
    password = "{options["password"]}"
    database-names = ["{database}"]
    table-names = [{names}]
    {more}
  }}"""

    def sink_block(self, database: str, more: str = "") -> str:
        return sink_block(self.server.options(database), "${table_name}", more)

    def columns(self, connection: Any, table: str) -> list[str]:
        asked = "SELECT column_name FROM information_schema.columns WHERE table_schema = database() AND table_name = %s"
        with connection.cursor() as cursor:
            cursor.execute(asked, (table,))
            return sorted(name for (name,) in cursor.fetchall())

    def as_text(self, column: str) -> str:
        return f"hex(cast({self.quoted(column)} AS binary))"

    def quoted(self, name: str) -> str:
        return f"`{name}`"

    def code(self, error: Exception) -> object:
        return error.args[0] if error.args else None

    def is_lost(self, error: Exception) -> bool:
        import pymysql

        lost = (pymysql.err.OperationalError, pymysql.err.InterfaceError, ConnectionError)
        return isinstance(error, lost) and not self._is_deadlock(error)

    def read_snapshot(self, connection: Any, statements: Sequence[str]) -> list[list[tuple[Any, ...]]]:
        found = []
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
            for statement in statements:
                cursor.execute(statement)
                found.append(list(cursor.fetchall()))
            cursor.execute("COMMIT")
        return found


class CapturedMySQL(CapturedMariaDB):
    """MySQL 8.0.15 without GTIDs."""

    name = "mysql"
    kind = LoggingMySQL


class CapturedMySQLWithGtids(CapturedMariaDB):
    """MySQL 8.0.15 with GTIDs."""

    name = "mysql-gtids"
    kind = LoggingMySQLWithGtids


DATABASES: dict[str, type[Captured]] = {
    each.name: each for each in (CapturedPostgres, CapturedMariaDB, CapturedMySQL, CapturedMySQLWithGtids)
}
"""The databases by the names that the command line and the tests use."""

EACH = [pytest.param(name, marks=pytest.mark.twin if name == "mysql" else ()) for name in sorted(DATABASES)]
"""Parameters of a test of each database, for killed jobs. MySQL without GTIDs differs in its marks only."""

EACH_KIND = [
    pytest.param(name, marks=pytest.mark.twin if name.startswith("mysql") else ()) for name in sorted(DATABASES)
]
"""Parameters of a test that does the same with MariaDB and MySQL: CI plays it with MariaDB."""


def sink_block(options: dict[str, str], table: str, more: str = "") -> str:
    """Return the sink that applies changes to tables of a database, all tables of a unit in one transaction."""
    return f"""
  Jdbc {{
    url = "{options["url"]}"
    user = "{options["user"]}"
    password = "{options["password"]}"
    generate_sink_sql = true
    table = "{table}"
    is_exactly_once = true
    {more}
  }}"""
