"""What the agents take for threads: functions that wait in virtual time, one at a time, in an order of the seed."""

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import greenlet

from tests.server.simulation.clock import VirtualLoop


class Thread(greenlet.greenlet):
    """A function under way, which waits by switching to the loop."""

    context: contextvars.Context


def loop_of_run() -> VirtualLoop:
    """Return the loop of the run."""
    assert VirtualLoop.running is not None
    return VirtualLoop.running


def start(function: Callable[[], object]) -> None:
    """Start a thread that belongs to the process which calls this."""
    loop, context = loop_of_run(), contextvars.copy_context()

    def work() -> None:
        try:
            function()
        finally:
            loop.threads.pop(thread, None)

    thread = Thread(work, parent=loop.hub)
    thread.context = context
    thread.gr_context = context.copy()
    loop.threads[thread] = None
    loop.call_soon(thread.switch, context=context)


def current() -> Thread | None:
    """Return the thread that runs now; ``None`` outside of all."""
    thread = greenlet.getcurrent()
    return thread if isinstance(thread, Thread) else None


def wait() -> Any:
    """Wait until ``resume`` is called for this thread, and return what that gives."""
    loop = loop_of_run()
    if loop.over:
        raise greenlet.GreenletExit
    return loop.hub.switch()


def resume(thread: Thread, value: object = None, delay: float = 0.0) -> None:
    """Let a thread go on, when its process runs."""
    loop_of_run().call_later(delay, thread.switch, value, context=thread.context)


def sleep(seconds: float) -> None:
    """Wait so long."""
    thread = current()
    if thread is not None:
        resume(thread, delay=seconds)
        wait()


class Pool:
    """A pool of threads."""

    def __init__(self, workers: int = 1, prefix: str = "") -> None:
        self._free = workers
        self._waiting: deque[tuple[Callable[..., Any], tuple[Any, ...], asyncio.Future[Any]]] = deque()
        self._closed = False

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "asyncio.Future[Any]":
        """Have a function carried out when a thread is free."""
        if self._closed:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future: asyncio.Future[Any] = loop_of_run().create_future()
        self._waiting.append((function, arguments, future))
        self._next()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take nothing more."""
        self._closed = True
        if cancel_futures:
            for _, _, future in self._waiting:
                future.cancel()
            self._waiting.clear()

    def _next(self) -> None:
        while self._free and self._waiting:
            self._free -= 1
            start(partial(self._work, *self._waiting.popleft()))

    def _work(self, function: Callable[..., Any], arguments: tuple[Any, ...], future: "asyncio.Future[Any]") -> None:
        try:
            if not future.cancelled():
                result = function(*arguments)
                if not future.done():
                    future.set_result(result)
        except (greenlet.GreenletExit, AssertionError):  # the end of the run, or a rule that is broken
            future.cancel()
            raise
        except BaseException as error:
            if not future.done():
                future.set_exception(error)
        finally:
            self._free += 1
            if not loop_of_run().over:
                self._next()


class Lock:
    """A lock that threads of one process wait for."""

    def __init__(self) -> None:
        self._held = False
        self._waiting: deque[Thread] = deque()

    def acquire(self) -> bool:
        """Wait until nobody holds it."""
        if self._held:
            thread = current()
            assert thread is not None, "the loop waits for a lock"
            self._waiting.append(thread)
            wait()
        self._held = True
        return True

    def release(self) -> None:
        """Let the next one have it."""
        if self._waiting:
            resume(self._waiting.popleft())
        else:
            self._held = False

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class Started:
    """What stands for ``threading.Thread``."""

    def __init__(self, *, target: Callable[..., object], args: tuple[Any, ...] = (), name: str = "") -> None:
        self._target = partial(target, *args)
        self._joining: list[Thread] = []
        self._done = False

    def start(self) -> None:
        """Begin."""
        start(self._work)

    def _work(self) -> None:
        try:
            self._target()
        finally:
            self._done = True
            if not loop_of_run().over:
                for thread in self._joining:
                    resume(thread)

    def join(self) -> None:
        """Wait for the end."""
        thread = current()
        if not self._done and thread is not None:
            self._joining.append(thread)
            wait()
