"""Reads JSON lines: one object per line, fields by name; absent ones are null, unknown ones are left out."""

import decimal
import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.json as arrow_json
from attrs import field, frozen

from seatunnel_core.connectors.file.dialect import Dialect
from seatunnel_core.connectors.file.filesystem import OpenFile
from seatunnel_core.connectors.file.records import Record, line_ends, lines_before, records
from seatunnel_core.connectors.file.row_batches import Texts
from seatunnel_core.connectors.source import ReadContext
from seatunnel_core.errors import RowError
from seatunnel_core.rows.values import plain

BATCH_ROWS = 16_384
_BLOCK_BYTES = 8 << 20
_FAST_TYPES = {pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float64(), pa.string(), pa.timestamp("us")}
"""Types for which Arrow's JSON reader accepts nothing that ``rows.values`` would read differently."""


@frozen(kw_only=True)
class JsonLinesReader:
    """Reads ranges of one file."""

    dialect: Dialect
    """Its encoding and compression; JSON has no delimiters and no quotes of its own kind."""

    columns: pa.Schema
    texts: Texts
    """How dates and times are written."""

    file: OpenFile = field(repr=False)
    context: ReadContext = field(repr=False)

    def read(self, start: int, end: int) -> Iterator[pa.RecordBatch]:
        """The rows in the bytes from ``start`` to ``end``; both are line ends, or the ends of the file."""
        lines_before_start = cache(lambda: self._lines_to(start))  # reads all of them: only an error is worth that
        lines_before = 0
        for piece in self._pieces(start, end):
            try:
                batches = self._fast(piece)
            except pa.ArrowInvalid:
                batches = None
            if batches is not None:
                yield from batches
            else:
                yield from self._careful(piece, 1 + lines_before, lines_before_start)
            lines_before += line_ends(piece)
        self.file.check()

    def _pieces(self, start: int, end: int) -> Iterator[bytes]:
        """Whole lines, some megabytes at a time."""
        held = b""
        for block in self._blocks(start, end):
            cut = block.rfind(b"\n") + 1
            if not cut:
                held += block
                continue
            yield held + block[:cut]
            held = block[cut:]
        if held:
            yield held

    def _blocks(self, start: int, end: int) -> Iterator[bytes]:
        if self.dialect.seekable:
            for place in range(start, end, _BLOCK_BYTES):
                yield self.file.read_range(place, min(place + _BLOCK_BYTES, end))
            return
        with self.dialect.text_stream(self.file, start) as stream:
            while block := stream.read(_BLOCK_BYTES):
                yield block

    def _lines_to(self, start: int) -> int:
        return lines_before(self.file, start) if self.dialect.seekable else 0

    def _fast(self, text: bytes) -> list[pa.RecordBatch] | None:
        """The rows, or ``None`` when this way cannot read the columns or would read them differently."""
        if not all(column.type in _FAST_TYPES and column.nullable for column in self.columns) or b"\r" in text:
            return None
        if not text.strip():
            return []
        table = arrow_json.read_json(
            pa.BufferReader(text),
            arrow_json.ReadOptions(use_threads=False, block_size=len(text) + 1),
            arrow_json.ParseOptions(
                explicit_schema=self.columns, newlines_in_values=False, unexpected_field_behavior="ignore"
            ),
        )
        return list(table.select(self.columns.names).cast(self.columns).to_batches(max_chunksize=BATCH_ROWS))

    def _careful(self, text: bytes, line: int, lines_before_start: Callable[[], int]) -> Iterator[pa.RecordBatch]:
        """The rows of one piece, whose first line is ``line`` of the range; bad ones go to ``context.skip``."""
        rows: list[dict[str, Any]] = []
        for record in records([text], _LINES, line):
            if not record.text.strip():
                continue
            try:
                rows.append(self._row(record, lines_before_start))
            except RowError as error:
                self.context.skip(error)
            if len(rows) == BATCH_ROWS:
                yield pa.RecordBatch.from_pylist(rows, schema=self.columns)
                rows = []
        if rows:
            yield pa.RecordBatch.from_pylist(rows, schema=self.columns)

    def _row(self, record: Record, lines_before_start: Callable[[], int]) -> dict[str, Any]:
        def where() -> str:
            return f"{self.file.version.path}, line {lines_before_start() + record.line}"

        try:
            found = json.loads(record.text, parse_float=decimal.Decimal)
        except ValueError as error:
            raise RowError(f"{where()}: not a JSON object on one line: {error}") from error
        if not isinstance(found, dict):
            raise RowError(f"{where()}: expected a JSON object {{…}}, found {type(found).__name__}")
        row = {}
        for column in self.columns:
            try:
                row[column.name] = self._value(found.get(column.name), column.type)
            except ValueError as error:
                raise RowError(f"{where()}, column {column.name!r}: {error}") from None
            if row[column.name] is None and not column.nullable:
                raise RowError(f"{where()}, column {column.name!r}: is null, and the schema says nullable = false")
        return row

    def _value(self, found: Any, kind: pa.DataType) -> Any:
        is_moment = isinstance(found, str) and (pa.types.is_date(kind) or pa.types.is_timestamp(kind))
        return self.texts.value(found, kind) if is_moment else plain(found, kind)


def infer(text: bytes) -> dict[str, pa.DataType]:
    """The fields and types that some whole lines suggest.

    Raises:
        RowError: they are not JSON objects, or a field changes its kind.
    """
    if not text.strip():
        return {}
    try:
        options = arrow_json.ReadOptions(use_threads=False, block_size=len(text) + 1)
        found = arrow_json.read_json(pa.BufferReader(text), options).schema
    except pa.ArrowInvalid as error:
        raise RowError(f"the columns cannot be inferred: {error}; give a schema") from error
    return {column.name: _inferred(column.type) for column in found}


def _inferred(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", tz="UTC" if kind.tz else None)
    return pa.string() if pa.types.is_null(kind) else kind


_LINES = Dialect(delimiter="\x00", quote="")
