"""Events that are not rows, their refusal, and what they mean for transactions."""

import struct

import pytest

from seatunnel_core.connectors.mysql_log.captured_tables import CapturedTables
from seatunnel_core.connectors.mysql_log.change_batch import Outcome, Reason
from seatunnel_core.connectors.mysql_log.errors import (
    LogError,
    MalformedLogError,
    UnsupportedLogError,
)
from seatunnel_core.connectors.mysql_log.events import XaId, format_description_of
from seatunnel_core.connectors.mysql_log.log_decoder import LogDecoder
from seatunnel_core.connectors.mysql_log.position import LogPosition, position_of, unwrapped
from seatunnel_core.connectors.mysql_log.statements import xa_id_of
from tests.connectors.mysql_log.encoder import LogWriter, WrittenColumn
from tests.connectors.mysql_log.small_log import INT, START, decode, insert, rows, started

# -- refused events -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "name"),
    [(20, "write rows v0"), (1, "start v3"), (6, "load"), (99, "unknown"), (172, "unknown"), (43, "unknown")],
)
def test_events_that_might_change_rows_are_refused_by_name(kind: int, name: str) -> None:
    log = started()
    log.event(kind, b"abc")
    with pytest.raises(UnsupportedLogError, match=rf"bin\.000001, the event {name} \({kind}\).*may change rows"):
        decode(log)


def test_events_without_rows_are_ignored() -> None:
    log = started()
    log.query("BEGIN")
    for kind in (3, 5, 9, 13, 14, 17, 28, 29, 35, 36, 37, 160, 161, 163):
        log.event(kind, b"anything")
    log.event(99, b"an event of the future", flags=0x80)
    insert(log)
    log.xid()
    assert rows(decode(log)) == 1


def test_incidents_are_an_error() -> None:
    log = started()
    log.event(26, b"\1\0" + b"\x05gone!")
    with pytest.raises(LogError, match="events are missing in its log \\(incident 1: gone!\\); read the captured"):
        decode(log)


def test_a_wrong_checksum_is_an_error_with_the_position() -> None:
    log = started()
    log.query("BEGIN")
    insert(log)
    log.written[-1] = log.written[-1][:-1] + bytes([log.written[-1][-1] ^ 1])
    with pytest.raises(
        MalformedLogError, match=rf"write rows \(30\) that ends at {log.offset}: the checksum of the event is wrong"
    ):
        decode(log)


def test_a_header_with_another_size_is_an_error() -> None:
    log = started()
    log.written[0] = log.written[0] + b"x"
    with pytest.raises(MalformedLogError, match="the header of the event states"):
        decode(log)


# -- the log itself -----------------------------------------------------------------------------------------------


def test_descriptions_of_formats() -> None:
    log = LogWriter(checksums=False)
    assert not format_description_of(log.format()[19:]).checksums
    assert format_description_of(LogWriter().format()[19:]).checksums
    assert not format_description_of(LogWriter(server="5.5.62").format()[19:]).checksums
    assert format_description_of(LogWriter(server="10.11.6-MariaDB-log").format()[19:]).checksums
    body = bytearray(LogWriter().format()[19:])
    body[0] = 3
    with pytest.raises(UnsupportedLogError, match="format version 3"):
        format_description_of(bytes(body))
    body[0], body[-5] = 4, 2
    with pytest.raises(UnsupportedLogError, match="algorithm 2"):
        format_description_of(bytes(body))


def test_a_description_of_a_file_in_use_has_a_right_checksum() -> None:
    log = LogWriter()
    found = bytearray(log.format())
    found[17] |= 1
    log.written = [bytes(found)]
    assert decode(log)[-1].reason is Reason.END
    log.written = [bytes(found[:30]) + b"x" + bytes(found[31:])]
    with pytest.raises(MalformedLogError, match="the checksum of the event is wrong"):
        decode(log)


@pytest.mark.parametrize("checksums", [True, False])
def test_rotations_with_and_without_checksums(checksums: bool) -> None:
    log = LogWriter(checksums=checksums)
    log.event(4, (4).to_bytes(8, "little") + b"bin.000007", log_pos=0)
    log.offset = 4
    log.format()
    log.query("BEGIN")
    insert(log)
    log.xid()
    (batch,) = decode(log)
    assert batch.position == LogPosition("bin.000007", log.offset)
    log.event(4, (4).to_bytes(8, "little") + b"bin.000008")
    assert decode(log)[-1].position == LogPosition("bin.000008", 4)


def test_heartbeats_and_idle_streams_end_batches() -> None:
    log = started()
    log.query("BEGIN")
    insert(log)
    log.xid()
    end = log.offset
    log.event(27, b"bin.000001", log_pos=end)
    heartbeat, last = decode(log)
    assert (heartbeat.reason, heartbeat.rows, heartbeat.position.offset) == (Reason.IDLE, 1, end)
    assert (last.reason, last.rows, last.position.offset) == (Reason.END, 0, end)
    decoder = LogDecoder(CapturedTables({("shop", "t"): [INT.declared]}), START)
    events = [*list(log.events())[:-1], None, None]
    assert [(each.reason, each.rows) for each in decoder.batches(events)] == [
        (Reason.IDLE, 1),
        (Reason.IDLE, 0),
        (Reason.END, 0),
    ]


