"""The line-based formats ``csv``, ``text`` and ``json``, read in byte ranges that end at row boundaries."""

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise
from typing import Any, ClassVar

import pyarrow as pa

from seatunnel_core import stored
from seatunnel_core.connector_api.errors import SourceError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.source import PlanningContext, ReadContext
from seatunnel_core.connectors.file import source_options as opt
from seatunnel_core.connectors.file.formats import json_lines
from seatunnel_core.connectors.file.formats.cutting import SplitPlan, file_ranges
from seatunnel_core.connectors.file.formats.delimited import inference, nested_text
from seatunnel_core.connectors.file.formats.delimited.delimiter import text_or_pattern
from seatunnel_core.connectors.file.formats.delimited.dialect import Dialect, check_delimiter
from seatunnel_core.connectors.file.formats.delimited.header import LOOKED_AT_BYTES as HEADER_BYTES
from seatunnel_core.connectors.file.formats.delimited.header import noting_names, seems_header
from seatunnel_core.connectors.file.formats.delimited.reader import DelimitedReader
from seatunnel_core.connectors.file.formats.packing import modules
from seatunnel_core.connectors.file.formats.row_batches import Texts
from seatunnel_core.connectors.file.formats.source_format import Piece, SourceFormat, typical_row_bytes
from seatunnel_core.connectors.filesystems.filesystem import FileVersion, OpenFile
from seatunnel_core.connectors.schema_options import MAX_NESTING, SCHEMA_CONTRACT, SCHEMA_SAMPLE, nesting_of
from seatunnel_core.rows.inference.fitting import Fitting
from seatunnel_core.rows.inference.looking import infer_shape
from seatunnel_core.rows.inference.shape import Shape
from seatunnel_core.rows.nesting import ROW_ID
from seatunnel_core.rows.schema_block import declared_table
from seatunnel_core.rows.unknown import marked

INFERENCE_BYTES = 16 << 20
"""Number of bytes at the beginning of a text file from which columns and types are inferred."""

LOOKED_AT_BYTES = 8 << 20
"""Number of bytes of a JSON file that a task inspects to infer columns and types, which takes about 0.25 s."""

_WINDOW = 64 << 10

_NEVER = "\x1c"
"""Delimiter that does not occur in text, for reading whole lines."""


class TextRanges(SourceFormat):
    """Base class of the line-based formats. A split has ``start`` and ``end`` in bytes."""

    def __init__(self, name: str, options: Options) -> None:
        super().__init__(name, options)
        self.dialect = self._dialect()
        self.dialect.check()
        self.task_modules = modules(self.dialect.compression)
        self._plan = SplitPlan(dialect=self.dialect, split_size=options[opt.SPLIT_SIZE], enabled=options[opt.SPLIT])

    @property
    def _infers_columns(self) -> bool:
        """True if columns are inferred from files instead of declared by the job."""
        return declared_table(self.options[opt.SCHEMA_BLOCK]) is None

    @abstractmethod
    def _dialect(self) -> Dialect:
        """Return the dialect that the options define."""

    def _packing(self) -> dict[str, Any]:
        codec = self.options[opt.COMPRESS]
        return {"encoding": self.options[opt.ENCODING], "compression": None if codec == "none" else codec}

    # -- planning -------------------------------------------------------------------------------------------------

    def must_inspect(self, version: FileVersion, planning: PlanningContext) -> bool:
        return self._plan.must_examine(version, planning)

    def chunks(self, version: FileVersion, planning: PlanningContext) -> Sequence[tuple[int, int]]:
        return self._plan.chunks(version, planning)

    def examine(self, file: OpenFile, start: int, end: int, planning: PlanningContext) -> dict[str, Any]:
        if not self._plan.must_examine(file.version, planning):
            return {}
        return self._plan.examine(file, start, end, planning)

    def pieces(
        self, version: FileVersion, examined: Sequence[Mapping[str, Any]], columns: pa.Schema, planning: PlanningContext
    ) -> Iterator[Piece]:
        if not version.size:
            return
        rows = sum(chunk.get("rows", 0) for chunk in examined)
        bytes_per_row = version.size / rows if rows else typical_row_bytes(columns)
        known = [dict(chunk) for chunk in examined if "rows" in chunk]
        for start, end in file_ranges(self._plan, version, known, planning):
            yield {"start": start, "end": end}, end - start, math.ceil((end - start) / bytes_per_row)

    def whole(self, file: OpenFile) -> dict[str, Any]:
        return {"start": 0, "end": file.version.size}

    def where(self, bodies: Sequence[Mapping[str, Any]]) -> str:
        return f"bytes {stored.number(bodies[0], 'start')} to {stored.number(bodies[-1], 'end')}"

    # -- in tasks -------------------------------------------------------------------------------------------------

    def _aligned(self, file: OpenFile, body: Mapping[str, Any], first: int) -> tuple[int, int]:
        """Return the range of the lines that start in a split; the file's first row is at ``first``."""
        end = stored.number(body, "end")
        if not self.dialect.seekable:
            return first, end
        start, end = _line_start(file, stored.number(body, "start")), _line_start(file, end)
        return max(start, first), max(end, first)

    def _beginning(self, file: OpenFile, start: int, most: int) -> bytes:
        """Return whole lines from the beginning of the text, at most ``most`` bytes."""
        if self.dialect.seekable:
            text = file.read_range(start, min(start + most, file.version.size))
        else:
            with self.dialect.text_stream(file, start) as stream:
                text = bytes(stream.read(most))
        return text if len(text) < most else _whole_rows(text, self.dialect)


