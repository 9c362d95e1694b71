"""Session settings with which snapshots and the log return the same strings."""

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
"""Settings on which strings of values depend, except ``lc_monetary``, which is the same for a user and a database.
Without ``row_security``, a table whose policies would hide rows is an error: the log has all its rows.
"""

_KEEPALIVES = {"keepalives": 1, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
_SERVER_KEEPALIVES = " -c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3"
"""TCP keepalives by which each side detects within a minute that the other machine has failed."""


def with_session(address: Address) -> Address:
    """Return an address with the session settings of the log; also use it to read snapshots."""
    own = " ".join(f"-c {name}={value}" for name, value in _SETTINGS.items())
    return evolve(address, properties=(*address.properties, ("options", own)))


def sql_parameters(address: Address) -> Mapping[str, Any]:
    """Return the libpq parameters of an SQL connection, including the password."""
    return {**PostgreSQL(with_session(address), 1).parameters(), "client_encoding": "UTF8"}


def log_parameters(address: Address, *, server_timeout_s: int | None = None) -> Mapping[str, Any]:
    """Return the libpq parameters of a replication connection, including the password.

    Args:
        address: The database.
        server_timeout_s: Time after which the server closes a connection that does not respond, in seconds; ``None``
            for the server's setting, 0 for never.
    """
    found = {**sql_parameters(address), **_KEEPALIVES}
    found["options"] += _SERVER_KEEPALIVES
    if server_timeout_s is not None:
        found["options"] += f" -c wal_sender_timeout={server_timeout_s}s"
    return {**found, "replication": "database"}
