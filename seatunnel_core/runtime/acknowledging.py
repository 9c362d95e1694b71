"""Acknowledgement of published rows to the external systems that sources read (R11)."""

import logging
import threading
from collections.abc import Callable, Collection, Sequence

from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.planning.plan import PlannedPipeline
from seatunnel_core.work.split import Split

_log = logging.getLogger(__name__)


class Acknowledgements:
    """Acknowledgements of one pipeline. Falsy, and without state, if none of its sources acknowledges.

    Thread-safe. ``published`` reports one checkpoint at a time, because an older one that is reported last would make a
    resumed reader read published rows again.
    """

    def __init__(self, planned: PlannedPipeline, retained: Callable[[], Collection[int]] = tuple) -> None:
        """Create the acknowledgements; ``retained`` returns the IDs of the stored checkpoints that will expire."""
        self._pipeline_id = planned.id
        self._retained = retained
        self._sources = [source for source in planned.sources if source.source.acknowledges]
        self._keeps_retained = any(source.source.acknowledges_oldest for source in self._sources)
        self._splits: dict[str, Sequence[Split]] = {}
        """Enumerated splits by source."""

        self._first: dict[str, str] = {}
        """For each source of a joint query, the source that holds the state of the query."""

        self._lock = threading.Lock()
        """Lock that guards the attributes below."""

        self._states: dict[int, VertexStates] = {}
        """States of the checkpoints that may be reported, by ID."""

        self._published = 0
        """Newest checkpoint whose rows are all published."""

        self._reported = 0
        """Last checkpoint that was or is being reported."""

        self._reporting = False

    def __bool__(self) -> bool:
        return bool(self._sources)

    def enumerated(self, source_name: str, splits: Sequence[Split]) -> None:
        """Store the enumeration of an acknowledging source."""
        if any(source.name == source_name for source in self._sources):
            self._splits[source_name] = splits

    def read_together(self, first: str, sources: Collection[str]) -> None:
        """Record that the splits of these sources form one work unit of the first source."""
        self._first |= dict.fromkeys(sources, first)

    def stored(self, checkpoint_id: int, content: VertexStates) -> None:
        """Keep the state of a stored checkpoint until its rows have been published."""
        if self:
            with self._lock:
                self._states[checkpoint_id] = content

    def published(self, checkpoint_id: int) -> None:
        """Report to the sources that all rows of a checkpoint are published.

        If another thread is already reporting, that thread also reports this checkpoint. Failures are only logged,
        because later reads do not depend on the report.
        """
        with self._lock:
            self._published = max(self._published, checkpoint_id)
            if self._reporting:
                return
            self._reporting = True
        while (newest := self._next()) is not None:
            try:
                self._report(newest)
            except Exception as error:
                _log.warning("pipeline %d: %s", self._pipeline_id, error)

    def _next(self) -> int | None:
        with self._lock:
            self._reporting = self._reported < self._published
            self._reported = self._published
            return self._reported if self._reporting else None

    def _report(self, checkpoint_id: int) -> None:
        retained = self._retained() if self._keeps_retained else ()
        oldest = min([checkpoint_id, *retained])
        with self._lock:
            found = {each: self._states.get(each) for each in (oldest, checkpoint_id)}
            kept_from = oldest if self._keeps_retained else checkpoint_id + 1
            self._states = {each: state for each, state in self._states.items() if each >= kept_from}
        for source in self._sources:
            states = found[oldest if source.source.acknowledges_oldest else checkpoint_id]
            if states is None:  # stored by an earlier process
                continue
            enumerated = self._splits.get(source.name, ())
            first = self._first.get(source.name)
            if first is None:
                unread = states.unread(source.name, enumerated)
            else:
                unread = () if states.has_emitted_and_finished(first) else tuple(enumerated)
            source.source.acknowledge(enumerated, unread, states.sources[source.name].memory or {})
