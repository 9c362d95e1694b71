"""Replication connection to PostgreSQL, based on psycopg's wrapper of libpq."""

import select
import struct
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, Self

import psycopg
from attrs import frozen
from psycopg import pq
from psycopg.conninfo import make_conninfo

from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connectors.postgres_log.errors import (
    LogConnectionError,
    LogServerError,
    PublicationError,
    SlotInUseError,
    SlotLostError,
    SlotMissingError,
    UnsupportedLogError,
)
from seatunnel_core.connectors.postgres_log.lsn import NOWHERE, Lsn
from seatunnel_core.connectors.postgres_log.sql_connection import (
    not_connected,
    quoted_name,
    quoted_text,
    without_secrets,
)

_STATUS = struct.Struct(">cQQQqB")
_EPOCH_S = 946_684_800
_CLOSE_S = 2.0
"""Maximum time to wait for the stream to end gracefully, in seconds."""

_MOST_MESSAGES, _MOST_BYTES = 8_192, 4 << 20
"""Maximum number of messages to receive at once, and their maximum total size in bytes."""

_SKIPPED = "55000"
_GATHER_S = 0.001
"""Time to collect arriving messages before reading them, in seconds. The server sends messages one by one, and reading
them one by one would double the CPU time.
"""

_UNDEFINED = "42704"
_OF_STATE: dict[str, type[SourceError]] = {"55006": SlotInUseError, "58P01": SlotLostError}
_LOST = ("has already been removed", "can no longer get changes from replication slot", "has been invalidated")
_CONNECTION_LOST = ("08", "57P")


@frozen(kw_only=True)
class ServerIdentity:
    """Identity of a database cluster."""

    system_id: str
    """System identifier of the cluster. The promotion of a replica does not change it."""

    timeline: int
    """Timeline ID, which increases when a replica is promoted."""

    flushed: Lsn
    database: str


