"""Tables of PostgreSQL as the targets of a tortured job, in a database for each job: read without the engine's code."""

import threading
from collections.abc import Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
from attrs import frozen

from tests.servers.postgres import PASSWORD, USER, Postgres
from tests.servers.shared import shared
from tests.torture.databases.database import DatabaseTarget, targets_in
from tests.torture.databases.tables import Table
from tests.torture.job import Target

_STAGED = "SELECT tablename::text FROM pg_tables WHERE tablename ~ '^seatunnel_[0-9a-f]{12}_'"
_TYPES = {
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.float64(): "double precision",
    pa.string(): "text",
    pa.decimal128(18, 4): "numeric(18, 4)",
    pa.timestamp("us"): "timestamp",
    pa.timestamp("us", "UTC"): "timestamptz",
}
_guard = threading.Lock()


def server() -> Postgres:
    return shared(Postgres)


@cache
def _connection(database: str) -> Any:
    return server().connect(database)


@contextmanager
def _asking(database: str) -> Any:
    with _guard:
        yield _connection(database)


@frozen(kw_only=True)
class PostgresTarget(DatabaseTarget):
    """One table of PostgreSQL."""

    format: str = "postgres"

    def place(self) -> dict[str, str]:
        url = f"jdbc:postgresql://127.0.0.1:{server().port}/{self.database}"
        return {"url": url, "user": USER, "password": PASSWORD}

    def quoted(self, name: str) -> str:
        return f'"{name}"'

    def ask(self, statement: str) -> list[Any] | None:
        with _asking(self.database) as connection, suppress(psycopg.errors.UndefinedTable):
            return list(connection.execute(statement).fetchall())
        return None

    def staged(self) -> set[str]:
        """Of all tables of the job: a name does not tell for which it is."""
        return {name for (name,) in self.ask(_STAGED) or []}

    def published(self) -> set[str]:
        """The transactions that have brought rows."""
        rows = self.ask(f'SELECT DISTINCT xmin::text FROM "{self.folder.name}"') or []
        return {f"{self.folder.name}-{number}" for (number,) in rows}

    def free(self) -> bool:
        """A process that is put to sleep in the midst of a commit keeps the rows of its pipelines locked."""
        with _asking(self.database) as connection:
            try:
                connection.execute("SELECT * FROM seatunnel_pipelines FOR UPDATE NOWAIT").fetchall()
            except psycopg.errors.UndefinedTable:
                return True
            except psycopg.errors.LockNotAvailable:
                return False
        return True


def postgres_targets(out: Path, tables: Sequence[Table]) -> list[Target]:
    targets = targets_in(PostgresTarget, out, tables)
    database = PostgresTarget(table=tables[0], folder=out / "letters").database
    with closing(server().connect()) as connection:
        connection.execute(f"CREATE DATABASE {database}")
    with closing(server().connect(database)) as connection:
        for table in tables:
            if table.name == "planes":
                columns = ", ".join(f'"{column.name}" {_TYPES[column.type]}' for column in table.columns)
                connection.execute(f"CREATE TABLE planes ({columns})")
                connection.execute("INSERT INTO planes (tailnum) VALUES ('N00000')")
    return targets
