"""The pool of connections, with connections that are none."""

import threading
from contextvars import Context
from typing import Any

import pytest

from seatunnel_core.connectors.jdbc import pool as pools
from seatunnel_core.connectors.jdbc.pool import BULK, CONTROL, Lent, Pool
from seatunnel_core.errors import ConnectorError


class Connection:
    closed = False

    def rollback(self) -> None: ...

    def close(self) -> None:
        self.closed = True


def pool_of(size: int) -> Pool:
    return Pool(size, lambda _kind: Connection(), lambda _connection: True)


def as_unit(context: Context, work: Any, *arguments: Any) -> Any:
    return context.run(work, *arguments)


def test_who_waits_has_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "WAIT_S", 0.05)
    pool, one, other = pool_of(1), Context(), Context()
    first = as_unit(one, pool.take, CONTROL)
    with pytest.raises(ConnectorError, match="all 1 connections of this process"):
        as_unit(other, pool.take, CONTROL)
    as_unit(one, pool.give_back, first)
    assert as_unit(other, pool.take, CONTROL).connection is first.connection


def test_a_unit_that_reads_and_writes_never_waits_for_others_that_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """All connections were held by readers, whose writers waited for one of them: 30 pairs of tables hung."""
    monkeypatch.setattr(pools, "WAIT_S", 60.0)
    here, there, done = pool_of(2), pool_of(1), list[int]()
    begun = threading.Barrier(2, timeout=60)

    def unit(number: int, reads: Pool, writes: Pool) -> None:
        with reads.lend():
            if number < 2:
                begun.wait()
            written: Lent = writes.take(BULK)
        writes.give_back(written)
        done.append(number)

    pairs = [(here, there), (there, here), *[(here, here), (here, there)] * 10]
    threads = [threading.Thread(target=Context().run, args=(unit, number, *pair)) for number, pair in enumerate(pairs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(done) == list(range(len(pairs)))


def test_what_is_kept_until_the_end_takes_a_place_but_not_the_last() -> None:
    pool = pool_of(2)
    states = [pool.keep(CONTROL) for _ in range(3)]
    lent = Context().run(pool.take, BULK)
    assert pool._count == pool._places == 1
    for each in states:
        pool.let_go(each)
    pool.give_back(lent)
    assert pool._places == 2


def test_a_writer_that_another_thread_finishes_counts_for_its_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task finishes a unit in a thread of its own, while it reads the next."""
    monkeypatch.setattr(pools, "WAIT_S", 0.05)
    pool, unit = pool_of(1), Context()
    first = as_unit(unit, pool.take, BULK)
    second: list[Lent] = []
    thread = threading.Thread(target=unit.run, args=(lambda: second.append(pool.take(BULK)),))
    thread.start()
    thread.join()
    assert len(second) == 1
    for lent in (first, *second):
        as_unit(unit, pool.give_back, lent)
    assert [each.connection.closed for each in (first, *second)] == [True, False], "no more are kept than the size"
    assert Context().run(pool.take, BULK).connection is second[0].connection
