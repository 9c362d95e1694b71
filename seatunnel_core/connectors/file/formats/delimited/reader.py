"""Reader of delimited text (``csv``, ``text``) that parses with Arrow and locates bad rows if parsing fails.

The fast path parses a range in blocks. If a block cannot be converted, the slow path continues from the first row that
was not returned: it divides the range into records, and bisects them to find the bad ones.
"""

import io
import itertools
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
from attrs import evolve, field, frozen

from seatunnel_core.connector_api.errors import RowError
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connectors.file.formats.delimited import nested_text, records
from seatunnel_core.connectors.file.formats.delimited.dialect import BETWEEN, Dialect
from seatunnel_core.connectors.file.formats.delimited.ragged import resized
from seatunnel_core.connectors.file.formats.delimited.records import Record, lines_before
from seatunnel_core.connectors.file.formats.encodings import no_characters
from seatunnel_core.connectors.file.formats.exact_numbers import INFERRED, decimal_only, exactly, finite, is_number
from seatunnel_core.connectors.file.formats.row_batches import Texts
from seatunnel_core.connectors.filesystems.filesystem import OpenFile
from seatunnel_core.rows.types import type_name

BLOCK_BYTES = 1 << 20
"""Size of the text of a batch, in bytes: enough rows for efficient columns, and small enough for the CPU cache."""

RECORDS_PER_TRIAL = 4096
"""Number of records that the slow path parses together."""

_BOM = b"\xef\xbb\xbf"


