"""What a job's rows are added to: things that were in a target before the job, and stay there beside its rows."""

from collections.abc import Mapping
from types import MappingProxyType

from seatunnel_core.connector_api.sink import Sink
from seatunnel_core.quantity import count, pick

MOST_TABLES = 5
"""Tables with a sentence each; further ones are counted."""


class AddingSink(Sink):
    """A sink that looks, in the driver and before rows move, at what is in its targets and stays there.

    A process that goes on with a job looks only where it can tell what the job itself has written.
    """

    adds_to: Mapping[str, str] = MappingProxyType({})
    """In words, by the name of the table whose rows come beside it; the name ``""`` stands for all rows. Set
    when the target is made ready."""


def files_in_words(found: int) -> str:
    """Return how many files were in a target, as ``adds_to`` has it; empty for none."""
    if not found:
        return ""
    return "1 file that was there" if found == 1 else f"{count(found)} files that were there"


def additions(sink: Sink, rows: int, table_rows: Mapping[str, int]) -> tuple[str, ...]:
    """Return a sentence for each thing to which rows were added, such as ``6 rows added to 1 file that was there``.

    Args:
        sink: a sink of a pipeline.
        rows: its committed rows.
        table_rows: those of each table; empty when they are not counted, as with a single table.
    """
    if not isinstance(sink, AddingSink) or not sink.adds_to:
        return ()
    found = {table: (table_rows.get(table, 0) if table and table_rows else rows) for table in sink.adds_to}
    told = [table for table, added in found.items() if added]
    sentences = [f"{pick(found[table], 'row')} added to {sink.adds_to[table]}" for table in told[:MOST_TABLES]]
    if len(told) > MOST_TABLES:
        sentences.append(f"and to {count(len(told) - MOST_TABLES)} more tables that had rows")
    return tuple(sentences)
