"""Division of delimited text into records with line numbers. Slower than a parser; used to find bad records."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from attrs import field, frozen

from seatunnel_core.connector_api.errors import RowError
from seatunnel_core.connectors.file.formats.delimited.dialect import Dialect
from seatunnel_core.connectors.filesystems.filesystem import OpenFile

COUNTED_BYTES = 1 << 20

LONGEST_RECORD = 64 << 20
"""Maximum number of bytes held in memory while searching for the end of a record."""


@frozen(kw_only=True)
class Record:
    """One record of delimited text."""

    line: int
    """Line of the file on which the record starts, from 1."""

    text: bytes = field(repr=False)
    """Text, including its line break if it has one."""

    problem: str | None = None
    """Reason why the record is invalid; ``None`` if it is valid."""


def line_ends(text: bytes) -> int:
    """Return the number of line ends in ``text``; CR LF and a single CR each count as one."""
    return text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")


def lines_before(file: OpenFile, place: int) -> int:
    """Return the number of lines that end within the first ``place`` bytes of a file; reads all these bytes."""
    found, last = 0, b""
    for start in range(0, place, COUNTED_BYTES):
        block = file.read_range(start, min(start + COUNTED_BYTES, place))
        found += line_ends(block) - (last == b"\r" and block.startswith(b"\n"))
        last = block[-1:]
    return found


def records(pieces: Iterable[bytes], dialect: Dialect, line: int) -> Iterator[Record]:
    """Yield the records in pieces of text, counting lines from ``line``; raise ``RowError`` if a record is too long."""
    expression = _record(dialect.delimiter_byte, dialect.quote_byte, dialect.escape_byte)
    held = b""
    for piece in pieces:
        if len(held) > LONGEST_RECORD:
            raise RowError(
                f"line {line}: the row has more than {LONGEST_RECORD} bytes, or a quote in it is never closed"
            )
        text = held + piece
        position = 0
        while match := expression.match(text, position):
            if match.end() >= len(text) - 1:  # It may continue in the next piece, if only with the \n of a \r\n.
                break
            if match.group().strip(b"\r\n"):
                yield Record(line=line, text=match.group())
            line += line_ends(match.group())
            position = match.end()
        held = text[position:]
    yield from _last(held, expression, line)


def _last(text: bytes, expression: re.Pattern[bytes], line: int) -> Iterator[Record]:
    position = 0
    while position < len(text):
        match = expression.match(text, position)
        if match is None or match.end() == position:
            yield Record(line=line, text=text[position:], problem="this quote is not closed")
            return
        if match.group().strip(b"\r\n"):
            yield Record(line=line, text=match.group())
        line += line_ends(match.group())
        position = match.end()


@lru_cache(maxsize=16)
def _record(delimiter: bytes, quote: bytes, escape: bytes) -> re.Pattern[bytes]:
    """Return a regular expression that matches a record with its line end, as Arrow's parser does."""
    if not (quote or escape):
        return re.compile(rb"[^\r\n]*+(?:\r\n|\r|\n|\Z)")
    d, value = re.escape(delimiter), value_expression(delimiter, quote, escape).pattern
    return re.compile(value + rb"(?:" + d + value + rb")*(?:\r\n|\r|\n|\Z)")


@lru_cache(maxsize=16)
def value_expression(delimiter: bytes, quote: bytes, escape: bytes) -> re.Pattern[bytes]:
    """Return a regular expression that matches one value of a record with quotes or escapes."""
    d, q, e = re.escape(delimiter), re.escape(quote), re.escape(escape)
    # Only sets are possessive: for groups with alternatives, Python before 3.11.5 matches too little (gh-106052). A
    # quote ends a value unless another quote follows, so a record matches in only one way, and backtracking finds no
    # other.
    escaped = e + rb"(?s:.)"
    bare = _run(rb"[^" + d + e + rb"\r\n]*+", escaped if escape else b"")
    value = bare
    if quote:
        pair = rb"(?:" + escaped + rb"|" + q + q + rb")" if escape else q + q
        quoted = q + _run(rb"[^" + q + e + rb"]*+", pair) + q + rb"(?!" + q + rb")" + bare
        value = rb"(?:" + quoted + rb"|(?!" + q + rb")" + bare + rb")"
    return re.compile(value)


def _run(characters: bytes, between: bytes) -> bytes:
    """Return a pattern that matches runs of ``characters``, separated by matches of ``between``."""
    return characters + rb"(?:" + between + characters + rb")*" if between else characters
