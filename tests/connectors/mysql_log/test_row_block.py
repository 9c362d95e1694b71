"""Events that are decoded together give exactly what they give when they are decoded one by one."""

from typing import Any
from unittest import mock

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from attrs import evolve
from hypothesis import given, settings

from seatunnel_core.connectors.mysql_log import column_types as ct
from seatunnel_core.connectors.mysql_log import event_types as et
from seatunnel_core.connectors.mysql_log import row_block, row_collector
from seatunnel_core.connectors.mysql_log.captured_tables import CapturedTables
from seatunnel_core.connectors.mysql_log.change_batch import TableChanges
from seatunnel_core.connectors.mysql_log.errors import LogError, MalformedLogError
from seatunnel_core.connectors.mysql_log.log_decoder import LogDecoder
from seatunnel_core.connectors.mysql_log.position import LogPosition
from seatunnel_core.connectors.mysql_log.row_block import ImageFinder
from seatunnel_core.connectors.mysql_log.row_program import stored
from seatunnel_core.connectors.mysql_log.table_map import RawColumn
from tests.connectors.mysql_log import encoder as write
from tests.connectors.mysql_log.encoder import LogWriter, WrittenColumn
from tests.connectors.mysql_log.generated import ENUM, KINDS, Kind, column, encoded

START = LogPosition("binlog.000001", 4)
INSERT, UPDATE, DELETE = 30, 31, 32
TOGETHER, ONE_BY_ONE = 0, 1 << 30
"""Numbers of images below which events are decoded one by one."""


def fixed(declared: str, kind: int, size: int, meta: bytes = b"", charset: str = "") -> Kind:
    """Return a kind of column with any bytes, many of them no valid value."""
    some = st.sampled_from([bytes(size), b"\1" + bytes(size - 1), b"\xff" * size]) | st.binary(
        min_size=size, max_size=size
    )
    return Kind(declared, kind, some, bytes, meta, charset)


def sized(declared: str, kind: int, width: int, meta: bytes, charset: str = "") -> Kind:
    return Kind(declared, kind, st.binary(max_size=6), lambda v: write.sized(v, width), meta, charset)


MISFITS = (
    fixed("tinyint(1)", ct.TINY, 1),
    fixed("year", ct.YEAR, 1),
    fixed("float", ct.FLOAT, 4, b"\4"),
    fixed("bit(1)", ct.BIT, 1, b"\1\0"),
    fixed("bit(12)", ct.BIT, 2, b"\4\1"),
    fixed("date", ct.DATE, 3),
    fixed("datetime(6)", ct.DATETIME2, 8, b"\6"),
    fixed("timestamp", ct.TIMESTAMP2, 4, b"\0"),
    fixed("time", ct.TIME2, 3, b"\0"),
    Kind("uuid", ct.STRING, st.binary(max_size=16), lambda v: write.sized(v, 1), b"\xfe\x10"),
    Kind("json", ct.JSON, st.just(b"\x05\x2a\x00"), lambda v: write.sized(v, 4), b"\4"),
    sized("varchar(20)", ct.VARCHAR, 1, b"\x50\0", "utf8mb4"),
    sized("varchar(20)", ct.VARCHAR, 1, b"\x28\0", "utf16"),
    Kind(ENUM, ct.STRING, st.integers(0, 3), lambda v: bytes([v]), b"\xf7\1", "utf8mb3"),
    Kind("set('k','l','m')", ct.STRING, st.integers(0, 7), lambda v: bytes([v]), b"\xf8\1", "utf8mb3"),
)
"""Kinds of columns with values that have no place in Arrow, or mean null."""

TRUTH = Kind("tinyint(1)", ct.TINY, st.integers(-1, 2), lambda v: v.to_bytes(1, "little", signed=True))
LOSSY = Kind("enum('a','b?')", ct.STRING, st.integers(0, 2), lambda v: bytes([v]), b"\xf7\1", "utf8mb4")


