"""Marks of snapshots: which transactions of the log a snapshot contains."""

import threading
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_core.connectors.postgres_log.lsn import Lsn
from seatunnel_core.connectors.postgres_log.session import sql_parameters
from seatunnel_core.connectors.postgres_log.snapshot_mark import SnapshotMark, current_mark
from seatunnel_core.connectors.postgres_log.sql_connection import connect
from tests.connectors.postgres_log.log_shop import LogShop, changes


@pytest.mark.parametrize("epoch", [0, 1, 5])
def test_ids_of_the_log_have_32_bits(epoch: int) -> None:
    base = epoch << 32
    mark = SnapshotMark.parse(f"{base + 10}:{base + 20}:{base + 10},{base + 15}")
    contained = {9: True, 10: False, 11: True, 15: False, 19: True, 20: False, 21: False}
    assert {xid: mark.contains(xid) for xid in contained} == contained
    assert str(mark) == f"{base + 10}:{base + 20}:{base + 10},{base + 15}"


def test_ids_around_the_end_of_an_epoch() -> None:
    end = 1 << 32
    mark = SnapshotMark.parse(f"{end - 2}:{end + 5}:{end - 2},{end + 4}")
    assert [mark.contains(xid) for xid in (end - 3, end - 2, end - 1, 3, 4, 5)] == [
        True,
        False,
        True,
        True,
        False,
        False,
    ]


@given(st.integers(1, 2**40), st.integers(0, 2**20), st.data())
def test_many_ids_are_decided_like_each(xmin: int, length: int, data: st.DataObject) -> None:
    xmax = xmin + length
    ids = data.draw(st.sets(st.integers(xmin, xmax - 1), max_size=5)) if length else set()
    mark = SnapshotMark(xmin=xmin, xmax=xmax, in_progress=frozenset(ids))
    full = data.draw(
        st.lists(st.integers(max(3, xmax - 2**31 + 1), xmax + 2**31 - 1) | st.sampled_from([*ids, xmax]), max_size=9)
    )
    seen = [each < xmin or (each < xmax and each not in ids) for each in full]
    xids = [each & 0xFFFFFFFF for each in full]
    assert [mark.contains(xid) for xid in xids] == seen
    assert mark.contain(np.array(xids, np.uint32)).tolist() == seen
    assert SnapshotMark.parse(str(mark)) == mark


@pytest.mark.parametrize(
    "written", ["", "10:20", "10:20:", "20:10:", "0:1:", "10:20:9", "10:20:20", "a:b:", "10:20:11,"]
)
def test_texts_that_are_no_snapshots(written: str) -> None:
    if written == "10:20:":
        assert SnapshotMark.parse(written).in_progress == frozenset()
        return
    with pytest.raises(ValueError, match="is not a snapshot"):
        SnapshotMark.parse(written)


def test_positions() -> None:
    assert str(Lsn.parse("16/b374d848")) == "16/B374D848"
    assert Lsn.parse("0/0") < Lsn.parse("0/FFFFFFFF") < Lsn.parse("1/0")
    for written in ("", "1", "1/", "123456789/0", "x/0", "1/0 "):
        with pytest.raises(ValueError, match="not a position in a log"):
            Lsn.parse(written)
    with pytest.raises(ValueError, match="64 bits"):
        Lsn(1 << 64)


WRITERS, PROBES, MOST_STORMS = 6, 150, 20


def write_until(stop: threading.Event, shop: LogShop, number: int) -> None:
    with closing(connect(sql_parameters(shop.address))) as connection:
        while not stop.is_set():
            connection.execute("INSERT INTO shop.storm (writer) VALUES (%s)", (number,))


def probe(shop: LogShop) -> list[tuple[Lsn, SnapshotMark, int, set[int]]]:
    """Take snapshots; return a position before each, its mark, and the ids that it contains from a least one on."""
    found = []
    with closing(connect(sql_parameters(shop.address))) as connection:
        for _ in range(PROBES):
            position = Lsn.parse(connection.execute("SELECT pg_current_wal_flush_lsn()::text").fetchone()[0])
            with connection.transaction():
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                mark = current_mark(connection)
                least = connection.execute("SELECT coalesce(max(id), 0) - 200 FROM shop.storm").fetchone()[0]
                ids = connection.execute("SELECT id FROM shop.storm WHERE id > %s", (least,)).fetchall()
            found.append((position, mark, least, {each for (each,) in ids}))
    return found


def storm(shop: LogShop) -> list[tuple[Lsn, SnapshotMark, int, set[int]]]:
    """Return the probes of a time in which others write."""
    stop = threading.Event()
    writers = [threading.Thread(target=write_until, args=(stop, shop, number)) for number in range(WRITERS)]
    for each in writers:
        each.start()
    try:
        return probe(shop)
    finally:
        stop.set()
        for each in writers:
            each.join()


def logged_rows(shop: LogShop, slot: str, start: Lsn) -> dict[int, tuple[int, Lsn]]:
    """Return transaction id and commit of each row in the log."""
    found: dict[int, tuple[int, Lsn]] = {}
    for batch in shop.read(slot, start, shop.end()):
        transactions = {each.number: each for each in batch.transactions}
        for change in changes([batch]):
            for row, number in zip(change.rows.column(0).to_pylist(), change.transactions, strict=True):
                found[row] = transactions[number].xid, transactions[number].commit_lsn
    return found


@pytest.mark.servers
def test_marks_are_exact_while_others_write_and_positions_are_not(shop: LogShop) -> None:
    """A transaction is in the log before it is visible, so a position of the log loses transactions."""
    shop.run("CREATE TABLE storm (id bigserial PRIMARY KEY, writer int)")
    slot, start = shop.slot()
    decided = lost_by_position = 0
    for _ in range(MOST_STORMS):
        probes = storm(shop)
        logged = logged_rows(shop, slot, start)
        for position, mark, least, ids in probes:
            near = {row: of for row, of in logged.items() if row > least}
            decided += len(near)
            assert {row for row, (xid, _) in near.items() if mark.contains(xid)} == ids
            lost_by_position += len({row for row, (_, commit) in near.items() if commit < position} - ids)
        if lost_by_position:
            break
    assert decided > 10_000
    assert lost_by_position, "positions of the log as marks lose transactions; otherwise this test proves nothing"
