"""The format ``binary``: copies files of any kind byte by byte and keeps their names.

A row is one part of a file: ``data``, ``relativePath`` below the source's folder, and ``partIndex`` from 0. The sink
joins the parts, which must arrive in order and in one work unit, so a split is a whole file.
"""

import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar

import pyarrow as pa
from attrs import define, field

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import RowError, SinkError, SourceError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.sink import SinkWriter, Staged, WriterContext
from seatunnel_core.connector_api.source import PlanningContext, ReadContext
from seatunnel_core.connectors.file import source_options as opt
from seatunnel_core.connectors.file.file_layout import FileLayout
from seatunnel_core.connectors.file.formats.source_format import Piece, SourceFormat
from seatunnel_core.connectors.file.formats.writer import FileWriter
from seatunnel_core.connectors.filesystems.filesystem import FileVersion, OpenFile, StagedOutput
from seatunnel_core.connectors.filesystems.staged_name import STAGING
from seatunnel_core.connectors.staging.table_names import table_folder
from seatunnel_core.connectors.staging.target import unique_name
from seatunnel_core.rows.types import type_name

COLUMNS = pa.schema([("data", pa.binary()), ("relativePath", pa.string()), ("partIndex", pa.int64())])

_LONGEST_NAME = 255
_OPEN_FILES = 64
"""Maximum number of open files; opening another one closes the oldest."""

_MOST_BYTES = 2**31 - 2
"""Maximum size of a value in bytes; offsets of an Arrow column have 32 bits."""


