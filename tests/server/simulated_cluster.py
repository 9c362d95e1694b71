"""Agents, a storage and a network as actors under a virtual clock, for the election's deterministic simulation.

The storage has the semantics of ``LoggedStore``: a change takes effect at one moment, and is confirmed at a later one
by a look at the claims. Everything takes a random time; agents are paused, killed and started again; the storage is
slow or fails. Each agent's clock runs at its own rate, a little wrong.
"""

import heapq
import itertools
import random
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from attrs import define, evolve, field, frozen

from seatunnel_core.server.election import Claim, Command, Election, Look, Role, Seen, SendBeat, StepDown, Timing

TICK_S = 0.05

Result = TypeVar("Result")


class ViolationError(AssertionError):
    """An invariant does not hold."""


@define
class Storage:
    """The fenced state: claims, the newest beat, and the changes that were acknowledged."""

    claimed: int = 0
    beat: Seen = field(factory=Seen)
    stored: list[tuple[int, int]] = field(factory=list)
    """Changes as (term, value), in the order in which they took effect."""

    snapshots: dict[int, int] = field(factory=dict)
    """By term: how many changes its leader read when it claimed."""

    healthy: bool = True
    slow: float = 1.0

    def seen(self) -> Seen:
        """Return what a look shows now."""
        beat = self.beat
        return evolve(beat, claimed=self.claimed)

    def store_beat(self, beat: Seen) -> None:
        """Store a beat, which is the newest only if no beat of a later term is there."""
        if (beat.term, beat.number) > (self.beat.term, self.beat.number) or self.beat.term == 0:
            self.beat = beat


@define(eq=False)
class Agent:
    """One node: its election, and what is under way for it."""

    address: str
    rate: float
    election: Election
    life: int = 0
    alive: bool = True
    paused: bool = False
    inbox: list[Callable[[], None]] = field(factory=list)
    """What arrived while it was paused."""


@frozen(kw_only=True)
class Faults:
    """How often what goes wrong, per second of virtual time."""

    kill: float = 0.02
    pause: float = 0.02
    storage: float = 0.01
    slow: float = 0.02


