"""Transforms that break one rule of the kit each."""

from collections.abc import Iterator
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve

from seatunnel_core.config.option import INTEGER, Option
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.rows.batch import Batch, TableSchema

BY = Option("by", INTEGER, default=1, doc="What is added.")


class Honest(Transform):
    """Adds a number to the column ``id``."""

    identifier = "Add"
    declared: ClassVar[tuple[Option[Any], ...]] = (BY,)

    def output_schema(self, schema: TableSchema) -> TableSchema:
        return schema

    def apply(self, batch: Batch) -> Iterator[Batch]:
        ids = pc.add(batch.rows.column("id"), self.options[BY])
        yield evolve(batch, rows=batch.rows.set_column(0, batch.rows.schema.field(0), ids))


class AddsToWhatIsThere(Honest):
    """Null can be treated as 0."""

    def apply(self, batch: Batch) -> Iterator[Batch]:
        ids = pc.fill_null(batch.rows.column("id"), 0)
        yield from super().apply(evolve(batch, rows=batch.rows.set_column(0, batch.rows.schema.field(0), ids)))


class AddsUpTheBatch(Honest):
    """A sum over the batch is the sum over the table."""

    def apply(self, batch: Batch) -> Iterator[Batch]:
        for after in super().apply(batch):
            rest = after.rows.slice(1) if batch.rows.num_rows == 2 else after.rows
            yield evolve(after, rows=rest)


class Remembers(Honest):
    """A counter in the object can number the rows."""

    seen = 0

    def apply(self, batch: Batch) -> Iterator[Batch]:
        self.seen += 1
        if self.seen > 1 and batch.rows.num_rows == 3:
            return
        yield from super().apply(batch)


class AnnouncesAnotherType(Honest):
    """A sum may be large, so its planned type is double."""

    def output_schema(self, schema: TableSchema) -> TableSchema:
        return evolve(schema, columns=schema.columns.set(0, pa.field("id", pa.float64())))


class SaysNothing(Honest):
    """The option `by` needs no description."""

    declared: ClassVar[tuple[Option[Any], ...]] = (evolve(BY, doc="by"),)
