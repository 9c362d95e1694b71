"""Plans of tables that are read again: chunks before the range at whose start they were planned."""

import json
from typing import Any

from attrs import evolve

from seatunnel_core.connectors.change_data.chunks import ChunkStart
from seatunnel_core.connectors.change_data.rereading import Reread, RereadChunks
from seatunnel_core.connectors.mysql_cdc.planning import Planned, Planner
from seatunnel_core.connectors.mysql_cdc.progress import Progress, WindowChunk
from tests.connectors.change_data.test_rereading import TenEach
from tests.connectors.mysql_cdc.test_planning import STATE, LogServer, at

TABLES = ("shop.a", "shop.b")


class Found:
    """A table without columns."""

    def __init__(self, name: str) -> None:
        self.split_column, self.reading = None, type("Reading", (), {"name": name})


def planner(server: LogServer, **more: Any) -> Planner:
    tables: Any = [Found(name) for name in TABLES]
    chunks = TenEach(tables)
    rereads = RereadChunks(chunks)
    return Planner(server=server, state=STATE, tables=TABLES, chunks=chunks, rereads=rereads, parallelism=2, **more)


def progress(*tables: str, **more: Any) -> Progress:
    made = Progress(server="s", log=at(100), rereads=tuple(Reread(table=table) for table in tables))
    return evolve(made, **more)


def stored(found: Planned) -> Progress:
    """Return the progress as a checkpoint has it."""
    kept = Progress.of(json.loads(json.dumps(found.progress.cursor())))
    assert kept == found.progress
    return kept


def read(state: Progress) -> Progress:
    """Return the progress after all planned chunks were read."""
    for number in state.rereads[0].unread:
        state = state.with_fact({"chunk": number, "mark": str(at(700))})
    return state


def kinds(found: Planned) -> list[str]:
    return ["range" if "from" in body else "chunk" for body in found.bodies]


def test_chunks_come_before_the_range_that_begins_where_they_were_planned() -> None:
    """After it, their rows could be older than its changes."""
    plan = planner(LogServer(500)).plan
    found = plan(progress("shop.b"))
    assert kinds(found) == ["chunk"] * 8 + ["range"]
    chunk, log = found.bodies[0], found.bodies[-1]
    assert (chunk["table"], chunk["reread"], chunk["log"]) == ("shop.b", True, str(at(100)))
    assert (log["from"], log["to"], "window" in log) == (str(at(100)), str(at(500)), False)
    assert kinds(plan(stored(found))) == [], "one range at a time"
    assert kinds(plan(read(stored(found)))) == [], "the range is still being read"


def test_a_table_is_complete_when_the_log_has_passed_its_chunks() -> None:
    server = LogServer(100)
    plan = planner(server).plan
    state = read(stored(plan(progress("shop.b", "shop.a"))))
    assert state.rereads[0].is_due
    state = read(stored(plan(state)))
    assert state.rereads[0].is_read
    server.move(at(900))
    found = plan(state)
    assert (kinds(found), found.progress.rereads[0].until) == (["range"], str(at(900)))
    fact = {"stopped": "", "prepared": [], "ended": False}
    early = plan(stored(found).with_fact({**fact, "read": str(at(800))}))
    assert [each.table for each in early.progress.rereads] == ["shop.b", "shop.a"]
    done = plan(stored(found).with_fact({**fact, "read": str(at(900))}))
    assert [each.table for each in done.progress.rereads] == ["shop.a"]
    assert {body["table"] for body in plan(stored(done)).bodies} == {"shop.a"}


def test_a_snapshot_is_completed_first() -> None:
    window = (WindowChunk(number=3, table=1, order="own", low=None, high=None),)
    state = progress("shop.b", window=window, chunks=4)
    assert kinds(planner(LogServer(500)).plan(state)) == []
    state = state.with_fact({"chunk": 3, "mark": str(at(100))})
    assert (state.window[0].mark, state.rereads) == (at(100), (Reread(table="shop.b"),))


def test_a_change_of_columns_reads_the_table_from_its_beginning() -> None:
    state = read(stored(planner(LogServer(500)).plan(progress("shop.b"))))
    fact = {"read": str(at(300)), "stopped": "ALTER", "prepared": [], "ended": False, "changed": ["shop.b"]}
    changed = state.with_fact(fact)
    assert changed.rereads[0].start == ChunkStart()
    former = planner(LogServer(500), former=["shop.b"])
    again = evolve(changed, stopped="", changed=())
    assert kinds(former.plan(again)) == ["range"], "the log still has the former columns"
    assert kinds(planner(LogServer(500)).plan(again)) == ["chunk"] * 8 + ["range"]
    skipped = stored(planner(LogServer(500)).plan(again)).with_fact({"chunk": 8, "mark": ""})
    assert skipped.rereads[0].start == ChunkStart()
