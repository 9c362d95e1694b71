"""Arithmetic: ``+ - * / %``. Overflows of exact numbers and divisions by zero are errors, as in H2."""

import decimal
import math
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_core.rows.types import type_name
from seatunnel_core.transforms.sql.casts import cast, rescaled, rounded_decimal
from seatunnel_core.transforms.sql.engine_function import ArrowFunction, EngineFunctions, by_row, either_way
from seatunnel_core.transforms.sql.value import (
    BIGINT,
    DATE,
    DOUBLE,
    INT,
    NULL,
    STRING,
    SqlError,
    Value,
    beside,
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
    """Compile ``one sign other``; raise ``SqlError`` if the operands are not numbers."""
    if sign in "+-" and one.type == DATE and pa.types.is_integer(other.type):
        return _days(functions, sign, one, other, what)
    one, other = _numbers(functions, one, other, what)
    if NULL in (one.type, other.type):
        return nothing(one.type if other.type == NULL else other.type)
    kind = _computed_as(one.type, other.type)
    if sign == "%":
        return _remainder(functions, one, other, kind, what)
    if pa.types.is_decimal(kind):
        return _decimals(functions, sign, one, other, what)
    one, other = (cast(functions, each, kind, what) for each in (one, other))
    if kind == DOUBLE and sign != "/" and not (one.constant is not None and other.constant is not None):
        return Value(sql=f"({one.sql} {sign} {other.sql})", type=DOUBLE, fails=one.fails or other.fails)
    return functions.call(what, _CHECKED[sign], (one, other), kind)


def modulo(functions: EngineFunctions, one: Value, other: Value, what: str) -> Value:
    """Compile ``MOD(one, other)`` with the type of the second operand; excess digits are truncated."""
    kind = other.type
    one, other = _numbers(functions, one, other, what)
    if NULL in (one.type, other.type):
        return nothing(kind)
    return _remainder(functions, one, other, kind if is_number(kind) else other.type, what, by_digits=True)


def _computed_as(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return the result type of two numbers: small integers become ``int``, and floats become ``double``."""
    kind = common_number(one, other)
    if pa.types.is_floating(kind):
        return DOUBLE
    return kind if pa.types.is_decimal(kind) or kind == BIGINT else INT


def negative(functions: EngineFunctions, value: Value, what: str) -> Value:
    """Compile ``-value``."""
    value = _number(functions, value, value, what)
    if value.type == NULL:
        return value
    return functions.call(what, pc.negate_checked, [value], value.type)


def _numbers(functions: EngineFunctions, one: Value, other: Value, what: str) -> tuple[Value, Value]:
    one, other = beside(one, (other.type,)), beside(other, (one.type,))
    return _number(functions, one, other, what), _number(functions, other, one, what)


def _number(functions: EngineFunctions, value: Value, neighbour: Value, what: str) -> Value:
    """Return the value as a number; a string is parsed if the other operand is a number."""
    if is_number(value.type) or value.type == NULL:
        return value
    if value.type == STRING and is_number(neighbour.type):
        return cast(functions, value, neighbour.type, what)
    raise SqlError(f"Sql: {what}: {type_name(value.type)} is not a number; use CAST")


def _days(functions: EngineFunctions, sign: str, one: Value, other: Value, what: str) -> Value:
    def moved(dates: Any, days: Any) -> Any:
        return pc.cast(pc.cast(_CHECKED[sign](pc.cast(pc.cast(dates, INT), BIGINT), days), INT), DATE)

    return functions.call(what, moved, (one, cast(functions, other, BIGINT, what)), DATE)


def _remainder(
    functions: EngineFunctions, one: Value, other: Value, kind: pa.DataType, what: str, *, by_digits: bool = False
) -> Value:
    """Compile a remainder with the dividend's sign; doubles use Java's ``%``, or decimals if ``by_digits``."""
    wide = common_number(one.type, other.type)
    one, other = (cast(functions, each, wide, what) for each in (one, other))
    if wide == kind == DOUBLE and not by_digits:
        return functions.call(what, by_row(_double_remains, kind), (one, other), kind)
    slow = by_row(lambda a, b: _remains(a, b, kind), kind)

    def whole(a: Any, b: Any) -> Any:
        return pc.cast(pc.subtract(a, pc.multiply(pc.divide_checked(a, b), b)), kind)

    # The fast function fails for zero, and for the smallest number divided by -1.
    run = either_way(whole, slow) if pa.types.is_integer(wide) else slow
    return functions.call(what, run, (one, other), kind)


def _double_remains(one: float, other: float) -> float:
    if not other:
        raise ZeroDivisionError("division by zero")
    return math.fmod(one, other)


def _remains(one: Any, other: Any, kind: pa.DataType) -> Any:
    if not other:
        raise ZeroDivisionError("division by zero")
    if isinstance(one, int):
        return abs(one) % abs(other) * (1 if one >= 0 else -1)
    with decimal.localcontext(prec=400):  # enough for the quotient of a large and a small double
        found = displayed(one) % displayed(other)
    if pa.types.is_floating(kind):
        return float(found)
    return int(found) if pa.types.is_integer(kind) else rounded_decimal(f"{found:f}", kind)


def displayed(number: decimal.Decimal | float) -> decimal.Decimal:
    """Return a number as a decimal with its displayed digits, like Java's ``BigDecimal.valueOf``."""
    return decimal.Decimal(repr(number) if isinstance(number, float) else number)


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
    """Return Arrow's implementation of a decimal operation if 38 or 76 digits suffice, otherwise Python's."""
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