@frozen(kw_only=True)
class DelimitedReader:
    """Reader of ranges of one file."""

    dialect: Dialect
    names: tuple[str, ...]
    """Names of the columns in the order of the file."""

    columns: pa.Schema
    """Columns to read, with their types and in output order; a subset of ``names``."""

    header_option: str
    """Option that declares a header, for messages."""

    ragged: bool = False
    """True if a line may have more or fewer values than there are names."""

    inferred: bool = False
    """True if types were inferred from the beginnings of files; numbers are then checked for lost digits."""

    file: OpenFile = field(repr=False)
    context: ReadContext = field(repr=False)

    def read(self, start: int, end: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows between two byte offsets, which are line boundaries or the start or end of the file."""
        done = 0
        if self.dialect.keeps_empty:  # Arrow's parser has one list of nulls for all columns.
            yield from self._careful(start, end, done)
            self.file.check()
            return
        try:
            for batch in self._fast(start, end):
                yield batch
                done += batch.num_rows
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            yield from self._careful(start, end, done)
        self.file.check()

    # -- fast path ------------------------------------------------------------------------------------------------

    def _fast(self, start: int, end: int) -> Iterator[pa.RecordBatch]:
        """Parse the range in pieces; parse the first piece with a quote together with the rest of the range."""
        for text, quoted in self._texts_of(start, end):
            if not self.dialect.is_one_character:
                batches = self._replaced(text)
            elif quoted is None:
                batches = self._parsed(pa.BufferReader(_without_bom_trap(text, start)), self.dialect, len(text) + 2)
            else:
                batches = self._quoted(itertools.chain((_without_bom_trap(text, start),), quoted), end)
            for batch in batches:
                if batch.num_rows:
                    yield self._conform(batch)
            start += len(text)

    def _texts_of(self, start: int, end: int) -> Iterator[tuple[bytes, Iterator[bytes] | None]]:
        """Yield the text of the range in pieces of whole lines; a piece with a quote also has the rest of the range."""
        held = b""
        pieces = decimal_only(self._pieces(start, end), self.columns)
        splits = self.dialect.is_one_character and self.dialect.quote_byte
        for piece in pieces:
            if splits and splits in piece:
                yield held + piece, pieces
                return
            text = held + piece
            whole = text.rfind(b"\n") + 1 or text.rfind(b"\r", 0, -1) + 1
            if whole:
                yield text[:whole], None
            held = text[whole:]
            if len(held) > records.LONGEST_RECORD:
                raise pa.ArrowInvalid("a line is too long to fit into memory")
        if held:
            yield held, None

    def _quoted(self, pieces: Iterator[bytes], end: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of text with quotes.

        Arrow treats an unclosed quote as closed at the end of the text. To detect this, a marker row of empty values is
        appended: an open quote absorbs the marker, and then its last value is not null.
        """
        marked = not self.dialect.seekable or end == self.file.version.size
        if marked and len(self.names) == 1:
            raise pa.ArrowInvalid("in a file with one column, an empty line does not mark the end")
        if marked:
            marker = b"\n" + self.dialect.delimiter_byte * (len(self.names) - 1) + b"\n"
            pieces = itertools.chain(pieces, (marker,))
        with pa.PythonFile(_Quoted(pieces)) as stream:
            batches = self._parsed(stream, self.dialect, BLOCK_BYTES, multiline=True)
            yield from _unmarked(batches, self.names[-1]) if marked else batches

    def _replaced(self, text: bytes) -> Iterator[pa.RecordBatch]:
        """Yield the rows of whole lines that use a delimiter of several characters."""
        text, dialect = self.dialect.for_arrow(text)
        with pa.BufferReader(b"\n" + text) as stream:  # So that a byte-order mark in it is not removed.
            yield from self._parsed(stream, dialect, BLOCK_BYTES)

    def _parsed(
        self, stream: pa.NativeFile, dialect: Dialect, block_bytes: int, *, multiline: bool = False
    ) -> Iterator[pa.RecordBatch]:
        options = csv.ReadOptions(column_names=self.names, use_threads=False, block_size=block_bytes)
        columns = self.columns
        if self.names[-1] not in columns.names:
            columns = columns.append(pa.field(self.names[-1], pa.binary()))
        parse, convert = dialect.parse_options(multiline=multiline), self._convert(columns, careful=False)
        try:
            reader = csv.open_csv(stream, options, parse, convert)
        except pa.ArrowInvalid as error:
            if "Empty CSV file" in str(error):
                return
            raise
        yield from reader

    def _convert(
        self, columns: pa.Schema, *, quoted_null: bool = False, empty_null: bool = True, careful: bool = True
    ) -> csv.ConvertOptions:
        parsed_type = self._careful_type if careful else self._parsed_type
        return csv.ConvertOptions(
            include_columns=columns.names,
            column_types={column.name: parsed_type(column.type) for column in columns},
            null_values=[each for each in self.dialect.null_values if each or empty_null],
            strings_can_be_null=True,
            quoted_strings_can_be_null=quoted_null,
            timestamp_parsers=self.dialect.timestamp_parsers,
        )

    def _parsed_type(self, wanted: pa.DataType) -> pa.DataType:
        return pa.string() if self.inferred and is_number(wanted) else self.dialect.parsed_type(wanted)

    def _careful_type(self, wanted: pa.DataType) -> pa.DataType:
        return pa.string() if is_number(wanted) else self._parsed_type(wanted)

    def _conform(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Convert the batch to the expected nullability, and to types that the parser lacks."""
        arrays = []
        for column in self.columns:
            array = batch.column(column.name)
            if pa.types.is_nested(column.type):
                array = nested_text.parsed(array, column.type, self._texts)
            elif is_number(column.type) and pa.types.is_string(array.type):
                array = exactly(array, column.type) if self.inferred else finite(array, column.type)
            elif pa.types.is_floating(column.type) and pc.any(pc.is_inf(array)).as_py():
                raise pa.ArrowInvalid("the number is infinite or too large")
            elif array.type != column.type:
                array = pc.cast(array, column.type)
            elif pa.types.is_binary(column.type) and not self.dialect.is_utf8:
                array.cast(pa.string())  # Raises an error for bytes that are invalid in the encoding.
            if not column.nullable and array.null_count:
                raise pa.ArrowInvalid(f"column {column.name!r} is not nullable")
            arrays.append(array)
        return pa.RecordBatch.from_arrays(arrays, schema=self.columns)

    @property
    def _texts(self) -> Texts:
        return Texts(date_format=self.dialect.date_format, datetime_format=self.dialect.datetime_format)

    # -- slow path ------------------------------------------------------------------------------------------------

    def _careful(self, start: int, end: int, done: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows after the first ``done`` rows; pass bad rows to ``context.skip``."""
        for trial in self._trials(start, end):
            for batch in self._try(trial):
                skipped = min(done, batch.num_rows)
                done -= skipped
                if batch.num_rows > skipped:
                    yield batch.slice(skipped)

    def _trials(self, start: int, end: int) -> Iterator[Sequence[Record]]:
        line = 1 + self._lines_before(start)
        trial: list[Record] = []
        try:
            for record in records.records(self._pieces(start, end), self.dialect, line):
                trial.append(self._ready(record))
                if len(trial) == RECORDS_PER_TRIAL:
                    yield trial
                    trial = []
        except RowError as error:
            raise RowError(f"{self.file.version.path}, {error}") from None
        if trial:
            yield trial

    def _ready(self, record: Record) -> Record:
        """Return a record with a literal delimiter and one value per column."""
        if self.dialect.pattern:
            record = evolve(record, text=self.dialect.with_delimiter(record.text, BETWEEN.encode()))
        if not self.ragged:
            return record
        found, values = resized(record, self.dialect.without_pattern, len(self.names))
        if values != len(self.names):
            self.context.note(
                f"have more or fewer values than the {len(self.names)} columns: missing values become null, extra "
                "values are dropped",
                f"{self.file.version.path}, line {record.line} with {values}",
            )
        return found

    def _pieces(self, start: int, end: int) -> Iterator[bytes]:
        return self.dialect.blocks(self.file, start, end, BLOCK_BYTES)

    def _lines_before(self, start: int) -> int:
        if not self.dialect.seekable:
            return self.dialect.lines_of_preamble(self.file, start)
        return lines_before(self.file, start)

    def _try(self, trial: Sequence[Record]) -> Iterator[pa.RecordBatch]:
        try:
            if any(record.problem for record in trial):
                raise pa.ArrowInvalid("a record cannot be separated from the next one")
            batch = self._parse(b"".join(record.text for record in trial))
            if batch.num_rows != len(trial):
                raise pa.ArrowInvalid("the number of rows differs from the number of records")
            yield batch
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            if len(trial) == 1:
                self.context.skip(self._explain(trial[0], error))
                return
            middle = len(trial) // 2
            yield from self._try(trial[:middle])
            yield from self._try(trial[middle:])

    def _parse(self, text: bytes) -> pa.RecordBatch:
        """Parse whole records. A quoted empty value is null, except in columns of strings and bytes."""
        texts = [column for column in self.columns if _is_text(column.type)]
        others = [column for column in self.columns if not _is_text(column.type)]
        found: dict[str, pa.ChunkedArray] = {}
        for columns, of_text in ((texts, True), (others, False)):
            if columns:
                empty_null = not (of_text and self.dialect.keeps_empty)
                convert = self._convert(pa.schema(columns), quoted_null=not of_text, empty_null=empty_null)
                table = self._read_all(text, convert)
                found |= {name: table.column(name) for name in table.column_names}
        arrays = [found[name].combine_chunks() for name in self.columns.names]
        return self._conform(pa.RecordBatch.from_arrays(arrays, names=self.columns.names))

    def _read_all(self, text: bytes, convert: csv.ConvertOptions) -> pa.Table:
        # If the text has no final line end, Arrow treats an empty last value as quoted if the value before it was
        # quoted.
        text, dialect = self.dialect.without_pattern.for_arrow(b"\n" + text + b"\n")
        options = csv.ReadOptions(column_names=self.names, use_threads=False, block_size=len(text) + 1)
        parse = dialect.parse_options(multiline=bool(dialect.quote))
        return csv.read_csv(pa.BufferReader(text), options, parse, convert)

    # -- errors ---------------------------------------------------------------------------------------------------

    def _explain(self, record: Record, error: Exception) -> RowError:
        where = f"{self.file.version.path}, line {record.line}"
        if record.problem:
            return RowError(f"{where}: {record.problem}")
        for column in self.columns:
            problem = self._problem(record, column)
            if problem:
                return RowError(f"{where}, column {column.name!r}: {problem}")
        fields = self._fields(record)
        if fields is not None and fields != len(self.names):
            return RowError(f"{where}: found {fields} values, expected {len(self.names)} ({', '.join(self.names)})")
        return RowError(f"{where}: {error}")

    def _problem(self, record: Record, column: pa.Field) -> str | None:
        """Describe the problem in one column of a record with the right number of values; ``None`` if it is valid."""
        as_bytes = pa.schema([pa.field(column.name, pa.binary())])
        try:
            value = self._read_all(record.text, self._convert(as_bytes)).column(0)[0].as_py()
        except pa.ArrowInvalid:
            return None
        if value is None:
            return None if column.nullable else "the value is null, but the schema has nullable = false"
        try:
            evolve(self, columns=pa.schema([column]))._parse(record.text)
        except pa.ArrowInvalid:
            shown = value.decode("utf-8", "backslashreplace")
            if _is_text(column.type) or not _is_utf8(value):
                return f"{shown[:80]!r} {no_characters(self.dialect.encoding)}"
            hint = INFERRED if self.inferred else self.dialect.hint(column.type)
            return f"{shown[:80]!r} is not {_article(type_name(column.type))}{hint}{self._header_hint(record, shown)}"
        return None

    def _header_hint(self, record: Record, shown: str) -> str:
        """Return the option to set if the first line may contain the column names."""
        may_be_name = record.line == self.dialect.skip_lines + 1 and not any(sign.isdigit() for sign in shown)
        if self.dialect.header or not may_be_name:
            return ""
        return f"; if this line contains the column names, set {self.header_option}"

    def _fields(self, record: Record) -> int | None:
        """Return the number of values of a record; ``None`` if it cannot be parsed."""
        options = csv.ReadOptions(autogenerate_column_names=True, use_threads=False, block_size=len(record.text) + 2)
        try:
            text, dialect = self.dialect.without_pattern.for_arrow(b"\n" + record.text)
            parse = dialect.parse_options(multiline=bool(dialect.quote))
            return int(csv.read_csv(pa.BufferReader(text), options, parse).num_columns)
        except pa.ArrowInvalid:
            return None


class _Quoted(io.RawIOBase):
    r"""Pieces of quoted text as a stream for Arrow's parser.

    A piece ends with ``\r`` only at the end of the text: Arrow drops a ``\n`` at the beginning of a piece after a
    ``\r``, even inside quotes, where both are part of the value.
    """

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._held = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        text = self._held
        while not (whole := text[:size].rstrip(b"\r")):
            if len(text) >= size:
                raise pa.ArrowInvalid(f"the text contains {size} consecutive carriage returns")
            more = next(self._pieces, None)
            if more is None:
                whole = text
                break
            text += more
        self._held = text[len(whole) :]
        return whole


def _unmarked(batches: Iterator[pa.RecordBatch], last_column: str) -> Iterator[pa.RecordBatch]:
    """Yield all rows except the last one, which must be the marker."""
    held: pa.RecordBatch | None = None
    for batch in batches:
        if batch.num_rows:
            if held is not None:
                yield held
            held = batch
    if held is None or held.column(last_column)[-1].is_valid:
        raise pa.ArrowInvalid("a quote is never closed")
    yield held.slice(0, held.num_rows - 1)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _article(name: str) -> str:
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


def _without_bom_trap(data: bytes, start: int) -> bytes:
    """Prevent Arrow from removing a byte-order mark inside a file, where it is part of a value."""
    return b"\n" + data if start and data.startswith(_BOM) else data
