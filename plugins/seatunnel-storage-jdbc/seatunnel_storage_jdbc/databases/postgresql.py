"""PostgreSQL, with psycopg."""

from typing import Any, ClassVar

import sqlalchemy as sa

from seatunnel_storage_jdbc.address import Address
from seatunnel_storage_jdbc.databases.dialect import CONNECT_S, IDLE_S, LOCK_S, Dialect

_LIBPQ = {
    "ApplicationName": "application_name",
    "connectTimeout": "connect_timeout",
    "loginTimeout": "connect_timeout",
    "gssEncMode": "gssencmode",
    "kerberosServerName": "krbsrvname",
}
"""Properties of the JDBC driver and their names in libpq."""

_OF_JAVA = frozenset(
    {"socketTimeout", "stringtype", "reWriteBatchedInserts", "defaultRowFetchSize", "prepareThreshold", "loggerLevel"}
    | {"binaryTransfer", "preparedStatementCacheQueries", "autosave", "tcpKeepAlive", "sslfactory", "useUnicode"}
    | {"characterEncoding", "serverTimezone", "useSSL"}
)
"""Properties that only Java drivers need; they are ignored."""

_KEEPALIVES = {"keepalives_idle": 5, "keepalives_interval": 3, "keepalives_count": 3}
_SILENT_MS = 15_000
"""Time after which a lost server is detected, in milliseconds."""

_PASSING = ("08", "53", "57P", "40", "25006", "25P0", "55P03", "57014", "58")
"""Prefixes of retryable SQLSTATEs: connection lost, insufficient resources, server shutdown or startup, deadlock, a
standby before its promotion, idle transaction timeout, lock timeout, statement timeout, system error."""

_REFUSED = ("authentication failed", "does not exist", "no pg_hba.conf entry", "no password supplied")
"""Messages of permanent connection errors, which have no SQLSTATE."""


class PostgreSQL(Dialect):
    """PostgreSQL 12 or newer."""

    driver: ClassVar[str] = "psycopg"
    extra: ClassVar[str] = "postgresql"

    def url(self, address: Address) -> sa.URL:
        return sa.URL.create("postgresql+psycopg")

    def arguments(self, address: Address, answer_s: int) -> dict[str, Any]:
        settings = [
            f"-c idle_in_transaction_session_timeout={IDLE_S}s",
            f"-c lock_timeout={min(LOCK_S, answer_s)}s",
            f"-c statement_timeout={answer_s}s",
        ]
        found: dict[str, Any] = {
            "host": address.host,
            "port": address.port,
            "dbname": address.database,
            "connect_timeout": min(CONNECT_S, answer_s),
            "application_name": "seatunnel",
            **_KEEPALIVES,
            "tcp_user_timeout": min(_SILENT_MS, 1_000 * answer_s),
        }
        for name, value in address.properties:
            if name == "currentSchema":
                settings.append("-c search_path=" + value.replace(" ", ""))
            elif name == "options":
                settings.append(value)
            elif name == "ssl":
                found.setdefault("sslmode", "verify-full" if value.lower() in ("", "true") else "prefer")
            elif name not in _OF_JAVA:
                found[_LIBPQ.get(name, name)] = value
        login = {"user": address.user, "password": address.password}
        return {
            **found,
            "options": " ".join(settings),
            **{key: text for key, text in login.items() if text is not None},
        }

    def begin_session(self, connection: Any) -> None:
        with connection.cursor() as cursor:  # settings that a role or a database may have turned off
            cursor.execute(
                "SELECT set_config('synchronous_commit', 'on', false) "
                "WHERE current_setting('synchronous_commit') = 'off'"
            )
        connection.commit()

    def weaknesses(self, connection: sa.Connection) -> tuple[str, ...]:
        if connection.exec_driver_sql("SHOW fsync").scalar() == "on":
            return ()
        return ("fsync is off on this PostgreSQL: a crash of the server may lose acknowledged data. Set fsync = on",)

    def may_pass(self, error: BaseException) -> bool:
        import psycopg

        state = getattr(error, "sqlstate", None)
        if state is None:
            return isinstance(error, psycopg.OperationalError) and not any(each in str(error) for each in _REFUSED)
        return state.startswith(_PASSING) or "could not extend file" in str(error)  # no SQLSTATE is specific to a quota
