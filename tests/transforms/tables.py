"""A small table, and a transform's rows for it as texts that a person can compare."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connector_api.testing.drive import shipped
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.kind import RowKind

PEOPLE = TableSchema(
    table="shop.people",
    columns=pa.schema([("id", pa.int64()), ("name", pa.string()), ("age", pa.int32())]),
    primary_key=("id",),
)
CHANGES = (RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE)
ROWS = [(1, "Joy Ding", 20), (1, "Joy Ding", 20), (1, "Joy Dom", 21), (2, None, None)]


def made(kind: type[Transform], **options: Any) -> Transform:
    """The transform as it arrives in a task."""
    return shipped(kind(options_of(kind, options)))


def batch_of(
    rows: Sequence[Sequence[Any]], schema: TableSchema = PEOPLE, kinds: Sequence[RowKind] | None = None
) -> Batch:
    columns = [[row[at] for row in rows] for at in range(len(schema.columns))]
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema.columns, strict=True)]
    return Batch(
        table=schema.table,
        rows=pa.RecordBatch.from_arrays(arrays, schema=schema.columns),
        kinds=None if kinds is None else pa.array([kind.value for kind in kinds], pa.int8()),
    )


def changed(
    transform: Transform,
    rows: Sequence[Sequence[Any]] = ROWS,
    schema: TableSchema = PEOPLE,
    kinds: Sequence[RowKind] | None = CHANGES,
) -> list[tuple[str, tuple[Any, ...]]]:
    """Kind and values of each row after the transform, which must be what the planned schema announces.

    The rows go through whole, and one by one in slices behind an empty one: a transform must not notice how they are
    cut.
    """
    batch = batch_of(rows, schema, kinds)
    announced = transform.output_schema(schema)
    whole = _passed(transform, [batch], announced)
    parts = [
        Batch(table=batch.table, rows=batch.rows.slice(at, size), kinds=batch.kinds and batch.kinds.slice(at, size))
        for at, size in [(0, 0), *((at, 1) for at in range(len(rows)))]
    ]
    assert _passed(transform, parts, announced) == whole
    return whole


def _passed(
    transform: Transform, batches: Sequence[Batch], announced: TableSchema
) -> list[tuple[str, tuple[Any, ...]]]:
    found = []
    for after in (after for batch in batches for after in transform.apply(batch)):
        assert after.table == announced.table
        assert after.rows.schema.equals(announced.columns)
        after.rows.validate(full=True)
        kinds = [0] * after.rows.num_rows if after.kinds is None else after.kinds.to_pylist()
        values = zip(*(column.to_pylist() for column in after.rows.columns), strict=True)
        found += [(RowKind(kind).name, row) for kind, row in zip(kinds, values, strict=True)]
    return found
