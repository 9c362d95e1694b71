"""Makes columns of values up, as a function of seed, column and row number alone.

So a row is the same however the rows are cut into splits and batches, and a split that is read again gives the same. A
value is drawn from the bits of SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", 2014)
of its position, computed for whole columns by Arrow.
"""

import zlib
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from seatunnel_core.rows.types import type_name

_U64 = pa.uint64()
_MASK = 2**64 - 1
_DAY_SECONDS = 86_400
_YEAR_2000, _DAYS = 10_957, 9_131  # days since 1970, and days of 25 years
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_PAIRS = pa.array([first + second for first in _LETTERS for second in _LETTERS])
_SINGLES = pa.array(list(_LETTERS))


@frozen(kw_only=True)
class Generator:
    """Makes values up."""

    seed: int
    limits: dict[str, tuple[Any, Any]]
    """Smallest and largest value of each number type."""

    templates: dict[str, Sequence[Any]]
    """The values to choose from, by name of type."""

    string_length: int = 5
    bytes_length: int = 5
    array_size: int = 5
    map_size: int = 5

    def column(self, name: str, kind: pa.DataType, start: int, count: int) -> pa.Array:
        """The values of rows ``start`` to ``start + count`` of a column."""
        salt = zlib.crc32(name.encode()) ^ (self.seed & _MASK)
        template = self.templates.get(type_name(kind))
        if template:
            chosen = _remainder(_bits(salt, start, count), len(template)).cast(pa.int64())
            return pa.array(template, kind).take(chosen)
        for matches, make in _MAKERS:
            if matches(kind):
                return make(self, name, kind, start, count, salt)
        raise ValueError(f"values of type {type_name(kind)} cannot be made up")

    def integers(self, name: str, kind: pa.DataType, start: int, count: int, salt: int) -> pa.Array:
        low, high = self.limits[type_name(kind)]
        spread = _remainder(_bits(salt, start, count), high - low + 1)
        return pc.add(spread.cast(pa.int64(), safe=False), low).cast(kind)

    def floats(self, name: str, kind: pa.DataType, start: int, count: int, salt: int) -> pa.Array:
        low, high = self.limits[type_name(kind)]
        return pc.add(pc.multiply(_unit(_bits(salt, start, count)), high - low), low).cast(kind)

    def decimals(self, name: str, kind: pa.DataType, start: int, count: int, salt: int) -> pa.Array:
        whole = min(kind.precision - kind.scale, 12)
        digits = min(kind.scale, 15 - whole)
        scaled = pc.floor(pc.multiply(_unit(_bits(salt, start, count)), float(10 ** (whole + digits))))
        return pc.divide(scaled, float(10**digits)).cast(kind)

    def texts(self, name: str, kind: pa.DataType, start: int, count: int, salt: int) -> pa.Array:
        binary = pa.types.is_binary(kind)
        length = self.bytes_length if binary else self.string_length
        parts = []
        for number in range((length + 1) // 2):
            letters = _SINGLES if length % 2 and number == length // 2 else _PAIRS
            bits = _bits(salt + number * 0x51ED2701, start, count)
            parts.append(letters.take(_remainder(bits, len(letters)).cast(pa.int32())))
        text = pc.binary_join_element_wise(*parts, "") if parts else pa.repeat("", count)
        return text.cast(kind)

    def booleans(self, name: str, kind: pa.DataType, start: int, count: int, salt: int) -> pa.Array:
        return pc.equal(pc.bit_wise_and(_bits(salt, start, count), pa.scalar(1, _U64)), pa.scalar(1, _U64))

    def dates(self, name: str, kind: pa.DataType, start: int, count: int, salt: int) -> pa.Array:
        days = pc.add(_remainder(_bits(salt, start, count), _DAYS).cast(pa.int32()), _YEAR_2000)
        return days.cast(pa.int32()).cast(kind)

    def times(self, name: str, kind: pa.DataType, start: int, count: int, salt: int) -> pa.Array:
        seconds = _remainder(_bits(salt, start, count), _DAY_SECONDS).cast(pa.int64())
        return pc.multiply(seconds, 1_000_000).cast(kind)

    def timestamps(self, name: str, kind: pa.DataType, start: int, count: int, salt: int) -> pa.Array:
        spread = _remainder(_bits(salt, start, count), _DAYS * _DAY_SECONDS).cast(pa.int64())
        return pc.multiply(pc.add(spread, _YEAR_2000 * _DAY_SECONDS), 1_000_000).cast(kind)

    def nulls(self, name: str, kind: pa.DataType, start: int, count: int, salt: int) -> pa.Array:
        return pa.nulls(count, kind)

    def lists(self, name: str, kind: pa.DataType, start: int, count: int, salt: int) -> pa.Array:
        size = self.array_size
        elements = self.column(f"{name}.element", kind.value_type, start * size, count * size)
        return pa.ListArray.from_arrays(_offsets(count, size), elements).cast(kind)

    def maps(self, name: str, kind: pa.DataType, start: int, count: int, salt: int) -> pa.Array:
        size = self.map_size
        keys = self.column(f"{name}.key", kind.key_type, start * size, count * size)
        values = self.column(f"{name}.value", kind.item_type, start * size, count * size)
        return pa.MapArray.from_arrays(_offsets(count, size), keys, values).cast(kind)

    def structs(self, name: str, kind: pa.DataType, start: int, count: int, salt: int) -> pa.Array:
        parts = [self.column(f"{name}.{part.name}", part.type, start, count) for part in kind]
        return pa.StructArray.from_arrays(parts, fields=list(kind))


_MAKERS: tuple[tuple[Callable[[pa.DataType], bool], Callable[..., pa.Array]], ...] = (
    (pa.types.is_signed_integer, Generator.integers),
    (pa.types.is_floating, Generator.floats),
    (pa.types.is_decimal, Generator.decimals),
    (pa.types.is_string, Generator.texts),
    (pa.types.is_binary, Generator.texts),
    (pa.types.is_boolean, Generator.booleans),
    (pa.types.is_date, Generator.dates),
    (pa.types.is_time, Generator.times),
    (pa.types.is_timestamp, Generator.timestamps),
    (pa.types.is_null, Generator.nulls),
    (pa.types.is_map, Generator.maps),
    (pa.types.is_list, Generator.lists),
    (pa.types.is_struct, Generator.structs),
)


def counting(start: int, count: int, kind: pa.DataType) -> pa.Array:
    """``start``, ``start + 1``, …"""
    if not count:
        return pa.array([], kind)
    return pc.cumulative_sum(pa.repeat(pa.scalar(1, kind), count), start=pa.scalar(start - 1, kind))


def _bits(salt: int, start: int, count: int) -> pa.Array:
    """64 bits for each position, which look random."""
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
    """Numbers from 0 up to, but not including, 1."""
    return pc.multiply(pc.shift_right(bits, pa.scalar(11, _U64)).cast(pa.float64()), 2.0**-53)


def _offsets(count: int, size: int) -> pa.Array:
    return pc.multiply(counting(0, count + 1, pa.int32()), pa.scalar(size, pa.int32()))
