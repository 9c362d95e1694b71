"""Events that are written by the documentation give the values that were written; damaged ones give an error."""

from decimal import Decimal
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from seatunnel_core.connectors.mysql_log.captured_tables import CapturedTables
from seatunnel_core.connectors.mysql_log.change_batch import ChangeBatch, Outcome, Reason, TableChanges
from seatunnel_core.connectors.mysql_log.errors import LogError, MalformedLogError
from seatunnel_core.connectors.mysql_log.log_decoder import LogDecoder
from seatunnel_core.connectors.mysql_log.position import LogPosition
from seatunnel_core.rows.kind import RowKind
from tests.connectors.mysql_log.encoder import LogWriter, WrittenColumn
from tests.connectors.mysql_log.generated import Kind, column, encoded, tables

START = LogPosition("binlog.000001", 4)
INSERT, UPDATE, DELETE = 30, 31, 32


def decode(log: LogWriter, columns: list[WrittenColumn], **options: Any) -> list[ChangeBatch]:
    captured = CapturedTables({("shop", "t"): [each.declared for each in columns]})
    return list(LogDecoder(captured, START, **options).batches(log.events()))


def only(batches: list[ChangeBatch]) -> TableChanges:
    (found,) = [each for batch in batches for each in batch.changes]
    return found


def written(kinds: list[Kind], rows: list[list[Any]], event: int = INSERT, **options: Any) -> tuple[LogWriter, Any]:
    log = LogWriter(**options)
    columns = [column(kind, number) for number, kind in enumerate(kinds)]
    log.format()
    log.gtid(1)
    log.query("BEGIN")
    log.table_map(columns)
    log.rows(event, len(kinds), [encoded(kinds, row) for row in rows])
    log.xid()
    return log, columns


def plain(kind: Kind, value: Any) -> Any:
    """Return the value that Arrow gives for a written one."""
    if value is None:
        return None
    return Decimal(value) if kind.declared.startswith("decimal") else value


@pytest.mark.fuzz
@given(tables(), st.sampled_from([INSERT, DELETE, 23, 25]), st.booleans())
def test_written_values_are_read(table: tuple[list[Kind], list[list[Any]]], event: int, checksums: bool) -> None:
    kinds, rows = table
    log, columns = written(kinds, rows, event, checksums=checksums)
    found = only(decode(log, columns))
    assert not found.misfits
    for number, kind in enumerate(kinds):
        assert found.rows.column(number).to_pylist() == [plain(kind, row[number]) for row in rows]
    assert set(found.kinds.tolist()) == {RowKind.INSERT if event in (INSERT, 23) else RowKind.DELETE}
    assert found.complete


