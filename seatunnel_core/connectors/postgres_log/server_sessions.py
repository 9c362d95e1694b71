"""Server sessions that use a slot or delay the creation of a slot."""

from typing import Any

from attrs import frozen

from seatunnel_core.connectors.postgres_log.errors import LogServerError
from seatunnel_core.connectors.postgres_log.sql_connection import run

_SESSION = """
SELECT pid, coalesce(application_name, ''), coalesce(client_addr::text, ''), coalesce(state_change::text, '')
  FROM pg_catalog.pg_stat_activity WHERE pid = %s
"""
_OPEN = """
SELECT l.transactionid::text::bigint, l.pid, coalesce(a.application_name, ''), coalesce(a.client_addr::text, '')
  FROM pg_catalog.pg_locks l LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
 WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock' AND l.granted
   AND l.pid IS DISTINCT FROM pg_catalog.pg_backend_pid()
 ORDER BY pg_catalog.age(l.transactionid) DESC
"""
"""Query that finds open transactions by their locks: a transaction with an ID locks this ID, visibly to all users."""

_SHOWN = 3
_DENIED = "42501"


@frozen
class Session:
    """Properties of a session that other users can see."""

    pid: int | None
    """ID of the server process; ``None`` for a prepared transaction."""

    application: str
    """``application_name``; ``""`` if it is unknown."""

    client: str
    """Network address; ``""`` for a local socket, or if the user may not see it."""

    activity: str = ""
    """Time of the last activity; ``""`` if it is unknown."""

    def __str__(self) -> str:
        if self.pid is None:
            return "a prepared transaction"
        known = [f"application_name {self.application!r}"] if self.application else []
        known += [f"client {self.client}"] if self.client else []
        return f"process {self.pid} of the server" + (f" ({', '.join(known)})" if known else "")


def session(connection: Any, pid: int) -> Session:
    """Return the session of a server process. If it has ended, only the process ID is known."""
    found = run(connection, _SESSION, (pid,))
    return Session(*found[0]) if found else Session(pid, "", "")


def sessions_with_transactions(connection: Any) -> list[Session]:
    """Return the other sessions whose open transactions have an ID, sorted by transaction age."""
    return list(dict.fromkeys(Session(*row) for _, *row in run(connection, _OPEN)))


def oldest_transaction(connection: Any) -> tuple[int, Session] | None:
    """Return the 32-bit ID and the session of the oldest open transaction of other sessions, or ``None``."""
    found = run(connection, _OPEN)
    if not found:
        return None
    transaction, *session = found[0]
    return transaction, Session(*session)


def listed(sessions: list[Session]) -> str:
    """Format the first sessions for a message."""
    shown = ", ".join(map(str, sessions[:_SHOWN]))
    more = len(sessions) - _SHOWN
    return shown + (f", and {more} more" if more > 0 else "")


def terminate(connection: Any, pid: int) -> bool:
    """Request termination of a session, if it still exists. Return False if the user lacks the privilege."""
    try:
        run(connection, "SELECT pg_catalog.pg_terminate_backend(%s)", (pid,))
    except LogServerError as error:
        if error.sqlstate != _DENIED:
            raise
        return False
    return True
