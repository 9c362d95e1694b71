"""The state of the source and the decisions of its polls, without a server."""

import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.connector_api.errors import SourceChangedError, StoredValueError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.change_data.chunks import Chunk, ChunkStart
from seatunnel_core.connectors.jdbc.splitting import Piece
from seatunnel_core.connectors.postgres_cdc.changed_columns import require_split_columns
from seatunnel_core.connectors.postgres_cdc.cursor import Capture, ColumnsChange, Mark, marks_of
from seatunnel_core.connectors.postgres_cdc.options import SOURCE_OPTIONS
from seatunnel_core.connectors.postgres_cdc.planner import MOST_CHUNKS, RANGE_BYTES, Planner
from seatunnel_core.connectors.postgres_cdc.published_tables import PublishedTable, require_published
from seatunnel_core.connectors.postgres_cdc.range_reading import LogRange, RangeReader
from seatunnel_core.connectors.postgres_cdc.seen import SeenRows
from seatunnel_core.connectors.postgres_cdc.server import LogEnd
from seatunnel_core.connectors.postgres_cdc.settings import Settings
from seatunnel_core.connectors.postgres_cdc.source import PostgresCdcSource
from seatunnel_core.connectors.postgres_log.lsn import Lsn
from seatunnel_core.connectors.postgres_log.snapshot_mark import SnapshotMark

ONE, TWO = "10:10:", "15:20:15"
MIB = 1 << 20


def capture(**given: Any) -> Capture:
    values = {"server": "7", "tables": (("a", "x"), ("b", "y")), "log": "0/100", "chunks": ChunkStart(table=2)}
    return Capture(**{**values, **given})


def waiting(*highs: tuple[int, str | None]) -> Capture:
    return capture(next=len(highs), waiting=tuple(Mark(table=table, high=high) for table, high in highs))


def test_a_state_survives_its_record() -> None:
    state = capture(
        published=(PublishedTable(oid=7, entry="1 2 3"),),
        least=2**40, chunks=ChunkStart(table=1, order="text", low="x"), next=3, waiting=(Mark(table=1, high="q"),),
        marks=(Mark(table=0, high=None, snapshot=ONE),), until="0/1", reading="0/2", stop="0/3",
        split_columns={1: "id"},
    )  # fmt: skip
    assert Capture.from_record(json.loads(json.dumps(state.record()))) == state


def test_a_change_of_columns_survives_its_record() -> None:
    state = capture(changed=ColumnsChange(table="a", shape="x-m", message="it was added", is_reported=True))
    assert Capture.from_record(json.loads(json.dumps(state.record()))) == state


@pytest.mark.parametrize("broken", [{"format": 2}, {"marks": [[1, 2]]}, {"tables": "a"}])
def test_a_record_of_something_else_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(StoredValueError):
        Capture.from_record({**capture().record(), **broken})


def test_equal_marks_of_neighbours_become_one() -> None:
    state = waiting((0, "5"), (0, None), (1, "7"), (1, None))
    for number in range(4):
        state = state.read(number, ONE)
    assert state.marks == (Mark(table=1, high=None, snapshot=ONE),)
    assert not state.waiting


def divided(split_column: str) -> tuple[Chunk, Any]:
    """Return a chunk of the second table, and the tables of the source."""
    found: Any = SimpleNamespace(split_column=SimpleNamespace(name=split_column), reading=SimpleNamespace(name="b"))
    chunk = Chunk(table=1, found=found, piece=Piece(high="7"), next=ChunkStart(table=1, low="7", column=split_column))
    return chunk, [SimpleNamespace(found=SimpleNamespace(split_column=None)), SimpleNamespace(found=found)]


def test_marks_apply_only_to_the_column_that_divided_the_table() -> None:
    """Bounds of one column, compared with values of another one, lose changes of the log."""
    chunk, tables = divided("id")
    state = capture().planned([chunk], ChunkStart(table=2)).read(0, ONE)
    state = Capture.from_record(json.loads(json.dumps(state.record())))
    require_split_columns(state, tables)
    _, others = divided("code")
    with pytest.raises(SourceChangedError, match=r"split column of b has changed .* from id to code"):
        require_split_columns(state, others)
    earlier = {name: value for name, value in state.record().items() if name != "split_columns"}
    require_split_columns(Capture.from_record(earlier), others)
    after, _, _ = polled(evolve(state, log="0/500", until="0/500"), inserted=0x900)
    require_split_columns(after, others)


