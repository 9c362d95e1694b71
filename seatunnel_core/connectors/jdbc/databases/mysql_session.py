"""Connections to MySQL and MariaDB: their parameters, how a session begins, and the one that reads rows."""

import asyncio
import ssl
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import field, frozen

from seatunnel_core.connectors.jdbc.address import Address
from seatunnel_core.errors import UsageError

_OF_JAVA = {
    *("useUnicode", "characterEncoding", "rewriteBatchedStatements", "allowPublicKeyRetrieval", "autoReconnect"),
    *(
        "useCursorFetch",
        "defaultFetchSize",
        "cachePrepStmts",
        "useServerPrepStmts",
        "prepStmtCacheSize",
        "tcpKeepAlive",
    ),
    *("prepStmtCacheSqlLimit", "allowMultiQueries", "useCompression", "nullCatalogMeansCurrent", "maxReconnects"),
    *("useInformationSchema", "remarks", "failOverReadOnly", "useLegacyDatetimeCode", "useJDBCCompliantTimezoneShift"),
    *("allowLoadLocalInfile", "useBulkStmts", "pinGlobalTxToPhysicalConnection"),
}
"""Of drivers in Java only; nothing here needs them."""

_ZONES = ("connectionTimeZone", "serverTimezone", "timezone")
_ZERO_DATES = {"EXCEPTION": False, "CONVERT_TO_NULL": True, "CONVERTTONULL": True}
_VERIFIED = {"VERIFY_CA": ssl.CERT_REQUIRED, "VERIFY_IDENTITY": ssl.CERT_REQUIRED, "REQUIRED": ssl.CERT_NONE}

_SESSION = (
    "SET SESSION sql_mode = CONCAT(REPLACE(@@sql_mode, 'NO_BACKSLASH_ESCAPES', ''), "
    "',STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO'), lock_wait_timeout = 60",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
)
"""What does not fit is an error and not cut off, a 0 stays a 0, and nobody waits for a day to drop a table."""


@frozen(kw_only=True)
class Session:
    """How a connection is opened."""

    parameters: Mapping[str, Any] = field(repr=False)
    """Of PyMySQL and of asyncmy."""

    statements: tuple[str, ...]
    """What it begins with."""

    zero_is_null: bool
    """Whether the date 0000-00-00 is read as null, and not an error."""


def session_of(address: Address, literal: Callable[[str], str]) -> Session:
    """The session of a database.

    Raises:
        UsageError: a property that is not understood.
    """
    found: dict[str, Any] = {
        "host": address.host,
        "port": address.port,
        "user": address.user,
        "password": address.password or "",
        "database": address.database,
        "charset": "utf8mb4",
        "connect_timeout": address.timeout_s,
    }
    statements, files, zero_is_null = [*_SESSION], {}, False
    for name, value in address.properties:
        if name in _ZONES:
            statements.append(f"SET SESSION time_zone = {literal(_zone(value))}")
        elif name == "sessionVariables":
            statements.append("SET SESSION " + value.replace(";", ","))
        elif name == "connectTimeout":
            found["connect_timeout"] = max(1, int(value) // 1000)
        elif name == "socketTimeout":
            found["read_timeout"] = max(1, int(value) // 1000)
        elif name == "zeroDateTimeBehavior":
            zero_is_null = _zero_is_null(value)
        elif name in ("sslMode", "useSSL", "requireSSL", "ssl_ca", "ssl_cert", "ssl_key"):
            files[name] = value
        elif name not in _OF_JAVA:
            raise UsageError(f"option 'properties': {name} is not known for MySQL; leave it out")
    if files:
        found["ssl"] = _secured(files)
    return Session(
        parameters={name: value for name, value in found.items() if value is not None},
        statements=tuple(statements),
        zero_is_null=zero_is_null,
    )


def _zero_is_null(written: str) -> bool:
    if written.upper() not in _ZERO_DATES:
        raise UsageError(
            f"option 'properties': zeroDateTimeBehavior = {written} is not known here; write EXCEPTION or "
            "CONVERT_TO_NULL"
        )
    return _ZERO_DATES[written.upper()]


def _zone(written: str) -> str:
    """As the server has it: ``GMT+8`` and ``UTC`` are names of Java's."""
    name = written.replace("%2B", "+").replace("%2b", "+").strip()
    for before in ("GMT", "UTC"):
        if name.startswith(before):
            hours, _, minutes = (name[3:] or "+0").partition(":")
            return f"{int(hours):+03d}:{minutes or '00'}"
    return name


def _secured(written: Mapping[str, str]) -> ssl.SSLContext | None:
    """How the connection is encrypted, in the words of JDBC and with the files of PyMySQL."""
    mode = written.get("sslMode", "").upper().replace("-", "_")
    if not mode:
        wanted = {written.get(name, "").lower() for name in ("useSSL", "requireSSL")}
        mode = "VERIFY_CA" if "ssl_ca" in written else "REQUIRED" if "true" in wanted else "DISABLED"
    if mode in ("DISABLED", "PREFERRED"):
        return None
    if mode not in _VERIFIED:
        raise UsageError(
            f"option 'properties': sslMode = {mode} is not known; write DISABLED, REQUIRED, VERIFY_CA or "
            "VERIFY_IDENTITY"
        )
    context = ssl.create_default_context(cafile=written.get("ssl_ca"))
    context.check_hostname = mode == "VERIFY_IDENTITY"
    context.verify_mode = _VERIFIED[mode]
    if "ssl_cert" in written:
        context.load_cert_chain(written["ssl_cert"], written.get("ssl_key"))
    return context


class Reader:
    """A connection of asyncmy, with a loop of its own."""

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
        """A statement without rows that matter."""
        self._wait(self._connection.query(statement))

    def rows(self, statement: str, most: int) -> Iterator[list[tuple[Any, ...]]]:
        """The rows that a statement gives, so many at a time, while the server still sends."""
        from asyncmy.cursors import SSCursor

        cursor = self._connection.cursor(SSCursor)
        self._wait(cursor.execute(statement))
        while found := self._wait(cursor.fetchmany(most)):
            yield found
        self._wait(cursor.close())

    def rollback(self) -> None:
        self._wait(self._connection.rollback())

    def close(self) -> None:
        self._connection.close()
        self._loop.run_until_complete(asyncio.sleep(0))  # the transport closes in the loop's next turn
        self._loop.close()

    def _wait(self, doing: Any) -> Any:
        return self._loop.run_until_complete(doing)


def _without_decoders(conversions: Mapping[Any, Any]) -> dict[Any, Any]:
    """Values come as the server writes them: Arrow converts a column at once, and says what it cannot."""
    return {kind: how for kind, how in conversions.items() if not isinstance(kind, int)}
