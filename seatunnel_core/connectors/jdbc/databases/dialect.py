"""What differs between databases. The rest of the connector asks a ``Dialect`` and knows none of them by name."""

import importlib
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, ClassVar, TypeVar

import pyarrow as pa
import pyarrow.types as of

from seatunnel_core.connectors.jdbc.address import Address
from seatunnel_core.connectors.jdbc.column import Column, DatabaseTable
from seatunnel_core.connectors.jdbc.fetched import Fetched
from seatunnel_core.connectors.jdbc.order import OWN, Order
from seatunnel_core.connectors.jdbc.pool import Pool, pool_of
from seatunnel_core.errors import ConnectorError

E = TypeVar("E", bound=ConnectorError)

TablePath = tuple[str, ...]
"""The schema, where the database has some, and the name of a table."""

_CLASSES = {
    "duckdb": "seatunnel_core.connectors.jdbc.databases.duckdb:DuckDB",
    "mysql": "seatunnel_core.connectors.jdbc.databases.mysql:MySQL",
    "postgresql": "seatunnel_core.connectors.jdbc.databases.postgresql:PostgreSQL",
    "sqlite": "seatunnel_core.connectors.jdbc.databases.sqlite:SQLite",
}
TASK_MODULES = {
    "duckdb": ("duckdb",),
    "mysql": ("sqlalchemy", "asyncmy", "pymysql"),
    "postgresql": ("sqlalchemy", "adbc_driver_postgresql", "psycopg"),
    "sqlite": ("sqlalchemy",),
}
"""What a dialect imports beyond pyarrow."""


Asking = Callable[[str], Sequence[Sequence[Any]]]
"""Runs a statement and gives its rows."""


