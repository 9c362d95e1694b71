"""Replication slots, which retain the log for a reader."""

import time
from collections.abc import Sequence
from typing import Any

from attrs import field, frozen

from seatunnel_core.connectors.postgres_log.errors import (
    LogError,
    LogServerError,
    SlotAdvancedError,
    SlotInUseError,
    SlotLostError,
    SlotMissingError,
)
from seatunnel_core.connectors.postgres_log.lsn import Lsn
from seatunnel_core.connectors.postgres_log.replication import ReplicationConnection
from seatunnel_core.connectors.postgres_log.sql_connection import quoted_name, run

PLUGIN = "pgoutput"

_STATE = """
SELECT plugin::text, slot_type, database::text, temporary, active_pid, restart_lsn::text, confirmed_flush_lsn::text,
       CASE WHEN restart_lsn IS NOT NULL THEN pg_catalog.pg_wal_lsn_diff(
         CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn()
              ELSE pg_catalog.pg_current_wal_lsn() END, restart_lsn)::bigint END,
       to_jsonb(s) ->> 'wal_status', (to_jsonb(s) ->> 'safe_wal_size')::bigint,
       coalesce(to_jsonb(s) ->> 'invalidation_reason', CASE WHEN to_jsonb(s) ->> 'conflicting' = 'true'
         THEN 'conflict with recovery' END)
  FROM pg_catalog.pg_replication_slots s WHERE slot_name = %s
"""

_ADVANCE = "SELECT end_lsn::text FROM pg_catalog.pg_replication_slot_advance(%s, %s::pg_lsn)"
_POLL_S = 0.05
_IN_USE, _EXISTS, _MISSING = "55006", "42710", "42704"


@frozen(kw_only=True)
class SlotState:
    """State of a slot as reported by the server."""

    name: str
    plugin: str | None
    kind: str
    """``logical`` or ``physical``."""

    database: str | None
    temporary: bool
    active_pid: int | None
    """ID of the server process that reads the slot; ``None`` if the slot is inactive."""

    restart: Lsn | None
    """Start of the log that the server retains for the slot; ``None`` if it does not retain any."""

    confirmed: Lsn | None
    """Position before which the server silently skips committed transactions."""

    retained_bytes: int | None
    """Size of the log that the server retains for the slot, in bytes."""

    wal_status: str | None
    """``reserved``, ``extended``, ``unreserved`` or ``lost``; ``None`` before PostgreSQL 13."""

    safe_bytes: int | None
    """Number of bytes that can be written before the slot may lose log data; ``None`` if there is no limit."""

    invalidation: str | None
    """Reason why the server invalidated the slot; ``None`` for a valid slot."""

    def require_range(self, start: Lsn, *, reader_pid: int | None = None) -> None:
        """Check that the slot returns all transactions from a position.

        Args:
            start: Start of the range.
            reader_pid: Server process of this reader's connection, which is allowed to read the slot.

        Raises:
            SlotMissingError: The slot is not a logical slot with ``pgoutput``.
            SlotLostError: The log of the slot was removed.
            SlotAdvancedError: The slot was confirmed beyond ``start``.
            SlotInUseError: Another process is reading or creating the slot.
        """
        if self.kind != "logical" or self.plugin != PLUGIN:
            plugin = f" with the plugin {self.plugin}" if self.plugin else ""
            raise SlotMissingError(
                f"the replication slot {self.name} is a {self.kind} slot{plugin}; expected a logical slot with the "
                f"plugin {PLUGIN}"
            )
        removed = self.wal_status == "lost" or self.invalidation or self.restart is None
        if not removed and self.confirmed is None and self.active_pid is not None:
            raise SlotInUseError(
                f"the replication slot {self.name} is being created by another connection (process {self.active_pid} "
                "of the server), which waits for the end of open transactions"
            )
        if removed or self.confirmed is None:
            reason = f" ({self.invalidation})" if self.invalidation else ""
            raise SlotLostError(
                f"the replication slot {self.name} is lost{reason}: the server has removed a part of the log that "
                "the slot needs. Drop the slot with seatunnel slots drop -c FILE, and read the tables again; a "
                "larger max_slot_wal_keep_size keeps more log"
            )
        if self.confirmed > start:
            raise SlotAdvancedError(
                f"the replication slot {self.name} was confirmed up to {self.confirmed}, but reading must continue at "
                f"{start}: the server no longer sends the transactions in between. The state, such as a savepoint or "
                "a copy of the job in another storage, is older than the oldest retained checkpoint, or another job "
                "has used the slot. Resume from the newest checkpoint, or start a new job, which reads the tables again"
            )
        if self.active_pid is not None and self.active_pid != reader_pid:
            raise SlotInUseError(
                f"the replication slot {self.name} is read by another connection (process {self.active_pid} of the "
                "server); each job needs its own slot"
            )


