"""Planning of the next window of chunks and the next log range in a poll."""

from collections.abc import Collection, Sequence
from typing import Any

from attrs import evolve, field, frozen

from seatunnel_core.capture_errors import ColumnsChangedError
from seatunnel_core.connector_api.errors import SourceChangedError
from seatunnel_core.connectors.change_data.chunks import Chunks
from seatunnel_core.connectors.change_data.rereading import RereadChunks, completed, require_endless
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.mysql_cdc.progress import Progress, WindowChunk
from seatunnel_core.connectors.mysql_cdc.server import Server, ServerState
from seatunnel_core.connectors.mysql_cdc.stepped_chunks import SteppedChunks
from seatunnel_core.connectors.mysql_cdc.window_filter import MarkedChunk
from seatunnel_core.connectors.mysql_log.position import LogPosition, position_of

IDLE_MS = 200
"""Pause before the next poll, in milliseconds. A report from a reader triggers the poll earlier."""

_FEWEST, _MOST = 8, 64
"""Minimum and maximum number of chunks in a window."""


@frozen(kw_only=True)
class Planned:
    """Result of a poll: the new state, and the splits to read."""

    progress: Progress
    bodies: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    again_ms: int | None = IDLE_MS
    end: LogPosition | None = None
    """End of the log, if it was queried."""


