"""Target of staged rows: a table, its creation, and checks of the rows."""

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.types as of
from attrs import evolve, field, frozen

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connectors.tables.database import TableColumn
from seatunnel_core.connectors.tables.growth import TargetContract, wider
from seatunnel_core.connectors.tables.history import history_columns, require_history
from seatunnel_core.connectors.tables.messages import different_keys, key_text, no_column, no_type, unfit
from seatunnel_core.connectors.tables.sql_database import ABSENT, KIND, NUMBER, SqlDatabase
from seatunnel_core.connectors.tables.table_path import TablePath


@frozen(kw_only=True)
class TargetTable:
    """Target of the rows of one table."""

    path: TablePath
    columns: pa.Schema = field(repr=False)
    """Columns to write, with their names in the table and the types in which they are staged."""

    given: tuple[str, ...] = field(repr=False)
    """Names of ``columns`` in the rows."""

    key: tuple[str, ...] = ()
    """Columns of the table by which rows are merged; empty if rows are added."""

    whole: bool = False
    """True if rows have no key, and changes apply to rows that are equal in all columns."""

    root: TablePath = ()
    """Table of the parent rows, if they are replaced together with their children."""

    without_values: tuple[str, ...] = field(default=(), repr=False)
    """Columns of the rows that must not contain values, as in ``rows.unknown.Resolved``."""

    @property
    def named(self) -> str:
        """Name of the table for messages."""
        return ".".join(self.path)

    @property
    def has_changes(self) -> bool:
        """True if rows may be updated and deleted, so that they are staged with their kinds and numbers."""
        return bool(self.key) or self.whole

    @property
    def staged(self) -> pa.Schema:
        """Columns of a staged file."""
        more = [pa.field(KIND, pa.int8()), pa.field(NUMBER, pa.int64()), pa.field(ABSENT, pa.string())]
        return pa.schema([*self.fitted, *(more if self.has_changes else [])])

    @property
    def fitted(self) -> pa.Schema:
        """Staged form of ``columns``. All except the key are nullable, because of deleted rows and absent values."""
        if not self.key:
            return self.columns
        return pa.schema(each if each.name in self.key else each.with_nullable(True) for each in self.columns)


def create(
    database: SqlDatabase,
    connection: Any,
    path: TablePath,
    schema: TableSchema,
    key: Sequence[str],
    history: Sequence[str] = (),
) -> None:
    """Create a table, and its schema if it is missing; raise ``SinkError`` if a column is not supported."""
    quoted = database.quoted
    lines, names = [], set()
    for column in schema.columns:
        if column.name.lower() in names:
            raise SinkError(
                f"the rows of {schema.table} have two columns {column.name!r}: {database.name} does not distinguish "
                "upper and lower case"
            )
        names.add(column.name.lower())
        lines.append(f"{quoted(column.name)} {database.declared_type(stored(database, schema, column))}")
    for column in history_columns(database, history) if history else ():
        lines.append(f"{quoted(column.name)} {database.declared_type(column.type)}")
    if key and not history:
        lines.append(f"PRIMARY KEY ({', '.join(map(quoted, key))})")
    database.create_schema(connection, path)
    database.run(connection, f"CREATE TABLE {quoted(*path)} ({', '.join(lines)})")


