"""Stages the rows of one attempt of one unit in a data file of the table. Runs in a Spark task."""

from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from attrs import field, frozen

from seatunnel_core.connectors.file.staging import sync_file, sync_folder, unique_name
from seatunnel_core.connectors.iceberg.catalog import may_pass
from seatunnel_core.connectors.iceberg.columns import column_of
from seatunnel_core.connectors.iceberg.staging import local_path
from seatunnel_core.connectors.sink import SinkWriter, Staged, StagingPlace
from seatunnel_core.errors import RowError, SinkError
from seatunnel_core.rows.batch import Batch


@frozen(kw_only=True)
class StagingTable:
    """What a task has to know about the table: it never asks the catalog."""

    folder: str
    """Of the epoch."""

    schema: str = field(repr=False)
    """The table's, as Iceberg writes it in JSON."""

    case_sensitive: bool
    properties: Mapping[str, str] = field(repr=False)
    """Of the table, with the job's own."""

    io_properties: Mapping[str, Any] = field(repr=False)
    """Of its file system, credentials included."""


class IcebergWriter(SinkWriter):
    """One Parquet file, which appears under its name when it is finished or is removed."""

    def __init__(self, table: StagingTable, place: StagingPlace) -> None:
        from pyiceberg.io.pyarrow import PyArrowFileIO

        self._table = table
        self._who = f"pipeline {place.pipeline_id}, sink Iceberg"
        self._name = f"{unique_name(place)}.parquet"
        self._path = f"{table.folder}/{self._name}"
        self._io = PyArrowFileIO(dict(table.io_properties))
        self._columns = _arrow_columns(table.schema)
        self._rows = 0
        try:
            self._stream = self._io.new_output(self._path).create(overwrite=True)
            self._file = pq.ParquetWriter(self._stream, self._columns, **_parquet_settings(table.properties))
        except (OSError, pa.ArrowException) as error:
            raise self._failed(error) from error

    def write(self, batch: Batch) -> None:
        if not batch.inserts_only:
            raise RowError(
                f"{self._who}: the table {batch.table} has updated or deleted rows, and rows are appended only; "
                "choose those to keep with the transform FilterRowKind"
            )
        try:
            self._file.write_batch(self._fitted(batch))
        except (OSError, pa.ArrowException) as error:
            raise self._failed(error) from error
        self._rows += batch.rows.num_rows

    def finish(self) -> Staged:
        try:
            self._file.close()
            self._stream.close()
            path = local_path(self._io.properties, self._path)
            if path is not None:
                sync_file(path)
                sync_folder(path.rpartition("/")[0])
            size = len(self._io.new_input(self._path))
        except (OSError, pa.ArrowException) as error:
            raise self._failed(error) from error
        return Staged(body={"files": [self._name]}, rows=self._rows, bytes=size)

    def abort(self) -> None:
        with suppress(Exception):
            self._file.close()
            self._stream.close()
        with suppress(Exception):
            self._io.delete(self._path)

    def _fitted(self, batch: Batch) -> pa.RecordBatch:
        """The rows with the columns, types and field ids of the table."""
        rows, sources = batch.rows, _sources(self._table.schema, batch.rows.schema, self._table.case_sensitive)
        arrays = []
        for field_ in self._columns:
            index = sources.get(field_.name)
            column = pa.nulls(rows.num_rows, field_.type) if index is None else rows.column(index)
            if not field_.nullable and column.null_count:
                row = column.is_null().index(True).as_py()
                raise RowError(
                    f"{self._who}: column {field_.name!r} of the table is required, and row {row + 1} of a batch of "
                    f"{batch.table} has null there"
                )
            try:
                arrays.append(column if index is None else column.cast(field_.type))
            except pa.ArrowException as error:
                raise RowError(f"{self._who}: column {field_.name!r} of {batch.table}: {error}") from error
        return pa.RecordBatch.from_arrays(arrays, schema=self._columns)

    def _failed(self, error: Exception) -> SinkError:
        found = SinkError(f"{self._who}: {self._path} cannot be written: {error}")
        found.retryable = may_pass(error)
        return found


@lru_cache(64)
def _arrow_columns(schema: str) -> pa.Schema:
    """With Iceberg's field ids, by which a table finds the columns of a file."""
    from pyiceberg.schema import Schema

    return Schema.model_validate_json(schema).as_arrow()


@lru_cache(64)
def _sources(schema: str, rows: pa.Schema, case_sensitive: bool) -> dict[str, int]:
    """By column of the table: which column of the rows goes into it."""
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
