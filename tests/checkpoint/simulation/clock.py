"""Virtual time: a queue of things to do, at a millisecond each."""

import heapq
import random
from collections.abc import Callable
from typing import Any

Action = Callable[[], Any]


class VirtualClock:
    """Runs actions in the order of their times; those of the same millisecond in a random, reproducible order."""

    def __init__(self, rng: random.Random) -> None:
        self.now_ms = 0
        self.steps = 0
        self._rng = rng
        self._queue: list[tuple[int, float, int, Action]] = []

    def after(self, delay_ms: int, action: Action) -> None:
        self._count = getattr(self, "_count", 0) + 1
        heapq.heappush(self._queue, (self.now_ms + delay_ms, self._rng.random(), self._count, action))

    def step(self) -> bool:
        """Run the next action; ``False`` when there is none."""
        if not self._queue:
            return False
        at_ms, _, _, action = heapq.heappop(self._queue)
        self.now_ms = at_ms
        self.steps += 1
        action()
        return True
