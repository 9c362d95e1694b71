"""Progress of a capture, as shown to users: chunks of the snapshot, and the lag behind the end of the log."""

from attrs import evolve, field, frozen

from seatunnel_core.connector_api.source_progress import SourceProgress
from seatunnel_core.connectors.change_data.chunks import Chunks
from seatunnel_core.connectors.change_data.log_times import LogTimes
from seatunnel_core.connectors.change_data.rereading import RereadChunks
from seatunnel_core.connectors.change_data.snapshot_progress import snapshot_progress
from seatunnel_core.connectors.postgres_cdc.cursor import Capture
from seatunnel_core.connectors.postgres_cdc.server import LogEnd
from seatunnel_core.connectors.postgres_log.lsn import Lsn


@frozen(kw_only=True)
class Observed:
    """State of the server as observed by polls."""

    chunks: Chunks = field(repr=False)
    rereads: RereadChunks = field(repr=False)
    reads_tables: bool
    times: LogTimes[Lsn] | None = field(default=None, repr=False)
    """Observed ends of the log; ``None`` if the log is not read."""

    restart: Lsn | None = None
    """Start of the log that the server retains for the slot; ``None`` if there is no slot."""

    def and_end(self, state: Capture, end: LogEnd, *, starts_now: bool) -> "Observed":
        """Add the end of the log after a poll. ``starts_now`` is True if the job has just started at that position."""
        position = Lsn.parse(state.log)
        times = self.times
        if times is None:
            times = LogTimes(((position if starts_now else end.flushed, end.at_ms),))
        times = times.and_one(end.flushed, end.at_ms).since(position)
        return evolve(self, times=times, restart=end.restart)


def capture_progress(state: Capture, observed: Observed) -> SourceProgress:
    """Return the progress of the source, as shown to users."""
    snapshot = None
    if observed.reads_tables:
        names = [name for name, _ in state.tables]
        unread = (mark.table for mark in state.waiting if not mark.snapshot)
        snapshot = snapshot_progress(names, observed.chunks, state.chunks, state.next, unread)
    if state.rereads and state.chunks.table >= len(state.tables) and not state.waiting:
        snapshot = observed.rereads.progress(state.rereads, len(state.tables))
    times = observed.times
    if times is None:
        return SourceProgress(snapshot=snapshot)
    position = Lsn.parse(state.log)
    return SourceProgress(
        snapshot=snapshot,
        position=str(position),
        end=str(max(times.end, position)),
        oldest=str(observed.restart or position),
        lag_bytes=max(0, times.end.value - position.value),
        lag_seconds=times.lag_seconds(position, state.committed_ms),
    )
