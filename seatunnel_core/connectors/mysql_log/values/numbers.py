"""Conversion of numbers to Arrow: integers, decimals, bit fields and years."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seatunnel_core.connectors.mysql_log import column_types as ct
from seatunnel_core.connectors.mysql_log.values.converted import (
    Converted,
    FixedValues,
    Mask,
    Values,
    array_of,
    big_endian,
    fixed_size,
    listed,
    refused,
)

_INT64_DIGITS = 18
"""Maximum number of decimal digits of numbers that always fit into 64 bits."""


def plain(values: Values, arrow: pa.DataType) -> Converted:
    """Convert integers and floating-point numbers."""
    if pa.types.is_decimal(arrow):
        return _unsigned_decimals(values, arrow), {}
    return array_of(values, arrow), {}


def _unsigned_decimals(values: Values, arrow: pa.DataType) -> pa.Array:
    """Convert integers below 2**64 to decimals."""
    if isinstance(values, FixedValues):
        return _low_limbs(values.numbers, values.absent, arrow)
    values = listed(values)
    absent = np.array([value is None for value in values], bool)
    low = np.array([value or 0 for value in values], "<u8")
    return _low_limbs(low, absent if absent.any() else None, arrow)


def _low_limbs(low: npt.NDArray[Any], absent: Mask, arrow: pa.DataType) -> pa.Array:
    return _decimals(np.stack([low, np.zeros_like(low)], 1), absent, arrow)


def truth(values: Values, arrow: pa.DataType) -> Converted:
    """Convert ``tinyint(1)`` values to booleans. Values other than 0 and 1 cannot be represented."""
    if isinstance(values, FixedValues) and values.numbers.min() >= 0 and values.numbers.max() <= 1:
        return values.array().cast(arrow), {}
    values = listed(values)
    wrong = {number: value for number, value in enumerate(values) if value not in (0, 1, None)}
    found = pa.array([None if value not in (0, 1) else value == 1 for value in values], arrow)
    remedy = "; or set int_type_narrowing = false to read tinyint(1) as a number"
    return found, {number: f"{value} is neither 0 nor 1{remedy}" for number, value in wrong.items()}


def int24(values: Values, arrow: pa.DataType, *, unsigned: bool) -> Converted:
    """Convert three-byte integers."""
    found, absent = fixed_size(values, 3)
    numbers = found.astype(np.int32) @ np.array([1, 1 << 8, 1 << 16], np.int32)
    if not unsigned:
        numbers = np.where(numbers >= 1 << 23, numbers - (1 << 24), numbers)
    return pa.array(numbers.astype(np.int32), pa.int32(), mask=absent).cast(arrow), {}


def years(values: Values, arrow: pa.DataType) -> Converted:
    """Convert years. The stored value 0 is the year 0000."""
    return pa.array([value + 1900 if value else value for value in listed(values)], arrow), {}


def bits(values: Values, arrow: pa.DataType) -> Converted:
    """Convert BIT values to booleans or to big-endian bytes."""
    values = listed(values)
    if pa.types.is_boolean(arrow):
        return pa.array([None if value is None else value != b"\0" for value in values], arrow), {}
    return pa.array(values, arrow), {}


def decimals(values: Values, arrow: pa.DataType, precision: int, scale: int) -> Converted:
    """Convert decimals. The first bit is set in non-negative numbers; all bits of negative numbers are inverted."""
    raw, absent = fixed_size(values, ct.decimal_bytes(precision, scale))
    bytes_ = raw.copy()
    negative = (bytes_[:, 0] & 0x80) == 0
    bytes_[:, 0] ^= 0x80
    bytes_[negative] ^= 0xFF
    if absent is not None:
        bytes_[absent] = 0
        negative = negative & ~absent
    groups = _groups(precision, scale)
    parts, at = [], 0
    for digits in groups:
        size = ct.DECIMAL_DIGIT_BYTES[digits]
        parts.append(big_endian(bytes_[:, at : at + size]))
        at += size
    invalid = np.zeros(len(values), bool)
    for part, digits in zip(parts, groups, strict=True):
        invalid |= part >= 10**digits
    if invalid.any():
        return refused(values, invalid, "decimal")
    logged = pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
    found = _joined(parts, groups, negative)
    return _decimals(found if found.ndim == 2 else _limbs(found, logged), absent, logged).cast(arrow), {}


def _groups(precision: int, scale: int) -> list[int]:
    """Return the number of digits in each group of a decimal."""
    whole, part = precision - scale, scale
    before = [whole % 9] if whole % 9 else []
    after = [part % 9] if part % 9 else []
    return before + [9] * (whole // 9) + [9] * (part // 9) + after


def _joined(parts: Sequence[npt.NDArray[Any]], groups: Sequence[int], negative: npt.NDArray[Any]) -> Any:
    """Combine groups of digits into numbers: two 64-bit limbs per number if they suffice, otherwise Python integers."""
    wide = sum(groups) > _INT64_DIGITS
    total = np.zeros(len(negative), object if wide else np.int64)
    for part, digits in zip(parts, groups, strict=True):
        total = total * 10**digits + (part.astype(object) if wide else part)
    total[negative] *= -1
    if wide:
        return total
    return np.stack([total, np.where(total < 0, -1, 0)], 1)


def _limbs(numbers: npt.NDArray[Any], arrow: pa.DataType) -> npt.NDArray[Any]:
    size = arrow.bit_width // 8
    return np.frombuffer(b"".join(number.to_bytes(size, "little", signed=True) for number in numbers), "<i8")


def _decimals(limbs: npt.NDArray[Any], absent: npt.NDArray[Any] | None, arrow: pa.DataType) -> pa.Array:
    """Convert little-endian 64-bit limbs to decimals: two limbs per value, or more if the type requires it."""
    size = arrow.bit_width // 64
    if limbs.ndim == 2 and limbs.shape[1] < size:
        sign = limbs[:, 1:]
        limbs = np.concatenate([limbs, np.repeat(sign, size - 2, axis=1)], 1)
    count = limbs.size // size
    valid = None if absent is None else pa.array(~absent).buffers()[1]
    return pa.Array.from_buffers(arrow, count, [valid, pa.py_buffer(limbs.tobytes())])