@st.composite
def logs(draw: st.DrawFn, *, partial: bool) -> tuple[LogWriter, list[WrittenColumn]]:
    """Draw a log of events of one table.

    Args:
        draw: Draws a value.
        partial: True if images may lack columns.
    """
    kinds = draw(st.lists(st.sampled_from(KINDS + MISFITS), min_size=1, max_size=20))
    nullable = draw(st.lists(st.booleans(), min_size=len(kinds), max_size=len(kinds)))
    row = st.tuples(*(st.none() | k.values if null else k.values for k, null in zip(kinds, nullable, strict=True)))
    log, columns = LogWriter(), [column(kind, number) for number, kind in enumerate(kinds)]
    log.format()
    for number in range(draw(st.integers(1, 3))):
        log.gtid(number + 1)
        log.query("BEGIN")
        log.table_map(columns)
        for event in draw(st.lists(st.sampled_from([INSERT, UPDATE, DELETE, 23, 24, 25]), min_size=1, max_size=3)):
            images = 2 if event in et.UPDATES else 1
            present = [[True] * len(kinds)] * images
            if partial and draw(st.booleans()):
                some = st.lists(st.booleans(), min_size=len(kinds), max_size=len(kinds)).filter(any)
                present = [draw(some) for _ in range(images)]
            rows = [
                [value for value, here in zip(encoded(kinds, list(draw(row))), each, strict=True) if here]
                for _ in range(draw(st.integers(1, 3)))
                for each in present
            ]
            log.rows(event, len(kinds), rows, present=present)
        log.xid()
    return log, columns


EACH = (*KINDS, *MISFITS, TRUTH, LOSSY)


@pytest.mark.fuzz
@pytest.mark.parametrize("kind", EACH, ids=range(len(EACH)))
@settings(max_examples=15)
@given(st.data())
def test_each_kind_of_column(kind: Kind, data: st.DataObject) -> None:
    for values in (kind.values, st.none() | kind.values):
        log, columns = LogWriter(), [column(kind, 0)]
        if kind is TRUTH:
            columns = [evolve(columns[0], declared=evolve(columns[0].declared, arrow=pa.bool_()))]
        log.format()
        log.query("BEGIN")
        log.table_map(columns)
        log.rows(INSERT, 1, [encoded([kind], [value]) for value in data.draw(st.lists(values, min_size=1, max_size=9))])
        log.xid()
        assert decoded(log, columns, TOGETHER) == decoded(log, columns, ONE_BY_ONE)


def decoded(log: LogWriter, columns: list[WrittenColumn], few: int) -> Any:
    """Return all properties of the changes, or the message of an error."""
    captured = CapturedTables({("shop", "t"): [each.declared for each in columns]})
    with mock.patch.object(row_collector, "_FEW_IMAGES", few):
        try:
            batches = list(LogDecoder(captured, START, batch_rows=8).batches(log.events()))
        except LogError as error:
            return type(error), str(error)
    return [shown(each) for batch in batches for each in batch.changes]


def shown(changes: TableChanges) -> Any:
    changes.rows.validate(full=True)
    columns = [changes.rows.column(number) for number in range(changes.rows.num_columns)]
    present = [changes.arrived(number).tolist() for number in range(len(columns))]
    plain = (changes.kinds, changes.transactions, changes.events, changes.offsets)
    # Not a number is not equal to itself, but its text is.
    return (
        changes.rows.schema,
        list(map(str, map(pa.Array.to_pylist, columns))),
        present,
        [each.tolist() for each in plain],
        dict(changes.misfits),
    )


@pytest.mark.fuzz
@given(logs(partial=False))
def test_events_with_all_columns(found: tuple[LogWriter, list[WrittenColumn]]) -> None:
    assert decoded(*found, TOGETHER) == decoded(*found, ONE_BY_ONE)


@pytest.mark.fuzz
@given(logs(partial=True))
def test_events_of_which_some_lack_columns(found: tuple[LogWriter, list[WrittenColumn]]) -> None:
    assert decoded(*found, TOGETHER) == decoded(*found, ONE_BY_ONE)