@pytest.mark.fuzz
@given(tables(), st.data())
def test_images_with_a_part_of_the_columns_are_read(
    table: tuple[list[Kind], list[list[Any]]], data: st.DataObject
) -> None:
    kinds, rows = table
    rows = rows[: len(rows) // 2 * 2] or [*rows, *rows]
    some = st.lists(st.booleans(), min_size=len(kinds), max_size=len(kinds))
    before, after = data.draw(some.filter(any)), data.draw(some)
    log, columns = LogWriter(), [column(kind, number) for number, kind in enumerate(kinds)]
    log.format()
    log.query("BEGIN")
    log.table_map(columns)
    images = [
        [value for value, here in zip(encoded(kinds, row), (before, after)[number % 2], strict=True) if here]
        for number, row in enumerate(rows)
    ]
    log.rows(UPDATE, len(kinds), images, present=[before, after])
    log.xid()
    found = only(decode(log, columns))
    assert found.kinds.tolist() == [RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER] * (len(rows) // 2)
    for number, kind in enumerate(kinds):
        here = [(before, after)[row % 2][number] for row in range(len(rows))]
        assert found.arrived(number).tolist() == here
        expected = [plain(kind, row[number]) if arrived else None for row, arrived in zip(rows, here, strict=True)]
        assert found.rows.column(number).to_pylist() == expected


@pytest.mark.fuzz
@given(tables(), st.data())
def test_damaged_events_are_an_error_and_never_other_values(
    table: tuple[list[Kind], list[list[Any]]], data: st.DataObject
) -> None:
    kinds, rows = table
    log, columns = written(kinds, rows)
    number = data.draw(st.integers(0, len(log.written) - 1))
    event = bytearray(log.written[number])
    at = data.draw(st.integers(0, len(event) - 1))
    event[at] ^= data.draw(st.integers(1, 255))
    log.written[number] = bytes(event)
    right = [[plain(kind, value) for kind, value in zip(kinds, row, strict=True)] for row in rows]
    try:
        batches = decode(log, columns)
    except LogError:
        return
    for each in (each for batch in batches for each in batch.changes):
        assert [list(row.values()) for row in each.rows.to_pylist()] == right


@pytest.mark.fuzz
@given(tables(), st.data())
def test_events_that_end_early_are_an_error(table: tuple[list[Kind], list[list[Any]]], data: st.DataObject) -> None:
    """Also without checksums, and with a header that states the smaller size; rows never run into the next event."""
    kinds, rows = table
    log, columns = written(kinds, rows, checksums=False)
    number = data.draw(st.sampled_from([3, 4]))
    event = log.written[number]
    size = data.draw(st.integers(19, len(event) - 1))
    cut = event[:9] + size.to_bytes(4, "little") + event[13:size]
    rest = b"".join(log.written[number + 1 :]) + bytes(100)
    captured = CapturedTables({("shop", "t"): [each.declared for each in columns]})
    decoder = LogDecoder(captured, START)
    for before in log.written[:number]:
        decoder._event((before, 0, len(before)))
    try:
        decoder._event((cut + rest, 0, len(cut)))
    except LogError:
        return
    if number == 3:  # A table map without its optional metadata, or with a shorter one, may be complete.
        with pytest.raises(LogError):
            decoder._event((log.written[4], 0, len(log.written[4])))
        return
    (found,) = decoder._rows.taken()
    assert found.rows.to_pylist() == only(decode(log, columns)).rows.slice(0, found.rows.num_rows).to_pylist()


INT = WrittenColumn(column(Kind("int", 3, st.none(), bytes), 0).declared, 3)


def four(number: int) -> bytes:
    return number.to_bytes(4, "little", signed=True)


def test_transactions_statements_and_positions() -> None:
    log = LogWriter()
    log.format()
    log.gtid(5)
    log.query("BEGIN")
    log.table_map([INT])
    log.rows(INSERT, 1, [[four(1)], [four(2)]])
    log.rows(UPDATE, 1, [[four(1)], [four(3)]])
    log.xid()
    first = log.offset
    log.gtid(6)
    log.query("ALTER TABLE t ADD b int", databases=["shop"])
    second = log.offset
    log.gtid(7)
    log.query("BEGIN")
    log.table_map([INT])
    log.rows(DELETE, 1, [[None]])
    log.query("COMMIT")
    statement, last = decode(log, [INT])
    assert statement.reason is Reason.STATEMENT
    assert statement.statement is not None
    assert statement.statement.databases == ("shop",)
    assert statement.position.offset == second
    assert [(each.number, str(each.gtid)[-2:], each.end.offset) for each in statement.transactions] == [
        (0, ":5", first),
        (1, ":6", second),
    ]
    changes = only([statement])
    assert changes.transactions.tolist() == [0, 0, 0, 0]
    assert changes.events.tolist() == [1, 1, 2, 2]
    assert changes.rows.to_pydict() == {"c0": [1, 2, 1, 3]}
    assert last.reason is Reason.END
    assert only([last]).kinds.tolist() == [RowKind.DELETE]
    assert last.transactions[0].outcome is Outcome.COMMITTED
    assert last.transactions[0].begin.offset == second
    assert last.position.offset == log.offset


def test_offsets_beyond_four_gigabytes_are_known() -> None:
    """A header has the lower 32 bits only."""
    log = LogWriter()
    log.format()
    log.offset = (1 << 32) - 60
    start = log.offset
    log.query("BEGIN")
    log.table_map([INT])
    log.rows(INSERT, 1, [[four(1)]])
    log.xid()
    log.written[0] = log.written[0][:13] + bytes(4) + log.written[0][17:]  # A description has no position here.
    decoder = LogDecoder(CapturedTables({("shop", "t"): [INT.declared]}), LogPosition("binlog.000001", start))
    decoder._handlers[15] = lambda *_: None
    decoder._tail = 4
    (batch,) = decoder.batches(log.events())
    assert batch.position.offset == log.offset > 1 << 32
    assert batch.transactions[0].begin.offset == start


def test_rows_of_many_transactions_are_one_batch_in_the_order_of_the_log() -> None:
    log = LogWriter()
    log.format()
    for number in range(50):
        log.gtid(number + 1)
        log.query("BEGIN")
        log.table_map([INT])
        log.rows((INSERT, UPDATE, DELETE)[number % 3], 1, [[four(number)]] * (1 + (number % 3 == 1)))
        log.xid()
    changes = only(decode(log, [INT]))
    assert np.all(np.diff(changes.transactions) >= 0)
    assert changes.rows.num_rows == 67
    assert changes.rows.column(0).to_pylist() == changes.transactions.tolist()


def test_rows_have_the_offset_of_their_event() -> None:
    log, starts = LogWriter(), []
    log.format()
    log.gtid(1)
    log.query("BEGIN")
    log.table_map([INT])
    for number in range(3):
        starts += [log.offset] * 2
        log.rows(UPDATE, 1, [[four(number)], [four(number + 1)]])
    log.xid()
    found = only(batches := decode(log, [INT]))
    assert found.offsets.tolist() == starts
    assert [each.server_id for batch in batches for each in batch.transactions] == [7]


@pytest.mark.parametrize(
    ("kind", "body"), [(2, b""), (2, b"\0BEGIN"), (19, b"")], ids=["query", "short query", "table map"]
)
def test_an_event_without_a_whole_body_is_an_error(kind: int, body: bytes) -> None:
    """Such an event must not count as a repetition of the last one."""
    log = LogWriter()
    log.format()
    log.event(kind, body)
    with pytest.raises(MalformedLogError, match=rf"event ends early: expected \d+ bytes at byte 0, found {len(body)}"):
        decode(log, [INT])


def test_a_table_map_that_is_repeated_after_another_one_with_its_id_is_used() -> None:
    log = LogWriter()
    log.format()
    log.query("BEGIN")
    for name in ("t", "t", "other", "t"):
        log.table_map([INT], name=name)
        log.rows(INSERT, 1, [[four(1)]])
    log.xid()
    assert only(decode(log, [INT])).events.tolist() == [1, 2, 3]


def test_rows_inside_of_a_transaction_without_its_begin_are_an_error() -> None:
    log = LogWriter()
    log.format()
    log.table_map([INT])
    log.rows(INSERT, 1, [[four(1)]])
    with pytest.raises(
        MalformedLogError, match=(r"binlog\.000001.*write rows.*the start position is inside a transaction")
    ):
        decode(log, [INT])
    log = LogWriter()
    log.format()
    log.query("BEGIN")
    log.rows(INSERT, 1, [[four(1)]])
    with pytest.raises(MalformedLogError, match="no table map event precedes this event"):
        decode(log, [INT])


def test_the_same_bytes_give_the_same_arrow_types_as_jdbc() -> None:
    types = {"bigint unsigned": pa.decimal128(20, 0), "mediumint unsigned": pa.int32(), "tinyint unsigned": pa.int16()}
    for kind, arrow in types.items():
        size = {"bigint": 8, "mediumint": 3, "tinyint": 1}[kind.split()[0]]
        code = {8: 8, 3: 9, 1: 1}[size]
        written_column = WrittenColumn(column(Kind(kind, code, st.none(), bytes), 0).declared, code)
        log = LogWriter()
        log.format()
        log.query("BEGIN")
        log.table_map([written_column])
        log.rows(INSERT, 1, [[b"\xff" * size]])
        log.xid()
        assert only(decode(log, [written_column])).rows.schema.field(0).type == arrow
