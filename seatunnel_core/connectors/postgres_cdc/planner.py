"""Planner of chunks and log ranges."""

from collections.abc import Callable
from typing import Any, Protocol

from attrs import Factory, define, evolve, field, frozen

from seatunnel_core.connector_api.errors import SourceChangedError
from seatunnel_core.connector_api.source import DiscoveredObject
from seatunnel_core.connectors.change_data.chunks import Chunks
from seatunnel_core.connectors.change_data.rereading import RereadChunks, completed, require_endless
from seatunnel_core.connectors.postgres_cdc.cursor import Capture
from seatunnel_core.connectors.postgres_cdc.range_reading import LogRange
from seatunnel_core.connectors.postgres_cdc.server import LogEnd
from seatunnel_core.connectors.postgres_log.lsn import NOWHERE, Lsn

MOST_CHUNKS = 256
"""Maximum number of planned but unread chunks, which checkpoints contain and a restart reads separately."""

RANGE_BYTES = 64 << 20
"""Maximum size of a log range in bytes. A range may be larger if the server has to read more log for it anyway."""

POLL_MS = 300
_WAIT_MS = 1_000
"""Pause before the next poll while tasks are reading. A report from a task triggers the poll earlier."""


@frozen
class Planned:
    """Result of a poll."""

    state: Capture
    """State after the poll."""

    items: tuple[DiscoveredObject, ...]
    """Bodies of new splits: chunks or a range."""

    again_ms: int | None
    """Pause before the next poll, in milliseconds; ``None`` when planning is complete."""

    is_delayed: bool = False
    """True if open transactions delay the snapshot of a table."""


class Visibility(Protocol):
    """Transactions that new snapshots of the server contain."""

    def new_id(self) -> int:
        """Return the ID of a new transaction, which is higher than the IDs of all open ones."""

    def ended(self) -> int:
        """Return the ID below which all transactions have ended."""

    def is_readable(self, table: str) -> bool:
        """Return True if a table can be read with its current columns."""


