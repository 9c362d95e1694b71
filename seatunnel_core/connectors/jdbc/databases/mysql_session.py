"""Connections to MySQL and MariaDB: connection parameters, first statements of a session, and the reader of rows."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import field, frozen

from seatunnel_core.clients.jdbc.tls import tls_context
from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connectors.jdbc.address import Address
from seatunnel_core.connectors.jdbc.databases.mysql_properties import PROPERTIES
from seatunnel_storage_api.errors import StorageConfigurationError

ZONES = ("connectionTimeZone", "serverTimezone", "timezone")
"""Connection properties that set the time zone of a session."""

_ZERO_DATES = {"EXCEPTION": False, "CONVERT_TO_NULL": True, "CONVERTTONULL": True}

_SESSION = (
    "SET SESSION sql_mode = CONCAT(REPLACE(@@sql_mode, 'NO_BACKSLASH_ESCAPES', ''), "
    "',STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO'), lock_wait_timeout = 60",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
)
"""Session settings that reject values that do not fit instead of truncating them, keep 0 in AUTO_INCREMENT columns, and
wait at most a minute instead of a day for the lock on a table to be dropped.
"""


@frozen(kw_only=True)
class Session:
    """Parameters of a connection, and the statements to run first."""

    parameters: Mapping[str, Any] = field(repr=False)
    """Parameters of PyMySQL's and asyncmy's ``connect``."""

    statements: tuple[str, ...]
    """Statements to run first on a connection."""

    zero_is_null: bool
    """True to read the date 0000-00-00 as null; if False, this date is an error."""


def session_of(address: Address, literal: Callable[[str], str]) -> Session:
    """Return the session for an address; raise ``UsageError`` for an unknown property."""
    PROPERTIES.require(address.properties)
    found = _parameters(address)
    statements = [*_SESSION]
    for name, value in address.properties:
        if name in ZONES:
            statements.append(f"SET SESSION time_zone = {literal(_zone(value))}")
        elif name == "sessionVariables":
            statements.append("SET SESSION " + value.replace(";", ","))
        elif name == "connectTimeout":
            found["connect_timeout"] = max(1, int(value) // 1000)
        elif name == "socketTimeout":
            found["read_timeout"] = max(1, int(value) // 1000)
    try:
        found["ssl"] = tls_context(dict(address.properties))
    except StorageConfigurationError as error:
        raise UsageError(f"option 'properties': {error}") from None
    return Session(
        parameters={name: value for name, value in found.items() if value is not None},
        statements=tuple(statements),
        zero_is_null=reads_zero_as_null(address),
    )


def _parameters(address: Address) -> dict[str, Any]:
    return {
        "host": address.host,
        "port": address.port,
        "user": address.user,
        "password": address.password or "",
        "database": address.database,
        "charset": "utf8mb4",
        "connect_timeout": address.timeout_s,
    }


def reads_zero_as_null(address: Address) -> bool:
    """Return True to read the date 0000-00-00 as null; raise ``UsageError`` if the property has another value."""
    written = dict(address.properties).get("zeroDateTimeBehavior", "EXCEPTION")
    if written.upper() not in _ZERO_DATES:
        raise UsageError(
            f"option 'properties': zeroDateTimeBehavior = {written} is not supported; write EXCEPTION or "
            "CONVERT_TO_NULL"
        )
    return _ZERO_DATES[written.upper()]


def _zone(written: str) -> str:
    """Return a time zone, such as Java's ``GMT+8`` or ``UTC``, in the server's notation."""
    name = written.replace("%2B", "+").replace("%2b", "+").strip()
    for before in ("GMT", "UTC"):
        if name.startswith(before):
            hours, _, minutes = (name[3:] or "+0").partition(":")
            return f"{int(hours):+03d}:{minutes or '00'}"
    return name


class Reader:
    """An asyncmy connection for reading rows, with its own event loop."""

    def __init__(self, session: Session) -> None:
        import asyncmy
        from asyncmy.converters import conversions

        self._loop = asyncio.new_event_loop()
        try:
            self._connection = self._wait(asyncmy.connect(**session.parameters, conv=_without_decoders(conversions)))
            for statement in session.statements:
                self.run(statement)
        except BaseException:
            self._loop.close()
            raise

    def run(self, statement: str) -> None:
        """Run a statement and discard its result."""
        self._wait(self._connection.query(statement))

    def rows(self, statement: str, most: int) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of a statement as the server sends them, at most ``most`` at a time."""
        from asyncmy.cursors import SSCursor

        cursor = self._connection.cursor(SSCursor)
        self._wait(cursor.execute(statement))
        while found := self._wait(cursor.fetchmany(most)):
            yield found
        self._wait(cursor.close())

    def rollback(self) -> None:
        """Roll back the transaction."""
        self._wait(self._connection.rollback())

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
        self._loop.run_until_complete(asyncio.sleep(0))  # let the transport close in the loop's next iteration
        self._loop.close()

    def _wait(self, doing: Any) -> Any:
        return self._loop.run_until_complete(doing)


def _without_decoders(conversions: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return only the conversions of parameters. Results remain strings, which Arrow converts by column type."""
    return {kind: how for kind, how in conversions.items() if not isinstance(kind, int)}
