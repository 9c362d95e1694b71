"""Dialect of delimited text: delimiter, quotes, nulls, date formats, encoding, compression and header."""

import codecs
import re
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.csv as csv
from attrs import evolve, frozen

from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connectors.file.formats.encodings import as_utf8, is_text_encoding, no_characters
from seatunnel_core.connectors.file.formats.packing import unpacked
from seatunnel_core.connectors.filesystems.filesystem import OpenFile
from seatunnel_core.rows.date_format import strptime_format
from seatunnel_core.work.names import repeated

PREAMBLE_BYTES = 1 << 20
"""Maximum size of the header together with the lines skipped before it, in bytes."""

_BOM = b"\xef\xbb\xbf"
_STAND_INS = tuple(chr(sign) for sign in (*range(1, 32), 127) if chr(sign) not in "\t\r\n")
BETWEEN = "\x1d\x1e\x1f\x1e\x1d"
"""String that replaces the delimiter when lines are examined one by one; it does not occur in text."""

ISO_LIKE = re.compile(r"yyyy-MM-dd(( |'T')HH:mm:ss(\.S{1,6})?)?")
"""Date and timestamp formats that are always accepted."""


@frozen(kw_only=True)
class Dialect:
    """Dialect of a file. The fields have the names and meanings of the connector options."""

    delimiter: str = ","
    """Field delimiter. It has several characters only if there are neither quotes nor escapes."""

    pattern: str = ""
    """Regular expression of the delimiter; empty for a literal delimiter."""

    quote: str = '"'
    """Quote character; if empty, every line break ends a row."""

    escape: str = ""
    null_marker: str | None = None
    keeps_empty: bool = False
    """True to read an empty value in a string column as an empty string instead of null."""

    skip_lines: int = 0
    header: bool = False
    """True if the first line after the skipped ones contains the column names."""

    encoding: str = "utf-8"
    compression: str | None = None
    date_format: str = "yyyy-MM-dd"
    datetime_format: str = "yyyy-MM-dd HH:mm:ss"

    @property
    def seekable(self) -> bool:
        """True if an offset in the file is also an offset in its text, so that a range can be read separately."""
        return self.compression is None and self.is_utf8

    @property
    def is_utf8(self) -> bool:
        """True if the file, once decompressed, is UTF-8 text."""
        return codecs.lookup(self.encoding).name in ("utf-8", "ascii")

    @property
    def splittable(self) -> bool:
        """True if row ends can be found from any position in the file, which is impossible with escape characters."""
        return self.seekable and not self.escape

    @property
    def delimiter_byte(self) -> bytes:
        """The delimiter in UTF-8."""
        return self.delimiter.encode()

    @property
    def is_one_character(self) -> bool:
        """True if the delimiter is a single character, as Arrow's parser requires."""
        return not self.pattern and len(self.delimiter_byte) == 1

    @property
    def without_pattern(self) -> "Dialect":
        """Dialect of lines in which ``BETWEEN`` has replaced each delimiter."""
        return evolve(self, delimiter=BETWEEN, pattern="") if self.pattern else self

    @property
    def quote_byte(self) -> bytes:
        """The quote character in UTF-8."""
        return self.quote.encode()

    @property
    def escape_byte(self) -> bytes:
        """The escape character in UTF-8."""
        return self.escape.encode()

    @property
    def null_values(self) -> list[str]:
        """Strings that mean null, for Arrow's parser."""
        return ["", *([self.null_marker] if self.null_marker else [])]

    @property
    def timestamp_parsers(self) -> list[object]:
        """Date and timestamp formats, for Arrow's parser."""
        formats = (self.date_format, self.datetime_format)
        return [csv.ISO8601, *(reading_format(each) for each in formats if not ISO_LIKE.fullmatch(each))]

    def parsed_type(self, wanted: pa.DataType) -> pa.DataType:
        """Return the type for Arrow's parser, which supports ISO dates only, no nested types and at most 38 digits."""
        if pa.types.is_date32(wanted) and not ISO_LIKE.fullmatch(self.date_format):
            return pa.timestamp("s")
        return pa.string() if pa.types.is_nested(wanted) or pa.types.is_decimal256(wanted) else wanted

    def hint(self, wanted: pa.DataType) -> str:
        """Return a description of valid values of this type, if an option defines their format."""
        if pa.types.is_nested(wanted):
            return " with U+0002, U+0003 and so on between its parts"
        if pa.types.is_date(wanted):
            return f" in the format {self.date_format} (date_format)"
        if pa.types.is_timestamp(wanted):
            zone = " with a zone such as Z or +02:00" if wanted.tz else " without a zone"
            return f" in the format {self.datetime_format} (datetime_format){zone}"
        return ""

    def parse_options(self, *, multiline: bool) -> csv.ParseOptions:
        """Return the options of Arrow's parser."""
        return csv.ParseOptions(
            delimiter=self.delimiter,
            quote_char=self.quote or False,
            double_quote=bool(self.quote),
            escape_char=self.escape or False,
            newlines_in_values=multiline,
        )

    def for_arrow(self, text: bytes) -> tuple[bytes, "Dialect"]:
        """Return the text and the dialect with a one-character delimiter, which Arrow's parser requires."""
        if self.is_one_character:
            return text, self
        for sign in _STAND_INS:
            if sign.encode() not in text:
                return self.with_delimiter(text, sign.encode()), evolve(self, delimiter=sign, pattern="")
        raise pa.ArrowInvalid("the text contains every control character, so none can replace the field delimiter")

    def with_delimiter(self, text: bytes, sign: bytes) -> bytes:
        """Replace each delimiter in whole lines with ``sign``."""
        if not self.pattern:
            return text.replace(self.delimiter_byte, sign)
        pattern = re.compile(self.pattern.encode())
        lines = re.split(rb"(\r\n|\n|\r)", text)  # An expression may match line breaks, too.
        return b"".join(part if number % 2 else pattern.sub(sign, part) for number, part in enumerate(lines))

    def text_stream(self, file: OpenFile, start: int = 0) -> pa.NativeFile:
        """Return a stream of the text, starting at byte ``start`` of the decompressed UTF-8."""
        stream = file.stream()
        if self.compression:
            stream = unpacked(stream, self.compression)
        if not self.is_utf8:
            stream = as_utf8(stream, self.encoding, file.version.path)
        if start:
            stream.read(start)
        return stream

    def blocks(self, file: OpenFile, start: int, end: int, block_bytes: int) -> Iterator[bytes]:
        """Yield the text between two offsets in blocks; if the file is not seekable, all text after ``start``."""
        if self.seekable:
            for place in range(start, end, block_bytes):
                yield file.read_range(place, min(place + block_bytes, end))
            return
        with self.text_stream(file, start) as stream:
            while block := stream.read(block_bytes):
                yield block

    def check(self) -> None:
        """Raise ``SourceError`` if the encoding or a date format is unknown."""
        if not is_text_encoding(self.encoding):
            raise SourceError(f"the encoding {self.encoding!r} is unknown; use UTF-8, GBK or ISO-8859-1")
        for each in (self.date_format, self.datetime_format):
            reading_format(each)

    def preamble(self, file: OpenFile) -> tuple[list[str] | None, int]:
        """Return the names in the header, or ``None`` if there is no header, and the offset of the first row."""
        if not (self.skip_lines or self.header):
            start = 3 if self._head(file, 3) == _BOM else 0
            return None, start
        head = self._head(file, PREAMBLE_BYTES)
        position = 3 if head.startswith(_BOM) else 0
        for _ in range(self.skip_lines):
            position = _after_line(head, position)
        if not self.header:
            return None, position
        end = self._end_of_header(head, position)
        if end == position:
            return None, position
        return self._names(head[position:end], file.version.path), end

    def lines_of_preamble(self, file: OpenFile, start: int) -> int:
        """Return the number of lines before offset ``start``."""
        head = self._head(file, start)
        return head.count(b"\n") + head.count(b"\r") - head.count(b"\r\n")

    def _head(self, file: OpenFile, length: int) -> bytes:
        if self.seekable:
            return file.read_range(0, min(length, file.version.size))
        with self.text_stream(file) as stream:
            return bytes(stream.read(length))

    def _end_of_header(self, head: bytes, position: int) -> int:
        end = _after_line(head, position)
        while self.quote and head.count(self.quote_byte, position, end) % 2 and end < len(head):
            end = _after_line(head, end)
        return end

    def _names(self, line: bytes, path: str) -> list[str]:
        try:
            names = [value.strip() for value in self._values(line)]
        except UnicodeDecodeError as error:
            raise SourceError(f"{path}: the header line {no_characters(self.encoding)}") from error
        except pa.ArrowInvalid as error:
            raise SourceError(f"{path}: the header line cannot be read: {error}") from error
        doubled = repeated(names)
        if doubled:
            raise SourceError(
                f"{path}: the header contains {', '.join(doubled)} more than once; rename the columns in the file, "
                "or declare the columns in schema and skip the header: csv_use_header_line = false, "
                f"skip_header_row_number = {self.skip_lines + 1}"
            )
        return names

    def _values(self, line: bytes) -> list[str]:
        """Return the values in a header line. Arrow's parser starts slowly, so it is used for quoted values only."""
        if not line.strip():
            raise pa.ArrowInvalid("it is empty")
        text = line.decode()
        if not any(sign and sign in line for sign in (self.quote_byte, self.escape_byte)):
            return text.rstrip("\r\n").split(self.delimiter)
        options = csv.ReadOptions(autogenerate_column_names=True, use_threads=False)
        parse = self.parse_options(multiline=True)
        # Arrow infers types, which would turn a name "1.50" into 1.5. So count the columns first, then read strings.
        number = csv.read_csv(pa.BufferReader(line), options, parse).num_columns
        convert = csv.ConvertOptions(null_values=[], column_types={f"f{each}": pa.string() for each in range(number)})
        return [column[0].as_py() for column in csv.read_csv(pa.BufferReader(line), options, parse, convert).columns]


