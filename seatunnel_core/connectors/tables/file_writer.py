"""Writer for one attempt of a work unit, in a Spark task. It stages rows as Parquet next to the database."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.types as of
from attrs import define

from seatunnel_core.connector_api.batch import Batch
from seatunnel_core.connector_api.errors import RowError, SinkError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.sink import SinkWriter, Staged, WriterContext
from seatunnel_core.connectors.file import sink_options as of_files
from seatunnel_core.connectors.file.formats.style import style_of
from seatunnel_core.connectors.staging.target import Target, unique_name
from seatunnel_core.connectors.tables.absent_values import absent_marks
from seatunnel_core.connectors.tables.fitting import Fitting, written_values
from seatunnel_core.connectors.tables.target import TargetTable
from seatunnel_core.connectors.tables.whole_rows import ends_before_update
from seatunnel_core.rows.columns import kinds_and_numbers, require_arrived
from seatunnel_core.rows.unknown import filled, require_no_values

_STYLE = {"path": "/", "file_format_type": "parquet", "compress_codec": "zstd"}


@define(kw_only=True)
class _Open:
    """A file for one table."""

    target: TargetTable
    name: str
    output: Any
    writer: Any
    has_absent: bool = False
    """True if a row has an absent value."""


class TableFileWriter(SinkWriter):
    """Writer of one file per table of the unit."""

    def __init__(self, tables: Mapping[str, TargetTable], staging: Target, context: WriterContext) -> None:
        """Create a writer; several tables of the rows may have the same target."""
        self._tables = tables
        self._staging = staging
        self._epoch = context.epoch
        self._unique = unique_name(context)
        self._style = style_of(Options(_STYLE, of_files.SINK_OPTIONS))
        self._open: dict[tuple[Any, ...], _Open] = {}
        self._in_update: dict[str, bool] = {}
        """True for tables whose last row is the old row of an update."""

        self._rows = self._bytes = 0
        staging.require(context.epoch)

    def write(self, batch: Batch) -> None:
        target = self._tables[batch.table]
        if not target.has_changes and not batch.inserts_only:
            raise RowError(
                f"{self._staging.who}: {batch.table} has updated or deleted rows, but this sink only adds rows; set "
                "write_mode = merge, or select rows with the FilterRowKind transform"
            )
        if target.whole:
            is_open = self._in_update.get(batch.table, False)
            self._in_update[batch.table] = ends_before_update(batch, self._staging.who, is_open=is_open)
        require_no_values(batch.rows, target.without_values, f"{self._staging.who}: {batch.table}")
        rows = self._fitted(batch, target)
        marks = self._marks(batch, target) if batch.absent else None
        try:
            file = self._file(target)
            if target.has_changes:
                rows = self._numbered(rows, batch, marks, file)
                file.has_absent |= marks is not None
            file.writer.write(rows)
        except (OSError, pa.ArrowException) as error:
            raise self._failed(error) from error
        self._rows += rows.num_rows

    def finish(self) -> Staged:
        try:
            for file in self._open.values():
                file.writer.close()
                self._bytes += file.output.finish().size
            self._staging.make_durable(self._epoch)
        except (OSError, pa.ArrowException) as error:
            raise self._failed(error) from error
        parts = [
            {
                "target": list(file.target.path),
                "columns": file.target.columns.names,
                "key": list(file.target.key),
                "file": file.name,
                **({"absent": file.has_absent} if file.target.key else {}),
                **({"whole": True} if file.target.whole else {}),
                **({"root": list(file.target.root)} if file.target.root else {}),
            }
            for file in self._open.values()
        ]
        return Staged(
            body={"tables": parts},
            rows=self._rows,
            bytes=self._bytes,
            tables={file.target.named: "" for file in self._open.values()},
        )

    def abort(self) -> None:
        for file in self._open.values():
            with suppress(Exception):
                file.writer.close()
            self._staging.discard(self._epoch, file.name)

    def _file(self, target: TargetTable) -> _Open:
        which = (target.path, target.columns, target.key)
        if which not in self._open:
            name = f"{self._unique}-{len(self._open)}.parquet"
            output = self._staging.stage(self._epoch, name, "")
            writer = self._style.open(output.stream, target.staged)
            self._open[which] = _Open(target=target, name=name, output=output, writer=writer)
        return self._open[which]

    def _marks(self, batch: Batch, target: TargetTable) -> pa.StringArray | None:
        """Return the column ``ABSENT`` of a batch; ``None`` if the batch has no absent values."""
        if not target.key:
            require_arrived(batch, self._staging.who)
        key = [name for name, column in zip(target.given, target.columns.names, strict=True) if column in target.key]
        return absent_marks(batch, target.given, key, self._staging.who)

    def _fitted(self, batch: Batch, target: TargetTable) -> pa.RecordBatch:
        """Return the rows with the names and types of the target's columns."""
        by_name = dict(zip(batch.rows.schema.names, batch.rows.columns, strict=True))
        arrays = []
        for column, name in zip(target.columns, target.given, strict=True):
            values, fitting = by_name[name], Fitting(who=self._staging.who, batch=batch, column=name)
            is_key = column.name in target.key
            if is_key or not column.nullable:
                required = values if is_key else written_values(batch, name, values)
                fitting.require_values(required, f"{column.name!r} of {target.named}", is_key=is_key)
            arrays.append(fitting.cast(values, column.type, _exactly))
        return pa.RecordBatch.from_arrays(arrays, schema=target.fitted)

    def _numbered(
        self, rows: pa.RecordBatch, batch: Batch, marks: pa.StringArray | None, file: _Open
    ) -> pa.RecordBatch:
        """Return the rows with their kinds and their numbers in the unit, which order the rows of a key."""
        kinds, numbers = kinds_and_numbers(batch, self._rows)
        marks = pa.nulls(rows.num_rows, pa.string()) if marks is None else marks
        return pa.RecordBatch.from_arrays([*rows.columns, kinds, numbers, marks], schema=file.target.staged)

    def _failed(self, error: Exception) -> SinkError:
        folder = self._staging.staging(self._epoch)
        if isinstance(error, OSError):
            return self._staging.failed("cannot be written", error, folder)
        return SinkError(f"{self._staging.who}: {folder}: {error}")


def _exactly(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast values; raise an error if a value would change."""
    if of.is_integer(values.type) and of.is_decimal(kind):
        values = values.cast(pa.decimal128(38, min(kind.scale, 18)))  # Arrow requires room for all 64-bit numbers
    return filled(values, kind)
