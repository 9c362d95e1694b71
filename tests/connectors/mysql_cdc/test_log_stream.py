"""Streams that begin at an offset or a time, without a server."""

import pytest

from seatunnel_core.connectors.mysql_cdc.log_stream import events_from
from seatunnel_core.connectors.mysql_cdc.times import MARGIN_MS, first_file
from seatunnel_core.connectors.mysql_log.captured_tables import CapturedTables
from seatunnel_core.connectors.mysql_log.errors import LogError
from seatunnel_core.connectors.mysql_log.log_decoder import LogDecoder
from seatunnel_core.connectors.mysql_log.position import LogPosition
from tests.connectors.mysql_log.encoder import LogWriter
from tests.connectors.mysql_log.small_log import INT, insert, started

TABLES = CapturedTables({("shop", "t"): [INT.declared]})


def next_file(log: LogWriter, name: str, offset: int = 4) -> None:
    """Write the event that a server sends at the start of a stream, and between files; it is in no file."""
    timestamp, log.timestamp = log.timestamp, 0
    before = log.offset
    log.event(4, offset.to_bytes(8, "little") + name.encode(), log_pos=0)
    log.timestamp, log.offset = timestamp, before


def test_a_file_beyond_4_gib_is_read_from_its_beginning() -> None:
    """A request has 32 bits for the offset, and such a file was refused."""
    log = LogWriter()
    next_file(log, "bin.000001")
    log.format()
    log.event(164, bytes(17))  # of a file that MariaDB encrypts: its small offset is not one behind the start
    begins = []
    for number in range(1, 5):
        begins.append(LogPosition("bin.000001", log.offset))
        log.gtid(number)
        log.query("BEGIN")
        insert(log)
        log.event(16, bytes(8))
    for begin in begins:
        decoder = LogDecoder(TABLES, begin)
        found = [each for batch in decoder.batches(events_from(log.events(), begin)) for each in batch.transactions]
        assert [each.begin for each in found] == begins[begins.index(begin) :]
    with pytest.raises(LogError, match=rf"no event begins at bin\.000001:{begins[1].offset + 1}; the nearest"):
        list(events_from(log.events(), LogPosition("bin.000001", begins[1].offset + 1)))


@pytest.mark.parametrize("is_written", [True, False], ids=["with an event", "after a crash"])
def test_a_file_that_ends_at_the_start_is_followed_by_the_next_one(is_written: bool) -> None:
    log = started()
    log.gtid(1)
    end = LogPosition("bin.000001", log.offset)
    if is_written:
        log.event(4, (4).to_bytes(8, "little") + b"bin.000002")
    next_file(log, "bin.000002")
    log.offset = 4
    log.format()
    begin = log.offset
    log.gtid(2)
    log.event(16, bytes(8))
    found = [each for batch in LogDecoder(TABLES, end).batches(events_from(log.events(), end)) for each in
             batch.transactions]  # fmt: skip
    assert [each.begin for each in found] == [LogPosition("bin.000002", begin)]


@pytest.mark.parametrize(
    ("since_ms", "file"),
    [(0, "a"), (10_000, "a"), (10_999, "a"), (11_000, "a"), (20_999, "a"), (21_000, "b"), (30_999, "b"), (31_000, "c"),
     (99_000, "c")],
)  # fmt: skip
def test_the_first_file_of_a_time_is_the_last_one_begun_a_day_before_its_second(since_ms: int, file: str) -> None:
    begun = {"a": 10, "b": 20, "c": 30}
    assert first_file("abc", since_ms + MARGIN_MS, begun.__getitem__) == file
    assert first_file("abc", since_ms, begun.__getitem__) == "a", "a statement of an hour switched to the next file"


def test_few_files_are_opened_to_find_a_time() -> None:
    opened = []

    def begun_s(file: str) -> int:
        opened.append(file)
        return int(file)

    assert first_file([str(number) for number in range(1_000)], 700_500 + MARGIN_MS, begun_s) == "699"
    assert len(opened) <= 10
