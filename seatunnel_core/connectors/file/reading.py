"""Reads one range of one file in its format, and finds out columns where the job gives none."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from attrs import frozen

from seatunnel_core import stored
from seatunnel_core.connectors.file import delimited, json_lines, parquet
from seatunnel_core.connectors.file.dialect import Dialect, unify
from seatunnel_core.connectors.file.filesystem import OpenFile
from seatunnel_core.connectors.source import ReadContext
from seatunnel_core.errors import RowError, SourceError
from seatunnel_core.rows.schema_text import schema_from_text
from seatunnel_core.rows.types import type_name

INFERENCE_BYTES = 16 << 20
"""How much of the beginning of a text file decides its columns and types."""

_WINDOW = 64 << 10


@frozen(kw_only=True)
class FileReading:
    """How the files of a source are read."""

    format: str
    """``csv``, ``text``, ``json`` or ``parquet``."""

    dialect: Dialect
    declared: pa.Schema | None
    """The columns that the job declares, in the order of the file; ``None`` when the files tell."""

    chosen: tuple[str, ...] = ()
    """``read_columns``; empty for all."""

    def infer(self, file: OpenFile) -> pa.Schema:
        """The columns of a file by itself.

        Raises:
            SourceError: they cannot be told; names the file.
        """
        try:
            if self.format == "parquet":
                return parquet.footer(file).columns
            if self.format == "json":
                return pa.schema(list(json_lines.infer(self._beginning(file, 0)).items()))
            names, start = self.dialect.preamble(file)
            return pa.schema(list(delimited.infer(self._beginning(file, start), names, self.dialect).items()))
        except RowError as error:
            raise SourceError(f"{file.version.path}: {error}") from error

    def read(self, file: OpenFile, body: Mapping[str, Any], context: ReadContext) -> Iterator[pa.RecordBatch]:
        """The rows of the split ``body``, with the columns of ``wanted``."""
        if self.format == "parquet":
            return parquet.ParquetReader(columns=self.wanted(self._columns(file, body)), file=file).read(
                stored.items(body, "groups")
            )
        if self.format == "json":
            start, end = self._aligned(file, body, 0)
            columns = self.wanted(self._columns(file, body))
            return json_lines.JsonLinesReader(dialect=self.dialect, columns=columns, file=file, context=context).read(
                start, end
            )
        return self._read_delimited(file, body, context)

    def _read_delimited(
        self, file: OpenFile, body: Mapping[str, Any], context: ReadContext
    ) -> Iterator[pa.RecordBatch]:
        header, first = self.dialect.preamble(file)
        start, end = self._aligned(file, body, first)
        if start >= end and self.dialect.seekable:
            return iter(())
        all_columns = self._columns(file, body)
        columns = self.wanted(all_columns)
        names = header if header is not None else all_columns.names
        absent = [name for name in columns.names if name not in names]
        if absent:
            raise SourceError(
                f"{file.version.path}: its header has no column {', '.join(absent)}; it has {', '.join(names)}"
            )
        reader = delimited.DelimitedReader(
            dialect=self.dialect, names=tuple(names), columns=columns, file=file, context=context
        )
        return reader.read(start, end)

    def wanted(self, columns: pa.Schema) -> pa.Schema:
        """Those of ``columns`` that the job reads.

        Raises:
            SourceError: ``read_columns`` names one that is not there.
        """
        unknown = [name for name in self.chosen if name not in columns.names]
        if unknown:
            raise SourceError(f"read_columns names {', '.join(unknown)}; there are {', '.join(columns.names)}")
        return pa.schema([columns.field(name) for name in self.chosen]) if self.chosen else columns

    def _columns(self, file: OpenFile, body: Mapping[str, Any]) -> pa.Schema:
        if self.declared is not None:
            return self.declared
        if "columns" in body:
            return schema_from_text(stored.text(body, "columns"))
        return self.infer(file)

    def _aligned(self, file: OpenFile, body: Mapping[str, Any], first: int) -> tuple[int, int]:
        """The whole lines that begin in the range of the split; ``first`` is where the rows of the file begin."""
        end = stored.number(body, "end")
        if not self.dialect.seekable:
            return first, end
        start, end = _line_start(file, stored.number(body, "start")), _line_start(file, end)
        return max(start, first), max(end, first)

    def _beginning(self, file: OpenFile, start: int) -> bytes:
        """Whole lines from the beginning of the text."""
        if self.dialect.seekable:
            text = file.read_range(start, min(start + INFERENCE_BYTES, file.version.size))
        else:
            with self.dialect.text_stream(file, start) as stream:
                text = bytes(stream.read(INFERENCE_BYTES))
        if len(text) < INFERENCE_BYTES:
            return text
        return _whole_rows(text, self.dialect if self.format != "json" else None)


def _whole_rows(text: bytes, dialect: Dialect | None) -> bytes:
    """Without the row at the end that may be cut off."""
    end = text.rfind(b"\n") + 1
    if dialect is not None and dialect.quote:
        while end and text.count(dialect.quote_byte, 0, end) % 2:
            end = text.rfind(b"\n", 0, end - 1) + 1
    return text[:end] or text


def _line_start(file: OpenFile, place: int) -> int:
    """The first beginning of a line at or behind ``place``."""
    if place == 0 or place >= file.version.size:
        return min(place, file.version.size)
    position = place - 1
    while window := file.read_range(position, min(position + _WINDOW, file.version.size)):
        found = window.find(b"\n")
        if found >= 0:
            return position + found + 1
        position += len(window)
    return file.version.size


def together(found: Sequence[pa.Schema], format: str) -> pa.Schema:
    """The columns of a table from those of its files.

    Raises:
        SourceError: two Parquet files have types for a column that do not go together.
    """
    distinct = list({columns.to_string(): columns for columns in found}.values())
    if len(distinct) <= 1:
        return distinct[0] if distinct else pa.schema([])
    if format == "parquet":
        try:
            return pa.unify_schemas(distinct, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise SourceError(f"the Parquet files do not have the same columns: {error}") from error
    kinds: dict[str, list[pa.DataType]] = {}
    for columns in distinct:
        for column in columns:
            kinds.setdefault(column.name, []).append(column.type)
    return pa.schema([pa.field(name, unify(of_name)) for name, of_name in kinds.items()])


def check_columns(columns: pa.Schema, format: str) -> None:
    """Refuse what the format cannot hold.

    Raises:
        SourceError: a nested column in delimited text.
    """
    if format not in ("csv", "text"):
        return
    for column in columns:
        if pa.types.is_nested(column.type):
            raise SourceError(
                f"column {column.name!r} of type {type_name(column.type)} cannot be read from {format}; read it as a "
                "string, or use json"
            )
