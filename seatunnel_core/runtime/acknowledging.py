"""Reports how far the rows of a pipeline are published to those of its sources that acknowledge upstream (R11)."""

import logging
import threading
from collections.abc import Collection, Sequence

from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.planning.plan import PlannedPipeline
from seatunnel_core.work.split import Split

_log = logging.getLogger(__name__)


class Acknowledgements:
    """The sources of a pipeline that acknowledge upstream; false when there are none, and then keeps nothing.

    Any thread may call. ``published`` reports one checkpoint after the other. If two were reported at once, the older
    could come last, and a reader that goes on from there would read again what was published.
    """

    def __init__(self, planned: PlannedPipeline) -> None:
        self._pipeline_id = planned.id
        self._sources = [source for source in planned.sources if source.source.acknowledges]
        self._splits: dict[str, Sequence[Split]] = {}
        """The enumerated splits, by source."""

        self._first: dict[str, str] = {}
        """By source that a query reads with others: the one whose state shows whether the query has ended."""

        self._lock = threading.Lock()
        """Guards what follows."""

        self._states: dict[int, VertexStates] = {}
        """The states of the checkpoints that may be reported, by their ids."""

        self._published = 0
        """The newest checkpoint whose rows are all published."""

        self._reported = 0
        """The last checkpoint that was reported, or is being reported."""

        self._reporting = False

    def __bool__(self) -> bool:
        return bool(self._sources)

    def enumerated(self, source_name: str, splits: Sequence[Split]) -> None:
        """Keep the enumeration of a source that acknowledges."""
        if any(source.name == source_name for source in self._sources):
            self._splits[source_name] = splits

    def read_together(self, first: str, sources: Collection[str]) -> None:
        """Record that the splits of these sources are one work unit of the first."""
        self._first |= dict.fromkeys(sources, first)

    def stored(self, checkpoint_id: int, content: VertexStates) -> None:
        """Keep what a stored checkpoint contains until its rows are published."""
        if self:
            with self._lock:
                self._states[checkpoint_id] = content

    def published(self, checkpoint_id: int) -> None:
        """Report to the sources that all rows of a checkpoint are published.

        If a thread is reporting already, that thread reports this one too. A failure is logged: what is read next does
        not depend on it.
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
        with self._lock:
            states = self._states.get(checkpoint_id)
            self._states = {each: state for each, state in self._states.items() if each > checkpoint_id}
        if states is None:
            return
        for source in self._sources:
            enumerated = self._splits.get(source.name, ())
            first = self._first.get(source.name)
            if first is None:
                unread = states.unread(source.name, enumerated)
            else:
                unread = () if states.has_emitted_and_finished(first) else tuple(enumerated)
            source.source.acknowledge(enumerated, unread, states.sources[source.name].memory or {})