def test_positions() -> None:
    assert LogPosition("bin.999999", 9) < LogPosition("bin.1000000", 4)
    assert LogPosition("bin.000002", 9) > LogPosition("bin.000002", 8)
    assert position_of("a:b.000002:77") == LogPosition("a:b.000002", 77)
    with pytest.raises(LogError, match="different logs"):
        assert LogPosition("a.000001", 4) < LogPosition("b.000001", 4)
    for text in ("bin.000001", "bin:x", ":4"):
        with pytest.raises(LogError, match="not a position"):
            position_of(text)
    for expected in (5, (1 << 32) - 1, (1 << 32) + 5, 3 << 32):
        for difference in (-100, 0, 100, 3 << 30):
            if expected + difference >= 0:
                assert unwrapped(expected, (expected + difference) & 0xFFFFFFFF) == expected + difference


# -- transactions -------------------------------------------------------------------------------------------------


def test_the_stream_stops_behind_a_transaction() -> None:
    log = started()
    for _ in range(3):
        log.query("BEGIN")
        insert(log)
        log.xid()
    batches = decode(log, stop=lambda each: each.number == 1)
    assert [each.reason for each in batches] == [Reason.STOP]
    assert rows(batches) == 2


def test_batches_are_limited_by_rows_bytes_and_transactions() -> None:
    log = started()
    log.query("BEGIN")
    for _ in range(10):
        insert(log)
    log.xid()
    assert [each.rows for each in decode(log, batch_rows=4)] == [4, 4, 2]
    assert [each.rows for each in decode(log, batch_bytes=1)] == [*[1] * 10, 0]
    open_ = decode(log, batch_rows=4)
    assert [len(each.transactions) for each in open_] == [1, 1, 1]
    assert len({id(each.transactions[0]) for each in open_}) == 1
    assert [each.position.offset for each in open_] == [len(log.written[0]) + 4] * 2 + [log.offset]
    log = started()
    for _ in range(10):
        log.query("BEGIN")
        log.xid()
    assert [len(each.transactions) for each in decode(log, batch_rows=4)] == [4, 4, 2]


def test_a_rollback_of_logged_rows_is_refused() -> None:
    for text in ("ROLLBACK", "ROLLBACK TO `a`", "ROLLBACK WORK TO SAVEPOINT a"):
        log = started()
        log.query("BEGIN")
        log.query("SAVEPOINT `a`")
        insert(log)
        log.query(text)
        with pytest.raises(UnsupportedLogError, match="a storage engine that does not support transactions"):
            decode(log)
    log = started()
    log.query("BEGIN")
    log.query("SAVEPOINT `a`")
    log.query("ROLLBACK TO `a`")
    insert(log)
    log.query("COMMIT")
    log.query("BEGIN")
    log.query("ROLLBACK")
    assert rows(decode(log)) == 1


def test_a_transaction_without_its_end_is_an_error_if_it_has_rows() -> None:
    log = started()
    log.gtid(1)
    log.query("BEGIN")
    log.gtid(2)
    log.query("BEGIN")
    insert(log)
    log.gtid(3)
    with pytest.raises(MalformedLogError, match="begins before another one has ended"):
        decode(log)


def test_the_end_of_a_transaction_that_has_not_begun_is_an_error() -> None:
    """A stream that starts behind the last row of a transaction would lose its rows without notice."""
    for end in ("XID", "COMMIT", "PREPARE"):
        log = started()
        if end == "COMMIT":
            log.query("COMMIT")
        else:
            log.event(16 if end == "XID" else 38, b"\1" + struct.pack("<III", 1, 0, 0))
        with pytest.raises(
            MalformedLogError,
            match="transaction that the event ends was not read, because the start position is inside",
        ):
            decode(log)


def test_rows_of_other_tables_are_not_read() -> None:
    log = started()
    log.query("BEGIN")
    unknown = WrittenColumn(INT.declared, 99)
    log.table_map([unknown], table_id=8, name="other")
    log.event(30, (8).to_bytes(6, "little") + b"\1\0\2\0nonsense")
    log.event(30, b"\xff\xff\xff\0\0\0\1\0\2\0")
    insert(log)
    log.xid()
    assert rows(decode(log)) == 1
    with pytest.raises(UnsupportedLogError, match=r"shop\.other: column 1 has the type 99"):
        decode(log, ["other"])


def test_distributed_transactions() -> None:
    log = started()
    log.query("XA START X'61',X'62',1")
    insert(log)
    log.query("XA END X'61',X'62',1")
    log.event(38, b"\0" + struct.pack("<III", 1, 1, 1) + b"ab")
    log.query("XA COMMIT X'61',X'62',1")
    log.query("XA ROLLBACK X'61',X'',9")
    log.query("XA START X'63',X'',1")
    insert(log)
    log.event(38, b"\1" + struct.pack("<III", 1, 1, 0) + b"c")
    found = [each for batch in decode(log) for each in batch.transactions]
    first = XaId(format=1, global_part=b"a", branch=b"b")
    assert [(each.outcome, each.xa) for each in found[:2]] == [
        (Outcome.PREPARED, first),
        (Outcome.XA_COMMITTED, first),
    ]
    assert [each.outcome for each in found[2:]] == [Outcome.XA_ROLLED_BACK, Outcome.COMMITTED]
    with pytest.raises(UnsupportedLogError, match="cannot be parsed: XA COMMIT 'a'"):
        xa_id_of("XA COMMIT 'a'")
