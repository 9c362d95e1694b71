"""Reading of a part of the log, without a server."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from attrs import field, frozen

from seatunnel_core.connector_api.errors import SourceChangedError, SourceError
from seatunnel_core.connectors.mysql_cdc.definitions import Definitions
from seatunnel_core.connectors.mysql_cdc.log_reader import Distributed, LogReader
from seatunnel_core.connectors.mysql_log.change_batch import ChangeBatch, Outcome, Reason, Transaction
from seatunnel_core.connectors.mysql_log.errors import LogError, LogServerError
from seatunnel_core.connectors.mysql_log.events import XaId
from seatunnel_core.connectors.mysql_log.gtid import gtid_set_of
from seatunnel_core.connectors.mysql_log.position import LogPosition
from seatunnel_core.rows.kind import RowKind
from tests.connectors.mysql_cdc.changed import changes_of
from tests.connectors.mysql_cdc.server_stub import AnsweringServer
from tests.connectors.mysql_cdc.tables import table


def at(offset: int) -> LogPosition:
    return LogPosition("bin.000001", offset)


def transaction(number: int, outcome: Outcome, name: bytes = b"x") -> Transaction:
    xa = XaId(format=1, global_part=name, branch=b"")
    return Transaction(number, "bin.000001", 100 * number, 0, b"", "bin.000001", 100 * number + 90, outcome, xa)


def batch(*transactions: Transaction, end: int, rows: Sequence[int] = (), reason: Reason = Reason.END) -> ChangeBatch:
    changes = (changes_of([(RowKind.INSERT, number, number) for number in rows]),) if rows else ()
    return ChangeBatch(reason=reason, position=at(end), transactions=transactions, changes=changes)


@frozen(kw_only=True)
class ScriptedReader(LogReader):
    """Each stream has the batches that the test says."""

    streams: list[list[ChangeBatch]] = field(factory=list)
    starts: list[Any] = field(factory=list)

    def _stream(self, start: Any, end: LogPosition, limit_bytes: int | None) -> Iterator[ChangeBatch]:
        self.starts.append(start)
        yield from self.streams.pop(0)


def reader(*streams: list[ChangeBatch], files: Sequence[str] = ("bin.000001",)) -> ScriptedReader:
    server = AnsweringServer({"SHOW BINARY LOGS": [(name, 1) for name in files]})
    return ScriptedReader(server=server, tables=Definitions([table("m")]), streams=[*streams])


def test_a_stream_that_ends_early_continues_behind_its_last_transaction() -> None:
    one = batch(transaction(1, Outcome.COMMITTED), transaction(2, Outcome.OPEN), end=200, rows=[1])
    log = reader([one], [batch(transaction(2, Outcome.COMMITTED), end=290, rows=[2])])
    assert len(list(log.batches(at(100), at(290)))) == 2
    assert log.starts == [at(100), at(200)]


def test_rows_of_a_transaction_are_never_yielded_twice() -> None:
    """A stream whose query was killed may end inside of a transaction."""
    log = reader([batch(transaction(1, Outcome.OPEN), end=100, rows=[1])])
    found = log.batches(at(100), at(290))
    next(found)
    with pytest.raises(LogError, match=r"ended the log stream inside the transaction at bin\.000001:100") as raised:
        next(found)
    assert raised.value.retryable


def test_another_reader_checks_distributed_transactions_from_a_position_on() -> None:
    ended = batch(transaction(2, Outcome.XA_COMMITTED), end=290)
    Distributed(seen_from=at(200)).check(ended)
    for distributed in (Distributed(), Distributed(seen_from=at(201))):
        with pytest.raises(SourceError, match="is distributed"):
            distributed.check(ended)
    with pytest.raises(SourceError, match="is distributed"):
        Distributed(seen_from=at(0)).check(batch(transaction(1, Outcome.PREPARED), end=190, rows=[1]))


def test_only_a_removed_log_is_reported_as_removed() -> None:
    error = LogServerError("the server ended the log stream with error 1236: bogus data in log event", 1236)
    assert isinstance(reader(files=["bin.000002"])._refused(at(4), error), SourceChangedError)
    found = reader()._refused(at(4), error)
    assert not isinstance(found, SourceChangedError)
    assert "bogus data in log event" in str(found)
    gtids = gtid_set_of("")
    assert not isinstance(reader()._refused(gtids, error), SourceChangedError)
    purged = LogServerError("error 1236: the master has purged binary logs", 1236)
    assert isinstance(reader()._refused(gtids, purged), SourceChangedError)
