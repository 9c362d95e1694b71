"""Selection of captured tables and of relevant statements."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from seatunnel_core.connectors.mysql_log.declared import DeclaredColumn
from seatunnel_core.connectors.mysql_log.events import QueryEvent
from seatunnel_core.connectors.mysql_log.table_map import TableMap

_IDENTIFIER = re.compile(r"[\w$]+")


class Tables(Protocol):
    """Selection of tables and statements to capture."""

    def columns(self, database: str, table: str) -> Sequence[DeclaredColumn] | None:
        """Return the declared columns of a captured table; ``None`` for other tables.

        An empty sequence means that the log describes the columns completely (``binlog_row_metadata = FULL``). Values
        of MariaDB's types ``inet4``, ``inet6`` and ``uuid`` are then read as bytes. Called once for each version of a
        table in the log, and again after a DDL statement that ended a batch and names the table.
        """

    def reads(self, table: TableMap) -> bool:
        """Return False to skip the rows of a captured table. Called whenever ``columns`` returned its columns."""
        return True

    def selects(self, database: str, table: str) -> Callable[[str], bool] | None:
        """Return a function that selects columns of a captured table by name; ``None`` to read all logged columns.

        With this function, ``columns`` returns only selected columns, and the log must contain column names.
        """

    def may_change_rows(self, statement: QueryEvent) -> bool:
        """Return True if a statement may have changed rows of a captured table without logging them."""

    def concerned_by(self, statement: QueryEvent) -> bool:
        """Return True if a DDL statement must end a batch and be returned with it."""


class CapturedTables(Tables):
    """A fixed list of captured tables, keyed by database and name. All DDL statements are returned."""

    def __init__(self, tables: Mapping[tuple[str, str], Sequence[DeclaredColumn]]) -> None:
        self._tables = dict(tables)
        self._databases = {database.lower() for database, _ in tables}
        self._names = {name.lower() for names in tables for name in names}

    def columns(self, database: str, table: str) -> Sequence[DeclaredColumn] | None:
        return self._tables.get((database, table))

    def selects(self, database: str, table: str) -> Callable[[str], bool] | None:
        return None

    def may_change_rows(self, statement: QueryEvent) -> bool:
        """Return True if the statement changes or mentions a captured table or database.

        MySQL logs the changed databases. For MariaDB, the session's database and all names in the statement are
        compared; a trigger or function of another database that changes a captured table cannot be detected.
        """
        if statement.databases is not None:
            return any(each.lower() in self._databases for each in statement.databases)
        if statement.database.lower() in self._databases:
            return True
        return any(each.lower() in self._names for each in _IDENTIFIER.findall(statement.text))

    def concerned_by(self, statement: QueryEvent) -> bool:
        return True
