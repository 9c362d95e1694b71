"""SQLite, through Python's own module. A file that tasks and driver share; a writer waits for the other."""

import sqlite3
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.types as of

from seatunnel_core.connectors.jdbc.column import Column, DatabaseTable
from seatunnel_core.connectors.jdbc.dialect import Dialect, TablePath
from seatunnel_core.errors import SourceError

_WAIT_S = 60.0
"""For the lock of another process."""

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
"""What a declared type contains, and the type of its values. What is not here is a text."""


class SQLite(Dialect):
    """Version 3.35 or newer."""

    # -- connections ----------------------------------------------------------------------------------------------

    def engine(self) -> Any:
        import sqlalchemy as sa

        def opened() -> sqlite3.Connection:
            found = sqlite3.connect(self.address.database, timeout=_WAIT_S, check_same_thread=False)
            found.isolation_level = None
            return found

        return sa.create_engine("sqlite://", creator=opened, poolclass=sa.pool.NullPool)

    def require(self) -> None:
        path = self.address.database
        if path != ":memory:" and not Path(path).exists():
            raise SourceError(f"there is no file {path}; SQLite would make an empty one")

    # -- names and texts ------------------------------------------------------------------------------------------

    def path(self, written: str) -> TablePath:
        name = written.rpartition(".")[2].strip('"` ')
        if not name:
            raise ValueError(f"{written!r} is no table of SQLite; write its name")
        return (name,)

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
        from attrs import evolve

        looked = sa.inspect(connection)
        if not looked.has_table(path[-1]):
            return None
        rows = connection.exec_driver_sql(f"PRAGMA table_info({self.quoted(path[-1])})").fetchall()
        primary = tuple(name for name, place in sorted(((row[1], row[5]) for row in rows), key=_second) if place)
        unique = [tuple(each["column_names"]) for each in looked.get_unique_constraints(path[-1])]
        unique += [tuple(each["column_names"]) for each in looked.get_indexes(path[-1]) if each["unique"]]
        return DatabaseTable(
            columns=tuple(
                evolve(_column(row[1], row[2]), nullable=not row[3], filled=row[4] is not None or row[1] in primary)
                for row in rows
            ),
            primary_key=primary,
            unique_keys=((primary,) if primary else ()) + tuple(unique),
        )

    def tables(self, connection: Any, schema: str | None, prefix: str) -> list[str]:
        found = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'")
        return [name for (name,) in found if name.startswith(prefix)]

    def read(
        self, statement: str, schema: pa.Schema, fetch_size: int, snapshot: str | None
    ) -> Iterator[pa.RecordBatch]:
        batches = []
        with self.pool.lend() as connection:  # given back before rows go on: a reader would keep writers waiting
            cursor = self.cursor(connection)
            cursor.execute(statement)
            while rows := cursor.fetchmany(fetch_size):
                arrays = [
                    _array([row[number] for row in rows], column.type, column.name)
                    for number, column in enumerate(schema)
                ]
                batches.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
        yield from batches

    # -- writing --------------------------------------------------------------------------------------------------

    def begin(self, connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    def begin_rows(self, connection: Any) -> None:
        self.begin(connection)

    def lock_row(self, statement: str) -> str:
        return statement

    def copy(self, connection: Any, path: TablePath, rows: pa.RecordBatch, *, temporary: bool) -> None:
        names = ", ".join(self.quoted(name) for name in rows.schema.names)
        marks = ", ".join("?" * rows.num_columns)
        values = zip(*(_plain(column) for column in rows.columns), strict=True)
        self.cursor(connection).executemany(f"INSERT INTO {self.quoted(*path)} ({names}) VALUES ({marks})", values)

    def execute(self, connection: Any, statement: str) -> None:
        self.cursor(connection).execute(statement)

    def first_value(self, connection: Any, statement: str) -> Any:
        row = self.cursor(connection).execute(statement).fetchone()
        return row[0] if row else None

    # -- failures -------------------------------------------------------------------------------------------------

    def may_pass(self, error: BaseException) -> bool:
        return isinstance(error, sqlite3.OperationalError) and ("locked" in str(error) or "busy" in str(error))

    def is_missing_table(self, error: BaseException) -> bool:
        return "no such table" in str(error)


def _second(pair: tuple[str, int]) -> int:
    return pair[1]


def _column(name: str, declared: str) -> Column:
    words = (declared or "").upper()
    if words.startswith(("DECIMAL", "NUMERIC")):
        inside = [part for part in words.partition("(")[2].rstrip(")").split(",") if part.strip().isdigit()]
        arrow: pa.DataType = pa.decimal128(*(int(part) for part in inside)) if inside else pa.decimal128(38, 18)
    else:
        arrow = next((kind for part, kind in _AFFINITIES if part in words), pa.string())
    return Column(name=name, declared=declared or "", arrow=arrow, read="{}")


def _plain(column: pa.Array) -> list[Any]:
    """Values as SQLite keeps them: moments and numbers of many digits are texts."""
    kind = column.type
    if of.is_decimal(kind) or of.is_temporal(kind):
        return [None if value is None else _text(value) for value in column.to_pylist()]
    values: list[Any] = column.to_pylist()
    return values


def _text(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat(" ")
    return value.isoformat() if isinstance(value, date | time) else str(value)


def _array(values: list[Any], kind: pa.DataType, name: str) -> pa.Array:
    """SQLite keeps any value in any column: what does not fit is an error that names it."""
    try:
        return pa.array([None if value is None else _value(value, kind) for value in values], kind)
    except (ValueError, TypeError, pa.ArrowException) as error:
        raise SourceError(f"column {name!r} has a value that {kind} cannot hold: {error}") from error


def _value(value: Any, kind: pa.DataType) -> Any:
    if of.is_decimal(kind):
        return Decimal(str(value)).quantize(Decimal(1).scaleb(-kind.scale))
    if of.is_string(kind):
        return value if isinstance(value, str) else str(value)
    if of.is_boolean(kind):
        return bool(value)
    if of.is_binary(kind):
        return value if isinstance(value, bytes) else str(value).encode()
    if isinstance(value, str) and of.is_timestamp(kind):
        return datetime.fromisoformat(value)
    if isinstance(value, str) and of.is_date(kind):
        return date.fromisoformat(value[:10])
    if isinstance(value, str) and of.is_time(kind):
        return time.fromisoformat(value)
    return value
