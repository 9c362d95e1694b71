"""Writer for one attempt of a work unit, in a Spark task. It stages rows as data files of the tables."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from attrs import field, frozen

from seatunnel_core.connector_api.batch import Batch
from seatunnel_core.connector_api.errors import RowError, SinkError
from seatunnel_core.connector_api.sink import SinkWriter, Staged, WriterContext
from seatunnel_core.connectors.filesystems.local import sync_file, sync_folder
from seatunnel_core.connectors.iceberg.catalog import may_pass
from seatunnel_core.connectors.iceberg.columns import column_of
from seatunnel_core.connectors.iceberg.partitions import Partition, Parts, parted
from seatunnel_core.connectors.iceberg.staged_tables import part_of_body
from seatunnel_core.connectors.iceberg.staging import local_path
from seatunnel_core.connectors.iceberg.table_ids import TableId
from seatunnel_core.connectors.staging.target import unique_name
from seatunnel_core.connectors.tables.fitting import Fitting, written_values
from seatunnel_core.rows.columns import require_arrived
from seatunnel_core.rows.unknown import require_no_values

OPEN_FILES = 64
"""Maximum number of open files per unit; with more partitions, files are closed early and smaller files result."""

_GROUP_ROWS, _GROUP_BYTES = 65_536, 1 << 20
"""Number of rows, and size in bytes, from which rows are written as a row group."""

_KEPT = 512
"""Maximum number of tables for which a process caches data that is derived from the schema."""


@frozen(kw_only=True)
class StagingTable:
    """Information about a table for a task, so that the task need not access the catalog."""

    id: TableId
    uuid: str
    after: int
    """Last sequence number of the table before any task of this epoch staged a file."""

    folder: str
    """Path of the epoch's folder."""

    schema: str = field(repr=False)
    """Schema of the table in Iceberg's JSON."""

    spec: str = field(repr=False)
    """Partition spec of the table in Iceberg's JSON."""

    key: tuple[str, ...] = ()
    """Columns by which rows are merged; empty if rows are only added."""

    case_sensitive: bool
    properties: Mapping[str, str] = field(repr=False)
    """Properties of the table, overridden by those of the job."""

    io_properties: Mapping[str, Any] = field(repr=False)
    """Properties of the file system, including credentials."""


class IcebergWriter(SinkWriter):
    """Writer that writes Parquet files into the folders of the tables."""

    def __init__(self, tables: Mapping[str, StagingTable], context: WriterContext) -> None:
        """Create a writer; ``tables`` maps each table in the rows to its target, which several tables may share."""
        self._tables = tables
        self._who = f"pipeline {context.pipeline_id}, sink Iceberg"
        self._unique = unique_name(context)
        self._ios: dict[TableId, Any] = {}
        self._open: OrderedDict[tuple[TableId, Partition], OpenFile] = OrderedDict()
        self._files: dict[TableId, list[tuple[str, Partition]]] = {}
        self._paths: list[tuple[StagingTable, str]] = []
        self._rows = self._bytes = 0

    def write(self, batch: Batch) -> None:
        if not batch.inserts_only:
            raise RowError(
                f"{self._who}: the table {batch.table} has updated or deleted rows, but this sink only adds rows; "
                "set write_mode = merge, add the kind of each row as a column with the RowKindExtractor transform, or "
                "select rows with FilterRowKind"
            )
        if batch.absent:
            require_arrived(batch, self._who)
        table = self._tables[batch.table]
        rows = self._fitted(batch, table)
        with self._failing(table):
            for partition, some in parting(table.spec, table.schema)(rows):
                self._file(table, partition).write(some)
        self._rows += rows.num_rows

    def finish(self) -> Staged:
        while self._open:
            self._close(self._open.popitem(last=False)[1])
        more = self._finished()
        for folder in {path.rpartition("/")[0] for path in map(_local, self._paths) if path is not None}:
            sync_folder(folder)
        tables = {table.id: table for table, _ in self._paths}
        parts = [
            part_of_body(
                table.id,
                uuid=table.uuid,
                after=table.after,
                spec=_spec_id(table.spec),
                last_column=_last_column(table.schema),
                files=self._files.get(table.id, []),
            )
            | more.get(table.id, {})
            for table in tables.values()
        ]
        identities = {".".join(table.id): table.uuid for table in tables.values()}
        return Staged(body={"tables": parts}, rows=self._rows, bytes=self._bytes, tables=identities)

    def _finished(self) -> Mapping[TableId, dict[str, Any]]:
        """Write data that requires all rows, and return additional entries for each table in the committable."""
        return {}

    def abort(self) -> None:
        for file in self._open.values():
            with suppress(Exception):
                file.close()
        for table, path in self._paths:
            with suppress(Exception):
                self._io(table).delete(path)

    def _file(self, table: StagingTable, partition: Partition) -> "OpenFile":
        found = self._open.get((table.id, partition))
        if found is not None:
            self._open.move_to_end((table.id, partition))
            return found
        if len(self._open) >= OPEN_FILES:
            self._close(self._open.popitem(last=False)[1])
        found = self._open[table.id, partition] = self._created(table, arrow_columns(table.schema))
        self._files.setdefault(table.id, []).append((found.name, partition))
        return found

    def _created(self, table: StagingTable, columns: pa.Schema) -> "OpenFile":
        number = len(self._paths)
        path = f"{table.folder}/{self._unique}-{number}.parquet"
        self._paths.append((table, path))
        return OpenFile(table, path, number, self._io(table), columns)

    def _io(self, table: StagingTable) -> Any:
        from pyiceberg.io.pyarrow import PyArrowFileIO

        if table.id not in self._ios:
            self._ios[table.id] = PyArrowFileIO(dict(table.io_properties))
        return self._ios[table.id]

    def _close(self, file: "OpenFile") -> None:
        with self._failing(file.table):
            file.close()
            path = local_path(file.table.io_properties, file.path)
            if path is not None:
                sync_file(path)
            self._bytes += len(self._io(file.table).new_input(file.path))

    def _fitted(self, batch: Batch, table: StagingTable) -> pa.RecordBatch:
        rows, sources = batch.rows, _sources(table.schema, batch.rows.schema, table.case_sensitive)
        absent = [name for number, name in enumerate(rows.schema.names) if number not in sources.values()]
        require_no_values(rows, absent, f"{self._who}: {batch.table}")
        columns, arrays = arrow_columns(table.schema), []
        for field_ in columns:
            index = sources.get(field_.name)
            column = pa.nulls(rows.num_rows, field_.type) if index is None else rows.column(index)
            fitting = Fitting(who=self._who, batch=batch, column=field_.name)
            if not field_.nullable:
                fitting.require_values(
                    written_values(batch, field_.name, column), f"{field_.name!r} of {'.'.join(table.id)}", is_key=False
                )
            arrays.append(fitting.cast(column, field_.type))
        return pa.RecordBatch.from_arrays(arrays, schema=columns)

    @contextmanager
    def _failing(self, table: StagingTable) -> Iterator[None]:
        """Convert file errors to a ``SinkError``, marked as retryable if a retry may help."""
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            found = SinkError(f"{self._who}: a data file in {table.folder} cannot be written: {error}")
            found.retryable = may_pass(error)
            raise found from error


