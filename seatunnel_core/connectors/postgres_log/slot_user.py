"""Observation of the session that uses a job's slot: it may end soon, or belong to another job."""

import time
from typing import Any

from attrs import define, field

from seatunnel_core.connectors.postgres_log.errors import SlotInUseError, SlotTakenError
from seatunnel_core.connectors.postgres_log.server_sessions import Session, terminate
from seatunnel_core.connectors.postgres_log.session import SESSIONS

GONE_S = 75.0
"""Time within which the server ends the session of a failed machine, in seconds. Keepalives take 60 seconds."""


@define
class SlotUser:
    """Session that uses a slot, observed over all attempts to use the slot.

    The session of a running job is active, because the job polls every second. The session of a failed machine is
    inactive.
    """

    slot: str
    gone_s: float = GONE_S
    _first: Session | None = field(default=None, init=False)
    _since: float = field(default=0.0, init=False)
    _is_active: bool = field(default=False, init=False)
    _asked: set[int] = field(factory=set, init=False)
    """Server processes whose termination this job has requested."""

    _is_denied: bool = field(default=False, init=False)

    def see(self, user: Session) -> None:
        """Record the session that currently uses the slot."""
        first = self._first
        if first is None:
            self._first, self._since = user, time.monotonic()
        elif user.pid != first.pid or user.activity not in ("", first.activity):
            self._is_active = True

    def end(self, connection: Any, pid: int) -> None:
        """Request termination of a session of this job, once per server process."""
        if pid not in self._asked:
            self._asked.add(pid)
            self._is_denied |= not terminate(connection, pid)

    def error(self, user: Session) -> SlotInUseError:
        """Return the error after the maximum wait; retryable if the session may end by itself."""
        is_ours = user.application.startswith(SESSIONS) or not user.application  # or the session has just ended
        if not is_ours or self._is_active or time.monotonic() - self._since >= self.gone_s:
            return taken(self.slot, user, is_denied=self._is_denied)
        return SlotInUseError(
            f"the replication slot {self.slot} is used by {user}. If the machine of this session has failed, the "
            "server ends the session after about a minute"
        )


def taken(slot: str, user: Session, *, is_denied: bool = False) -> SlotTakenError:
    """Return the error for a slot that another process uses.

    ``is_denied`` is True if the session belongs to the same job, but its user lacks the privilege to end it.
    """
    denied = ", which the user of this job has no permission to end" if is_denied else ""
    return SlotTakenError(
        f"the replication slot {slot} is used by {user}{denied}. Each job needs its own slot: choose another "
        "slot.name, or stop the other job or program first"
    )
