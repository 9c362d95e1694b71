"""What the runtime's modules find as ``threading``, ``asyncio`` and ``concurrent.futures``."""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

from tests.checkpoint.simulation.jobs.stage import Actor, Stage, Waiters


class Lock:
    """A lock of threads that take turns."""

    def __init__(self, stage: Stage) -> None:
        self._held = False
        self._waiting = Waiters(stage)

    def __enter__(self) -> "Lock":
        while self._held:
            self._waiting.wait()
        self._held = True
        return self

    def __exit__(self, *_exception: object) -> None:
        self._held = False
        self._waiting.wake(1)


class Condition(Lock):
    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self._changed = Waiters(stage)

    def wait(self, timeout: float | None = None) -> bool:
        self.__exit__()
        notified = self._changed.wait(None if timeout is None else int(timeout * 1_000))
        self.__enter__()
        return notified

    def notify(self, count: int = 1) -> None:
        self._changed.wake(count)

    def notify_all(self) -> None:
        self._changed.wake()


class Event:
    def __init__(self, stage: Stage) -> None:
        self._set = False
        self._waiting = Waiters(stage)

    def set(self) -> None:
        self._set = True
        self._waiting.wake()

    def is_set(self) -> bool:
        return self._set

    def wait(self, timeout: float | None = None) -> bool:
        if not self._set:
            self._waiting.wait(None if timeout is None else int(timeout * 1_000))
        return self._set


class Future:
    """One that a thread waits for."""

    def __init__(self, stage: Stage) -> None:
        self._done = Event(stage)
        self._value: Any = None
        self._error: BaseException | None = None

    def set_result(self, value: Any) -> None:
        assert not self._done.is_set(), "a future was answered twice"
        self._value = value
        self._done.set()

    def set_exception(self, error: BaseException) -> None:
        assert not self._done.is_set(), "a future was answered twice"
        self._error = error
        self._done.set()

    def done(self) -> bool:
        return self._done.is_set()

    def result(self, timeout: float | None = None) -> Any:
        if not self._done.wait(timeout):
            raise TimeoutError
        if self._error is not None:
            raise self._error
        return self._value


class Thread:
    def __init__(self, stage: Stage, *, target: Callable[[], object], name: str = "", daemon: bool = False) -> None:
        self._stage = stage
        self._target = target
        self._actor: Actor | None = None

    def start(self) -> None:
        process = self._stage.process
        assert process is not None
        self._actor = self._stage.start(process, self._target)

    @property
    def ident(self) -> int | None:
        return None if self._actor is None else id(self._actor)

    def is_alive(self) -> bool:
        return self._actor is not None and not self._actor.ended

    def join(self, timeout: float | None = None) -> None:
        while self._actor is not None and not self._actor.ended:
            assert self._stage.actor is not None
            self._actor.on_end.append(self._stage.actor)
            self._stage.park()


class Timer:
    """Calls from a thread of its own, unless it is cancelled before."""

    def __init__(self, stage: Stage, interval: float, function: Callable[[], object]) -> None:
        self.daemon = False
        self._stage = stage
        self._interval_ms = int(interval * 1_000)
        self._function = function
        self._cancelled = False

    def start(self) -> None:
        process = self._stage.process
        assert process is not None
        self._stage.clock.after(self._interval_ms, lambda: self._fire(process))

    def cancel(self) -> None:
        self._cancelled = True

    def _fire(self, process: Any) -> None:
        if not self._cancelled and not process.dead:
            self._stage.start(process, lambda: None if self._cancelled else self._function())


