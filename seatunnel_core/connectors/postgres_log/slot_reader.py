"""Reader of ranges of a replication slot."""

import time
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from seatunnel_core.connectors.postgres_log.change_batch import ChangeBatch, Reason
from seatunnel_core.connectors.postgres_log.column_types import ServerTypes
from seatunnel_core.connectors.postgres_log.errors import LogConnectionError, SlotInUseError
from seatunnel_core.connectors.postgres_log.log_decoder import KEEPALIVE, LogDecoder
from seatunnel_core.connectors.postgres_log.log_table import Selects, every_column
from seatunnel_core.connectors.postgres_log.lsn import Lsn
from seatunnel_core.connectors.postgres_log.replication import ReplicationConnection
from seatunnel_core.connectors.postgres_log.server_sessions import session, terminate
from seatunnel_core.connectors.postgres_log.slots import required_slot

_RETRY_S = 0.1
_STATUS_S = 10.0
"""Interval of unrequested status messages, in seconds."""

_PATIENCE_S = 0.02
"""Time without messages after which the reader requests the server's log position, in seconds."""


class SlotReader:
    """Reader of a slot from a given position. It keeps its connections between ranges. Not thread-safe.

    The server does not discard data of the slot until ``confirm`` is called.
    """

    def __init__(
        self,
        log_parameters: Mapping[str, Any],
        connection: Any,
        slot: str,
        publications: Sequence[str],
        start: Lsn,
        *,
        messages: bool = False,
        batch_rows: int = 65_536,
        batch_bytes: int = 32 << 20,
        timeout_s: float = 60.0,
        wait_for_slot_s: float = 10.0,
        takes_over: bool = False,
        selects: Selects = every_column,
    ) -> None:
        """Connect to the server, and start the stream.

        Args:
            log_parameters: The libpq parameters of the replication connection, from ``session.log_parameters``.
            connection: A psycopg connection to the same database, in autocommit mode, for reading the catalog.
            slot: Name of the slot.
            publications: Names of the publications.
            start: Position from which all transactions are read: the end of a range, or the slot's consistent point.
            messages: True to also receive client messages; from PostgreSQL 14 on.
            batch_rows: Number of row messages at which a batch ends.
            batch_bytes: Size of the row messages at which a batch ends, in bytes.
            timeout_s: Time without any message after which the connection is considered lost, in seconds.
            wait_for_slot_s: Maximum time to wait until another process releases the slot, in seconds.
            takes_over: True to terminate a session with the same ``application_name`` that reads the slot. It belongs
                to an earlier attempt or a failed machine.
            selects: Function that returns True for the columns to read; see ``log_table.Selects``.

        Raises:
            SlotChangedError: The slot does not return all transactions from ``start`` on.
            SlotInUseError: Another process is reading the slot.
            LogError: The server rejects a command.
        """
        self._slot, self._sql, self._timeout_s = slot, connection, timeout_s
        state = required_slot(connection, slot)
        state.require_range(start, reader_pid=state.active_pid)
        self._replaced = str(log_parameters["application_name"]) if takes_over else None
        self._log = ReplicationConnection(log_parameters)
        try:
            self._start(publications, start, messages, wait_for_slot_s)
        except BaseException:
            self._log.close()
            raise
        self._decoder = LogDecoder(
            ServerTypes(connection), start, batch_rows=batch_rows, batch_bytes=batch_bytes, selects=selects
        )
        self._received: Sequence[Any] = ()
        self._next = 0
        self._heard = self._told = time.monotonic()

    def _start(self, publications: Sequence[str], start: Lsn, messages: bool, wait_s: float) -> None:
        """Start the stream, and then check the slot, which no other process can change during the stream."""
        until = time.monotonic() + wait_s
        while True:
            try:
                self._log.start(self._slot, start, publications, messages=messages)
                break
            except SlotInUseError as error:
                self._await_release(error, is_last=time.monotonic() > until)
                time.sleep(_RETRY_S)
        required_slot(self._sql, self._slot).require_range(start, reader_pid=self._log.pid)

    def _await_release(self, error: SlotInUseError, *, is_last: bool) -> None:
        """Terminate the session that reads the slot if this is allowed. Raise SlotInUseError after the last wait."""
        pid = required_slot(self._sql, self._slot).active_pid
        if pid is None:
            if is_last:
                raise error
            return
        user = session(self._sql, pid)
        if user.application == self._replaced and not terminate(self._sql, pid):
            self._replaced = None  # Wait for its end instead.
        if is_last:
            raise SlotInUseError(f"the replication slot {self._slot} is used by {user}: {error}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def position(self) -> Lsn:
        """Position up to which all transactions have been read, which is the start of the next range."""
        return self._decoder.position

    def batches(self, end: Lsn | None = None, *, idle_s: float = 1.0) -> Iterator[ChangeBatch]:
        """Read the transactions with commits from ``position`` up to but excluding ``end``.

        The last batch has the reason ``END``. Exhaust the iterator before reading another range.

        Args:
            end: End of the range, a current or future position of the log; ``None`` to read indefinitely.
            idle_s: Time without messages after which a batch with the reason ``IDLE`` is returned, in seconds.

        Yields:
            Batches. Unless the reason is ``END``, the last transaction may be incomplete.

        Raises:
            LogError: The log cannot be read or decoded.
        """
        if self._decoder.in_transaction:
            raise ValueError("the previous range was not read completely; open a new reader")
        quiet_from = time.monotonic()
        while True:
            batch, self._next = self._decoder.decode(self._received, self._next, end)
            if batch is None:
                arrived = self._receive(_PATIENCE_S if end is not None else idle_s)
                if arrived:
                    quiet_from = time.monotonic()
                elif time.monotonic() - quiet_from >= idle_s:
                    quiet_from = time.monotonic()
                    yield self._decoder.batch(Reason.IDLE)
                continue
            yield batch
            if batch.reason is Reason.END:
                return

    def confirm(self, position: Lsn) -> None:
        """Allow the server to discard transactions committed before a position.

        Raises:
            ValueError: These transactions have not been read yet.
        """
        if position > self.position:
            raise ValueError(f"{position} is beyond {self.position}, the position up to which the slot was read")
        self._log.send_status(self.position, position)

    def keep_alive(self) -> None:
        """Send a status message. Call this every few seconds while no batches are read."""
        self._log.send_status(self.position)

    def close(self) -> None:
        """End the stream and close the replication connection, but not the other connection."""
        self._log.close()

    def _receive(self, wait_s: float) -> bool:
        """Receive messages, keep the connection alive, and return True if a data message has arrived."""
        if self._decoder.reply_requested or time.monotonic() - self._told > _STATUS_S:
            self._send_status(reply=False)
        self._received, self._next = self._log.receive(wait_s), 0
        now = time.monotonic()
        if self._received:
            self._heard = now
        elif now - self._heard > self._timeout_s:
            raise LogConnectionError(
                f"the server has sent nothing for {self._timeout_s:.0f} s; check that it is reachable"
            )
        else:
            self._send_status(reply=True)
        return any(data[0] != KEEPALIVE for data in self._received)

    def _send_status(self, *, reply: bool) -> None:
        self._decoder.reply_requested = False
        self._told = time.monotonic()
        self._log.send_status(self.position, reply=reply)
