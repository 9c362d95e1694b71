"""Session settings that make the server format values in snapshots exactly as in the log."""

import hashlib
from collections.abc import Mapping
from typing import Any

from attrs import evolve

from seatunnel_core.connectors.jdbc.address import Address
from seatunnel_core.connectors.jdbc.databases.postgresql import PostgreSQL

_SETTINGS = {
    "DateStyle": "ISO",
    "TimeZone": "UTC",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "row_security": "off",
}
"""Settings that affect the format of values, except ``lc_monetary``, which depends on the user and database only. With
``row_security = off``, reading a table fails if policies would hide rows that are in the log.
"""

_KEEPALIVES = {"keepalives": 1, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
_SERVER_KEEPALIVES = " -c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3"
"""TCP keepalives that let each side detect a failure of the other machine within a minute."""

_UNSENT_MS = 60_000
"""Maximum time without acknowledgement of sent data, in milliseconds. Keepalives do not cover this case."""


def with_session(address: Address) -> Address:
    """Add the session settings to an address, so that snapshots are formatted like the log."""
    own = " ".join(f"-c {name}={value}" for name, value in _SETTINGS.items())
    return evolve(address, properties=(*address.properties, ("options", own)))


def sql_parameters(address: Address) -> Mapping[str, Any]:
    """Return the libpq parameters for an SQL connection, including the password."""
    return {**PostgreSQL(with_session(address), 1).parameters(), "client_encoding": "UTF8"}


SESSIONS = "seatunnel"
"""Common prefix of the ``application_name`` of all sessions."""

_NAME_LENGTH = 63
"""Maximum length of a name on the server."""


def session_name(job_id: str) -> str:
    """Return the ``application_name`` of the sessions in which a job uses its slot. It is unique to the job."""
    name = f"{SESSIONS} {job_id}"
    if len(name) <= _NAME_LENGTH and name.isascii():
        return name
    return f"{SESSIONS} {hashlib.sha256(job_id.encode()).hexdigest()[:40]}"


def lock_parameters(address: Address, application: str) -> Mapping[str, Any]:
    """Return the libpq parameters for the session that holds the lock of a slot, including the password."""
    own = {**_KEEPALIVES, "application_name": application}
    found = {"tcp_user_timeout": _UNSENT_MS, **sql_parameters(address), **own}
    found["options"] += _SERVER_KEEPALIVES
    return found


def log_parameters(
    address: Address, *, server_timeout_s: int | None = None, application: str | None = None
) -> Mapping[str, Any]:
    """Return the libpq parameters for a replication connection, including the password.

    Args:
        address: The database.
        server_timeout_s: Time after which the server closes an unresponsive connection, in seconds; ``None`` for the
            server's default, 0 for no timeout.
        application: The ``application_name`` of the session; ``None`` for the default name.
    """
    found = {**sql_parameters(address), **_KEEPALIVES}
    if application is not None:
        found["application_name"] = application
    found["options"] += _SERVER_KEEPALIVES
    if server_timeout_s is not None:
        found["options"] += f" -c wal_sender_timeout={server_timeout_s}s"
    return {**found, "replication": "database"}