@frozen(kw_only=True)
class CreatedSlot:
    """Properties of a newly created slot."""

    name: str
    consistent_point: Lsn
    """Position after which the slot contains all committed transactions."""

    snapshot: str | None = field(repr=False)
    """Name of the exported snapshot, which contains exactly the transactions that the slot does not contain. Valid
    until the next command on the connection that created the slot.
    """


def slot_state(connection: Any, name: str) -> SlotState | None:
    """Return the state of a slot; ``None`` if it does not exist."""
    rows = run(connection, _STATE, (name,))
    if not rows:
        return None
    plugin, kind, database, temporary, pid, restart, confirmed, retained, status, safe, reason = rows[0]
    return SlotState(
        name=name,
        plugin=plugin,
        kind=kind,
        database=database,
        temporary=temporary,
        active_pid=pid,
        restart=None if restart is None else Lsn.parse(restart),
        confirmed=None if confirmed is None else Lsn.parse(confirmed),
        retained_bytes=retained,
        wal_status=status,
        safe_bytes=safe,
        invalidation=reason,
    )


def required_slot(connection: Any, name: str) -> SlotState:
    """Return the state of a slot.

    Raises:
        SlotMissingError: The slot does not exist.
    """
    found = slot_state(connection, name)
    if found is None:
        raise SlotMissingError(
            f"the replication slot {name} does not exist or was dropped, so the server keeps no log for it. Read the "
            "tables again; this creates the slot"
        )
    return found


def create_slot(
    connection: ReplicationConnection, name: str, *, export_snapshot: bool = False, temporary: bool = False
) -> CreatedSlot:
    """Create a slot with ``pgoutput``. The server first waits for all open transactions to end.

    Args:
        connection: A replication connection without a stream.
        name: Name of the slot: lower-case letters, digits and ``_``.
        export_snapshot: True to export the snapshot at the start of the slot.
        temporary: True to drop the slot when the connection is closed.

    Raises:
        LogServerError: The server rejects the command: the name is taken, or ``wal_level`` is not ``logical``.
    """
    try:
        rows = connection.command(creation_command(name, export_snapshot=export_snapshot, temporary=temporary))
    except LogServerError as error:
        raise creation_error(name, error) from None
    return created(name, rows)


def creation_command(name: str, *, export_snapshot: bool = False, temporary: bool = False) -> str:
    """Return the command that creates a slot. The arguments are the same as for ``create_slot``."""
    kind = "TEMPORARY " if temporary else ""
    snapshot = "EXPORT_SNAPSHOT" if export_snapshot else "NOEXPORT_SNAPSHOT"
    return f"CREATE_REPLICATION_SLOT {quoted_name(name)} {kind}LOGICAL {PLUGIN} {snapshot}"


def created(name: str, rows: Sequence[tuple[str | None, ...]]) -> CreatedSlot:
    """Return the slot from the server's response to the command that created it."""
    ((_, point, exported, _),) = rows
    return CreatedSlot(name=name, consistent_point=Lsn.parse(str(point)), snapshot=exported or None)


def creation_error(name: str, error: LogError) -> LogError:
    """Return the error for a failed creation of a slot."""
    if isinstance(error, LogServerError) and error.sqlstate == _EXISTS:
        return LogServerError(f"the replication slot {name} already exists; drop it or choose another name", _EXISTS)
    return error


def advance_slot(connection: Any, name: str, position: Lsn) -> Lsn:
    """Advance an unused slot, and return its new position. A slot is never moved backwards.

    Args:
        connection: A psycopg connection in autocommit mode.
        name: Name of the slot.
        position: Position before which the server may discard committed transactions.

    Raises:
        SlotChangedError: The slot does not exist, or its log was removed.
        SlotInUseError: Another process is reading the slot.
    """
    state = required_slot(connection, name)
    if state.confirmed is not None and state.confirmed >= position:
        return state.confirmed
    state.require_range(state.confirmed or position)
    try:
        ((reached,),) = run(connection, _ADVANCE, (name, str(position)))
    except LogServerError as error:
        if error.sqlstate != _IN_USE:
            raise
        raise SlotInUseError(f"the replication slot {name} is in use: {error}") from None
    return Lsn.parse(reached)


def drop_slot(connection: Any, name: str, *, wait_s: float = 5.0) -> bool:
    """Drop a slot. Return False if the slot did not exist.

    ``wait_s`` limits the wait until a closed connection has released the slot, in seconds.

    Raises:
        SlotInUseError: Another process is reading the slot.
    """
    until = time.monotonic() + wait_s
    while True:
        try:
            run(connection, "SELECT pg_catalog.pg_drop_replication_slot(%s)", (name,))
        except LogServerError as error:
            if error.sqlstate == _MISSING:
                return False
            if error.sqlstate != _IN_USE:
                raise
            if time.monotonic() > until:
                raise SlotInUseError(f"the replication slot {name} is in use: {error}") from None
            time.sleep(_POLL_S)
        else:
            return True
