"""Lock that a job holds on its replication slot. Two jobs that share a slot would discard each other's changes.

A job reads its slot in ranges and releases it between them. The lock is an advisory lock of the database, which the
server releases when the connection of the job ends.
"""

import hashlib
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from attrs import Factory, define, field

from seatunnel_core.connectors.postgres_log.errors import LogError
from seatunnel_core.connectors.postgres_log.server_sessions import session
from seatunnel_core.connectors.postgres_log.slot_user import SlotUser, taken
from seatunnel_core.connectors.postgres_log.slots import slot_state
from seatunnel_core.connectors.postgres_log.sql_connection import connect, run

WAIT_S = 10.0
"""Maximum time to wait for another process that uses the slot, in seconds. It is long enough for the session of a
killed process, or of an earlier process of the same job, to end.
"""

_POLL_S = 0.2
_LOCK = "SELECT pg_catalog.pg_try_advisory_lock(%s)"
_HOLDER = """
SELECT pid FROM pg_catalog.pg_locks
 WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND (classid::bigint << 32 | objid::bigint) = %s
   AND database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
"""


@define
class SlotLock:
    """Lock of a slot. Not thread-safe, except ``close``."""

    slot: str
    _connection: Any = field(default=None, init=False, repr=False)
    _was_held: bool = field(default=False, init=False)
    _own: set[int] = field(factory=set, init=False)
    """Server processes of the last connection that held the lock and of later connections. A lost connection may hold
    the lock until the server has ended its process.
    """

    _user: SlotUser = field(init=False, default=Factory(lambda self: SlotUser(self.slot), takes_self=True))

    def hold(self, parameters: Mapping[str, Any], *, wait_s: float = WAIT_S) -> bool:
        """Acquire the lock if it is not held. Return True if this call acquired it.

        An earlier process of the same job is recognized by its ``application_name``, and its session is terminated.

        Args:
            parameters: The libpq parameters for statements. Their ``application_name`` identifies the job.
            wait_s: Maximum time to wait for another holder, in seconds.

        Raises:
            SlotTakenError: Another job holds the lock, or a later process of the same job has acquired it.
            SlotInUseError: The session that holds the lock may belong to a failed machine. Try again.
            LogError: The server rejects the statement.
        """
        held = self._connection
        if held is not None:
            try:
                run(held, "SELECT 1")
                return False
            except LogError:  # The server was restarted, or has ended the session.
                self.close()
        connection = connect(parameters)
        pid = connection.info.backend_pid
        self._own.add(pid)
        try:
            self._take(connection, str(parameters["application_name"]), wait_s)
        except BaseException:
            connection.close()
            raise
        self._connection, self._was_held, self._own = connection, True, {pid}
        return True

    def _take(self, connection: Any, name: str, wait_s: float) -> None:
        key = key_of(self.slot)
        until = time.monotonic() + wait_s
        while not run(connection, _LOCK, (key,))[0][0]:
            for (pid,) in run(connection, _HOLDER, (key,)):
                holder = session(connection, pid)
                self._user.see(holder)
                if self._was_held and pid not in self._own:
                    raise taken(self.slot, holder)
                if holder.application == name:
                    self._user.end(connection, pid)
                if time.monotonic() >= until:
                    raise self._user.error(holder)
            time.sleep(_POLL_S)

    def close(self) -> None:
        """Release the lock."""
        self._user = SlotUser(self.slot)
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()


def lock_holder(connection: Any, slot: str) -> int | None:
    """Return the ID of the server process that holds the lock of a slot; ``None`` if the lock is free."""
    found = run(connection, _HOLDER, (key_of(slot),))
    return int(found[0][0]) if found else None


def try_lock(connection: Any, slot: str) -> bool:
    """Acquire the lock of a slot until the connection is closed. Return False if another connection holds it."""
    return bool(run(connection, _LOCK, (key_of(slot),))[0][0])


def key_of(slot: str) -> int:
    """Return the key of the advisory lock of a slot: a positive 63-bit number."""
    return int.from_bytes(hashlib.sha256(f"seatunnel replication slot {slot}".encode()).digest()[:8], "big") >> 1


def await_free(connection: Any, slot_user: SlotUser, name: str, *, wait_s: float = WAIT_S) -> None:
    """Wait until no process reads or creates a slot. Sessions of earlier processes of the same job are terminated.

    Args:
        connection: A psycopg connection in autocommit mode.
        slot_user: Observations of the session that uses the slot, if any.
        name: The ``application_name`` of the job.
        wait_s: Maximum time to wait, in seconds.

    Raises:
        SlotTakenError: Another process uses the slot.
        SlotInUseError: The session that uses the slot may belong to a failed machine. Try again.
    """
    until = time.monotonic() + wait_s
    while (state := slot_state(connection, slot_user.slot)) is not None and state.active_pid is not None:
        user = session(connection, state.active_pid)
        slot_user.see(user)
        if user.application == name:
            slot_user.end(connection, state.active_pid)
        if time.monotonic() >= until:
            raise slot_user.error(user)
        time.sleep(_POLL_S)
