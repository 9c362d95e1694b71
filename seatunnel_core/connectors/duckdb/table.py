"""A table of a DuckDB file as the target of rows: its columns, how it is created, and what does not fit into it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.types as of
from attrs import field, frozen

from seatunnel_core.config.problem import nearest
from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connectors.duckdb.columns import (
    arrow_type,
    declared_type,
    goes_into,
    literal,
    quoted,
    stored_type,
)
from seatunnel_core.connectors.duckdb.database import ask
from seatunnel_core.connectors.growing import ADD_IT, WIDEN_IT, TargetContract, wider
from seatunnel_core.connectors.tables.messages import key_text
from seatunnel_core.connectors.tables.table_path import TablePath
from seatunnel_core.rows.types import type_name

KIND, NUMBER = "seatunnel_kind", "seatunnel_row"
"""Columns that staged rows have besides where they are merged: the kind of the row, and its number in the unit."""


HISTORY_TYPES = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITH TIME ZONE", "BOOLEAN")
"""The types of the columns that say since when and until when a version was valid, and whether it is."""


@frozen(kw_only=True)
class Column:
    """A column of a table that is there."""

    name: str
    declared: str
    nullable: bool
    filled: bool
    """Whether the database fills it when an INSERT omits it."""


@frozen(kw_only=True)
class TargetTable:
    """The target of the rows of one table, as a task needs it."""

    path: TablePath
    columns: pa.Schema = field(repr=False)
    """The columns that are written, with the types in which they are staged, by their names in the table."""

    given: tuple[str, ...] = field(repr=False)
    """The name in the rows of each of ``columns``."""

    key: tuple[str, ...] = ()
    """The columns of the table by which rows are merged; empty where they are added."""

    root: TablePath = ()
    """The table of the rows that contain these, where they are replaced with those."""

    without_values: tuple[str, ...] = field(default=(), repr=False)
    """Columns of the rows that must have no value, as in ``rows.unknown.Resolved``."""

    @property
    def named(self) -> str:
        """The name of the table in messages."""
        return ".".join(self.path)

    @property
    def staged(self) -> pa.Schema:
        """The columns of a staged file."""
        more = [pa.field(KIND, pa.int8()), pa.field(NUMBER, pa.int64())] if self.key else []
        return pa.schema([*self.columns, *more])


def columns_of(connection: Any, path: TablePath) -> list[Column]:
    """Return the columns of a table; none when it does not exist.

    Raises:
        SinkError: It is a view.
    """
    schema, name = (f"lower({literal(part)})" for part in path)
    where = f"database_name = current_database() AND lower(schema_name) = {schema}"
    if ask(connection, f"SELECT 1 FROM duckdb_views() WHERE {where} AND lower(view_name) = {name}"):
        raise SinkError(f"{'.'.join(path)} is a view, into which no rows go; choose a table")
    asked = "SELECT column_name, data_type, is_nullable, column_default FROM duckdb_columns()"
    found = ask(connection, f"{asked} WHERE {where} AND lower(table_name) = {name} ORDER BY column_index")
    return [
        Column(name=name, declared=declared, nullable=bool(nullable), filled=default is not None)
        for name, declared, nullable, default in found
    ]


def types_of(connection: Any, path: TablePath, names: Sequence[str]) -> dict[str, pa.DataType | None]:
    """Return the types of the columns of a table for rows with these names; ``None`` for types that are not staged."""
    by_name = {column.name.lower(): column.declared for column in columns_of(connection, path)}
    known = {column.name.lower(): column.type for column in _arrow_columns(connection, path)}
    return {
        name: _staged_as(connection, known[name.lower()], by_name[name.lower()])
        for name in names
        if name.lower() in by_name
    }


def _arrow_columns(connection: Any, path: TablePath) -> pa.Schema:
    return connection.sql(f"SELECT * FROM {quoted(*path)} LIMIT 0").to_arrow_table().schema


def _staged_as(connection: Any, kind: pa.DataType, declared: str) -> pa.DataType | None:
    """Return the type in which values of a column are staged; ``None`` if DuckDB would read it as another one."""
    try:
        found = stored_type(kind)
    except TypeError:
        return None
    return found if _declared(connection, found) == declared else None


def _declared(connection: Any, kind: pa.DataType) -> Any:
    return ask(connection, f"SELECT typeof(CAST(NULL AS {declared_type(kind)}))")[0][0]


def create(
    connection: Any, path: TablePath, schema: TableSchema, key: Sequence[str], history: Sequence[str] = ()
) -> None:
    """Create a table, and its schema where it is missing.

    Raises:
        SinkError: DuckDB has no type for a column, or takes two names for one.
    """
    lines, names = [], set()
    for column in schema.columns:
        if column.name.lower() in names:
            raise SinkError(f"the rows of {schema.table} have {column.name!r} twice: DuckDB does not tell cases apart")
        names.add(column.name.lower())
        lines.append(f"{quoted(column.name)} {declared_type(stored(schema, column))}")
    lines += [f"{quoted(name)} {kind}" for name, kind in zip(history, HISTORY_TYPES, strict=bool(history))]
    if key and not history:
        lines.append(f"PRIMARY KEY ({', '.join(map(quoted, key))})")
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(path[0])}")
    connection.execute(f"CREATE TABLE {quoted(*path)} ({', '.join(lines)})")


def target_of(
    connection: Any,
    path: TablePath,
    schema: TableSchema,
    key: Sequence[str],
    contract: TargetContract,
    history: Sequence[str] = (),
    without_values: Sequence[str] = (),
) -> TargetTable:
    """Return the target for rows that go into a table that exists, and has grown as the contract allows.

    Of the columns ``without_values``, those of the rows go into columns of any type.

    Raises:
        SinkError: The table lacks a column of the rows, has one of a type that does not fit, or requires one that the
            rows lack; or it has two rows with one key.
    """
    table, named = columns_of(connection, path), ".".join(path)
    held = types_of(connection, path, schema.columns.names)
    by_name = {column.name.lower(): column for column in table}
    fields: dict[str, pa.Field] = {}
    for have in schema.columns:
        column = by_name.get(have.name.lower())
        if column is None:
            meant = nearest(have.name, [each.name for each in table])
            raise SinkError(
                f"the table {named} has no column {have.name!r}, which the rows of {schema.table} have"
                + (f"; did you mean {meant}?" if meant else "" if contract.adds else ADD_IT)
            )
        if column.name in fields or column.name.lower() in (KIND, NUMBER):
            raise SinkError(f"two columns of the rows of {schema.table} go into {column.name!r} of {named}")
        blank = have.name in without_values
        kind = have.type if blank else _fitting(connection, named, schema, have, column, contract, held)
        fields[column.name] = pa.field(column.name, kind, nullable=column.nullable)
    if history:
        _require_history(connection, path, table, fields, history)
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


def _require_history(
    connection: Any, path: TablePath, table: Sequence[Column], written: Collection[str], history: Sequence[str]
) -> None:
    """Refuse a table that lacks a column of history, has one that a new version would lose, or takes a key once."""
    by_name, named = {column.name.lower(): column for column in table}, ".".join(path)
    for name, kind in zip(history, HISTORY_TYPES, strict=True):
        column = by_name.get(name.lower())
        if column is None or column.declared not in (kind, "TIMESTAMP" if kind != "BOOLEAN" else kind):
            have = "has none" if column is None else f"has {column.declared}"
            raise SinkError(
                f"keep_history needs a column {name!r} of the type {kind}, and the table {named} {have}; add it and "
                "fill it for the rows that are there (is_current with true), or choose a table that is not there yet"
            )
    schema, name = (f"lower({literal(part)})" for part in path)
    where = f"database_name = current_database() AND lower(schema_name) = {schema} AND lower(table_name) = {name}"
    where += " AND constraint_type IN ('PRIMARY KEY', 'UNIQUE')"
    for (unique,) in ask(connection, f"SELECT constraint_column_names FROM duckdb_constraints() WHERE {where}"):
        if history[0].lower() not in map(str.lower, unique):
            raise SinkError(
                f"the table {named} has a unique key of {', '.join(unique)}, and keep_history adds rows with the same "
                "values; create it anew without that, or choose a table that is not there yet"
            )
    kept = {name.lower() for name in history}
    for column in table:
        if column.name not in written and column.name.lower() not in kept:
            raise SinkError(
                f"the table {named} has a column {column.name!r}, which the rows lack, so that new versions would lose "
                "what it has; leave out keep_history, or give the rows that column"
            )


def stored(schema: TableSchema, column: pa.Field) -> pa.DataType:
    """Return the type in which a column of rows is staged; raise ``SinkError`` where DuckDB has none."""
    try:
        return stored_type(column.type)
    except TypeError as error:
        raise SinkError(
            f"column {column.name!r} of the table {schema.table} has the type {type_name(column.type)}, and DuckDB has "
            f"none for {error}; convert the column or leave it out"
        ) from None


def _fitting(
    connection: Any,
    named: str,
    schema: TableSchema,
    have: pa.Field,
    column: Column,
    contract: TargetContract,
    held: Mapping[str, pa.DataType | None],
) -> pa.DataType:
    """Return the type in which a column is staged; raise ``SinkError`` where the table has one that does not fit."""
    come = stored(schema, have)
    if _declared(connection, come) == column.declared:
        return come
    want = arrow_type(column.declared) or held.get(have.name)
    new = None if want is None else wider(want, come)
    takes = new == want and (contract.widens or (want is not None and of.is_nested(want)))
    if want is not None and (goes_into(come, want) or takes):
        return want
    raise SinkError(
        f"column {have.name!r}: the rows of {schema.table} have the type {type_name(have.type)}, which does not "
        f"fit into {column.declared} of the table {named}; convert it before this sink"
        + (WIDEN_IT if new and not contract.widens else "")
    )


def repeated_key(connection: Any, target: TargetTable, history: Sequence[str] = ()) -> str | None:
    """Return the text of a key that several rows of the table have, ``id = 7``; ``None`` when all are unique.

    Of a table with history, versions that have ended do not count.
    """
    if not target.key:
        return None
    names = ", ".join(map(quoted, target.key))
    none_missing = " AND ".join(f"{quoted(name)} IS NOT NULL" for name in target.key)
    none_missing += f" AND {quoted(history[2])} IS NOT false" if history else ""
    asked = f"SELECT {names} FROM {quoted(*target.path)} WHERE {none_missing} GROUP BY {names} HAVING count(*) > 1"
    found = ask(connection, f"{asked} LIMIT 1")
    return key_text(target.key, found[0]) if found else None
