"""``Dialect``: the interface for everything that differs between databases."""

import importlib
import threading
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, ClassVar, TypeVar

import pyarrow as pa
import pyarrow.types as of

from seatunnel_core.connector_api.errors import ConnectorError
from seatunnel_core.connectors.jdbc.address import Address
from seatunnel_core.connectors.jdbc.column import Column, DatabaseTable
from seatunnel_core.connectors.jdbc.databases.collations import collated
from seatunnel_core.connectors.jdbc.databases.column_type import column_type, fits, is_plain, plain_type
from seatunnel_core.connectors.jdbc.fetched import Fetched
from seatunnel_core.connectors.jdbc.order import OWN, Order
from seatunnel_core.connectors.jdbc.pool import Pool, pool_of
from seatunnel_core.connectors.tables.database import TableColumn, TableDatabase
from seatunnel_core.connectors.tables.table_path import TablePath, parts_of
from seatunnel_core.rows.extent import BEYOND, beyond

E = TypeVar("E", bound=ConnectorError)

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
"""Modules that a dialect imports in addition to pyarrow."""

Asking = Callable[[str], Sequence[Sequence[Any]]]
"""Function that runs a query and returns its rows."""


class Dialect(TableDatabase):
    """A database at an address, with the behaviour specific to its kind. Picklable.

    Call the methods under "writing" only if ``not_written`` is empty.
    """

    column_class: ClassVar[type[TableColumn]] = Column

    keeps_schemas: ClassVar[bool] = False
    """True if schemas exist between the database and its tables."""

    shares_snapshots: ClassVar[bool] = False
    """True if several connections can read the same snapshot of the database."""

    one_writer: ClassVar[bool] = False
    """True if a writing transaction blocks all other writers, including writers of other tables."""

    not_written: ClassVar[str] = ""
    """Reason why sinks cannot write to the database, with an alternative; ``""`` if sinks can."""

    orders: ClassVar[Mapping[str, Order]] = {OWN: Order(shown="{}")}
    """Sort orders for the division into splits, keyed by name. Checkpoints store the names, so they must not change."""

    plain_order: ClassVar[str] = OWN
    """Name of the sort order that is reliable for every column."""

    table_options: ClassVar[str] = ""
    """SQL after the column list of a CREATE TABLE."""

    text_order: ClassVar[str] = ""
    """SQL after ``table_options`` for a table in which string comparisons respect case and accents."""

    def __init__(self, address: Address, pool_size: int) -> None:
        self.address = address
        self._pool_size = pool_size

    @property
    def name(self) -> str:  # type: ignore[override]
        """Kind of the database, for messages."""
        return self.address.kind

    @property
    def search_path(self) -> str:
        """Search path for a table whose name contains no schema; empty if schemas do not exist."""
        return ""

    @property
    def pool(self) -> Pool:
        """Connection pool of this process for the database."""
        return pool_of(self.address, self._pool_size, self.open, self.alive)

    # -- connections ----------------------------------------------------------------------------------------------

    def engine(self) -> Any:
        """Create an SQLAlchemy engine without a pool. Not called if the dialect overrides ``open``."""
        raise NotImplementedError(self.address.kind)

    def open(self, kind: str) -> Any:
        """Open a connection of the given kind; by default, an SQLAlchemy connection for every kind."""
        return _engine(self).connect()

    def require(self) -> None:
        """Raise ``SourceError`` if the database does not exist and opening it would create it."""

    def alive(self, connection: Any) -> bool:
        """Return True if a connection still works. Leave it at the beginning of a transaction."""
        try:
            connection.exec_driver_sql("SELECT 1")
            connection.rollback()
        except Exception:
            return False
        return True

    def cursor(self, connection: Any) -> Any:
        """Begin a transaction of an SQLAlchemy connection, if none is active, and return the driver's cursor."""
        if not connection.in_transaction():
            connection.begin()
        return connection.connection.cursor()

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        with self.pool.lend() as connection:
            self.begin(connection)
            yield connection

    def export_snapshot(self, connection: Any) -> str:
        """Export the snapshot of a new transaction for other connections, and return the snapshot's name."""
        raise NotImplementedError(f"{self.address.kind} does not support shared snapshots")

    # -- names and strings ----------------------------------------------------------------------------------------

    @abstractmethod
    def path(self, written: str) -> TablePath:
        """Parse a table path, ``database.schema.table`` or its last parts; raise ``ValueError`` if it is invalid."""

    def path_in(self, database: str, written: str) -> TablePath:
        """Parse the options ``database`` and ``table`` of a sink; raise ``ValueError`` if they are not a path."""
        return self.path(f"{database}.{written}" if database and len(parts_of(written)) == 2 else written)

    def table_name(self, path: TablePath) -> str:
        """Return the name of a table as it appears in rows: ``database.schema.table``."""
        return ".".join((self.address.database.rpartition("/")[2], *path))

    def bound(self, value: Any) -> str:
        """Return the SQL literal of a bound set by the user, for comparisons."""
        return str(value) if isinstance(value, int | Decimal) else self.literal(str(value))

    # -- reading --------------------------------------------------------------------------------------------------

    @abstractmethod
    def columns(self, connection: Any, select: str) -> tuple[Column, ...]:
        """Return the columns of the result of a SELECT."""

    @abstractmethod
    def table(self, connection: Any, path: TablePath) -> DatabaseTable | None:
        """Return the columns and keys of a table; ``None`` if it does not exist."""

    def may_create(self, connection: Any, path: TablePath) -> bool | None:
        """Return True if a table may be created at this path; ``None`` if this is only known after an attempt."""
        return None

    def tables(self, connection: Any, schema: str | None, prefix: str) -> list[str]:
        """Return the tables in a schema (default: the schema for new tables) whose names start with ``prefix``."""
        raise NotImplementedError(self.not_written)

    def estimated_rows(self, connection: Any, path: TablePath) -> int | None:
        """Return the database's estimate of the number of rows in a table; ``None`` if there is none."""
        return None

    def sampled(self, one_of: int) -> str:
        """Return a condition that randomly selects about one in every ``one_of`` rows."""
        return f"random() < {1 / one_of:.9f}"

    def rises(self, ask: Asking, column: Column, borders: Sequence[str]) -> bool:
        """Return True if bounds that ascend in the column's sort order also ascend when compared as literals."""
        return True

    @abstractmethod
    def read(
        self, statement: str, columns: Sequence[Column], fetch_size: int, snapshot: str | None
    ) -> Generator[Fetched, None, None]:
        """Yield the rows of a SELECT in batches of at most ``fetch_size`` rows.

        The SELECT returns ``columns``, followed by the ``misfit`` expression of each column that has one. ``snapshot``
        is the name of the snapshot to read; ``None`` for the current state.
        """

    # -- writing --------------------------------------------------------------------------------------------------

    def column_type(self, arrow: pa.DataType) -> Any:
        """Return SQLAlchemy's type for a new column; raise ``TypeError`` if the database has no such type."""
        return column_type(arrow)

    def declared_type(self, kind: pa.DataType, *, is_key: bool = False) -> str:
        made = self.key_type(kind) if is_key else self.column_type(kind)
        said: str = _engine(self).dialect.type_compiler_instance.process(made)
        return said

    def stored_type(self, kind: pa.DataType) -> pa.DataType:
        return plain_type(kind)

    def table_columns(self, connection: Any, path: TablePath) -> Sequence[Column]:
        table = self.table(connection, path)
        return () if table is None else table.columns

    def fits(self, kind: pa.DataType, column: TableColumn) -> bool:
        return fits(kind, column)

    def keeps_flag(self, kind: pa.DataType | None) -> bool:
        return kind is not None and (of.is_boolean(kind) or of.is_integer(kind))

    def may_widen(self, column: TableColumn) -> bool:
        return is_plain(column)

    def create_table(
        self, path: TablePath, columns: pa.Schema, primary_key: Sequence[str], *, temporary: bool = False
    ) -> str:
        """Return a CREATE TABLE statement that keeps an existing table; raise ``TypeError`` for an unsupported type."""
        lines = []
        for column in columns:
            is_key = column.name in primary_key
            declared = collated(self.declared_type(column.type, is_key=is_key), column)
            lines.append(f"{self.quoted(column.name)} {declared}{' NOT NULL' if is_key or not column.nullable else ''}")
        if primary_key:
            lines.append(f"PRIMARY KEY ({', '.join(self.quoted(name) for name in primary_key)})")
        made = f"{self.quoted(*path)} ({', '.join(lines)}){self.table_options}"
        return f"CREATE TEMPORARY TABLE {made}" if temporary else f"CREATE TABLE IF NOT EXISTS {made}"

    def key_type(self, arrow: pa.DataType) -> Any:
        """Return SQLAlchemy's type for a new primary key column."""
        return self.column_type(arrow)

    def unstorable(self, values: pa.Array) -> tuple[pa.Array | None, str]:
        """Return a mask of the timestamps that the database would change (``None`` if none), and the reason."""
        return beyond(values), BEYOND

    def place_types(self, connection: Any, statement: str) -> Sequence[str]:
        """Return the type that the database requires for each parameter ``$1``, ``$2`` and so on of a statement.

        ``""`` means that the parameter may be a string. The result is empty if the database accepts strings everywhere.
        """
        return ()

    def begin(self, connection: Any) -> None:
        """Begin a transaction that blocks other writers of the same rows, unless SQLAlchemy has begun it."""

    def begin_rows(self, connection: Any) -> None:
        """Begin a transaction on a connection for rows, unless the driver does so implicitly."""

    def copy(self, connection: Any, path: TablePath, rows: pa.RecordBatch, *, temporary: bool) -> None:
        """Insert rows into a table, matching columns by name. ``connection`` is for rows and in a transaction."""
        raise NotImplementedError(self.not_written)

    def execute(self, connection: Any, statement: str) -> None:
        """Run a statement on a connection for rows, in its transaction."""
        self.run(connection, statement)

    def first_row(self, connection: Any, statement: str) -> Sequence[Any] | None:
        """Run a statement on a connection for rows, and return its first row; ``None`` if there is none."""
        return next(iter(self.ask(connection, statement)), None)

    def upsert(
        self, table: str, rows: str, names: Sequence[str], keys: Sequence[str], *, others_unique: bool
    ) -> Iterator[str]:
        """Yield the statements that insert rows, or update the existing rows with the same keys.

        ``rows`` is a SELECT in which keys are unique; ``others_unique`` is as in ``DatabaseTable``.
        """
        shown, target = (", ".join(self.quoted(name) for name in some) for some in (names, keys))
        changes = ", ".join(f"{self.quoted(name)} = excluded.{self.quoted(name)}" for name in names if name not in keys)
        then = f"UPDATE SET {changes}" if changes else "NOTHING"
        yield f"{self.insert(table, shown)} {rows} ON CONFLICT ({target}) DO {then}"

    # -- failures -------------------------------------------------------------------------------------------------

    @abstractmethod
    def may_pass(self, error: BaseException) -> bool:
        """Return True if a retry of the failed operation may succeed."""

    def is_full(self, error: BaseException) -> bool:
        """Return True if the server has no space left. In that case, the rows are valid, and a retry may succeed."""
        return False

    def message_of(self, error: BaseException) -> str:
        """Return the message of a driver's error."""
        return str(error)

    def has_lost_snapshot(self, error: BaseException) -> bool:
        """Return True if a statement failed because the exported snapshot no longer exists."""
        return False

    def is_missing_table(self, error: BaseException) -> bool:
        """Return True if a statement failed because a table does not exist."""
        return False

    def failed(self, kind: Callable[[str], E], what: str, error: BaseException) -> E:
        """Return an error of ``kind`` for the user, without the password, marked as retryable if a retry may help."""
        cause = getattr(error, "orig", None) or error
        text = " ".join(self.message_of(cause).split())
        found = kind(f"{what}: {self.address.hide(text)}")
        found.retryable, found.needs_restart = self.may_pass(cause), self.has_lost_snapshot(cause)
        return found


def dialect_of(address: Address, pool_size: int) -> Dialect:
    """Return the dialect for an address."""
    module, _, name = _CLASSES[address.kind].partition(":")
    made: Dialect = getattr(importlib.import_module(module), name)(address, pool_size)
    return made


_engines: dict[Address, Any] = {}
_making = threading.Lock()


def _engine(dialect: Dialect) -> Any:
    """Return the engine for a database, which is cached because creating an engine takes milliseconds."""
    with _making:
        if dialect.address not in _engines:
            _engines[dialect.address] = dialect.engine()
        return _engines[dialect.address]
