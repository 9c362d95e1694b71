"""Threads that wait for disks and servers, so that the loop waits for nothing; and how they tell it what came of it."""

import asyncio
import logging
import queue
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

logger = logging.getLogger("seatunnel.job")

Work = tuple[Callable[..., object], tuple[Any, ...]]


class Pool(Protocol):
    """Whoever does work in other threads."""

    def submit(self, work: Callable[..., object], /, *arguments: Any) -> object:
        """Have it done. Nobody asks what it returns or raises: it tells its outcome itself."""


class ThreadPool:
    """Up to so many threads, which take work in its order.

    Those of ``concurrent.futures`` make a future for each work, with a lock and a condition, and lock twice more to
    hand it over: half a millisecond for each of a thousand tables.
    """

    def __init__(self, most: int, name: str) -> None:
        """``most`` threads, started one with each of the first works. ``name`` begins theirs."""
        self._most = most
        self._name = name
        self._works: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._starting = threading.Lock()
        self._closed = False

    def submit(self, work: Callable[..., object], /, *arguments: Any) -> None:
        """Have the work done.

        Raises:
            RuntimeError: the pool is closed.
        """
        if self._closed:
            raise RuntimeError(f"{self._name}: no work is taken any more")
        self._works.put((work, arguments))
        if len(self._threads) < self._most:
            self._start_thread()

    def close(self) -> None:
        """Drop the work that waits, and wait for that under way."""
        self._closed = True
        with self._starting:
            while not self._works.empty():
                self._works.get()
            for _ in self._threads:
                self._works.put(None)
        for thread in self._threads:
            thread.join()

    def _start_thread(self) -> None:
        with self._starting:
            if len(self._threads) < self._most and not self._closed:
                name = f"{self._name}-{len(self._threads)}"
                thread = threading.Thread(target=self._serve, name=name, daemon=True)
                self._threads.append(thread)
                thread.start()

    def _serve(self) -> None:
        while (taken := self._works.get()) is not None:
            work, arguments = taken
            try:
                work(*arguments)
            except Exception:  # the loop may be closed by now; nobody waits for this thread's word
                logger.debug("work in %s ended with an error", self._name, exc_info=True)
            del taken, work, arguments  # what they hold is not kept until the next work comes


class Inbox:
    """What other threads want to have done on the loop, in its order.

    Many calls that come at once wake the loop once: to wake it costs a system call, and the thread that calls its turn.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._calls: deque[Callable[[], object]] = deque()
        self._is_awake = False

    def put(self, call: Callable[[], object]) -> None:
        """Have the call made on the loop, soon."""
        self._calls.append(call)
        if not self._is_awake:
            self._is_awake = True
            self._loop.call_soon_threadsafe(self._empty)

    def _empty(self) -> None:
        self._is_awake = False  # before looking: who puts a call now wakes the loop again
        for _ in range(len(self._calls)):
            call = self._calls.popleft()
            try:
                call()
            except Exception as error:  # it must not take the others with it
                self._loop.call_exception_handler({"message": str(error), "exception": error})
