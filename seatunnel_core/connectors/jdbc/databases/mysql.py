"""MySQL and MariaDB: asyncmy reads rows; SQLAlchemy with PyMySQL does everything else.

DDL ends the transaction, so a rollback keeps staging tables; they are dropped after their rows have been committed.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.types as of
from attrs import evolve

from seatunnel_core.connectors.jdbc.column import Column, DatabaseTable
from seatunnel_core.connectors.jdbc.databases.column_type import column_type
from seatunnel_core.connectors.jdbc.databases.dialect import Asking, Dialect
from seatunnel_core.connectors.jdbc.databases.mysql_connection import mysql_connection
from seatunnel_core.connectors.jdbc.databases.mysql_images import row_image
from seatunnel_core.connectors.jdbc.databases.mysql_session import Reader, Session, session_of
from seatunnel_core.connectors.jdbc.databases.mysql_values import (
    MOMENT,
    ORDERS,
    array_of,
    column_of,
    described,
    fixed_zone,
    rows_as_sql,
)
from seatunnel_core.connectors.jdbc.databases.windows import note_version
from seatunnel_core.connectors.jdbc.fetched import Fetched, fetched, schema_of
from seatunnel_core.connectors.jdbc.order import OWN, Order
from seatunnel_core.connectors.tables.database import TableColumn
from seatunnel_core.connectors.tables.table_path import TablePath, parts_of

READING = "reading"
"""Kind of connection for reading rows."""

_STATEMENT_BYTES = 4 << 20
"""Maximum size of an INSERT of several rows, in bytes; larger ones are not faster."""

_PACKET_MARGIN = 65_536
"""Size of the part of a packet that is reserved for the SQL before the rows, in bytes."""

_PAIRS = 200
"""Maximum number of pairs of split bounds that one statement compares."""

_PASSING = {
    *(1040, 1053, 1079, 1129, 1152, 1158, 1159, 1160, 1161, 1184, 1203, 1205, 1213, 1226, 1412, 1927),
    *(2002, 2003, 2006, 2013, 2014, 2055, 3058, 4031),
}
"""Error codes for which a retry may help: connection lost, too many connections, shutdown, deadlock, lock timeout."""

_FULL = (1021, 1114)
"""Error codes of a full disk or tablespace."""

_TABLE = (
    "SELECT coalesce(e.TRANSACTIONS, 'NO') FROM information_schema.TABLES t LEFT JOIN information_schema.ENGINES e "
    "ON e.ENGINE = t.ENGINE WHERE t.TABLE_SCHEMA = %s AND t.TABLE_NAME = %s"
)
_COLUMNS = (
    "SELECT COLUMN_NAME, COLUMN_TYPE, coalesce(COLLATION_NAME, ''), IS_NULLABLE, EXTRA <> '' OR COLUMN_DEFAULT IS NOT "
    "NULL AND (COLUMN_DEFAULT <> 'NULL' OR VERSION() NOT LIKE '%%MariaDB%%'), coalesce(GENERATION_EXPRESSION, '') "
    "<> '' FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION"
)
"""Query for the columns of a table. A missing default is 'NULL' in MariaDB, null in MySQL."""

_SAID = (
    "SELECT coalesce(COLUMN_DEFAULT, 'NULL'), EXTRA, COLUMN_COMMENT FROM information_schema.COLUMNS "
    "WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
)
"""Query for a column's default, extra attributes and comment."""

_KEYS = (
    "SELECT INDEX_NAME, COLUMN_NAME, SUB_PART FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = %s AND "
    "TABLE_NAME = %s AND NON_UNIQUE = 0 ORDER BY INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX"
)