def test_marks_keep_the_order_of_chunks() -> None:
    state = waiting((0, "5"), (0, None), (1, "7"), (1, None)).read(1, ONE)
    assert not state.marks, "the chunk before it has none"
    state = state.read(0, TWO).read(3, ONE).read(2, TWO)
    assert [(mark.table, mark.high, mark.snapshot) for mark in state.marks] == [
        (0, "5", TWO), (0, None, ONE), (1, "7", TWO), (1, None, ONE),
    ]  # fmt: skip
    assert [mark.high for mark in marks_of(state.marks, 0)] == ["5", None]
    assert [mark.high for mark in marks_of(state.marks, 1)] == ["7", None]


def test_a_mark_of_several_tables_is_that_of_each() -> None:
    state = waiting((0, None), (1, None)).read(0, ONE).read(1, ONE)
    assert [mark.snapshot for mark in marks_of(state.marks, 0)] == [ONE]
    assert [mark.snapshot for mark in marks_of(state.marks, 1)] == [ONE]
    assert marks_of(state.marks, 2) == []


@pytest.mark.parametrize("number", [-1, 1])
def test_a_chunk_that_is_not_being_read_has_no_mark(number: int) -> None:
    with pytest.raises(StoredValueError, match=f"chunk {number} was not"):
        waiting((0, None)).read(number, ONE)


def _halves(rows: pa.RecordBatch) -> Any:
    return np.array([key >= 50 for key in rows.column(0).to_pylist()], np.int64)


def seen(marks: Sequence[str], keys: Sequence[int], xids: Sequence[int]) -> list[bool]:
    rows = pa.RecordBatch.from_pydict({"id": keys})
    parsed = tuple(map(SnapshotMark.parse, marks))
    made = SeenRows(
        marks=parsed, intervals=lambda rows: np.array([key >= 50 for key in rows.column(0).to_pylist()], np.int64)
    )
    return [bool(each) for each in made.of(rows, np.array(xids, np.uint32))]


def test_rows_are_compared_with_the_mark_of_their_chunk() -> None:
    assert seen([ONE], [1, 2, 3], [9, 10, 11]) == [True, False, False]
    keys, xids = [1, 99, 1, 99, 1, 99, 1, 99], [9, 9, 12, 12, 15, 15, 20, 20]
    assert seen([ONE, TWO], keys, xids) == [True, True, False, True, False, False, False, False]


def test_a_truncation_is_seen_only_by_all_chunks() -> None:
    made = SeenRows(marks=(SnapshotMark.parse(ONE), SnapshotMark.parse(TWO)), intervals=len)  # type: ignore[arg-type]
    assert [made.of_all_chunks(xid) for xid in (9, 12)] == [True, False]


# -- polls ----------------------------------------------------------------------------------------------------------


class NoChunks:
    """Chunks of a table that has as many as are wanted."""

    def take(self, start: ChunkStart, most: int, connection: Any) -> Any:
        raise AssertionError("no chunk is left")


def polled(state: Capture, *, inserted: int, flushed: int | None = None, reads_log: bool = True, stops: bool = False,
           confirmed: int = 0, **more: Any) -> tuple[Capture, Any, int | None]:  # fmt: skip
    planner = Planner(NoChunks(), 2, reads_log, stops, "slot")  # type: ignore[arg-type]
    planner.confirmed = Lsn(confirmed)
    end = LogEnd(inserted=Lsn(inserted), flushed=Lsn(inserted if flushed is None else flushed), **more)
    found = planner.next(state, None, lambda: None, lambda: end, None)  # type: ignore[arg-type]
    assert len(found.items) < 2
    return (
        Capture.from_record(found.state.record()),
        LogRange.of(found.items[0]) if found.items else None,
        found.again_ms,
    )


def test_the_log_waits_for_the_last_chunk() -> None:
    state, wanted, again_ms = polled(waiting((1, None)), inserted=0x900)
    assert (state.until, wanted, again_ms) == ("", None, 1_000)
    assert polled(capture(), inserted=0x900, reads_log=False)[1:] == (None, None)


