"""Schema evolution of target tables: addition of missing columns, and widening of types.

Each change is one statement, which runs before this process moves its first row. Staged rows list their columns, so
rows that an earlier process staged can also be moved to the changed table.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.types as of
from attrs import evolve, frozen

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connectors.tables.database import TableColumn, TableDatabase
from seatunnel_core.connectors.tables.growth import EXACT, TargetContract, wider
from seatunnel_core.connectors.tables.messages import no_type, not_widened, unfit
from seatunnel_core.connectors.tables.table_path import TablePath
from seatunnel_core.rows.unknown import Resolved, resolved

C = TypeVar("C", bound=TableColumn)

WAIT_S = 60
"""Maximum time to wait while another process changes the same table, in seconds."""


@frozen(kw_only=True)
class Change:
    """A change to a table's columns."""

    description: str
    """Description that follows the table name: ``gets the column 'city' (TEXT)``."""

    column: str
    """Name of the column in the table."""

    statement: str
    unless: str = ""
    """SELECT that finds a row with a value that the change would not preserve; ``""`` if all values are preserved."""

    lost: str = ""
    """Description of the values that the change would not preserve."""


@frozen(kw_only=True)
class Growth:
    """Schema evolution of the tables of one sink.

    In all methods, ``columns`` are the current columns of a table, ``names`` maps each column of the rows to its name
    in the table, and ``keys`` are the names of the key columns in the table.
    """

    database: TableDatabase
    contract: TargetContract

    def resolved(
        self, columns: Sequence[TableColumn] | None, schema: TableSchema, names: Mapping[str, str], keys: Sequence[str]
    ) -> Resolved:
        """Return the columns of the rows; unknown types are taken from the table if it exists."""
        if columns is None:
            keyed = [name for name, written in names.items() if written in keys]
            return resolved(schema.columns, None, grows=self.contract.adds, keys=keyed)
        held = {column.name: column.arrow for column in columns}
        return resolved(schema.columns, {name: held[to] for name, to in names.items() if to in held})

    def carried_out(
        self,
        connection: Any,
        path: TablePath,
        columns: Sequence[TableColumn],
        schema: TableSchema,
        names: Mapping[str, str],
        keys: Sequence[str],
    ) -> tuple[str, ...]:
        """Change a table for the rows of a schema, and describe the changes; the caller commits the transaction.

        Raises:
            SinkError: A change is impossible, or would not preserve a value.
        """
        database = self.database
        # Reading rows here would lock the table, and two processes with such locks would wait for each other below.
        if not self.planned(connection, path, columns, schema, names, keys)[1]:
            return ()
        with self._locked(connection, path):
            columns = database.table_columns(connection, path)
            _, changes = self.planned(connection, path, columns, schema, names, keys)
            self._change(connection, path, changes)
        return tuple(change.description for change in changes)

    def follow(self, connection: Any, path: TablePath, wanted: Sequence[TableColumn], named: str) -> None:
        """Give a table the columns of another one, ``named``, with their declared types; the caller commits.

        Raises:
            SinkError: Existing rows cannot have a column, or a change would not preserve a value.
        """
        if not self._differences(connection, path, wanted, named):
            return
        with self._locked(connection, path):
            self._change(connection, path, self._differences(connection, path, wanted, named))

    def _differences(
        self, connection: Any, path: TablePath, wanted: Sequence[TableColumn], named: str
    ) -> Sequence[Change]:
        """Return the changes with which a table gets the columns of ``wanted``."""
        database, changes = self.database, []
        known = {column.name: column for column in database.table_columns(connection, path)}
        for want in wanted:
            held, unless, lost = known.get(want.name), "", ""
            statement: str | None = None
            if held is None:
                if want.nullable and not want.filled:
                    statement = database.add_column(path, want.name, want.declared)
            elif held.declared == want.declared or held.arrow is None or want.arrow is None:
                continue
            elif wider(held.arrow, want.arrow) == want.arrow:
                statement = database.widen_column(connection, path, held, want.declared)
                unless, lost = self._losses(path, held, held.arrow, want.arrow, want.declared)
            else:
                continue  # the values already fit
            if not statement:
                raise SinkError(
                    f"the rows of several tables replace those of {named}, but the rows that were collected so far "
                    f"cannot get the column {want.name!r} ({want.declared}); add it to the rows of all tables"
                )
            changes.append(Change(description="", column=want.name, statement=statement, unless=unless, lost=lost))
        return changes

    @contextmanager
    def _locked(self, connection: Any, path: TablePath) -> Iterator[None]:
        """Exclude other clients from a table while its columns change."""
        database = self.database
        if database.ddl_commits:
            connection.commit()  # a process that waits for the lock must not block the table
        digest = hashlib.sha256("\0".join(path).encode()).hexdigest()[:24]
        with database.exclusively(connection, f"seatunnel_grow_{digest}", WAIT_S):
            database.wait_for_locks(connection, WAIT_S)
            database.lock_table(connection, path)
            yield

    def _change(self, connection: Any, path: TablePath, changes: Sequence[Change]) -> None:
        self.require_kept(connection, path, changes)
        for change in changes:
            self.database.run(connection, change.statement)

    def planned(
        self,
        connection: Any,
        path: TablePath,
        columns: Sequence[C],
        schema: TableSchema,
        names: Mapping[str, str],
        keys: Sequence[str],
    ) -> tuple[tuple[C, ...], tuple[Change, ...]]:
        """Return the resulting columns, and the changes; raise ``SinkError`` if a change is impossible."""
        grown, changes = {column.name: column for column in columns}, []
        for have in schema.columns:
            name, found = names[have.name], None
            known = grown.get(name)
            if known is None and self.contract.adds:
                found = self._added(path, columns, schema, have, name, keys)
            elif known is not None and self.contract.widens:
                found = self._widened(connection, path, schema, have, known)
            if found is not None:
                grown[name], change = found
                changes.append(change)
        return tuple(grown.values()), tuple(changes)

    def require_kept(self, connection: Any, path: TablePath, changes: Sequence[Change]) -> None:
        """Raise ``SinkError`` if a change would alter a value in the table."""
        for change in changes:
            if change.unless and self.database.ask(connection, change.unless):
                raise SinkError(not_widened(change.column, self.database.table_name(path), change.lost))

    def _added(
        self,
        path: TablePath,
        columns: Sequence[TableColumn],
        schema: TableSchema,
        have: pa.Field,
        name: str,
        keys: Sequence[str],
    ) -> tuple[Any, Change]:
        """Return a column that the table lacks, and the change that adds it."""
        named = self.database.table_name(path)
        if name in keys:
            raise SinkError(
                f"the table {named} has no column {name!r}, which is part of the key; add it with its values"
            )
        alike = [column.name for column in columns if column.name.lower() == name.lower()]
        if alike:
            raise SinkError(
                f"the table {named} has a column {alike[0]!r}, but the rows of {schema.table} have {name!r}, which "
                "differs only in case, so no column is added; rename the column of the rows before this sink, or "
                "write field_ide"
            )
        try:
            arrow = self.database.stored_type(have.type)
            declared = self.database.declared_type(arrow)
        except TypeError as error:
            raise no_type(self.database.name, schema, have, error) from None
        column = self.database.column_class(name=name, declared=declared, arrow=arrow)
        description = f"gets the column {name!r} ({declared})"
        return column, Change(
            description=description, column=name, statement=self.database.add_column(path, name, declared)
        )

    def _widened(
        self, connection: Any, path: TablePath, schema: TableSchema, have: pa.Field, column: C
    ) -> tuple[C, Change] | None:
        """Return a column with a type that also fits the rows, and the change; ``None`` if nothing changes."""
        database, held = self.database, column.arrow
        try:
            arrow = None if held is None else wider(held, database.stored_type(have.type))
        except TypeError as error:
            raise no_type(database.name, schema, have, error) from None
        if held is None or arrow == held:
            return None
        statement, declared = None, ""
        if arrow is not None and database.may_widen(column):
            declared = database.declared_type(arrow)
            if _spelled(declared) == _spelled(column.declared):  # the values already fit
                return None
            statement = database.widen_column(connection, path, column, declared)
        if arrow is None or statement is None:
            if database.fits(have.type, column):
                return None
            raise unfit(have, column.declared, database.table_name(path), schema.table, widened=False)
        description = f"gets a wider type for the column {column.name!r} ({declared} instead of {column.declared})"
        unless, lost = self._losses(path, column, held, arrow, declared)
        change = Change(description=description, column=column.name, statement=statement, unless=unless, lost=lost)
        return evolve(column, declared=declared, arrow=arrow), change

    def _losses(
        self, path: TablePath, column: TableColumn, held: pa.DataType, arrow: pa.DataType, declared: str
    ) -> tuple[str, str]:
        """Return the fields ``unless`` and ``lost`` of a ``Change``."""
        name, table = self.database.quoted(column.name), self.database.quoted(*path)
        if of.is_nested(held):
            back = f"CAST(CAST({name} AS {declared}) AS {column.declared})"
            where, lost = f"{back} IS DISTINCT FROM {name}", f"values that {declared} would change"
        elif of.is_int64(held) and of.is_floating(arrow):
            where = f"{name} > {EXACT} OR {name} < -{EXACT}"
            lost = f"whole numbers beyond {EXACT}, which {declared} would change"
        else:
            return "", ""
        return f"SELECT 1 FROM {table} WHERE {where} LIMIT 1", lost


def _spelled(declared: str) -> str:
    return declared.replace(" ", "").lower()
