"""Checks for large values (TOAST), which the log of an update may omit if they did not change."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connectors.postgres_cdc.tables import Captured
from seatunnel_core.connectors.postgres_log.publications import TableName
from seatunnel_core.connectors.postgres_log.sql_connection import run

_LARGE_VALUES = """
WITH RECURSIVE tree AS (
  SELECT c.oid, c.relreplident, c.reltoastrelid FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
   WHERE n.nspname = %s AND c.relname = %s
  UNION ALL
  SELECT c.oid, c.relreplident, c.reltoastrelid FROM tree JOIN pg_catalog.pg_inherits i ON i.inhparent = tree.oid
    JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid)
SELECT c.oid::regclass::text FROM tree c
 WHERE c.relreplident <> 'f' AND c.reltoastrelid <> 0 AND pg_catalog.pg_relation_size(c.reltoastrelid) > 0
"""
"""Query for the table and the partitions with values that are stored separately (TOAST). Unless the replica identity is
FULL, the log of an update omits these values if they did not change.
"""


def require_whole_rows(
    connected: Callable[[], AbstractContextManager[Any]], tables: Sequence[Captured], context: ReadContext
) -> None:
    """Check that updates can be emitted again while tables with one target are copied.

    The target may not have the row of such an update, so it could not keep the values that the log omits.

    Args:
        connected: Function that opens a connection to the server.
        tables: The captured tables.
        context: Determines which tables have one target that replaces rows.

    Raises:
        SourceError: The log of a table may omit values.
    """
    repeated = [each for each in tables if context.order_group(each.name).replaces_rows]
    if not repeated:
        return
    with connected() as connection:
        partial = [name for table in repeated for name in partially_logged(connection, table.path)]
    if partial:
        raise SourceError(
            f"{', '.join(partial)} can contain large values (TOAST), and has the same target as another table. While "
            "these tables are copied, changes may be applied again, but the log omits large values that an update did "
            f"not change; run {whole_rows(partial)}, and start a new job"
        )


def whole_rows(tables: Sequence[str]) -> str:
    """Return the statements that let the log contain all values of the tables."""
    return "; ".join(f"ALTER TABLE {name} REPLICA IDENTITY FULL" for name in tables)


def partially_logged(connection: Any, table: TableName) -> Sequence[str]:
    """Return the names of the table and partitions for which the log may omit unchanged values of updated rows.

    Large values that are added later are logged together with their row.
    """
    return [name for (name,) in run(connection, _LARGE_VALUES, table)]
