"""SQLite, through Python's ``sqlite3``: a file that the driver and the tasks share, with one writer at a time."""

import os
import sqlite3
from collections.abc import Generator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.types as of
from attrs import evolve

from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connectors.jdbc.column import Column, DatabaseTable
from seatunnel_core.connectors.jdbc.databases.column_type import column_type
from seatunnel_core.connectors.jdbc.databases.dialect import Dialect
from seatunnel_core.connectors.jdbc.databases.sqlite_properties import pragmas
from seatunnel_core.connectors.jdbc.databases.sqlite_values import array_of, plain, text_of_digits
from seatunnel_core.connectors.jdbc.fetched import Fetched, fetched, schema_of
from seatunnel_core.connectors.jdbc.order import NUMBERS, OWN, Order, hexadecimal
from seatunnel_core.connectors.tables.database import TableColumn
from seatunnel_core.connectors.tables.table_path import TablePath, parts_of

_WAIT_S = 60.0
"""Timeout for waiting for another process's lock, in seconds."""

_MOST_DIGITS = 76
"""Maximum number of digits of a decimal in rows."""

_HIDDEN, _GENERATED = 1, (2, 3)
"""Values of ``hidden``, the last column of ``PRAGMA table_xinfo``, for hidden and generated columns."""

_AFFINITIES = (
    ("INT", pa.int64()),
    ("BOOL", pa.bool_()),
    ("CHAR", pa.string()),
    ("CLOB", pa.string()),
    ("TEXT", pa.string()),
    ("BLOB", pa.binary()),
    ("REAL", pa.float64()),
    ("FLOA", pa.float64()),
    ("DOUB", pa.float64()),
    ("TIMESTAMP", pa.timestamp("us")),
    ("DATETIME", pa.timestamp("us")),
    ("DATE", pa.date32()),
    ("TIME", pa.time64("us")),
)
"""Arrow types, keyed by a part of the declared type; the first match applies. Other types are read as strings."""


