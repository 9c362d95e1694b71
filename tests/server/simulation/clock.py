"""An event loop under a virtual clock: the real agents run in it, and nothing waits for real time.

Each event belongs to the life of a process, by its context. What belongs to a dead one is dropped, what belongs to a
paused one waits until it is continued, as after SIGKILL and SIGSTOP.
"""

import asyncio
import contextvars
import itertools
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from heapq import heappop, heappush
from typing import Any, ClassVar

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
    inbox: "list[Event]" = field(factory=list)
    """What happened while it was paused, or after its death."""

    def clock(self, now: float) -> float:
        """Return its monotonic clock."""
        return 1_000.0 + now * self.rate


OWNER: contextvars.ContextVar[Life | None] = contextvars.ContextVar("owner", default=None)


class Event:
    """What is to happen, as asyncio's handles."""

    __slots__ = ("_when", "arguments", "callback", "context", "is_cancelled", "owner")

    def __init__(self, when: float, callback: Any, arguments: tuple[Any, ...], context: contextvars.Context) -> None:
        self._when = when
        self.callback = callback
        self.arguments = arguments
        self.context = context
        self.owner = context.get(OWNER)
        self.is_cancelled = False

    def cancel(self) -> None:
        """Let it not happen."""
        self.is_cancelled = True

    def cancelled(self) -> bool:
        """Return whether it will not happen."""
        return self.is_cancelled

    def when(self) -> float:
        """Return the virtual time of it."""
        return self._when


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

    running: "ClassVar[VirtualLoop | None]" = None
    """The loop of the run; asyncio asks the operating system for the process each time that it is asked for it."""

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
        self._queue: list[tuple[float, int, Event]] = []
        self._soon: deque[tuple[int, Event]] = deque()
        """What is to happen at this moment, behind what the queue has for it with lower numbers."""

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

    def call_soon(self, callback: Any, *args: Any, context: Any = None) -> Any:  # type: ignore[override]
        event = Event(self.now, callback, args, copy_context() if context is None else context)
        self._soon.append((next(self._numbers), event))
        return event

    def call_later(self, delay: float, callback: Any, *args: Any, context: Any = None) -> Any:  # type: ignore[override]
        return self.call_at(self.now + delay, callback, *args, context=context)

    def call_at(self, when: float, callback: Any, *args: Any, context: Any = None) -> Any:  # type: ignore[override]
        event = Event(max(when, self.now), callback, args, copy_context() if context is None else context)
        heappush(self._queue, (event._when, next(self._numbers), event))
        return event

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, name: Any = None, context: Any = None, **more: Any) -> Task:
        task = Task(coro, loop=self, name=name, context=context)
        self.tasks[task] = None
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: Any) -> None:
        self.tasks.pop(task, None)

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
        while (event := self._next(end)) is not None:
            if self._carry_out(event):
                self.events += 1
                after_each()
        self.now = max(self.now, end)

    def _next(self, end: float) -> Event | None:
        """Return what happens next, and let the time come to it; ``None`` when nothing does until the end."""
        queue, soon = self._queue, self._soon
        if soon and not (queue and queue[0][0] <= self.now and queue[0][1] < soon[0][0]):
            return soon.popleft()[1]
        if not queue or queue[0][0] > end:
            return None
        self.now, _, event = heappop(queue)
        return event

    def _carry_out(self, event: Event) -> bool:
        if event.is_cancelled:
            return False
        owner = event.owner
        if owner is not None and not self.over and (owner.paused or not owner.alive):
            owner.inbox.append(event)
            return False
        try:
            event.context.run(event.callback, *event.arguments)
        except Exception as error:
            self.call_exception_handler({"exception": error})
        return True

    def go_on(self, life: Life) -> None:
        """Let happen what waited for a process."""
        waiting, life.inbox = life.inbox, []
        for event in waiting:
            heappush(self._queue, (self.now, next(self._numbers), event))

    def finish(self) -> None:
        """Cancel whatever is open, so that nothing of this run is left."""
        self.over = True
        for thread in tuple(self.threads):
            thread.throw(greenlet.GreenletExit)
        for life in self.lives:
            self.go_on(life)
        for _ in range(10):  # what is cancelled may wait for something once more
            while (event := self._next(self.now)) is not None:
                self._carry_out(event)
            if not self.tasks:
                break
            for task in tuple(self.tasks):
                task.cancel()
        self._queue.clear()
