"""Tables that collect the keys to keep, for ``write_mode = prune``."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.types as of
from attrs import evolve

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connectors.jdbc.databases.dialect import Dialect
from seatunnel_core.connectors.jdbc.replacing import JdbcReplacement
from seatunnel_core.connectors.jdbc.target import Target, new_columns, target_table
from seatunnel_core.connectors.tables.deletion import require_key
from seatunnel_core.connectors.tables.table_path import TablePath


def require_key_of(
    dialect: Dialect, connection: Any, path: TablePath, schema: TableSchema, names: Mapping[str, str]
) -> bool:
    """Return True if the table to prune exists; if it does not, another sink may still create it.

    Raises:
        SinkError: The table lacks a key column, or does not support transactions.
    """
    table, named = dialect.table(connection, path), dialect.table_name(path)
    if table is None:
        return False
    require_key(named, {column.name for column in table.columns}, list(names.values()), schema.table)
    if not table.transactional:
        raise SinkError(f"the table {named} does not support transactions: change its engine to InnoDB")
    return True


def target_of_keys(
    collecting: JdbcReplacement, connection: Any, path: TablePath, schema: TableSchema, names: Mapping[str, str]
) -> Target:
    """Return the target for keys; create and commit the table that collects them, unless it exists."""
    dialect = collecting.database
    require_key_of(dialect, connection, path, schema, names)
    place, key = collecting.place(path), tuple(names.values())
    statement = _creation(dialect, connection, path, place, new_columns(dialect, schema, names))
    collecting.collect_for(connection, path, lambda: dialect.run(connection, statement))
    connection.commit()
    table = dialect.table(connection, place)
    if table is None:
        raise SinkError(f"the table {dialect.table_name(place)} was dropped by another client")
    target = target_table(dialect, connection, table, place, schema, names=names, keys=key, upserts=True)
    return evolve(target, path=path, named=dialect.table_name(path), needs_key=True)


def _creation(dialect: Dialect, connection: Any, path: TablePath, place: TablePath, columns: pa.Schema) -> str:
    """Return the statement that creates a table of keys. The keys are its primary key and compare as in the target."""
    table, lines = dialect.table(connection, path), []
    for column in columns:
        have = None if table is None else table.column(column.name)
        by = have.collation if have is not None and of.is_string(column.type) else ""
        declared = f"{dialect.declared_type(column.type, is_key=True)}{f' COLLATE {by}' if by else ''}"
        lines.append(f"{dialect.quoted(column.name)} {declared} NOT NULL")
    lines.append(f"PRIMARY KEY ({', '.join(map(dialect.quoted, columns.names))})")
    return f"CREATE TABLE {dialect.quoted(*place)} ({', '.join(lines)}){dialect.table_options}"
