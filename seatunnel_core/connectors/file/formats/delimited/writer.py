"""Writers for the formats ``csv`` and ``text``."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_core.connector_api.errors import RowError, SinkError
from seatunnel_core.connectors.file.formats.delimited import nested_text
from seatunnel_core.connectors.file.formats.writer import FileStyle, FileWriter, write_lines
from seatunnel_core.connectors.file.formats.written_text import Forms
from seatunnel_core.rows.value_text import float_texts

_SIGNS_OF_NUMBERS = frozenset("0123456789+-.:/_ eETZtruefalsinNIy")
"""Characters in numbers, booleans, dates and times. If the delimiter is among them, these values must be quoted."""


class CsvFileWriter(FileWriter):
    """Writer that quotes values where necessary, including the empty string. Null is written as an empty value.

    As in SeaTunnel and Apache Commons CSV, a value is quoted if it contains a delimiter, a quote or a line end, begins
    with a character up to ``#``, or ends with a space.
    """

    suffix: ClassVar[str] = ".csv"

    def __init__(self, style: FileStyle, stream: pa.NativeFile, columns: pa.Schema) -> None:
        super().__init__(style, stream, columns)
        if style.header:
            names = (_quoted_name(name, style.delimiter) for name in columns.names)
            self.stream.write((style.delimiter.join(names) + style.line_end).encode())

    @classmethod
    def refuse(cls, columns: pa.Schema) -> None:
        _refuse(columns, "csv")

    @classmethod
    def prepared(cls, style: FileStyle, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Quote values. A null in the only column becomes a quoted empty value, because an empty line is not a row."""
        null = style.null or ('""' if rows.num_columns == 1 else "")
        rows = _flat(rows, style.forms)
        with _byte_errors(rows, "csv"):
            for column, array in zip(rows.schema, rows.columns, strict=True):
                if _is_number(column.type):
                    _refuse_null_format(column.name, _as_text(array), style.null)
            texts = [_quoted(array, style).fill_null(null) for array in rows.columns]
        return pa.RecordBatch.from_arrays(texts, names=rows.schema.names)

    def write(self, rows: pa.RecordBatch) -> None:
        write_lines(self.stream, rows.columns, self.style.delimiter, self.style.line_end)


def _quoted(array: pa.Array, style: FileStyle) -> pa.Array:
    text = _as_text(array)
    if style.quote_all:
        needs = None
    elif _is_number(array.type) and style.delimiter not in _SIGNS_OF_NUMBERS:
        return text
    else:
        needs = pc.match_substring_regex(text, _NEEDS_QUOTES % re.escape(style.delimiter))
        needs = pc.or_(needs, pc.equal(text, style.null)) if style.null else needs
        if not pc.any(needs).as_py():
            return text
    quoted = pc.binary_join_element_wise('"', pc.replace_substring(text, '"', '""'), '"', "")
    return quoted if needs is None else pc.if_else(needs, quoted, text)


_NEEDS_QUOTES = r'^$|^[\x00-#]|[\x00-\x20]$|["\r\n]|%s'


def _quoted_name(name: str, delimiter: str) -> str:
    """Return a column name for the header, quoted only if it could not be read back otherwise."""
    return '"{}"'.format(name.replace('"', '""')) if re.search(f'["\r\n{re.escape(delimiter)}]', name) else name


class TextFileWriter(FileWriter):
    """Writer without quotes: values may contain neither the delimiter nor a line end.

    Null is written as the empty string, or as ``null_format``. If the delimiter is, for example, ``||``, a value must
    not end with ``|`` either: a reader would find the delimiter one character earlier.
    """

    suffix: ClassVar[str] = ".txt"

    def __init__(self, style: FileStyle, stream: pa.NativeFile, columns: pa.Schema) -> None:
        super().__init__(style, stream, columns)
        if style.header:
            self.stream.write((style.delimiter.join(columns.names) + style.line_end).encode())

    @classmethod
    def refuse(cls, columns: pa.Schema) -> None:
        _refuse(columns, "text")

    @classmethod
    def prepared(cls, style: FileStyle, rows: pa.RecordBatch) -> pa.RecordBatch:
        rows = _flat(rows, style.forms)
        with _byte_errors(rows, "text"):
            texts = [_unquoted(column, array, style) for column, array in zip(rows.schema, rows.columns, strict=True)]
        return pa.RecordBatch.from_arrays(texts, names=rows.schema.names)

    def write(self, rows: pa.RecordBatch) -> None:
        write_lines(self.stream, rows.columns, self.style.delimiter, self.style.line_end)


