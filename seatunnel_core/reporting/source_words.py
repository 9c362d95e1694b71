"""Progress of a source that reads a log, as one line for a terminal."""

from seatunnel_core.connector_api.source_progress import SnapshotProgress, SourceProgress, TableProgress
from seatunnel_core.quantity import count, duration, pick, size

_MOST_TABLES = 3
"""Maximum number of tables that are listed."""


def source_words(progress: SourceProgress) -> str:
    """Return a line such as ``snapshot 3/10 tables, 120 chunks (orders 4/9); log 12.3 MB, 4.0 s behind``."""
    parts = []
    if progress.snapshot is not None and not progress.snapshot.is_done:
        parts.append(_snapshot(progress.snapshot))
    if progress.position:
        parts.append(f"log {progress.position}, {_lag(progress)}")
    return "; ".join(parts) or "snapshot complete"


def _snapshot(snapshot: SnapshotProgress) -> str:
    read = [_table(each) for each in snapshot.listed if each.phase == "reading"]
    named = f" ({', '.join(read[:_MOST_TABLES])}{', …' if len(read) > _MOST_TABLES else ''})" if read else ""
    done = f"{count(snapshot.tables_done)}/{pick(snapshot.tables, 'table')}"
    return f"snapshot {done}, {pick(snapshot.chunks_done, 'chunk')}{named}"


def _table(table: TableProgress) -> str:
    return f"{table.name} {count(table.chunks_done)}/{'?' if table.chunks is None else count(table.chunks)}"


def _lag(progress: SourceProgress) -> str:
    if progress.lag_bytes == 0:
        return "up to date"
    known = [] if progress.lag_bytes is None else [size(progress.lag_bytes)]
    known += [] if progress.lag_seconds is None else [duration(progress.lag_seconds)]
    return f"{', '.join(known) or 'an unknown time'} behind"