class Dialect(ABC):
    """One database. Picklable: tasks open connections of their own."""

    keeps_schemas: ClassVar[bool] = False
    """Whether a table has a schema between the database and its name."""

    shares_snapshots: ClassVar[bool] = False
    """Whether several connections can see the same state of the database."""

    ddl_commits: ClassVar[bool] = False
    """Whether a statement that makes or drops a table ends the transaction."""

    not_written: ClassVar[str] = ""
    """Why no sink writes into it, and what to do instead; ``""`` where one does. What stands under writing below is
    not asked then."""

    orders: ClassVar[Mapping[str, Order]] = {OWN: Order(shown="{}")}
    """By which rows can be cut; ``Column.order`` names one. What stands in a split is not renamed."""

    plain_order: ClassVar[str] = OWN
    """The name of the one that holds for the values of any column."""

    holds_any_moment: ClassVar[bool] = False
    """Whether moments that lie beyond those of rows come into it as they are."""

    table_options: ClassVar[str] = ""
    """What stands behind the columns of a table that is made."""

    text_order: ClassVar[str] = ""
    """What follows them where texts that differ are to be different."""

    def __init__(self, address: Address, pool_size: int) -> None:
        self.address = address
        self._pool_size = pool_size

    @property
    def pool(self) -> Pool:
        """The connections of this process."""
        return pool_of(self.address, self._pool_size, self.open, self.alive)

    # -- connections ----------------------------------------------------------------------------------------------

    def engine(self) -> Any:
        """SQLAlchemy's engine, whose connections are closed when they are given back. Not asked where ``open`` is the
        dialect's own."""
        raise NotImplementedError(self.address.kind)

    def open(self, kind: str) -> Any:
        """A connection of a kind: SQLAlchemy's, unless the dialect has another one for rows."""
        return _engine(self).connect()

    def require(self) -> None:
        """That there is something to read, where opening it would make it.

        Raises:
            SourceError: there is nothing.
        """

    def alive(self, connection: Any) -> bool:
        """Whether a connection still answers."""
        try:
            connection.exec_driver_sql("SELECT 1")
            connection.rollback()
        except Exception:
            return False
        return True

    def cursor(self, connection: Any) -> Any:
        """The driver's own cursor below a connection of SQLAlchemy, in a transaction that it knows of."""
        if not connection.in_transaction():
            connection.begin()
        return connection.connection.cursor()

    def ask(self, connection: Any, statement: str) -> Sequence[Sequence[Any]]:
        """The rows that a statement gives, on a connection of SQLAlchemy."""
        cursor = self.cursor(connection)
        cursor.execute(statement)
        found: Sequence[Sequence[Any]] = cursor.fetchall()
        return found

    def export_snapshot(self, connection: Any) -> str:
        """Begin a transaction whose state others can see while it lasts, and say how they name it."""
        raise NotImplementedError(f"{self.address.kind} shares no snapshots")

    # -- names and texts ------------------------------------------------------------------------------------------

    def quoted(self, *names: str) -> str:
        """A name, or one with its schema before it, as it is: statements go to the drivers without parameters, so
        nothing in it stands for one."""
        return ".".join('"' + name.replace('"', '""') + '"' for name in names)

    @abstractmethod
    def path(self, written: str) -> TablePath:
        """A table from how a person writes it: ``database.schema.table`` or less.

        Raises:
            ValueError: it cannot be one of this database.
        """

    def path_in(self, database: str, written: str) -> TablePath:
        """A table of a database, as the two options of a sink name it; ``""`` is the database of the url.

        Raises:
            ValueError: it cannot be one of this database.
        """
        return self.path(f"{database}.{written}" if database and len(parts_of(written)) == 2 else written)

    def table_name(self, path: TablePath) -> str:
        """The path of a table in rows: ``database.schema.table``."""
        return ".".join((self.address.database.rpartition("/")[2], *path))

    def literal(self, value: str | int) -> str:
        """A value in a statement."""
        return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"

    def bound(self, value: Any) -> str:
        """A value of a person, behind a comparison."""
        return str(value) if isinstance(value, int | Decimal) else self.literal(str(value))

    # -- reading --------------------------------------------------------------------------------------------------

    @abstractmethod
    def columns(self, connection: Any, select: str) -> tuple[Column, ...]:
        """The columns of a statement that gives rows."""

    @abstractmethod
    def table(self, connection: Any, path: TablePath) -> DatabaseTable | None:
        """What a table has; ``None`` when there is none."""

    def tables(self, connection: Any, schema: str | None, prefix: str) -> list[str]:
        """The names of the tables of a schema that begin so; ``None`` for the one where new tables go."""
        raise NotImplementedError(self.not_written)

    def estimated_rows(self, connection: Any, path: TablePath) -> int | None:
        """How many rows a table has, as far as the database knows it without counting."""
        return None

    def sampled(self, one_of: int) -> str:
        """A condition that holds for about one of so many rows."""
        return f"random() < {1 / one_of:.9f}"

    def rises(self, ask: Asking, column: Column, borders: Sequence[str]) -> bool:
        """Whether borders in the column's own order are in it when they are written, too."""
        return True

    @abstractmethod
    def read(
        self, statement: str, columns: Sequence[Column], fetch_size: int, snapshot: str | None
    ) -> Generator[Fetched, None, None]:
        """The rows of a statement that asks for these columns, and for what tells their misfits behind them."""

    # -- writing --------------------------------------------------------------------------------------------------

    def column_type(self, arrow: pa.DataType) -> Any:
        """SQLAlchemy's type of a new column.

        Raises:
            TypeError: there is none; says of what.
        """
        return column_type(arrow)

    def declared(self, arrow: pa.DataType, *, is_key: bool = False) -> str:
        """The type of a new column in the words of the database.

        Raises:
            TypeError: there is none; says of what.
        """
        kind = self.key_type(arrow) if is_key else self.column_type(arrow)
        said: str = _engine(self).dialect.type_compiler_instance.process(kind)
        return said

    def create_table(
        self, path: TablePath, columns: pa.Schema, primary_key: Sequence[str], *, temporary: bool = False
    ) -> str:
        """The statement that makes a new table.

        Raises:
            TypeError: a column has a type for which there is none.
        """
        lines = []
        for column in columns:
            is_key = column.name in primary_key
            needed = is_key or not column.nullable
            declared = self.declared(column.type, is_key=is_key)
            lines.append(f"{self.quoted(column.name)} {declared}{' NOT NULL' if needed else ''}")
        if primary_key:
            lines.append(f"PRIMARY KEY ({', '.join(self.quoted(name) for name in primary_key)})")
        made = f"{self.quoted(*path)} ({', '.join(lines)})"
        return f"CREATE {'TEMPORARY ' if temporary else ''}TABLE {made}"

    def key_type(self, arrow: pa.DataType) -> Any:
        """SQLAlchemy's type of a column of a primary key."""
        return self.column_type(arrow)

    def place_types(self, connection: Any, statement: str) -> Sequence[str]:
        """The type that each ``$1``, ``$2`` … of a statement has to have, in the words of the database, where it does
        not take a text for it; ``""`` where it does. Nothing at all where it takes texts everywhere."""
        return ()

    def empty(self, path: TablePath) -> str:
        """The statement that removes all rows in a transaction."""
        return f"DELETE FROM {self.quoted(*path)}"

    def begin(self, connection: Any) -> None:
        """Begin a transaction in which other writers of the same rows wait."""
        raise NotImplementedError(self.not_written)

    def begin_rows(self, connection: Any) -> None:
        """Begin a transaction on a connection for rows, where it does not begin by itself."""

    def wait_for_locks(self, connection: Any, seconds: int) -> None:
        """Let statements of this transaction fail that wait longer for what others have locked."""

    @contextmanager
    def exclusively(self, connection: Any, name: str, seconds: int) -> Iterator[None]:
        """Nobody else is in here with the same name, also where a statement ends the transaction and its locks."""
        yield

    def lock_row(self, statement: str) -> str:
        """A SELECT whose row nobody else changes until the transaction ends."""
        raise NotImplementedError(self.not_written)

    def copy(self, connection: Any, path: TablePath, rows: pa.RecordBatch, *, temporary: bool) -> None:
        """Add rows to a table, by the names of the columns. ``connection`` is one for rows, in a transaction."""
        raise NotImplementedError(self.not_written)

    def execute(self, connection: Any, statement: str) -> None:
        """Run a statement on a connection for rows, in its transaction."""
        raise NotImplementedError(self.not_written)

    def first_row(self, connection: Any, statement: str) -> Sequence[Any] | None:
        """The first row that a statement gives on a connection for rows; ``None`` without one."""
        raise NotImplementedError(self.not_written)

    def drop_temporary(self, table: str) -> str:
        """The statement that drops a temporary table in a transaction."""
        return f"DROP TABLE {table}"

    def insert(self, table: str, names: str) -> str:
        """What stands before the rows of an INSERT; those of columns that number rows by themselves are taken, too."""
        return f"INSERT INTO {table} ({names})"

    def delete(self, table: str, rows: str, same: str) -> str:
        """The statement that removes the rows of a table for which there is one in ``rows`` where ``same`` holds."""
        return f"DELETE FROM {table} WHERE EXISTS (SELECT 1 FROM {rows} WHERE {same})"

    def upsert(
        self, table: str, rows: str, names: Sequence[str], keys: Sequence[str], *, others_unique: bool
    ) -> Iterator[str]:
        """The statements that insert rows, each in the place of the one with its key.

        Args:
            rows: a SELECT that gives them, each key once.
            others_unique: as of ``DatabaseTable``.
        """
        shown, target = (", ".join(self.quoted(name) for name in some) for some in (names, keys))
        changes = ", ".join(f"{self.quoted(name)} = excluded.{self.quoted(name)}" for name in names if name not in keys)
        then = f"UPDATE SET {changes}" if changes else "NOTHING"
        yield f"{self.insert(table, shown)} {rows} ON CONFLICT ({target}) DO {then}"

    # -- failures -------------------------------------------------------------------------------------------------

    @abstractmethod
    def may_pass(self, error: BaseException) -> bool:
        """Whether the same thing, tried again later, may work."""

    def said(self, error: BaseException) -> str:
        """What an error of the driver says."""
        return str(error)

    def has_lost_snapshot(self, error: BaseException) -> bool:
        """Whether a statement failed because nobody holds the exported state any more."""
        return False

    def is_missing_table(self, error: BaseException) -> bool:
        """Whether a statement failed because a table is not there."""
        return False

    def failed(self, kind: Callable[[str], E], what: str, error: BaseException) -> E:
        """An error for a person, without the password."""
        cause = getattr(error, "orig", None) or error
        text = " ".join(self.said(cause).split())
        found = kind(f"{what}: {self.address.hide(text)}")
        found.retryable, found.needs_restart = self.may_pass(cause), self.has_lost_snapshot(cause)
        return found