class Binary(SourceFormat):
    """The format ``binary``. Each file is one split, even an empty one."""

    typed = True

    def __init__(self, name: str, options: Options) -> None:
        super().__init__(name, options)
        if not options[opt.CHUNK_SIZE]:
            raise UsageError("option 'binary_chunk_size': expected at least 1 byte, found 0")

    def columns_of(self, declared: pa.Schema | None) -> pa.Schema | None:
        if declared is not None and not declared.equals(COLUMNS):
            raise SourceError(f"binary files always have the columns {', '.join(COLUMNS.names)}; remove schema")
        return COLUMNS

    def pieces(
        self, version: FileVersion, examined: Sequence[Mapping[str, Any]], columns: pa.Schema, planning: PlanningContext
    ) -> Iterator[Piece]:
        yield {}, version.size, max(-(-version.size // self._step(version)), 1)

    def infer(self, file: OpenFile) -> pa.Schema:
        return COLUMNS

    def read(
        self, file: OpenFile, body: Mapping[str, Any], columns: pa.Schema, wanted: pa.Schema, context: ReadContext
    ) -> Iterator[pa.RecordBatch]:
        size, step = file.version.size, self._step(file.version)
        name = os.path.relpath(file.version.path, self.files.fixed_part(self.files.named(self.options[opt.PATH])))
        if any("\udc80" <= sign <= "\udcff" for sign in name):  # Bytes that Python could not decode.
            raise SourceError(
                f"{file.version.path!a}: the file name is not UTF-8, and cannot be stored in a column; rename the file"
            )
        for part, start in enumerate(range(0, max(size, 1), step)):
            data = file.read_range(start, min(start + step, size))
            yield pa.record_batch([[data], [name], [part]], schema=COLUMNS).select(wanted.names)
        file.check()

    def _step(self, version: FileVersion) -> int:
        if not self.options[opt.COMPLETE_FILE]:
            return int(self.options[opt.CHUNK_SIZE])
        if version.size > _MOST_BYTES:
            raise SourceError(
                f"{version.path} has {version.size} bytes, but a row must be smaller than 2 GiB; remove "
                "binary_complete_file_mode"
            )
        return max(version.size, 1)


class BinaryFileWriter(FileWriter):
    """Properties of the format for the sink; ``BinarySinkWriter`` writes the files."""

    suffix: ClassVar[str] = ""
    is_text: ClassVar[bool] = False
    codecs: ClassVar[tuple[str, ...]] = ()
    keeps_names: ClassVar[bool] = True

    @classmethod
    def refuse(cls, columns: pa.Schema) -> None:
        for column in COLUMNS:
            found = columns.field(column.name).type if column.name in columns.names else None
            if found != column.type:
                raise SinkError(
                    "binary files are written from the columns data (bytes), relativePath (string) and partIndex "
                    f"(bigint), but the column {column.name} is "
                    f"{'missing' if found is None else f'a {type_name(found)}'}; read the files with "
                    "file_format_type = binary"
                )

    def write(self, rows: pa.RecordBatch) -> None:
        raise NotImplementedError("BinarySinkWriter writes them")


class BinarySinkWriter(SinkWriter):
    """Writer for one attempt of a work unit. It joins the parts of files in the staging folder."""

    def __init__(self, layout: FileLayout, schemas: Sequence[TableSchema], context: WriterContext) -> None:
        self._target = layout.target(context)
        self._folders = {schema.table: table_folder(layout.template, schema) for schema in schemas}
        self._epoch = context.epoch
        self._staging = self._target.staging(context.epoch)
        self._unique = unique_name(context)
        self._files: dict[str, _Copy] = {}
        """Open files by path below the target."""

        self._open: deque[_Copy] = deque()
        self._rows = self._bytes = 0
        self._target.require(context.epoch)

    def write(self, batch: Batch) -> None:
        folder = self._folders[batch.table]
        columns = [batch.rows.column(name) for name in COLUMNS.names]
        try:
            for data, path, part in zip(*columns, strict=True):
                self._append(folder, path.as_py(), part.as_py(), data.as_buffer())
        except OSError as error:
            raise self._failed(error) from error

    def finish(self) -> Staged:
        try:
            for copy in self._files.values():
                copy.finish()
            self._target.make_durable(self._epoch)
        except OSError as error:
            raise self._failed(error) from error
        files = [[copy.staged, *os.path.split(name), *copy.receipts] for name, copy in self._files.items()]
        return Staged(body={"files": files}, rows=self._rows, bytes=self._bytes)

    def abort(self) -> None:
        for copy in self._files.values():
            with suppress(OSError):
                copy.output.stream.close()
            self._target.discard(self._epoch, copy.staged)

    def _failed(self, error: OSError) -> SinkError:
        return self._target.failed("cannot be written", error, self._staging)

    def _append(self, folder: str, path: str | None, part: int | None, data: pa.Buffer | None) -> None:
        name = "/".join(filter(None, (folder, self._checked(path))))
        copy = self._files.get(name) or self._begun(name)
        if part != copy.parts or data is None or copy.finished:
            found = "data is null" if data is None else f"partIndex is {part}, expected {copy.expected}"
            raise RowError(
                f"{self._target.who}, file {path!r}: {found}; the pieces of a file must arrive once and in order. "
                "Do not use a transform that removes or reorders rows, and do not write two files with the same "
                "relativePath"
            )
        copy.output.stream.write(data)
        copy.parts += 1
        self._rows += 1
        self._bytes += data.size

    def _begun(self, name: str) -> "_Copy":
        final = self._target.path("", name)
        if self._target.files.exists(final):
            raise SinkError(
                f"{self._target.who}: {final} already exists, and binary files keep their names; move the existing "
                "file, or set data_save_mode = DROP_DATA"
            )
        staged = f"{self._unique}-{len(self._files)}"
        output = self._target.stage(self._epoch, staged, *os.path.split(name))
        found = self._files[name] = _Copy(staged, output, self._target.files.gives_receipts)
        self._open.append(found)
        if len(self._open) > _OPEN_FILES:
            self._open.popleft().finish()
        return found

    def _checked(self, path: str | None) -> str:
        parts = path.split("/") if path else [""]
        if {"", ".", ".."}.intersection(parts) or STAGING in parts[:1] or "\0" in (path or ""):
            raise RowError(f"{self._target.who}, column 'relativePath': {path!r} is not a path below the target")
        if max(len(part.encode()) for part in parts) > _LONGEST_NAME:
            problem = f"{path!r} contains a name of more than {_LONGEST_NAME} bytes; shorten the name"
            raise RowError(f"{self._target.who}, column 'relativePath': {problem}")
        return "/".join(parts)


@define
class _Copy:
    staged: str
    """File name in the staging folder."""

    output: StagedOutput
    wants_receipt: bool
    parts: int = 0
    finished: bool = False
    receipts: list[Any] = field(factory=list)
    """Values that the committable stores for the file in addition to its names."""

    @property
    def expected(self) -> str:
        return "no more pieces" if self.finished else str(self.parts)

    def finish(self) -> None:
        if not self.finished:
            self.finished = True
            self.output.stream.close()
            receipt = self.output.finish()
            self.receipts += [dict(receipt.body)] * self.wants_receipt
