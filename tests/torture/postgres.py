"""Tables of PostgreSQL as the targets of a tortured job, in a database for each job: read without the engine's code."""

import atexit
import hashlib
import threading
from collections.abc import Sequence
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
from attrs import frozen

from tests.servers.postgres import PASSWORD, USER, Postgres
from tests.torture.job import Target
from tests.torture.tables import Table, differing

_SINK = """
  Jdbc {{
    plugin_input = "{name}"
    url = "{url}"
    user = "{user}"
    password = "{password}"
    generate_sink_sql = true
    table = "public.{table}"
    is_exactly_once = true
    {more}
  }}
"""
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
_starting = threading.Lock()


def server() -> Postgres:
    """One for all jobs of this process, several of which may ask for it at the same time."""
    with _starting:
        return _started()


@cache
def _started() -> Postgres:
    running = Postgres()
    running.start()
    atexit.register(running.stop)
    return running


@cache
def _connection(database: str) -> Any:
    return server().connect(database)


@contextmanager
def _asking(database: str) -> Any:
    with _guard:
        yield _connection(database)


@frozen(kw_only=True)
class PostgresTarget(Target):
    """One table; the name of ``folder`` is its own, and the job's folder gives its database a name."""

    format: str = "postgres"

    @property
    def database(self) -> str:
        return "torture_" + hashlib.sha256(str(self.folder.parent).encode()).hexdigest()[:12]

    def block(self, source: str) -> str:
        url = f"jdbc:postgresql://127.0.0.1:{server().port}/{self.database}"
        return _SINK.format(name=source, url=url, user=USER, password=PASSWORD, table=self.folder.name, more=self.more)

    def staged(self) -> set[str]:
        """Of all tables of the job: a name does not tell for which it is."""
        with _asking(self.database) as connection:
            return {name for (name,) in connection.execute(_STAGED).fetchall()}

    def published(self) -> set[str]:
        """The transactions that have brought rows."""
        with _asking(self.database) as connection:
            try:
                rows = connection.execute(f'SELECT DISTINCT xmin::text FROM "{self.folder.name}"').fetchall()
            except psycopg.errors.UndefinedTable:
                return set()
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

    def differences(self) -> str:
        columns = self.table.columns
        names = ", ".join(f'"{name}"' for name in columns.names)
        with _asking(self.database) as connection:
            rows = connection.execute(f'SELECT {names} FROM "{self.folder.name}"').fetchall()
        values = zip(*rows, strict=True) if rows else [[] for _ in columns]
        found = pa.table([pa.array(each, column.type) for each, column in zip(values, columns, strict=True)], columns)
        return differing(self.table, found)


def postgres_targets(out: Path, tables: Sequence[Table]) -> list[Target]:
    """A table for each of the job's, two for the first one. That of the planes has a row of yesterday's job, which
    ``data_save_mode`` is to drop: once, and never those of this job."""
    targets: list[Target] = []
    for table in tables:
        for name in (table.name, f"{table.name}_again") if table.name == "letters" else (table.name,):
            drops = "data_save_mode = DROP_DATA" if name == "planes" else ""
            targets.append(PostgresTarget(table=table, folder=out / name, more=drops))
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
