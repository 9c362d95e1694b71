"""Database snapshot shared by all sources of a job, and the connection that holds it."""

import threading
from typing import TYPE_CHECKING, Any

from seatunnel_core.connectors.jdbc.pool import CONTROL

if TYPE_CHECKING:
    from seatunnel_core.connectors.jdbc.databases.dialect import Dialect


class SharedSnapshot:
    """A snapshot exported by the driver. Its connection stays open until the last source is closed."""

    def __init__(self, dialect: "Dialect") -> None:
        self._dialect = dialect
        self._lock = threading.Lock()
        self._users: set[int] = set()
        self._connection: Any = None
        self._name = ""

    def open(self, user: object) -> str:
        """Return the name of the snapshot; export it if necessary. It is held until each ``user`` calls ``close``."""
        with self._lock:
            if not self._holds():
                self._connection = self._dialect.pool.keep(CONTROL)
                try:
                    self._name = self._dialect.export_snapshot(self._connection)
                except BaseException:
                    self._let_go()
                    raise
            self._users.add(id(user))
            return self._name

    def close(self, user: object) -> None:
        """Release the snapshot for a user; close the connection after the last user."""
        with self._lock:
            self._users.discard(id(user))
            if not self._users:
                self._let_go()

    def _holds(self) -> bool:
        if self._connection is None:
            return False
        try:
            self._connection.exec_driver_sql("SELECT 1")
        except Exception:  # the server was restarted
            self._let_go()
        return self._connection is not None

    def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._dialect.pool.let_go(connection)
