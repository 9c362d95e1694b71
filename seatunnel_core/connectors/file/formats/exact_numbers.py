"""Numbers in text, and checks for inferred types that would lose digits."""

import functools
import math
import re
from collections.abc import Iterator
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

INFERRED = (
    " (the type inferred from the beginnings of the files), or would lose digits; declare the type of the column, "
    "for example schema { columns = [ { name = zip, type = string } ] }"
)
"""Last part of messages about inferred types, such as ``'01067' is not a bigint, …``."""

_MORE_THAN_A_NUMBER = re.compile(r"\s*(?:-?0[\dxX]|\+\d+\s*$)")
_EXACT_SIGNS = 15
"""Number of significant digits that a 64-bit float always preserves."""

_HEXADECIMAL = re.compile(rb"(?<![\w.])[+-]?0[xX][0-9a-fA-F]{1,16}(?!\w)")
_LONGEST_HEXADECIMAL = 20
"""Maximum length of a 64-bit hexadecimal number, in bytes, including the characters around it."""

_WHOLE = 2**53
"""Floats below this value represent all integers exactly."""

_TOKEN = re.compile(rb"[:,\[\s-](?=[0-9.]{16}|[0-9.]+[eE][+-]?[0-9]{3})([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
"""Pattern of a long number in JSON; a match inside a string only causes an unnecessary check."""


def is_shortened(text: str | None, kind: pa.DataType) -> bool:
    """Return True if a type does not preserve the notation of a number: ``01067``, ``+41``, or 20 digits as a float."""
    if text is None or _MORE_THAN_A_NUMBER.match(text):
        return text is not None
    if pa.types.is_integer(kind) or not re.search(r"\d", text):  # nan, and infinity
        return False
    number = float(text)
    return math.isinf(number) or (len(text) > _EXACT_SIGNS and Decimal(text) != Decimal(repr(number)))


def is_number(kind: pa.DataType) -> bool:
    """Return True if a type is an integer or floating-point type."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def decimal_only(pieces: Iterator[bytes], columns: pa.Schema) -> Iterator[bytes]:
    """Yield pieces of text; raise ``pa.ArrowInvalid`` if Arrow would read ``0x10`` in an integer column as 16."""
    if not any(pa.types.is_integer(column.type) for column in columns):
        yield from pieces
        return
    before = b""
    for piece in pieces:
        joined = before + piece[:_LONGEST_HEXADECIMAL]
        if any((b"0x" in text or b"0X" in text) and _HEXADECIMAL.search(text) for text in (joined, piece)):
            raise pa.ArrowInvalid("a hexadecimal number")
        yield piece
        before = piece[-_LONGEST_HEXADECIMAL:]


def whole(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Parse integers as Java does: an optional sign and decimal digits; raise ``pa.ArrowInvalid`` for other strings."""
    if pc.any(pc.match_substring_regex(texts, r"^[ \t]*[+-]?0[xX]")).as_py():
        raise pa.ArrowInvalid("a hexadecimal number")
    return _numbers(pc.replace_substring_regex(texts, r"^([ \t]*)\+([0-9])", r"\1\2"), kind)[1]


def finite(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Parse numbers; raise ``pa.ArrowInvalid`` if a number is invalid or too large for the type."""
    if pa.types.is_integer(kind):
        return whole(texts, kind)
    texts, numbers = _numbers(texts, kind)
    infinite = texts.filter(pc.is_inf(numbers))
    if pc.any(pc.match_substring_regex(infinite, "[0-9]")).as_py():
        raise pa.ArrowInvalid("a number is too large")
    return numbers


def exactly(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Parse numbers; raise ``pa.ArrowInvalid`` if a string would lose digits in the type."""
    texts, numbers = _numbers(texts, kind)
    for text in _doubtful(texts, numbers):
        if is_shortened(text, kind):
            raise pa.ArrowInvalid(f"{text!r} would lose digits as {kind}")
    return numbers


def _numbers(texts: pa.Array, kind: pa.DataType) -> tuple[pa.Array, pa.Array]:
    """Return the strings, trimmed if necessary, and the numbers parsed from them."""
    try:
        return texts, texts.cast(kind)
    except pa.ArrowInvalid:
        trimmed = pc.utf8_trim(texts, " \t")
        return trimmed, trimmed.cast(kind)


def _doubtful(texts: pa.Array, numbers: pa.Array) -> Iterator[str]:
    """Yield the (usually few) strings that may lose digits as numbers, for an exact check."""
    some = texts.filter(functools.reduce(pc.or_, (pc.starts_with(texts, first) for first in ("0", "-0", "+"))))
    yield from some.filter(pc.match_substring_regex(some, r"^(-?0[0-9xX]|\+[0-9]+$)")).to_pylist()
    if pa.types.is_floating(numbers.type):
        yield from texts.filter(pc.is_inf(numbers)).to_pylist()
        long = pc.greater(pc.binary_length(texts), _EXACT_SIGNS)
        texts, numbers = texts.filter(long), numbers.filter(long)
        yield from texts.filter(pc.not_equal(numbers.cast(pa.string()), texts)).to_pylist()


def may_shorten(rows: pa.RecordBatch, lines: bytes) -> bool:
    """Return True if a number in the lines may have lost digits when it was parsed as a float."""
    floats = [each for values in rows.columns for each in _floats(values)]
    if not floats:
        return False
    tokens = _TOKEN.findall(lines)
    if not any(_reach(each, _WHOLE) for each in floats):
        tokens = [token for token in tokens if not token.isdigit()]
    texts = pa.array(tokens, pa.binary()).cast(pa.string())
    return any(is_shortened(text, pa.float64()) for text in _doubtful(texts, texts.cast(pa.float64())))


def _floats(values: pa.Array) -> Iterator[pa.Array]:
    if pa.types.is_struct(values.type):
        for part in values.flatten():
            yield from _floats(part)
    elif pa.types.is_list(values.type):
        yield from _floats(values.flatten())
    elif pa.types.is_floating(values.type):
        yield values


def _reach(values: pa.Array, limit: int) -> bool:
    found = pc.min_max(values).as_py()
    return found["min"] is not None and max(abs(found["min"]), abs(found["max"])) >= limit