class Pool:
    """Does what is submitted, in order, so many at a time."""

    def __init__(self, stage: Stage, workers: int) -> None:
        self._stage = stage
        self._workers = workers
        self._queue: deque[Callable[[], object]] = deque()
        self._running = 0
        self._shut = False
        self._idle = Waiters(stage)

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Any:
        if self._shut:
            raise RuntimeError("the pool is closed")
        self._queue.append(lambda: function(*arguments, **options))
        process = self._stage.process
        if self._running < self._workers and process is not None and not process.dead:
            self._running += 1
            self._stage.start(process, self._serve)

    def _serve(self) -> None:
        try:
            while self._queue:
                self._stage.attempt(self._queue.popleft())
        finally:
            self._running -= 1
            self._idle.wake()

    def close(self) -> None:
        self._shut = True
        self._queue.clear()
        while self._running:
            self._idle.wait()


class Inline(Executor):
    """A pool that only reads, at once."""

    def __init__(self, *_sizes: object) -> None: ...

    def __exit__(self, *_exception: object) -> None: ...

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Any:
        raise NotImplementedError

    def map(self, function: Callable[..., Any], *iterables: Any, **_options: Any) -> Any:  # type: ignore[override]
        return [function(*arguments) for arguments in zip(*iterables, strict=True)]


class TimerHandle:
    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Loop:
    """An event loop: callbacks in order, timers in virtual time, all in steps of its process."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._ready: deque[Callable[[], object]] = deque()
        self._turns = False
        self._running = False
        self._closed = False
        self._stopped = Event(stage)
        self._handler: Callable[[Any, dict[str, Any]], object] = lambda _loop, _context: None
        self._process = stage.process

    # -- what asyncio's own futures ask of a loop

    def get_debug(self) -> bool:
        return False

    def call_soon(self, function: Callable[..., object], *arguments: Any, context: Any = None) -> None:
        self.call_soon_threadsafe(function, *arguments)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Futures of a play that is over tell their errors when they are collected, during another one."""
        from tests.checkpoint.simulation.invariants.invariant import ViolationError

        if self._closed or self._process is None or self._process.dead:
            return
        if isinstance(context.get("exception"), ViolationError):
            raise context["exception"]
        self._handler(self, context)

    # -- what the runtime asks of it

    def create_future(self) -> Any:
        return asyncio.Future(loop=self)  # type: ignore[arg-type]

    def set_exception_handler(self, handler: Callable[[Any, dict[str, Any]], object]) -> None:
        self._handler = handler

    def call_soon_threadsafe(self, function: Callable[..., object], *arguments: Any) -> None:
        if self._closed:
            raise RuntimeError("Event loop is closed")
        self._ready.append(lambda: function(*arguments))
        self._take_turns()

    def call_later(self, delay_s: float, function: Callable[..., object], *arguments: Any) -> TimerHandle:
        handle = TimerHandle()

        def fire() -> None:
            if not handle.cancelled and not self._closed:
                self._ready.append(lambda: None if handle.cancelled else function(*arguments))
                self._take_turns()

        self._stage.clock.after(max(0, round(delay_s * 1_000)), fire)
        return handle

    def run_forever(self) -> None:
        self._process = self._stage.process
        self._running = True
        self._take_turns()
        self._stopped.wait()
        self._running = False

    def stop(self) -> None:
        self._stopped.set()

    def close(self) -> None:
        self._closed = True

    def _take_turns(self) -> None:
        if self._running and self._ready and not self._turns:
            self._turns = True
            self._stage.clock.after(self._stage.rng.randint(0, 2), self._turn)

    def _turn(self) -> None:
        process = self._process
        assert process is not None
        wait_ms = process.paused_until_ms - self._stage.clock.now_ms
        if process.dead or self._closed:
            return
        if wait_ms > 0:
            self._stage.clock.after(wait_ms, self._turn)
            return
        with self._stage.inside(process):
            self._call(self._ready.popleft())
            while self._ready and self._stage.rng.random() < 0.7:
                self._call(self._ready.popleft())
        self._turns = False
        self._take_turns()

    def _call(self, callback: Callable[[], object]) -> None:
        from tests.checkpoint.simulation.invariants.invariant import ViolationError

        try:
            callback()
        except ViolationError:
            raise
        except Exception as error:
            self.call_exception_handler({"message": str(error), "exception": error})