class JsonLines(TextRanges):
    """Format with one JSON object per line."""

    def _dialect(self) -> Dialect:
        Texts.of(self.options)  # Rejects an unsupported format.
        return Dialect(quote="", **self._packing())

    def infer(self, file: OpenFile) -> pa.Schema:
        return self._identified(
            json_lines.infer(self._beginning(file, 0, INFERENCE_BYTES), self.dialect, self.options[MAX_NESTING])
        )

    def columns_of(self, declared: pa.Schema | None) -> pa.Schema | None:
        return None if declared is None else self._identified(declared)

    def _identified(self, columns: pa.Schema) -> pa.Schema:
        """Return the columns, preceded by a row ID if lists become tables."""
        try:
            return nesting_of(self.options).identified(columns)
        except ValueError as error:
            raise SourceError(str(error)) from None

    def read(
        self, file: OpenFile, body: Mapping[str, Any], columns: pa.Schema, wanted: pa.Schema, context: ReadContext
    ) -> Iterator[pa.RecordBatch]:
        start, end = self._aligned(file, body, 0)
        sampled = self._infers_columns and self._sampled is not None
        identified = wanted.names[:1] == [ROW_ID] and nesting_of(self.options).identifies
        read = columns if sampled else wanted
        read = read.remove(0) if identified else read
        reader = json_lines.JsonLinesReader(
            dialect=self.dialect,
            columns=read,
            texts=Texts.of(self.options),
            fitting=self._fitting(read, columns) if self._infers_columns else None,
            sampled=sampled,
            identified=identified,
            file=file,
            context=context,
        )
        return (rows.select(wanted.names) for rows in reader.read(start, end))

    # -- columns --------------------------------------------------------------------------------------------------

    def _fitting(self, read: pa.Schema, columns: pa.Schema) -> Fitting:
        """Return the converter from objects to rows with the columns to read; ``columns`` are all inferred columns."""
        return Fitting(
            read,
            self.options[SCHEMA_CONTRACT],
            self.sample(),
            known=columns.names,
            child_tables=nesting_of(self.options).identifies,
        )

    @property
    def _sampled(self) -> int | None:
        """Return the number of rows of each file to inspect; ``None`` for all."""
        return self.options[SCHEMA_SAMPLE]  # type: ignore[no-any-return]

    def sample(self) -> str:
        return "all rows of all files" if self._sampled is None else f"first {self._sampled:,} rows of each file"

    def chunks(self, version: FileVersion, planning: PlanningContext) -> Sequence[tuple[int, int]]:
        if not self._infers_columns or self._sampled is not None or not self._plan.splittable:
            return super().chunks(version, planning)
        places = [*range(0, version.size, min(self._plan.piece(planning), LOOKED_AT_BYTES)), version.size]
        return list(pairwise(places)) or [(0, 0)]

    def found(self, file: OpenFile, start: int, end: int) -> Any:
        first, last = self._aligned(file, {"start": start, "end": end}, 0)
        lines = (line for piece in json_lines.pieces(self.dialect, file, first, last) for line in piece.splitlines())
        written = (line for line in lines if line.strip())
        some = next(written, None)
        shape = infer_shape(
            islice(chain([] if some is None else [some], written), self._sampled), self.options[MAX_NESTING]
        )
        file.check()
        return None if some is None else shape.body()

    def columns_found(self, found: Sequence[Any]) -> pa.Schema:
        whole = Shape()
        for body in found:
            whole.unite(Shape.of(body))
        if not whole.kinds:
            raise SourceError(
                f"{self.options[opt.PATH]}: no line is a JSON object, so the columns cannot be inferred; write each "
                "object on one line, for example with jq -c '.[]' for a list, or jq -c . for other JSON"
            )
        return self._identified(whole.columns())


