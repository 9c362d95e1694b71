"""Threads for blocking calls, which must not block the loop, and calls from these threads to the loop."""

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
    """Pool that runs work in threads."""

    def submit(self, work: Callable[..., object], /, *arguments: Any) -> object:
        """Run the work in a thread. Its result or exception is dropped; the work reports its result itself."""


class ThreadPool:
    """Limited number of threads that run work in order.

    Pools of ``concurrent.futures`` need several locks for each call, which take half a millisecond for each of a
    thousand tables.
    """

    def __init__(self, most: int, name: str) -> None:
        """Create a pool of up to ``most`` threads. A thread is started when all others are busy."""
        self._most = most
        self._name = name
        self._works: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._undone = 0
        """Number of queued and running calls."""

        self._closed = False
        self._changing = threading.Lock()
        """Lock that guards the attributes above, so that no work is queued after ``close``."""

    def submit(self, work: Callable[..., object], /, *arguments: Any) -> None:
        """Queue the work; raise ``RuntimeError`` if the pool is closed or no thread can be started."""
        with self._changing:
            if self._closed:
                raise RuntimeError(f"{self._name}: the pool is closed")
            if len(self._threads) < min(self._most, self._undone + 1):
                self._start_thread()
            self._undone += 1
            self._works.put((work, arguments))

    def close(self) -> None:
        """Drop queued work, and wait for running work."""
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
        """Start another thread. If the operating system refuses, the existing threads run the work."""
        name = f"{self._name}-{len(self._threads)}"
        thread = threading.Thread(target=self._serve, name=name, daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            if not self._threads:
                raise
            logger.debug("%s continues with %d threads: %s", self._name, len(self._threads), error)
        else:
            self._threads.append(thread)

    def _serve(self) -> None:
        while (taken := self._works.get()) is not None:
            work, arguments = taken
            try:
                work(*arguments)
            except Exception:  # the loop may be closed by now; nothing waits for this outcome
                logger.debug("work in %s ended with an error", self._name, exc_info=True)
            except BaseException:  # for example, the panic of an extension: it must not end the thread
                logger.exception("work in %s ended with an unexpected error", self._name)
            del taken, work, arguments  # do not keep their objects alive until the next call
            with self._changing:
                self._undone -= 1


class Inbox:
    """Queue of calls from other threads to the loop, which runs them in order.

    Several concurrent calls wake the loop only once, because waking it costs a system call.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._calls: deque[Callable[[], object]] = deque()
        self._is_awake = False

    def put(self, call: Callable[[], object]) -> None:
        """Schedule the call on the loop."""
        self._calls.append(call)
        self._wake()

    def _wake(self) -> None:
        if not self._is_awake:
            self._is_awake = True
            self._loop.call_soon_threadsafe(self._empty)

    def _empty(self) -> None:
        self._is_awake = False  # before checking: a call that is put now wakes the loop again
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
        except Exception as error:  # it must not prevent the other calls
            self._loop.call_exception_handler({"message": str(error), "exception": error})
