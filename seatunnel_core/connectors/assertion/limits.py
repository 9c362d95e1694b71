"""Limits in the rules of ``Assert``, which are compared with column values without rounding errors."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_LARGEST_COUNT = 2**63 - 1


def limit(kind: str, value: Any) -> Decimal:
    """Return the ``rule_value`` of a rule with all digits; raise ``ValueError`` unless it is a finite number."""
    try:
        number = Decimal("" if isinstance(value, bool) else str(value).strip())
    except ArithmeticError:
        number = Decimal("nan")
    if not number.is_finite():
        raise ValueError(f"{kind} needs a number as rule_value, found {value!r}")
    return number


def count(kind: str, value: Any) -> int:
    """Return the ``rule_value`` of a rule that counts rows or characters; raise ``ValueError`` for other values."""
    number = limit(kind, value)
    if not 0 <= number <= _LARGEST_COUNT or number != int(number):
        raise ValueError(f"{kind} needs a non-negative whole number as rule_value, found {value!r}")
    return int(number)


def below(values: pa.Array, least: Decimal) -> pa.Array:
    """Return a mask of the numbers below a limit.

    Null stays null, or becomes False if the limit is above the type's range.
    """
    smallest, largest = _range(values.type)
    if least > largest:
        return pc.is_valid(values)
    return pc.less(values, _nearest(max(least, smallest), values.type, ROUND_CEILING))


def above(values: pa.Array, most: Decimal) -> pa.Array:
    """Return a mask of the numbers above a limit.

    Null stays null, or becomes False if the limit is below the type's range.
    """
    smallest, largest = _range(values.type)
    if most < smallest:
        return pc.is_valid(values)
    return pc.greater(values, _nearest(min(most, largest), values.type, ROUND_FLOOR))


def _range(kind: pa.DataType) -> tuple[Decimal, Decimal]:
    if pa.types.is_floating(kind):
        return Decimal("-inf"), Decimal("inf")
    if pa.types.is_decimal(kind):
        digits = (9,) * kind.precision
        return Decimal((1, digits, -kind.scale)), Decimal((0, digits, -kind.scale))
    values = 2**kind.bit_width
    smallest = 0 if pa.types.is_unsigned_integer(kind) else -values // 2
    return Decimal(smallest), Decimal(smallest + values - 1)


def _nearest(limit: Decimal, kind: pa.DataType, rounding: str) -> pa.Scalar:
    """Convert a limit to a type, rounded so that comparisons have the same result as with the exact limit.

    For a floating-point type, the result is the nearest value, so that a limit of 0.1 equals a stored 0.1.
    """
    if pa.types.is_floating(kind):
        return pa.scalar(float(limit), kind)
    scale = kind.scale if pa.types.is_decimal(kind) else 0
    with localcontext(prec=100):
        value = limit.quantize(Decimal((0, (1,), -scale)), rounding)
    return pa.scalar(value if pa.types.is_decimal(kind) else int(value), kind)
