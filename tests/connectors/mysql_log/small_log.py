"""A log of a table with one column, and its decoding."""

from collections.abc import Sequence
from typing import Any

from seatunnel_core.connectors.mysql_log.captured_tables import CapturedTables
from seatunnel_core.connectors.mysql_log.change_batch import ChangeBatch
from seatunnel_core.connectors.mysql_log.declared import DeclaredColumn
from seatunnel_core.connectors.mysql_log.log_decoder import LogDecoder
from seatunnel_core.connectors.mysql_log.position import LogPosition
from tests.connectors.mysql_log.encoder import LogWriter, WrittenColumn

START = LogPosition("bin.000001", 4)
INT = WrittenColumn(DeclaredColumn(name="id", declared="int"), 3)
ONE = [b"\1\0\0\0"]


def decode(log: LogWriter, tables: Sequence[str] = ("t",), **options: Any) -> list[ChangeBatch]:
    captured = CapturedTables({("shop", each): [INT.declared] for each in tables})
    return list(LogDecoder(captured, START, **options).batches(log.events()))


def started() -> LogWriter:
    log = LogWriter()
    log.format()
    return log


def insert(log: LogWriter) -> None:
    log.table_map([INT])
    log.rows(30, 1, [ONE])


def rows(batches: list[ChangeBatch]) -> int:
    return sum(each.rows for each in batches)