def test_one_range_is_read_at_a_time() -> None:
    state, wanted, _ = polled(capture(), inserted=0x900)
    assert (str(wanted.start), str(wanted.end), state.reading) == ("0/100", "0/900", "0/900")
    assert polled(state, inserted=0xA00)[1] is None
    state, wanted, _ = polled(state.logged("0/900"), inserted=0xA00, confirmed=0x500)
    assert (str(wanted.start), str(wanted.end), str(wanted.confirm)) == ("0/900", "0/A00", "0/500")


def test_the_slot_is_not_confirmed_beyond_the_range() -> None:
    assert str(polled(capture(), inserted=0x900, confirmed=0x800)[1].confirm) == "0/100"


def test_an_idle_log_has_no_range() -> None:
    state, wanted, again_ms = polled(capture(log="0/900"), inserted=0x900)
    assert (state.reading, wanted, again_ms) == ("", None, 300)


def test_a_log_that_went_backwards_is_refused() -> None:
    """The job waited for the old position, and then continued with other transactions."""
    state = capture(log="0/900")
    assert polled(state, inserted=0x900, flushed=0x800)[1:] == (None, 300), "not all of it is durable yet"
    with pytest.raises(SourceChangedError, match="ends at 0/8FF, but the job has read it up to 0/900"):
        polled(state, inserted=0x8FF)
    assert polled(state, inserted=0x8FF, replica=True)[1:] == (None, 300), "a replica repeats its log after a restart"


def test_tables_need_to_remain_in_the_publication() -> None:
    one, two = PublishedTable(oid=1, entry="5 7 1"), PublishedTable(oid=2, entry="5 7 2")
    known, found = [(("s", "a"), one), (("s", "b"), two)], {("s", "a"): one, ("s", "b"): two}
    require_published("shop", known, found)
    other = PublishedTable(oid=3, entry="5 7 3")
    for change, message in (
        ({("s", "c"): other}, "the table s.b was dropped or renamed"),
        ({("s", "b"): other}, "the table s.b is not the table with which"),
        ({("s", "b"): evolve(two, entry="")}, "the publication shop was changed .* changes of s.b"),
        ({("s", "b"): evolve(two, entry="5 7 9")}, "the publication shop was changed"),
    ):
        with pytest.raises(SourceChangedError, match=message):
            require_published("shop", known, {("s", "a"): one, **change})
    missing = PublishedTable(oid=0, entry="")
    with pytest.raises(SourceChangedError, match="the publication shop"):
        require_published("shop", [(("s", "a"), missing)], {("s", "a"): missing})


def test_a_range_has_the_identifiers_of_its_tables() -> None:
    state = capture(published=(PublishedTable(oid=4, entry="x"), PublishedTable(oid=9, entry="y")))
    assert polled(state, inserted=0x900)[1].oids == (4, 9)


def _numbered(oids: tuple[int, ...], oid: int, name: str) -> int | None:
    wanted = LogRange(start=Lsn(1), end=Lsn(2), confirm=Lsn(1), tables=(("a", ""), ("b", "")), oids=oids)
    reader = RangeReader(None, None, [SimpleNamespace(path=("s", each), name=each) for each in "ab"], wanted, None)  # type: ignore[arg-type, misc]
    return reader._number(SimpleNamespace(namespace="s", name=name, oid=oid), "here")  # type: ignore[arg-type]


def test_tables_of_the_log_are_recognized_by_name_and_identifier() -> None:
    assert [_numbered((4, 9), *table) for table in ((4, "a"), (9, "b"), (7, "c"))] == [0, 1, None]
    assert [_numbered((), *table) for table in ((4, "a"), (9, "b"), (7, "c"))] == [0, 1, None]
    for table in ((7, "a"), (9, "a")):
        with pytest.raises(SourceChangedError, match="here: the table a is not the table with which the job started"):
            _numbered((4, 9), *table)
    with pytest.raises(SourceChangedError, match="here: the table a was renamed to "):
        _numbered((4, 9), 4, "c")


