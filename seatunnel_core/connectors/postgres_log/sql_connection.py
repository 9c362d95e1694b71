"""SQL connection for reading the catalog and managing slots and publications."""

from collections.abc import Mapping, Sequence
from typing import Any

import psycopg

from seatunnel_core.connectors.postgres_log.errors import LogConnectionError, LogServerError
from seatunnel_storage_api import secret

_SECRETS = ("password", "sslpassword")
_PERMANENT = (
    *("authentication failed", "does not exist", "no pg_hba.conf entry", "no password supplied", "permission denied"),
    *("not permitted to log in", "must be superuser or replication role", "does not support SSL"),
    *("certificate verify failed", "invalid connection option"),
)
"""Messages of permanent connection errors, which have no SQLSTATE."""


def connect(parameters: Mapping[str, Any]) -> Any:
    """Open a psycopg connection in autocommit mode, with parameters from ``session.sql_parameters``.

    Raises:
        LogConnectionError: The server is not reachable or rejects the connection.
    """
    try:
        return psycopg.connect(**parameters, autocommit=True)
    except psycopg.Error as error:
        raise not_connected(str(error), parameters) from None


def not_connected(message: str, parameters: Mapping[str, Any]) -> LogConnectionError:
    """Return the error for a failed connection attempt; retryable unless the message indicates a permanent error."""
    error = LogConnectionError(without_secrets(message, parameters))
    error.retryable = not any(words in message for words in _PERMANENT)
    return error


def run(connection: Any, statement: str, values: Sequence[Any] | None = None) -> list[Any]:
    """Run a statement and return its rows.

    Raises:
        LogConnectionError: The connection is lost.
        LogServerError: The server rejects the statement.
    """
    try:
        cursor = connection.execute(statement, values)
        return list(cursor.fetchall()) if cursor.description else []
    except psycopg.Error as error:
        if connection.closed or not error.sqlstate:
            raise LogConnectionError(" ".join(str(error).split())) from None
        raise LogServerError(error.diag.message_primary or str(error), error.sqlstate) from None


def without_secrets(message: str, parameters: Mapping[str, Any]) -> str:
    """Remove the secrets in the libpq parameters from a message, and join its lines."""
    secrets = [str(parameters[name]) for name in _SECRETS if parameters.get(name)]
    return secret.masked(" ".join(message.split()), secrets)


def quoted_name(name: str) -> str:
    """Return a name in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """Return a string in single quotes."""
    return "'" + text.replace("'", "''") + "'"
