"""Numbers as they are written, and whether an inferred type would change them."""

import functools
import json
import math
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

INFERRED = (
    ", which the beginnings of the files suggest, with all that it says; declare the column, "
    "for example schema { columns = [ { name = zip, type = string } ] }"
)
"""Follows ``'01067' is not a bigint``."""

_MORE_THAN_A_NUMBER = re.compile(r"\s*(?:-?0[\dxX]|\+\d+\s*$)")
_EXACT_SIGNS = 15
"""A number with this many digits keeps all of them as a float of 64 bits."""

_WHOLE = 2**53
"""Floats below this hold all whole numbers."""

_TOKEN = re.compile(rb"[:,\[\s-](?=[0-9.]{16}|[0-9.]+[eE][+-]?[0-9]{3})([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
"""A long number of JSON; also one within a text, which is then checked needlessly."""

_LONG_NUMBER = re.compile(rb"[0-9][0-9.]{15}|[0-9][eE][+-]?[0-9]{3}")
"""A line of JSON without a match has only exact numbers."""


def is_shortened(text: str | None, kind: pa.DataType) -> bool:
    """Return whether a number loses information in a type: ``01067``, ``+41``, or 20 digits as a float."""
    if text is None or _MORE_THAN_A_NUMBER.match(text):
        return text is not None
    if pa.types.is_integer(kind) or not re.search(r"\d", text):  # nan, and infinity
        return False
    number = float(text)
    return math.isinf(number) or (len(text) > _EXACT_SIGNS and Decimal(text) != Decimal(repr(number)))


def is_number(kind: pa.DataType) -> bool:
    """Return whether a type is one of integers or floats."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def finite(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Parse numbers; the result is infinite only where the text is.

    Raises:
        pa.ArrowInvalid: a text is no number, or one too large for the type.
    """
    texts, numbers = _numbers(texts, kind)
    infinite = texts.filter(pc.is_inf(numbers))
    if pc.any(pc.match_substring_regex(infinite, "[0-9]")).as_py():
        raise pa.ArrowInvalid("a number is too large")
    return numbers


def exactly(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Parse numbers, as Arrow's parser of text does.

    Raises:
        pa.ArrowInvalid: a text is no number, or has more information than a number of the type.
    """
    texts, numbers = _numbers(texts, kind)
    for text in _doubtful(texts, numbers):
        if is_shortened(text, kind):
            raise pa.ArrowInvalid(f"{text!r} has more to say than one of type {kind}")
    return numbers


def _numbers(texts: pa.Array, kind: pa.DataType) -> tuple[pa.Array, pa.Array]:
    """Return the texts, trimmed if some need it, and their numbers."""
    try:
        return texts, texts.cast(kind)
    except pa.ArrowInvalid:
        trimmed = pc.utf8_trim(texts, " \t")
        return trimmed, trimmed.cast(kind)


def _doubtful(texts: pa.Array, numbers: pa.Array) -> Iterator[str]:
    """Yield the texts that may have more information than their numbers: few, because Python checks each."""
    some = texts.filter(functools.reduce(pc.or_, (pc.starts_with(texts, first) for first in ("0", "-0", "+"))))
    yield from some.filter(pc.match_substring_regex(some, r"^(-?0[0-9xX]|\+[0-9]+$)")).to_pylist()
    if pa.types.is_floating(numbers.type):
        yield from texts.filter(pc.is_inf(numbers)).to_pylist()
        long = pc.greater(pc.binary_length(texts), _EXACT_SIGNS)
        texts, numbers = texts.filter(long), numbers.filter(long)
        yield from texts.filter(pc.not_equal(numbers.cast(pa.string()), texts)).to_pylist()


def exact_kinds(columns: pa.Schema, lines: Iterable[bytes]) -> pa.Schema:
    """Return columns inferred from lines of JSON, with strings instead of floats that would lose digits."""
    rows = list(_as_written(lines))
    return pa.schema(
        [column.with_type(_exact(column.type, [row.get(column.name) for row in rows])) for column in columns]
    )


def shortened_in(columns: pa.Schema, lines: bytes) -> tuple[pa.Field, str] | None:
    """Return the first column, and its number, that loses digits in lines of JSON; ``None`` if none does.

    Lines that are no JSON are skipped.
    """
    floating = [column for column in columns if _has_floats(column.type)]
    if not floating or not _LONG_NUMBER.search(lines):
        return None
    for row in _as_written(lines.splitlines()):
        for column in floating:
            found = next(_shortened([row.get(column.name)], column.type), None)
            if found is not None:
                return column, found
    return None


def may_shorten(rows: pa.RecordBatch, lines: bytes) -> bool:
    """Return whether a number of the lines may have lost digits in a float of the rows that were read from them."""
    floats = [each for values in rows.columns for each in _floats(values)]
    if not floats:
        return False
    tokens = _TOKEN.findall(lines)
    if not any(_reach(each, _WHOLE) for each in floats):
        tokens = [token for token in tokens if not token.isdigit()]
    texts = pa.array(tokens, pa.binary()).cast(pa.string())
    return any(is_shortened(text, pa.float64()) for text in _doubtful(texts, texts.cast(pa.float64())))


def _floats(values: pa.Array) -> Iterator[pa.Array]:
    """Yield the arrays of floats within an array."""
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


class _Number(str):
    """A number of JSON as it is written."""


def _as_written(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the lines that may have an inexact number."""
    for line in lines:
        if _LONG_NUMBER.search(line):
            with suppress(ValueError):
                row = json.loads(line, parse_float=_Number, parse_int=_Number)
                if isinstance(row, dict):
                    yield row


def _has_floats(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind):
        return any(_has_floats(part.type) for part in kind)
    return _has_floats(kind.value_type) if pa.types.is_list(kind) else bool(pa.types.is_floating(kind))


def _exact(kind: pa.DataType, values: list[Any]) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([part.with_type(_exact(part.type, _of_part(values, part.name))) for part in kind])
    if pa.types.is_list(kind):
        return pa.list_(_exact(kind.value_type, _elements(values)))
    return pa.string() if any(_shortened(values, kind)) else kind


def _shortened(values: list[Any], kind: pa.DataType) -> Iterator[str]:
    """Yield the numbers that would lose digits."""
    if pa.types.is_struct(kind):
        for part in kind:
            yield from _shortened(_of_part(values, part.name), part.type)
    elif pa.types.is_list(kind):
        yield from _shortened(_elements(values), kind.value_type)
    elif pa.types.is_floating(kind):
        yield from (value for value in values if isinstance(value, _Number) and is_shortened(value, kind))


def _of_part(values: list[Any], name: str) -> list[Any]:
    return [value.get(name) for value in values if isinstance(value, dict)]


def _elements(values: list[Any]) -> list[Any]:
    return [part for value in values if isinstance(value, list) for part in value]