class OpenFile:
    """A file that is being written."""

    def __init__(self, table: StagingTable, path: str, number: int, io: Any, columns: pa.Schema) -> None:
        self.table = table
        self.path = path
        self.number = number
        """Index among the unit's files."""

        self._stream = io.new_output(path).create(overwrite=True)
        self._writer = pq.ParquetWriter(self._stream, columns, **_parquet_settings(table.properties))
        self._columns = columns
        self._gathered: list[pa.RecordBatch] = []
        self._gathered_rows = self._gathered_bytes = 0
        self.rows = 0

    @property
    def name(self) -> str:
        """Name in the epoch's folder."""
        return self.path.rpartition("/")[2]

    def write(self, rows: "pa.RecordBatch | pa.Table") -> None:
        """Append rows. Small batches are gathered, because each write makes a row group."""
        self._gathered += rows.to_batches() if isinstance(rows, pa.Table) else [rows]
        self._gathered_rows += rows.num_rows
        self._gathered_bytes += rows.nbytes
        if self._gathered_rows >= _GROUP_ROWS or self._gathered_bytes >= _GROUP_BYTES:
            self._flush()
        self.rows += rows.num_rows

    def _flush(self) -> None:
        if self._gathered:
            self._writer.write_table(pa.Table.from_batches(self._gathered, schema=self._columns))
        self._gathered, self._gathered_rows, self._gathered_bytes = [], 0, 0

    def close(self) -> None:
        """Write the remaining rows and the footer."""
        self._flush()
        self._writer.close()
        self._stream.close()


def _local(staged: tuple[StagingTable, str]) -> str | None:
    table, path = staged
    return local_path(table.io_properties, path)


@lru_cache(_KEPT)
def arrow_columns(schema: str) -> pa.Schema:
    """Return the table's columns with their Iceberg field IDs, which identify the columns in data files."""
    from pyiceberg.schema import Schema

    return Schema.model_validate_json(schema).as_arrow()


@lru_cache(_KEPT)
def parting(spec: str, schema: str) -> Callable[[pa.RecordBatch], Parts]:
    """Return a function that divides rows into the partitions of a table."""
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.schema import Schema

    return parted(PartitionSpec.model_validate_json(spec), Schema.model_validate_json(schema))


@lru_cache(_KEPT)
def _spec_id(spec: str) -> int:
    from pyiceberg.partitioning import PartitionSpec

    return int(PartitionSpec.model_validate_json(spec).spec_id)


@lru_cache(_KEPT)
def _last_column(schema: str) -> int:
    from pyiceberg.schema import Schema

    return int(Schema.model_validate_json(schema).highest_field_id)


@lru_cache(_KEPT)
def _sources(schema: str, rows: pa.Schema, case_sensitive: bool) -> dict[str, int]:
    """Return the index of the column in the rows for each column of the table, keyed by its name."""
    from pyiceberg.schema import Schema

    table = Schema.model_validate_json(schema)
    found = ((column_of(table, name, case_sensitive=case_sensitive), index) for index, name in enumerate(rows.names))
    return {field_.name: index for field_, index in found if field_ is not None}


def _parquet_settings(properties: Mapping[str, str]) -> dict[str, Any]:
    codec = properties.get("write.parquet.compression-codec", "zstd").lower()
    level = properties.get("write.parquet.compression-level", "")
    return {
        "compression": "none" if codec == "uncompressed" else codec,
        "compression_level": int(level) if level.isdigit() else None,
    }
