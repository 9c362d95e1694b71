"""Plans of tables that are read again: chunks and ranges of the log in turn."""

import json
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.connector_api.errors import SourceChangedError, SourceError, UsageError
from seatunnel_core.connectors.change_data.chunks import ChunkStart
from seatunnel_core.connectors.change_data.emission import Emission
from seatunnel_core.connectors.change_data.rereading import Reread, RereadChunks
from seatunnel_core.connectors.jdbc.splitting import Piece
from seatunnel_core.connectors.mysql_cdc.chunk_reader import ChunkReader
from seatunnel_core.connectors.mysql_cdc.options import STOP_MODE
from seatunnel_core.connectors.mysql_cdc.planning import Planned, Planner
from seatunnel_core.connectors.mysql_cdc.progress import Progress, WindowChunk
from seatunnel_core.connectors.mysql_cdc.recorded_tables import recorded
from seatunnel_core.connectors.mysql_cdc.source import MySQLCdcSource
from seatunnel_core.connectors.mysql_log.change_batch import Outcome
from tests.connectors.change_data.test_rereading import TenEach
from tests.connectors.mysql_cdc.server_stub import AnsweringServer
from tests.connectors.mysql_cdc.tables import table
from tests.connectors.mysql_cdc.test_log_reader import batch, reader, transaction
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


def test_chunks_and_ranges_are_read_in_turn() -> None:
    """At the same time, a sink that writes directly could replace a change by an older row of a chunk."""
    plan = planner(LogServer(500)).plan
    found = plan(progress("shop.b"))
    assert kinds(found) == ["chunk"] * 8
    chunk = found.bodies[0]
    assert (chunk["table"], chunk["reread"], chunk["log"]) == ("shop.b", True, str(at(100)))
    state = stored(found)
    assert kinds(plan(state)) == []
    one = state.with_fact({"chunk": 0, "mark": str(at(700))})
    assert kinds(plan(one)) == [], "seven chunks are still being read"
    found = plan(read(state))
    assert kinds(found) == ["range"], "the log does not wait until the table is complete"
    log = found.bodies[0]
    assert (log["from"], log["to"], "window" in log) == (str(at(100)), str(at(500)), False)
    assert kinds(plan(stored(found))) == [], "the range is being read"
    fact = {"stopped": "", "prepared": [], "ended": False, "read": str(at(500))}
    assert kinds(plan(stored(found).with_fact(fact))) == ["chunk"] * 2


@pytest.mark.parametrize(
    ("given", "more"), [({"stops_at_end": True}, {}), ({}, {"until_ms": 7}), ({}, {"stop": at(900)})]
)
def test_a_job_that_was_resumed_with_an_end_is_rejected(given: dict[str, Any], more: dict[str, Any]) -> None:
    """It would end before the table is complete."""
    with pytest.raises(SourceError, match=r"is reading the table shop\.b again, and would end before"):
        planner(LogServer(500), **given).plan(progress("shop.b", **more))


def test_only_a_table_that_is_read_again_is_in_the_cursor() -> None:
    """Earlier versions read the others."""
    assert "rereads" not in progress().cursor()
    assert "rereads" in progress("shop.b").cursor()


def test_commits_of_transactions_that_were_prepared_earlier_are_not_checked_again() -> None:
    """The ranges have checked them, up to the position from which the table is read again."""
    ended = [batch(transaction(2, Outcome.XA_COMMITTED), end=290)]
    for rereads in (True, False):
        log, found = reader(ended), table("m")
        chunk = ChunkReader(
            server=log.server, state=STATE, found=found, piece=Piece(), log=log, planned=at(290), rereads=rereads
        )
        if rereads:
            assert list(chunk._logged(at(100), at(290))) == ended
            continue
        with pytest.raises(SourceError, match="is distributed"):
            list(chunk._logged(at(100), at(290)))


def test_a_chunk_is_read_only_by_the_column_that_divided_the_table() -> None:
    log, found = reader([]), table("m")
    body = {"column": "id", **Piece(low="7").body(), "log": str(at(100))}
    assert ChunkReader.of(log.server, STATE, found, log, body).piece.low == "7"
    with pytest.raises(SourceChangedError, match=r"split column of shop\.m has changed .* from a to id"):
        ChunkReader.of(log.server, STATE, found, log, {**body, "column": "a"})


@pytest.mark.parametrize("name", ["binlog_row_image", "binlog_row_value_options"])
def test_a_log_that_may_lack_values_is_rejected(name: str) -> None:
    """The target could not apply an update of a row that it lacks."""
    settings = {"log_bin": "1", "binlog_format": "ROW", name: "MINIMAL"}
    answers: dict[str, list[Any]] = {"SHOW GLOBAL VARIABLES": [*settings.items()], "SELECT VERSION()": [("8.0.36",)]}
    source: Any = object.__new__(MySQLCdcSource)
    source.options = {STOP_MODE: "never"}
    source._tables, source._emission = (table("m"),), Emission()
    source._server = AnsweringServer(answers)
    cursor = {**progress().cursor(), "tables": recorded(source._tables)}
    with pytest.raises(UsageError, match=name):
        source.reread(cursor, "shop.m")
    answers["SHOW GLOBAL VARIABLES"] = [("log_bin", "1"), ("binlog_format", "ROW")]
    assert Progress.of(source.reread(cursor, "shop.m")).rereads == (Reread(table="shop.m"),)


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
    assert kinds(planner(LogServer(500)).plan(again)) == ["chunk"] * 8
    skipped = stored(planner(LogServer(500)).plan(again)).with_fact({"chunk": 8, "mark": ""})
    assert skipped.rereads[0].start == ChunkStart()
