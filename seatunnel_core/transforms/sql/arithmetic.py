"""``+ - * / %``: exact numbers overflow with an error, and a division by zero is one, as in H2."""

import decimal
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_core.rows.types import type_name
from seatunnel_core.transforms.sql.call import ArrowFunction, EngineFunctions, by_row, either_way
from seatunnel_core.transforms.sql.casts import cast, rescaled, rounded_decimal
from seatunnel_core.transforms.sql.value import (
    BIGINT,
    DATE,
    DOUBLE,
    INT,
    NULL,
    STRING,
    SqlError,
    Value,
    common_number,
    digits,
    exact_number,
    is_number,
    nothing,
)

_CHECKED: dict[str, Callable[..., Any]] = {
    "+": pc.add_checked,
    "-": pc.subtract_checked,
    "*": pc.multiply_checked,
    "/": pc.divide_checked,
}


def arithmetic(functions: EngineFunctions, sign: str, one: Value, other: Value, what: str) -> Value:
    """The value of ``one sign other``.

    Raises:
        SqlError: the sides are no numbers.
    """
    if sign in "+-" and one.type == DATE and pa.types.is_integer(other.type):
        return _days(functions, sign, one, other, what)
    one, other = (_number(functions, each, beside, what) for each, beside in ((one, other), (other, one)))
    if NULL in (one.type, other.type):
        return nothing(one.type if other.type == NULL else other.type)
    if sign == "%":
        return _remainder(functions, one, other, what)
    kind = common_number(one.type, other.type)
    if pa.types.is_decimal(kind):
        return _decimals(functions, sign, one, other, what)
    if pa.types.is_floating(kind):
        kind = DOUBLE
    elif kind != BIGINT:
        kind = INT
    one, other = (cast(functions, each, kind, what) for each in (one, other))
    if kind == DOUBLE and sign != "/" and not (one.constant is not None and other.constant is not None):
        return Value(sql=f"({one.sql} {sign} {other.sql})", type=DOUBLE, fails=one.fails or other.fails)
    return functions.call(what, _CHECKED[sign], (one, other), kind)


def negative(functions: EngineFunctions, value: Value, what: str) -> Value:
    value = _number(functions, value, value, what)
    if value.type == NULL:
        return value
    return functions.call(what, pc.negate_checked, [value], value.type)


def _number(functions: EngineFunctions, value: Value, beside: Value, what: str) -> Value:
    """A number; a text beside a number is one."""
    if is_number(value.type) or value.type == NULL:
        return value
    if value.type == STRING and is_number(beside.type):
        return cast(functions, value, beside.type, what)
    raise SqlError(f"Sql: {what}: {type_name(value.type)} is not a number; use CAST")


def _days(functions: EngineFunctions, sign: str, one: Value, other: Value, what: str) -> Value:
    def moved(dates: Any, days: Any) -> Any:
        return pc.cast(pc.cast(_CHECKED[sign](pc.cast(pc.cast(dates, INT), BIGINT), days), INT), DATE)

    return functions.call(what, moved, (one, cast(functions, other, BIGINT, what)), DATE)


def _remainder(functions: EngineFunctions, one: Value, other: Value, what: str) -> Value:
    """Of the type of the divisor, with the sign of the dividend."""
    kind = other.type
    wide = common_number(one.type, kind)
    one, other = (cast(functions, each, wide, what) for each in (one, other))
    slow = by_row(lambda a, b: _remains(a, b, kind), kind)

    def whole(a: Any, b: Any) -> Any:
        return pc.cast(pc.subtract(a, pc.multiply(pc.divide_checked(a, b), b)), kind)

    # The quick way fails for a zero, and for the smallest number divided by -1.
    run = either_way(whole, slow) if pa.types.is_integer(wide) else slow
    return functions.call(what, run, (one, other), kind)


def _remains(one: Any, other: Any, kind: pa.DataType) -> Any:
    if not other:
        raise ZeroDivisionError("division by zero")
    if isinstance(one, int):
        return abs(one) % abs(other) * (1 if one >= 0 else -1)
    found = decimal.Decimal(repr(one) if isinstance(one, float) else one) % decimal.Decimal(
        repr(other) if isinstance(other, float) else other
    )
    if pa.types.is_floating(kind):
        return float(found)
    rounded = rounded_decimal(str(found), pa.decimal128(38, 0) if pa.types.is_integer(kind) else kind)
    return int(rounded) if pa.types.is_integer(kind) else rounded


def _decimals(functions: EngineFunctions, sign: str, one: Value, other: Value, what: str) -> Value:
    (one_digits, one_scale), (other_digits, other_scale) = digits(one.type), digits(other.type)
    if sign == "*":
        kind = exact_number(one_digits + other_digits, one_scale + other_scale)
    elif sign == "/":
        scale = max(one_scale - other_scale + other_digits * 2, 0)
        kind = exact_number(one_digits + other_scale - one_scale + scale, scale)
    else:
        scale = max(one_scale, other_scale)
        kind = exact_number(max(one_digits - one_scale, other_digits - other_scale) + scale + 1, scale)
    return functions.call(what, _decimal_function(sign, one.type, other.type, kind), (one, other), kind)


def _decimal_function(sign: str, one: pa.DataType, other: pa.DataType, kind: pa.DataType) -> ArrowFunction:
    """Arrow's, in 38 or 76 digits, where they are enough; else Python's."""
    (one_digits, one_scale), (other_digits, other_scale) = digits(one), digits(other)
    more = 0
    if sign == "/":
        more = max(kind.scale + 2 - (one_scale + other_digits - other_scale), 0)
    needed = {
        "*": one_digits + other_digits + 1,
        "/": one_digits - one_scale + other_scale + max(4, one_scale + more + other_digits - other_scale + 1),
    }.get(sign, max(one_digits - one_scale, other_digits - other_scale) + max(one_scale, other_scale) + 1)
    if max(needed, one_digits + more) > 76:
        return by_row(lambda a, b: _python_decimal(sign, a, b, kind), kind)
    if sign != "/" and needed <= 38:
        small, beside = pa.decimal128(one_digits, one_scale), pa.decimal128(other_digits, other_scale)
        return lambda a, b: pc.cast(_CHECKED[sign](pc.cast(a, small), pc.cast(b, beside)), kind)
    left, right = pa.decimal256(one_digits + more, one_scale + more), pa.decimal256(other_digits, other_scale)
    mode = "half_towards_zero" if sign == "/" else "half_towards_infinity"

    return lambda a, b: rescaled(_CHECKED[sign](pc.cast(a, left), pc.cast(b, right)), kind, mode=mode)


def _python_decimal(sign: str, one: Any, other: Any, kind: pa.DataType) -> decimal.Decimal:
    with decimal.localcontext(prec=100):
        a, b = decimal.Decimal(one), decimal.Decimal(other)
        if sign == "/" and not b:
            raise ZeroDivisionError("divide by zero")
        found = {"+": a.__add__, "-": a.__sub__, "*": a.__mul__, "/": a.__truediv__}[sign](b)
        return rounded_decimal(f"{found:f}", kind)
