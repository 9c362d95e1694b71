"""Rows with their kinds, a unit of the sink ``Jdbc`` from its first row to its commit, and the kit's suite of it."""

import gc
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from seatunnel_core.connector_api.sink import Sink, Staged
from seatunnel_core.connector_api.testing import SinkConformance
from seatunnel_core.connector_api.testing.drive import begin, commit, place, sink_place
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.jdbc.sink import JdbcSink
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.kind import RowKind
from seatunnel_core.work.committable import Committable

NEW, BEFORE, AFTER, GONE = RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE
COLUMNS = pa.schema([("id", pa.int64()), ("name", pa.string())])
SCHEMA = TableSchema(table="shop.people", columns=COLUMNS)
EXACT = {"generate_sink_sql": True, "is_exactly_once": True}


class JdbcSinkSuite(SinkConformance):
    sink_class = JdbcSink

    def sink(self) -> Sink:
        """Of a process of its own: what a dead one had open is closed, and locks nothing any more."""
        gc.collect()
        forget()
        return super().sink()

    def emptying(self) -> Mapping[str, Any]:
        return {**self.options(), "data_save_mode": "DROP_DATA"}


def batch(*rows: tuple[Any, ...], schema: TableSchema = SCHEMA) -> Batch:
    """Rows, each with its kind in front."""
    kinds, values = [int(row[0]) for row in rows], [row[1:] for row in rows]
    columns = [pa.array([row[number] for row in values], column.type) for number, column in enumerate(schema.columns)]
    return Batch(
        table=schema.table,
        rows=pa.RecordBatch.from_arrays(columns, schema=schema.columns),
        kinds=pa.array(kinds, pa.int8()),
    )


def write(of: Sink, *batches: Batch, schema: TableSchema = SCHEMA, epoch: int = 1, unit: int = 1) -> None:
    """One unit from its first row to its commit."""
    here = place(epoch=epoch, unit=unit)
    of.prepare(sink_place(here))
    writer = begin(of, schema, here)
    for each in batches:
        writer.write(each)
    committable = stage_of(writer.finish(), epoch, unit)
    commit(of, [committable], here)


def stage_of(staged: Staged, epoch: int = 1, unit: int = 1) -> Committable:
    """The committable of what a writer has staged."""

    return Committable(
        id=f"0-{epoch}-{unit}",
        epoch=epoch,
        unit=unit,
        source="source",
        rows=staged.rows,
        bytes=staged.bytes,
        body=staged.body,
    )


CHANGES: list[tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]] = [
    ([(NEW, 1, "new"), (NEW, 3, "c")], [(1, "new"), (2, "b"), (3, "c")]),
    ([(BEFORE, 1, "a"), (AFTER, 1, "aa"), (AFTER, 1, "aaa")], [(1, "aaa"), (2, "b")]),
    ([(GONE, 1, None), (GONE, 9, None)], [(2, "b")]),
    ([(NEW, 3, "c"), (GONE, 3, "c")], [(1, "a"), (2, "b")]),
    ([(GONE, 1, "a"), (NEW, 1, "again")], [(1, "again"), (2, "b")]),
    ([(BEFORE, 1, "a"), (AFTER, 5, "moved")], [(2, "b"), (5, "moved")]),
]
