"""Asynchronous creation of a slot. The server first waits until all open transactions have ended."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from attrs import define, field

from seatunnel_core.connectors.postgres_log.errors import LogError
from seatunnel_core.connectors.postgres_log.replication import ReplicationConnection
from seatunnel_core.connectors.postgres_log.slots import CreatedSlot, created, creation_command, creation_error


@define
class SlotCreation:
    """A slot that is being created. Not thread-safe."""

    _name: str
    _log: ReplicationConnection = field(repr=False)

    @classmethod
    def begin(cls, parameters: Mapping[str, Any], name: str) -> "SlotCreation":
        """Request the creation of a slot.

        Raises:
            LogError: The server is not reachable or rejects the command.
        """
        log = ReplicationConnection(parameters)
        try:
            log.send_command(creation_command(name))
        except BaseException:
            log.close()
            raise
        return cls(name, log)

    def result(self, wait_s: float) -> CreatedSlot | None:
        """Return the slot; ``None`` if it has not been created within ``wait_s`` seconds.

        Raises:
            LogError: The server rejects the command, or the connection is lost.
        """
        try:
            rows = self._log.response(wait_s)
        except LogError as error:
            raise creation_error(self._name, error) from None
        return None if rows is None else created(self._name, rows)

    def close(self) -> None:
        """Close the connection. This cancels the creation of the slot if it is not complete."""
        with suppress(Exception):
            self._log.cancel()
        self._log.close()