_PART = re.compile(r'\s*(?:"((?:[^"]|"")+)"|`((?:[^`]|``)+)`|([^."`][^.]*?))\s*(?:\.|$)')


def parts_of(written: str) -> tuple[str, ...]:
    """The names in the path of a table. One between quotes may have a dot in it; nothing else is told apart by them.

    Raises:
        ValueError: there is a name missing.
    """
    parts, at = [], 0
    while at < len(written):
        found = _PART.match(written, at)
        if found is None:
            raise ValueError(f"{written!r} is no path of a table: a name is missing in it, or a quote")
        doubled, ticked, plain = found.groups()
        parts.append(doubled.replace('""', '"') if doubled else ticked.replace("``", "`") if ticked else plain)
        at = found.end()
    if not parts or written.rstrip().endswith("."):
        raise ValueError(f"{written!r} is no path of a table: a name is missing in it")
    return tuple(parts)


def dialect_of(address: Address, pool_size: int) -> Dialect:
    """The dialect of a database."""
    module, _, name = _CLASSES[address.kind].partition(":")
    made: Dialect = getattr(importlib.import_module(module), name)(address, pool_size)
    return made


_engines: dict[Address, Any] = {}
_making = threading.Lock()


def _engine(dialect: Dialect) -> Any:
    """One engine for each database and process: making one takes milliseconds."""
    with _making:
        if dialect.address not in _engines:
            _engines[dialect.address] = dialect.engine()
        return _engines[dialect.address]


