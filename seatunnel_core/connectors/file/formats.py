"""Writes files: one class per format, all with ``write`` and ``close``."""

import base64
import json
import math
from abc import ABC, abstractmethod
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as pq
from attrs import frozen

from seatunnel_core.errors import RowError, SinkError
from seatunnel_core.rows.types import type_name

ROW_GROUP_BYTES = 64 << 20
"""How much of Arrow data is gathered before a row group of Parquet is written."""

ROW_GROUP_ROWS = 1 << 20

SAMPLE_ROWS = 16_384
"""How many rows tell which columns of a Parquet file get a dictionary."""

MOST_DISTINCT = 0.2
"""Which share of different values in the sample is still worth one."""

_SIGNS_OF_NUMBERS = frozenset("0123456789+-.:/_ eETZtruefalsinN")
"""What numbers, truth values, dates and times are written with; a delimiter among them needs quotes."""


@frozen(kw_only=True)
class FileStyle:
    """How files are written; the fields as the options say."""

    format: str
    delimiter: str = ","
    line_end: str = "\n"
    header: bool = False
    quote_all: bool = False
    codec: str | None = None
    extension: str | None = None

    @property
    def suffix(self) -> str:
        """The end of file names."""
        if self.extension:
            return f".{self.extension.lstrip('.')}"
        packed = {"gzip": ".gz", "bz2": ".bz2", "zstd": ".zst", "lz4": ".lz4", "brotli": ".br"}
        name = {"csv": ".csv", "text": ".txt", "json": ".json", "parquet": ".parquet"}[self.format]
        return name if self.format == "parquet" or not self.codec else name + packed.get(self.codec, "")

    def open(self, path: str, columns: pa.Schema) -> "FileWriter":
        """Begin a file.

        Raises:
            SinkError: the format cannot hold a column; names it.
        """
        return _WRITERS[self.format](self, path, columns)


class FileWriter(ABC):
    """Writes one file; nothing is complete before ``close``."""

    def __init__(self, style: FileStyle, path: str, columns: pa.Schema) -> None:
        self.style = style
        self.columns = columns
        self.refuse(columns)
        self.stream: pa.NativeFile = pa.OSFile(path, "wb")
        if style.codec and style.format != "parquet":
            self.stream = pa.CompressedOutputStream(self.stream, style.codec)

    def refuse(self, columns: pa.Schema) -> None:
        """Raise ``SinkError`` for a column that the format cannot hold."""

    @abstractmethod
    def write(self, rows: pa.RecordBatch) -> None:
        """Take rows whose schema is ``columns``."""

    def close(self) -> None:
        self.stream.close()


class ParquetFileWriter(FileWriter):
    """Gathers batches into row groups of a useful size."""

    def __init__(self, style: FileStyle, path: str, columns: pa.Schema) -> None:
        super().__init__(style, path, columns)
        self._writer: pq.ParquetWriter | None = None
        self._gathered: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0

    def write(self, rows: pa.RecordBatch) -> None:
        self._gathered.append(rows)
        self._rows += rows.num_rows
        self._bytes += rows.nbytes
        if self._bytes >= ROW_GROUP_BYTES or self._rows >= ROW_GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        table = pa.Table.from_batches(self._gathered, schema=self.columns)
        self._gathered, self._rows, self._bytes = [], 0, 0
        if self._writer is None:
            self._writer = pq.ParquetWriter(
                self.stream,
                self.columns,
                compression=self.style.codec or "none",
                use_dictionary=_worth_a_dictionary(table),
                store_decimal_as_integer=True,  # as Spark and Hive do it for up to 18 digits
            )
        if table.num_rows:
            self._writer.write_table(table, row_group_size=table.num_rows)

    def close(self) -> None:
        if self._gathered or self._writer is None:
            self._flush()
        assert self._writer is not None
        self._writer.close()
        super().close()


class CsvFileWriter(FileWriter):
    """Texts are quoted, null is nothing: what ``LocalFile`` reads back is the same, null and empty text apart."""

    def __init__(self, style: FileStyle, path: str, columns: pa.Schema) -> None:
        super().__init__(style, path, columns)
        options = csv.WriteOptions(
            include_header=style.header,
            delimiter=style.delimiter,
            quoting_style="all_valid" if style.quote_all or style.delimiter in _SIGNS_OF_NUMBERS else "needed",
            eol=style.line_end,
        )
        self._writer = csv.CSVWriter(self.stream, columns, write_options=options)

    def refuse(self, columns: pa.Schema) -> None:
        _refuse_nested(columns, "csv")

    def write(self, rows: pa.RecordBatch) -> None:
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
    """No quotes: a value may hold neither the delimiter nor a line end. Null is the empty text."""

    def __init__(self, style: FileStyle, path: str, columns: pa.Schema) -> None:
        super().__init__(style, path, columns)
        if style.header:
            self.stream.write((style.delimiter.join(columns.names) + style.line_end).encode())

    def refuse(self, columns: pa.Schema) -> None:
        _refuse_nested(columns, "text")

    def write(self, rows: pa.RecordBatch) -> None:
        texts = [self._text(column, array) for column, array in zip(self.columns, rows.columns, strict=True)]
        _write_lines(self.stream, texts, self.style.delimiter, self.style.line_end)

    def _text(self, column: pa.Field, array: pa.Array) -> pa.Array:
        text = _as_text(array)
        if not _is_number(column.type) or self.style.delimiter in _SIGNS_OF_NUMBERS:
            bad = pc.match_substring_regex(text, f"[\r\n{_in_class(self.style.delimiter)}]")
            if pc.any(bad).as_py():
                value = text.filter(bad)[0].as_py()
                raise RowError(
                    f"column {column.name!r}: {value[:60]!r} holds the field delimiter or a line end; write csv or json"
                )
        return text.fill_null("")


