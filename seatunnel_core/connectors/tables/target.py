"""A table as the target of staged rows: its columns, its creation, and the rows that it rejects."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.types as of
from attrs import field, frozen

from seatunnel_core.config.problem import nearest
from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connectors.tables.growth import ADD_IT, WIDEN_IT, TargetContract, wider
from seatunnel_core.connectors.tables.messages import key_text
from seatunnel_core.connectors.tables.sql_database import KIND, NUMBER, SqlDatabase, TableColumn
from seatunnel_core.connectors.tables.table_path import TablePath
from seatunnel_core.rows.types import type_name


@frozen(kw_only=True)
class TargetTable:
    """Target of the rows of one table, as a task needs it."""

    path: TablePath
    columns: pa.Schema = field(repr=False)
    """Columns to write, by their names in the table, with the types in which they are staged."""

    given: tuple[str, ...] = field(repr=False)
    """Name in the rows of each of ``columns``."""

    key: tuple[str, ...] = ()
    """Columns of the table by which rows are merged; empty if rows are added."""

    root: TablePath = ()
    """Table of the parent rows, if children are replaced together with them."""

    without_values: tuple[str, ...] = field(default=(), repr=False)
    """Columns of the rows that must have no value, as in ``rows.unknown.Resolved``."""

    @property
    def named(self) -> str:
        """Name of the table in messages."""
        return ".".join(self.path)

    @property
    def staged(self) -> pa.Schema:
        """Columns of a staged file."""
        more = [pa.field(KIND, pa.int8()), pa.field(NUMBER, pa.int64())] if self.key else []
        return pa.schema([*self.columns, *more])


def history_types(database: SqlDatabase) -> tuple[str, str, str]:
    """Return the types of the history columns: valid from, valid until, and is current.

    Raises:
        SinkError: The database lacks one of them.
    """
    try:
        moment, flag = database.stored_type(pa.timestamp("us", "UTC")), database.stored_type(pa.bool_())
    except TypeError as error:
        raise SinkError(
            f"{database.name} has no type for {error}, which keep_history requires; remove keep_history"
        ) from None
    return database.declared_type(moment), database.declared_type(moment), database.declared_type(flag)


def create(
    database: SqlDatabase,
    connection: Any,
    path: TablePath,
    schema: TableSchema,
    key: Sequence[str],
    history: Sequence[str] = (),
) -> None:
    """Create a table, and its schema if it is missing.

    Raises:
        SinkError: The database has no type for a column, or two columns differ only in case.
    """
    quoted = database.quoted
    lines, names = [], set()
    for column in schema.columns:
        if column.name.lower() in names:
            raise SinkError(
                f"the rows of {schema.table} have two columns {column.name!r}: {database.name} ignores upper and lower "
                "case"
            )
        names.add(column.name.lower())
        lines.append(f"{quoted(column.name)} {database.declared_type(stored(database, schema, column))}")
    if history:
        lines += [f"{quoted(name)} {kind}" for name, kind in zip(history, history_types(database), strict=True)]
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
    """Return the target for rows that go into an existing table, after its schema evolution.

    Columns of the rows in ``without_values`` fit table columns of any type.

    Raises:
        SinkError: The table lacks a column of the rows, has one of a type that does not fit, or requires one that the
            rows lack; or it has two rows with one key.
    """
    table, named = database.columns(connection, path), ".".join(path)
    held = database.types_of(connection, path, schema.columns.names)
    by_name = {column.name.lower(): column for column in table}
    fields: dict[str, pa.Field] = {}
    for have in schema.columns:
        column = by_name.get(have.name.lower())
        if column is None:
            raise _no_column(named, have.name, table, schema, contract)
        if column.name in fields or column.name.lower() in (KIND, NUMBER):
            raise SinkError(f"two columns of the rows of {schema.table} would be written to {column.name!r} of {named}")
        blank = have.name in without_values
        kind = have.type if blank else _fitting(database, connection, named, schema, have, column, contract, held)
        fields[column.name] = pa.field(column.name, kind, nullable=column.nullable)
    if history:
        _require_history(database, connection, path, table, fields, history)
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


def _no_column(
    named: str, name: str, table: Sequence[TableColumn], schema: TableSchema, contract: TargetContract
) -> SinkError:
    meant = nearest(name, [each.name for each in table])
    return SinkError(
        f"the table {named} has no column {name!r}, which the rows of {schema.table} have"
        + (f"; did you mean {meant}?" if meant else "" if contract.adds else ADD_IT)
    )


def _require_history(
    database: SqlDatabase,
    connection: Any,
    path: TablePath,
    table: Sequence[TableColumn],
    written: Collection[str],
    history: Sequence[str],
) -> None:
    """Reject a table that lacks a history column, has one that a new version would lose, or allows a key only once."""
    by_name, named = {column.name.lower(): column for column in table}, ".".join(path)
    plain = database.types.get(pa.timestamp("us"))
    for name, kind, other in zip(history, history_types(database), (plain, plain, None), strict=True):
        column = by_name.get(name.lower())
        if column is None or column.declared not in (kind, other):
            have = "has none" if column is None else f"has {column.declared}"
            raise SinkError(
                f"keep_history needs a column {name!r} of the type {kind}, but the table {named} {have}; add it and "
                "fill it for the existing rows (is_current with true), or choose a new table"
            )
    for unique in database.unique_keys(connection, path):
        if history[0].lower() not in map(str.lower, unique):
            raise SinkError(
                f"the table {named} has a unique key of {', '.join(unique)}, but keep_history adds rows with the "
                "same values; create the table again without it, or choose"
                " a new table"
            )
    kept = {name.lower() for name in history}
    for column in table:
        if column.name not in written and column.name.lower() not in kept:
            raise SinkError(
                f"the table {named} has a column {column.name!r}, which the rows lack, so new versions would lose "
                "its values; remove keep_history, or add that column to the rows"
                ""
            )


def stored(database: SqlDatabase, schema: TableSchema, column: pa.Field) -> pa.DataType:
    """Return the type in which a column of rows is staged; raise ``SinkError`` if the database has none."""
    try:
        return database.stored_type(column.type)
    except TypeError as error:
        raise SinkError(
            f"column {column.name!r} of the table {schema.table} has the type {type_name(column.type)}, and "
            f"{database.name} has no type for {error}; convert or remove the column"
        ) from None


def _fitting(
    database: SqlDatabase,
    connection: Any,
    named: str,
    schema: TableSchema,
    have: pa.Field,
    column: TableColumn,
    contract: TargetContract,
    held: Mapping[str, pa.DataType | None],
) -> pa.DataType:
    """Return the type in which a column is staged; raise ``SinkError`` if the table's column does not fit."""
    come = stored(database, schema, have)
    if database.written_type(connection, come) == column.declared:
        return come
    want = database.arrow_type(column.declared) or held.get(have.name)
    new = None if want is None else wider(want, come)
    takes = new == want and (contract.widens or (want is not None and of.is_nested(want)))
    if want is not None and (goes_into(come, want) or takes):
        return want
    raise SinkError(
        f"column {have.name!r}: the rows of {schema.table} have the type {type_name(have.type)}, which does not "
        f"fit into {column.declared} of the table {named}; convert it before this sink"
        + (WIDEN_IT if new and not contract.widens else "")
    )


def repeated_key(
    database: SqlDatabase, connection: Any, target: TargetTable, history: Sequence[str] = ()
) -> str | None:
    """Return the text of a key that several rows of the table have, ``id = 7``; ``None`` if all keys are unique.

    In a table with history, only current versions count.
    """
    if not target.key:
        return None
    quoted = database.quoted
    names = ", ".join(map(quoted, target.key))
    none_missing = " AND ".join(f"{quoted(name)} IS NOT NULL" for name in target.key)
    none_missing += f" AND {quoted(history[2])} IS NOT false" if history else ""
    asked = f"SELECT {names} FROM {quoted(*target.path)} WHERE {none_missing} GROUP BY {names} HAVING count(*) > 1"
    found = database.ask(connection, f"{asked} LIMIT 1")
    return key_text(target.key, found[0]) if found else None


def goes_into(have: pa.DataType, want: pa.DataType) -> bool:
    """Return True if a cast between stored types keeps or rejects each value, and changes none."""
    if have == want:
        return True
    exact = of.is_integer(have) or of.is_decimal(have)
    if exact and (of.is_integer(want) or of.is_decimal(want)):
        return True
    return bool(of.is_floating(want) and (of.is_integer(have) or (of.is_float32(have) and of.is_float64(want))))
