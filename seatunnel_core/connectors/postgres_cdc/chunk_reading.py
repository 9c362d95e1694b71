"""Reading of a chunk of a table in a task, together with the mark of its snapshot."""

from collections.abc import Generator, Mapping
from contextlib import closing
from typing import Any

from attrs import frozen

from seatunnel_core.connectors.jdbc.databases.postgresql import PostgreSQL
from seatunnel_core.connectors.jdbc.databases.postgresql_values import rows_of
from seatunnel_core.connectors.jdbc.fetched import Fetched
from seatunnel_core.connectors.jdbc.pool import BULK
from seatunnel_core.connectors.jdbc.reading import Found

_BATCH_ROWS = 65_536
_MARK = "SELECT pg_catalog.txid_current_snapshot()::text AS mark"


@frozen
class ChunkEnd:
    """The end of a chunk."""

    mark: str
    """The snapshot in which it was read, as ``SnapshotMark`` writes it."""


def chunk_rows(
    dialect: PostgreSQL, found: Found, body: Mapping[str, Any], snapshot: str
) -> Generator[Fetched | ChunkEnd, None, None]:
    """Yield the rows of a chunk, and then its end.

    Args:
        dialect: The database.
        found: The table.
        body: The bounds of the chunk, from ``Chunk.body``.
        snapshot: Name of the snapshot to read. If it no longer exists, because the driver was restarted, the current
            state is read: the mark is that of the snapshot which was read.
    """
    with dialect.pool.lend(BULK) as connection:
        _begin(connection)
        try:
            dialect.execute(connection, f"SET TRANSACTION SNAPSHOT {dialect.literal(snapshot)}")
        except Exception as error:
            if not dialect.has_lost_snapshot(error):
                raise
            connection.rollback()
            _begin(connection)
        row = dialect.first_row(connection, _MARK)
        assert row is not None, "the statement returns one row"
        with closing(connection.read(found.statement(body))) as batches:
            for batch in batches:
                for start in range(0, batch.num_rows, _BATCH_ROWS):
                    yield rows_of(batch.slice(start, _BATCH_ROWS), found.columns)
        yield ChunkEnd(str(row[0]))


def _begin(connection: Any) -> None:
    connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
