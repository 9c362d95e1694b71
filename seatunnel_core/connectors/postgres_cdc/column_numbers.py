"""Numbers of columns, which identify a column after it was renamed. The log does not contain them."""

from collections.abc import Mapping, Sequence
from typing import Any

from seatunnel_core.connectors.postgres_log.publications import TableName
from seatunnel_core.connectors.postgres_log.sql_connection import run

_NUMBERS = """
SELECT n.nspname::text, c.relname::text, a.attnum::int, a.attname::text
  FROM unnest(%s::text[], %s::text[]) AS wanted (schema_name, table_name)
  JOIN pg_catalog.pg_namespace n ON n.nspname = wanted.schema_name
  JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = wanted.table_name
  JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
 WHERE a.attnum > 0 AND NOT a.attisdropped
 ORDER BY 1, 2, 3
"""


def column_numbers(connection: Any, tables: Sequence[TableName]) -> Mapping[TableName, Mapping[int, str]]:
    """Return the names of all columns of the tables by number, in the order of the numbers."""
    found: dict[TableName, dict[int, str]] = {table: {} for table in tables}
    paths = ([schema for schema, _ in tables], [name for _, name in tables])
    for schema, table, number, column in run(connection, _NUMBERS, paths):
        found[schema, table][number] = column
    return found