class Cluster:
    """The world of one simulated run."""

    def __init__(
        self,
        seed: int,
        *,
        nodes: int = 3,
        timing: Timing | None = None,
        faults: Faults | None = None,
        election: Callable[[str, Timing], Election] = Election,
    ) -> None:
        self.random = random.Random(seed)
        self.timing = timing or Timing()
        self.faults = faults or Faults()
        self.now = 0.0
        self.storage = Storage()
        self._election = election
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._values = itertools.count(1)
        self.acknowledged: list[tuple[int, int]] = []
        self.terms_that_acted: set[int] = set()
        self.changes = 0
        self.last_acting = 0.0
        self.quiet_since = 0.0
        """Since when nothing was broken."""

        addresses = [f"node{number}" for number in range(nodes)]
        self.agents = [
            Agent(address, 1 + self.random.uniform(-0.01, 0.01), election(address, self.timing))
            for address in addresses
        ]
        for agent in self.agents:
            self._at(self.random.uniform(0, 0.3), partial(self._tick_now, agent))

    # -- time -------------------------------------------------------------------------------------------------------

    def _at(self, delay: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._queue, (self.now + delay, next(self._numbers), action))

    def clock(self, agent: Agent) -> float:
        """Return the agent's monotonic clock, which started at some moment and runs a little wrong."""
        return 1_000.0 + self.now * agent.rate

    def run(self, seconds: float) -> None:
        """Play so long, breaking things at random."""
        end = self.now + seconds
        self._at(1.0, lambda: self._break_something(end))
        while self._queue and self._queue[0][0] <= end:
            self.now, _, action = heapq.heappop(self._queue)
            action()
            self._check()
        self.now = end

    def heal(self) -> None:
        """Mend the storage, continue what is paused, start what is dead."""
        self.storage.healthy, self.storage.slow = True, 1.0
        for agent in self.agents:
            self._continue(agent)
            if not agent.alive:
                self._start(agent)
        self.quiet_since = self.now

    # -- faults -----------------------------------------------------------------------------------------------------

    def _break_something(self, end: float) -> None:
        if self.now + 1.0 < end:
            self._at(1.0, lambda: self._break_something(end))
        draw = self.random.random
        for agent in self.agents:
            if agent.alive and draw() < self.faults.kill:
                self._kill(agent)
                self._at(self.random.uniform(0.1, 30), partial(self._start, agent))
            if agent.alive and not agent.paused and draw() < self.faults.pause:
                agent.paused = True
                self.quiet_since = self.now
                self._at(self.random.uniform(0.1, 40), partial(self._continue, agent))
        if draw() < self.faults.storage:
            self.storage.healthy = False
            self.quiet_since = self.now
            self._at(self.random.uniform(0.5, 20), self._mend)
        if draw() < self.faults.slow:
            self.storage.slow = self.random.choice([10.0, 100.0])
            self._at(self.random.uniform(1, 20), self._mend)

    def _mend(self) -> None:
        self.storage.healthy, self.storage.slow = True, 1.0
        self.quiet_since = self.now

    def _kill(self, agent: Agent) -> None:
        agent.alive, agent.paused = False, False
        agent.life += 1
        agent.inbox.clear()
        self.quiet_since = self.now

    def _start(self, agent: Agent) -> None:
        if not agent.alive:
            agent.alive, agent.election = True, self._election(agent.address, self.timing)
            self.quiet_since = self.now
            self._tick_now(agent)

    def _continue(self, agent: Agent) -> None:
        if agent.paused:
            agent.paused = False
            self.quiet_since = self.now
            waiting, agent.inbox = agent.inbox, []
            for action in waiting:
                action()

    # -- agents -----------------------------------------------------------------------------------------------------

    def _tick_now(self, agent: Agent) -> None:
        self._tick(agent, agent.life)

    def _tick(self, agent: Agent, life: int) -> None:
        if agent.life != life or not agent.alive:
            return
        if agent.paused:
            agent.inbox.append(lambda: self._tick(agent, life))
            return
        self._obey(agent, agent.election.tick(self.clock(agent)))
        self._knock(agent)
        self._act(agent)
        self._at(TICK_S, lambda: self._tick(agent, life))

    def _knock(self, agent: Agent) -> None:
        """A standby's connection to the leader: refused when the process is dead, silent when it is paused."""
        leader = agent.election.leader
        if agent.election.role is Role.STANDBY and leader and leader != agent.address:
            found = next(each for each in self.agents if each.address == leader)
            if not found.alive:
                agent.election.refused(self.clock(agent), leader)

    def _act(self, agent: Agent) -> None:
        """A leader stores a change now and then."""
        if not agent.election.may_act(self.clock(agent)) or self.random.random() > 0.2:
            return
        term, value = agent.election.term, next(self._values)
        self.terms_that_acted.add(term)

        def effect() -> bool:
            self.storage.stored.append((term, value))
            return True

        def confirmed(_: bool) -> None:
            if self.storage.claimed == term:
                self.acknowledged.append((term, value))
                self.changes += 1

        self._operate(agent, effect, confirmed, lambda: None, at_once=True)

    def _obey(self, agent: Agent, commands: Iterable[Command]) -> None:
        for command in commands:
            began = self.clock(agent)
            match command:
                case Look():
                    self._look(agent, began)
                case Claim():
                    self._claim(agent, began)
                case SendBeat():
                    self._beat(agent, command, began)
                case StepDown():
                    pass

    def _look(self, agent: Agent, began: float) -> None:
        def done(seen: Seen) -> None:
            agent.election.looked(began, self.clock(agent), seen)

        self._operate(agent, self.storage.seen, done, agent.election.look_failed)

    def _claim(self, agent: Agent, began: float) -> None:
        def effect() -> tuple[int, Seen]:
            self.storage.claimed += 1
            self.storage.snapshots[self.storage.claimed] = len(self.storage.stored)
            return self.storage.claimed, self.storage.seen()

        def done(result: tuple[int, Seen]) -> None:
            term, behind = result
            if self.storage.claimed != term:
                agent.election.claim_failed(self.clock(agent))
            else:
                agent.election.claimed(began, self.clock(agent), term, behind)

        self._operate(agent, effect, done, lambda: agent.election.claim_failed(self.clock(agent)))

    def _beat(self, agent: Agent, sent: SendBeat, began: float) -> None:
        term, members, number = agent.election.term, tuple(each.address for each in self.agents), sent.number
        beat = Seen(term=term, number=number, leader=agent.address, acting=sent.acting, members=members)

        def effect() -> bool:
            self.storage.store_beat(beat)
            return True

        def confirm(_: bool) -> None:
            if self.storage.claimed != term:
                agent.election.deposed(self.clock(agent), "a newer term was claimed")
            else:
                agent.election.beat_acknowledged(began, number)

        self._operate(agent, effect, confirm, lambda: agent.election.beat_failed(self.clock(agent)))

    def _operate(
        self,
        agent: Agent,
        effect: Callable[[], Result],
        reply: Callable[[Result], None],
        fail: Callable[[], None],
        *,
        at_once: bool = False,
    ) -> None:
        """An operation on the storage: its effect, later its confirmation, later the answer. A dead agent's operation
        may still take effect; nobody hears of it. The confirmation is judged when the answer is delivered, which is
        later than the store's own look: that only makes it stricter for claims, and is exact for what is asserted."""
        life = agent.life

        def arrive(action: Callable[[], None]) -> None:
            if agent.life != life:
                return
            if agent.paused:
                agent.inbox.append(lambda: arrive(action))
            else:
                action()

        def take_effect() -> None:
            if not self.storage.healthy and self.random.random() < 0.7:
                self._at(self._delay(), lambda: arrive(fail))
                return
            result = effect()
            self._at(self._delay(), lambda: confirm(result))

        def confirm(result: Result) -> None:
            term = self.storage.claimed

            def answer() -> None:
                now_claimed, self.storage.claimed = self.storage.claimed, term
                try:
                    reply(result)  # sees the claims as the confirmation saw them
                finally:
                    self.storage.claimed = now_claimed

            self._at(self._delay(), lambda: arrive(answer))

        self._at(self._delay(), take_effect)

    def _delay(self) -> float:
        return self.random.expovariate(1 / 0.004) * self.storage.slow

    # -- invariants -------------------------------------------------------------------------------------------------

    def acting(self) -> list[Agent]:
        """Return the agents that may act now."""
        return [
            agent
            for agent in self.agents
            if agent.alive and not agent.paused and agent.election.may_act(self.clock(agent))
        ]

    def _check(self) -> None:
        acting = self.acting()
        if len(acting) > 1:
            who = ", ".join(f"{agent.address} in term {agent.election.term}" for agent in acting)
            raise ViolationError(f"at {self.now:.3f} s {who} act at the same time")
        if acting:
            self.last_acting = self.now

    def check_acknowledged(self) -> None:
        """What was acknowledged in a term was there before the next term's leader read the state."""
        position = {change: place for place, change in enumerate(self.storage.stored)}
        for term, value in self.acknowledged:
            later = [count for other, count in self.storage.snapshots.items() if other > term]
            if later and position[term, value] >= min(later):
                raise ViolationError(f"the change {value} of term {term} was acknowledged, and a later leader lacks it")
