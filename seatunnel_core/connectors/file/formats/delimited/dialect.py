"""How a delimited text file is written: delimiter, quotes, nulls, dates, encoding, compression, header."""

import codecs
import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.csv as csv
from attrs import evolve, frozen

from seatunnel_core.connectors.file.formats.encodings import is_text_encoding
from seatunnel_core.connectors.file.formats.packing import unpacked
from seatunnel_core.connectors.filesystems.filesystem import OpenFile
from seatunnel_core.errors import SourceError
from seatunnel_core.rows.date_format import strptime_format

PREAMBLE_BYTES = 1 << 20
"""The header and the lines that are skipped before it must lie within this many bytes."""

_BOM = b"\xef\xbb\xbf"
_STAND_INS = tuple(chr(sign) for sign in (*range(1, 32), 127) if chr(sign) not in "\t\r\n")
BETWEEN = "\x1d\x1e\x1f\x1e\x1d"
"""What stands between values where they are looked at line by line, and in no text."""

ISO_LIKE = re.compile(r"yyyy-MM-dd(( |'T')HH:mm:ss(\.S{1,6})?)?")
"""What is read without a word of it."""


@frozen(kw_only=True)
class Dialect:
    """Every field in the words of the connector's options."""

    delimiter: str = ","
    """Of several characters only where there are neither quotes nor escapes."""

    pattern: str = ""
    """The regular expression of the delimiter, where that is no single text."""

    quote: str = '"'
    """Empty: there are no quotes, and every line end ends a row."""

    escape: str = ""
    null_marker: str | None = None
    keeps_empty: bool = False
    """Whether a value without characters is one in a column of texts, and not null."""

    skip_lines: int = 0
    header: bool = False
    """Whether the first line (after the skipped ones) names the columns."""

    encoding: str = "utf-8"
    compression: str | None = None
    date_format: str = "yyyy-MM-dd"
    datetime_format: str = "yyyy-MM-dd HH:mm:ss"

    @property
    def seekable(self) -> bool:
        """Whether bytes of the file are bytes of the text, so that a range of it can be read by itself."""
        return self.compression is None and codecs.lookup(self.encoding).name in ("utf-8", "ascii")

    @property
    def splittable(self) -> bool:
        """Whether the places where rows end can be found; with escapes they cannot."""
        return self.seekable and not self.escape

    @property
    def delimiter_byte(self) -> bytes:
        return self.delimiter.encode()

    @property
    def is_one_sign(self) -> bool:
        """Whether Arrow's parser takes the delimiter as it is."""
        return not self.pattern and len(self.delimiter_byte) == 1

    @property
    def without_pattern(self) -> "Dialect":
        """How lines are written in which ``BETWEEN`` stands in the place of each delimiter that is an expression."""
        return evolve(self, delimiter=BETWEEN, pattern="") if self.pattern else self

    @property
    def quote_byte(self) -> bytes:
        return self.quote.encode()

    @property
    def escape_byte(self) -> bytes:
        return self.escape.encode()

    @property
    def null_values(self) -> list[str]:
        return ["", *([self.null_marker] if self.null_marker else [])]

    @property
    def timestamp_parsers(self) -> list[object]:
        formats = (self.date_format, self.datetime_format)
        return [csv.ISO8601, *(reading_format(each) for each in formats if not ISO_LIKE.fullmatch(each))]

    def parsed_type(self, wanted: pa.DataType) -> pa.DataType:
        """The type as which Arrow's parser reads a column; it knows dates only in ISO form, nothing nested, and no more
        than 38 digits."""
        if pa.types.is_date32(wanted) and not ISO_LIKE.fullmatch(self.date_format):
            return pa.timestamp("s")
        return pa.string() if pa.types.is_nested(wanted) or pa.types.is_decimal256(wanted) else wanted

    def hint(self, wanted: pa.DataType) -> str:
        """What a value of this type should look like, where that is an option."""
        if pa.types.is_nested(wanted):
            return " with U+0002, U+0003 and so on between its parts"
        if pa.types.is_date(wanted):
            return f" of the form {self.date_format} (date_format)"
        if pa.types.is_timestamp(wanted):
            zone = " with a zone such as Z or +02:00" if wanted.tz else " without a zone"
            return f" of the form {self.datetime_format} (datetime_format){zone}"
        return ""

    def parse_options(self, *, multiline: bool) -> csv.ParseOptions:
        return csv.ParseOptions(
            delimiter=self.delimiter,
            quote_char=self.quote or False,
            double_quote=bool(self.quote),
            escape_char=self.escape or False,
            newlines_in_values=multiline,
        )

    def for_arrow(self, text: bytes) -> tuple[bytes, "Dialect"]:
        """The text and how it is written with a delimiter of one character, which is all that Arrow's parser takes.

        Raises:
            pa.ArrowInvalid: the text has every control character, so that none can stand for the delimiter.
        """
        if self.is_one_sign:
            return text, self
        for sign in _STAND_INS:
            if sign.encode() not in text:
                return self.with_delimiter(text, sign.encode()), evolve(self, delimiter=sign, pattern="")
        raise pa.ArrowInvalid("every control character is in it, and one has to stand for the field delimiter")

    def with_delimiter(self, text: bytes, sign: bytes) -> bytes:
        """Whole lines with a sign in the place of each delimiter."""
        if not self.pattern:
            return text.replace(self.delimiter_byte, sign)
        pattern = re.compile(self.pattern.encode())
        lines = re.split(rb"(\r\n|\n|\r)", text)  # an expression may match line ends, too
        return b"".join(part if number % 2 else pattern.sub(sign, part) for number, part in enumerate(lines))

    def text_stream(self, file: OpenFile, start: int = 0) -> pa.NativeFile:
        """The text from byte ``start`` of the unpacked UTF-8 on."""
        stream = file.stream()
        if self.compression:
            stream = unpacked(stream, self.compression)
        if codecs.lookup(self.encoding).name not in ("utf-8", "ascii"):
            stream = pa.transcoding_input_stream(stream, self.encoding, "utf-8")
        if start:
            stream.read(start)
        return stream

    def check(self) -> None:
        """Refuse what cannot be read.

        Raises:
            SourceError: an unknown encoding or date format.
        """
        if not is_text_encoding(self.encoding):
            raise SourceError(f"the encoding {self.encoding!r} is not known; use UTF-8, GBK or ISO-8859-1")
        for each in (self.date_format, self.datetime_format):
            reading_format(each)

    def preamble(self, file: OpenFile) -> tuple[list[str] | None, int]:
        """The names in the header (``None`` without one), and where the rows begin.

        Raises:
            SourceError: the file ends, or goes on for too long, before its header.
        """
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
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            raise SourceError(f"{path}: its header line cannot be read: {error}") from error
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise SourceError(f"{path}: its header names {', '.join(doubled)} more than once")
        return names

    def _values(self, line: bytes) -> list[str]:
        """The values of a header. Arrow's parser takes milliseconds to start, so it is asked about quotes only."""
        if not line.strip():
            raise pa.ArrowInvalid("it is empty")
        if not any(sign and sign in line for sign in (self.quote_byte, self.escape_byte)):
            return line.rstrip(b"\r\n").decode().split(self.delimiter)
        options = csv.ReadOptions(autogenerate_column_names=True, use_threads=False)
        parse = self.parse_options(multiline=True)
        # Arrow infers types, and a name "1.50" would become 1.5: so the number of columns comes first, then all texts.
        number = csv.read_csv(pa.BufferReader(line), options, parse).num_columns
        convert = csv.ConvertOptions(null_values=[], column_types={f"f{each}": pa.string() for each in range(number)})
        return [column[0].as_py() for column in csv.read_csv(pa.BufferReader(line), options, parse, convert).columns]


