"""Schema evolution of a target table, in the transaction that prepares the table for the rows of a job."""

from collections.abc import Sequence
from typing import Any

import pyarrow.types as of

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connectors.tables.growth import EXACT, TargetContract, wider
from seatunnel_core.connectors.tables.messages import not_widened
from seatunnel_core.connectors.tables.sql_database import SqlDatabase, TableColumn
from seatunnel_core.connectors.tables.table_path import TablePath
from seatunnel_core.connectors.tables.target import stored


def grow(
    database: SqlDatabase,
    connection: Any,
    path: TablePath,
    schema: TableSchema,
    key: Sequence[str],
    contract: TargetContract,
) -> list[str]:
    """Add the columns that a table lacks, and widen those that cannot hold the values of the rows.

    ``target_of`` rejects changes that the contract does not allow or that are impossible.

    Args:
        database: The database.
        connection: A connection in a transaction, which the caller commits.
        path: The path of an existing table.
        schema: The schema of the rows.
        key: The key columns, by which rows are merged.
        contract: The allowed changes.

    Returns:
        The changes, as texts that follow the name of the table.

    Raises:
        SinkError: The database has no type for a column, or a value would change.
    """
    table, done = database.quoted(*path), []
    by_name = {column.name.lower(): column for column in database.columns(connection, path)}
    keys = {name.lower() for name in key}
    types = database.types_of(connection, path, schema.columns.names)
    for have in schema.columns:
        column, kind = by_name.get(have.name.lower()), stored(database, schema, have)
        if column is None:
            if contract.adds and have.name.lower() not in keys:
                declared = database.declared_type(kind)
                database.run(connection, f"ALTER TABLE {table} ADD COLUMN {database.quoted(have.name)} {declared}")
                by_name[have.name.lower()] = TableColumn(name=have.name, declared=declared)
                done.append(f"gets the column {have.name!r} ({declared})")
            continue
        held = database.arrow_type(column.declared) or types.get(have.name)
        new = wider(held, kind) if held is not None and contract.widens else held
        if new is None or held is None or new == held:
            continue
        declared = database.declared_type(new)
        statement = database.widen_column(path, column.name, declared)
        if statement is None:
            continue
        if of.is_nested(held):
            _refuse_changed(database, connection, path, column, declared)
        elif of.is_int64(held) and of.is_floating(new):
            _refuse_inexact(database, connection, path, column, declared)
        database.run(connection, statement)
        done.append(f"has {column.name!r} widened from {column.declared} to {declared}")
    return done


def _refuse_inexact(
    database: SqlDatabase, connection: Any, path: TablePath, column: TableColumn, declared: str
) -> None:
    name = database.quoted(column.name)
    if database.ask(
        connection, f"SELECT 1 FROM {database.quoted(*path)} WHERE {name} > {EXACT} OR {name} < -{EXACT} LIMIT 1"
    ):
        lost = f"whole numbers beyond {EXACT}, which {declared} would change"
        raise SinkError(not_widened(column.name, ".".join(path), lost))


def _refuse_changed(
    database: SqlDatabase, connection: Any, path: TablePath, column: TableColumn, declared: str
) -> None:
    name = database.quoted(column.name)
    back = f"CAST(CAST({name} AS {declared}) AS {column.declared})"
    asked = f"SELECT 1 FROM {database.quoted(*path)} WHERE {back} IS DISTINCT FROM {name} LIMIT 1"
    if database.ask(connection, asked):
        raise SinkError(not_widened(column.name, ".".join(path), f"values that {declared} would change"))
