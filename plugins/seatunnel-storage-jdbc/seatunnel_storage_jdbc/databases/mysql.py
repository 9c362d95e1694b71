"""MySQL and MariaDB, with PyMySQL."""

from typing import Any, ClassVar

import sqlalchemy as sa

from seatunnel_core.clients.jdbc.tls import TLS_PROPERTIES, tls_context
from seatunnel_storage_api.errors import StorageConfigurationError
from seatunnel_storage_jdbc.address import Address
from seatunnel_storage_jdbc.databases.dialect import CONNECT_S, IDLE_S, LOCK_S, Dialect

_OF_JAVA = frozenset(
    {"useUnicode", "characterEncoding", "rewriteBatchedStatements", "allowPublicKeyRetrieval", "autoReconnect"}
    | {"useCursorFetch", "defaultFetchSize", "cachePrepStmts", "useServerPrepStmts", "prepStmtCacheSize"}
    | {"prepStmtCacheSqlLimit", "allowMultiQueries", "useCompression", "serverTimezone", "connectionTimeZone"}
    | {"tcpKeepAlive", "socketTimeout", "zeroDateTimeBehavior", "failOverReadOnly", "useLegacyDatetimeCode"}
)
"""Properties that only Java drivers need; they are ignored."""

_SESSION = (
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET SESSION sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES'), "
    f"innodb_lock_wait_timeout = {LOCK_S}, lock_wait_timeout = {LOCK_S}",
)
_IDLE_IN_TRANSACTION = {True: "idle_transaction_timeout", False: "wait_timeout"}
"""Setting for the idle timeout; the key is True for MariaDB. MySQL's setting applies to all idle connections."""

_PASSING = frozenset(
    {1021, 1040, 1053, 1079, 1114, 1129, 1152, 1158, 1159, 1160, 1161, 1184, 1203, 1205, 1213, 1226, 1412, 1927}
    | {1290, 1836, 2002, 2003, 2006, 2013, 2014, 3024, 3058, 4031}
)
"""Retryable errors: connection lost or refused, connection limit, shutdown, disk full, read-only, deadlock, timeout."""


class MySQL(Dialect):
    """MySQL 8.0 or newer, or MariaDB 10.3 or newer."""

    driver: ClassVar[str] = "pymysql"
    extra: ClassVar[str] = "mysql"

    shows_before_durable: ClassVar[bool] = True
    """True, because without a binary log InnoDB shows a commit to other transactions before it syncs its log."""

    def url(self, address: Address) -> sa.URL:
        return sa.URL.create("mysql+pymysql")  # SQLAlchemy adds a flag by which an UPDATE counts the matched rows

    def arguments(self, address: Address, answer_s: int) -> dict[str, Any]:
        found: dict[str, Any] = {
            "host": address.host,
            "port": address.port,
            "database": address.database,
            "user": address.user,
            "password": address.password or "",
            "charset": "utf8mb4",
            "connect_timeout": min(CONNECT_S, answer_s),
            "read_timeout": answer_s,
            "write_timeout": answer_s,
        }
        for name, value in address.properties:
            if name == "connectTimeout":
                found["connect_timeout"] = max(1, int(value) // 1000)
            elif name not in _OF_JAVA | TLS_PROPERTIES:
                raise StorageConfigurationError(f"the property {name} in url is unknown for MySQL: remove it")
        try:
            context = tls_context(dict(address.properties))
        except StorageConfigurationError as error:
            raise StorageConfigurationError(f"url: {error}") from None
        return found if context is None else {**found, "ssl": context}

    def begin_session(self, connection: Any) -> None:
        idle = _IDLE_IN_TRANSACTION["MariaDB" in connection.get_server_info()]
        with connection.cursor() as cursor:
            for statement in (*_SESSION, f"SET SESSION {idle} = {IDLE_S}"):
                cursor.execute(statement)
        connection.commit()

    def weaknesses(self, connection: sa.Connection) -> tuple[str, ...]:
        found = []
        flush, log, sync = connection.exec_driver_sql(
            "SELECT @@innodb_flush_log_at_trx_commit, @@log_bin, @@sync_binlog"
        ).one()
        if flush != 1:
            found.append(f"innodb_flush_log_at_trx_commit is {flush}")
        if log and sync != 1:
            found.append(f"sync_binlog is {sync}")
        return tuple(
            f"{each} on this server: a crash may lose acknowledged data. Set it to 1 in the server's configuration"
            for each in found
        )

    def may_pass(self, error: BaseException) -> bool:
        import pymysql

        if isinstance(error, OSError | pymysql.err.InterfaceError):
            return True
        return bool(error.args) and error.args[0] in _PASSING

    def message(self, error: BaseException) -> str:
        return f"{error.args[1]} (error {error.args[0]})" if len(error.args) > 1 else super().message(error)
