"""Plans of tables that are read again: chunks and ranges of the log in turn, once that is safe."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from attrs import define, evolve, field

from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connectors.change_data.chunks import ChunkStart
from seatunnel_core.connectors.change_data.rereading import Reread
from seatunnel_core.connectors.postgres_cdc import visibility
from seatunnel_core.connectors.postgres_cdc.changed_columns import with_columns
from seatunnel_core.connectors.postgres_cdc.cursor import Capture, ColumnsChange, Mark
from seatunnel_core.connectors.postgres_cdc.planner import Planned, Planner
from seatunnel_core.connectors.postgres_cdc.server import LogEnd
from seatunnel_core.connectors.postgres_log.lsn import Lsn
from seatunnel_core.connectors.postgres_log.snapshot_mark import SnapshotMark
from tests.connectors.change_data.test_rereading import TenEach

TABLES = (("shop.public.a", "1"), ("shop.public.b", "2"))


@define
class Transactions:
    """Transactions of a server: the next id, and the id below which all have ended."""

    next: int = 50
    over: int = 40
    is_as_logged: bool = False

    def new_id(self) -> int:
        self.next += 1
        return self.next

    def ended(self) -> int:
        return self.over

    def is_readable(self, table: str) -> bool:
        return not self.is_as_logged


def capture(**more: Any) -> Capture:
    state = Capture(server="s", tables=TABLES, log="0/100", until="0/100", chunks=ChunkStart(table=2), next=4)
    return evolve(state, **more).requested("shop.public.b")


class Found:
    """A table without columns, and its chunks."""

    def __init__(self, name: str) -> None:
        self.split_column, self.reading = None, type("Reading", (), {"name": name})


@define
class Polls:
    """Polls of one process."""

    seen: Transactions
    planner: Planner

    def next(self, state: Capture, inserted: int = 0x100) -> Planned:
        end = LogEnd(inserted=Lsn(inserted), flushed=Lsn(inserted))
        found = self.planner.next(Capture.from_record(state.record()), None, lambda: None, lambda: end, self.seen)
        assert Capture.from_record(found.state.record()) == found.state
        return found


@pytest.fixture
def polls() -> Polls:
    tables: Any = [Found(name) for name, _ in TABLES]
    return Polls(Transactions(), Planner(TenEach(tables), 2, True, False, "slot"))


def kinds(found: Planned) -> list[str]:
    return ["range" if "log" in item else "chunk" for item in found.items]


def read(state: Capture) -> Capture:
    """Return the state after all planned chunks were read."""
    for number in state.rereads[0].unread:
        state = state.with_fact({"chunk": number, "mark": "10:20:"})
    return state


def test_chunks_and_ranges_are_read_in_turn(polls: Polls) -> None:
    """At the same time, a sink that writes directly could replace a change by an older row of a chunk."""
    polls.seen.over = 100
    found = polls.next(capture(), 0x500)
    assert kinds(found) == ["chunk"] * 8
    chunk = found.items[0]["chunk"]
    assert (chunk["table"], chunk["reread"], chunk["snapshot"], chunk["shape"]) == ("shop.public.b", True, "", "2")
    assert kinds(polls.next(found.state, 0x500)) == []
    last = found.state.rereads[0].unread[-1]
    state = read(found.state)
    unread = evolve(state, rereads=(evolve(state.rereads[0], unread=(last,)),))
    assert kinds(polls.next(unread, 0x900)) == [], "one of the chunks is still being read"
    found = polls.next(state, 0x900)
    assert kinds(found) == ["range"], "the log does not wait until the table is complete"
    log = found.items[0]["log"]
    assert (log["start"], log["end"], log["visibility"], log["marks"]) == ("0/100", "0/900", True, [])
    assert kinds(polls.next(found.state, 0x900)) == []
    state = found.state.with_fact({"read": "0/900", "visible": True})
    assert kinds(polls.next(state, 0x950)) == ["chunk"] * 2


def test_chunks_wait_until_snapshots_contain_what_was_emitted(polls: Polls) -> None:
    found = polls.next(capture(), 0x500)
    assert (kinds(found), found.state.ending) == (["range"], 51), "a transaction before 0/100 may be invisible"
    assert found.is_delayed
    polls.seen.over = 51
    state = found.state.with_fact({"read": "0/500", "visible": True})
    ready = polls.next(state, 0x500)
    assert kinds(ready) == ["chunk"] * 8, "those of the range are visible, and now the others"
    assert not ready.is_delayed
    unsure = found.state.with_fact({"read": "0/500", "visible": False})
    found = polls.next(unsure, 0x500)
    assert (kinds(found), found.state.ending) == ([], 52), "one of the range may be invisible"


def test_the_log_of_all_tables_is_read_while_chunks_wait(polls: Polls) -> None:
    state = polls.next(capture(), 0x500).state.with_fact({"read": "0/500", "visible": True})
    assert kinds(polls.next(state, 0x900)) == ["range"]


def test_a_table_is_complete_when_the_log_has_passed_its_chunks(polls: Polls) -> None:
    polls.seen.over = 100
    state = read(polls.next(capture()).state)
    assert state.rereads[0].is_due
    state = read(polls.next(state).state)
    assert state.rereads[0].is_read
    found = polls.next(state, 0x500)
    assert (kinds(found), found.state.rereads[0].until) == (["range"], "0/500")
    state = found.state.with_fact({"read": "0/400", "visible": True})
    assert polls.next(state, 0x900).state.rereads
    state = found.state.with_fact({"read": "0/500", "visible": True})
    assert polls.next(state, 0x900).state.rereads == ()


def test_a_job_that_was_resumed_with_an_end_is_rejected(polls: Polls) -> None:
    """It would end before the table is complete."""
    for reads_log, stops in ((True, True), (False, False)):
        planner = Planner(polls.planner._chunks, 2, reads_log, stops, "slot")
        with pytest.raises(SourceError, match=r"is reading the table shop\.public\.b again, and would end before"):
            Polls(polls.seen, planner).next(capture())
        state = evolve(capture(), rereads=())
        assert Polls(polls.seen, planner).next(state).again_ms is None


def test_only_a_table_that_is_read_again_is_in_the_cursor() -> None:
    """Earlier versions read the others."""
    record = evolve(capture(ending=7), rereads=()).record()
    assert {"rereads", "ending"}.isdisjoint(record)
    assert {"rereads", "ending"} <= set(capture().record())


def test_tables_are_read_one_after_the_other(polls: Polls) -> None:
    polls.seen.over = 100
    state = capture().requested("shop.public.a")
    for _ in range(2):
        state = read(polls.next(state).state)
    found = polls.next(polls.next(state).state)
    assert {item["chunk"]["table"] for item in found.items} == {"shop.public.a"}


def test_a_snapshot_is_completed_first(polls: Polls) -> None:
    polls.seen.over = 100
    state = capture(waiting=(Mark(table=1, high=None),))
    assert kinds(polls.next(state, 0x500)) == []
    state = state.with_fact({"chunk": 3, "mark": "10:20:"})
    assert state.rereads[0] == Reread(table="shop.public.b"), "the chunk was one of the snapshot"
    state = evolve(state, until="0/500")
    assert kinds(polls.next(state, 0x500)) == ["range"], "it has marks"
    assert kinds(polls.next(state.with_fact({"read": "0/500"}), 0x500)) == [], "the marks end here"


def test_a_change_of_columns_reads_the_table_from_its_beginning(polls: Polls) -> None:
    polls.seen.over = 100
    state = read(polls.next(capture(), 0x500).state)
    change = ColumnsChange(table="shop.public.b", shape="2", message="changed")
    state = state.with_fact({"read": "0/300", "visible": True, "changed": change.record()})
    assert state.rereads[0].start == ChunkStart()
    polls.seen.is_as_logged = True
    assert kinds(polls.next(evolve(state, changed=None), 0x500)) == ["range"], "the log still has the former columns"


@define
class Resumed:
    """A captured table of a resumed job, with its columns of now."""

    name: str
    shape: str
    protected: Mapping[int, str] = field(factory=dict)
    is_readable: bool = True

    def has_masks(self, shape: str) -> bool:
        return True

    def has_shape(self, shape: str) -> bool:
        return shape == self.shape


def test_columns_that_changed_while_the_job_was_stopped_read_the_table_from_its_beginning(polls: Polls) -> None:
    polls.seen.over = 100
    state = polls.next(capture()).state
    tables: Any = [Resumed("shop.public.a", "1"), Resumed("shop.public.b", "3")]
    (reread,) = with_columns(state, tables, emits_rows=True).rereads
    assert (reread.start, reread.unread) == (ChunkStart(), state.rereads[0].unread)
    assert with_columns(state, [tables[0], Resumed("shop.public.b", "2")], emits_rows=True) == state  # type: ignore[list-item]


def test_ids_become_visible_or_the_wait_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    marks = [SnapshotMark.parse(each) for each in ("10:20:10,14", "10:20:14", "15:20:")]
    monkeypatch.setattr(visibility, "current_mark", lambda _connection: marks.pop(0) if len(marks) > 1 else marks[0])
    assert visibility.become_visible(None, np.array([9, 10, 14], np.uint32))
    assert len(marks) == 1
    times = iter([0.0, 0.5, 1.0])
    assert not visibility.become_visible(None, np.array([20], np.uint32), clock=lambda: next(times))
