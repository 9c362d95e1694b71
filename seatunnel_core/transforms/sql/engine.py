"""Execution of a compiled statement over one batch, in a single DataFusion partition. Imports datafusion."""

import datetime as dt

import pyarrow as pa
from attrs import field, frozen
from datafusion import SessionConfig, SessionContext, udf

from seatunnel_core.connector_api.errors import SeaTunnelError, TransformError
from seatunnel_core.transforms.sql.engine_function import EngineFunction
from seatunnel_core.transforms.sql.value import NOW

TABLE, KINDS = "rows", "#kinds"
"""Names of the table and of the row kinds in the engine's SQL."""

_BATCH_ROWS = 2**20
"""Maximum number of rows that DataFusion passes to a function at once; a batch always has fewer."""


@frozen(kw_only=True)
class Query:
    """A statement in DataFusion's SQL."""

    sql: str = field(repr=False)
    functions: tuple[EngineFunction, ...] = field(repr=False)
    columns: pa.Schema
    """Columns of the result."""

    timed: bool
    """True if the statement uses ``NOW``."""


_PANIC = "PanicException"
"""Exception type of a failed assertion inside DataFusion. It is not an ``Exception``, and would end the process."""


class Engine:
    """An executable statement; neither thread-safe nor picklable."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._failure: SeaTunnelError | None = None
        self._context = SessionContext(SessionConfig().with_target_partitions(1).with_batch_size(_BATCH_ROWS))
        for each in query.functions:
            self._context.register_udf(udf(self._noting(each), list(each.types), each.result, "immutable", each.name))

    def run(self, rows: pa.RecordBatch, kinds: pa.Array | None) -> tuple[pa.RecordBatch, pa.Array | None]:
        """Return the rows of the result and their kinds; raise ``TransformError`` if the statement fails for a row."""
        rows = pa.RecordBatch.from_arrays([_whole(column) for column in rows.columns], schema=rows.schema)
        rows = rows.append_column(KINDS, pa.nulls(rows.num_rows, pa.int8()) if kinds is None else kinds)
        if self._query.timed:
            rows = rows.append_column(NOW, pa.repeat(pa.scalar(dt.datetime.now(), pa.timestamp("us")), rows.num_rows))
        self._failure = None
        try:
            self._context.register_record_batches(TABLE, [[rows]])
            try:
                found = self._context.sql(self._query.sql).to_arrow_table()
            finally:
                self._context.deregister_table(TABLE)
        except BaseException as error:
            if self._failure is not None:
                raise self._failure from None
            if not isinstance(error, Exception) and type(error).__name__ != _PANIC:
                raise
            raise TransformError(f"Sql: the statement failed: {error}") from error
        columns = [_column(found.column(at), kind.type) for at, kind in enumerate(self._query.columns)]
        after = pa.RecordBatch.from_arrays(columns, schema=self._query.columns)
        return after, None if kinds is None else _column(found.column(len(columns)), pa.int8())

    def _noting(self, function: EngineFunction):  # type: ignore[no-untyped-def]
        """Return a wrapper that stores the function's exception, because DataFusion forwards only its message."""

        def run(*columns: pa.Array) -> pa.Array:
            try:
                return function.run(*columns)
            except SeaTunnelError as error:
                self._failure = error
                raise

        return run


def _whole(column: pa.Array) -> pa.Array:
    """Return a column; copy a slice of a nested column, because importing it into DataFusion would end the thread."""
    if column.offset and pa.types.is_nested(column.type):
        return pa.concat_arrays([column.slice(0, 0), column])
    return column


def _column(found: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    column = found.combine_chunks()
    return column if column.type == kind else column.cast(kind)
