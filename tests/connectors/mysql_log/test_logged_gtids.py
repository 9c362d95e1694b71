"""Sets of the transactions that were read from a log."""

import pytest

from seatunnel_core.connectors.mysql_log import event_types as et
from seatunnel_core.connectors.mysql_log.change_batch import Outcome, Transaction
from seatunnel_core.connectors.mysql_log.errors import UnsupportedLogError
from seatunnel_core.connectors.mysql_log.events import HEADER
from seatunnel_core.connectors.mysql_log.gtid import (
    contains,
    gtid_set_of,
    maria_position_of,
    missing,
    transactions_of,
)
from seatunnel_core.connectors.mysql_log.logged_gtids import (
    LoggedGtids,
    LoggedTransaction,
    gtids_of_earlier_files,
    is_other_transaction,
)

A, B = ("3e11fa47-71ca-11e1-9e33-c80aa9429562", "4e11fa47-71ca-11e1-9e33-c80aa9429562")


def event(kind: int, body: bytes, server: int = 1) -> bytes:
    return HEADER.pack(0, kind, server, HEADER.size + len(body), 0, 0) + body


def of_mysql(source: str, number: int) -> bytes:
    kind = et.GTID if number else et.ANONYMOUS_GTID
    return event(kind, b"\0" + bytes.fromhex(source.replace("-", "")) + number.to_bytes(8, "little") + bytes(9))


def of_maria(domain: int, server: int, number: int) -> bytes:
    return event(et.MARIA_GTID, number.to_bytes(8, "little") + domain.to_bytes(4, "little") + bytes(7), server)


def transaction(gtid: bytes, outcome: Outcome = Outcome.COMMITTED) -> Transaction:
    found = Transaction(0, "bin.000001", 4, 0, gtid)
    found.outcome = outcome
    return found


def test_transactions_are_added_to_those_before_the_log() -> None:
    gtids = LoggedGtids()
    gtids.add([transaction(of_mysql(A, number)) for number in (4, 5, 9, 6)])
    gtids.add([])
    gtids.add([transaction(of_mysql(B, 1)), transaction(of_mysql(A, 11)), transaction(of_mysql(B, 2))])
    gtids.add([transaction(of_mysql(A, 15), Outcome.PREPARED), transaction(of_mysql(A, 10), Outcome.OPEN)])
    assert str(gtids.after(gtid_set_of(f"{A}:1-3"))) == f"{A}:1-6:9:11:15,{B}:1-2"
    assert gtids.is_complete


@pytest.mark.parametrize("gtid", [b"", of_mysql(A, 0)])
def test_a_transaction_without_a_gtid_is_noticed(gtid: bytes) -> None:
    gtids = LoggedGtids()
    gtids.add([transaction(of_mysql(A, 1)), transaction(gtid), transaction(of_mysql(A, 2))])
    assert not gtids.is_complete
    assert str(gtids.after(gtid_set_of(""))) == f"{A}:1-2"


def committed(number: int, micros: int, original: int | None = None) -> bytes:
    """A GTID event of MySQL 8.0, on the original server or on a replica."""
    times = micros.to_bytes(7, "little")
    if original is not None:
        times = (micros | 1 << 55).to_bytes(7, "little") + original.to_bytes(7, "little")
    return event(et.GTID, of_mysql(A, number)[HEADER.size :] + bytes(42 - 34) + times)


def test_other_transactions_with_a_gtid_are_noticed() -> None:
    read = str(LoggedTransaction.of(committed(5, 1_000_000)))
    assert not is_other_transaction(committed(5, 7_000_000, original=1_000_000), read), "a replica has logged it"
    assert is_other_transaction(committed(5, 7_000_000), read)
    assert is_other_transaction(committed(5, 7_000_000, original=1_000_001), read)
    assert not is_other_transaction(committed(6, 7_000_000), read), "another GTID"
    assert not is_other_transaction(of_mysql(A, 5), read), "the server is older than MySQL 8.0"
    assert not is_other_transaction(committed(5, 7), str(LoggedTransaction.of(of_mysql(A, 5))))
    assert LoggedTransaction.of(of_mysql(A, 0)) is LoggedTransaction.of(b"") is None


def test_the_last_transaction_is_kept() -> None:
    gtids = LoggedGtids()
    assert gtids.last_event == b""
    gtids.add([transaction(of_mysql(A, 9)), transaction(of_mysql(A, 8)), transaction(of_mysql(A, 10), Outcome.OPEN)])
    gtids.add([])
    assert gtids.last_event == of_mysql(A, 8)
    gtids.add_event(of_maria(0, 1, 8))
    assert str(LoggedTransaction.of(gtids.last_event)).startswith("0-1-8/")


def test_the_last_transaction_of_a_domain_replaces_earlier_ones() -> None:
    gtids = LoggedGtids()
    gtids.add([transaction(of_maria(0, 1, 8)), transaction(of_maria(2, 3, 1)), transaction(of_maria(0, 2, 9))])
    assert str(gtids.after(maria_position_of("0-1-7,1-1-5"))) == "0-2-9,1-1-5,2-3-1"


def test_the_transactions_of_earlier_files_are_parsed() -> None:
    source = bytes.fromhex(A.replace("-", ""))
    numbers = (1).to_bytes(8, "little"), (6).to_bytes(8, "little"), (8).to_bytes(8, "little"), (9).to_bytes(8, "little")
    body = (1).to_bytes(8, "little") + source + (2).to_bytes(8, "little") + b"".join(numbers) + b"crc!"
    assert str(gtids_of_earlier_files(event(et.PREVIOUS_GTIDS, body))) == f"{A}:1-5:8"
    with pytest.raises(UnsupportedLogError, match="tags"):
        gtids_of_earlier_files(event(et.PREVIOUS_GTIDS, bytes(7) + b"\1"))


def test_the_newest_transaction_of_a_domain_is_listed_last() -> None:
    listed = ((0, 1, 8), (0, 2, 7), (1, 1, 3))
    parts = [
        b"".join((d.to_bytes(4, "little"), s.to_bytes(4, "little"), n.to_bytes(8, "little"))) for d, s, n in listed
    ]
    body = (3 | 1 << 28).to_bytes(4, "little") + b"".join(parts) + b"crc!"
    assert str(gtids_of_earlier_files(event(et.MARIA_GTID_LIST, body))) == "0-2-7,1-1-3"


@pytest.mark.parametrize(
    ("wanted", "available", "left"),
    [
        (f"{A}:1-9", f"{A}:5-12,{B}:1", f"{A}:1-4"),
        (f"{A}:1-9", f"{A}:1-12", ""),
        ("0-1-9,1-1-3", "0-1-5,2-1-1", "0-1-9,1-1-3"),
        ("0-1-9", "0-2-9", ""),
    ],
)
def test_missing_transactions_are_found(wanted: str, available: str, left: str) -> None:
    one, other = (transactions_of(each, is_maria=":" not in each) for each in (wanted, available))
    assert missing(one, other) == left


def test_a_transaction_is_found_in_sets_of_its_kind_only() -> None:
    mysql, maria = (transaction(each).gtid for each in (of_mysql(A, 5), of_maria(0, 1, 5)))
    assert contains(gtid_set_of(f"{A}:5"), mysql)
    assert not contains(gtid_set_of(f"{A}:4"), mysql)
    assert contains(maria_position_of("0-1-5"), maria)
    assert not contains(maria_position_of("0-1-4"), maria)
    assert not contains(gtid_set_of(f"{A}:5"), maria)
    assert not contains(maria_position_of("0-1-5"), None)
