"""An event loop under a virtual clock: the real agents run in it, and nothing waits for real time.

Each event belongs to the life of a process, by its context. What belongs to a dead one is dropped, what belongs to a
paused one waits until it is continued, as after SIGKILL and SIGSTOP.
"""

import asyncio
import contextvars
import heapq
import itertools
from collections.abc import Callable
from typing import Any

import greenlet
from attrs import define, field


@define(eq=False)
class Life:
    """One life of an agent's process."""

    address: str
    rate: float
    """How fast its monotonic clock runs."""

    began_at: float
    alive: bool = True
    paused: bool = False
    inbox: list[asyncio.Handle] = field(factory=list)
    """What happened while it was paused, or after its death."""

    def clock(self, now: float) -> float:
        """Return its monotonic clock."""
        return 1_000.0 + now * self.rate


OWNER: contextvars.ContextVar[Life | None] = contextvars.ContextVar("owner", default=None)


class Task(asyncio.Task[Any]):
    """A task whose place in a set is the same in each run."""

    _numbers = itertools.count()

    def __init__(self, *arguments: Any, **more: Any) -> None:
        self._number = next(Task._numbers)
        super().__init__(*arguments, **more)

    def __hash__(self) -> int:
        return self._number


class VirtualLoop(asyncio.AbstractEventLoop):
    """Carries out events in the order of their virtual times."""

    def __init__(self) -> None:
        self.now = 0.0
        self.events = 0
        self.over = False
        """Whether the run has ended: then everything still open is cancelled, whoever owns it."""

        self.hub = greenlet.getcurrent()
        self.threads: dict[Any, None] = {}
        self.tasks: dict[Task, None] = {}
        self.lives: list[Life] = []
        self.connect: Callable[..., Any] | None = None
        self._queue: list[tuple[float, int, asyncio.Handle]] = []
        self._numbers = itertools.count()

    # -- what asyncio asks ------------------------------------------------------------------------------------------

    def time(self) -> float:
        return self.now

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def call_soon(self, callback: Any, *args: Any, context: Any = None) -> asyncio.Handle:  # type: ignore[override]
        return self.call_at(self.now, callback, *args, context=context)

    def call_later(self, delay: float, callback: Any, *args: Any, context: Any = None) -> asyncio.TimerHandle:  # type: ignore[override]
        return self.call_at(self.now + delay, callback, *args, context=context)

    def call_at(self, when: float, callback: Any, *args: Any, context: Any = None) -> asyncio.TimerHandle:  # type: ignore[override]
        handle = asyncio.TimerHandle(max(when, self.now), callback, args, self, context)
        heapq.heappush(self._queue, (handle.when(), next(self._numbers), handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        pass

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, name: Any = None, context: Any = None, **more: Any) -> Task:
        task = Task(coro, loop=self, name=name, context=context)
        self.tasks[task] = None
        task.add_done_callback(lambda done: self.tasks.pop(done, None))
        return task

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> "asyncio.Future[Any]":  # type: ignore[override]
        future: asyncio.Future[Any] = executor.submit(func, *args)
        return future

    async def create_connection(self, protocol_factory: Any, host: Any = None, port: Any = None, **_: Any) -> Any:
        assert self.connect is not None
        return await self.connect(protocol_factory, f"{host}:{port}")

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, AssertionError) and not self.over:
            raise error

    # -- the run ----------------------------------------------------------------------------------------------------

    def run_until(self, end: float, after_each: Callable[[], None]) -> None:
        """Carry out all events until a moment."""
        while self._queue and self._queue[0][0] <= end:
            self.now, _, handle = heapq.heappop(self._queue)
            if self._carry_out(handle):
                self.events += 1
                after_each()
        self.now = max(self.now, end)

    def _carry_out(self, handle: asyncio.Handle) -> bool:
        if handle.cancelled():
            return False
        owner = handle._context.get(OWNER)  # type: ignore[attr-defined]
        if owner is not None and not self.over and (owner.paused or not owner.alive):
            owner.inbox.append(handle)
            return False
        handle._run()
        return True

    def go_on(self, life: Life) -> None:
        """Let happen what waited for a process."""
        waiting, life.inbox = life.inbox, []
        for handle in waiting:
            heapq.heappush(self._queue, (self.now, next(self._numbers), handle))

    def finish(self) -> None:
        """Cancel whatever is open, so that nothing of this run is left."""
        self.over = True
        for thread in tuple(self.threads):
            thread.throw(greenlet.GreenletExit)
        for life in self.lives:
            self.go_on(life)
        for _ in range(10):  # what is cancelled may wait for something once more
            while self._queue and self._queue[0][0] <= self.now:
                self._carry_out(heapq.heappop(self._queue)[2])
            if not self.tasks:
                break
            for task in tuple(self.tasks):
                task.cancel()
        self._queue.clear()
