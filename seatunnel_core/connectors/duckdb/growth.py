"""Let a table of a DuckDB file grow with the rows that come, in the transaction that makes it ready for them."""

from collections.abc import Sequence
from typing import Any

import pyarrow.types as of

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connectors.duckdb.columns import arrow_type, declared_type, quoted
from seatunnel_core.connectors.duckdb.database import ask
from seatunnel_core.connectors.duckdb.table import Column, columns_of, stored, types_of
from seatunnel_core.connectors.growing import EXACT, TargetContract, wider
from seatunnel_core.connectors.tables.table_path import TablePath


def grow(
    connection: Any, path: TablePath, schema: TableSchema, key: Sequence[str], contract: TargetContract
) -> list[str]:
    """Add to a table the columns that rows have besides, and widen those that do not hold the types of rows.

    What the contract does not allow, and what is impossible, stays as it is: ``target_of`` refuses it.

    Args:
        connection: One in a transaction, which the caller commits.
        path: The path of the table, which is there.
        schema: The schema of the rows.
        key: The columns by which rows are merged.
        contract: What is allowed.

    Returns:
        What was done, in words that follow the name of the table.

    Raises:
        SinkError: DuckDB has no type for a column, or a value would not survive.
    """
    table, done = quoted(*path), []
    by_name = {column.name.lower(): column for column in columns_of(connection, path)}
    keys = {name.lower() for name in key}
    nested = types_of(connection, path, schema.columns.names)
    for have in schema.columns:
        column, kind = by_name.get(have.name.lower()), stored(schema, have)
        if column is None:
            if contract.adds and have.name.lower() not in keys:
                declared = declared_type(kind)
                connection.execute(f"ALTER TABLE {table} ADD COLUMN {quoted(have.name)} {declared}")
                by_name[have.name.lower()] = Column(name=have.name, declared=declared, nullable=True, filled=False)
                done.append(f"gets the column {have.name!r} ({declared})")
            continue
        held = arrow_type(column.declared) or nested.get(have.name)
        new = wider(held, kind) if held is not None and contract.widens else held
        if new is None or held is None or new == held:
            continue
        declared = declared_type(new)
        if of.is_nested(held):
            _refuse_changed(connection, path, column, declared)
        elif of.is_int64(held) and of.is_floating(new):
            _refuse_inexact(connection, path, column)
        connection.execute(f"ALTER TABLE {table} ALTER COLUMN {quoted(column.name)} TYPE {declared}")
        done.append(f"has {column.name!r} widened from {column.declared} to {declared}")
    return done


def _refuse_inexact(connection: Any, path: TablePath, column: Column) -> None:
    name = quoted(column.name)
    if ask(connection, f"SELECT 1 FROM {quoted(*path)} WHERE {name} > {EXACT} OR {name} < -{EXACT} LIMIT 1"):
        raise SinkError(
            f"the column {column.name!r} of the table {'.'.join(path)} has whole numbers beyond {EXACT}, which DOUBLE "
            "would change, so it is not widened; convert the column of the rows before this sink"
        )


def _refuse_changed(connection: Any, path: TablePath, column: Column, declared: str) -> None:
    name = quoted(column.name)
    back = f"CAST(CAST({name} AS {declared}) AS {column.declared})"
    if ask(connection, f"SELECT 1 FROM {quoted(*path)} WHERE {back} IS DISTINCT FROM {name} LIMIT 1"):
        raise SinkError(
            f"the column {column.name!r} of the table {'.'.join(path)} has values that {declared} would change, so it "
            "is not widened; convert the column of the rows before this sink"
        )
