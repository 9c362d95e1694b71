"""Conversion of a column's strings to its Arrow type."""

import binascii
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as of

from seatunnel_core.connectors.jdbc.databases.postgresql_values import cast_numbers
from seatunnel_core.connectors.jdbc.fetched import converted, without
from seatunnel_core.connectors.postgres_log.errors import MalformedLogError
from seatunnel_core.connectors.postgres_log.row_images import Values
from seatunnel_core.connectors.postgres_log.values.arrays import elements_of
from seatunnel_core.connectors.postgres_log.values.strings import array_of, ascii_strings, gathered, strings, validity
from seatunnel_core.rows.extent import BEYOND

Misfits = Mapping[int, str]
"""Messages for values that the Arrow type cannot represent, keyed by index. These values are null in the array."""

Converted = tuple[pa.Array, Misfits]
Convert = Callable[[Values], Converted]

_OfStrings = Callable[[pa.Array], Converted]

_NO_NUMBERS = pa.array(["NaN", "Infinity", "-Infinity"])
_BEYOND = r"^-?infinity$|^\d{5,}-| BC$"
"""Pattern of dates and timestamps outside the years 1 to 9999."""


def conversion(kind: pa.DataType, delimiter: str) -> Convert:
    """Return the function that converts the strings of a column; ``delimiter`` separates array elements."""
    if of.is_binary(kind):
        return lambda values: (_bytea(values), {})
    if of.is_string(kind):
        return lambda values: (strings(values), {})
    if of.is_list(kind):
        return lambda values: _lists(strings(values), kind, delimiter)
    convert = _of_strings(kind)
    return lambda values: convert(ascii_strings(values))


def _of_strings(kind: pa.DataType) -> _OfStrings:
    if of.is_boolean(kind):
        return _booleans
    if of.is_decimal(kind):
        return partial(_decimals, kind=kind)
    if of.is_date(kind) or of.is_timestamp(kind):
        return partial(_moments, kind=kind)
    if of.is_time(kind):
        return _times
    if of.is_binary(kind):
        return _bytes_of_strings
    return lambda found: (found.cast(kind), {})


def _booleans(found: pa.Array) -> Converted:
    true = pc.equal(found, "t")
    if not pc.all(pc.or_(true, pc.equal(found, "f")), min_count=0).as_py():
        raise MalformedLogError("a boolean is neither t nor f")
    return true, {}


def _decimals(found: pa.Array, kind: pa.DataType) -> Converted:
    try:
        return cast_numbers(found, kind), {}
    except pa.ArrowInvalid:
        mask = pc.is_in(found, _NO_NUMBERS)
        kept, infinite = without(
            found, mask, lambda number: f"{str(found[number])!r} does not fit: it is not a finite number"
        )
        numbers, long = converted(kept, lambda values: cast_numbers(values, kind))
        return numbers, {**infinite, **long}


def _moments(found: pa.Array, kind: pa.DataType) -> Converted:
    """Convert dates or timestamps in ISO format."""
    try:
        return found.cast(kind), {}
    except pa.ArrowInvalid:
        outside = pc.fill_null(pc.match_substring_regex(found, _BEYOND), False)
        kept, misfits = without(found, outside, lambda number: f"{str(found[number])!r} {BEYOND}")
        return kept.cast(kind), misfits


def _times(found: pa.Array) -> Converted:
    outside = pc.fill_null(pc.equal(found, "24:00:00"), False)
    kept, misfits = without(found, outside, lambda number: f"'24:00:00' {BEYOND}")
    moments = pc.binary_join_element_wise("1970-01-01", kept, " ").cast(pa.timestamp("us"))
    return moments.view(pa.int64()).cast(pa.time64("us")), misfits


def _bytea(values: Values) -> pa.Array:
    """Convert ``bytea`` values in ``hex`` format."""
    valid, data = values.valid, values.buffer.data
    begins, sizes = values.begins[valid], values.sizes[valid]
    if ((sizes < 2) | (sizes % 2 == 1)).any() or (data[begins] != 92).any() or (data[begins + 1] != 120).any():
        raise MalformedLogError("a bytea value is not in hex format")
    digits, offsets = gathered(data, values.begins + 2, (values.sizes - 2) * valid)
    try:
        raw = binascii.unhexlify(digits.data)
    except binascii.Error as error:
        raise MalformedLogError(f"a bytea value is not in hex format: {error}") from None
    return array_of(pa.binary(), validity(values), np.frombuffer(raw, np.uint8), offsets // 2)


def _bytes_of_strings(found: pa.Array) -> Converted:
    try:
        return pa.array([None if each is None else _unhexed(each) for each in found.to_pylist()], pa.binary()), {}
    except ValueError as error:
        raise MalformedLogError(f"a bytea value is not in hex format: {error}") from None


def _unhexed(text: str) -> bytes:
    if not text.startswith("\\x"):
        raise ValueError(repr(text[:60]))
    return binascii.unhexlify(text[2:])


def _lists(literals: pa.Array, kind: pa.DataType, delimiter: str) -> Converted:
    lists, several = elements_of(literals, delimiter)
    if of.is_string(kind.value_type):
        return lists, several
    elements, wrong = _of_strings(kind.value_type)(lists.flatten())
    mask = lists.is_null() if lists.null_count else None
    found = pa.ListArray.from_arrays(lists.offsets, elements, type=kind, mask=mask)
    if not wrong:
        return found, several
    parents = pc.list_parent_indices(lists).to_pylist()
    misfits = {parents[number]: message for number, message in sorted(wrong.items(), reverse=True)}
    refused = pa.array([number in misfits for number in range(len(found))])
    kept, _ = without(found, refused, lambda number: "")
    return kept, {**several, **misfits}
