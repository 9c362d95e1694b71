"""SQLite, with Python's driver: one file, shared by processes of one machine."""

from pathlib import Path
from typing import Any

import sqlalchemy as sa

from seatunnel_storage_api.errors import StorageAccessError
from seatunnel_storage_api.links import require_own_links
from seatunnel_storage_jdbc.address import Address
from seatunnel_storage_jdbc.databases.dialect import Dialect

_WAIT_S = 30.0
"""Maximum time to wait for the lock of another connection, in seconds."""

_PASSING = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_FULL", "SQLITE_IOERR")


class SQLite(Dialect):
    """File with a rollback journal. A second file exists only during writes."""

    def url(self, address: Address) -> sa.URL:
        try:
            require_own_links(address.database)
        except OSError as error:
            raise StorageAccessError(f"cannot open the SQLite database: {error}") from error
        return sa.URL.create("sqlite", database=address.database)

    def arguments(self, address: Address, answer_s: int) -> dict[str, Any]:
        return {"timeout": min(_WAIT_S, answer_s), "check_same_thread": False, "isolation_level": None}

    def begin_session(self, connection: Any) -> None:
        file = Path(connection.execute("PRAGMA database_list").fetchone()[2])
        if file.is_file() and not file.is_symlink() and not file.stat().st_size:
            file.chmod(0o600)  # a new file: jobs and checkpoints may contain secrets and rows
        connection.execute("PRAGMA synchronous = EXTRA")  # with less, a power cut just after a commit can undo it

    def begin(self, connection: sa.Connection, *, writes: bool) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    def exists(self, address: Address) -> bool:
        return Path(address.database).exists()

    def may_pass(self, error: BaseException) -> bool:
        return str(getattr(error, "sqlite_errorname", "")).startswith(_PASSING)
