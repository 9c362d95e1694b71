"""Stores of cluster state for tests: on local files, and in the tables of a database."""

import contextlib
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import frozen
from seatunnel_storage_hdfs.factory import HdfsStorageFactory
from seatunnel_storage_jdbc.factory import open_database
from seatunnel_storage_mapstore.journal import Limits

from seatunnel_core.server.state.logged_store import LoggedStore
from seatunnel_core.server.state.sql_store import SqlStore
from seatunnel_core.server.state.store import ClusterStore
from seatunnel_storage_api.blob import BlobStorage
from tests.live_folder import content_of, files_below
from tests.plugins.jdbc.jdbc_databases import File, Server
from tests.servers.mariadb import MariaDB
from tests.servers.postgres import Postgres
from tests.servers.shared import shared

NAME = "/seatunnel/checkpoint/cluster/test"


def local_store(folder: Path, *, limits: Limits | None = None) -> LoggedStore:
    """Return a store as one process would open it; several on one folder are several processes."""
    storage = HdfsStorageFactory().create({"storage.type": "local", "namespace": f"{folder}/", "max-retained": "1"})
    assert isinstance(storage, BlobStorage)
    return LoggedStore(storage, "cluster/test/", limits=limits)


@frozen
class Place:
    """Where one cluster's state lies; each ``open`` is what another process would have."""

    folder: Path
    server: Server | None
    """``None``: local files."""

    prefix: str
    opened: contextlib.ExitStack

    def size_bytes(self) -> int:
        """Return what is stored: of files all, of a server's tables their rows."""
        if self.server is None or isinstance(self.server, File):
            return sum(len(content_of(path)) for path in files_below(self.folder))
        rows = self.rows(f"SELECT sum(length(value)) FROM {self.prefix}_entries")
        rows += self.rows(f"SELECT sum(length(body)) FROM {self.prefix}_clusters")
        return sum(int(size or 0) for (size,) in rows)

    def rows(self, statement: str) -> list[Any]:
        """Return the rows of a statement, without the store."""
        assert self.server is not None
        with contextlib.closing(self.server.connect()) as connection, contextlib.closing(connection.cursor()) as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall() if cursor.description else ())

    def open(self, *, answer_s: int | None = None) -> ClusterStore:
        store: ClusterStore
        if self.server is None:
            store = local_store(self.folder, limits=Limits(segment_bytes=20_000, most_segments=16))
        else:
            store = SqlStore(open_database(self.server.options(), answer_s=answer_s), self.prefix, NAME)
        self.opened.callback(store.close)
        return store


def server_of(kind: str, folder: Path) -> Server | None:
    """Return the server of a kind: ``files``, ``sqlite``, ``postgresql`` or ``mariadb``."""
    if kind == "postgresql":
        return shared(Postgres)
    if kind == "mariadb":
        return shared(MariaDB)
    return File(folder / "state.db") if kind == "sqlite" else None


@contextlib.contextmanager
def a_place(kind: str, folder: Path) -> Iterator[Place]:
    """Give an empty place; what was opened there is closed, and its tables are removed."""
    prefix, server = f"t{secrets.token_hex(6)}", server_of(kind, folder)
    with contextlib.ExitStack() as opened:
        place = Place(folder, server, prefix, opened)
        yield place
    if server is not None:
        for table in ("clusters", "entries"):
            place.rows(f"DROP TABLE IF EXISTS {prefix}_{table}")
