"""Threads that take turns: at any moment one of them runs, and a seed decides which is next and when.

Code that blocks runs unchanged. Its threads are real ones; each runs alone until it does something that takes time or
waits for another one, and then hands its turn back. So any step of any process may come between any two others, a
process may die or sleep there, and the same seed gives the same run.
"""

import random
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.checkpoint.simulation.clock import VirtualClock

if TYPE_CHECKING:
    from tests.checkpoint.simulation.jobs.process import Process


class KilledError(BaseException):
    """The process of this thread is dead. No ``except Exception`` holds it up."""


class Hand:
    """A real thread that is lent to one actor after the other: starting one costs more than all it does here."""

    idle: "list[Hand]" = []  # noqa: RUF012

    def __init__(self) -> None:
        self.turn = threading.Lock()
        self.done = threading.Lock()
        self.turn.acquire()
        self.done.acquire()
        self.job: Callable[[], None] = lambda: None
        threading.Thread(target=self._serve, name="simulated", daemon=True).start()

    def _serve(self) -> None:
        while True:
            self.turn.acquire()
            self.job()
            Hand.idle.append(self)
            self.done.release()


class Actor:
    """One thread of a process: runs ``target`` when it has its turn."""

    def __init__(self, stage: "Stage", process: "Process", target: Callable[[], object]) -> None:
        self.process = process
        self.ended = False
        self.on_end: list[Actor] = []
        """Who waits for its end."""

        self.parked = False
        """Whether nothing but another actor will wake it."""

        self._stage = stage
        self._target = target
        self._outcome: tuple[Any, BaseException | None] = (None, None)
        self._hand = Hand.idle.pop() if Hand.idle else Hand()
        self._hand.job = self._run

    def _run(self) -> None:
        try:
            if not self.process.dead:
                self._target()
        except KilledError:
            pass
        except Exception as error:
            self.process.thread_failed(error)
        self.ended = True
        for waiting in self.on_end:
            self._stage.wake(waiting)

    def resume(self, value: Any = None, error: BaseException | None = None) -> None:
        """Give it its turn, until it hands it back."""
        if self.ended:
            return
        self._outcome = value, error
        self.parked = False
        before, self._stage.actor = self._stage.actor, self
        self._hand.turn.release()
        self._hand.done.acquire()
        self._stage.actor = before

    def hand_back(self) -> Any:
        """Wait for the next turn, and return or raise what it brings."""
        self._hand.done.release()
        self._hand.turn.acquire()
        value, error = self._outcome
        if error is not None:
            raise error
        return value


class Stage:
    """Whose turn it is, and what time."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.clock = VirtualClock(rng)
        self.actor: Actor | None = None
        """Who has the turn; ``None``: the world itself, or a loop."""

        self._process: Process | None = None

    @property
    def process(self) -> "Process | None":
        """In which process the present step happens."""
        return self.actor.process if self.actor is not None else self._process

    @contextmanager
    def inside(self, process: "Process") -> Iterator[None]:
        """What happens here, happens in ``process``: a turn of its loop."""
        before, self._process = self._process, process
        try:
            yield
        finally:
            self._process = before

    def start(self, process: "Process", target: Callable[[], object]) -> Actor:
        actor = Actor(self, process, target)
        process.actors.append(actor)
        self.wake(actor)
        return actor

    def wake(self, actor: Actor, value: Any = None) -> None:
        """Its turn comes, when the process is awake."""
        actor.parked = False
        self.clock.after(0, lambda: self._awake(actor, value))

    def _awake(self, actor: Actor, value: Any) -> None:
        process = actor.process
        wait_ms = process.paused_until_ms - self.clock.now_ms
        if process.dead:
            actor.resume(error=KilledError())
        elif wait_ms > 0:
            self.clock.after(wait_ms + self.rng.randint(0, 5), lambda: self._awake(actor, value))
        else:
            actor.resume(value)

    def park(self) -> Any:
        """Wait until somebody wakes the actor that has the turn."""
        actor = self._acting()
        actor.parked = True
        return actor.hand_back()

    def act(self, effect: Callable[[], Any], *, most_ms: int = 4, outside: bool = False) -> Any:
        """Do something to the world, which takes time. ``outside`` says that it is on its way already: it may happen
        although the process dies or sleeps meanwhile."""
        actor = self._acting()
        self.clock.after(self.rng.randint(0, most_ms), lambda: self._land(actor, effect, outside))
        return actor.hand_back()

    def sleep(self, wait_ms: int) -> None:
        """Let so much time go by."""
        actor = self._acting()
        self.clock.after(wait_ms, lambda: self._awake(actor, None))
        actor.hand_back()

    def attempt(self, function: Callable[[], object]) -> None:
        """What a pool does with what it is given: an error is kept where nobody looks."""
        process = self._acting().process
        try:
            function()
        except Exception as error:
            process.thread_failed(error)

    def _acting(self) -> Actor:
        if self.actor is None:
            raise AssertionError("a loop or the world itself would block here")
        if self.actor.process.dead:
            raise KilledError
        return self.actor

    def _land(self, actor: Actor, effect: Callable[[], Any], outside: bool) -> None:
        process = actor.process
        wait_ms = process.paused_until_ms - self.clock.now_ms
        if process.dead:
            if outside and self.rng.random() < 0.5:
                self._outcome_of(process, effect)
            actor.resume(error=KilledError())
        elif wait_ms <= 0:
            actor.resume(*self._outcome_of(process, effect))
        elif outside and self.rng.random() < 0.5:
            outcome = self._outcome_of(process, effect)
            self.clock.after(wait_ms, lambda: self._hear(actor, outcome))
        else:
            self.clock.after(wait_ms + self.rng.randint(0, 5), lambda: self._land(actor, effect, outside))

    def _hear(self, actor: Actor, outcome: tuple[Any, BaseException | None]) -> None:
        wait_ms = actor.process.paused_until_ms - self.clock.now_ms
        if actor.process.dead:
            actor.resume(error=KilledError())
        elif wait_ms > 0:
            self.clock.after(wait_ms, lambda: self._hear(actor, outcome))
        else:
            actor.resume(*outcome)

    def _outcome_of(self, process: "Process", effect: Callable[[], Any]) -> tuple[Any, BaseException | None]:
        from tests.checkpoint.simulation.invariants.invariant import ViolationError

        try:
            with self.inside(process):
                return effect(), None
        except ViolationError:
            raise
        except Exception as error:
            return None, error

    def bury(self, process: "Process") -> None:
        """Whoever waits for nothing but others of a dead process is over at once; the rest when its step comes."""
        for actor in process.actors:
            if actor.parked and not actor.ended:
                actor.resume(error=KilledError())


class Waiters:
    """Actors that wait for the same thing."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._waiting: deque[Actor] = deque()

    def wait(self, timeout_ms: int | None = None) -> bool:
        """Until ``wake``, or until the time is over: then it is ``False``."""
        actor = self._stage._acting()
        self._waiting.append(actor)
        if timeout_ms is not None:
            self._stage.clock.after(timeout_ms, lambda: self._give_up(actor))
        return self._stage.park() is not False

    def _give_up(self, actor: Actor) -> None:
        if actor in self._waiting:
            self._waiting.remove(actor)
            self._stage.wake(actor, False)

    def wake(self, most: int | None = None) -> None:
        count = len(self._waiting) if most is None else min(most, len(self._waiting))
        for _ in range(count):
            self._stage.wake(self._waiting.popleft())
