"""Progress of a snapshot of tables, as shown to users."""

from collections import Counter
from collections.abc import Iterable, Sequence

from seatunnel_core.connector_api.source_progress import MOST_TABLES, SnapshotProgress, TableProgress
from seatunnel_core.connectors.change_data.chunks import Chunks, ChunkStart

_ORDER = ("reading", "waiting", "done")


def snapshot_progress(
    names: Sequence[str], chunks: Chunks, start: ChunkStart | None, planned: int, unread: Iterable[int]
) -> SnapshotProgress:
    """Return the progress of a snapshot."""
    next_table = len(names) if start is None else start.table
    left = Counter(unread)
    done = next_table - sum(1 for table in left if table < next_table)
    progress = SnapshotProgress(tables=len(names), tables_done=done, chunks_done=planned - left.total())
    if progress.is_done:
        return progress

    def phase(table: int) -> str:
        begun = table in left or (table == next_table and start is not None and start.low is not None)
        return "reading" if begun else "done" if table < next_table else "waiting"

    shown = sorted(range(len(names)), key=lambda table: (_ORDER.index(phase(table)), table))[:MOST_TABLES]
    listed = (_table(names[table], phase(table), chunks, table, left[table]) for table in shown)
    return SnapshotProgress(
        tables=progress.tables,
        tables_done=progress.tables_done,
        chunks_done=progress.chunks_done,
        listed=tuple(listed),
    )


def _table(name: str, phase: str, chunks: Chunks, table: int, left: int) -> TableProgress:
    taken, size = chunks.taken.get(table, 0), chunks.sizes.get(table)
    # An earlier process may have planned chunks that are still unread.
    taken = max(taken, left)
    return TableProgress(
        name=name, phase=phase, chunks_done=taken - left, chunks=None if size is None else max(size, taken)
    )
