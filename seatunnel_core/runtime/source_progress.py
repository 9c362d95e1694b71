"""Progress of the sources of a pipeline, available between polls and after restarts."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence

from attrs import evolve, field, frozen

from seatunnel_core.connector_api.capabilities import SupportsFacts, SupportsProgress
from seatunnel_core.connector_api.source import PollCursor
from seatunnel_core.connector_api.source_progress import SourceProgress
from seatunnel_core.planning.plan import PlannedPipeline
from seatunnel_core.work.fact import Fact

_log = logging.getLogger(__name__)

_CURRENT_S = 30
"""Time for which a source counts as up to date after a poll that reached the end of the log, in seconds."""


@frozen(kw_only=True)
class _Polled:
    cursor: PollCursor = field(repr=False)
    at: float
    """Time of the poll, in seconds of the monotonic clock."""

    facts: tuple[Fact, ...] = field(default=(), repr=False)
    """Facts that the cursor does not contain yet."""


class ProgressOfSources:
    """Sources of a pipeline that implement ``SupportsProgress``.

    Only the loop's thread writes; any thread may read, because values are replaced as a whole.
    """

    def __init__(self, planned: PlannedPipeline, clock: Callable[[], float] = time.monotonic) -> None:
        self._sources = {
            each.name: each.source for each in planned.sources if isinstance(each.source, SupportsProgress)
        }
        self._clock = clock
        self._polled: Mapping[str, _Polled] = {}
        self._shown: Mapping[str, tuple[_Polled, SourceProgress | None]] = {}
        """Last computed progress, and the input from which it was computed."""

        self._outdated: frozenset[str] = frozenset()
        """Sources that were last polled in an earlier epoch; the cursor of that poll may contain facts that are
        reported again."""

    def polled(self, source: str, cursor: PollCursor, absorbed: Sequence[Fact]) -> None:
        """Store the cursor that a poll returned after receiving the facts ``absorbed``."""
        if source in self._sources:
            had = self._polled.get(source)
            left = () if had is None else tuple(fact for fact in had.facts if fact not in absorbed)
            self._polled = {**self._polled, source: _Polled(cursor=cursor, at=self._clock(), facts=left)}
            self._outdated -= {source}

    def read(self, source: str, facts: Sequence[Fact]) -> None:
        """Store the facts of a finished work unit."""
        had = self._polled.get(source)
        if facts and had is not None and source not in self._outdated:
            self._polled = {**self._polled, source: evolve(had, facts=(*had.facts, *facts))}

    def restarted(self) -> None:
        """Drop the facts of the previous epoch, because its units run again."""
        self._outdated = frozenset(self._polled)
        self._polled = {name: evolve(each, facts=()) for name, each in self._polled.items()}

    def shown(self) -> dict[str, SourceProgress]:
        """Return the progress of each source that has been polled."""
        found = {}
        for name, polled in self._polled.items():
            try:
                progress = self._computed(name, polled)
            except Exception:  # The display of a job must not fail because of a fault in a plugin.
                _log.debug("the progress of the source %r is unknown", name, exc_info=True)
                continue
            if progress is not None:
                found[name] = self._aged(progress, polled)
        return found

    def _computed(self, name: str, polled: _Polled) -> SourceProgress | None:
        known = self._shown.get(name)
        if known is not None and known[0] is polled:
            return known[1]
        source, cursor = self._sources[name], polled.cursor
        if polled.facts and isinstance(source, SupportsFacts):
            cursor = source.absorb(cursor, polled.facts)
        progress = source.progress(cursor)
        self._shown = {**self._shown, name: (polled, progress)}
        return progress

    def _aged(self, progress: SourceProgress, polled: _Polled) -> SourceProgress:
        """Return the progress at the current time. The lag grows until the next poll."""
        age_s = self._clock() - polled.at
        if progress.lag_seconds is None or (progress.lag_seconds == 0 and age_s <= _CURRENT_S):
            return progress
        lag_bytes = progress.lag_bytes or None  # The log may have grown since.
        return evolve(progress, lag_seconds=round(progress.lag_seconds + age_s, 1), lag_bytes=lag_bytes)
