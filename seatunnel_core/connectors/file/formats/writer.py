"""Interface of a file format for the sink: a writer for one file."""

from abc import ABC, abstractmethod
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen

from seatunnel_core.connectors.file.formats.names import file_writer
from seatunnel_core.connectors.file.formats.packing import SUFFIXES, modules, packed
from seatunnel_core.connectors.file.formats.written_text import Encoded, Forms


@frozen(kw_only=True)
class FileStyle:
    """Style of written files, according to the options."""

    format: str
    delimiter: str = ","
    line_end: str = "\n"
    null: str = ""
    """String for null in delimited text."""

    header: bool = False
    quote_all: bool = False
    codec: str | None = None
    extension: str | None = None
    encoding: str = "utf-8"
    forms: Forms = field(factory=Forms)
    sheet_name: str = "Sheet1"
    sheet_rows: int | None = None
    """Maximum number of rows in a sheet; ``None`` for the limit of the format."""

    int96: bool = False
    """True if Parquet stores timestamps in the deprecated INT96 type."""

    root_tag: str = "RECORDS"
    row_tag: str = "RECORD"
    attributes: bool = False
    """True if XML stores the values of a row as attributes."""

    @property
    def writer(self) -> "type[FileWriter]":
        """Writer class of the format."""
        return file_writer(self.format)

    @property
    def task_modules(self) -> tuple[str, ...]:
        """Top-level modules that writing imports in addition to pyarrow."""
        return () if self.writer.packs_itself else modules(self.codec)

    @property
    def most_rows(self) -> int:
        """Maximum number of rows in a file."""
        most = self.writer.most_rows
        return min(self.sheet_rows or most, most) if self.format == "excel" else most

    @property
    def suffix(self) -> str:
        """File name extension, with its dot."""
        if self.extension:
            return f".{self.extension.lstrip('.')}"
        outside = self.codec and not self.writer.packs_itself
        return self.writer.suffix + (SUFFIXES[self.codec] if self.codec and outside else "")

    def open(self, stream: pa.NativeFile, columns: pa.Schema) -> "FileWriter":
        """Start a file in ``stream``; closing the writer also closes the stream."""
        return self.writer(self, stream, columns)


class FileWriter(ABC):
    """Writer for one file, which is complete only after ``close``."""

    suffix: ClassVar[str]
    codecs: ClassVar[tuple[str, ...]] = tuple(SUFFIXES)
    """Values of ``compress_codec``, except ``none``."""

    default_codec: ClassVar[str] = "none"
    packs_itself: ClassVar[bool] = False
    """True if the format compresses its data itself, so that the stream must not be compressed."""

    is_text: ClassVar[bool] = True
    """True if the files are text, with an encoding and date formats."""

    most_rows: ClassVar[int] = 2**62
    keeps_names: ClassVar[bool] = False
    """True if the sink keeps the file names that the rows contain."""

    def __init__(self, style: FileStyle, stream: pa.NativeFile, columns: pa.Schema) -> None:
        self.style = style
        self.columns = columns
        self.refuse(columns)
        self.stream = stream
        if style.codec and not self.packs_itself:
            self.stream = packed(self.stream, style.codec)
        if style.encoding != "utf-8" and self.is_text:
            self.stream = pa.PythonFile(Encoded(self.stream, style.encoding), mode="w")

    @classmethod
    def check(cls, style: FileStyle) -> None:
        """Raise ``UsageError`` for an option that the format does not support."""

    @classmethod
    def refuse(cls, columns: pa.Schema) -> None:
        """Raise ``SinkError`` for a column that the format cannot represent."""

    @classmethod
    def prepared(cls, style: FileStyle, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Convert rows to the form for ``write``; raise ``RowError`` for a value that the format cannot represent."""
        return rows

    @abstractmethod
    def write(self, rows: pa.RecordBatch) -> None:
        """Write rows that ``prepared`` has returned."""

    def close(self) -> None:
        """Write the end of the file, and close its stream."""
        self.stream.close()


def write_lines(stream: pa.NativeFile, texts: list[pa.Array], delimiter: str, line_end: str) -> None:
    """Write one line per row, from one string array per column."""
    if not texts or not len(texts[0]):
        return
    lines = pc.binary_join_element_wise(*texts, delimiter)
    everything = pa.ListArray.from_arrays([0, len(lines)], lines)
    stream.write(pc.binary_join(everything, line_end)[0].as_buffer())
    stream.write(line_end.encode())
