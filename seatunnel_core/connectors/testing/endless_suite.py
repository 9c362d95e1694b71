"""What every source must hold that never ends by itself."""

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve

from seatunnel_core.connectors.source import Enumeration, Item, Planning, PollResult, Source
from seatunnel_core.connectors.testing.drive import options_of, plan, read, shipped, through_json
from seatunnel_core.work.split import Split

MOST_LOOKS = 100
IDLE_LOOKS = 4
"""So many without a find are enough to say that nothing more comes."""


class EndlessSourceConformance(ABC):
    """Subclass it in your tests (name the class ``Test…``) and say which source, which options and which rows."""

    source_class: type[Source]

    @abstractmethod
    def options(self) -> Mapping[str, Any]:
        """Options, as a configuration file has them, for a source that needs two looks at least."""

    @abstractmethod
    def expected(self) -> Sequence[Mapping[str, Any]]:
        """All rows that it finds at parallelism 2, in any order, when nothing more comes."""

    def wait(self, pause_ms: int) -> None:
        """Let time pass before the next look. Override it where that may be done without waiting."""
        time.sleep(pause_ms / 1000)

    planning = Planning(parallelism=2)

    def source(self) -> Source:
        made = self.source_class(options_of(self.source_class, self.options()))
        made.run_in(streaming=True)
        return made

    def looks(self, source: Source, memory: Item) -> list[PollResult]:
        """Look until nothing more will come, or nothing has come for a while."""
        found: list[PollResult] = []
        while len(found) < MOST_LOOKS and (len(found) < IDLE_LOOKS or any(each.items for each in found[-IDLE_LOOKS:])):
            polled = source.poll(through_json(dict(memory)), self.planning)
            found.append(evolve(polled, items=tuple(through_json(dict(item)) for item in polled.items)))
            if polled.again_ms is None:
                break
            memory = polled.memory
            self.wait(polled.again_ms)
        return found

    def rows(self, source: Source, polled: Sequence[PollResult]) -> list[dict[str, Any]]:
        found = self.enumeration(source, polled)
        return read(source, found)

    def enumeration(self, source: Source, polled: Sequence[PollResult]) -> Enumeration:
        """All that was found, cut into splits as the engine does it."""
        splits: list[Split] = []
        for each in polled:
            in_task = shipped(source)
            items = [in_task.inspect(item, self.planning) if each.inspect else item for item in each.items]
            splits += source.enumerate(items, self.planning).splits if items else ()
        return evolve(plan(source, self.planning), splits=tuple(splits))

    def test_it_never_ends_and_its_schemas_are_known_before_anything_is_found(self) -> None:
        source = self.source()
        assert not source.bounded
        assert plan(source, self.planning).schemas

    def test_finds_every_row_once(self) -> None:
        source = self.source()
        assert _multiset(self.rows(source, self.looks(source, {}))) == _multiset(self.expected())

    def test_what_a_crash_forgets_is_found_again(self) -> None:
        """Whatever look the checkpoint was taken after, another process finds the rest, and nothing twice."""
        source = self.source()
        polled = self.looks(source, {})
        finds = [at for at, each in enumerate(polled, 1) if each.items]
        assert len(polled) >= 2, "give options with which the source needs two looks at least"
        for at in range(1, finds[-1] + 1):
            again = self.source()
            self.wait(polled[at - 1].again_ms or 0)
            rest = self.rows(again, self.looks(again, polled[at - 1].memory))
            assert _multiset(self.rows(source, polled[:at]) + rest) == _multiset(self.expected())

    def test_a_split_gives_the_same_rows_again(self) -> None:
        source = self.source()
        found = self.enumeration(source, self.looks(source, {}))
        for split in found.splits:
            assert repr(read(source, found, [split])) == repr(read(self.source(), found, [split]))


def _multiset(rows: Sequence[Mapping[str, Any]]) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for row in rows)
