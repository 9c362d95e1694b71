"""Writer for a work unit with ``write_mode = merge``, in a Spark task. It stages keys in addition to rows."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_core.connector_api.batch import Batch, RowKind
from seatunnel_core.connector_api.sink import WriterContext
from seatunnel_core.connectors.iceberg.partitions import Partition
from seatunnel_core.connectors.iceberg.staged_tables import written_files
from seatunnel_core.connectors.iceberg.table_ids import TableId
from seatunnel_core.connectors.iceberg.writer import IcebergWriter, StagingTable, arrow_columns, parting
from seatunnel_core.connectors.tables.fitting import Fitting
from seatunnel_core.rows.columns import require_arrived

POSITIONS = pa.schema(
    [
        pa.field("file_path", pa.string(), nullable=False, metadata={"PARQUET:field_id": "2147483546"}),
        pa.field("pos", pa.int64(), nullable=False, metadata={"PARQUET:field_id": "2147483545"}),
    ]
)
"""Columns of a position delete file, as Iceberg defines them."""

_NUMBER, _STAYS = "\0number", "\0stays"
_AT, _PLACE = "\0file", "\0place"
"""Names of internal columns, which cannot clash with the columns of a table."""


class MergingWriter(IcebergWriter):
    """Writer for rows and their keys. It keeps the unit's keys in memory, but no other columns."""

    def __init__(self, tables: Mapping[str, StagingTable], context: WriterContext) -> None:
        super().__init__(tables, context)
        self._keys: dict[tuple[TableId, Partition], list[pa.RecordBatch]] = {}
        self._by_id = {table.id: table for table in tables.values()}

    def write(self, batch: Batch) -> None:
        if batch.absent:
            require_arrived(batch, self._who, only_new_rows=True)
        table = self._tables[batch.table]
        rows = self._numbered(self._fitted(batch, table), batch, table)
        with self._failing(table):
            if not rows.num_rows:
                return
            for partition, some in parting(table.spec, table.schema)(rows):
                keys = some.select([*table.key, _NUMBER])
                at, places = self._place(table, partition, some)
                keys = keys.append_column(_AT, at).append_column(_PLACE, places)
                self._keys.setdefault((table.id, partition), []).append(keys)
        self._rows += rows.num_rows

    def _numbered(self, rows: pa.RecordBatch, batch: Batch, table: StagingTable) -> pa.RecordBatch:
        """Add to each row its number in the unit, and a flag that is False for deleted keys."""
        for name in table.key:
            fitting = Fitting(who=self._who, batch=batch, column=name)
            fitting.require_values(rows.column(name), f"{name!r} of {'.'.join(table.id)}", is_key=True)
        staying = pa.array([int(RowKind.INSERT), int(RowKind.UPDATE_AFTER)], pa.int8())
        stays = pa.repeat(True, rows.num_rows) if batch.kinds is None else pc.is_in(batch.kinds, value_set=staying)
        numbers = pa.array(range(self._rows, self._rows + rows.num_rows), pa.int64())
        return rows.append_column(_NUMBER, numbers).append_column(_STAYS, stays)

    def _place(self, table: StagingTable, partition: Partition, some: pa.RecordBatch) -> tuple[pa.Array, pa.Array]:
        """Write the rows except deleted keys; return each row's file index and position, null for deleted keys."""
        stays = some.column(_STAYS)
        if not stays.true_count:
            return pa.nulls(len(stays), pa.int32()), pa.nulls(len(stays), pa.int64())
        written = some.select(arrow_columns(table.schema).names).filter(stays)
        file = self._file(table, partition)
        places = pc.add(pc.cumulative_sum(stays.cast(pa.int64())), file.rows - 1)
        file.write(pa.RecordBatch.from_arrays(written.columns, schema=arrow_columns(table.schema)))
        at = pc.if_else(stays, pa.scalar(file.number, pa.int32()), pa.scalar(None, pa.int32()))
        return at, pc.if_else(stays, places, pa.scalar(None, pa.int64()))

    def _finished(self) -> Mapping[TableId, dict[str, Any]]:
        found: dict[TableId, dict[str, Any]] = {}
        for (table_id, partition), batches in self._keys.items():
            table = self._by_id[table_id]
            part = found.setdefault(table_id, {"keys": [], "positions": [], "by": list(table.key)})
            keys = pa.Table.from_batches(batches)
            last = keys.group_by(list(table.key)).aggregate([(_NUMBER, "max")])
            part["keys"] += written_files([(self._written_keys(table, last), partition)])
            replaced = _replaced(keys, last)
            if replaced.num_rows:
                part["positions"] += written_files([(self._written_places(table, replaced), partition)])
        return found

    def _written_keys(self, table: StagingTable, keys: pa.Table) -> str:
        columns = arrow_columns(table.schema)
        columns = pa.schema([columns.field(name) for name in table.key])
        return self._written(table, pa.Table.from_arrays([keys.column(name) for name in table.key], schema=columns))

    def _written_places(self, table: StagingTable, replaced: pa.Table) -> str:
        paths = pa.array([path for _, path in self._paths])
        rows = pa.table([paths.take(replaced[_AT].combine_chunks()), replaced[_PLACE]], schema=POSITIONS)
        return self._written(table, rows.sort_by([(name, "ascending") for name in POSITIONS.names]))

    def _written(self, table: StagingTable, rows: pa.Table) -> str:
        with self._failing(table):
            file = self._created(table, rows.schema)
            file.write(rows)
        self._close(file)
        return file.name


def _replaced(keys: pa.Table, last: pa.Table) -> pa.Table:
    """Return the written rows whose keys occur again later in the unit."""
    if last.num_rows == keys.num_rows:
        return keys.slice(0, 0)
    newest = pc.is_in(keys[_NUMBER], value_set=last[f"{_NUMBER}_max"].combine_chunks())
    return keys.filter(pc.and_(pc.invert(newest), keys[_AT].is_valid()))
