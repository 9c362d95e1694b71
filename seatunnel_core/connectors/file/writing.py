"""Writer for one attempt of a work unit. It stages rows in files, several of which may be open at a time."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import RowError, SinkError
from seatunnel_core.connector_api.sink import SinkWriter, Staged, WriterContext
from seatunnel_core.connectors.file import sink_options as opt
from seatunnel_core.connectors.file.file_layout import Destination, FileLayout
from seatunnel_core.connectors.file.formats.writer import FileWriter
from seatunnel_core.connectors.file.formats.written_text import require_encodable
from seatunnel_core.connectors.filesystems.filesystem import StagedOutput
from seatunnel_core.connectors.staging.naming import file_name, folders
from seatunnel_core.connectors.staging.target import unique_name

OPEN_FILES = 64
"""Maximum number of open files per work unit. With more partitions, files are closed early and smaller files result."""


class FileSinkWriter(SinkWriter):
    """Writer that stages the rows of one attempt of a work unit in files."""

    def __init__(self, layout: FileLayout, schemas: Sequence[TableSchema], context: WriterContext) -> None:
        self._layout = layout
        self._target = layout.target(context)
        self._epoch = context.epoch
        self._folder = self._target.staging(context.epoch)
        self._unique = unique_name(context)
        self._columns = {schema.table: self._written(schema) for schema in schemas}
        self._destinations = {schema.table: layout.destination_of(schema) for schema in schemas}
        single = layout.options[opt.SINGLE_FILE]
        most = layout.style.most_rows
        self._rows_per_file = most if single else min(layout.options[opt.BATCH_SIZE], most)
        self._open: OrderedDict[Destination, _OpenFile] = OrderedDict()
        self._files: dict[str, list[Any]] = {}
        """Entries of the committable, by file name."""

        self._rows = self._bytes = 0
        self._target.require(context.epoch)

    def write(self, batch: Batch) -> None:
        """Write a batch, after checking that the format can represent all its rows."""
        if not batch.inserts_only:
            raise SinkError(
                f"{self._target.who}: the table {batch.table} has updated or deleted rows, but files accept only "
                "inserted rows; add the kind of each row as a column with the RowKindExtractor transform, or select "
                "rows with FilterRowKind"
            )
        try:
            for destination, columns, rows in list(self._parts(batch)):
                self._write(destination, columns, rows)
        except RowError as error:
            raise RowError(f"{self._target.who}, {error}", column=error.column) from error
        except SinkError as error:
            raise SinkError(f"{self._target.who}: {error}") from error
        except (OSError, pa.ArrowException) as error:
            raise self._failed(error) from error
        self._rows += batch.rows.num_rows

    def finish(self) -> Staged:
        try:
            if self._layout.options[opt.EMPTY_FILE] and not self._files and not self._layout.partition_by:
                for table, columns in self._columns.items():
                    self._file(self._destinations[table], columns)
            while self._open:
                self._close_oldest()
            self._target.make_durable(self._epoch)
        except (OSError, pa.ArrowException) as error:
            raise self._failed(error) from error
        return Staged(body={"files": list(self._files.values())}, rows=self._rows, bytes=self._bytes)

    def abort(self) -> None:
        for file in self._open.values():
            with suppress(Exception):
                file.writer.close()
        for name in self._files:
            self._target.discard(self._epoch, name)

    def _written(self, schema: TableSchema) -> pa.Schema:
        try:
            self._layout.check_schema(schema)
        except SinkError as error:
            raise SinkError(f"{self._target.who}: {error}") from error
        return self._layout.written(schema)

    def _parts(self, batch: Batch) -> Iterator[tuple[Destination, pa.Schema, pa.RecordBatch]]:
        """Yield the destination, the columns and the prepared rows for each file."""
        chosen = self._columns[batch.table]
        folder, expression = self._destinations[batch.table]
        if not self._layout.partition_by:
            yield (folder, expression), *self._prepared(batch.rows.select(chosen.names))
            return
        rows, columns = batch.rows, chosen
        named = folders(rows, self._layout.partition_by, self._layout.options[opt.PARTITION_DIR]).dictionary_encode()
        order = pc.sort_indices(named.indices)
        sorted_rows, sorted_names = rows.select(columns.names).take(order), named.indices.take(order)
        start = 0
        for run in pc.run_end_encode(sorted_names).run_ends.to_pylist():
            name = named.dictionary[sorted_names[start].as_py()].as_py()
            destination = "/".join(part for part in (folder, name) if part), expression
            yield destination, *self._prepared(sorted_rows.slice(start, run - start))
            start = run

    def _prepared(self, rows: pa.RecordBatch) -> tuple[pa.Schema, pa.RecordBatch]:
        style = self._layout.style
        rows = style.forms.apply(rows) if style.writer.is_text else rows
        prepared = style.writer.prepared(style, rows)
        if style.writer.is_text and style.encoding != "utf-8":
            require_encodable(rows, style.encoding)
        return rows.schema, prepared

    def _write(self, destination: Destination, columns: pa.Schema, rows: pa.RecordBatch) -> None:
        while rows.num_rows:
            try:
                file = self._file(destination, columns)
                some = rows.slice(0, self._rows_per_file - file.rows)
                file.writer.write(some)
            except UnicodeEncodeError as error:
                characters = error.object[error.start : error.end]
                names = ", ".join(name for name in columns.names if characters in name)
                raise SinkError(
                    f"the column name {names} contains {characters!r}, which {self._layout.style.encoding} "
                    "cannot represent; rename the column with FieldMapper, or set encoding = UTF-8"
                ) from error
            file.rows += some.num_rows
            rows = rows.slice(some.num_rows)
            if file.rows >= self._rows_per_file:
                self._close(self._open.pop(destination))

    def _file(self, destination: Destination, columns: pa.Schema) -> "_OpenFile":
        found = self._open.get(destination)
        if found is not None:
            self._open.move_to_end(destination)
            return found
        if len(self._open) >= OPEN_FILES:
            self._close_oldest()
        folder, expression = destination
        time_format, suffix = self._layout.options[opt.TIME_FORMAT], self._layout.style.suffix
        name = file_name(expression, time_format, self._unique, len(self._files), suffix)
        self._files[name] = [name, folder]
        output = self._target.stage(self._epoch, name, folder)
        found = self._open[destination] = _OpenFile(name, output, self._layout.style.open(output.stream, columns))
        return found

    def _close_oldest(self) -> None:
        self._close(self._open.popitem(last=False)[1])

    def _close(self, file: "_OpenFile") -> None:
        file.writer.close()
        receipt = file.output.finish()
        self._bytes += receipt.size
        if self._layout.files.gives_receipts:
            self._files[file.name].append(dict(receipt.body))

    def _failed(self, error: Exception) -> SinkError:
        if isinstance(error, OSError):
            return self._target.failed("cannot be written", error, self._folder)
        return SinkError(f"{self._target.who}: {self._folder}: {error}")


class _OpenFile:
    """A file to which rows are being written."""

    def __init__(self, name: str, output: StagedOutput, writer: FileWriter) -> None:
        self.name = name
        self.output = output
        self.writer = writer
        self.rows = 0
