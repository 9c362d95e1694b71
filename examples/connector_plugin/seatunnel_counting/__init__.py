"""The source ``Counting``: the numbers from 1 to ``count``, in splits of ``per_split``."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import pyarrow as pa

from seatunnel_core.checkpoint.split import Split
from seatunnel_core.config.option import Option, within
from seatunnel_core.connectors.source import Enumeration, Item, Planning, ReadContext, Source
from seatunnel_core.rows.batch import Batch, TableSchema

COUNT = Option("count", within(0, 10**9), required=True, doc="The last number.")
PER_SPLIT = Option("per_split", within(1, 10**9), default=1000, unit="rows", doc="How many numbers one split has.")
SCHEMA = TableSchema(table="default", columns=pa.schema([("number", pa.int64())]))


class CountingSource(Source):
    """It knows what it holds without looking, so it discovers and inspects nothing."""

    identifier: ClassVar[str] = "Counting"
    declared = (COUNT, PER_SPLIT)

    def planned_schemas(self) -> tuple[TableSchema, ...]:
        return (SCHEMA,)

    def enumerate(self, inspected: Sequence[Item], planning: Planning) -> Enumeration:
        last, step = self.options[COUNT], self.options[PER_SPLIT]
        if planning.rows_per_second:
            step = min(step, planning.rows_per_second)
        firsts = range(1, last + 1, step)
        splits = tuple(
            Split(
                index=index,
                rows=min(step, last - first + 1),
                weight_bytes=8 * min(step, last - first + 1),
                body={"first": first, "last": min(first + step - 1, last)},
            )
            for index, first in enumerate(firsts)
        )
        return Enumeration(schemas=(SCHEMA,), splits=splits)

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        numbers = pa.array(range(split.body["first"], split.body["last"] + 1), pa.int64())
        yield Batch(table=SCHEMA.table, rows=pa.RecordBatch.from_arrays([numbers], schema=SCHEMA.columns))
