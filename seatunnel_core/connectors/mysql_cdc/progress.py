"""Cursor of the source: progress of the snapshot and of the log.

Chunks are read in windows. When all chunks of a window have reported their marks, the log is read up to the last mark,
and the next window follows. So the log is read regularly, and the cursor only contains the marks of one window.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen

from seatunnel_core import stored
from seatunnel_core.connectors.change_data import rereading
from seatunnel_core.connectors.change_data.chunks import ChunkStart
from seatunnel_core.connectors.change_data.rereading import Rereads, rereads_of
from seatunnel_core.connectors.mysql_log.position import LogPosition, position_of


@frozen(kw_only=True)
class WindowChunk:
    """A chunk of the current window."""

    number: int
    """Sequence number in the job, from 0."""

    table: int
    """Index of the chunk's table."""

    order: str
    low: str | None
    high: str | None
    mark: LogPosition | None = None
    """Log position that the rows of the chunk reflect; ``None`` until its reader reports it."""

    def record(self) -> list[Any]:
        """Return the chunk as JSON values."""
        mark = None if self.mark is None else str(self.mark)
        return [self.number, self.table, self.order, self.low, self.high, mark]

    @classmethod
    def from_record(cls, record: Sequence[Any]) -> "WindowChunk":
        """Return the chunk from JSON values."""
        number, table, order, low, high, mark = record
        found = None if mark is None else position_of(mark)
        return cls(number=number, table=table, order=order, low=low, high=high, mark=found)


