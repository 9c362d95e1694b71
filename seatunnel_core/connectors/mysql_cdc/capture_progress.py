"""Progress of a capture, as shown to users: chunks of the snapshot, and the lag behind the end of the log."""

import time
from collections.abc import Callable, Mapping, Sequence

from attrs import evolve, field, frozen

from seatunnel_core.connector_api.source_progress import SourceProgress
from seatunnel_core.connectors.change_data.chunks import Chunks
from seatunnel_core.connectors.change_data.log_times import LogTimes
from seatunnel_core.connectors.change_data.rereading import RereadChunks
from seatunnel_core.connectors.change_data.snapshot_progress import snapshot_progress
from seatunnel_core.connectors.mysql_cdc.planning import Planner
from seatunnel_core.connectors.mysql_cdc.progress import Progress
from seatunnel_core.connectors.mysql_cdc.server import Server
from seatunnel_core.connectors.mysql_log.position import LogPosition


@frozen(kw_only=True)
class Observed:
    """State of the server as observed by polls."""

    tables: Sequence[str] = field(repr=False)
    """Names of the captured tables, in order."""

    chunks: Chunks = field(repr=False)
    rereads: RereadChunks = field(repr=False)
    ahead_ms: int
    """Offset of the server's clock from the local clock, in milliseconds."""

    times: LogTimes[LogPosition] | None = field(default=None, repr=False)
    """Observed ends of the log; ``None`` before the first poll."""

    sizes: Mapping[str, int] = field(factory=dict, repr=False)
    """Sizes of the log files that are needed to compute the lag, in bytes."""

    @classmethod
    def of(cls, planner: Planner, server: Server) -> "Observed":
        """Return the state before the first poll of a planner."""
        ahead_ms = server.clock_ms() - round(time.time() * 1000)
        return cls(tables=planner.tables, chunks=planner.chunks, rereads=planner.rereads, ahead_ms=ahead_ms)

    def and_end(
        self, progress: Progress, end: LogPosition, file_sizes: Callable[[], Mapping[str, int]], *, starts_now: bool
    ) -> "Observed":
        """Add the result of a poll. ``starts_now`` is True if the job has just started at the end of the log."""
        at_ms = round(time.time() * 1000) + self.ahead_ms
        times = self.times or LogTimes(((progress.log if starts_now else end, at_ms),))
        if progress.log.file == end.file:
            sizes: Mapping[str, int] = {}
        elif progress.log.file in self.sizes and times.end.file == end.file:
            sizes = self.sizes
        else:
            sizes = file_sizes()
        return evolve(self, times=times.and_one(end, at_ms).since(progress.log), sizes=sizes)


def capture_progress(progress: Progress, observed: Observed, oldest: LogPosition | None) -> SourceProgress | None:
    """Return the progress of the source, as shown to users; ``None`` before the first poll.

    ``oldest`` is the position from which the oldest retained checkpoint resumes, if known.
    """
    times = observed.times
    if times is None:
        return None
    snapshot = None
    if progress.start is not None or progress.chunks:
        unread = (chunk.table for chunk in progress.window if chunk.mark is None)
        snapshot = snapshot_progress(observed.tables, observed.chunks, progress.start, progress.chunks, unread)
    if progress.rereads and progress.start is None and progress.is_window_read:
        snapshot = observed.rereads.progress(progress.rereads, len(observed.tables))
    return SourceProgress(
        snapshot=snapshot,
        position=str(progress.log),
        end=str(max(times.end, progress.log)),
        oldest="" if oldest is None else str(min(oldest, progress.log)),
        lag_bytes=_distance(progress.log, times.end, observed.sizes),
        lag_seconds=times.lag_seconds(progress.log, progress.committed_ms),
    )


def _distance(start: LogPosition, end: LogPosition, sizes: Mapping[str, int]) -> int | None:
    """Return the number of bytes between two positions; ``None`` if the size of a file is unknown."""
    if end <= start:
        return 0
    if start.file == end.file:
        return end.offset - start.offset
    if start.file not in sizes:
        return None
    between = (size for file, size in sizes.items() if start <= LogPosition(file, 0) < LogPosition(end.file, 0))
    return sizes[start.file] - start.offset + sum(between) + end.offset