class JsonFileWriter(FileWriter):
    """One object per line. Decimals are numbers with all their digits, dates and times ISO texts, bytes base64."""

    def write(self, rows: pa.RecordBatch) -> None:
        parts: list[Any] = []
        for column, array in zip(self.columns, rows.columns, strict=True):
            separator = "," if parts else "{"
            parts += [f"{separator}{json.dumps(column.name, ensure_ascii=False)}:", _json_text(array)]
        ends = pa.repeat("}" if parts else "{}", rows.num_rows)
        _write_lines(self.stream, [pc.binary_join_element_wise(*parts, ends, "")], "", self.style.line_end)


_WRITERS: dict[str, type[FileWriter]] = {
    "parquet": ParquetFileWriter,
    "csv": CsvFileWriter,
    "text": TextFileWriter,
    "json": JsonFileWriter,
}


def _worth_a_dictionary(table: pa.Table) -> bool | list[str]:
    """The columns whose values come again: one of keys or comments costs time, and is thrown away in the end."""
    if table.num_rows < SAMPLE_ROWS or any(pa.types.is_nested(column.type) for column in table.schema):
        return True
    sample = table.slice(0, SAMPLE_ROWS)
    return [name for name, values in zip(sample.column_names, sample.columns, strict=True) if _come_again(values)]


def _come_again(values: pa.ChunkedArray) -> bool:
    try:
        return len(pc.unique(values)) <= SAMPLE_ROWS * MOST_DISTINCT
    except pa.ArrowNotImplementedError:  # Arrow compares no decimals of 32 and 64 bits yet
        return True


def _refuse_nested(columns: pa.Schema, format: str) -> None:
    for column in columns:
        if pa.types.is_nested(column.type):
            raise SinkError(
                f"column {column.name!r} of type {type_name(column.type)} cannot be written as {format}; use json or "
                "parquet"
            )


def _write_lines(stream: pa.NativeFile, texts: list[pa.Array], delimiter: str, line_end: str) -> None:
    if not texts or not len(texts[0]):
        return
    lines = pc.binary_join_element_wise(*texts, delimiter)
    everything = pa.ListArray.from_arrays([0, len(lines)], lines)
    stream.write(pc.binary_join(everything, line_end)[0].as_buffer())
    stream.write(line_end.encode())


def _as_text(array: pa.Array) -> pa.Array:
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), pa.string())
    if pa.types.is_timestamp(array.type) and array.type.tz:
        return pc.strftime(array.cast(pa.timestamp(array.type.unit, "UTC")), format="%Y-%m-%dT%H:%M:%SZ")
    return array.cast(pa.string())


def _is_number(kind: pa.DataType) -> bool:
    """Whether values are written with ``_SIGNS_OF_NUMBERS`` alone."""
    return bool(pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind))


def _in_class(sign: str) -> str:
    return "\\" + sign if sign in "\\]^-" else sign


def _json_text(array: pa.Array) -> pa.Array:
    kind = array.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal(kind):
        text = array.cast(pa.string())
    elif pa.types.is_floating(kind):
        text = pa.array([None if value is None else _json_value(value) for value in array.to_pylist()], pa.string())
    elif pa.types.is_null(kind):
        text = pa.nulls(len(array), pa.string())
    else:
        text = pa.array([None if value is None else _json_value(value) for value in _plain(array)], pa.string())
    return text.fill_null("null")


def _plain(array: pa.Array) -> list[Any]:
    if not pa.types.is_nested(array.type):
        return list(array.to_pylist())
    return [_plain_value(value, array.type) for value in array.to_pylist()]


def _plain_value(value: Any, kind: pa.DataType) -> Any:
    """A nested value with objects for maps, which Arrow gives as lists of pairs."""
    if value is None or not pa.types.is_nested(kind):
        return value
    if pa.types.is_map(kind):
        return {_key(key): _plain_value(element, kind.item_type) for key, element in value}
    if pa.types.is_struct(kind):
        return {part.name: _plain_value(value[part.name], part.type) for part in kind}
    return [_plain_value(element, kind.value_type) for element in value]


def _key(value: Any) -> str:
    if isinstance(value, str):
        return value
    found = _json_default(value) if isinstance(value, bytes) or hasattr(value, "isoformat") else value
    return found if isinstance(found, str) else json.dumps(found, default=str).strip('"')


def _json_value(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f'"{value}"'
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_json_default)


def _json_default(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return str(value)
