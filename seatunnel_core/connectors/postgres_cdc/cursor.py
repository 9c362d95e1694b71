"""State of the source: planned chunks, their marks, and the log position."""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen

from seatunnel_core import stored
from seatunnel_core.connector_api.errors import StoredValueError
from seatunnel_core.connectors.change_data import rereading
from seatunnel_core.connectors.change_data.chunks import Chunk, ChunkStart, split_column_of
from seatunnel_core.connectors.change_data.rereading import Rereads, rereads_of
from seatunnel_core.connectors.jdbc.order import OWN
from seatunnel_core.connectors.postgres_cdc.published_tables import PublishedTable

FORMAT = 1


@frozen(kw_only=True)
class Mark:
    """Snapshot in which consecutive chunks were read: the chunks after the previous mark, up to a bound."""

    table: int
    """Index of the last table."""

    high: str | None
    """Upper bound of the last chunk in that table; ``None`` if the chunk is the last one of the table."""

    order: str = OWN
    """Key of the sort order of ``high`` in ``Dialect.orders``."""

    snapshot: str = ""
    """The snapshot, in the format of ``SnapshotMark``; empty while the chunk is being read."""

    def record(self) -> list[Any]:
        """Return the mark as JSON values."""
        return [self.table, self.order, self.high, self.snapshot]

    @classmethod
    def from_record(cls, record: Any) -> "Mark":
        """Return the mark from JSON values; raise ``StoredValueError`` if the values are invalid."""
        if not isinstance(record, list) or len(record) != 4:
            raise StoredValueError(f"{ascii(record)[:60]} is not a snapshot mark")
        table, order, high, snapshot = record
        return cls(table=table, order=order, high=high, snapshot=snapshot)


@frozen(kw_only=True)
class ColumnsChange:
    """A change of a table's columns at which reading stopped."""

    table: str
    """Name of the table."""

    shape: str
    """Fingerprint of the table's columns and key before the change."""

    message: str
    is_reported: bool = False
    """True after the state was returned to the engine; the next poll then stops the pipeline."""

    def record(self) -> list[Any]:
        """Return the change as JSON values."""
        return [self.table, self.shape, self.message, self.is_reported]

    @classmethod
    def from_record(cls, record: Sequence[Any]) -> "ColumnsChange":
        """Return the change from JSON values."""
        table, shape, message, is_reported = record
        return cls(table=table, shape=shape, message=message, is_reported=is_reported)


