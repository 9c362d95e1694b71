"""The ``Memory`` sink, which makes the rows of a job available to the Python program that runs it.

Committables contain the rows, which pass through the driver and the checkpoints, so their size is limited. Committed
rows are kept in the memory of the process and are lost when it ends.
"""

import base64
import threading
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pyarrow as pa

from seatunnel_core import stored
from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.capabilities import SupportsConclude
from seatunnel_core.connector_api.errors import CommitError, RowError, SinkError, StoredValueError, UsageError
from seatunnel_core.connector_api.option import SIZE, Option, Options
from seatunnel_core.connector_api.sink import Guarantee, Sink, SinkContext, SinkWriter, Staged, WriterContext
from seatunnel_core.connector_api.values import Committable

LIMIT = Option(
    "limit", SIZE, default=16_000_000, unit="bytes", doc="Maximum size of all rows in memory; at most 256 MB."
)

LARGEST = 256_000_000


class MemorySink(Sink, SupportsConclude):
    """Sink that keeps committed rows in the memory of this process."""

    identifier: ClassVar[str] = "Memory"
    isolates_bad_rows = True
    takes_any_moment = True
    declared: ClassVar[tuple[Option[Any], ...]] = (LIMIT,)
    guarantee = Guarantee.EXACTLY_ONCE

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._limit: int = options[LIMIT]
        if self._limit > LARGEST:
            raise UsageError(
                f"option 'limit': expected at most {LARGEST:,} bytes, found {self._limit:,}. Checkpoints contain "
                "the rows; for more data, use a file sink"
            )
        self._kept: _Kept | None = _Kept()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": None}

    @property
    def bound_to(self) -> Mapping[str, str]:
        return {}

    def create_tables(self, schemas: Sequence[TableSchema], context: SinkContext) -> None:
        assert self._kept is not None
        self._kept.schemas.update({schema.table: schema.columns for schema in schemas})

    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> "MemoryWriter":
        return MemoryWriter(self._limit, f"pipeline {context.pipeline_id}, sink Memory")

    def commit(self, committables: Sequence[Committable], context: SinkContext, *, may_be_committed: bool) -> None:
        kept = self._kept
        assert kept is not None
        with kept.lock:
            size = sum(map(_size, kept.committables.values()))
        for committable in committables:
            try:
                found = [_rows(pair) for pair in stored.items(committable.body, "rows")]
            except (StoredValueError, ValueError) as error:
                raise CommitError(
                    f"pipeline {context.pipeline_id}, sink Memory: the committable "
                    f"{ascii(committable.id)[:60]} was not created by this sink: {error}"
                ) from error
            size += _size(found) - _size(kept.committables.get(committable.id, ()))
            with kept.lock:
                kept.committables[committable.id] = found
            if size > self._limit:
                raise CommitError(too_much(f"pipeline {context.pipeline_id}, sink Memory", self._limit))

    def conclude(self, committed_rows: int, table_rows: Mapping[str, int]) -> None:
        assert self._kept is not None
        self._kept.expected = committed_rows

    def collected(self) -> dict[str, pa.Table]:
        """Return the committed rows by table. Raise UsageError if rows of an earlier process were lost."""
        kept = self._kept
        assert kept is not None, "internal error: rows were requested outside the driver"
        with kept.lock:
            found = [pair for pairs in kept.committables.values() for pair in pairs]
            schemas = dict(kept.schemas)
        rows = sum(some.num_rows for _, some in found)
        if kept.expected is not None and rows != kept.expected:
            raise UsageError(
                f"this process contains only {rows:,} of the {kept.expected:,} collected rows; the others were in a "
                "process that has ended. Run the job again, or use a file sink"
            )
        return {
            table: pa.concat_tables([columns.empty_table(), *(some for name, some in found if name == table)])
            for table, columns in schemas.items()
        }


class _Kept:
    """Committed rows in the driver."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.schemas: dict[str, pa.Schema] = {}
        self.committables: dict[str, list[tuple[str, pa.Table]]] = {}
        """Rows of each committable by its ID, so that a repeated commit changes nothing."""

        self.expected: int | None = None


class MemoryWriter(SinkWriter):
    """Collects the rows of a work unit."""

    def __init__(self, limit: int, who: str) -> None:
        self._limit = limit
        self._who = who
        self._batches: dict[str, list[pa.RecordBatch]] = {}
        self._rows = self._bytes = 0

    def write(self, batch: Batch) -> None:
        if not batch.inserts_only:
            raise RowError(
                f"{self._who}: the table {batch.table} has updated or deleted rows, but only inserted rows "
                "can be collected; select them with the FilterRowKind transform"
            )
        self._batches.setdefault(batch.table, []).append(batch.rows)
        self._rows += batch.rows.num_rows
        self._bytes += batch.rows.nbytes
        if self._bytes > self._limit:
            raise SinkError(too_much(self._who, self._limit))

    def finish(self) -> Staged:
        rows = [[table, _text(batches)] for table, batches in self._batches.items()]
        return Staged(body={"rows": rows}, rows=self._rows, bytes=self._bytes)

    def abort(self) -> None:
        self._batches.clear()


def too_much(who: str, limit: int) -> str:
    """Return the error message for rows that exceed the option ``limit``."""
    return (
        f"{who}: the rows exceed the limit of {limit:,} bytes for rows in memory: filter "
        "them, write to files, or raise the option limit"
    )


def _size(pairs: Sequence[tuple[str, pa.Table]]) -> int:
    return sum(rows.nbytes for _, rows in pairs)


def _text(batches: Sequence[pa.RecordBatch]) -> str:
    """Encode rows as base64, for JSON."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, batches[0].schema, options=options) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return base64.b64encode(sink.getvalue()).decode("ascii")


def _rows(pair: Any) -> tuple[str, pa.Table]:
    """Decode the name and the rows of a table. Raise ValueError for invalid content."""
    if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(each, str) for each in pair):
        raise ValueError("'rows' must be a list of [table, rows]")
    return pair[0], pa.ipc.open_stream(base64.b64decode(pair[1], validate=True)).read_all()
