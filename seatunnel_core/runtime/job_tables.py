"""Tables to which the pipelines of a job have published rows, so that none of them creates a lost one again (R8)."""

import threading
from collections.abc import Iterable

from attrs import define, field

from seatunnel_core.claiming.published_tables import Published
from seatunnel_core.planning.plan import PlannedSink


@define
class JobTables:
    """Tables with published rows, by target, for all pipelines of one process."""

    _tables: Published = field(factory=dict)
    _guard: threading.Lock = field(factory=lambda: threading.Lock(), init=False)

    def add(self, sink: PlannedSink, tables: Iterable[str]) -> None:
        """Record tables to which a sink has published rows."""
        target, named = sink.target, frozenset(tables)
        if target is None or not named:
            return
        with self._guard:
            self._tables = {**self._tables, target: self._tables.get(target, frozenset()) | named}

    def of(self, sink: PlannedSink) -> frozenset[str]:
        """Return the tables to which any sink of the job with the same target has published rows."""
        target = sink.target
        return frozenset() if target is None else self._tables.get(target, frozenset())