def target_of(
    database: SqlDatabase,
    connection: Any,
    path: TablePath,
    schema: TableSchema,
    key: Sequence[str],
    contract: TargetContract,
    history: Sequence[str] = (),
    without_values: Sequence[str] = (),
) -> TargetTable:
    """Return the target for rows that are written to an existing table, after its schema evolution.

    Columns of the rows in ``without_values`` fit table columns of any type.

    Raises:
        SinkError: A column is missing, incompatible, or required but absent from the rows, or two rows have the same
            key.
    """
    table, named = database.table_columns(connection, path), ".".join(path)
    by_name = {column.name.lower(): column for column in table}
    fields: dict[str, pa.Field] = {}
    for have in schema.columns:
        column = by_name.get(have.name.lower())
        if column is None:
            known = [each.name for each in table]
            raise no_column(named, have.name, known, schema.table, adds=contract.adds)
        if column.name in fields or column.name.lower() in (KIND, NUMBER, ABSENT):
            raise SinkError(f"two columns of the rows of {schema.table} would be written to {column.name!r} of {named}")
        blank = have.name in without_values
        kind = have.type if blank else _fitting(database, connection, named, schema, have, column, contract)
        fields[column.name] = pa.field(column.name, kind, nullable=column.nullable)
    if history:
        unique = database.unique_keys(connection, path)
        require_history(database, connection, path, table, written=fields, history=history, unique=unique)
    for column in table if not history else ():
        if column.name not in fields and not (column.nullable or column.filled):
            raise SinkError(
                f"the table {named} requires a column {column.name!r}, which the rows of {schema.table} lack"
            )
    return TargetTable(
        path=path,
        columns=pa.schema(list(fields.values())),
        given=tuple(schema.columns.names),
        key=tuple(by_name[name.lower()].name for name in key),
        without_values=tuple(without_values),
    )


def with_types_of(other: TargetTable, target: TargetTable) -> TargetTable:
    """Return ``other`` with the types of ``target`` if both have the same path; ``target`` may have widened a column.

    Rows of several tables may be staged in one file, whose columns then have one type.
    """
    if other.path != target.path:
        return other
    given = zip(target.given, target.columns, strict=True)
    kinds = {column.name: column.type for name, column in given if name not in target.without_values}
    columns = [column.with_type(kinds.get(column.name, column.type)) for column in other.columns]
    return evolve(other, columns=pa.schema(columns))


def stored(database: SqlDatabase, schema: TableSchema, column: pa.Field) -> pa.DataType:
    """Return the type in which a column of rows is staged; raise ``SinkError`` if the database has none."""
    try:
        return database.stored_type(column.type)
    except TypeError as error:
        raise no_type(database.name, schema, column, error) from None


def _fitting(
    database: SqlDatabase,
    connection: Any,
    named: str,
    schema: TableSchema,
    have: pa.Field,
    column: TableColumn,
    contract: TargetContract,
) -> pa.DataType:
    """Return the type in which a column is staged; raise ``SinkError`` if the table's column does not fit."""
    come = stored(database, schema, have)
    if database.written_type(connection, come) == column.declared:
        return come
    want = column.arrow
    new = None if want is None else wider(want, come)
    takes = new == want and (contract.widens or (want is not None and of.is_nested(want)))
    if want is not None and (goes_into(come, want) or takes):
        return want
    raise unfit(have, column.declared, named, schema.table, widened=True if new and not contract.widens else None)


def repeated_key(
    database: SqlDatabase, connection: Any, target: TargetTable, history: Sequence[str] = ()
) -> str | None:
    """Return a key that several (current) rows have, as a string such as ``id = 7``; ``None`` if keys are unique."""
    if not target.key:
        return None
    quoted = database.quoted
    names = ", ".join(map(quoted, target.key))
    none_missing = " AND ".join(f"{quoted(name)} IS NOT NULL" for name in target.key)
    none_missing += f" AND {quoted(history[2])} IS NOT false" if history else ""
    asked = f"SELECT {names} FROM {quoted(*target.path)} WHERE {none_missing} GROUP BY {names} HAVING count(*) > 1"
    found = database.ask(connection, f"{asked} LIMIT 1")
    return key_text(target.key, found[0]) if found else None


def require_one_key(named: str, key: Sequence[str], others: Iterable[Sequence[str]], who: str = "") -> None:
    """Raise ``SinkError`` if the rows of several tables are merged into one target by different keys.

    ``who`` is the sink, for the message.
    """
    for other in others:
        if set(other) != set(key):
            raise SinkError(f"{who}{': ' if who else ''}{different_keys(named, key, other)}")


def goes_into(have: pa.DataType, want: pa.DataType) -> bool:
    """Return True if a cast between two stored types either preserves or rejects each value."""
    if have == want:
        return True
    exact = of.is_integer(have) or of.is_decimal(have)
    if exact and (of.is_integer(want) or of.is_decimal(want)):
        return True
    return bool(of.is_floating(want) and (of.is_integer(have) or (of.is_float32(have) and of.is_float64(want))))