def reading_format(java: str) -> str:
    """A date format as one of C's, which reads one digit where there may be two; parts of a second only as ISO 8601 has
    them.

    Raises:
        SourceError: as ``strptime_format``, or its texts could be ISO 8601 with another meaning.
    """
    if re.match("yyyy-d+-M", java):
        raise SourceError(f"the format {java!r} cannot be told from ISO 8601, yyyy-MM-dd, which is always read")
    whole = re.sub(r"\.S+$", "", java) if ISO_LIKE.fullmatch(java) else java
    return strptime_format(SINGLE.sub(r"\g<0>\g<0>", whole))


SINGLE = re.compile(r"(?<!M)M(?!M)|(?<!d)d(?!d)|(?<!H)H(?!H)")
"""A month, a day or an hour that is written without a zero before it."""


def check_delimiter(delimiter: str, *, several: str = "") -> str:
    """The delimiter itself.

    Args:
        several: what to write for a delimiter of several characters; empty where it may have them.

    Raises:
        SourceError: it has a line end, or is not one ASCII character where it has to be.
    """
    for written, meant in (("\\t", "\t"), ("\\001", "\x01"), ("\\u0001", "\x01")):
        delimiter = delimiter.replace(written, meant)
    if not delimiter or "\r" in delimiter or "\n" in delimiter:
        raise SourceError(f"field_delimiter {delimiter!r} must be characters such as ',' ';' or '\\t', and no line end")
    if several and len(delimiter.encode()) != 1:
        raise SourceError(
            f"field_delimiter {delimiter!r} must be one character such as ',' ';' or '\\t'; for others write {several}"
        )
    return delimiter


def _after_line(text: bytes, position: int) -> int:
    for place in range(position, len(text)):
        if text[place] in b"\r\n":
            return place + (2 if text[place : place + 2] == b"\r\n" else 1)
    return len(text)


def unify(found: Sequence[pa.DataType]) -> pa.DataType:
    """The narrowest type that holds the values of all the types: numbers widen, everything else becomes text."""
    kinds = list(dict.fromkeys(found))
    if len(kinds) == 1:
        return kinds[0]
    if all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds):
        return pa.float64()
    if all(pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None) for kind in kinds):
        return pa.timestamp("us")
    return pa.string()