@frozen(kw_only=True)
class Capture:
    """State of the source between two polls."""

    server: str
    """Identifier of the database cluster."""

    timeline: int = 0
    """Timeline of the server; 0 if it is a standby, or an older version wrote the state."""

    slot: str = ""
    """Replication slot of the job; empty if the log is not read, or if an older version stored the state."""

    tables: tuple[tuple[str, str], ...] = field(repr=False)
    """Name and fingerprint of each table. Chunks and marks refer to tables by index."""

    published: tuple[PublishedTable, ...] = field(default=(), repr=False)
    """Publication entries of the tables, in the order of ``tables``; empty if the log is not read."""

    log: str
    """Position up to which the log has been read; empty if the job does not read the log."""

    least: int = 0
    """Transaction ID below which all transactions must be contained in chunk snapshots; 0 for no restriction."""

    chunks: ChunkStart
    """Start of the next chunk."""

    next: int = 0
    """Number of the next chunk."""

    waiting: tuple[Mark, ...] = field(default=(), repr=False)
    """Planned chunks in order, starting with the first chunk that has no mark. Later chunks may already have been read.
    """

    marks: tuple[Mark, ...] = field(default=(), repr=False)
    split_columns: Mapping[int, str] = field(factory=dict, repr=False)
    """Columns to which the bounds of ``waiting`` and ``marks`` apply, by table index. Tables without a split column, or
    divided by an older version, are omitted.
    """

    protected: Mapping[str, Mapping[int, str]] = field(factory=dict, repr=False)
    """Masked and unselected columns of each table by number. Tables without such columns, or last read by an older
    version, are omitted.
    """

    until: str = ""
    """Log position after which no mark contains a transaction; empty before the log is read."""

    reading: str = ""
    """End of the log range that is being read; empty if there is none."""

    committed_ms: int = 0
    """Time of the last commit that was read, in milliseconds since 1970; 0 before the first one."""

    stop: str = ""
    """Position at which the job ends; empty if it is not known yet, or if the job is unbounded."""

    changed: ColumnsChange | None = None
    """Column change at the position ``log``, at which reading stopped; ``None`` if there is none."""

    rereads: Rereads = ()
    """Tables that are read again while the log is read."""

    ending: int | None = None
    """Transaction ID below which all transactions must end before new snapshots contain everything before ``log``; 0 if
    they already do, ``None`` if that is unknown. Only used while a table is read again.
    """

    def record(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        rereads = {"rereads": [each.record() for each in self.rereads], "ending": self.ending} if self.rereads else {}
        return {
            "format": FORMAT,
            "server": self.server,
            "timeline": self.timeline,
            "slot": self.slot,
            "tables": [list(each) for each in self.tables],
            "published": [each.record() for each in self.published],
            "log": self.log,
            "least": self.least,
            "chunks": self.chunks.record(),
            "next": self.next,
            "waiting": [each.record() for each in self.waiting],
            "marks": [each.record() for each in self.marks],
            "split_columns": {str(table): column for table, column in self.split_columns.items()},
            "protected": {
                table: {str(number): name for number, name in each.items()} for table, each in self.protected.items()
            },
            "until": self.until,
            "reading": self.reading,
            "committed_ms": self.committed_ms,
            "stop": self.stop,
            "changed": None if self.changed is None else self.changed.record(),
            **rereads,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Capture":
        """Return the state from JSON values.

        Raises:
            StoredValueError: The values do not represent a state of this source.
        """
        if stored.number(record, "format") != FORMAT:
            raise StoredValueError("the cursor of Postgres-CDC was written by another version")
        columns = stored.below(record, "split_columns") if "split_columns" in record else {}
        return cls(
            server=stored.text(record, "server"),
            timeline=stored.number(record, "timeline") if "timeline" in record else 0,
            slot=stored.text(record, "slot") if "slot" in record else "",
            tables=tuple((str(name), str(shape)) for name, shape in stored.items(record, "tables")),
            published=tuple(
                PublishedTable(oid=int(oid), entry=str(entry)) for oid, entry in record.get("published", ())
            ),
            log=stored.text(record, "log"),
            least=stored.number(record, "least"),
            chunks=ChunkStart.from_record(stored.below(record, "chunks")),
            next=stored.number(record, "next"),
            waiting=tuple(map(Mark.from_record, stored.items(record, "waiting"))),
            marks=tuple(map(Mark.from_record, stored.items(record, "marks"))),
            split_columns={int(table): str(column) for table, column in columns.items()},
            protected={
                str(table): {int(number): str(name) for number, name in each.items()}
                for table, each in record.get("protected", {}).items()
            },
            until=stored.text(record, "until"),
            reading=stored.text(record, "reading"),
            committed_ms=stored.number(record, "committed_ms") if "committed_ms" in record else 0,
            stop=stored.text(record, "stop"),
            changed=None if record.get("changed") is None else ColumnsChange.from_record(record["changed"]),
            rereads=rereads_of(record),
            ending=None if record.get("ending") is None else stored.number(record, "ending"),
        )

    # -- changes --------------------------------------------------------------------------------------------------

    def planned(self, chunks: Sequence[Chunk], after: ChunkStart) -> "Capture":
        """Return the state with planned chunks added."""
        made = tuple(Mark(table=each.table, high=each.piece.high, order=each.piece.order) for each in chunks)
        waiting = (*self.waiting, *made)
        columns = {each.table: column for each in chunks if (column := split_column_of(each.found))}
        columns = {**self.split_columns, **columns}
        return evolve(self, chunks=after, next=self.next + len(made), waiting=waiting, split_columns=columns)

    def read(self, number: int, snapshot: str) -> "Capture":
        """Return the state after a chunk has been read.

        Raises:
            StoredValueError: No chunk with this number is being read.
        """
        at = number - (self.next - len(self.waiting))
        if not 0 <= at < len(self.waiting):
            raise StoredValueError(f"the chunk {number} was not being read")
        waiting = list(self.waiting)
        waiting[at] = evolve(waiting[at], snapshot=snapshot)
        marks = list(self.marks)
        while waiting and waiting[0].snapshot:
            mark = waiting.pop(0)
            if marks and marks[-1].snapshot == mark.snapshot:
                marks.pop()
            marks.append(mark)
        return evolve(self, waiting=tuple(waiting), marks=tuple(marks))

    def with_fact(self, fact: Mapping[str, Any]) -> "Capture":
        """Return the state after the reader of a chunk or of a range has sent a report."""
        if "chunk" in fact:
            return self._chunk_read(int(fact["chunk"]), str(fact["mark"]))
        changed = ColumnsChange.from_record(fact["changed"]) if "changed" in fact else None
        state = self.logged(str(fact["read"]), int(fact.get("committed_ms", 0)), changed)
        return state if fact.get("visible") else evolve(state, ending=None)

    def _chunk_read(self, number: int, mark: str) -> "Capture":
        if self.waiting or not self.rereads:
            return self.read(number, mark)
        return evolve(self, rereads=rereading.chunk_read(self.rereads, number, is_whole=bool(mark)))

    def logged(self, end: str, committed_ms: int = 0, changed: ColumnsChange | None = None) -> "Capture":
        """Return the state after the log has been read up to a position."""
        committed_ms = committed_ms or self.committed_ms
        rereads = self.rereads if changed is None else rereading.restarted(self.rereads, [changed.table])
        return evolve(self, log=end, reading="", committed_ms=committed_ms, changed=changed, rereads=rereads)

    def requested(self, table: str) -> "Capture":
        """Return the state with another table to read again; raise ``UsageError`` if it is already being read again."""
        rereads = rereading.requested(self.rereads, table)
        return evolve(self, rereads=rereads, ending=self.ending if self.rereads else None)


def marks_of(marks: Sequence[Mark], table: int) -> list[Mark]:
    """Return the marks of a table's chunks, in order. The last mark extends to the end of the table."""
    found: list[Mark] = []
    for mark in marks:
        if mark.table < table:
            continue
        found.append(mark)
        if mark.table > table or mark.high is None:
            break
    return found
