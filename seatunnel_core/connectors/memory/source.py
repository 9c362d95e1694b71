"""The ``Memory`` source, which reads rows of a Python program."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import pyarrow as pa

from seatunnel_core import stored
from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import SourceChangedError, UsageError
from seatunnel_core.connector_api.option import STRING, Option, Options, OptionType, within
from seatunnel_core.connector_api.schema import table_without_name
from seatunnel_core.connector_api.source import DiscoveredObject, Enumeration, PlanningContext, ReadContext, Source
from seatunnel_core.connector_api.values import Split
from seatunnel_core.connectors.memory.held import Held, hold
from seatunnel_core.connectors.schema_options import COLUMN_NAMES, NESTING, nesting_of
from seatunnel_core.rows.nesting import row_id

ARROW: OptionType[Held] = OptionType(name="object with the Arrow PyCapsule interface", parse=hold)

DATA = Option(
    "data", ARROW, required=True, doc="Rows, for example a pandas or Polars DataFrame. Available only in Python code."
)
TABLE = Option("table", STRING, doc='Name of the table. If unset, the value of plugin_output, or "default".')
ROWS = Option(
    "rows_per_split", within(1, 10**9), default=100_000, unit="rows", doc="Number of rows that a task reads at a time."
)


READ_ONCE = (
    "its rows come from an iterator, which can be read only once: the rows were read before the job started, and each "
    "is delivered once. They are kept in the memory of this process: to resume the job in another process "
    "(restore=…), pass an iterator of the same rows; other rows are rejected"
)


class MemorySource(Source):
    """Source that sends a copy of the rows to the tasks, which read ranges of it like ranges of a file."""

    identifier: ClassVar[str] = "Memory"
    declared: ClassVar[tuple[Option[Any], ...]] = (DATA, TABLE, ROWS, NESTING, COLUMN_NAMES)
    waits = False

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._held: Held = options[DATA]
        self._nesting = nesting_of(options)
        self._table_name = options[TABLE] or table_without_name(options)
        try:
            self._columns = self._nesting.identified(self._held.columns)
            schema = TableSchema(table=self._table_name, columns=self._columns)
            self._schemas = self._nesting.schemas(schema)
        except ValueError as error:
            raise UsageError(f"option 'nesting': {error}") from None
        self._table: pa.Table | None = None
        if self._held.read_once:
            self.remarks = (READ_ONCE,)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "options": None, "_table": None}

    def planned_schemas(self) -> tuple[TableSchema, ...]:
        return self._schemas

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        most = min(self.options[ROWS], planning.rows_per_second or self.options[ROWS])
        starts = range(0, self._held.rows, most)
        row_bytes = len(self._held.stream) / max(1, self._held.rows)
        splits = []
        for index, first in enumerate(starts):
            rows = min(most, self._held.rows - first)
            body = {"first": first, "rows": rows, "digest": self._held.digest}
            splits.append(Split(index=index, weight_bytes=int(rows * row_bytes), rows=rows, body=body))
        return Enumeration(schemas=self._schemas, splits=tuple(splits))

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        if stored.text(split.body, "digest") != self._held.digest:
            raise SourceChangedError(
                "the object of the Memory source differs from the object with which the job started: pass the same "
                "rows with the same types, or start a new job"
            )
        if self._table is None:
            self._table = pa.ipc.open_stream(self._held.stream).read_all()
        first, rows = stored.number(split.body, "first"), stored.number(split.body, "rows", least=1)
        for batch in self._table.slice(first, rows).to_batches(max_chunksize=65_536):
            yield from self._nesting.batches(Batch(table=self._table_name, rows=self._identified(batch, first)))
            first += batch.num_rows

    def _identified(self, batch: pa.RecordBatch, first: int) -> pa.RecordBatch:
        """Return a batch, with row IDs if there are child tables; ``first`` is the number of its first row."""
        if len(self._columns) == batch.num_columns:
            return batch
        ids = [row_id(self._held.digest, number) for number in range(first, first + batch.num_rows)]
        return pa.RecordBatch.from_arrays([pa.array(ids, pa.string()), *batch.columns], schema=self._columns)

    def describe(self, splits: Sequence[Split]) -> Sequence[str]:
        return [
            f"rows {split.body['first'] + 1} to {split.body['first'] + split.body['rows']} of the object"
            for split in splits
        ]