class MySQL(Dialect):
    """MySQL 5.7 or newer, or MariaDB 10.3 or newer. Some features require window functions, which MySQL 5.7 lacks."""

    orders: ClassVar[Mapping[str, Order]] = ORDERS
    plain_order: ClassVar[str] = "bytes"
    ddl_commits: ClassVar[bool] = True
    table_options: ClassVar[str] = " ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"
    text_order: ClassVar[str] = " COLLATE=utf8mb4_bin"

    # -- connections ----------------------------------------------------------------------------------------------

    def engine(self) -> Any:
        import sqlalchemy as sa

        session = self.session()

        def opened() -> Any:
            found = mysql_connection(session.parameters)
            note_version(self.address, found.get_server_info())
            with found.cursor() as cursor:
                for statement in session.statements:
                    cursor.execute(statement)
            return found

        return sa.create_engine("mysql+pymysql://", creator=opened, poolclass=sa.pool.NullPool)

    def open(self, kind: str) -> Any:
        if kind != READING:
            return super().open(kind)
        return Reader(self.session())

    def alive(self, connection: Any) -> bool:
        if not isinstance(connection, Reader):
            return super().alive(connection)
        try:
            connection.run("SELECT 1")
        except Exception:
            return False
        return True

    def session(self) -> Session:
        """Return the parameters of a connection and the statements to run first."""
        return session_of(self.address, self.literal)

    # -- names and strings ----------------------------------------------------------------------------------------

    def quoted(self, *names: str) -> str:
        return ".".join("`" + name.replace("`", "``") + "`" for name in names)

    def path(self, written: str) -> TablePath:
        parts = parts_of(written)
        if len(parts) > 2:
            raise ValueError(f"{written!r} is not a MySQL table name; write database.table")
        return (self.address.database, parts[0]) if len(parts) == 1 else parts

    def path_in(self, database: str, written: str) -> TablePath:
        return self.path(f"{database}.{written}" if database and len(parts_of(written)) == 1 else written)

    def table_name(self, path: TablePath) -> str:
        return ".".join(path)

    def literal(self, value: str | int) -> str:
        return super().literal(value.replace("\\", "\\\\") if isinstance(value, str) else value)

    # -- reading --------------------------------------------------------------------------------------------------

    def columns(self, connection: Any, select: str) -> tuple[Any, ...]:
        cursor = self.cursor(connection)
        cursor.execute(f"SELECT * FROM ({select}\n) AS seatunnel_rows LIMIT 0")
        return self._zoned(cursor, [column_of(field.name, described(field)) for field in cursor._result.fields])

    def table(self, connection: Any, path: TablePath) -> DatabaseTable | None:
        cursor = self.cursor(connection)
        try:
            # MariaDB's information_schema briefly lacks a table while another process alters it: wait for that.
            cursor.execute(f"SELECT 1 FROM {self.quoted(*path)} LIMIT 0")
        except Exception as error:
            if self.is_missing_table(error):
                return None
        cursor.execute(_TABLE, path)
        found = cursor.fetchone()
        if found is None:
            return None
        cursor.execute(_COLUMNS, path)
        columns = [
            evolve(
                column_of(name, _text(declared), collation, nullable=nullable == "YES", filled=bool(filled)),
                generated=bool(generated),
            )
            for name, declared, collation, nullable, filled, generated in cursor.fetchall()
        ]
        cursor.execute(_KEYS, path)
        keys: dict[str, list[str | None]] = {}
        for index, name, part in cursor.fetchall():
            keys.setdefault(index, []).append(name if part is None else None)
        whole = {index: tuple(names) for index, names in keys.items() if None not in names}
        return DatabaseTable(
            columns=self._zoned(cursor, columns),
            primary_key=whole.get("PRIMARY", ()),  # type: ignore[arg-type]
            unique_keys=tuple(whole.values()),  # type: ignore[arg-type]
            others_unique=len(keys) > 1,
            transactional=found[0] == "YES",
        )

    def _zoned(self, cursor: Any, columns: Sequence[Column]) -> tuple[Column, ...]:
        """Return the columns; if the session time zone has a fixed offset, timestamps are sorted by value."""
        if not any(each.order == MOMENT for each in columns):
            return tuple(columns)
        cursor.execute("SELECT @@session.time_zone, @@system_time_zone")
        zone = fixed_zone(*map(str, cursor.fetchone()))
        fixed = [evolve(each, order=OWN, zone=zone) if zone and each.order == MOMENT else each for each in columns]
        return tuple(fixed)

    def tables(self, connection: Any, schema: str | None, prefix: str) -> list[str]:
        in_schema = f"TABLE_SCHEMA = {self.literal(schema or self.address.database)}"
        asked = f"SELECT TABLE_NAME FROM information_schema.TABLES WHERE {in_schema}"
        found = self.ask(connection, f"{asked} AND left(TABLE_NAME, {len(prefix)}) = {self.literal(prefix)}")
        return [name for (name,) in found]

    def estimated_rows(self, connection: Any, path: TablePath) -> int | None:
        schema, name = map(self.literal, path)
        asked = (
            f"SELECT TABLE_ROWS FROM information_schema.TABLES WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = {name}"
        )
        found = self.ask(connection, asked)
        return int(found[0][0]) if found and found[0][0] else None

    def sampled(self, one_of: int) -> str:
        return f"rand() < {1 / one_of:.9f}"

    def rises(self, ask: Asking, column: Column, borders: Sequence[str]) -> bool:
        """Compare the bounds on the server: it sorts long strings by a prefix, and some collations are inconsistent."""
        if not column.collation or column.order != OWN:
            return True
        how = f"CONVERT({{}} USING {column.collation.partition('_')[0]}) COLLATE {column.collation}"
        written = [how.format(self.literal(border)) for border in borders]
        pairs = [f"{low} > {high}" for low, high in pairwise(written)]
        some = (pairs[start : start + _PAIRS] for start in range(0, len(pairs), _PAIRS))
        return not any(ask(f"SELECT {' OR '.join(each)}")[0][0] for each in some)

    def read(
        self, statement: str, columns: Sequence[Column], fetch_size: int, snapshot: str | None
    ) -> Generator[Fetched, None, None]:
        with self.pool.lend(READING) as connection:
            connection.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            connection.run("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
            yield from self.fetched(connection, statement, columns, fetch_size)

    def fetched(
        self, connection: Reader, statement: str, columns: Sequence[Column], fetch_size: int
    ) -> Iterator[Fetched]:
        """Yield the rows of a SELECT in batches, in the transaction of the connection."""
        schema = schema_of(columns)
        zero_is_null = self.session().zero_is_null
        for rows in connection.rows(statement, fetch_size):
            values = zip(*rows, strict=True)
            arrays = [
                array_of(list(each), column.type, column.name, zero_is_null=zero_is_null)
                for each, column in zip(values, schema, strict=True)
            ]
            yield fetched(schema, arrays)

    # -- writing --------------------------------------------------------------------------------------------------

    def column_type(self, arrow: pa.DataType) -> Any:
        from sqlalchemy.dialects import mysql

        if of.is_timestamp(arrow):
            return mysql.DATETIME(fsp=6)
        special: dict[pa.DataType, Any] = {
            **dict.fromkeys((pa.string(), pa.large_string(), pa.string_view()), mysql.LONGTEXT()),
            **dict.fromkeys((pa.binary(), pa.large_binary()), mysql.LONGBLOB()),
            **dict.fromkeys((pa.float16(), pa.float32()), mysql.FLOAT()),
            pa.uint64(): mysql.BIGINT(unsigned=True),
            pa.int8(): mysql.TINYINT(),
        }
        if of.is_time(arrow):
            return mysql.TIME(fsp=6)
        return special.get(arrow) or column_type(arrow)

    def key_type(self, arrow: pa.DataType) -> Any:
        import sqlalchemy as sa

        if of.is_string(arrow) or of.is_large_string(arrow):
            return sa.String(255)
        return sa.VARBINARY(255) if of.is_binary(arrow) else self.column_type(arrow)

    def widen_column(self, connection: Any, path: TablePath, column: TableColumn, declared: str) -> str | None:
        """Return a MODIFY statement; ``None`` if it would remove a default value or the generation of values."""
        cursor = self.cursor(connection)
        cursor.execute(f"{_SAID} AND COLUMN_NAME = %s", (*path, column.name))
        default, extra, said = map(_text, cursor.fetchone())
        if default != "NULL" or extra:
            return None
        comment = f" COMMENT {self.literal(said)}"
        needed = "NULL" if column.nullable else "NOT NULL"
        made = f"{self.quoted(column.name)} {declared} {needed}{comment}"
        return f"ALTER TABLE {self.quoted(*path)} MODIFY COLUMN {made}"

    def differ(self, one: str, other: str) -> str:
        """Return a condition that also compares bytes, because a collation may ignore case and trailing spaces."""
        return f"NOT ({one} <=> {other}) OR NOT (CAST({one} AS BINARY) <=> CAST({other} AS BINARY))"

    def row_image(self, columns: Sequence[TableColumn], of: str) -> str:
        return row_image([(column, f"{of}.{self.quoted(column.name)}") for column in columns])

    def matching(self, table: str, value: str, select: str, name: str) -> str:
        """Return a join that reads ``table`` first, so that the value is computed once for each of its rows."""
        return f"FROM {table} STRAIGHT_JOIN ({select}) AS seatunnel_some ON seatunnel_some.{name} = {value}"

    def delete_matching(self, table: str) -> str:
        return f"DELETE {table}"

    def wait_for_locks(self, connection: Any, seconds: int) -> None:
        self.cursor(connection).execute(f"SET SESSION innodb_lock_wait_timeout = {seconds}")

    @contextmanager
    def exclusively(self, connection: Any, name: str, seconds: int) -> Iterator[None]:
        """Hold a session lock; the locks of a transaction would be released by DDL such as DROP TABLE."""
        cursor = self.cursor(connection)
        cursor.execute("SELECT GET_LOCK(%s, %s)", (name, seconds))
        if cursor.fetchone()[0] != 1:
            raise RuntimeError(f"the lock {name} was not available within {seconds} seconds: another process holds it")
        try:
            yield
        finally:
            cursor.execute("SELECT RELEASE_LOCK(%s)", (name,))

    def lock_row(self, statement: str) -> str:
        return f"{statement} FOR UPDATE"

    def copy(self, connection: Any, path: TablePath, rows: pa.RecordBatch, *, temporary: bool) -> None:
        cursor = self.cursor(connection)
        cursor.execute("SELECT @@max_allowed_packet")
        packet = cursor.fetchone()[0]
        most = packet - _PACKET_MARGIN
        names = ", ".join(self.quoted(name) for name in rows.schema.names)
        before = f"INSERT INTO {self.quoted(*path)} ({names}) VALUES ".encode()
        parts: list[bytes] = []
        size = 0
        for number, row in enumerate(rows_as_sql(rows).to_pylist(), 1):
            if len(before) + len(row) >= packet:
                # The server would close the connection while the statement is sent, often before its error arrives.
                raise ValueError(
                    f"row {number} of a batch takes {len(row):,} bytes, but the server accepts statements of at "
                    f"most {packet:,} bytes; increase max_allowed_packet on the server"
                )
            if parts and size + len(row) >= min(most, _STATEMENT_BYTES):
                cursor.execute(before + b",".join(parts))
                parts, size = [], 0
            parts.append(row)
            size += len(row) + 1
        cursor.execute(before + b",".join(parts))

    def create_temporary(self, name: str, select: str, indexes: Sequence[str] = ()) -> Iterator[str]:
        yield f"DROP TEMPORARY TABLE IF EXISTS {name}"  # a rollback keeps it
        listed = ", ".join(f"INDEX ({column})" for column in indexes)
        yield f"CREATE TEMPORARY TABLE {name} {f'({listed}) ' if listed else ''}AS {select}"

    def drop_temporary(self, table: str) -> str:
        return f"DROP TEMPORARY TABLE {table}"

    def update_from(self, table: str, other: str, same: str, column: str, value: str) -> str:
        return f"UPDATE {table} JOIN {other} ON {same} SET {table}.{column} = {other}.{value}"

    def delete(self, table: str, rows: str, same: str) -> str:
        return f"DELETE {table} FROM {table} JOIN {rows} ON {same}"

    def upsert(
        self, table: str, rows: str, names: Sequence[str], keys: Sequence[str], *, others_unique: bool
    ) -> Iterator[str]:
        """Yield an UPDATE and an INSERT for a table with several keys, because ON DUPLICATE KEY applies to all keys."""
        shown = ", ".join(self.quoted(name) for name in names)
        others = [self.quoted(name) for name in names if name not in keys]
        if not others_unique:
            changed = others or [self.quoted(keys[0])]
            changes = ", ".join(f"{name} = VALUES({name})" for name in changed)
            yield f"INSERT INTO {table} ({shown}) {rows} ON DUPLICATE KEY UPDATE {changes}"
            return
        put = f"({rows}) AS seatunnel_put"
        same = " AND ".join(f"{table}.{self.quoted(key)} = seatunnel_put.{self.quoted(key)}" for key in keys)
        if others:
            changes = ", ".join(f"{table}.{name} = seatunnel_put.{name}" for name in others)
            yield f"UPDATE {table} JOIN {put} ON {same} SET {changes}"
        missing = f"NOT EXISTS (SELECT 1 FROM {table} WHERE {same})"
        yield f"INSERT INTO {table} ({shown}) SELECT {shown} FROM {put} WHERE {missing}"

    # -- failures -------------------------------------------------------------------------------------------------

    def may_pass(self, error: BaseException) -> bool:
        import asyncmy.errors
        import pymysql

        if isinstance(error, OSError):
            return True
        if not isinstance(error, pymysql.err.Error | asyncmy.errors.Error):
            return False
        if _code(error) in _PASSING or self.is_full(error):
            return True
        return isinstance(error, pymysql.err.InterfaceError | asyncmy.errors.InterfaceError)

    def is_full(self, error: BaseException) -> bool:
        return _code(error) in _FULL or "Errcode: 28" in str(error)  # a file of the server cannot be written

    def message_of(self, error: BaseException) -> str:
        return f"{error.args[1]} (error {_code(error)})" if _code(error) and len(error.args) > 1 else str(error)

    def is_missing_table(self, error: BaseException) -> bool:
        return _code(getattr(error, "orig", None) or error) == 1146


def _code(error: BaseException) -> int:
    return int(error.args[0]) if error.args and isinstance(error.args[0], int) else 0


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