class ReplicationConnection:
    """A connection in replication mode. Not thread-safe."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        """Connect to the server.

        Args:
            parameters: The libpq parameters, from ``log_parameters``.

        Raises:
            LogConnectionError: The server is not reachable or rejects the connection.
        """
        self._safe = partial(without_secrets, parameters=parameters)
        self._confirmed = self._received = 0
        try:
            self._pg = pq.PGconn.connect(make_conninfo(**parameters).encode())
        except (psycopg.Error, ValueError) as error:
            raise not_connected(str(error), parameters) from None
        if self._pg.status != pq.ConnStatus.OK:
            message = self._pg.get_error_message()
            self._pg.finish()
            raise not_connected(message, parameters)
        self._missing: PublicationError | None = None
        self._pg.notice_handler = self._notice

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """Process ID of the connection on the server."""
        return self._pg.backend_pid

    # -- commands -------------------------------------------------------------------------------------------------

    def command(self, statement: str) -> list[tuple[str | None, ...]]:
        """Run a replication command or a statement, and return its rows as strings.

        Raises:
            SourceError: The server rejects the command.
        """
        return self._rows(self._pg.exec_(statement.encode()))

    def send_command(self, statement: str) -> None:
        """Send a command. ``response`` returns its result.

        Raises:
            LogConnectionError: The connection is lost.
        """
        try:
            self._pg.send_query(statement.encode())
            self._pg.flush()
        except psycopg.Error as error:
            raise LogConnectionError(self._safe(str(error))) from None

    def response(self, wait_s: float) -> list[tuple[str | None, ...]] | None:
        """Return the rows of the command that was sent; ``None`` if the command does not end within ``wait_s`` seconds.

        Raises:
            LogError: The server rejects the command, or the connection is lost.
        """
        deadline = time.monotonic() + wait_s
        try:
            self._pg.consume_input()
            while self._pg.is_busy():
                if not self._is_readable(deadline):
                    return None
                self._pg.consume_input()
        except psycopg.Error as error:
            raise LogConnectionError(self._safe(str(error))) from None
        found = self._rows(self._pg.get_result())
        while self._pg.get_result() is not None:
            pass
        return found

    def cancel(self) -> None:
        """Request the cancellation of the running command, if there is one."""
        if self._pg.transaction_status == pq.TransactionStatus.ACTIVE:
            self._pg.get_cancel().cancel()

    def _rows(self, result: Any) -> list[tuple[str | None, ...]]:
        if result is None or result.status not in (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK):
            raise self._error(result)
        return [
            tuple(None if (found := result.get_value(row, column)) is None else found.decode() for column in columns)
            for columns in [range(result.nfields)]
            for row in range(result.ntuples)
        ]

    def identify(self) -> ServerIdentity:
        """Return the identity of the cluster."""
        ((system, timeline, flushed, database),) = self.command("IDENTIFY_SYSTEM")
        return ServerIdentity(
            system_id=str(system), timeline=int(str(timeline)), flushed=Lsn.parse(str(flushed)), database=str(database)
        )

    def start(self, slot: str, start: Lsn, publications: Sequence[str], *, messages: bool = False) -> None:
        """Start the stream of a slot.

        Args:
            slot: Name of the slot.
            start: Start position. Transactions committed before it are not sent.
            publications: Names of publications.
            messages: True to also receive client messages.

        Raises:
            SlotChangedError: The slot does not exist, or its log was removed.
            SlotInUseError: Another process is reading the slot.
            SourceError: The server rejects the command.
        """
        self._require_settings()
        names = ",".join(quoted_name(name) for name in publications)
        options = f"proto_version '1', publication_names {quoted_text(names)}" + ", messages 'true'" * messages
        self._pg.send_query(f"START_REPLICATION SLOT {quoted_name(slot)} LOGICAL {start} ({options})".encode())
        self._pg.flush()
        result = self._pg.get_result()
        if result is None or result.status != pq.ExecStatus.COPY_BOTH:
            while self._pg.get_result() is not None:
                pass  # The connection can be used again once all results have been fetched.
            error = self._error(result)
            if isinstance(error, LogServerError) and error.sqlstate == _UNDEFINED:
                raise SlotMissingError(str(error))  # The server looks up publications later, in the stream.
            raise error

    def _require_settings(self) -> None:
        """Raise an error unless the session formats values as this reader expects."""
        found = {
            name: (self._pg.parameter_status(name.encode()) or b"").decode()
            for name in ("DateStyle", "client_encoding", "TimeZone")
        }
        if not found["DateStyle"].startswith("ISO") or found["client_encoding"] != "UTF8" or found["TimeZone"] != "UTC":
            raise UnsupportedLogError(
                f"the session needs DateStyle ISO, the encoding UTF8 and the time zone UTC, but has {found}"
            )

    # -- the stream -----------------------------------------------------------------------------------------------

    def receive(self, wait_s: float) -> list[bytes]:
        """Return undecoded messages of the stream; an empty list if none arrives within ``wait_s`` seconds.

        Raises:
            PublicationError: The server omits changes because a publication does not exist.
            SourceError: The server has ended the stream, or the connection is lost.
        """
        get, found, deadline, empty = self._pg.get_copy_data, list[bytes](), None, False
        received_bytes = 0
        try:
            while len(found) < _MOST_MESSAGES and received_bytes < _MOST_BYTES:
                size, data = get(1)
                if size > 0:
                    found.append(bytes(data))  # Views would keep the garbage collector busy.
                    received_bytes += size
                    empty = False
                    continue
                if size < 0:
                    raise self._error(self._pg.get_result())
                if empty:  # All messages that had arrived before the last call have been returned.
                    deadline = deadline or time.monotonic() + wait_s
                    if found or not self._is_readable(deadline):
                        break
                    time.sleep(_GATHER_S)
                self._pg.consume_input()
                empty = True
        except psycopg.Error as error:
            raise LogConnectionError(self._safe(str(error))) from None
        if self._missing is not None:
            raise self._missing
        return found

    def _notice(self, result: Any) -> None:
        """Record a warning about omitted changes: PostgreSQL 18 skips publications that do not exist."""
        state = (result.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode()
        if state == _SKIPPED:
            self._missing = PublicationError(
                f"{self._safe(result.error_message.decode(errors='replace'))} A slot must be created after its "
                "publications; changes between their creation and now are not sent, so read the tables again"
            )

    def _is_readable(self, deadline: float) -> bool:
        """Wait for data, and return False after a timeout."""
        poll = select.poll()
        poll.register(self._pg.socket, select.POLLIN)
        return bool(poll.poll(max(0, int((deadline - time.monotonic()) * 1_000))))

    def send_status(self, received: Lsn, confirmed: Lsn = NOWHERE, *, reply: bool = False) -> None:
        """Report the received and the confirmed position to the server.

        Args:
            received: End of the received data.
            confirmed: Position before which the server may discard committed transactions. It must not decrease.
                ``NOWHERE`` confirms nothing.
            reply: True to request an immediate keepalive, which contains the position up to which the log was sent.
        """
        self._confirmed = max(self._confirmed, confirmed.value)
        self._received = max(self._received, received.value, self._confirmed)
        now = int((time.time() - _EPOCH_S) * 1_000_000)
        status = _STATUS.pack(b"r", self._received, self._confirmed, self._confirmed, now, reply)
        try:
            self._pg.put_copy_data(status)
            self._pg.flush()
        except psycopg.Error as error:
            raise LogConnectionError(self._safe(str(error))) from None

    def close(self) -> None:
        """End the stream gracefully, which releases the slot immediately, and close the connection."""
        if self._pg.status == pq.ConnStatus.OK and self._pg.transaction_status == pq.TransactionStatus.ACTIVE:
            with suppress(psycopg.Error):  # The server has already closed it.
                self._end_stream(time.monotonic() + _CLOSE_S)
        self._pg.finish()

    def _end_stream(self, deadline: float) -> None:
        """End the stream. The server releases the slot before it confirms the end."""
        self._pg.put_copy_end()
        self._pg.flush()
        while (size := self._pg.get_copy_data(1)[0]) >= 0:
            if time.monotonic() > deadline or (size == 0 and not self._is_readable(deadline)):
                return
            if size == 0:
                self._pg.consume_input()
        while True:
            while self._pg.is_busy():
                if not self._is_readable(deadline):
                    return
                self._pg.consume_input()
            if self._pg.get_result() is None:
                return

    # -- errors ---------------------------------------------------------------------------------------------------

    def _error(self, result: Any) -> SourceError:
        """Return the error that a result reports."""
        fields = pq.DiagnosticField
        state = (result.error_field(fields.SQLSTATE) or b"").decode() if result is not None else ""
        raw = result.error_message if result is not None else self._pg.error_message
        message = self._safe(raw.decode(errors="replace")) or "the server has ended the stream"
        if any(words in message for words in _LOST):
            return SlotLostError(message)
        if state in _OF_STATE:
            return _OF_STATE[state](message)
        if not state or state.startswith(_CONNECTION_LOST):
            return LogConnectionError(message)
        return LogServerError(message, state)