@define
class Planner:
    """Plans splits from the state of the source and the end of the log. Caches chunk bounds between polls."""

    _chunks: Chunks
    _tables: int
    _reads_log: bool
    _stops: bool
    _slot: str
    confirmed: Lsn = field(default=NOWHERE, init=False)
    """Position before which the server may discard the log."""

    job_id: str = field(default="", init=False)
    rereads: RereadChunks = field(init=False, default=Factory(lambda self: RereadChunks(self._chunks), takes_self=True))

    def next(
        self,
        state: Capture,
        connection: Any,
        snapshot: Callable[[], str | None],
        end: Callable[[], LogEnd],
        visibility: Visibility,
    ) -> Planned:
        """Plan the next splits.

        Args:
            state: The state of the source, including all reports of tasks.
            connection: A connection from the pool of the tables' dialect.
            snapshot: Returns the name of the snapshot for chunks; ``None`` if it cannot be exported yet.
            end: Returns the end of the log.
            visibility: The transactions that new snapshots contain.

        Raises:
            SourceError: A table is to be read again, but the resumed job is bounded.
        """
        require_endless(state.rereads, is_endless=self._reads_log and not self._stops)
        if state.chunks.table < self._tables:
            return self._next_chunks(state, connection, snapshot)
        if state.waiting:
            return Planned(state, (), _WAIT_MS)
        if not self._reads_log:
            return Planned(state, (), None)
        if state.reading or (state.rereads and state.rereads[0].unread):
            return Planned(state, (), _WAIT_MS)
        at = end()
        if state.rereads and state.until and not state.marks:
            state, items = self._reread(state, connection, at, visibility)
            if items:
                return Planned(state, items, _WAIT_MS)
        return evolve(self._next_range(state, at), is_delayed=bool(state.ending))

    def _reread(
        self, state: Capture, connection: Any, end: LogEnd, visibility: Visibility
    ) -> tuple[Capture, tuple[DiscoveredObject, ...]]:
        """Plan the next chunks of the table that is read again, at the position up to which the log was read.

        Snapshots of chunks must contain all transactions before that position. A transaction is logged before it
        becomes visible.
        """
        reread = state.rereads[0]
        if reread.is_read:
            read = Lsn.parse(state.log)
            rereads = completed(state.rereads, str(end.inserted), lambda until: read >= Lsn.parse(until))
            return evolve(state, rereads=rereads, ending=state.ending if rereads else None), ()
        if state.ending is None:
            state = evolve(state, ending=0 if end.replica else visibility.new_id())
        if state.ending and visibility.ended() >= state.ending:
            state = evolve(state, ending=0)
        names = [name for name, _ in state.tables]
        index = names.index(reread.table)
        is_turn = self.rereads.planned_at != state.log or end.flushed <= Lsn.parse(state.log)
        if state.ending or not is_turn or not reread.is_due or not visibility.is_readable(reread.table):
            return state, ()
        chunks, after = self.rereads.take(reread, index, connection, state.log)
        items = tuple(
            {"chunk": {**chunk.body(), **more, "number": number}, "rows": chunk.piece.rows}
            for number, chunk in enumerate(chunks, reread.next)
            for more in [{"shape": state.tables[index][1], "snapshot": "", "reread": True}]
        )
        return evolve(state, rereads=(after, *state.rereads[1:])), items

    def _next_chunks(self, state: Capture, connection: Any, snapshot: Callable[[], str | None]) -> Planned:
        most = MOST_CHUNKS - len(state.waiting)
        if most < MOST_CHUNKS // 2:
            return Planned(state, (), _WAIT_MS)
        name = snapshot()
        if name is None:
            return Planned(state, (), POLL_MS, is_delayed=True)
        chunks, after = self._chunks.take(state.chunks, most, connection)
        items = tuple(
            {"chunk": {**chunk.body(), **more, "number": state.next + number}, "rows": chunk.piece.rows}
            for number, chunk in enumerate(chunks)
            for more in [{"shape": state.tables[chunk.table][1], "snapshot": name}]
        )
        return Planned(state.planned(chunks, after), items, 0)

    def _next_range(self, state: Capture, end: LogEnd) -> Planned:
        if not state.until:
            # Commits that a snapshot contains were logged before it was taken.
            state = evolve(state, until=str(end.inserted))
        if self._stops and not state.stop:
            state = evolve(state, stop=str(end.inserted))
        start, until = Lsn.parse(state.log), Lsn.parse(state.until)
        if end.inserted < start and not end.replica:
            raise SourceChangedError(
                f"the log of the server ends at {end.inserted}, but the job has read it up to {start}: the server "
                "was restored from a backup, or a replica took over before it had received the whole log. Start a "
                "new job"
            )
        if state.stop and start >= Lsn.parse(state.stop):
            return Planned(state, (), None)
        if start >= until and state.marks:
            state = evolve(state, marks=(), split_columns={})
        # For each range the server reads its log from the restart position on: with a long transaction, small ranges
        # would take longer and longer.
        repeated = 0 if end.restart is None else start.value - end.restart.value
        last = min(end.flushed.value, start.value + max(RANGE_BYTES, repeated))
        if state.marks:
            last = min(last, until.value)
        if state.stop:
            last = min(last, Lsn.parse(state.stop).value)
        if last <= start.value:
            return Planned(state, (), POLL_MS)
        wanted = LogRange(
            start=start,
            end=Lsn(last),
            confirm=min(self.confirmed, start),
            tables=state.tables,
            oids=tuple(each.oid for each in state.published),
            marks=state.marks,
            job=self.job_id,
            awaits_visibility=bool(state.rereads),
        )
        return Planned(evolve(state, reading=str(wanted.end)), (wanted.body(),), _WAIT_MS)
