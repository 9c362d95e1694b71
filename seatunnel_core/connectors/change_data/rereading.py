"""State and chunks of tables that are read again while a job reads the log.

Chunks are planned at a log position. They are read between the log before this position and the log after it, never at
the same time, because sinks that write directly do not keep the order of splits. Their rows reflect at least the
changes before the position. A later change of a row may therefore be emitted twice, but the last change is always
emitted last.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from attrs import define, evolve, field, frozen

from seatunnel_core import stored
from seatunnel_core.connector_api.batch import Batch
from seatunnel_core.connector_api.errors import SourceError, UsageError
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connector_api.source_progress import MOST_TABLES, SnapshotProgress, TableProgress
from seatunnel_core.connectors.change_data.chunks import Chunk, Chunks, ChunkStart
from seatunnel_core.connectors.jdbc.reading import Found

MOST_CHUNKS = 8
"""Maximum number of chunks that are read at the same time. The log is not read during this time."""


NOT_ENDLESS = (
    "this source cannot read a table again, because it is bounded (startup.mode = snapshot-only, or stop.mode): "
    "start a new job"
)
"""Message for bounded jobs, which cannot read a table again."""


@frozen(kw_only=True)
class Reread:
    """A table that is read again."""

    table: str
    """Name of the table."""

    start: ChunkStart | None = field(factory=ChunkStart)
    """Start of the next chunk, with the table index 0; ``None`` when all chunks are planned."""

    next: int = 0
    """Number of the next chunk."""

    unread: tuple[int, ...] = ()
    """Numbers of the chunks that are being read."""

    until: str = ""
    """Log position at which the target is complete; empty until all chunks are read."""

    def record(self) -> dict[str, Any]:
        """Return the table as JSON values."""
        start = None if self.start is None else self.start.record()
        return {
            "table": self.table,
            "start": start,
            "next": self.next,
            "unread": [*self.unread],
            "until": self.until,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Reread":
        """Create a table from JSON values; raise ``StoredValueError`` if the values are invalid."""
        start = stored.member(record, "start")
        return cls(
            table=stored.text(record, "table"),
            start=None if start is None else ChunkStart.from_record(start),
            next=stored.number(record, "next"),
            unread=tuple(int(each) for each in stored.items(record, "unread")),
            until=stored.text(record, "until"),
        )

    @property
    def is_read(self) -> bool:
        """True if all chunks were read."""
        return self.start is None and not self.unread

    @property
    def is_due(self) -> bool:
        """True if the next chunks may be planned."""
        return self.start is not None and not self.unread

    def planned(self, chunks: int, start: ChunkStart) -> "Reread":
        """Return the state after further chunks were planned; ``start`` is the start of the next one."""
        numbers = range(self.next, self.next + chunks)
        after = start if start.table == 0 else None
        return evolve(self, start=after, next=numbers.stop, unread=(*self.unread, *numbers))

    def read(self, number: int) -> "Reread":
        """Return the state after a chunk was read."""
        return evolve(self, unread=tuple(each for each in self.unread if each != number))

    def restarted(self) -> "Reread":
        """Return the state for reading the table from its beginning."""
        return evolve(self, start=ChunkStart(), until="")


Rereads = tuple[Reread, ...]
"""Tables that are read again, one after the other, in the order of the requests."""


def rereads_of(cursor: Mapping[str, Any]) -> Rereads:
    """Return the tables in a cursor; empty for a cursor of an earlier version."""
    return tuple(map(Reread.from_record, stored.items(cursor, "rereads"))) if "rereads" in cursor else ()


def require_table(table: str, captured: Sequence[Found], *, emits_rows: bool) -> None:
    """Raise ``UsageError`` unless a table is captured and has a key, and the source emits rows instead of messages."""
    if not emits_rows:
        raise UsageError("the source emits Debezium messages, which do not replace each other in the target")
    by_name = {each.reading.name: each for each in captured}
    if table not in by_name:
        names = [*by_name]
        known = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
        raise UsageError(f"the table {table} is not captured; the source captures {known}")
    if not by_name[table].schema().primary_key:
        raise UsageError(f"the table {table} has no key, so reading it again would duplicate its rows")


def require_endless(rereads: Rereads, *, is_endless: bool) -> None:
    """Raise ``SourceError`` if a table is to be read again, but the options of the resumed job make it bounded."""
    if rereads and not is_endless:
        raise SourceError(
            f"the job is reading the table {rereads[0].table} again, and would end before the table has been read "
            "(startup.mode = snapshot-only, or stop.mode): remove these options, resume the job, and stop it "
            "afterwards"
        )


def requested(rereads: Rereads, table: str) -> Rereads:
    """Add a table; raise ``UsageError`` if it is already being read again."""
    if any(each.table == table for each in rereads):
        raise UsageError(f"the table {table} is already being read again; wait until this read has finished")
    return (*rereads, Reread(table=table))


def skipped_chunk(number: int, context: ReadContext) -> Iterator[Batch]:
    """Skip a chunk, and report that its table has changed and must be read from its beginning."""
    context.report_fact({"chunk": number, "mark": ""})
    return iter(())


def chunk_read(rereads: Rereads, number: int, *, is_whole: bool) -> Rereads:
    """Return the tables after a chunk of the first one was read, or was skipped because its table has changed."""
    first = rereads[0].read(number)
    return (first if is_whole else first.restarted(), *rereads[1:])


def completed(rereads: Rereads, end: str, is_reached: Callable[[str], bool]) -> Rereads:
    """Record the end of the log after the last chunk of the first table; drop the table once this end is reached.

    Args:
        rereads: The tables; all chunks of the first one were read.
        end: The end of the log.
        is_reached: Returns True for a position up to which the log has been read.
    """
    first = rereads[0] if rereads[0].until else evolve(rereads[0], until=end)
    return rereads[1:] if is_reached(first.until) else (first, *rereads[1:])


def restarted(rereads: Rereads, tables: Collection[str]) -> Rereads:
    """Return the tables. Those in ``tables``, whose columns have changed, are read from their beginning."""
    return tuple(each.restarted() if each.table in tables else each for each in rereads)


@define
class RereadChunks:
    """Chunks of the tables that are read again. The chunks of the current table are kept between polls."""

    _tables: Chunks
    planned_at: str = field(default="", init=False)
    """Log position at which the last chunks were planned. More of the log is read before further chunks are planned."""

    _of: str = field(default="", init=False)
    _chunks: Chunks | None = field(default=None, init=False)

    def take(self, reread: Reread, index: int, connection: Any, log: str) -> tuple[list[Chunk], Reread]:
        """Return the next chunks, and the state after they were planned.

        Args:
            reread: The state; ``is_due`` must be True.
            index: Index of the table among the captured ones.
            connection: A connection of the pool of the tables' dialect.
            log: Position up to which the log has been read.
        """
        self.planned_at = log
        assert reread.start is not None, "a chunk is due"
        if self._chunks is None or self._of != reread.table or reread.start == ChunkStart():
            self._of, self._chunks = reread.table, self._tables.only(index)
        taken, start = self._chunks.take(reread.start, MOST_CHUNKS, connection)
        return taken, reread.planned(len(taken), start)

    def progress(self, rereads: Rereads, captured: int) -> SnapshotProgress:
        """Return the progress of the tables as a snapshot progress; ``captured`` is the number of captured tables."""
        listed = tuple(map(self._progress_of, rereads))[:MOST_TABLES]
        return SnapshotProgress(
            tables=captured,
            tables_done=captured - len(rereads),
            chunks_done=sum(each.next - len(each.unread) for each in rereads),
            listed=listed,
        )

    def _progress_of(self, reread: Reread) -> TableProgress:
        done, size = 0, None
        if self._chunks is not None and self._of == reread.table:
            taken, size = self._chunks.taken.get(0, 0), self._chunks.sizes.get(0)
            done = max(0, taken - len(reread.unread))
        begun = reread.next > 0
        return TableProgress(name=reread.table, phase="reading" if begun else "waiting", chunks_done=done, chunks=size)
