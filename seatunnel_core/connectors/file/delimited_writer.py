"""Writes ``csv`` and ``text``."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

from seatunnel_core.connectors.file import nested_text
from seatunnel_core.connectors.file.writer import FileStyle, FileWriter, write_lines
from seatunnel_core.connectors.file.written_text import Forms
from seatunnel_core.errors import RowError, SinkError

_SIGNS_OF_NUMBERS = frozenset("0123456789+-.:/_ eETZtruefalsinN")
"""What numbers, truth values, dates and times are written with; a delimiter of them needs quotes."""


class CsvFileWriter(FileWriter):
    """Texts are quoted, null is nothing: what ``LocalFile`` reads back is the same, null and empty text apart."""

    suffix: ClassVar[str] = ".csv"

    def __init__(self, style: FileStyle, stream: pa.NativeFile, columns: pa.Schema) -> None:
        super().__init__(style, stream, columns)
        options = csv.WriteOptions(
            include_header=style.header,
            delimiter=style.delimiter,
            quoting_style="all_valid" if style.quote_all or style.delimiter in _SIGNS_OF_NUMBERS else "needed",
            eol=style.line_end,
        )
        flat = pa.schema([_flat_column(column) for column in columns])
        self._writer = csv.CSVWriter(self.stream, flat, write_options=options)

    @classmethod
    def refuse(cls, columns: pa.Schema) -> None:
        _refuse(columns, "csv")

    def write(self, rows: pa.RecordBatch) -> None:
        rows = _flat(rows, self.style.forms)
        with _told_bytes(rows, "csv"):
            if rows.num_columns == 1 and rows.column(0).null_count:
                self._write_single(rows)
            else:
                self._writer.write_batch(rows)

    def _write_single(self, rows: pa.RecordBatch) -> None:
        """A null in the only column is a quoted nothing: an empty line would be no row."""
        start = 0
        nulls = pc.run_end_encode(rows.column(0).is_null())
        for end, null in zip(nulls.run_ends.to_pylist(), nulls.values.to_pylist(), strict=True):
            if null:
                self.stream.write((f'""{self.style.line_end}' * (end - start)).encode())
            else:
                self._writer.write_batch(rows.slice(start, end - start))
            start = end

    def close(self) -> None:
        self._writer.close()
        super().close()


class TextFileWriter(FileWriter):
    """No quotes: a value may hold neither the delimiter nor a line end. Null is the empty text.

    Before a delimiter such as ``||`` a value may not end with ``|`` either: a reader would take the delimiter for one
    character earlier.
    """

    suffix: ClassVar[str] = ".txt"

    def __init__(self, style: FileStyle, stream: pa.NativeFile, columns: pa.Schema) -> None:
        super().__init__(style, stream, columns)
        delimiter = style.delimiter
        begun = (delimiter[:length] for length in range(1, len(delimiter)))
        ambiguous = [f"{re.escape(part)}$" for part in begun if (part + delimiter).startswith(delimiter)]
        self._bad = "|".join(["[\r\n]", re.escape(delimiter), *ambiguous])
        ends = ", or ends as the delimiter begins" if ambiguous else ""
        self._why = f"holds the field delimiter or a line end{ends}; write csv or json"
        if style.header:
            self.stream.write((style.delimiter.join(columns.names) + style.line_end).encode())

    @classmethod
    def refuse(cls, columns: pa.Schema) -> None:
        _refuse(columns, "text")

    def write(self, rows: pa.RecordBatch) -> None:
        rows = _flat(rows, self.style.forms)
        with _told_bytes(rows, "text"):
            texts = [self._text(column, array) for column, array in zip(rows.schema, rows.columns, strict=True)]
        write_lines(self.stream, texts, self.style.delimiter, self.style.line_end)

    def _text(self, column: pa.Field, array: pa.Array) -> pa.Array:
        text = _as_text(array)
        if not _is_number(column.type) or not _SIGNS_OF_NUMBERS.isdisjoint(self.style.delimiter):
            bad = pc.match_substring_regex(text, self._bad)
            if pc.any(bad).as_py():
                value = text.filter(bad)[0].as_py()
                raise RowError(f"column {column.name!r}: {value[:60]!r} {self._why}")
        return text.fill_null("")


def _refuse(columns: pa.Schema, format: str) -> None:
    problem = nested_text.unfit(columns)
    if problem:
        raise SinkError(f"{problem}, and cannot be written as {format}; use json or parquet")


def _flat(rows: pa.RecordBatch, forms: Forms) -> pa.RecordBatch:
    """The rows with a text in the place of each array, map and row."""
    for place, column in enumerate(rows.schema):
        if pa.types.is_nested(column.type):
            try:
                texts = nested_text.written(rows.column(place), forms)
            except ValueError as error:
                raise RowError(f"column {column.name!r}: {error}") from None
            rows = rows.set_column(place, _flat_column(column), texts)
    return rows


def _flat_column(column: pa.Field) -> pa.Field:
    return column.with_type(pa.string()) if pa.types.is_nested(column.type) else column


@contextmanager
def _told_bytes(rows: pa.RecordBatch, format: str) -> Iterator[None]:
    """Where Arrow finds bytes that are no text, say which ones."""
    try:
        yield
    except pa.ArrowInvalid as error:
        for column, values in zip(rows.schema, rows.columns, strict=True):
            bad = next(filter(_is_no_text, values.to_pylist()), None) if pa.types.is_binary(column.type) else None
            if bad is not None:
                raise RowError(
                    f"column {column.name!r}: {bad[:20]!r} is not UTF-8, and {format} files hold bytes as they are; "
                    "write json, which has base64, or parquet"
                ) from error
        raise


def _is_no_text(value: bytes | None) -> bool:
    try:
        (value or b"").decode()
    except UnicodeDecodeError:
        return True
    return False


def _as_text(array: pa.Array) -> pa.Array:
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), pa.string())
    if pa.types.is_timestamp(array.type) and array.type.tz:
        return pc.strftime(array.cast(pa.timestamp(array.type.unit, "UTC")), format="%Y-%m-%dT%H:%M:%SZ")
    return array.cast(pa.string())


def _is_number(kind: pa.DataType) -> bool:
    """Whether values are written with ``_SIGNS_OF_NUMBERS`` alone."""
    return bool(pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind))
