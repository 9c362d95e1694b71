"""Rejection of values that a sink cannot store: absent values, and dates and times out of range.

A column is absent if a change event does not contain it. Sources and transforms may return dates and timestamps in
Arrow's full range, but most targets and Python's types only support the years 1 to 9999. A row with a value outside
this range is rejected with an error that names the column.
"""

from collections.abc import Sequence

import pyarrow as pa
from attrs import frozen

from seatunnel_core.connector_api.sink import Sink, SinkWriter, Staged, WriterContext
from seatunnel_core.errors import RowError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.columns import require_arrived
from seatunnel_core.rows.extent import first_beyond, shown

__all__ = ["writer_of"]

_BEYOND = "is outside the years 1 to 9999 or the 24 hours of a day, which this sink does not support"


def writer_of(sink: Sink, schemas: Sequence[TableSchema], context: WriterContext) -> SinkWriter:
    """Return a sink's writer, wrapped so that it rejects values that the sink cannot store."""
    return WithinExtent(sink, sink.open_writer(schemas, context), context)


@frozen
class WithinExtent(SinkWriter):
    """Writer that rejects values that its inner writer cannot write."""

    sink: Sink
    inner: SinkWriter
    context: WriterContext

    def write(self, batch: Batch) -> None:
        if batch.absent and not self.sink.keeps_absent:
            require_arrived(batch, f"pipeline {self.context.pipeline_id}, sink {self.sink.identifier}")
        for column, values in zip(batch.rows.schema, batch.rows.columns, strict=True):
            found = first_beyond(values, self._limited)
            if found is not None:
                raise RowError(
                    f"pipeline {self.context.pipeline_id}, sink {self.sink.identifier}, row {self._row(values)} of a "
                    f"batch of {batch.table}, column {column.name!r}: {shown(found)} {_BEYOND}",
                    column=column.name,
                )
        self.inner.write(batch)

    def _limited(self, kind: pa.DataType) -> bool:
        """Return True if values of this type are restricted; no sink accepts a time of 24 hours or more."""
        return not self.sink.takes_any_moment or pa.types.is_time(kind)

    def _row(self, values: pa.Array) -> int:
        """Return the number of the first row to reject, counted from 1."""
        first = 0
        while len(values) > 1:
            half = len(values) // 2
            if first_beyond(values.slice(0, half), self._limited) is None:
                first, values = first + half, values.slice(half)
            else:
                values = values.slice(0, half)
        return first + 1

    def finish(self) -> Staged:
        return self.inner.finish()

    def abort(self) -> None:
        self.inner.abort()
