"""The threads that wait for disks and servers, and how they tell the loop what came of it."""

import asyncio
import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from seatunnel_core.runtime.thread_pool import Inbox, ThreadPool

SOON_S = 60


@pytest.fixture
def pool() -> Iterator[ThreadPool]:
    pool = ThreadPool(2, "tested")
    yield pool
    pool.close()


def test_so_many_works_run_at_once_and_no_more(pool: ThreadPool) -> None:
    meet, third = threading.Barrier(3), threading.Event()
    for _ in range(2):
        pool.submit(meet.wait, SOON_S)
    pool.submit(third.set)
    assert not third.wait(0.2)
    meet.wait(SOON_S)
    assert third.wait(SOON_S)


def test_one_thread_does_works_in_their_order() -> None:
    pool, last = ThreadPool(1, "tested"), threading.Event()
    done: list[Any] = []
    for number in range(1000):
        pool.submit(done.append, number)
    pool.submit(last.set)
    assert last.wait(SOON_S)
    assert done == list(range(1000))
    pool.close()


def test_works_that_come_one_after_the_other_take_one_thread(pool: ThreadPool) -> None:
    """A job that waits for its source asks for little, and a host has hundreds of such jobs."""
    threads = set()
    for _ in range(20):
        done = threading.Event()

        def work(done: threading.Event = done) -> None:
            threads.add(threading.current_thread())
            done.set()

        pool.submit(work)
        assert done.wait(SOON_S)
        while pool._undone:  # the thread is still behind its work
            time.sleep(0.001)
    assert len(threads) == 1


class PanicError(BaseException):
    """As extensions in Rust raise it."""


@pytest.mark.parametrize("error", [OSError("the disk is full"), PanicError("index out of bounds")])
def test_work_that_fails_is_reported_and_takes_no_thread_with_it(
    pool: ThreadPool, caplog: pytest.LogCaptureFixture, error: BaseException
) -> None:
    def fail() -> None:
        raise error

    caplog.set_level(logging.DEBUG, "seatunnel.job")
    for _ in range(5):
        pool.submit(fail)
    done = threading.Event()
    pool.submit(done.set)
    assert done.wait(SOON_S)
    assert str(error) in caplog.text


def test_to_close_waits_for_what_runs_and_drops_what_waits() -> None:
    pool = ThreadPool(1, "tested")
    began, may_end, dropped = threading.Event(), threading.Event(), threading.Event()

    def run() -> None:
        began.set()
        may_end.wait(SOON_S)

    pool.submit(run)
    pool.submit(dropped.set)
    assert began.wait(SOON_S)
    closing = threading.Thread(target=pool.close)
    closing.start()
    closing.join(0.2)
    assert closing.is_alive()
    may_end.set()
    closing.join(SOON_S)
    assert not closing.is_alive()
    assert not dropped.is_set()
    with pytest.raises(RuntimeError, match="the pool is closed"):
        pool.submit(dropped.set)


def test_a_system_that_gives_no_more_threads_leaves_those_that_there_are(
    pool: ThreadPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, done = threading.Event(), threading.Event()
    pool.submit(started.set)
    assert started.wait(SOON_S)
    with monkeypatch.context() as patches:
        patches.setattr(threading.Thread, "start", no_more_threads)
        pool.submit(done.set)
    assert done.wait(SOON_S)


def test_a_system_that_gives_no_thread_at_all_is_reported_and_the_pool_can_be_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pool, late = ThreadPool(2, "tested"), threading.Event()
    with monkeypatch.context() as patches:
        patches.setattr(threading.Thread, "start", no_more_threads)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            pool.submit(late.set)
    pool.close()
    assert not late.is_set()


def test_to_close_never_waits_for_work_that_a_thread_has_just_taken() -> None:
    """Again and again: a thread takes the last work while ``close`` drops what waits."""
    for _ in range(300):
        pool = ThreadPool(4, "tested")
        for _ in range(20):
            pool.submit(int)
        closing = threading.Thread(target=pool.close, daemon=True)
        closing.start()
        closing.join(SOON_S)
        assert not closing.is_alive()


def no_more_threads(_thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


class CountedLoop:
    """A loop that somebody else turns, and that counts how often it is woken."""

    def __init__(self) -> None:
        self.woken: list[object] = []
        self.failures: list[object] = []

    def call_soon_threadsafe(self, call: object) -> None:
        self.woken.append(call)

    def call_exception_handler(self, context: dict[str, object]) -> None:
        self.failures.append(context["exception"])

    def turn(self) -> None:
        woken, self.woken = self.woken, []
        for call in woken:
            assert callable(call)
            call()


def test_many_calls_wake_the_loop_once() -> None:
    loop, made = CountedLoop(), []
    inbox = Inbox(loop)  # type: ignore[arg-type]
    for number in range(3):
        inbox.put(lambda number=number: made.append(number))  # type: ignore[misc]
    assert len(loop.woken) == 1
    loop.turn()
    assert made == [0, 1, 2]
    inbox.put(lambda: made.append(3))
    loop.turn()
    assert made == [0, 1, 2, 3]


def test_what_comes_while_the_inbox_is_emptied_wakes_the_loop_again() -> None:
    loop, made = CountedLoop(), []
    inbox = Inbox(loop)  # type: ignore[arg-type]
    inbox.put(lambda: inbox.put(lambda: made.append("later")))
    loop.turn()
    assert made == []
    loop.turn()
    assert made == ["later"]


def test_a_call_that_fails_is_the_loops_and_takes_no_other_with_it() -> None:
    loop, made = CountedLoop(), []
    inbox, failure = Inbox(loop), ValueError("nobody expected it")  # type: ignore[arg-type]

    def fail() -> None:
        raise failure

    inbox.put(fail)
    inbox.put(lambda: made.append("next"))
    loop.turn()
    assert made == ["next"]
    assert loop.failures == [failure]


def test_no_call_is_lost_between_threads() -> None:
    """Whoever puts a call at the very moment in which the inbox is emptied."""

    async def gather() -> int:
        loop = asyncio.get_running_loop()
        inbox, all_made = Inbox(loop), asyncio.Event()
        made: list[Any] = []

        def made_one() -> None:
            made.append(None)
            if len(made) == 4 * 5000:
                all_made.set()

        def put() -> None:
            for _ in range(5000):
                inbox.put(made_one)

        threads = [threading.Thread(target=put) for _ in range(4)]
        for thread in threads:
            thread.start()
        await asyncio.wait_for(all_made.wait(), SOON_S)
        for thread in threads:
            thread.join()
        return len(made)

    assert asyncio.run(gather()) == 20_000
