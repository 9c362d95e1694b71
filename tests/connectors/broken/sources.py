"""Sources that break one rule of the kit each."""

import random
import time
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import pyarrow as pa
from attrs import evolve

from seatunnel_core.config.option import Option, within
from seatunnel_core.connector_api.source import DiscoveredObject, Enumeration, PlanningContext, ReadContext, Source
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.work.split import Split

COUNT = Option("count", within(1, 1000), required=True, doc="How many numbers there are.")
SCHEMA = TableSchema(table="default", columns=pa.schema([("number", pa.int64())]))
PER_SPLIT = 10


class Honest(Source):
    """The numbers from 0, ten in a split, in batches of four."""

    identifier = "Numbers"
    declared: ClassVar[tuple[Option[Any], ...]] = (COUNT,)

    def planned_schemas(self) -> tuple[TableSchema, ...]:
        return (SCHEMA,)

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        firsts = range(0, self.options[COUNT], PER_SPLIT)
        splits = (
            Split(index=at, rows=PER_SPLIT, weight_bytes=80, body={"first": first}) for at, first in enumerate(firsts)
        )
        return Enumeration(schemas=(SCHEMA,), splits=tuple(splits))

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        yield from in_batches(self.numbers(split))

    def numbers(self, split: Split) -> list[int]:
        first = int(split.body["first"])
        return list(range(first, min(first + PER_SPLIT, self.options[COUNT])))


def in_batches(numbers: Sequence[int]) -> Iterator[Batch]:
    for start in range(0, len(numbers), 4):
        column = pa.array(numbers[start : start + 4], pa.int64())
        yield Batch(table="default", rows=pa.RecordBatch.from_arrays([column], schema=SCHEMA.columns))


class CutsAtAnyByte(Honest):
    """A row that crosses a boundary belongs to the split in which it begins."""

    def numbers(self, split: Split) -> list[int]:
        found = super().numbers(split)
        return [found[0] - 1, *found] if split.index else found


class ReportsToNobody(Honest):
    """The facts of readers can be reported without `absorb`."""

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        context.report_fact({"read": split.index})
        yield from super().read(split, context)


class CountsFromOne(Honest):
    """Splits may be numbered from any start."""

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        found = super().enumerate(inspected, planning)
        return evolve(found, splits=tuple(evolve(split, index=split.index + 1) for split in found.splits))


class StampsItsSplits(Honest):
    """A timestamp in each split helps with debugging."""

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        found = super().enumerate(inspected, planning)
        bodies = ({**split.body, "made_ns": time.time_ns()} for split in found.splits)
        return evolve(found, splits=tuple(evolve(s, body=body) for s, body in zip(found.splits, bodies, strict=True)))


class DealsKeys(Honest):
    """Splits can be distributed over ordering keys at random, as over threads."""

    ordered = True

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        found = super().enumerate(inspected, planning)
        keys = (str(time.time_ns()) for _ in found.splits)
        return evolve(
            found, splits=tuple(evolve(s, ordering_key=key) for s, key in zip(found.splits, keys, strict=True))
        )


class ReadsWithoutAnOrder(Honest):
    """SELECT without ORDER BY returns all rows, so the split is complete."""

    def numbers(self, split: Split) -> list[int]:
        return random.sample(super().numbers(split), k=len(super().numbers(split)))


class GoesOnWhereItWas(Honest):
    """A repeated task can continue at its previous position."""

    position: ClassVar[dict[int, int]] = {}

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        numbers = self.numbers(split)
        for batch in in_batches(numbers[self.position.get(split.index, 0) :]):
            self.position[split.index] = self.position.get(split.index, 0) + batch.rows.num_rows
            yield batch
        self.position.pop(split.index)


class SharesItsReader(Honest):
    """One open file per process is sufficient."""

    buffer: ClassVar[list[int]] = []

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        self.buffer[:] = self.numbers(split)
        while self.buffer:
            some = self.buffer[:4]
            del self.buffer[:4]
            yield from in_batches(some)


class CarriesItsRows(Honest):
    """Rows that the driver has already read can be passed in the split."""

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        found = super().enumerate(inspected, planning)
        with_rows = (evolve(split, body={**split.body, "rows": ["a row" * 10] * 100}) for split in found.splits)
        return evolve(found, splits=tuple(with_rows))


class NumbersItsRows(Honest):
    """Rows can be numbered consecutively, because splits are read one after the other."""

    running = 0

    def numbers(self, split: Split) -> list[int]:
        found = super().numbers(split)
        first = 0 if split.index == 0 else NumbersItsRows.running
        NumbersItsRows.running = first + len(found)
        return list(range(first, first + len(found)))


class SkipsToKeepUp(Honest):
    """A speed limit may drop rows beyond the limit."""

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        found = super().enumerate(inspected, planning)
        return evolve(found, splits=found.splits[: planning.rows_per_second and 1])


class AnnouncesOtherColumns(Honest):
    """`--check` needs some schema, and an int is a number."""

    def planned_schemas(self) -> tuple[TableSchema, ...]:
        return (TableSchema(table="default", columns=pa.schema([("number", pa.int32())])),)


class SaysNothing(Honest):
    """The name of the option is sufficient documentation."""

    declared: ClassVar[tuple[Option[Any], ...]] = (evolve(COUNT, doc="count"),)
