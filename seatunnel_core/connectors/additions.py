"""Detection of existing content in a target to which a job adds rows."""

from collections.abc import Mapping
from types import MappingProxyType

from seatunnel_core.connector_api.sink import Sink
from seatunnel_core.quantity import count, pick

MOST_TABLES = 5
"""Maximum number of tables to list individually; the others are only counted."""


class AddingSink(Sink):
    """A sink that inspects the existing content of its targets in the driver, before it writes rows.

    A resumed job only inspects a target if its own output can be distinguished from other content.
    """

    adds_to: Mapping[str, str] = MappingProxyType({})
    """Descriptions of existing content, keyed by table name; the name ``""`` applies to all rows. Set by ``prepare``.
    """


def files_in_words(found: int) -> str:
    """Describe the number of existing files in a target, in the format of ``adds_to``; empty for none."""
    if not found:
        return ""
    return "1 existing file" if found == 1 else f"{count(found)} existing files"


def additions(sink: Sink, rows: int, table_rows: Mapping[str, int]) -> tuple[str, ...]:
    """Return a sentence about each target with existing content, such as ``6 rows added to 1 existing file``."""
    if not isinstance(sink, AddingSink) or not sink.adds_to:
        return ()
    found = {table: (table_rows.get(table, 0) if table and table_rows else rows) for table in sink.adds_to}
    told = [table for table, added in found.items() if added]
    sentences = [f"{pick(found[table], 'row')} added to {sink.adds_to[table]}" for table in told[:MOST_TABLES]]
    if len(told) > MOST_TABLES:
        sentences.append(f"and to {count(len(told) - MOST_TABLES)} more tables with existing rows")
    return tuple(sentences)
