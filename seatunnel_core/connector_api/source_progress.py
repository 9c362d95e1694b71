"""Progress of an unbounded source, as shown to users: its table snapshot and its lag behind the log."""

from attrs import frozen

from seatunnel_core import stored_fields
from seatunnel_core.stored_fields import Stored

__all__ = ["SnapshotProgress", "SourceProgress", "TableProgress"]

MOST_TABLES = 50
"""Maximum number of tables that are listed one by one."""


@frozen(kw_only=True)
class TableProgress(Stored):
    """Progress of a table that is read in chunks."""

    name: str
    phase: str
    """``waiting``, ``reading`` or ``done``."""

    chunks_done: int = 0
    """Number of chunks that this process of the job has read."""

    chunks: int | None = stored_fields.added(None)
    """Number of chunks that this process has to read; ``None`` until it is known."""


@frozen(kw_only=True)
class SnapshotProgress(Stored):
    """Progress of the initial snapshot of the tables, across all processes of the job."""

    tables: int
    tables_done: int
    chunks_done: int
    listed: tuple[TableProgress, ...] = stored_fields.added(())
    """At most ``MOST_TABLES`` tables: those being read, then waiting ones, then the others; empty once all are done."""

    @property
    def is_done(self) -> bool:
        """True if all tables have been read."""
        return self.tables_done == self.tables


@frozen(kw_only=True)
class SourceProgress(Stored):
    """Progress of a source that reads a log."""

    snapshot: SnapshotProgress | None = stored_fields.added(None)
    """Progress of the table snapshot; ``None`` if the tables are not read."""

    position: str = ""
    """Position up to which the log has been read; empty if the log is not read."""

    end: str = ""
    """End of the log at the time of the last request to the server."""

    oldest: str = ""
    """Start of the part of the log that the server must keep for the job."""

    lag_bytes: int | None = stored_fields.added(None)
    """Size of the log between ``position`` and ``end``; ``None`` if it is unknown."""

    lag_seconds: float | None = stored_fields.added(None)
    """Age of the newest data that was read completely: 0 at the end of the log; ``None`` if unknown."""