@pytest.mark.fuzz
@given(logs(partial=False), st.data())
def test_damaged_rows_never_give_other_values(
    found: tuple[LogWriter, list[WrittenColumn]], data: st.DataObject
) -> None:
    """Both find the same rows, or both fail; a damaged length can make the messages differ."""
    log, columns = found
    without = LogWriter(checksums=False)
    for event in log.written:
        body = event[19:-4]
        if event[4] in (*et.INSERTS, *et.UPDATES, *et.DELETES) and data.draw(st.booleans()):
            at = data.draw(st.integers(8, len(body) - 1))
            body = body[:at] + bytes([body[at] ^ data.draw(st.integers(1, 255))]) + body[at + 1 :]
        if event[4] != 15:
            without.event(event[4], body)
        else:
            without.format()
    one, other = decoded(without, columns, TOGETHER), decoded(without, columns, ONE_BY_ONE)
    if isinstance(one, tuple) and isinstance(other, tuple):
        assert one[0] is other[0]
    else:
        assert one == other


VARCHAR = column(Kind("varchar(300)", ct.VARCHAR, st.none(), bytes, b"\xb0\4", "utf8mb4"), 0)


def test_many_rows_are_decoded_together() -> None:
    """The default number of images, without a patch."""
    log = LogWriter()
    log.format()
    log.query("BEGIN")
    log.table_map([VARCHAR])
    texts = [None if number % 3 == 0 else f"text {number} ä" * (number % 9) for number in range(1_000)]
    for start in range(0, 1_000, 50):
        values = [[None if text is None else write.sized(text.encode(), 2)] for text in texts[start : start + 50]]
        log.rows(INSERT, 1, values)
    log.xid()
    captured = CapturedTables({("shop", "t"): [VARCHAR.declared]})
    with mock.patch.object(row_collector, "columns_in", wraps=row_block.columns_in) as together:
        (batch,) = LogDecoder(captured, START).batches(log.events())
    assert together.call_count == 1
    assert batch.changes[0].rows.column(0).to_pylist() == texts


def test_images_beyond_the_offsets_of_arrow_are_decoded_one_by_one() -> None:
    log = LogWriter()
    log.format()
    log.query("BEGIN")
    log.table_map([VARCHAR])
    for number in range(3):
        log.rows(INSERT, 1, [[write.sized(b"x" * 100 * number, 2)]])
    log.xid()
    captured = CapturedTables({("shop", "t"): [VARCHAR.declared]})
    with (
        mock.patch.object(row_collector, "_MOST_BLOCK_BYTES", 150),
        mock.patch.object(row_collector, "_FEW_IMAGES", TOGETHER),
        mock.patch.object(row_collector, "columns_in") as together,
    ):
        (batch,) = LogDecoder(captured, START).batches(log.events())
    assert not together.called
    assert batch.changes[0].rows.column(0).to_pylist() == ["", "x" * 100, "x" * 200]


def test_an_update_without_its_second_image_is_an_error() -> None:
    log = LogWriter()
    log.format()
    log.query("BEGIN")
    log.table_map([VARCHAR])
    log.rows(UPDATE, 1, [[None], [None], [None]])
    captured = CapturedTables({("shop", "t"): [VARCHAR.declared]})
    with pytest.raises(MalformedLogError, match=r"the rows of shop\.t are incomplete, or longer than their event"):
        list(LogDecoder(captured, START).batches(log.events()))


def test_the_sizes_of_many_null_bitmaps_are_dropped() -> None:
    finder = ImageFinder([stored(RawColumn(type=ct.TINY), unsigned=False)] * 16)
    for number in range(1 << 16):
        bitmap = number.to_bytes(2, "little")
        image = bitmap + bytes(16 - number.bit_count())
        offsets: list[int] = []
        assert (finder.images(image, offsets), offsets) == ((1, len(image)), [0])
        assert len(finder._sizes) <= 4_096
