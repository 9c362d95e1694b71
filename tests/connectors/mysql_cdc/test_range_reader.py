"""Rows and reports of a range, without a server."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from attrs import evolve

from seatunnel_core.connector_api.errors import SourceChangedError, SourceError
from seatunnel_core.connectors.mysql_cdc.definitions import Definitions
from seatunnel_core.connectors.mysql_cdc.range_reader import RangeReader
from seatunnel_core.connectors.mysql_cdc.server import Server
from seatunnel_core.connectors.mysql_log.change_batch import ChangeBatch, Reason, Statement, Transaction
from seatunnel_core.connectors.mysql_log.position import LogPosition
from seatunnel_core.connectors.mysql_log.statements import StatementKind
from seatunnel_core.rows.kind import RowKind
from tests.connectors.mysql_cdc.changed import changes_of
from tests.connectors.mysql_cdc.driven import Reports
from tests.connectors.mysql_cdc.tables import DIALECT, table

TABLE = table("m")
WINDOW = [["shop.m", "number", None, None, "bin.000001:200"]]


def at(offset: int) -> LogPosition:
    return LogPosition("bin.000001", offset)


class Log:
    """A log whose transaction ``n`` begins at ``100 * n``, ends 90 behind that, and inserts the key ``n``."""

    def __init__(self, *numbers: int, statement: str = "") -> None:
        self.tables = Definitions([TABLE])
        transactions = [Transaction(n, "bin.000001", 100 * n, n, b"", "bin.000001", 100 * n + 90) for n in numbers]
        changes = changes_of([(RowKind.INSERT, n, n) for n in numbers])
        said = None
        if statement:
            said = Statement(
                kind=StatementKind.DEFINITION,
                database="shop",
                text=statement,
                databases=None,
                transaction=transactions[-1],
            )
        self.batch = ChangeBatch(
            reason=Reason.STOP,
            position=transactions[-1].end,
            transactions=tuple(transactions),
            changes=(changes,),
            statement=said,
        )

    def batches(self, start: LogPosition, end: LogPosition, **how: Any) -> Iterator[ChangeBatch]:
        assert (how["limit_bytes"] is None) == (end == at(300))
        yield self.batch


def report(read: int, *, ended: bool = False) -> Mapping[str, Any]:
    """Return the report about a range whose last transaction is the second one."""
    return {"read": str(at(read)), "stopped": "", "prepared": [], "ended": ended, "committed_ms": 2_000}


def read(log: Any, end: int, body: Mapping[str, Any] | None = None) -> tuple[list[int], list[Mapping[str, Any]]]:
    reader = RangeReader(
        server=Server(dialect=DIALECT),
        tables={"shop.m": TABLE},
        log=log,
        start=at(4),
        end=at(end),
        body={"prepared": [], **(body or {})},
    )
    context = Reports()
    rows = [row for batch in reader.batches(context) for row in batch.rows.column("id").to_pylist()]
    return rows, context.facts


def test_the_end_of_a_range_is_reported() -> None:
    assert read(Log(1, 2), 290) == ([1, 2], [report(290)])


def test_a_transaction_behind_the_end_belongs_to_the_next_range() -> None:
    """MariaDB logs events that are no transactions, so an end may lie before the begin of the next one."""
    assert read(Log(1, 2, 3), 299) == ([1, 2], [report(299)])


def test_a_transaction_across_the_end_is_read() -> None:
    assert read(Log(1, 2, 3), 250) == ([1, 2], [report(290)])


def test_transactions_before_the_requested_time_are_left_out() -> None:
    assert read(Log(1, 2, 3), 390, {"since_ms": 2_000})[0] == [2, 3]


def test_a_definition_stops_the_range_and_is_reported() -> None:
    rows, (fact,) = read(Log(1, 2, statement="TRUNCATE m"), 390)
    assert rows == [1, 2]
    assert fact["read"] == "bin.000001:290"
    assert "the statement at bin.000001:200 changes shop.m" in fact["stopped"]


def test_a_definition_behind_the_end_belongs_to_the_next_range() -> None:
    _, facts = read(Log(1, 2, statement="TRUNCATE m"), 199)
    assert facts == [{**report(199), "committed_ms": 1_000}]


def test_a_definition_between_windows_is_an_error() -> None:
    assert read(Log(1, 2), 300, {"window": WINDOW}) == ([2], [{"prepared": [], "committed_ms": 2_000}])
    with pytest.raises(SourceChangedError, match="TRUNCATE m"):
        read(Log(1, 2, statement="TRUNCATE m"), 300, {"window": WINDOW})


def test_a_definition_is_shown_without_its_strings() -> None:
    _, (fact,) = read(Log(1, 2, statement="ALTER TABLE m ADD e ENUM('secret')"), 390)
    assert "ALTER TABLE m ADD e ENUM('…')" in fact["stopped"]


def test_an_update_without_a_key_is_an_error_while_tables_are_read() -> None:
    """Its new row would be dropped with the first chunk, and its old row would be emitted as a deletion."""
    log = Log(2)
    update = changes_of([(RowKind.UPDATE_BEFORE, 2, 25), (RowKind.UPDATE_AFTER, 2, None)])
    partial = evolve(update, layouts=np.array([[True, True], [False, True]]), layout=np.array([0, 1], np.int32))
    log.batch = evolve(log.batch, changes=(partial,))
    window = [["shop.m", "number", None, "20", "bin.000001:300"], ["shop.m", "number", "20", None, "bin.000001:100"]]
    with pytest.raises(SourceError, match=r"value of the column 'id' .* binlog_row_image = 'FULL'"):
        read(log, 300, {"window": window})


def test_a_range_ends_before_the_first_transaction_of_the_end_of_the_job() -> None:
    """The transaction ``n`` was committed in the second ``n``."""
    last = report(300, ended=True)
    assert read(Log(1, 2, 3, 4), 900, {"until_ms": 2_001}) == ([1, 2], [last])
    assert read(Log(1, 2, 3, 4), 900, {"until_ms": 3_000}) == ([1, 2], [last])
    assert read(Log(1, 2), 290, {"until_ms": 3_000})[1][0]["ended"] is False
