"""Metrics of each vertex in a work unit: rows in and out, and the time that the task spends there."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping

from seatunnel_core.work.vertex_work import VertexWork


class VertexMeter:
    """Stopwatch that measures one vertex at a time. One thread writes at a time; any thread may read."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._at = ("", 0.0)
        """Current vertex, and the time at which it was entered."""

        self._busy_s: defaultdict[str, float] = defaultdict(float)
        self._rows_in: Counter[str] = Counter()
        self._rows_out: Counter[str] = Counter()

    def enter(self, vertex: str) -> None:
        """Attribute the time from now on to a vertex, or to no vertex if the name is empty."""
        now = self._clock()
        at, since = self._at
        self._at = vertex, now
        if at:
            self._busy_s[at] += now - since

    def leave(self) -> None:
        """Stop attributing time to a vertex."""
        self.enter("")

    def took(self, vertex: str, rows: int) -> None:
        """Count rows that reach a vertex."""
        self._rows_in[vertex] += rows

    def gave(self, vertex: str, rows: int) -> None:
        """Count rows that leave a vertex."""
        self._rows_out[vertex] += rows

    def work(self, behind: Mapping[str, frozenset[str]]) -> dict[str, VertexWork]:
        """Return the work of each vertex so far; ``behind`` lists the downstream vertices of each vertex."""
        (at, since), now = self._at, self._clock()
        busy_ms = {name: 1000 * seconds for name, seconds in dict(self._busy_s).items()}
        if at:
            busy_ms[at] = busy_ms.get(at, 0.0) + 1000 * (now - since)
        return {
            name: VertexWork(
                self._rows_in[name],
                self._rows_out[name],
                own,
                sum(busy_ms.get(other, 0.0) for other in behind.get(name, ())),
            )
            for name, own in busy_ms.items()
        }
