"""Identities of tables and columns in the catalog, which a rename does not change."""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

from seatunnel_core.connector_api.errors import SourceChangedError
from seatunnel_core.connectors.postgres_log.publications import TableName
from seatunnel_core.connectors.postgres_log.sql_connection import run

_NUMBERS = """
SELECT n.nspname::text, c.relname::text, c.oid::bigint, a.attnum::int, a.attname::text
  FROM unnest(%s::text[], %s::text[]) AS wanted (schema_name, table_name)
  JOIN pg_catalog.pg_namespace n ON n.nspname = wanted.schema_name
  JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = wanted.table_name
  JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
 WHERE a.attnum > 0 AND NOT a.attisdropped
 ORDER BY 1, 2, 4
"""


@frozen(kw_only=True)
class CatalogTable:
    """A table in the catalog."""

    oid: int = 0
    """Object ID; 0 if it is unknown."""

    numbers: Mapping[int, str] = field(factory=dict, repr=False)
    """Names of all columns by number, in the order of the numbers. The log does not contain the numbers."""


def catalog_tables(connection: Any, tables: Sequence[TableName]) -> Mapping[TableName, CatalogTable]:
    """Return the object IDs and the columns of tables."""
    oids: dict[TableName, int] = {}
    numbers: dict[TableName, dict[int, str]] = {table: {} for table in tables}
    paths = ([schema for schema, _ in tables], [name for _, name in tables])
    for schema, table, oid, number, column in run(connection, _NUMBERS, paths):
        oids[schema, table] = oid
        numbers[schema, table][number] = column
    return {table: CatalogTable(oid=oids.get(table, 0), numbers=numbers[table]) for table in tables}


def require_same_table(name: str, oid: int, former: int, where: str = "") -> None:
    """Check that a table is the one with which the job started.

    Args:
        name: Name of the table.
        oid: Current object ID of the table.
        former: Object ID when the job started; 0 if it is unknown.
        where: Position in the log, for the message.

    Raises:
        SourceChangedError: Another table has the name.
    """
    if former and oid != former:
        raise SourceChangedError(
            f"{where}{': ' if where else ''}the table {name} is not the table with which the job started: it was "
            "created again, or another table was renamed to this name. Start a new job"
        )