def reading_format(java: str) -> str:
    """Convert a date format to one for ``strptime``, which also accepts single digits where two are usual."""
    if re.match("yyyy-d+-M", java):
        raise SourceError(
            f"dates in the format {java!r} cannot be distinguished from ISO 8601 (yyyy-MM-dd), which is always accepted"
        )
    whole = re.sub(r"\.S+$", "", java) if ISO_LIKE.fullmatch(java) else java
    return strptime_format(SINGLE.sub(r"\g<0>\g<0>", whole))


SINGLE = re.compile(r"(?<!M)M(?!M)|(?<!d)d(?!d)|(?<!H)H(?!H)")
"""Pattern of a month, day or hour without a leading zero."""


def check_delimiter(delimiter: str, *, several: str = "") -> str:
    """Replace escape sequences in a delimiter; raise ``SourceError`` if the delimiter is not supported.

    If ``several`` is given, only one character is allowed, and the error message advises the user to set ``several``.
    """
    for written, meant in (("\\t", "\t"), ("\\001", "\x01"), ("\\u0001", "\x01")):
        delimiter = delimiter.replace(written, meant)
    if not delimiter or "\r" in delimiter or "\n" in delimiter:
        raise SourceError(
            f"field_delimiter {delimiter!r} is empty or contains a line break; use characters such as ',' ';' or '\\t'"
        )
    if several and len(delimiter.encode()) != 1:
        raise SourceError(
            f"field_delimiter {delimiter!r} must be one character such as ',' ';' or '\\t'; for other delimiters "
            f"set {several}"
        )
    return delimiter


def _after_line(text: bytes, position: int) -> int:
    for place in range(position, len(text)):
        if text[place] in b"\r\n":
            return place + (2 if text[place : place + 2] == b"\r\n" else 1)
    return len(text)


def unify(found: Sequence[pa.DataType]) -> pa.DataType:
    """Return the narrowest common type: numbers are widened, other types become strings."""
    kinds = list(dict.fromkeys(found))
    if len(kinds) == 1:
        return kinds[0]
    if all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds):
        return pa.float64()
    if all(pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None) for kind in kinds):
        return pa.timestamp("us")
    return pa.string()
