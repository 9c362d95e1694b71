"""Database access: transactions, tables, and conversion of failures to storage errors."""

import importlib
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from attrs import define
from sqlalchemy import exc
from sqlalchemy.dialects import mysql

from seatunnel_storage_api.errors import StorageAccessError, StorageConfigurationError, StorageUnavailableError
from seatunnel_storage_jdbc.address import Address
from seatunnel_storage_jdbc.databases.dialect import STATEMENT_S, Dialect
from seatunnel_storage_jdbc.databases.mysql import MySQL
from seatunnel_storage_jdbc.databases.postgresql import PostgreSQL
from seatunnel_storage_jdbc.databases.sqlite import SQLite

PART_BYTES = 1 << 20
"""Maximum number of bytes in one row. Even when escaped, this is far below MySQL's packet limit (16 MiB on MariaDB)."""

_DIALECTS: Mapping[str, type[Dialect]] = {"postgresql": PostgreSQL, "mysql": MySQL, "sqlite": SQLite}
_POOL = {"pool_size": 4, "max_overflow": 12, "pool_timeout": 60, "pool_pre_ping": True}
_WRITES = "seatunnel_writes"


class Database:
    """Connections of this process to one database, shared by objects with equal addresses.

    Thread-safe. Connects at the first transaction. ``answer_s`` is the timeout of a connection attempt and of a
    response, in seconds.
    """

    def __init__(self, address: Address, answer_s: int = STATEMENT_S) -> None:
        self.address = address
        self._key = address, answer_s
        self._users = _users_of(*self._key)
        self.dialect = self._users.dialect
        self._closed = False

    def __str__(self) -> str:
        return str(self.address)

    @contextmanager
    def transaction(self, *, writes: bool = False) -> Iterator[sa.Connection]:
        """Yield a connection in a transaction, which is committed at the end, and rolled back if an error is raised.

        Each statement sees everything that was committed before it started.

        Raises:
            StorageUnavailableError: The database does not respond, or a deadlock or a timeout ended the transaction. If
                this happened during the commit, it is unknown whether the transaction is durable.
            StorageAccessError: The database denies access.
            sqlalchemy.exc.IntegrityError: A row with this key exists.
        """
        with self._sorted(), self._users.engine.connect() as connection:
            connection.execution_options(**{_WRITES: writes})
            with connection.begin():
                yield connection

    def exists(self) -> bool:
        """Return True if the database exists; opening a missing SQLite file would create it."""
        return self.dialect.exists(self.address)

    def has(self, table: sa.Table) -> bool:
        """Return True if a table exists. Raises the errors of ``transaction``."""
        with self.transaction() as connection:
            return sa.inspect(connection).has_table(table.name)

    def require(self, *tables: sa.Table) -> None:
        """Create missing tables; several processes may do this concurrently."""
        for table in tables:
            if self.has(table):
                continue
            try:
                with self.transaction(writes=True) as connection:
                    connection.execute(sa.schema.CreateTable(table))
            except (StorageAccessError, exc.IntegrityError):
                if not self.has(table):  # else another process created it first
                    raise

    def weaknesses(self) -> tuple[str, ...]:
        """Return a sentence for each server setting that may lose acknowledged data."""
        with self.transaction() as connection:
            return self.dialect.weaknesses(connection)

    def close(self) -> None:
        """Release the connections, which are closed when the last user releases them. May be called twice."""
        if not self._closed:
            self._closed = True
            _let_go(self._key)

    @contextmanager
    def _sorted(self) -> Iterator[None]:
        try:
            yield
        except exc.IntegrityError:
            raise
        except exc.DBAPIError as error:
            raise self._storage_error(error) from error.orig
        except exc.TimeoutError as error:
            raise StorageUnavailableError(
                "all connections of this process to the database were in use for too long. Find the operations "
                "that use them"
            ) from error

    def _storage_error(self, error: exc.DBAPIError) -> StorageUnavailableError | StorageAccessError:
        cause = error.orig or error
        said = self.address.hide(self.dialect.message(cause))
        if error.connection_invalidated or self.dialect.may_pass(cause):
            return StorageUnavailableError(f"{said}. Check that the database is up and has free space, then try again")
        return StorageAccessError(
            f"{said}. Check url, user and password, and that this user may create tables there, and insert, select, "
            "update and delete rows"
        )


@define
class _Users:
    """Engine with its connection pool, and the number of objects that use it."""

    engine: sa.Engine
    dialect: Dialect
    count: int = 0


_guard = threading.Lock()
_in_use: dict[tuple[Address, int], _Users] = {}


def _users_of(address: Address, answer_s: int) -> _Users:
    with _guard:
        found = _in_use.get((address, answer_s))
        if found is None:
            dialect = _DIALECTS[address.kind]()
            _require(dialect)
            found = _in_use[address, answer_s] = _Users(_engine_of(address, dialect, answer_s), dialect)
        found.count += 1
        return found


def _let_go(key: tuple[Address, int]) -> None:
    with _guard:
        users = _in_use[key]
        users.count -= 1
        if not users.count:
            del _in_use[key]
            users.engine.dispose()


def _engine_of(address: Address, dialect: Dialect, answer_s: int) -> sa.Engine:
    arguments = dialect.arguments(address, answer_s)
    engine = sa.create_engine(dialect.url(address), connect_args=arguments, hide_parameters=True, **_POOL)

    def begun(connection: sa.Connection) -> None:
        dialect.begin(connection, writes=connection.get_execution_options().get(_WRITES, False))

    sa.event.listen(engine, "connect", lambda connection, _: dialect.begin_session(connection))
    sa.event.listen(engine, "begin", begun)
    return engine


def key_column(name: str, length: int, **more: Any) -> "sa.Column[str]":
    """Return a text column that is compared byte by byte, regardless of the database's collation."""
    kind = (
        sa.String(length)
        .with_variant(sa.String(length, collation="C"), "postgresql")
        .with_variant(mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin"), "mysql", "mariadb")
    )
    return sa.Column(name, kind, nullable=False, **more)


def bytes_column(name: str) -> "sa.Column[bytes]":
    """Return a column of up to ``PART_BYTES`` bytes."""
    kind = sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")
    return sa.Column(name, kind, nullable=False)


def table(name: str, *columns: "sa.Column[Any]") -> sa.Table:
    """Return a transactional table in a separate ``MetaData`` collection."""
    return sa.Table(name, sa.MetaData(), *columns, mysql_engine="InnoDB", mariadb_engine="InnoDB")


def _require(dialect: Dialect) -> None:
    if not dialect.driver:
        return
    try:
        importlib.import_module(dialect.driver)
    except ModuleNotFoundError as cause:
        raise StorageConfigurationError(
            f"this database needs the package {dialect.driver}, which is not installed: in a clone of this project, "
            f"run pip install './plugins/seatunnel-storage-jdbc[{dialect.extra}]'"
        ) from cause
