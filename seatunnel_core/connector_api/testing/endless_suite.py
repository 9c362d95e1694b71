"""Conformance tests of unbounded sources."""

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve

from seatunnel_core.connector_api.capabilities import SupportsFacts
from seatunnel_core.connector_api.source import (
    Enumeration,
    Fact,
    PlanningContext,
    PollCursor,
    PollResult,
    Source,
)
from seatunnel_core.connector_api.testing.drive import (
    Skipped,
    options_of,
    plan,
    read,
    shipped,
    through_checkpoint,
    through_json,
)
from seatunnel_core.work.split import Split

__all__ = ["EndlessSourceConformance"]

MOST_LOOKS = 100
IDLE_LOOKS = 4
"""Number of consecutive empty polls after which the source is assumed to have returned all its data."""


class EndlessSourceConformance(ABC):
    """Test suite to subclass in your tests. Name the class ``Test…``; define the source, its options and its rows."""

    source_class: type[Source]

    @abstractmethod
    def options(self) -> Mapping[str, Any]:
        """Return options in configuration-file form, for a source that needs at least two polls."""

    @abstractmethod
    def expected(self) -> Sequence[Mapping[str, Any]]:
        """Return all rows that the source returns at parallelism 2, in any order."""

    def wait(self, pause_ms: int) -> None:
        """Wait before the next poll; override this if no wait is necessary."""
        time.sleep(pause_ms / 1000)

    planning = PlanningContext(parallelism=2)

    def source(self) -> Source:
        """Return a new source for the options, in streaming mode."""
        made = self.source_class(options_of(self.source_class, self.options()))
        made.run_in(streaming=True)
        return made

    def looks(self, source: Source, cursor: PollCursor, facts: Sequence[Fact] = ()) -> list[PollResult]:
        """Poll until the source has ended, or ``IDLE_LOOKS`` consecutive polls found nothing; return all results.

        Each poll receives the facts that readers reported about the objects of the previous one; the first receives
        ``facts``.
        """
        found: list[PollResult] = []
        while len(found) < MOST_LOOKS and (len(found) < IDLE_LOOKS or any(each.items for each in found[-IDLE_LOOKS:])):
            polled = self._poll(source, cursor, facts)
            found.append(polled)
            if polled.again_ms is None:
                break
            cursor, facts = polled.cursor, self.facts(source, polled)
            self.wait(polled.again_ms)
        return found

    def _poll(self, source: Source, cursor: PollCursor, facts: Sequence[Fact]) -> PollResult:
        known = through_checkpoint(cursor)
        if facts and isinstance(source, SupportsFacts):
            known = source.absorb(known, facts)
        polled = source.poll(known, self.planning)
        return evolve(polled, items=tuple(through_json(dict(item)) for item in polled.items))

    def facts(self, source: Source, polled: PollResult, *, overtaking: bool = False) -> list[Fact]:
        """Return the facts that readers of the discovered objects report, split by split.

        With ``overtaking``, later splits are first, as far as the order of the source allows it.
        """
        if not isinstance(source, SupportsFacts):
            return []
        found = self.enumeration(source, [polled])
        facts: list[Fact] = []
        for split in _overtaking(found.splits, ordered=source.ordered) if overtaking else found.splits:
            context = Skipped()
            read(source, found, [split], context)
            facts += context.facts
        return facts

    def rows(self, source: Source, polled: Sequence[PollResult]) -> list[dict[str, Any]]:
        """Return the rows of all discovered objects."""
        found = self.enumeration(source, polled)
        return read(source, found)

    def enumeration(self, source: Source, polled: Sequence[PollResult]) -> Enumeration:
        """Return an enumeration with splits for all discovered objects, created as the engine does."""
        splits: list[Split] = []
        for each in polled:
            in_task = shipped(source)
            items = [in_task.inspect(item, self.planning) if each.inspect else item for item in each.items]
            splits += source.enumerate(items, self.planning).splits if items else ()
        return evolve(plan(source, self.planning), splits=tuple(splits))

    def test_it_never_ends_and_its_schemas_are_known_before_anything_is_found(self) -> None:
        """Check ``bounded`` and ``planned_schemas``."""
        source = self.source()
        assert not source.bounded
        assert plan(source, self.planning).schemas

    def test_finds_every_row_once(self) -> None:
        """Compare all rows with ``expected``."""
        source = self.source()
        assert _multiset(self.rows(source, self.looks(source, {}))) == _multiset(self.expected())

    def test_what_a_crash_forgets_is_found_again(self) -> None:
        """Restore from the cursor of each poll, and check that another process finds every remaining object once."""
        source = self.source()
        polled = self.looks(source, {})
        finds = [at for at, each in enumerate(polled, 1) if each.items]
        assert len(polled) >= 2, "choose options with which the source needs at least two polls"
        for at in range(1, finds[-1] + 1):
            again = self.source()
            self.wait(polled[at - 1].again_ms or 0)
            facts = self.facts(source, polled[at - 1])
            rest = self.rows(again, self.looks(again, polled[at - 1].cursor, facts))
            assert _multiset(self.rows(source, polled[:at]) + rest) == _multiset(self.expected())

    def test_a_split_gives_the_same_rows_again(self) -> None:
        """Read all splits twice."""
        source = self.source()
        found = self.enumeration(source, self.looks(source, {}))
        for split in found.splits:
            assert repr(read(source, found, [split])) == repr(read(self.source(), found, [split]))

    def test_facts_may_arrive_late(self) -> None:
        """Withhold the facts of readers until polls find nothing, and then pass all of them to one poll."""
        source = self.source()
        if not isinstance(source, SupportsFacts):
            return
        found: list[PollResult] = []
        cursor: PollCursor = {}
        facts: list[Fact] = []
        passed: Sequence[Fact] = ()
        idle = 0
        while len(found) < MOST_LOOKS:
            found.append(self._poll(source, cursor, passed))
            new = self.facts(source, found[-1], overtaking=True)
            facts = [*facts, *new] if source.ordered else [*new, *facts]
            cursor, again_ms, passed = found[-1].cursor, found[-1].again_ms, ()
            idle = 0 if found[-1].items else idle + 1
            if again_ms is None or (idle >= IDLE_LOOKS and not facts):
                break
            if idle:
                facts, passed = [], facts
            self.wait(again_ms)
        assert _multiset(self.rows(source, found)) == _multiset(self.expected())

    def test_facts_are_absorbed_in_the_same_way_again(self) -> None:
        """Absorb the facts of each poll twice, as after a crash, in another process."""
        source = self.source()
        for polled in self.looks(source, {}):
            again, facts = self.source(), self.facts(source, polled)
            if facts and isinstance(source, SupportsFacts) and isinstance(again, SupportsFacts):
                cursor = through_checkpoint(polled.cursor)
                absorbed = source.absorb(cursor, facts)
                assert cursor == polled.cursor, "absorb must not modify the cursor that it receives"
                assert absorbed == again.absorb(cursor, facts)


def _overtaking(splits: Sequence[Split], *, ordered: bool) -> list[Split]:
    """Return the splits in reverse order; for an ordered source, only consecutive splits that commute are reversed."""
    runs: list[dict[str | None, Split]] = []
    if not ordered:
        return [*reversed(splits)]
    for split in splits:
        if not runs or split.ordering_key is None or None in runs[-1] or split.ordering_key in runs[-1]:
            runs.append({})
        runs[-1][split.ordering_key] = split
    return [split for run in runs for split in reversed(run.values())]


def _multiset(rows: Sequence[Mapping[str, Any]]) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for row in rows)
