"""Interface between the parts of a table sink and an SQL database."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import Any, ClassVar

from seatunnel_core.connectors.tables.table_path import TablePath

__all__ = ["TableDatabase"]


class TableDatabase(ABC):
    """A database with transactions. The defaults are standard SQL on a connection of Python's DB-API."""

    ddl_commits: ClassVar[bool] = False
    """True if a statement that creates or drops a table ends the transaction."""

    # -- transactions and statements --------------------------------------------------------------------------------

    @abstractmethod
    def transaction(self) -> AbstractContextManager[Any]:
        """Lend a connection in a transaction that is rolled back unless the caller commits it.

        Transactions that write the same rows must exclude each other.
        """

    def ask(self, connection: Any, statement: str) -> Sequence[Sequence[Any]]:
        """Run a query and return its rows."""
        found: Sequence[Sequence[Any]] = connection.execute(statement).fetchall()
        return found

    def run(self, connection: Any, statement: str) -> None:
        """Run a statement."""
        connection.execute(statement)

    def changed_rows(self, connection: Any, statement: str) -> int:
        """Run a statement and return the number of rows that it changed."""
        changed: int = connection.execute(statement).rowcount
        return changed

    def column_names(self, connection: Any, table: str) -> list[str]:
        """Return the columns of a quoted table."""
        return [column[0] for column in connection.execute(f"SELECT * FROM {table} WHERE 1 = 0").description]

    # -- names and values -------------------------------------------------------------------------------------------

    def quoted(self, *names: str) -> str:
        """Return the quoted identifier of a name, or of a path of several names.

        Percent signs and question marks are not escaped: statements have no parameters.
        """
        return ".".join('"' + name.replace('"', '""') + '"' for name in names)

    def literal(self, value: str | int) -> str:
        """Return the SQL literal of a value."""
        return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"

    def moment(self, at: datetime) -> str:
        """Return the literal of an aware time, for a column that was declared for timestamps with time zone."""
        return self.literal(at.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds"))

    def table_name(self, path: TablePath) -> str:
        """Return the name of a table in messages and in ``Staged.tables``."""
        return ".".join(path)

    # -- parts of statements ----------------------------------------------------------------------------------------

    def insert(self, table: str, names: str) -> str:
        """Return the start of an INSERT, up to its rows."""
        return f"INSERT INTO {table} ({names})"

    def delete(self, table: str, rows: str, same: str) -> str:
        """Return the statement that deletes the rows of a table that match a row of ``rows``.

        Args:
            table: The quoted table.
            rows: A subquery with an alias.
            same: The condition that a row of the table and one of ``rows`` match.
        """
        return f"DELETE FROM {table} WHERE EXISTS (SELECT 1 FROM {rows} WHERE {same})"

    def same_or_null(self, one: str, other: str) -> str:
        """Return the condition that two values are equal or both null."""
        return f"({one} = {other} OR ({one} IS NULL AND {other} IS NULL))"

    def differ(self, one: str, other: str) -> str:
        """Return the condition that two values of a column's type differ, compared character by character."""
        return f"({one} <> {other} OR ({one} IS NULL) <> ({other} IS NULL))"

    # -- locks ------------------------------------------------------------------------------------------------------

    def lock_row(self, statement: str) -> str:
        """Return the SELECT in a form that locks its row until the transaction ends.

        The default suits databases in which a transaction that writes excludes all others.
        """
        return statement

    def wait_for_locks(self, connection: Any, seconds: int) -> None:
        """Make statements of this transaction fail if they wait longer than this for a lock."""

    @contextmanager
    def exclusively(self, connection: Any, name: str, seconds: int) -> Iterator[None]:
        """Hold a named lock, for databases in which DDL ends the transaction; ``seconds`` is the timeout."""
        yield
