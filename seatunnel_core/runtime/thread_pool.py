"""Threads that wait for disks and servers, so that the loop waits for nothing, and how they report back to it."""

import asyncio
import logging
import queue
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

logger = logging.getLogger("seatunnel.job")

Work = tuple[Callable[..., object], tuple[Any, ...]]


class Pool(Protocol):
    """What does work in other threads."""

    def submit(self, work: Callable[..., object], /, *arguments: Any) -> object:
        """Have the work done. What it returns or raises is dropped: it reports its outcome itself."""


class ThreadPool:
    """A limited number of threads, which take work in its order.

    Those of ``concurrent.futures`` make a future for each call, with a lock and a condition, and lock twice more to
    hand it over: half a millisecond for each of a thousand tables.
    """

    def __init__(self, most: int, name: str) -> None:
        """Prepare ``most`` threads; one starts when all others are busy. ``name`` begins their names."""
        self._most = most
        self._name = name
        self._works: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._undone = 0
        """Works that wait or are under way."""

        self._closed = False
        self._changing = threading.Lock()
        """Guards what is above: no work is queued behind the end that ``close`` sets."""

    def submit(self, work: Callable[..., object], /, *arguments: Any) -> None:
        """Have the work done.

        Raises:
            RuntimeError: The pool is closed, or the system gives it not a single thread; the work is not done.
        """
        with self._changing:
            if self._closed:
                raise RuntimeError(f"{self._name}: no work is taken any more")
            if len(self._threads) < min(self._most, self._undone + 1):
                self._start_thread()
            self._undone += 1
            self._works.put((work, arguments))

    def close(self) -> None:
        """Drop the work that waits, and wait for the work under way."""
        with self._changing:
            self._closed = True
            with suppress(queue.Empty):
                while True:
                    self._works.get_nowait()
            for _ in self._threads:
                self._works.put(None)
        for thread in self._threads:
            thread.join()

    def _start_thread(self) -> None:
        """Start one more thread; where the system gives no more, those that there are do the work."""
        name = f"{self._name}-{len(self._threads)}"
        thread = threading.Thread(target=self._serve, name=name, daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            if not self._threads:
                raise
            logger.debug("%s goes on with %d threads: %s", self._name, len(self._threads), error)
        else:
            self._threads.append(thread)

    def _serve(self) -> None:
        while (taken := self._works.get()) is not None:
            work, arguments = taken
            try:
                work(*arguments)
            except Exception:  # the loop may be closed by now; nothing waits for this outcome
                logger.debug("work in %s ended with an error", self._name, exc_info=True)
            except BaseException:  # the panic of an extension, say: it must not take the thread with it
                logger.exception("work in %s ended with an error that nobody expected", self._name)
            del taken, work, arguments  # what they hold is not kept until the next work comes
            with self._changing:
                self._undone -= 1


class Inbox:
    """The calls that other threads want to have made on the loop, in their order.

    Many calls that come at once wake the loop once: to wake it costs a system call, and the calling thread its turn.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._calls: deque[Callable[[], object]] = deque()
        self._is_awake = False

    def put(self, call: Callable[[], object]) -> None:
        """Have the call made on the loop, soon."""
        self._calls.append(call)
        self._wake()

    def _wake(self) -> None:
        if not self._is_awake:
            self._is_awake = True
            self._loop.call_soon_threadsafe(self._empty)

    def _empty(self) -> None:
        self._is_awake = False  # before looking: a call that is put now wakes the loop again
        left = len(self._calls)
        try:
            while left:
                left -= 1
                self._call(self._calls.popleft())
        finally:
            if left:
                self._wake()

    def _call(self, call: Callable[[], object]) -> None:
        try:
            call()
        except Exception as error:  # it must not take the others with it
            self._loop.call_exception_handler({"message": str(error), "exception": error})
