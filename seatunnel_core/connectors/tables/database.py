"""Interface between the parts of a table sink and an SQL database."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import Any, ClassVar

import pyarrow as pa
from attrs import frozen

from seatunnel_core.connectors.tables.table_path import TablePath


@frozen(kw_only=True)
class TableColumn:
    """A column of an existing table."""

    name: str
    declared: str
    """Declared type in the database's notation: ``numeric(15,2)``."""

    arrow: pa.DataType | None = None
    """Arrow type of the values; ``None`` if rows do not support it, or if it follows from ``declared``."""

    nullable: bool = True
    filled: bool = False
    """True if the database fills the column when an INSERT omits it, with a default or a generated number."""

    generated: bool = False
    """True if the database computes the column's values; a sink must not write them."""


class TableDatabase(ABC):
    """A database with transactions. Methods use standard SQL and Python's DB-API by default."""

    name: ClassVar[str]
    """Name of the database system, for messages."""

    column_class: ClassVar[type[TableColumn]] = TableColumn
    """Class of the columns that ``table_columns`` returns."""

    ignores_case: ClassVar[bool] = True
    """True if column names are case-insensitive."""

    ddl_commits: ClassVar[bool] = False
    """True if a statement that creates or drops a table ends the transaction."""

    exact_texts: ClassVar[Sequence[str]] = ()
    """Statements to run in a transaction before ``row_image``, so that it is exact."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[Any]:
        """Yield a connection in a transaction that is rolled back unless the caller commits it.

        Transactions that write the same rows must be mutually exclusive.
        """

    def cursor(self, connection: Any) -> Any:
        """Return a cursor for statements in the transaction of a connection."""
        return connection.cursor()

    def ask(self, connection: Any, statement: str) -> Sequence[Sequence[Any]]:
        """Run a query and return its rows."""
        found: Sequence[Sequence[Any]] = self._executed(connection, statement).fetchall()
        return found

    def run(self, connection: Any, statement: str) -> None:
        """Run a statement."""
        self._executed(connection, statement)

    def changed_rows(self, connection: Any, statement: str) -> int:
        """Run a statement and return the number of rows that it changed."""
        changed: int = self._executed(connection, statement).rowcount
        return changed

    def column_names(self, connection: Any, table: str) -> list[str]:
        """Return the columns of a quoted table."""
        return [column[0] for column in self._executed(connection, f"SELECT * FROM {table} WHERE 1 = 0").description]

    def _executed(self, connection: Any, statement: str) -> Any:
        cursor = self.cursor(connection)
        cursor.execute(statement)
        return cursor

    def quoted(self, *names: str) -> str:
        """Quote a name, or a path of several names. Statements have no parameters, so % and ? are not escaped."""
        return ".".join('"' + name.replace('"', '""') + '"' for name in names)

    def literal(self, value: str | int) -> str:
        """Return a value as an SQL literal."""
        return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"

    def moment(self, at: datetime) -> str:
        """Return a time with a time zone as a literal for a column of timestamps with time zone."""
        return self.literal(at.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds"))

    def now(self) -> str:
        """Return a literal for the current time. All versions in one commit share it."""
        return self.moment(datetime.now(UTC))

    def table_name(self, path: TablePath) -> str:
        """Return the name of a table for messages and for ``Staged.tables``."""
        return ".".join(path)

    def insert(self, table: str, names: str) -> str:
        """Return the beginning of an INSERT, up to its rows."""
        return f"INSERT INTO {table} ({names})"

    def delete(self, table: str, rows: str, same: str) -> str:
        """Return the statement that deletes rows for which the subquery ``rows`` has a row that satisfies ``same``."""
        return f"DELETE FROM {table} WHERE EXISTS (SELECT 1 FROM {rows} WHERE {same})"

    def create_temporary(self, name: str, select: str, indexes: Sequence[str] = ()) -> Iterator[str]:
        """Yield the statements that create a temporary table from a SELECT, for this transaction.

        ``name`` needs no quotes; ``indexes`` are quoted columns to index if the database needs this for lookups.
        """
        yield f"CREATE TEMPORARY TABLE {name} AS {select}"

    def drop_temporary(self, table: str) -> str:
        """Return the statement that drops a temporary table without ending the transaction."""
        return f"DROP TABLE {table}"

    def update_from(self, table: str, other: str, same: str, column: str, value: str) -> str:
        """Return the statement that copies ``value`` from the row of ``other`` that satisfies ``same``, if any."""
        return f"UPDATE {table} SET {column} = {other}.{value} FROM {other} WHERE {same}"

    def same_or_null(self, one: str, other: str) -> str:
        """Return the condition that two values are equal or both null."""
        return f"({one} = {other} OR ({one} IS NULL AND {other} IS NULL))"

    def differ(self, one: str, other: str) -> str:
        """Return the condition that two values of a column differ, compared character by character."""
        return f"({one} <> {other} OR ({one} IS NULL) <> ({other} IS NULL))"

    def row_image(self, columns: Sequence[TableColumn], of: str) -> str:
        """Return an expression that is equal for two rows only if all their values are equal, including null and -0.0.

        Args:
            columns: The columns to compare.
            of: The quoted table of the rows, or a table whose columns have the same types.
        """
        raise NotImplementedError(f"{self.name} cannot compare whole rows")

    def matching(self, table: str, value: str, select: str, name: str) -> str:
        """Return the FROM and WHERE clauses for rows whose ``value`` occurs in the column ``name`` of a SELECT."""
        return f"FROM {table} WHERE {value} IN (SELECT {name} FROM ({select}) AS seatunnel_some)"

    def delete_matching(self, table: str) -> str:
        """Return the beginning of the statement that deletes the rows of ``matching``."""
        return "DELETE"

    @abstractmethod
    def table_columns(self, connection: Any, path: TablePath) -> Sequence[TableColumn]:
        """Return the columns of a table with their Arrow types; empty if the table does not exist."""

    @abstractmethod
    def stored_type(self, kind: pa.DataType) -> pa.DataType:
        """Return the type in which values of a type are sent or staged; raise ``TypeError`` if there is none."""

    @abstractmethod
    def declared_type(self, kind: pa.DataType) -> str:
        """Return the database's type for a stored type; raise ``TypeError`` if there is none."""

    def fits(self, kind: pa.DataType, column: TableColumn) -> bool:
        """Return True if values of a type may be written to a column, although single values may be rejected later."""
        return True

    def keeps_flag(self, kind: pa.DataType | None) -> bool:
        """Return True if a column for values of a type also stores booleans."""
        return kind is not None and self.declared_type(kind) == self.declared_type(pa.bool_())

    def may_widen(self, column: TableColumn) -> bool:
        """Return True if a column's declaration allows all values of its Arrow type."""
        return column.arrow is not None

    def add_column(self, path: TablePath, name: str, declared: str) -> str:
        """Return the statement that adds a column to a table, with null in all rows."""
        return f"ALTER TABLE {self.quoted(*path)} ADD COLUMN {self.quoted(name)} {declared}"

    def widen_column(self, connection: Any, path: TablePath, column: TableColumn, declared: str) -> str | None:
        """Return the statement that changes only the type of a column; ``None`` if there is no such statement."""
        return None

    def lock_row(self, statement: str) -> str:
        """Return a SELECT that locks the selected row until the transaction ends, if several transactions may write."""
        return statement

    def wait_for_locks(self, connection: Any, seconds: int) -> None:
        """Set the lock timeout of this transaction."""

    def lock_table(self, connection: Any, path: TablePath, *, reads: bool = False) -> None:
        """Lock a table until the transaction ends: against writers and, unless ``reads`` is true, against readers."""

    @contextmanager
    def exclusively(self, connection: Any, name: str, seconds: int) -> Iterator[None]:
        """Hold a named lock, for databases in which DDL ends the transaction; ``seconds`` is the timeout."""
        yield
