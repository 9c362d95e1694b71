"""Generator of values that depend only on the seed, the column and the row number.

Rows therefore do not depend on their division into splits and batches, and reading a split again returns the same rows.
Each value is computed by Arrow from the SplitMix64 bits of its position (Steele, Lea, Flood: "Fast Splittable
Pseudorandom Number Generators", 2014).
"""

import math
import zlib
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from seatunnel_core.connectors.fake.moments import Parts
from seatunnel_core.rows.types import SIMPLE, type_name, vector_name

_U64 = pa.uint64()
_MASK = 2**64 - 1
_DAY_SECONDS = 86_400
_YEAR_2000, _DAYS = 10_957, 9_131  # days since 1970, and days of 25 years
_LARGEST_HALF = 65_504.0
_INDEXES = 2**31  # size of a sparse vector
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _texts(length: int, texts: str) -> pa.StringArray:
    """Return an array of strings with equal length, given their concatenation.

    Passing a list to ``pa.array`` imports pandas if it is installed, which takes half a second in each process.
    """
    count = len(texts) // length
    places = array("i", range(0, len(texts) + length, length))
    return pa.StringArray.from_buffers(count, pa.py_buffer(places), pa.py_buffer(texts.encode()))


_PAIRS = _texts(2, "".join(first + second for first in _LETTERS for second in _LETTERS))
_SINGLES = _texts(1, _LETTERS)


