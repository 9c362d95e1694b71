"""Rows of a chunk as batches of a source, and the report of the chunk's mark."""

from collections.abc import Generator, Iterator
from contextlib import closing

from seatunnel_core.connector_api.batch import Batch
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connectors.change_data.column_rules import ColumnRules
from seatunnel_core.connectors.jdbc.fetched import Fetched
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.rows.batch import unlogged

ChunkRows = Generator[Fetched, None, object]
"""Generator that yields the rows of a chunk and returns its mark. The source can parse the mark's string form."""


def chunk_batches(
    found: Found, rows: ChunkRows, number: int, where: str, context: ReadContext, rules: ColumnRules
) -> Iterator[Batch]:
    """Yield the filtered rows of a chunk, and then report ``{"chunk": number, "mark": …}`` as a fact.

    Args:
        found: The table.
        rows: The rows. The generator is closed at the end, because it holds a connection.
        number: Number of the chunk in the cursor of the source.
        where: The database and the chunk, for messages.
        context: Determines whether rows with unrepresentable values are skipped.
        rules: Row filter, and masked columns, whose values messages do not show.
    """
    with closing(_reported(rows, number, context)) as reported:
        kept = (rules.kept_rows(each, found) for each in reported)
        for fitting in found.fitted(kept, where, context, nulls=False):
            if fitting.num_rows:
                yield Batch(table=found.schema().table, rows=fitting, origins=unlogged(fitting.num_rows))


def _reported(rows: ChunkRows, number: int, context: ReadContext) -> Generator[Fetched, None, None]:
    mark = yield from rows
    context.report_fact({"chunk": number, "mark": str(mark)})
