"""Stepwise creation of a job's slot and publication. The server may first wait for open transactions."""

from collections.abc import Sequence
from typing import Any

from attrs import Factory, define, field, frozen

from seatunnel_core.connectors.postgres_cdc.server import NO_SLOT, log_end, require_publication
from seatunnel_core.connectors.postgres_cdc.settings import Settings
from seatunnel_core.connectors.postgres_log.created_objects import record_slot, recording
from seatunnel_core.connectors.postgres_log.errors import SlotMissingError
from seatunnel_core.connectors.postgres_log.lsn import Lsn
from seatunnel_core.connectors.postgres_log.publications import TableName
from seatunnel_core.connectors.postgres_log.server_sessions import listed, sessions_with_transactions
from seatunnel_core.connectors.postgres_log.slot_creation import SlotCreation
from seatunnel_core.connectors.postgres_log.slot_lock import SlotLock, await_free
from seatunnel_core.connectors.postgres_log.slot_user import SlotUser
from seatunnel_core.connectors.postgres_log.slots import slot_state
from seatunnel_core.connectors.postgres_log.snapshot_mark import current_mark
from seatunnel_core.connectors.postgres_log.sql_connection import run

PATIENCE_S = 1.0
"""Maximum time to wait for the slot in one step, in seconds."""

_NEW_ID = "SELECT pg_catalog.txid_current()"
"""Query for the ID of a new transaction, which is above the IDs of all open ones, unlike a snapshot's ``xmax``."""


@frozen(kw_only=True)
class LogStart:
    """Position from which a job reads the log."""

    position: Lsn
    least: int
    """Transaction ID above the IDs of all transactions committed before the position."""


@define
class Preparation:
    """Creates the server objects that a job needs before it reads the log. Not thread-safe.

    If the process is killed, the slot and the publication remain, and the next process reuses them.
    """

    _settings: Settings
    patience_s: float = PATIENCE_S
    _lock: SlotLock = field(init=False, default=Factory(lambda self: SlotLock(self._settings.slot), takes_self=True))
    _slot_user: SlotUser | None = field(default=None, init=False)
    """Session that must release the slot; ``None`` if the slot is free or a task of this job may be reading it."""

    _waits_for: str = field(default="", init=False)
    _creation: SlotCreation | None = field(default=None, init=False)
    _point: Lsn | None = field(default=None, init=False)
    _awaited: int | None = field(default=None, init=False)
    """ID below which all transactions must end before the start; ``None`` before the slot is checked, 0 for no wait."""

    def next(self, connection: Any, job_id: str, tables: Sequence[TableName]) -> LogStart | None:
        """Create the slot and the publication unless they exist, and return the start position.

        Returns:
            The start position; ``None`` while open transactions delay it. Then call this method again.

        Raises:
            SlotMissingError: The slot must exist but does not.
            SlotInUseError: Another process reads the slot.
            SlotChangedError: The slot was lost, or is not a logical slot.
            SourceError: The server rejects a statement.
        """
        if self._creation is None and self._awaited is None:
            self._begin(connection, job_id, tables)
        if self._creation is not None:
            self._await_slot(self._creation)
        if self._creation is not None or (self._awaited and current_mark(connection).xmin < self._awaited):
            return None
        self._awaited = None
        return self._start(connection)

    def hold_slot(self, connection: Any, job_id: str, *, is_reading: bool) -> None:
        """Acquire the lock of the slot if it is not held, and wait until the slot is free.

        ``is_reading`` is True if a task of this job may be reading the slot.

        Raises:
            SlotInUseError: Another job or program is using the slot; retryable if the slot may become free.
            LogError: The server rejects a statement.
        """
        parameters = self._settings.lock(job_id)
        if self._lock.hold(parameters):
            self._slot_user = None if is_reading else SlotUser(self._settings.slot)
        if self._slot_user is not None:
            await_free(connection, self._slot_user, str(parameters["application_name"]))
            self._slot_user = None

    def warnings(self, connection: Any) -> tuple[str, ...]:
        """Return a warning about sessions with transactions that delay the start; empty if it was already returned."""
        sessions = listed(sessions_with_transactions(connection))
        if not sessions or sessions == self._waits_for:
            return ()
        self._waits_for = sessions
        return (
            f"creation of the replication slot {self._settings.slot} waits until these open transactions have ended "
            f"(oldest first): {sessions}",
        )

    def close(self) -> None:
        """Cancel the creation of the slot, and release its lock."""
        self._end_creation()
        self._lock.close()

    def _end_creation(self) -> None:
        creation, self._creation = self._creation, None
        if creation is not None:
            self._awaited = None
            creation.close()

    def _begin(self, connection: Any, job_id: str, tables: Sequence[TableName]) -> None:
        settings = self._settings
        state = slot_state(connection, settings.slot)
        if state is not None and state.confirmed is not None:
            state.require_range(state.confirmed)
        elif state is not None:
            state.require_range(log_end(connection, settings.slot).inserted)
        elif settings.startup == "committed-offset":
            raise SlotMissingError(NO_SLOT.format(name=settings.slot))
        with recording(connection, settings.publication):
            changed = require_publication(connection, settings, tables, changes=state is None or settings.starts_now)
            record_slot(connection, settings.publication, settings.slot, job_id, creates=state is None)
        if state is None:
            parameters = settings.log(connection.info.server_version, job_id)
            self._creation = SlotCreation.begin(parameters, settings.slot)
        else:
            self._point = state.confirmed
        # Rows that open transactions changed before a change of the publication are not sent.
        awaits = state is not None and changed and not settings.reads_tables
        self._awaited = int(run(connection, _NEW_ID)[0][0]) if awaits else 0

    def _await_slot(self, creation: SlotCreation) -> None:
        try:
            found = creation.result(self.patience_s)
        except BaseException:
            self._end_creation()
            raise
        if found is not None:
            self._point = found.consistent_point
            self._end_creation()

    def _start(self, connection: Any) -> LogStart:
        if not self._settings.starts_now:
            assert self._point is not None, "a slot has a position"
            return LogStart(position=self._point, least=0)
        # First the position, then the id: transactions that get a later id are committed behind the position.
        position = log_end(connection, self._settings.slot).flushed
        return LogStart(position=position, least=int(run(connection, _NEW_ID)[0][0]))
