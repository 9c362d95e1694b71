"""Tables that are read again: their state in a cursor, their chunks, and their progress."""

from typing import Any

import pytest

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connectors.change_data.chunks import Chunk, Chunks, ChunkStart
from seatunnel_core.connectors.change_data.rereading import (
    Reread,
    RereadChunks,
    chunk_read,
    requested,
    require_table,
    rereads_of,
    restarted,
)
from seatunnel_core.connectors.jdbc.splitting import Piece
from tests.connectors.mysql_cdc.tables import table


class TenEach(Chunks):
    """Ten chunks of each table, as a database would divide it."""

    def __init__(self, tables: Any) -> None:
        super().__init__(tables)

    def only(self, table: int) -> Chunks:
        return TenEach([self._tables[table]])

    def take(self, start: ChunkStart, most: int, connection: Any) -> tuple[list[Chunk], ChunkStart]:
        first = int(start.low or 0)
        taken = []
        for low in range(first, min(first + most, 10)):
            high = None if low == 9 else str(low + 1)
            after = ChunkStart(table=1) if high is None else ChunkStart(low=high)
            piece = Piece(low=str(low) if low else None, high=high)
            taken.append(Chunk(table=0, found=self._tables[0], piece=piece, next=after))
        self.taken[0] = self.taken.get(0, 0) + len(taken)
        self.sizes[0] = 10
        return taken, taken[-1].next


def test_a_table_is_read_chunk_by_chunk() -> None:
    chunks = RereadChunks(TenEach(["a", "b"]))
    reread = Reread(table="b")
    taken, reread = chunks.take(reread, 1, None, "0/100")
    assert [each.found for each in taken] == ["b"] * 8, "of the table that was requested"
    assert (reread.unread, reread.is_due, reread.is_read) == (tuple(range(8)), False, False)
    for number in reversed(range(8)):
        reread = reread.read(number)
    assert (reread.is_due, reread.is_read) == (True, False)
    progress = chunks.progress((reread, Reread(table="a")), 5)
    assert (progress.tables, progress.tables_done) == (5, 3)
    assert [(each.name, each.phase, each.chunks_done, each.chunks) for each in progress.listed] == [
        ("b", "reading", 8, 10),
        ("a", "waiting", 0, None),
    ]
    taken, reread = chunks.take(reread, 1, None, "0/100")
    assert (reread.start, reread.unread) == (None, (8, 9))
    assert (reread.read(8).is_read, reread.read(8).read(9).is_read) == (False, True)


def test_the_state_survives_in_a_cursor() -> None:
    first = Reread(table="a", start=ChunkStart(low="7"), next=3, unread=(1, 2))
    last = Reread(table="b", start=None, next=4, until="0/77")
    assert rereads_of({"rereads": [first.record(), last.record()]}) == (first, last)
    assert rereads_of({}) == (), "an earlier version has written it"


def test_a_table_is_requested_once() -> None:
    rereads = requested(requested((), "a"), "b")
    assert [each.table for each in rereads] == ["a", "b"]
    with pytest.raises(UsageError, match="the table a is already being read again"):
        requested(rereads, "a")


def test_messages_are_not_read_again() -> None:
    """A target without keys would receive them twice."""
    require_table("shop.m", [table("m")], emits_rows=True)
    with pytest.raises(UsageError, match="emits Debezium messages"):
        require_table("shop.m", [table("m")], emits_rows=False)


def test_a_table_with_changed_columns_is_read_from_its_beginning() -> None:
    reading = Reread(table="a", start=None, next=4, unread=(3,), until="")
    rereads = (reading, Reread(table="b", start=None, next=9, until="0/77"))
    begun, other = restarted(rereads, ["a"])
    assert (begun.start, begun.next, begun.is_due) == (ChunkStart(), 4, False), "a chunk is still being read"
    assert other == rereads[1]
    begun = begun.read(3)
    assert begun.is_due
    assert chunk_read(rereads, 3, is_whole=True)[0].is_read
    skipped = chunk_read(rereads, 3, is_whole=False)[0]
    assert (skipped.is_due, skipped.start) == (True, ChunkStart())
