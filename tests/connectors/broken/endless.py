"""Sources without an end that break one rule of the kit each."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from attrs import evolve

from seatunnel_core.connector_api.source import (
    DiscoveredObject,
    Enumeration,
    Fact,
    PlanningContext,
    PollCursor,
    PollResult,
    ReadContext,
)
from seatunnel_core.rows.batch import Batch
from seatunnel_core.work.split import Split
from tests.connectors.broken import sources

LOOKS = 4


class Honest(sources.Honest):
    """Ten numbers with each look, four times."""

    bounded = False

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        splits = (
            Split(index=at, rows=10, weight_bytes=80, body={"first": item["first"]})
            for at, item in enumerate(inspected)
        )
        return Enumeration(schemas=(sources.SCHEMA,), splits=tuple(splits))

    def poll(self, cursor: PollCursor, planning: PlanningContext) -> PollResult:
        looks = int(cursor.get("looks", 0))
        items = ({"first": looks * 10},) if looks < LOOKS else ()
        return PollResult(items=items, cursor={"looks": looks + 1}, again_ms=0 if looks < LOOKS else None)


class EndsWhenItFindsNothing(Honest):
    """A poll without new objects is the end of the source."""

    bounded = True


class ForgetsWhatItHadFound(Honest):
    """The cursor should be small, so known objects are not recorded."""

    def poll(self, cursor: PollCursor, planning: PlanningContext) -> PollResult:
        return evolve(super().poll(cursor, planning), cursor={"looks": min(2, int(cursor.get("looks", 0)) + 1)})


class RemembersInTheObject(Honest):
    """The source object lives as long as the job, so it can hold the state."""

    def poll(self, cursor: PollCursor, planning: PlanningContext) -> PollResult:
        self.looks = getattr(self, "looks", -1) + 1
        return super().poll({"looks": self.looks}, planning)


class CountsItsReadings(Honest):
    """Each row gets a unique number when it is read."""

    readings: ClassVar[dict[str, Any]] = {"count": 0}

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        self.readings["count"] += 1
        yield from sources.in_batches([number + self.readings["count"] for number in self.numbers(split)])


class ReportsToNobody(Honest):
    """The facts of readers can be reported without `absorb`."""

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        context.report_fact({"read": split.index})
        yield from super().read(split, context)


class Reporting(Honest):
    """The first five numbers of ten with each look; their reader reports where the others begin."""

    def poll(self, cursor: PollCursor, planning: PlanningContext) -> PollResult:
        looks, rest, done = int(cursor.get("looks", 0)), cursor.get("rest", ()), int(cursor.get("done", 0))
        items = [{"first": looks * 10}] if looks < LOOKS else []
        items += [{"first": first} for first in rest]
        done += len(rest)
        after = {"looks": looks + len(items) - len(rest), "rest": [], "done": done}
        return PollResult(items=tuple(items), cursor=after, again_ms=0 if done < LOOKS else None)

    def absorb(self, cursor: PollCursor, facts: Sequence[Fact]) -> PollCursor:
        return {**cursor, "rest": [*cursor["rest"], *(fact["rest"] for fact in facts)]}

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        first = split.body["first"]
        if first % 10 == 0:
            context.report_fact({"rest": first + 5})
        yield from sources.in_batches(range(first, first + 5))


class ReportingInPairs(Reporting):
    """The same with two splits for each look, which may be written in any order."""

    ordered = True

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        found = super().enumerate(inspected, planning)
        return evolve(found, splits=tuple(evolve(s, ordering_key=f"{s.body['first']}") for s in found.splits))

    def poll(self, cursor: PollCursor, planning: PlanningContext) -> PollResult:
        first = super().poll(cursor, planning)
        second = super().poll({**first.cursor, "rest": []}, planning)
        return evolve(second, items=(*first.items, *second.items))


class SkipsOlderFacts(ReportingInPairs):
    """Facts of an ordered source arrive in the order of its splits, so older ones are repeated ones."""

    def absorb(self, cursor: PollCursor, facts: Sequence[Fact]) -> PollCursor:
        newest, new = int(cursor.get("newest", -1)), list[Fact]()
        for fact in facts:
            new += [fact] if fact["rest"] > newest else []
            newest = max(newest, fact["rest"])
        return {**super().absorb(cursor, new), "newest": newest}


class SkipsOlderFactsInOrder(SkipsOlderFacts):
    """The same without ordering keys, which is correct."""

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        found = super().enumerate(inspected, planning)
        return evolve(found, splits=tuple(evolve(split, ordering_key=None) for split in found.splits))


class ExpectsOneFact(Reporting):
    """The fact of a chunk arrives before the next poll."""

    def absorb(self, cursor: PollCursor, facts: Sequence[Fact]) -> PollCursor:
        return super().absorb(cursor, facts[-1:])


class AbsorbsInPlace(Reporting):
    """The old cursor can be modified, because the new one replaces it."""

    def absorb(self, cursor: PollCursor, facts: Sequence[Fact]) -> PollCursor:
        cursor["rest"].extend(fact["rest"] for fact in facts)
        return cursor