@frozen(kw_only=True)
class Progress:
    """Planned and read chunks, and the log position."""

    server: str
    """Identity of the server to which the positions belong."""

    log: LogPosition
    """Position up to which the log has been read or planned."""

    gtids: str | None = None
    """All transactions before the position ``log``, with which the job can continue on another server.

    ``None`` if they are unknown, or while tables are being copied.
    """

    last: str = ""
    """Last transaction in ``gtids``, to detect other transactions with the same GTIDs; empty if it is unknown."""

    reading: LogPosition | None = None
    """End of the planned range whose reader has not reported yet; ``None`` if there is no such range."""

    start: ChunkStart | None = None
    """Start of the next chunk; ``None`` after all chunks have been planned."""

    chunks: int = 0
    """Number of planned chunks."""

    window: tuple[WindowChunk, ...] = field(default=(), repr=False)
    stop: LogPosition | None = None
    """Position at which the job ends; ``None`` if it is not known yet, or if the job is unbounded."""

    since_ms: int | None = None
    """Start time in milliseconds since 1970; earlier transactions are not emitted. ``None`` to emit all."""

    until_ms: int | None = None
    """End time in milliseconds since 1970; transactions from this time on are not read. ``None`` if there is none."""

    prepared: tuple[str, ...] = ()
    """Distributed transactions that are prepared at the end of the last range and did not change captured tables."""

    committed_ms: int = 0
    """Time of the last transaction that was read, in milliseconds since 1970; 0 before the first one."""

    stopped: str = ""
    """Message about the change of a table definition at which reading stopped; empty if there was none."""

    changed: tuple[str, ...] = ()
    """Tables with changed columns at the position where reading stopped; empty if the job cannot be resumed there."""

    statement: str = ""
    """Statement that changed the columns."""

    is_reported: bool = False
    """True after the change was returned to the engine; the next poll then stops the pipeline."""

    defined: LogPosition | None = None
    """Position up to which column changes are applied to the recorded columns; ``None`` if the job was not resumed."""

    rereads: Rereads = ()
    """Tables that are read again while the log is read."""

    def cursor(self) -> dict[str, Any]:
        """Return the progress as JSON values."""
        more: dict[str, Any] = {"rereads": [each.record() for each in self.rereads]} if self.rereads else {}
        if self.gtids is not None:
            more |= {"gtids": self.gtids, "last": self.last}
        return {
            "server": self.server,
            "log": str(self.log),
            "reading": None if self.reading is None else str(self.reading),
            "start": None if self.start is None else self.start.record(),
            "chunks": self.chunks,
            "window": [chunk.record() for chunk in self.window],
            "stop": None if self.stop is None else str(self.stop),
            "since_ms": self.since_ms,
            "until_ms": self.until_ms,
            "prepared": [*self.prepared],
            "committed_ms": self.committed_ms,
            "stopped": self.stopped,
            "changed": [*self.changed],
            "statement": self.statement,
            "is_reported": self.is_reported,
            "defined": None if self.defined is None else str(self.defined),
            **more,
        }

    @classmethod
    def of(cls, cursor: Mapping[str, Any]) -> "Progress":
        """Return the progress in a cursor."""
        start = stored.member(cursor, "start")
        return cls(
            server=stored.text(cursor, "server"),
            log=position_of(stored.text(cursor, "log")),
            reading=_position(cursor, "reading"),
            start=None if start is None else ChunkStart.from_record(start),
            chunks=stored.number(cursor, "chunks"),
            window=tuple(map(WindowChunk.from_record, stored.items(cursor, "window"))),
            stop=_position(cursor, "stop"),
            since_ms=None if cursor["since_ms"] is None else stored.number(cursor, "since_ms"),
            until_ms=None if cursor.get("until_ms") is None else stored.number(cursor, "until_ms"),
            prepared=tuple(stored.texts(cursor, "prepared")),
            committed_ms=stored.number(cursor, "committed_ms") if "committed_ms" in cursor else 0,
            stopped=stored.text(cursor, "stopped"),
            changed=tuple(stored.texts(cursor, "changed")) if "changed" in cursor else (),
            statement=stored.text(cursor, "statement") if "statement" in cursor else "",
            is_reported=bool(cursor.get("is_reported")),
            defined=None if cursor.get("defined") is None else position_of(stored.text(cursor, "defined")),
            rereads=rereads_of(cursor),
            gtids=stored.text(cursor, "gtids") if "gtids" in cursor else None,
            last=stored.text(cursor, "last") if "last" in cursor else "",
        )

    def with_fact(self, fact: Mapping[str, Any]) -> "Progress":
        """Return the progress updated with a reader's report.

        The report of a chunk contains its number and mark. The report of a range contains the position that was
        reached and the GTIDs of all transactions before it, the reason if it ended early, and whether the end time of
        the job was reached.
        """
        if "chunk" in fact and not self.window and self.rereads:
            number, is_whole = stored.number(fact, "chunk"), bool(stored.text(fact, "mark"))
            return evolve(self, rereads=rereading.chunk_read(self.rereads, number, is_whole=is_whole))
        if "chunk" in fact:
            number, mark = stored.number(fact, "chunk"), position_of(stored.text(fact, "mark"))
            window = (evolve(each, mark=mark) if each.number == number else each for each in self.window)
            return evolve(self, window=tuple(window))
        committed_ms = stored.number(fact, "committed_ms") if "committed_ms" in fact else self.committed_ms
        found = evolve(self, prepared=tuple(stored.texts(fact, "prepared")), committed_ms=committed_ms)
        if "read" not in fact:  # a range between windows, which is always read completely
            return evolve(found, reading=None)
        read = position_of(stored.text(fact, "read"))
        stop = read if fact.get("ended") else found.stop
        gtids = stored.text(fact, "gtids") if "gtids" in fact else None
        last = "" if gtids is None else stored.text(fact, "last")
        changed = tuple(stored.texts(fact, "changed")) if "changed" in fact else ()
        stopped = stored.text(fact, "stopped")
        statement = stored.text(fact, "statement") if "statement" in fact else ""
        rereads = rereading.restarted(self.rereads, changed)
        found = evolve(found, log=read, gtids=gtids, last=last, reading=None, stop=stop, rereads=rereads)
        return evolve(found, stopped=stopped, changed=changed, statement=statement)

    @property
    def is_copying(self) -> bool:
        """True until the log has been read up to the marks of the last chunks."""
        return self.start is not None or bool(self.window) or self.reading == self.log

    @property
    def is_window_read(self) -> bool:
        """True if every chunk of the window has its mark."""
        return all(chunk.mark is not None for chunk in self.window)


def _position(cursor: Mapping[str, Any], key: str) -> LogPosition | None:
    return None if stored.member(cursor, key) is None else position_of(stored.text(cursor, key))