def column_type(arrow: pa.DataType) -> Any:
    """SQLAlchemy's type for a type of rows, as most databases have it.

    Raises:
        TypeError: there is none; says of what.
    """
    import sqlalchemy as sa

    simple = {
        pa.bool_(): sa.Boolean(),
        **dict.fromkeys((pa.int8(), pa.int16(), pa.uint8()), sa.SmallInteger()),
        **dict.fromkeys((pa.int32(), pa.uint16()), sa.Integer()),
        **dict.fromkeys((pa.int64(), pa.uint32()), sa.BigInteger()),
        pa.uint64(): sa.Numeric(20, 0),
        **dict.fromkeys((pa.float16(), pa.float32()), sa.REAL()),
        pa.float64(): sa.Double(),
        **dict.fromkeys((pa.string(), pa.large_string(), pa.string_view()), sa.Text()),
        **dict.fromkeys((pa.binary(), pa.large_binary()), sa.LargeBinary()),
        pa.date32(): sa.Date(),
    }
    if arrow in simple:
        return simple[arrow]
    if of.is_decimal(arrow):
        return sa.Numeric(arrow.precision, arrow.scale)
    if of.is_time(arrow):
        return sa.Time()
    if of.is_timestamp(arrow):
        return sa.DateTime(timezone=arrow.tz is not None)
    raise TypeError(arrow)
