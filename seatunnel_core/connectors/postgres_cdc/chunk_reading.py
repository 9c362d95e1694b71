"""Reading of a chunk in a task, with the mark of its snapshot."""

from collections.abc import Generator, Mapping
from contextlib import closing
from typing import Any

from seatunnel_core.connectors.jdbc.databases.postgresql import PostgreSQL
from seatunnel_core.connectors.jdbc.databases.postgresql_values import rows_of
from seatunnel_core.connectors.jdbc.fetched import Fetched
from seatunnel_core.connectors.jdbc.pool import BULK
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.postgres_cdc.catalog_tables import require_same_table

_BATCH_ROWS = 65_536
_CHANGED = """
WITH RECURSIVE tree AS (
  SELECT c.oid, c.relfilenode FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
   WHERE n.nspname = {schema} AND c.relname = {name}
  UNION ALL
  SELECT c.oid, c.relfilenode FROM tree JOIN pg_catalog.pg_inherits i ON i.inhparent = tree.oid
    JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid)
SELECT NOT EXISTS (SELECT 1 FROM tree WHERE tree.oid = {relation}::regclass)
    OR EXISTS (SELECT 1 FROM tree WHERE tree.relfilenode <> pg_catalog.pg_relation_filenode(tree.oid))
"""
"""Query that returns True if the files of the table or of a partition differ from those in the snapshot.

ALTER TABLE and TRUNCATE rewrite tables into new files, in which older snapshots find no rows.
"""

_MARK = "SELECT pg_catalog.txid_current_snapshot()::text AS mark"


def chunk_rows(
    dialect: PostgreSQL, found: Found, body: Mapping[str, Any], snapshot: str, oid: int = 0
) -> Generator[Fetched, None, str]:
    """Yield the rows of a chunk, and return its mark: the snapshot, in the format of ``SnapshotMark``.

    Args:
        dialect: The database.
        found: The table.
        body: The bounds of the chunk, from ``Chunk.body``.
        snapshot: Name of the snapshot to read. If it is empty, no longer exists or cannot be used for the table, the
            current state is read.
        oid: Object ID of the table; 0 if it is unknown.

    Raises:
        SourceChangedError: Another table has the name of the table.
    """
    with dialect.pool.lend(BULK) as connection:
        if not (snapshot and _begin_in(snapshot, dialect, found, connection, oid)):
            connection.rollback()
            _begin(connection)
            _lock(dialect, found, connection, oid)
        row = dialect.first_row(connection, _MARK)
        assert row is not None, "the statement returns one row"
        with closing(connection.read(found.statement(body))) as batches:
            for batch in batches:
                for start in range(0, batch.num_rows, _BATCH_ROWS):
                    yield rows_of(batch.slice(start, _BATCH_ROWS), found.columns)
        return str(row[0])


def _begin_in(snapshot: str, dialect: PostgreSQL, found: Found, connection: Any, oid: int) -> bool:
    """Begin a transaction with a snapshot. Return False if the table cannot be read with it."""
    _begin(connection)
    try:
        dialect.execute(connection, f"SET TRANSACTION SNAPSHOT {dialect.literal(snapshot)}")
    except Exception as error:
        if not dialect.has_lost_snapshot(error):
            raise
        return False
    _lock(dialect, found, connection, oid)
    path = found.reading.path
    assert path is not None, "a captured table has a path"
    relation, schema, name = map(dialect.literal, (found.reading.relation, *path[-2:]))
    row = dialect.first_row(connection, _CHANGED.format(relation=relation, schema=schema, name=name))
    assert row is not None, "the statement returns one row"
    return not row[0]


def _lock(dialect: PostgreSQL, found: Found, connection: Any, oid: int) -> None:
    """Lock the table against rewrites and renaming until the transaction ends. The lock does not take a snapshot."""
    relation = found.reading.relation
    dialect.execute(connection, f"LOCK TABLE {relation} IN ACCESS SHARE MODE")
    row = dialect.first_row(connection, f"SELECT {dialect.literal(relation)}::regclass::oid::bigint")
    assert row is not None, "the statement returns one row"
    require_same_table(found.reading.name, row[0], oid)


def _begin(connection: Any) -> None:
    connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
