"""Databases for the tests of ``type: jdbc``, and raw access to the tables in them."""

import secrets
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

from attrs import frozen

from seatunnel_storage_api.testing import Backdoor


class Server(Protocol):
    """PostgreSQL or MariaDB, as ``tests.servers`` starts them."""

    def options(self) -> dict[str, str]: ...
    def connect(self) -> Any: ...


@frozen
class File:
    """SQLite."""

    path: Path

    def options(self) -> dict[str, str]:
        return {"url": f"jdbc:sqlite:{self.path}"}

    def connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, isolation_level=None, timeout=30)


def fresh(server: Server) -> dict[str, str]:
    """A configuration of a storage with tables of its own."""
    return {**server.options(), "namespace": "/seatunnel/checkpoint/", "table-prefix": f"t{secrets.token_hex(6)}"}


def drop(server: Server, configuration: Mapping[str, str]) -> None:
    """Remove the tables of a storage."""
    with tables(server, configuration) as rows:
        for kind in ("checkpoints", "clusters", "entries"):
            rows.run(f"DROP TABLE IF EXISTS {configuration['table-prefix']}_{kind}")


@frozen
class Rows(Backdoor):
    """The table of a storage, without its code."""

    connection: Any
    table: str

    def run(self, statement: str, *values: Any) -> Sequence[Any]:
        """The rows of a statement; ``?`` stands for a value."""
        written = statement if isinstance(self.connection, sqlite3.Connection) else statement.replace("?", "%s")
        with closing(self.connection.cursor()) as cursor:
            cursor.execute(written, values)
            return list(cursor.fetchall()) if cursor.description else []

    def paths(self) -> list[str]:
        return [path for (path,) in self.run(f"SELECT path FROM {self.table} WHERE number = 0 ORDER BY path")]

    def read(self, path: str) -> bytes:
        parts = self.run(f"SELECT body FROM {self.table} WHERE path = ? ORDER BY number", path)
        return b"".join(bytes(body) for (body,) in parts)

    def write(self, path: str, body: bytes) -> None:
        self.delete(path)
        self.run(f"INSERT INTO {self.table} VALUES (?, 0, 'raw', ?, 0, 0, ?)", path, len(body), body)

    def delete(self, path: str) -> None:
        self.run(f"DELETE FROM {self.table} WHERE path = ?", path)


@contextmanager
def tables(server: Server, configuration: Mapping[str, str]) -> Iterator[Rows]:
    with closing(server.connect()) as connection:
        yield Rows(connection, f"{configuration['table-prefix']}_checkpoints")
