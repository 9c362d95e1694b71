"""Reads JSON lines: one object per line, fields by name; absent ones are null, unknown ones are ignored."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as arrow_json
from attrs import field, frozen

from seatunnel_core.connectors.file.formats.delimited.dialect import Dialect
from seatunnel_core.connectors.file.formats.delimited.records import Record, line_ends, lines_before, records
from seatunnel_core.connectors.file.formats.exact_numbers import INFERRED, exact_kinds, may_shorten, shortened_in
from seatunnel_core.connectors.file.formats.row_batches import Texts
from seatunnel_core.connectors.filesystems.filesystem import OpenFile
from seatunnel_core.connectors.source import ReadContext
from seatunnel_core.errors import RowError
from seatunnel_core.rows.native_json import NativeJson, parsed
from seatunnel_core.rows.types import type_name
from seatunnel_core.rows.values import Converter, converter, row_converter

BATCH_ROWS = 16_384
_BLOCK_BYTES = 8 << 20


@frozen(kw_only=True)
class JsonLinesReader:
    """Reads ranges of one file."""

    dialect: Dialect
    """Its encoding and compression; the other fields have no meaning for JSON."""

    columns: pa.Schema
    texts: Texts
    """How dates and times are written."""

    inferred: bool = False
    """Whether the types were inferred from the beginnings of files, so that no number may lose digits."""

    file: OpenFile = field(repr=False)
    context: ReadContext = field(repr=False)

    def read(self, start: int, end: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows in the bytes from ``start`` to ``end``; both are line ends, or the ends of the file."""
        lines_before_start = cache(lambda: self._lines_to(start))  # reads all of them: only an error is worth that
        native = NativeJson(self.columns, self._converter)
        lines_before = 0
        for piece in self._pieces(start, end):
            rows = native.rows(piece)
            if rows is not None and not (self.inferred and may_shorten(rows, piece)):
                yield from (rows.slice(place, BATCH_ROWS) for place in range(0, rows.num_rows, BATCH_ROWS))
            else:
                yield from self._careful(piece, 1 + lines_before, lines_before_start)
            lines_before += line_ends(piece)
        self.file.check()

    def _pieces(self, start: int, end: int) -> Iterator[bytes]:
        """Yield whole lines, some megabytes at a time."""
        held = b""
        for block in self.dialect.blocks(self.file, start, end, _BLOCK_BYTES):
            cut = block.rfind(b"\n") + 1
            if not cut:
                held += block
                continue
            yield held + block[:cut]
            held = block[cut:]
        if held:
            yield held

    def _lines_to(self, start: int) -> int:
        return lines_before(self.file, start) if self.dialect.seekable else 0

    def _careful(self, text: bytes, line: int, lines_before_start: Callable[[], int]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one piece, whose first line is ``line`` of the range; bad ones go to ``context.skip``."""
        convert = row_converter(self.columns, self._converter)
        rows: list[dict[str, Any]] = []
        for record in records([text], _LINES, line):
            if not record.text.strip():
                continue
            try:
                rows.append(self._row(record, convert, lines_before_start))
            except RowError as error:
                self.context.skip(error)
            if len(rows) == BATCH_ROWS:
                yield pa.RecordBatch.from_pylist(rows, schema=self.columns)
                rows = []
        if rows:
            yield pa.RecordBatch.from_pylist(rows, schema=self.columns)

    def _row(
        self,
        record: Record,
        convert: Callable[[Mapping[str, Any]], dict[str, Any]],
        lines_before_start: Callable[[], int],
    ) -> dict[str, Any]:
        def where() -> str:
            return f"{self.file.version.path}, line {lines_before_start() + record.line}"

        try:
            found = parsed(record.text)
        except ValueError as error:
            raise RowError(f"{where()}: not a JSON object on one line: {error}") from error
        if not isinstance(found, dict):
            raise RowError(f"{where()}: expected a JSON object {{…}}, found {type(found).__name__}")
        shortened = shortened_in(self.columns, record.text) if self.inferred else None
        if shortened is not None:
            column, number = shortened
            raise RowError(f"{where()}, column {column.name!r}: {number!r} is not a {type_name(column.type)}{INFERRED}")
        try:
            return convert(found)
        except ValueError as error:
            raise RowError(f"{where()}, {error}") from None

    def _converter(self, kind: pa.DataType) -> Converter:
        is_moment = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
        return self.texts.converter(kind) if is_moment else converter(kind)


def infer(text: bytes) -> dict[str, pa.DataType]:
    """Return the fields and types that some whole lines suggest.

    Raises:
        RowError: they are not JSON objects, or the kind of a field changes.
    """
    if not text.strip():
        return {}
    try:
        options = arrow_json.ReadOptions(use_threads=False, block_size=len(text) + 1)
        found = arrow_json.read_json(pa.BufferReader(text), options).schema
        moments = [pa.field(column.name, pa.string()) for column in found if pa.types.is_timestamp(column.type)]
        if moments:
            parse = arrow_json.ParseOptions(explicit_schema=pa.schema(moments))
            written = arrow_json.read_json(pa.BufferReader(text), options, parse)
    except pa.ArrowInvalid as error:
        raise RowError(f"the columns cannot be inferred: {error}; give a schema") from error
    kinds = {column.name: _inferred(column.type) for column in exact_kinds(found, text.splitlines())}
    return kinds | {column.name: _moment(written.column(column.name)) for column in moments}


def _inferred(kind: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_null(kind) else kind


def _moment(texts: pa.ChunkedArray) -> pa.DataType:
    """Return the type of dates if all texts are dates, and of strings if one has a zone, which Arrow would drop."""
    if pc.any(pc.starts_with(texts, "0000")).as_py():  # the year 0, which rows do not have
        return pa.string()
    if pc.all(pc.equal(pc.utf8_length(texts), len("2024-01-31"))).as_py():
        return pa.date32()
    try:
        texts.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return pa.string()
    return pa.timestamp("us")


_LINES = Dialect(delimiter="\x00", quote="")