def _unquoted(column: pa.Field, array: pa.Array, style: FileStyle) -> pa.Array:
    text = _as_text(array)
    if not _is_number(column.type) or not _SIGNS_OF_NUMBERS.isdisjoint(style.delimiter):
        expression, why = _not_in_text(style.delimiter)
        bad = pc.match_substring_regex(text, expression)
        if pc.any(bad).as_py():
            value = text.filter(bad)[0].as_py()
            raise RowError(f"column {column.name!r}: {value[:60]!r} {why}", column=column.name)
    _refuse_null_format(column.name, text, style.null)
    return text.fill_null(style.null)


def _refuse_null_format(name: str, texts: pa.Array, null: str) -> None:
    if null and pc.any(pc.equal(texts, null)).as_py():
        raise RowError(
            f"column {name!r}: the value {null!r} would be read as null; set another null_format", column=name
        )


@lru_cache(maxsize=16)
def _not_in_text(delimiter: str) -> tuple[str, str]:
    """Return a regular expression for substrings that values must not contain, and the message for such values."""
    begun = (delimiter[:length] for length in range(1, len(delimiter)))
    ambiguous = [f"{re.escape(part)}$" for part in begun if (part + delimiter).startswith(delimiter)]
    ends = ", or ends with the first characters of the delimiter" if ambiguous else ""
    why = f"contains the field delimiter or a line end{ends}; write csv or json"
    return "|".join(["[\r\n]", re.escape(delimiter), *ambiguous]), why


def _refuse(columns: pa.Schema, format: str) -> None:
    problem = nested_text.unfit(columns)
    if problem:
        raise SinkError(f"{problem}, and cannot be written as {format}; use json or parquet")


def _flat(rows: pa.RecordBatch, forms: Forms) -> pa.RecordBatch:
    for place, column in enumerate(rows.schema):
        if pa.types.is_nested(column.type):
            try:
                texts = nested_text.written(rows.column(place), forms)
            except ValueError as error:
                raise RowError(f"column {column.name!r}: {error}", column=column.name) from None
            rows = rows.set_column(place, _flat_column(column), texts)
    return rows


def _flat_column(column: pa.Field) -> pa.Field:
    return column.with_type(pa.string()) if pa.types.is_nested(column.type) else column


@contextmanager
def _byte_errors(rows: pa.RecordBatch, format: str) -> Iterator[None]:
    """Convert Arrow's error for invalid UTF-8 to an error that contains the column and the bytes."""
    try:
        yield
    except pa.ArrowInvalid as error:
        for column, values in zip(rows.schema, rows.columns, strict=True):
            bad = next(filter(_is_no_text, values.to_pylist()), None) if pa.types.is_binary(column.type) else None
            if bad is not None:
                raise RowError(
                    f"column {column.name!r}: {bad[:20]!r} is not UTF-8, but {format} files store bytes unchanged; "
                    "write json, which uses base64, or parquet",
                    column=column.name,
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
    if pa.types.is_timestamp(array.type) and array.type.unit == "ns":
        micros = array.cast(pa.timestamp("us", array.type.tz), safe=False)
        exact = pc.equal(micros.cast(array.type), array)
        return _as_text(micros) if pc.all(exact).as_py() is not False else _mixed(exact, micros, array)
    return _moments_as_text(array)


def _mixed(exact: pa.Array, micros: pa.Array, array: pa.Array) -> pa.Array:
    """Return strings with nine fractional digits only for values that need them, because sources read at most six."""
    return pc.if_else(exact, _moments_as_text(micros), _moments_as_text(array))


def _moments_as_text(array: pa.Array) -> pa.Array:
    if pa.types.is_timestamp(array.type) and array.type.tz:
        return pc.strftime(array.cast(pa.timestamp(array.type.unit, "UTC")), format="%Y-%m-%dT%H:%M:%SZ")
    return float_texts(array) if pa.types.is_floating(array.type) else array.cast(pa.string())


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind))