@frozen(kw_only=True)
class Planner:
    """Plans chunks and log ranges."""

    server: Server
    state: ServerState
    tables: Sequence[str] = field(repr=False)
    """Names of the captured tables, in order."""

    chunks: Chunks = field(repr=False)
    rereads: RereadChunks = field(repr=False)
    former: Collection[str] = ()
    """Tables with their recorded columns. They can only be used to read the log."""

    parallelism: int
    stops_at_end: bool = False
    """True if the job ends at the log position that is current when the snapshot is complete."""

    @classmethod
    def of(
        cls,
        captured: Sequence[Found],
        server: Server,
        state: ServerState,
        parallelism: int,
        *,
        former: Collection[str],
        stops_at_end: bool,
    ) -> "Planner":
        """Return the planner for captured tables."""
        chunks = (SteppedChunks if state.is_5_7 else Chunks)(captured)
        return cls(
            server=server,
            state=state,
            tables=[each.reading.name for each in captured],
            chunks=chunks,
            rereads=RereadChunks(chunks),
            former=former,
            parallelism=parallelism,
            stops_at_end=stops_at_end,
        )

    def plan(self, progress: Progress) -> Planned:
        """Plan the next splits.

        Raises:
            ColumnsChangedError: The columns of a captured table were changed.
            SourceChangedError: A captured table was redefined, or the log no longer contains the next events.
            SourceError: A table is to be read again, but the resumed job is bounded.
        """
        is_endless = not self.stops_at_end and progress.stop is None and progress.until_ms is None
        require_endless(progress.rereads, is_endless=is_endless)
        if progress.stopped and not progress.changed:
            raise SourceChangedError(progress.stopped)
        if progress.is_reported:
            raise ColumnsChangedError(progress.stopped)
        if progress.stopped:  # the last checkpoint must contain the change
            return Planned(progress=evolve(progress, is_reported=True), again_ms=0)
        if progress.reading is not None or not progress.is_window_read:
            return Planned(progress=progress)  # A report ends the pause. Only one range is read at a time.
        if progress.rereads and progress.rereads[0].unread:
            return Planned(progress=progress)
        bodies: list[dict[str, Any]] = []
        if progress.window:
            progress, range_body = self._range_of_window(progress)
            bodies += range_body
        if progress.start is not None:
            progress, window = self._window(progress)
            if window:
                return Planned(progress=progress, bodies=(*bodies, *window))
        if bodies:
            return Planned(progress=progress, bodies=tuple(bodies))
        planned = self._range(progress)
        return self._with_rereads(progress, planned) if progress.rereads else planned

    # -- tables ---------------------------------------------------------------------------------------------------

    def _range_of_window(self, progress: Progress) -> tuple[Progress, list[dict[str, Any]]]:
        """Return the log range up to the last mark of the window; no range if nothing was logged."""
        chunks = [self._marked(chunk) for chunk in progress.window]
        marks = [chunk.mark for chunk in chunks]
        start, end = self._start_of_window(progress, min(marks)), max(marks)
        done = evolve(progress, log=end, window=())
        if end <= start:
            return done, []
        self.server.require_retained(start)
        window = [chunk.record() for chunk in chunks]
        return evolve(done, reading=end), [{**self._body(progress, start, end), "window": window}]

    def _start_of_window(self, progress: Progress, mark: LogPosition) -> LogPosition:
        """Return the position from which the log of a window is read; ``mark`` is the lowest mark of its chunks.

        A mark on MariaDB is the end of the last committed transaction, which may be before the end of the log. So marks
        of the first window may precede the start of the job. Marks of later windows never precede earlier marks.

        Raises:
            SourceChangedError: A mark of a later window precedes the marks of an earlier one.
        """
        if mark < progress.log and progress.window[0].number > 0:
            raise self._reset(mark, progress.log)
        return min(mark, progress.log)

    def _reset(self, now: LogPosition, read: LogPosition) -> SourceChangedError:
        return SourceChangedError(
            f"the log of {self.server.dialect.address} ends at {now}, but the job has read it up to {read}: the log "
            "was reset, so changes may be lost. Start a new job"
        )

    def _marked(self, chunk: WindowChunk) -> MarkedChunk:
        assert chunk.mark is not None
        name = self.tables[chunk.table]
        return MarkedChunk(table=name, order=chunk.order, low=chunk.low, high=chunk.high, mark=chunk.mark)

    def _window(self, progress: Progress) -> tuple[Progress, list[dict[str, Any]]]:
        assert progress.start is not None
        most = min(max(4 * self.parallelism, _FEWEST), _MOST)
        with self.server.connection("tables cannot be divided into chunks") as connection:
            taken, start = self.chunks.take(progress.start, most, connection)
        window = tuple(
            WindowChunk(
                number=progress.chunks + number,
                table=each.table,
                order=each.piece.order,
                low=each.piece.low,
                high=each.piece.high,
            )
            for number, each in enumerate(taken)
        )
        bodies = [
            {"chunk": chunk.number, **_planned_at(progress), "rows": each.piece.rows, **each.body()}
            for chunk, each in zip(window, taken, strict=True)
        ]
        after = start if start.table < len(self.tables) else None
        return evolve(progress, start=after, chunks=progress.chunks + len(window), window=window), bodies

    def _with_rereads(self, progress: Progress, planned: Planned) -> Planned:
        """Plan the next chunks of the table that is read again, or return the log range if that is next."""
        reread, *later = progress.rereads
        if reread.is_read:
            assert planned.end is not None, "the end of the log was queried"
            rereads = completed(progress.rereads, str(planned.end), lambda until: progress.log >= position_of(until))
            return evolve(planned, progress=evolve(planned.progress, rereads=rereads))
        is_turn = self.rereads.planned_at != str(progress.log) or not planned.bodies
        if not is_turn or not reread.is_due or reread.table in self.former:
            return planned
        with self.server.connection("tables cannot be divided into chunks") as connection:
            index = self.tables.index(reread.table)
            taken, after = self.rereads.take(reread, index, connection, str(progress.log))
        bodies = tuple(
            {"chunk": number, **_planned_at(progress), "rows": each.piece.rows, "reread": True, **each.body()}
            for number, each in enumerate(taken, reread.next)
        )
        return Planned(progress=evolve(progress, rereads=(after, *later)), bodies=bodies, end=planned.end)

    # -- the log --------------------------------------------------------------------------------------------------

    def _range(self, progress: Progress) -> Planned:
        """Plan the range up to the end of the log."""
        # First the clock, then the position: transactions before that time are logged before it.
        is_late = progress.until_ms is not None and self.server.clock_ms() >= progress.until_ms
        now = self.server.position(self.state)
        if now < progress.log:
            raise self._reset(now, progress.log)
        if progress.stop is None and (self.stops_at_end or is_late):
            progress = evolve(progress, stop=now)
        end = now if progress.stop is None else min(now, progress.stop)
        if progress.stop is not None and progress.log >= progress.stop:
            return Planned(progress=progress, again_ms=None, end=now)
        if end <= progress.log:
            return Planned(progress=progress, end=now)
        self.server.require_retained(progress.log)
        body = self._body(progress, progress.log, end)
        if progress.since_ms is not None:
            body["since_ms"] = progress.since_ms
        if progress.until_ms is not None:
            body["until_ms"] = progress.until_ms
        return Planned(progress=evolve(progress, reading=end), bodies=(body,), end=now)

    def _body(self, progress: Progress, start: LogPosition, end: LogPosition) -> dict[str, Any]:
        """Return the body of a range split. It lists the tables, because more tables may match the options later."""
        body: dict[str, Any] = {"from": str(start), "to": str(end), "server": progress.server}
        if progress.gtids is not None:
            body |= {"gtids": progress.gtids, "last": progress.last}
        return {**body, "prepared": [*progress.prepared], "tables": [*self.tables]}


def _planned_at(progress: Progress) -> dict[str, Any]:
    """Return the log position in the body of a chunk, and the server to which the position belongs."""
    return {"log": str(progress.log), "server": progress.server}