class Text(TextRanges):
    """Delimited text format without quotes. If there is no schema, each line is one value."""

    header_option: ClassVar[str] = "skip_header_row_number = 1"
    """Option that declares a header, for messages."""

    def columns_of(self, declared: pa.Schema | None) -> pa.Schema | None:
        problem = nested_text.unfit(declared) if declared is not None else None
        if problem:
            raise SourceError(f"{problem}, and cannot be read from {self.name}; read it as a string, or use json")
        return self._without_schema() if declared is None else declared

    def _without_schema(self) -> pa.Schema | None:
        return pa.schema([pa.field("content", pa.string())])

    def _dialect(self) -> Dialect:
        if self._infers_columns:
            return Dialect(delimiter=_NEVER, quote="", **self._shared())
        text, pattern = text_or_pattern(self.options[opt.FIELD_DELIMITER] or "\x01")
        return Dialect(delimiter=check_delimiter(text), pattern=pattern, quote="", **self._shared())

    @property
    def _ragged(self) -> bool:
        """True if lines may have fewer values than columns, as in SeaTunnel; False if ``row_errors`` is set."""
        return not self.options.is_set(opt.ROW_ERRORS)

    def _shared(self) -> dict[str, Any]:
        return {
            "null_marker": self.options[opt.NULL_FORMAT],
            "keeps_empty": self.options[opt.EMPTY_VALUE] == "TEXT",
            "skip_lines": self.options[opt.SKIP_HEADER],
            "date_format": self.options[opt.DATE_FORMAT],
            "datetime_format": self.options[opt.DATETIME_FORMAT],
            **self._packing(),
        }

    def infer(self, file: OpenFile) -> pa.Schema:
        names, start = self.dialect.preamble(file)
        text = self._beginning(file, start, INFERENCE_BYTES)
        found = inference.infer(text, names, self.dialect, ragged=self._ragged)
        return pa.schema([marked(name, kind) for name, kind in found.items()])

    def read(
        self, file: OpenFile, body: Mapping[str, Any], columns: pa.Schema, wanted: pa.Schema, context: ReadContext
    ) -> Iterator[pa.RecordBatch]:
        header, first = self.dialect.preamble(file)
        start, end = self._aligned(file, body, first)
        if start >= end and self.dialect.seekable:
            return iter(())
        names = header if header is not None else columns.names
        present = self.present(wanted, names, f"{file.version.path}: the header has no column")
        reader = DelimitedReader(
            dialect=self.dialect,
            names=tuple(names),
            columns=present,
            header_option=self.header_option,
            ragged=self._ragged,
            inferred=self._infers_columns,
            file=file,
            context=context,
        )
        rows = reader.read(start, end)
        if header is None and start == first and not (self.dialect.skip_lines or self._infers_columns):
            return noting_names(rows, file.version.path, self.header_option, context)
        return rows


class Csv(Text):
    """Delimited text format in which values are quoted where necessary."""

    header_option: ClassVar[str] = "csv_use_header_line = true"

    def doubt(self, file: OpenFile) -> str:
        if self.dialect.header or self.dialect.skip_lines:
            return ""
        _, start = self.dialect.preamble(file)
        if not seems_header(self._beginning(file, start, HEADER_BYTES), self.dialect):
            return ""
        return (
            f"{file.version.path}, line 1: the line is read as a row, but it may contain the column names, because "
            "it has text where other lines have numbers or dates. If it contains the column names, set "
            f"{self.header_option}"
        )

    def _without_schema(self) -> pa.Schema | None:
        return None

    def _dialect(self) -> Dialect:
        quote, escape = self.options[opt.QUOTE], self.options[opt.ESCAPE] or ""
        for key, sign in (("quote_char", quote), ("escape_char", escape)):
            if sign and len(sign.encode()) != 1:
                raise UsageError(f"option {key!r}: expected one character, found {sign!r}")
        several = 'file_format_type = text, or quote_char = "" and no escape_char' if quote or escape else ""
        return Dialect(
            delimiter=check_delimiter(self.options[opt.FIELD_DELIMITER] or ",", several=several),
            quote=quote,
            escape="" if escape == quote else escape,  # If a quote escapes the next one, it is a doubled quote.
            header=self.options[opt.USE_HEADER],
            **self._shared(),
        )


def _whole_rows(text: bytes, dialect: Dialect) -> bytes:
    """Return the text without its last row, which may be truncated."""
    end = text.rfind(b"\n") + 1
    if dialect.quote:
        while end and text.count(dialect.quote_byte, 0, end) % 2:
            end = text.rfind(b"\n", 0, end - 1) + 1
    return text[:end] or text


def _line_start(file: OpenFile, place: int) -> int:
    """Return the offset of the first line that starts at or after ``place``."""
    if place == 0 or place >= file.version.size:
        return min(place, file.version.size)
    position = place - 1
    while window := file.read_range(position, min(position + _WINDOW, file.version.size)):
        found = window.find(b"\n")
        if found >= 0:
            return position + found + 1
        position += len(window)
    return file.version.size
