"""Reader of JSON lines. Each line is an object; its fields are matched to columns by name, and missing fields are null.

If the job declares its columns, unknown fields are ignored; if columns are inferred, the schema contract decides.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import pyarrow as pa
from attrs import field, frozen

from seatunnel_core.connector_api.errors import RowError
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connectors.file.formats.delimited.dialect import Dialect
from seatunnel_core.connectors.file.formats.delimited.records import Record, line_ends, lines_before, records
from seatunnel_core.connectors.file.formats.encodings import no_characters
from seatunnel_core.connectors.file.formats.exact_numbers import may_shorten
from seatunnel_core.connectors.file.formats.row_batches import Texts
from seatunnel_core.connectors.filesystems.filesystem import OpenFile
from seatunnel_core.connectors.fitted import UnreadKeys, fitted
from seatunnel_core.rows.inference.fitting import DiscardedRowError, Fitting, exact_converter
from seatunnel_core.rows.inference.looking import infer_shape
from seatunnel_core.rows.native_json import NativeJson, parsed
from seatunnel_core.rows.nesting import ROW_ID, row_id
from seatunnel_core.rows.values import Converter, converter, row_converter

BATCH_ROWS = 16_384
_BLOCK_BYTES = 8 << 20


@frozen(kw_only=True)
class JsonLinesReader:
    """Reader of ranges of one file."""

    dialect: Dialect
    """Encoding and compression; other fields are unused."""

    columns: pa.Schema
    texts: Texts
    fitting: Fitting | None = None
    """Converter from objects to rows, if the columns were inferred."""

    sampled: bool = False
    """True if the columns were inferred from the beginnings of files, so later rows may differ."""

    identified: bool = False
    """True if rows start with an ID column, which is not among ``columns``."""

    file: OpenFile = field(repr=False)
    context: ReadContext = field(repr=False)

    def read(self, start: int, end: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows between two byte offsets, which are line boundaries or the start or end of the file."""
        # Called for errors only, because it reads all lines before the range.
        lines_before_start = cache(lambda: self._lines_to(start))
        convert = exact_converter if self.fitting is not None else self._converter
        native = NativeJson(self.columns, convert, complete=self.sampled)
        lines_before = 0
        unread = UnreadKeys(self.columns, self.context)
        for piece in pieces(self.dialect, self.file, start, end):
            rows = native.rows(piece)
            ids = self._ids(piece, start) if self.identified else None
            if rows is not None and not (self.sampled and _may_change(rows, piece)):
                if self.fitting is None:
                    unread.see_parsed(rows, piece, self._places(lines_before, lines_before_start))
                rows = rows if ids is None else _with_ids(rows, ids)
                yield from (rows.slice(place, BATCH_ROWS) for place in range(0, rows.num_rows, BATCH_ROWS))
            else:
                yield from self._careful(piece, 1 + lines_before, lines_before_start, ids, unread)
            lines_before += line_ends(piece)
            start += len(piece)
        self.file.check()

    def _ids(self, piece: bytes, start: int) -> list[str]:
        """Return an ID for each line. The ID depends on the position and the text, because a file may be rewritten."""
        starts = [0, *(found.end() for found in _LINE_END.finditer(piece))]
        lines = [piece[first:end].strip() for first, end in zip(starts, [*starts[1:], len(piece)], strict=True)]
        path = self.file.version.path
        return [row_id(path, start + place, line) for place, line in zip(starts, lines, strict=True)]

    def _places(self, lines_before: int, lines_before_start: Callable[[], int]) -> Callable[[int], str]:
        """Return a function that formats the location of a row, given its number in a piece, from 0."""
        return lambda row: f"{self.file.version.path}, line {lines_before_start() + lines_before + row + 1}"

    def _lines_to(self, start: int) -> int:
        return lines_before(self.file, start) if self.dialect.seekable else 0

    def _careful(
        self,
        text: bytes,
        line: int,
        lines_before_start: Callable[[], int],
        ids: list[str] | None,
        unread: UnreadKeys,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a piece that starts on line ``line`` of the range; pass bad rows to ``context.skip``."""
        convert = row_converter(self.columns, self._converter)
        columns = self.columns if ids is None else pa.schema([pa.field(ROW_ID, pa.string()), *self.columns])
        rows: list[dict[str, Any]] = []
        for record in records([text], _LINES, line):
            if not record.text.strip():
                continue
            try:
                row = self._row(record, convert, lines_before_start, unread)
                rows.append(row if ids is None else {ROW_ID: ids[record.line - line], **row})
            except RowError as error:
                self.context.skip(error)
            except DiscardedRowError as discarded:
                self.context.leave_out(str(discarded), self._where(record, lines_before_start))
            if len(rows) == BATCH_ROWS:
                yield pa.RecordBatch.from_pylist(rows, schema=columns)
                rows = []
        if rows:
            yield pa.RecordBatch.from_pylist(rows, schema=columns)

    def _row(
        self,
        record: Record,
        convert: Callable[[Mapping[str, Any]], dict[str, Any]],
        lines_before_start: Callable[[], int],
        unread: UnreadKeys,
    ) -> dict[str, Any]:
        try:
            found = object_of(record.text, self.dialect)
            if self.fitting is None:
                unread.see(found, lambda: self._where(record, lines_before_start))
                return convert(found)
            return fitted(self.fitting, found, lambda: self._where(record, lines_before_start), self.context)
        except RowError as error:
            raise RowError(f"{self._where(record, lines_before_start)}: {error}") from error.__cause__
        except ValueError as error:
            raise RowError(f"{self._where(record, lines_before_start)}, {error}") from None

    def _where(self, record: Record, lines_before_start: Callable[[], int]) -> str:
        return f"{self.file.version.path}, line {lines_before_start() + record.line}"

    def _converter(self, kind: pa.DataType) -> Converter:
        is_moment = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
        return self.texts.converter(kind) if is_moment else converter(kind)


def pieces(dialect: Dialect, file: OpenFile, start: int, end: int) -> Iterator[bytes]:
    """Yield the whole lines between the byte offsets ``start`` and ``end``, a few megabytes at a time."""
    held = b""
    for block in dialect.blocks(file, start, end, _BLOCK_BYTES):
        cut = block.rfind(b"\n") + 1
        if not cut:
            held += block
            continue
        yield held + block[:cut]
        held = block[cut:]
    if held:
        yield held


def object_of(line: bytes, dialect: Dialect) -> dict[str, Any]:
    """Return the object in a line; raise ``RowError`` if the line is not a JSON object."""
    try:
        found = parsed(line)
    except UnicodeDecodeError as error:
        raise RowError(f"the line {no_characters(dialect.encoding)}") from error
    except ValueError as error:
        raise RowError(f"not a JSON object on one line: {error}") from error
    if not isinstance(found, dict):
        raise RowError(f"expected a JSON object {{…}}, found {type(found).__name__}")
    return found


def infer(text: bytes, dialect: Dialect, levels: int) -> pa.Schema:
    """Infer the columns from whole lines, down to ``levels`` levels; raise ``RowError`` unless lines are objects."""
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                object_of(line, dialect)
            except RowError as error:
                raise RowError(f"line {number}: {error}, so the columns cannot be inferred; declare schema") from None
    return infer_shape(lines, levels).columns()


_LINES = Dialect(delimiter="\x00", quote="")

_LINE_END = re.compile(rb"\r\n|\r|\n")

_OFFSET = re.compile(rb'\d[+-]\d\d:?(?:\d\d)?"')
"""Pattern of a string with a zone offset at the end, which Arrow's timestamps do not preserve."""


def _with_ids(rows: pa.RecordBatch, ids: list[str]) -> pa.RecordBatch:
    columns = pa.schema([pa.field(ROW_ID, pa.string()), *rows.schema])
    return pa.RecordBatch.from_arrays([pa.array(ids[: rows.num_rows], pa.string()), *rows.columns], schema=columns)


def _may_change(rows: pa.RecordBatch, lines: bytes) -> bool:
    """Return True if the parsed rows may have lost information from the lines."""
    return may_shorten(rows, lines) or _OFFSET.search(lines) is not None
