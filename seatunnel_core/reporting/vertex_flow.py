"""Rows, rates and back pressure of the vertices of one pipeline, as reported by its tasks."""

import time
from collections import deque
from collections.abc import Callable, Mapping

from attrs import frozen

from seatunnel_core.stored_fields import Stored
from seatunnel_core.work.vertex_work import VertexWork


@frozen(kw_only=True)
class VertexLoad(Stored):
    """Rows of a vertex since this process started the pipeline, and its load in the last minute."""

    rows_in: int
    rows_out: int
    rows_in_per_second: float
    rows_out_per_second: float
    busy: float
    """Fraction of the time during which tasks worked in this vertex, from 0 to 1, averaged over parallel tasks."""

    back_pressure: float
    """Fraction of the time during which the vertex waited for downstream vertices, from 0 to 1. Otherwise it was busy
    or idle."""


class VertexFlow:
    """Totals of ended work units. One thread may write; any thread may read."""

    def __init__(self, samples: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sums: Mapping[str, VertexWork] = {}
        self._samples: deque[tuple[float, Mapping[str, VertexWork]]] = deque([(clock(), self._sums)], maxlen=samples)

    def worked(self, work: Mapping[str, VertexWork]) -> None:
        """Add the work of a unit."""
        if work:
            self._sums = {**self._sums, **{name: self._sums.get(name, VertexWork()) + work[name] for name in work}}

    def sample(self) -> None:
        """Record the totals; called every few seconds."""
        self._samples.append((self._clock(), self._sums))

    def loads(self) -> dict[str, VertexLoad]:
        """Return the load of each vertex for which tasks have reported work."""
        sums, (then, had) = self._sums, next(iter(tuple(self._samples)))
        seconds = max(self._clock() - then, 0.001)
        grown = {name: work - had.get(name, VertexWork()) for name, work in sums.items()}
        tasks_ms = max(sum(work.busy_ms for work in grown.values()), 1000 * seconds)

        def load(name: str) -> VertexLoad:
            work = grown[name]
            own_ms = max(work.busy_ms + work.behind_ms, 1000 * seconds)
            return VertexLoad(
                rows_in=sums[name].rows_in,
                rows_out=sums[name].rows_out,
                rows_in_per_second=round(work.rows_in / seconds, 1),
                rows_out_per_second=round(work.rows_out / seconds, 1),
                busy=round(max(0.0, work.busy_ms) / tasks_ms, 3),
                back_pressure=round(max(0.0, work.behind_ms) / own_ms, 3),
            )

        return {name: load(name) for name in sums}
