"""Exported snapshot for reading chunks, held by a connection of the driver."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from attrs import define, field

from seatunnel_core.connectors.postgres_log.errors import LogError
from seatunnel_core.connectors.postgres_log.snapshot_mark import current_mark
from seatunnel_core.connectors.postgres_log.sql_connection import connect, run

_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


@define
class HeldSnapshot:
    """An exported snapshot. Not thread-safe."""

    _connection: Any = field(default=None, init=False, repr=False)
    _name: str = field(default="", init=False)

    def name(self, parameters: Mapping[str, Any], least: int) -> str | None:
        """Return the name of the snapshot. Export a new one if there is none or the connection was lost.

        Args:
            parameters: Parameters of libpq.
            least: Transaction ID below which the snapshot must contain all transactions.

        Returns:
            The name; ``None`` if a transaction with a lower ID is still open.
        """
        if self._connection is not None:
            try:
                run(self._connection, "SELECT 1")
                return self._name
            except LogError:  # The server was restarted.
                self.close()
        connection = connect(parameters)
        try:
            run(connection, _BEGIN)
            run(connection, "SET LOCAL idle_in_transaction_session_timeout = 0")
            if current_mark(connection).xmin < least:
                connection.close()
                return None
            ((self._name,),) = run(connection, "SELECT pg_catalog.pg_export_snapshot()::text")
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return self._name

    def close(self) -> None:
        """Release the snapshot."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()
