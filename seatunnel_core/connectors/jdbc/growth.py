"""Schema evolution of target tables: add missing columns, and widen types.

Each change is one statement, which runs before the first row of a start is moved. Rows staged by an earlier start list
their columns, so they can be moved into the changed table as well.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.types as of
from attrs import evolve, frozen

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connectors.jdbc.column import Column, DatabaseTable
from seatunnel_core.connectors.jdbc.databases.dialect import Dialect
from seatunnel_core.connectors.jdbc.save_mode import WAIT_S
from seatunnel_core.connectors.jdbc.target import fits, no_type, plain_type
from seatunnel_core.connectors.tables.growth import EXACT, TargetContract, wider
from seatunnel_core.connectors.tables.messages import not_widened
from seatunnel_core.connectors.tables.table_path import TablePath
from seatunnel_core.rows.types import type_name
from seatunnel_core.rows.unknown import Resolved, resolved

_PLAIN = re.compile(
    r"(tiny|small|medium|big)?int(eger)?(\(\d+\))?|(numeric|decimal)\(\d+, *\d+\)|real|float|double( precision)?|"
    r"bool(ean)?|date",
    re.IGNORECASE,
)
"""Declared types of columns that may be widened. Other declarations restrict values more than the Arrow type does."""

_FLAG = "tinyint(1)"
"""Boolean type of MySQL, whose texts would be 1 and 0."""


@frozen(kw_only=True)
class Change:
    """A change of a table."""

    told: str
    """Description that follows the name of the table: ``gets the column 'city' (TEXT)``."""

    column: str
    """Name of the column in the table."""

    statement: str
    unless: str = ""
    """SELECT that finds a row with a value that the change would not preserve; ``""`` if there can be none."""

    lost: str = ""
    """Description of such values."""


@frozen(kw_only=True)
class Growth:
    """Schema evolution of the tables of one sink."""

    dialect: Dialect
    contract: TargetContract

    def resolved(
        self, table: DatabaseTable | None, schema: TableSchema, names: Mapping[str, str], keys: Sequence[str]
    ) -> Resolved:
        """Return the columns of rows; unknown types are taken from the table.

        Args:
            table: Its current columns; ``None`` if it is created for these rows.
            schema: The schema of the rows.
            names: The name in the table of each column of the rows.
            keys: The key columns, by their names in the table.
        """
        if table is None:
            keyed = [name for name, written in names.items() if written in keys]
            return resolved(schema.columns, None, grows=self.contract.adds, keys=keyed)
        held = {name: table.column(written) for name, written in names.items()}
        return resolved(schema.columns, {name: column.arrow for name, column in held.items() if column is not None})

    def carried_out(
        self,
        connection: Any,
        path: TablePath,
        table: DatabaseTable,
        schema: TableSchema,
        names: Mapping[str, str],
        keys: Sequence[str],
    ) -> tuple[DatabaseTable, tuple[str, ...]]:
        """Change a table for the rows of a schema; return the changed table, and descriptions of the changes.

        Commits the transaction if there was a change.

        Args:
            connection: A connection in a transaction.
            path: The path of the table.
            table: Its current columns.
            schema: The schema of the rows.
            names: The name in the table of each column of the rows.
            keys: The key columns, by their names in the table.

        Raises:
            SinkError: A change is impossible, or would not preserve a value.
        """
        # Reading rows here would lock the table, and two processes with such locks would wait for each other below.
        if not self.planned(connection, path, table, schema, names, keys)[1]:
            return table, ()
        if self.dialect.ddl_commits:
            connection.commit()  # a process that waits for the lock must not block the table
        digest = hashlib.sha256("\0".join(path).encode()).hexdigest()[:24]
        with self.dialect.exclusively(connection, f"seatunnel_grow_{digest}", WAIT_S):
            self.dialect.wait_for_locks(connection, WAIT_S)
            self.dialect.lock_table(connection, path)
            there = self.dialect.table(connection, path) or table
            _, changes = self.planned(connection, path, there, schema, names, keys)
            self.require_kept(connection, path, changes)
            for change in changes:
                self.dialect.cursor(connection).execute(change.statement)
            connection.commit()
        return self.dialect.table(connection, path) or table, tuple(change.told for change in changes)

    def planned(
        self,
        connection: Any,
        path: TablePath,
        table: DatabaseTable,
        schema: TableSchema,
        names: Mapping[str, str],
        keys: Sequence[str],
    ) -> tuple[DatabaseTable, tuple[Change, ...]]:
        """Return the table as it would be after the changes, and the changes; apply none of them, and read no row.

        The arguments are those of ``carried_out``.

        Raises:
            SinkError: A change is impossible.
        """
        columns, changes = {column.name: column for column in table.columns}, []
        for have in schema.columns:
            name = names[have.name]
            known = columns.get(name)
            found = self._added(path, table, schema, have, name, keys) if known is None else None
            if known is not None and self.contract.widens:
                found = self._widened(connection, path, schema, have, known)
            if found is not None:
                columns[name], change = found
                changes.append(change)
        return evolve(table, columns=tuple(columns.values())), tuple(changes)

    def require_kept(self, connection: Any, path: TablePath, changes: Sequence[Change]) -> None:
        """Require that the changes preserve all values of a table.

        Raises:
            SinkError: They would not; the message contains the column.
        """
        for change in changes:
            if change.unless and self.dialect.ask(connection, change.unless):
                raise SinkError(not_widened(change.column, self.dialect.table_name(path), change.lost))

    def _added(
        self,
        path: TablePath,
        table: DatabaseTable,
        schema: TableSchema,
        have: pa.Field,
        name: str,
        keys: Sequence[str],
    ) -> tuple[Column, Change] | None:
        """Return a column that the table lacks; ``None`` if columns are not added."""
        if not self.contract.adds:
            return None
        named = self.dialect.table_name(path)
        if name in keys:
            raise SinkError(
                f"the table {named} has no column {name!r}, which is part of the key; add it with its values"
            )
        alike = [column.name for column in table.columns if column.name.lower() == name.lower()]
        if alike:
            raise SinkError(
                f"the table {named} has a column {alike[0]!r}, but the rows of {schema.table} have {name!r}, which "
                "differs only in case, so no column is added; rename it before this sink, or write field_ide"
            )
        arrow = plain_type(have.type)
        try:
            declared = self.dialect.declared(arrow)
        except TypeError as error:
            raise no_type(self.dialect, schema, have.name, error) from None
        column = Column(name=name, declared=declared, arrow=arrow, read="{}")
        told = f"gets the column {name!r} ({declared})"
        return column, Change(told=told, column=name, statement=self.dialect.add_column(path, name, declared))

    def _widened(
        self, connection: Any, path: TablePath, schema: TableSchema, have: pa.Field, column: Column
    ) -> tuple[Column, Change] | None:
        """Return a column with a type that also fits the rows; ``None`` if it stays unchanged."""
        arrow = wider(column.arrow, plain_type(have.type))
        is_plain = _PLAIN.fullmatch(column.declared) and column.declared.lower() != _FLAG
        if arrow == column.arrow or (not is_plain and fits(have.type, column)):
            return None
        statement = None
        if arrow is not None and is_plain and not column.generated:
            declared = self.dialect.declared(arrow)
            if _spelled(declared) == _spelled(column.declared):  # the values already fit
                return None
            statement = self.dialect.widen_column(connection, path, column, declared)
        if statement is None:
            if fits(have.type, column):
                return None
            raise SinkError(
                f"column {have.name!r}: the rows of {schema.table} have the type {type_name(have.type)}, which does "
                f"not fit into {column.declared} of the table {self.dialect.table_name(path)}, which "
                "schema_contract cannot widen: its values would change, or the database does not support it; convert it"
                " before this sink"
            )
        told = f"has {column.name!r} widened from {column.declared} to {declared}"
        change = Change(told=told, column=column.name, statement=statement)
        if of.is_int64(column.arrow) and of.is_floating(arrow):
            name = self.dialect.quoted(column.name)
            where = f"{name} > {EXACT} OR {name} < -{EXACT}"
            asked = f"SELECT 1 FROM {self.dialect.quoted(*path)} WHERE {where} LIMIT 1"
            change = evolve(change, unless=asked, lost=f"whole numbers beyond {EXACT}, which {declared} would change")
        return evolve(column, declared=declared, arrow=arrow), change


def _spelled(declared: str) -> str:
    """Return a declared type in normalised spelling."""
    return declared.replace(" ", "").lower()
