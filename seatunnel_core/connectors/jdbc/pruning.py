"""Remove the rows of tables whose keys did not come in a run: until its end the keys are collected in tables beside."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.types as of
from attrs import evolve

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connectors.jdbc.databases.dialect import Dialect
from seatunnel_core.connectors.jdbc.databases.families import Families
from seatunnel_core.connectors.jdbc.databases.table_path import TablePath
from seatunnel_core.connectors.jdbc.replacing import Replacing
from seatunnel_core.connectors.jdbc.target import Target, new_columns, target_table
from seatunnel_core.connectors.pruning import no_key_matches, removal, require_key, tell_removed


def require_key_of(
    dialect: Dialect, connection: Any, path: TablePath, schema: TableSchema, names: Mapping[str, str]
) -> bool:
    """Return whether a table is there, from which rows are removed by their keys; another sink may make it meanwhile.

    Args:
        dialect: The database.
        connection: To it.
        path: The path of the table.
        schema: The schema of the keys.
        names: The name in the table of each of their columns.

    Raises:
        SinkError: The table lacks a column of the key, or has no transactions.
    """
    table, named = dialect.table(connection, path), dialect.table_name(path)
    if table is None:
        return False
    require_key(named, {column.name for column in table.columns}, list(names.values()), schema.table)
    if not table.transactional:
        raise SinkError(f"the table {named} has no transactions: give it ENGINE=InnoDB")
    return True


class Pruning(Replacing):
    """The tables of collected keys of one sink of one pipeline; all methods work in the caller's transaction.

    They have their columns as primary key, as several databases would compare each row with all keys without an index.
    """

    def place(self, path: TablePath) -> TablePath:
        return self.dialect.path_in("", self.collected(path))

    def target_of_keys(self, connection: Any, path: TablePath, schema: TableSchema, names: Mapping[str, str]) -> Target:
        """Return the target for keys, which are collected in a table of their own; create and commit that if need be.

        The arguments are those of ``require_key_of``.

        Raises:
            SinkError: as ``require_key_of``, or another sink of the job collects rows for the same table.
        """
        require_key_of(self.dialect, connection, path, schema, names)
        collected, key = self.place(path), tuple(names.values())
        self._collect_in(connection, path, self._creation(connection, path, new_columns(self.dialect, schema, names)))
        connection.commit()
        table = self.dialect.table(connection, collected)
        if table is None:
            raise SinkError(f"the table {self.dialect.table_name(collected)} was dropped by somebody else")
        target = target_table(self.dialect, table, collected, schema, names=names, keys=key, upserts=True)
        return evolve(target, path=path, named=self.dialect.table_name(path), needs_key=True)

    def _creation(self, connection: Any, path: TablePath, columns: pa.Schema) -> str:
        """Return the statement that creates the table of keys, where texts are equal if they are so in the target."""
        there, lines = self.dialect.table(connection, path), []
        for column in columns:
            have = None if there is None else there.column(column.name)
            by = have.collation if have is not None and of.is_string(column.type) else ""
            declared = f"{self.dialect.declared(column.type, is_key=True)}{f' COLLATE {by}' if by else ''}"
            lines.append(f"{self.dialect.quoted(column.name)} {declared} NOT NULL")
        lines.append(f"PRIMARY KEY ({', '.join(map(self.dialect.quoted, columns.names))})")
        return f"CREATE TABLE {self.dialect.quoted(*self.place(path))} ({', '.join(lines)}){self.dialect.table_options}"

    def _change(self, connection: Any, name: str, path: TablePath) -> None:
        """Remove the rows of a table whose keys were not collected; those with null in the key stay.

        Raises:
            SinkError: All rows would be removed.
        """
        if self.dialect.table(connection, path) is None:
            return
        table, keys, named = self.dialect.quoted(*path), self.dialect.quoted(name), self.dialect.table_name(path)
        names = self._columns(connection, keys)
        statement = removal(partial(self.dialect.ask, connection), table, keys, list(map(self.dialect.quoted, names)))
        if statement is None:
            raise no_key_matches(f"pipeline {self.context.pipeline_id}, sink Jdbc", named, names)
        cursor = self.dialect.cursor(connection)
        family = Families(dialect=self.dialect, connection=connection).of(path, names)
        for each in family.removed_with(statement) if family is not None else ():
            cursor.execute(each)
        cursor.execute(statement)
        tell_removed("Jdbc", named, cursor.rowcount)