def test_two_sources_of_a_job_need_different_slots() -> None:
    """Each confirmed what the other one had not read."""

    def source(**more: str) -> PostgresCdcSource:
        given = {"url": "jdbc:postgresql://db/shop", "username": "me", "table-names": ("a",), **more}
        return PostgresCdcSource(Options(given, SOURCE_OPTIONS))

    PostgresCdcSource.meet([source(), source(**{"slot.name": "x"}), source(url="jdbc:postgresql://other/shop")])
    with pytest.raises(UsageError, match="two sources of the job use the replication slot seatunnel"):
        PostgresCdcSource.meet([source(), source(url="jdbc:postgresql://db/shop?ssl=false")])


def test_a_long_log_is_read_in_several_ranges() -> None:
    assert polled(capture(), inserted=500 * MIB)[1].end.value == 0x100 + RANGE_BYTES
    far = capture(log=str(Lsn(200 * MIB)))
    near, early = Lsn(199 * MIB), Lsn(80 * MIB)
    assert polled(far, inserted=500 * MIB, restart=near)[1].end.value == 200 * MIB + RANGE_BYTES
    assert polled(far, inserted=500 * MIB, restart=early)[1].end.value == 320 * MIB, "a long transaction is open"


def test_marks_are_dropped_when_the_log_has_passed_the_snapshots() -> None:
    """No range that has them contains later transactions, and none without them an earlier one."""
    marks = (Mark(table=1, high=None, snapshot=ONE),)
    state, wanted, _ = polled(capture(marks=marks), inserted=0x500, flushed=0x300)
    assert (state.until, str(wanted.end), wanted.marks) == ("0/500", "0/300", marks)
    state, wanted, _ = polled(state.logged("0/300"), inserted=0x900)
    assert (str(wanted.end), wanted.marks) == ("0/500", marks)
    state, wanted, _ = polled(state.logged("0/500"), inserted=0x900)
    assert (str(wanted.end), wanted.marks, state.marks) == ("0/900", (), ())


def test_it_stops_where_the_log_ended_after_the_snapshot() -> None:
    state, wanted, _ = polled(capture(), inserted=0x500, stops=True)
    assert str(wanted.end) == "0/500"
    state, wanted, again_ms = polled(state.logged("0/500"), inserted=0x900, stops=True)
    assert (wanted, again_ms) == (None, None)


def test_few_chunks_are_read_at_once() -> None:
    full = tuple(Mark(table=0, high=str(number)) for number in range(MOST_CHUNKS // 2 + 1))
    state = capture(chunks=ChunkStart(table=0, low="9"), next=len(full), waiting=full)
    assert polled(state, inserted=0x500)[1:] == (None, 1_000)
    assert polled(capture(chunks=ChunkStart()), inserted=0x500)[1:] == (None, 300), "no snapshot can be taken yet"


# -- options --------------------------------------------------------------------------------------------------------


def settings(**more: Any) -> Settings:
    given = {"url": "jdbc:postgresql://db/shop", "username": "me", "table-names": ("a",)}
    return Settings.of(
        Options({**given, **{key.replace("__", "."): value for key, value in more.items()}}, SOURCE_OPTIONS)
    )


def test_settings_have_defaults() -> None:
    found = settings(slot__name="copy", password="s3cret")
    assert (found.slot, found.publication, found.reads_log, found.reads_tables) == ("copy", "copy", True, True)
    assert "s3cret" not in repr(found)
    assert "wal_sender_timeout=0s" in found.log(15_00_00, "a")["options"]
    assert "wal_sender_timeout" not in found.log(11_00_00, "a")["options"], "the server would reject it"
    assert found.sql()["dbname"] == "shop"
    assert found.log(15_00_00, "a")["replication"] == "database"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"url": "jdbc:mysql://db/shop"}, "reads PostgreSQL"),
        ({"database-names": ("other",)}, "'other' is not the database in url"),
        ({"decoding__plugin__name": "wal2json"}, "wal2json is not supported; use pgoutput"),
        ({"slot__name": "Copy-1"}, "'Copy-1' is not a valid slot name"),
        ({"schema-changes.enabled": True}, "not supported"),
    ],
)
def test_values_that_are_not_supported_are_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        settings(**more)