class SQLite(Dialect):
    """SQLite 3.35 or newer.

    A column may contain values of any type: numbers sort before strings, and strings before bytes. Split bounds have
    the declared type; values of other types are in the first or the last split.
    """

    orders: ClassVar[Mapping[str, Order]] = {
        OWN: Order(shown="{}"),
        "number": evolve(NUMBERS, among="typeof({}) IN ('integer', 'real') AND {} > -9e999 AND {} < 9e999"),
        "text": Order(shown="{}", among="typeof({}) = 'text' AND instr({}, char(0)) = 0"),
        "bytes": Order(shown="hex({})", literal=hexadecimal, key=bytes.fromhex, among="typeof({}) = 'blob'"),
    }

    one_writer: ClassVar[bool] = True

    def sampled(self, one_of: int) -> str:
        return f"random() % {one_of} = 0"

    # -- connections ----------------------------------------------------------------------------------------------

    def engine(self) -> Any:
        import sqlalchemy as sa

        def opened() -> sqlite3.Connection:
            found = sqlite3.connect(self.address.database, timeout=_WAIT_S, check_same_thread=False)
            found.isolation_level = None
            for statement in pragmas(self.address.properties):
                found.execute(statement)
            return found

        return sa.create_engine("sqlite://", creator=opened, poolclass=sa.pool.NullPool)

    def require(self) -> None:
        path = self.address.database
        if path != ":memory:" and not Path(path).exists():
            raise SourceError(f"the file {path} does not exist; SQLite would create an empty file")

    # -- names and strings ----------------------------------------------------------------------------------------

    def path(self, written: str) -> TablePath:
        return parts_of(written)[-1:]

    def table_name(self, path: TablePath) -> str:
        return path[-1]

    # -- reading --------------------------------------------------------------------------------------------------

    def columns(self, connection: Any, select: str) -> tuple[Column, ...]:
        connection.exec_driver_sql("DROP VIEW IF EXISTS temp.seatunnel_rows")
        connection.exec_driver_sql(f"CREATE TEMP VIEW seatunnel_rows AS {select}")
        try:
            return tuple(
                _column(name, declared)
                for _, name, declared, *_ in connection.exec_driver_sql("PRAGMA temp.table_info(seatunnel_rows)")
            )
        finally:
            connection.exec_driver_sql("DROP VIEW IF EXISTS temp.seatunnel_rows")

    def table(self, connection: Any, path: TablePath) -> DatabaseTable | None:
        import sqlalchemy as sa

        looked = sa.inspect(connection)
        if not looked.has_table(path[-1]):
            return None
        found = connection.exec_driver_sql(f"PRAGMA table_xinfo({self.quoted(path[-1])})").fetchall()
        rows = [row for row in found if row[6] != _HIDDEN]
        primary = tuple(name for name, place in sorted(((row[1], row[5]) for row in rows), key=itemgetter(1)) if place)
        unique = [tuple(each["column_names"]) for each in looked.get_unique_constraints(path[-1])]
        unique += [tuple(each["column_names"]) for each in looked.get_indexes(path[-1]) if each["unique"]]
        return DatabaseTable(
            columns=tuple(
                evolve(
                    _column(row[1], row[2]),
                    nullable=not row[3],
                    filled=row[4] is not None or row[1] in primary,
                    generated=row[6] in _GENERATED,
                )
                for row in rows
            ),
            primary_key=primary,
            unique_keys=((primary,) if primary else ()) + tuple(unique),
        )

    def may_create(self, connection: Any, path: TablePath) -> bool | None:
        """Check write permission for the file and its folder, where SQLite creates its journal."""
        file = self.address.database
        places = () if file == ":memory:" else (file, os.path.dirname(os.path.abspath(file)))
        return all(os.access(each, os.W_OK) for each in places if os.path.exists(each))

    def tables(self, connection: Any, schema: str | None, prefix: str) -> list[str]:
        found = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'")
        return [name for (name,) in found if name.startswith(prefix)]

    def read(
        self, statement: str, columns: Sequence[Column], fetch_size: int, snapshot: str | None
    ) -> Generator[Fetched, None, None]:
        schema = schema_of(columns)
        with self.pool.lend() as connection:  # Released before rows are emitted: a reader would block writers.
            try:
                batches = self._rows(connection, statement, fetch_size)
            except sqlite3.OperationalError as error:
                if "decode" not in str(error):
                    raise
                batches = self._undecoded(connection, statement, fetch_size)
        for rows in batches:
            values = zip(*rows, strict=True)
            yield fetched(schema, [array_of(list(each), column) for each, column in zip(values, columns, strict=True)])

    def _rows(self, connection: Any, statement: str, fetch_size: int) -> list[list[Any]]:
        cursor = self.cursor(connection)
        cursor.execute(statement)
        return list(iter(lambda: cursor.fetchmany(fetch_size), []))

    def _undecoded(self, connection: Any, statement: str, fetch_size: int) -> list[list[Any]]:
        """Return the rows, with invalid UTF-8 decoded as lone surrogates, so that messages can identify the rows."""
        driver = connection.connection.driver_connection
        driver.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
        try:
            return self._rows(connection, statement, fetch_size)
        finally:
            driver.text_factory = str

    # -- writing --------------------------------------------------------------------------------------------------

    def column_type(self, arrow: pa.DataType) -> Any:
        """Return SQLAlchemy's type, a string for more than 15 digits; raise ``TypeError`` for a type with time zone."""
        if of.is_timestamp(arrow) and arrow.tz is not None:
            raise TypeError(
                "SQLite has no timestamps with a time zone; use a timestamp without a time zone, or a string"
            )
        return text_of_digits(arrow) or column_type(arrow)

    def differ(self, one: str, other: str) -> str:
        """Return a condition on values and bytes, because collations ignore bytes and casts keep only 15 digits."""
        return f"{one} IS NOT {other} OR CAST({one} AS BLOB) IS NOT CAST({other} AS BLOB)"

    def row_image(self, columns: Sequence[TableColumn], of: str) -> str:
        """Return an image of a row that contains strings in hexadecimal, because ``quote`` stops at a NUL character."""
        written = []
        for name in (f"{of}.{self.quoted(column.name)}" for column in columns):
            kind = f"typeof({name})"
            written.append(f"CASE WHEN {kind} IN ('text', 'blob') THEN {kind} || hex({name}) ELSE quote({name}) END")
        return " || ',' || ".join(written)

    def begin(self, connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    def begin_rows(self, connection: Any) -> None:
        self.begin(connection)

    def copy(self, connection: Any, path: TablePath, rows: pa.RecordBatch, *, temporary: bool) -> None:
        names = ", ".join(self.quoted(name) for name in rows.schema.names)
        marks = ", ".join("?" * rows.num_columns)
        described = connection.exec_driver_sql(f"PRAGMA table_info({self.quoted(path[-1])})")
        declared = {row[1]: row[2] for row in described}
        kept = (plain(values, declared[name]) for name, values in zip(rows.schema.names, rows.columns, strict=True))
        values = zip(*kept, strict=True)
        self.cursor(connection).executemany(f"INSERT INTO {self.quoted(*path)} ({names}) VALUES ({marks})", values)

    # -- failures -------------------------------------------------------------------------------------------------

    def may_pass(self, error: BaseException) -> bool:
        if not isinstance(error, sqlite3.OperationalError):
            return False
        return self.is_full(error) or "locked" in str(error) or "busy" in str(error)

    def is_full(self, error: BaseException) -> bool:
        return getattr(error, "sqlite_errorname", "") == "SQLITE_FULL"

    def is_missing_table(self, error: BaseException) -> bool:
        return "no such table" in str(error)


def _decimal(words: str) -> pa.DataType:
    """Return the type for a declared decimal: string if it has more than 76 digits or no precision."""
    inside = [int(part) for part in words.partition("(")[2].rstrip(")").split(",") if part.strip().isdigit()]
    precision, scale = [*inside, 0][:2] if inside else (38, 18)
    if not 0 < precision <= _MOST_DIGITS:
        return pa.string()
    return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)


def _column(name: str, declared: str) -> Column:
    words = (declared or "").upper()
    if words.startswith(("DECIMAL", "NUMERIC")):
        arrow = _decimal(words)
    else:
        arrow = next((kind for part, kind in _AFFINITIES if part in words), pa.string())
    number = of.is_integer(arrow) or of.is_floating(arrow) or of.is_decimal(arrow) or of.is_boolean(arrow)
    order = "number" if number else "bytes" if of.is_binary(arrow) else "text"
    return Column(name=name, declared=declared or "", arrow=arrow, read="{}", order=order)