@frozen(kw_only=True)
class Generator:
    """Generates random column values."""

    seed: int
    limits: dict[str, tuple[Any, Any]]
    """Smallest and largest value of each numeric type."""

    templates: dict[str, Sequence[Any]]
    """Possible values by type name."""

    string_length: int = 5
    bytes_length: int = 5
    array_size: int = 5
    map_size: int = 5
    float_digits: int | None = None
    """Number of decimal places of floats and doubles; ``None`` for all."""

    vector_limits: tuple[float, float] = (0.0, 1.0)
    sparse_size: int = 4
    """Number of non-zero values in a sparse vector."""

    parts: Parts = Parts()  # noqa: RUF009 - it is frozen

    def column(self, name: str, kind: pa.DataType, start: int, count: int) -> pa.Array:
        """Return the values of a column for ``count`` rows, starting at row ``start``."""
        salt = zlib.crc32(name.encode()) ^ (self.seed & _MASK)
        template = self.templates.get(type_name(kind))
        if template:
            chosen = _remainder(_bits(salt, start, count), len(template)).cast(pa.int64())
            return pa.array(template, kind).take(chosen)
        for matches, make in _MAKERS:
            if matches(kind):
                return make(self, name, kind, start, count, salt)
        raise ValueError(f"values of type {type_name(kind)} cannot be generated")

    def _integers(self, name: str, kind: pa.DataType, start: int, count: int, salt: int) -> pa.Array:
        low, high = self.limits[type_name(kind)]
        spread = _remainder(_bits(salt, start, count), high - low + 1)
        return pc.add(spread.cast(pa.int64(), safe=False), low).cast(kind)

    def _floats(self, name: str, kind: pa.DataType, start: int, count: int, salt: int) -> pa.Array:
        drawn = _between(self.limits[type_name(kind)], _bits(salt, start, count))
        return (drawn if self.float_digits is None else _rounded(drawn, self.float_digits)).cast(kind)

    def _decimals(self, name: str, kind: pa.DataType, start: int, count: int, salt: int) -> pa.Array:
        """Return decimals with at most 12 digits before the decimal point and at most 15 digits in total."""
        whole = min(kind.precision - kind.scale, 12)
        digits = min(kind.scale, 15 - whole)
        scaled = pc.floor(pc.multiply(_unit(_bits(salt, start, count)), float(10 ** (whole + digits))))
        return pc.divide(scaled, float(10**digits)).cast(kind)

    def _texts(self, name: str, kind: pa.DataType, start: int, count: int, salt: int) -> pa.Array:
        binary = pa.types.is_binary(kind)
        length = self.bytes_length if binary else self.string_length
        parts = []
        for number in range((length + 1) // 2):
            letters = _SINGLES if length % 2 and number == length // 2 else _PAIRS
            bits = _bits(salt + number * 0x51ED2701, start, count)
            parts.append(letters.take(_remainder(bits, len(letters)).cast(pa.int32())))
        text = pc.binary_join_element_wise(*parts, "") if parts else pa.repeat("", count)
        return text.cast(kind)

    def _booleans(self, name: str, kind: pa.DataType, start: int, count: int, salt: int) -> pa.Array:
        return pc.equal(pc.bit_wise_and(_bits(salt, start, count), pa.scalar(1, _U64)), pa.scalar(1, _U64))

    def _dates(self, name: str, kind: pa.DataType, start: int, count: int, salt: int) -> pa.Array:
        """Return dates with the configured parts. By default, dates start in the year 2000."""
        if self.parts.of_dates:
            return self.parts.dates(_draws(salt, start, count)).cast(pa.int32()).cast(kind)
        days = pc.add(_remainder(_bits(salt, start, count), _DAYS).cast(pa.int32()), _YEAR_2000)
        return days.cast(pa.int32()).cast(kind)

    def _times(self, name: str, kind: pa.DataType, start: int, count: int, salt: int) -> pa.Array:
        if self.parts.of_times:
            seconds = self.parts.times(_draws(salt, start, count))
        else:
            seconds = _remainder(_bits(salt, start, count), _DAY_SECONDS).cast(pa.int64())
        return pc.multiply(seconds, 1_000_000).cast(kind)

    def _timestamps(self, name: str, kind: pa.DataType, start: int, count: int, salt: int) -> pa.Array:
        """Return timestamps with the configured parts, in whole seconds."""
        if self.parts.of_dates or self.parts.of_times:
            draw = _draws(salt, start, count)
            seconds = pc.add(pc.multiply(self.parts.dates(draw), _DAY_SECONDS), self.parts.times(draw))
        else:
            spread = _remainder(_bits(salt, start, count), _DAYS * _DAY_SECONDS).cast(pa.int64())
            seconds = pc.add(spread, _YEAR_2000 * _DAY_SECONDS)
        return pc.multiply(seconds, 1_000_000).cast(kind)

    def _nulls(self, name: str, kind: pa.DataType, start: int, count: int, salt: int) -> pa.Array:
        return pa.nulls(count, kind)

    def _lists(self, name: str, kind: pa.DataType, start: int, count: int, salt: int) -> pa.Array:
        size = self.array_size
        elements = self.column(f"{name}.element", kind.value_type, start * size, count * size)
        return pa.ListArray.from_arrays(_offsets(count, size), elements, type=kind)

    def _maps(self, name: str, kind: pa.DataType, start: int, count: int, salt: int) -> pa.Array:
        """Return maps with ``map_size`` keys, or fewer if generated keys are equal."""
        size = self.map_size
        keys = self.column(f"{name}.key", kind.key_type, start * size, count * size)
        values = self.column(f"{name}.value", kind.item_type, start * size, count * size)
        offsets, kept = _different(keys, count, size)
        if kept is not None:
            keys, values = keys.take(kept), values.take(kept)
        return pa.MapArray.from_arrays(offsets, keys, values, type=kind)

    def _vectors(self, name: str, kind: pa.DataType, start: int, count: int, salt: int) -> pa.Array:
        size, what = kind.list_size, vector_name(kind)
        bits = _bits(salt, start * size, count * size)
        if what == "binary_vector":
            elements = _remainder(bits, 256)
        elif what == "bfloat16_vector":
            whole = _between(self.vector_limits, bits).cast(pa.float32()).view(pa.uint32())
            elements = pc.shift_right(whole, pa.scalar(16, pa.uint32()))
        else:
            most = _LARGEST_HALF if what == "float16_vector" else math.inf
            low, high = (max(-most, min(limit, most)) for limit in self.vector_limits)
            elements = _between((low, high), bits)
        return pa.FixedSizeListArray.from_arrays(elements.cast(kind.value_type), type=kind)

    def _sparse(self, name: str, kind: pa.DataType, start: int, count: int, salt: int) -> pa.Array:
        """Return sparse vectors. Each value has its own range of indexes, so that indexes never repeat."""
        size = self.sparse_size
        width = _INDEXES // max(size, 1)
        part = _remainder(counting(0, count * size, _U64), max(size, 1))
        index = pc.add(pc.multiply(part, width), _remainder(_bits(salt, start * size, count * size), width))
        values = _between(self.vector_limits, _bits(salt + 1, start * size, count * size)).cast(kind.item_type)
        return pa.MapArray.from_arrays(_offsets(count, size), index.cast(kind.key_type), values, type=kind)

    def _structs(self, name: str, kind: pa.DataType, start: int, count: int, salt: int) -> pa.Array:
        parts = [self.column(f"{name}.{part.name}", part.type, start, count) for part in kind]
        return pa.StructArray.from_arrays(parts, fields=list(kind))

    def width(self, kind: pa.DataType) -> int:
        """Return the estimated size of a value in memory, in bytes."""
        if pa.types.is_struct(kind):
            return sum(self.width(part.type) for part in kind)
        if kind == SIMPLE["sparse_float_vector"]:
            return 8 * self.sparse_size
        if pa.types.is_map(kind):
            return self.map_size * (self.width(kind.key_type) + self.width(kind.item_type))
        if pa.types.is_fixed_size_list(kind):
            return int(kind.list_size) * self.width(kind.value_type)
        if pa.types.is_list(kind):
            return self.array_size * self.width(kind.value_type)
        if pa.types.is_string(kind) or pa.types.is_binary(kind):
            return 4 + (self.string_length if pa.types.is_string(kind) else self.bytes_length)
        return max(kind.bit_width // 8, 1) if pa.types.is_primitive(kind) else 1


_MAKERS: tuple[tuple[Callable[[pa.DataType], bool], Callable[..., pa.Array]], ...] = (
    (pa.types.is_signed_integer, Generator._integers),
    (pa.types.is_floating, Generator._floats),
    (pa.types.is_decimal, Generator._decimals),
    (pa.types.is_string, Generator._texts),
    (pa.types.is_binary, Generator._texts),
    (pa.types.is_boolean, Generator._booleans),
    (pa.types.is_date, Generator._dates),
    (pa.types.is_time, Generator._times),
    (pa.types.is_timestamp, Generator._timestamps),
    (pa.types.is_null, Generator._nulls),
    (SIMPLE["sparse_float_vector"].equals, Generator._sparse),
    (pa.types.is_map, Generator._maps),
    (pa.types.is_fixed_size_list, Generator._vectors),
    (pa.types.is_list, Generator._lists),
    (pa.types.is_struct, Generator._structs),
)


def counting(start: int, count: int, kind: pa.DataType) -> pa.Array:
    """Return ``count`` consecutive integers starting at ``start``."""
    if not count:
        return pa.array([], kind)
    steps = pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), count), start=pa.scalar(-1, pa.int64()))
    return pc.add(steps, pa.scalar(start, pa.int64())).cast(kind)


def _bits(salt: int, start: int, count: int) -> pa.Array:
    first = (start * 0x9E3779B97F4A7C15 + salt * 0xD1342543DE82EF95) & _MASK
    if not count:
        return pa.array([], _U64)
    steps = pa.repeat(pa.scalar(0x9E3779B97F4A7C15, _U64), count)
    bits = pc.cumulative_sum(steps, start=pa.scalar(first, _U64))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, None)):
        bits = pc.bit_wise_xor(bits, pc.shift_right(bits, pa.scalar(shift, _U64)))
        if factor is not None:
            bits = pc.multiply(bits, pa.scalar(factor, _U64))
    return bits


def _remainder(bits: pa.Array, divisor: int) -> pa.Array:
    if divisor > _MASK:
        return bits
    by = pa.scalar(divisor, _U64)
    return pc.subtract(bits, pc.multiply(pc.divide(bits, by), by))


def _unit(bits: pa.Array) -> pa.Array:
    """Return random numbers from 0 (inclusive) to 1 (exclusive)."""
    return pc.multiply(pc.shift_right(bits, pa.scalar(11, _U64)).cast(pa.float64()), 2.0**-53)


def _between(limits: tuple[float, float], bits: pa.Array) -> pa.Array:
    low, high = limits
    unit = _unit(bits)
    if math.isinf(high - low):
        return pc.add(pc.multiply(unit, high), pc.multiply(pc.subtract(1.0, unit), low))
    return pc.add(pc.multiply(unit, high - low), low)


def _rounded(values: pa.Array, digits: int) -> pa.Array:
    """Round values below 2**53. Larger values have no fractional digits, and Arrow's rounding would overflow."""
    small = pc.less(pc.abs(values), 2.0**53)
    return pc.if_else(small, pc.round(pc.if_else(small, values, 0.0), min(digits, 15)), values)


def _draws(salt: int, start: int, count: int) -> Callable[[int, int], pa.Array]:
    return lambda which, size: _remainder(_bits(salt + which * 0x51ED2701, start, count), size)


def _different(keys: pa.Array, count: int, size: int) -> tuple[pa.Array, pa.Array | None]:
    """Remove repeated keys from maps. Return the offsets of the maps and a mask of the keys (``None`` for all)."""
    nested = pa.types.is_nested(keys.type)  # Arrow cannot compare these.
    codes = (pa.array(map(repr, keys.to_pylist()), pa.string()) if nested else keys).dictionary_encode()
    row = pc.divide(counting(0, len(keys), pa.int64()), max(size, 1))
    pairs = pc.add(pc.multiply(row, len(codes.dictionary)), codes.indices.cast(pa.int64()))
    if pc.count_distinct(pairs).as_py() == len(keys):
        return _offsets(count, size), None
    positions = counting(0, len(keys), pa.int64())
    firsts = pa.table({"pair": pairs, "at": positions}).group_by("pair").aggregate([("at", "min")])["at_min"]
    kept = firsts.take(pc.sort_indices(firsts)).combine_chunks()
    per_row = pc.value_counts(row.take(kept)).field("counts")
    return pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(per_row).cast(pa.int32())]), kept


def _offsets(count: int, size: int) -> pa.Array:
    return pc.multiply(counting(0, count + 1, pa.int32()), pa.scalar(size, pa.int32()))
