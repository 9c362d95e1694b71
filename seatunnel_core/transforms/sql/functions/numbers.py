"""Functions for numbers."""

import decimal
import math
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_core.transforms.sql.arithmetic import modulo
from seatunnel_core.transforms.sql.call import Call, fixed, function
from seatunnel_core.transforms.sql.casts import rescaled
from seatunnel_core.transforms.sql.engine_function import ArrowFunction, by_row
from seatunnel_core.transforms.sql.value import DOUBLE, INT, NULL, Value, constant, nothing


@function("ABS")
def absolute(call: Call) -> Value:
    """Compile ABS."""
    number = call.number(0)
    return call.make(pc.abs_checked, number.type, [number])


@function("SIGN")
def sign(call: Call) -> Value:
    """Compile SIGN: -1, 0 or 1; 0 for NaN."""

    def signs(numbers: Any) -> Any:
        numbers = pc.cast(numbers, DOUBLE) if pa.types.is_decimal(numbers.type) else numbers
        found = pc.sign(numbers)
        return pc.cast(pc.if_else(pc.is_nan(found), 0.0, found) if pa.types.is_floating(found.type) else found, INT)

    return call.make(signs, INT, [call.number(0)], fails=False)


@function("MOD", least=2)
def mod(call: Call) -> Value:
    """Compile MOD."""
    return modulo(call.functions, call.args[0], call.args[1], call.what)


def _above_zero(compiled: ArrowFunction) -> ArrowFunction:
    def run(numbers: Any) -> Any:
        if pc.any(pc.less_equal(numbers, 0.0)).as_py():
            raise ValueError("a logarithm needs a number above 0")
        return compiled(numbers)

    return run


def _of_double(compiled: Callable[..., float]) -> ArrowFunction:
    return by_row(compiled, DOUBLE)


def _cot(number: float) -> float:
    tangent = math.tan(number)
    if not tangent:
        raise ZeroDivisionError("division by zero")
    return 1.0 / tangent


def _power(base: float, exponent: float) -> float:
    """Compute Java's ``Math.pow``, which returns NaN or infinity instead of an error."""
    try:
        return math.pow(base, exponent)
    except ValueError:
        return math.nan if base else math.inf
    except OverflowError:
        odd = exponent % 2 == 1
        return -math.inf if base < 0 and odd else math.inf


for _name, _compiled in {
    "ACOS": pc.acos_checked,
    "ASIN": pc.asin_checked,
    "LN": _above_zero(pc.ln),
    "LOG10": _above_zero(pc.log10),
    "COT": _of_double(_cot),
}.items():
    fixed(_name, _compiled, DOUBLE, DOUBLE, fails=True)
for _name, _compiled in {
    "ATAN": pc.atan,
    "COS": pc.cos,
    "SIN": pc.sin,
    "TAN": pc.tan,
    "COSH": pc.cosh,
    "SINH": pc.sinh,
    "TANH": pc.tanh,
    "EXP": pc.exp,
    "SQRT": pc.sqrt,
    "RADIANS": _of_double(lambda number: number / 180.0 * math.pi),
}.items():
    fixed(_name, _compiled, DOUBLE, DOUBLE)
fixed("ATAN2", pc.atan2, DOUBLE, DOUBLE, DOUBLE)
fixed("POWER", _of_double(_power), DOUBLE, DOUBLE, DOUBLE)


@function("LOG", most=2)
def log(call: Call) -> Value:
    """Compile LOG, with the base as first argument; without a base, the natural logarithm."""

    def of(base: float, number: float) -> float:
        if base <= 0 or base == 1 or number <= 0:
            raise ValueError("base and number must be above 0, and the base must not be 1")
        return math.log10(number) / math.log10(base) if base == 10 else math.log(number) / math.log(base)

    if len(call.args) == 1:
        return call.make(_above_zero(pc.ln), DOUBLE, [call.cast(0, DOUBLE)])
    return call.make(_of_double(of), DOUBLE, [call.cast(0, DOUBLE), call.cast(1, DOUBLE)])


@function("PI", least=0)
def pi(call: Call) -> Value:
    """Compile PI."""
    return constant(pa.scalar(math.pi))


@function("RAND", "RANDOM", least=0, most=1)
def rand(call: Call) -> Value:
    """Compile RAND; with a seed, every row gets the first number of Java's generator."""
    if not call.args:
        return Value(sql="random()", type=DOUBLE)
    return call.make(by_row(_java_random, DOUBLE), DOUBLE, [call.whole(0)], fails=False)


def _java_random(seed: int) -> float:
    state = (seed ^ 0x5DEECE66D) & (2**48 - 1)
    parts = []
    for bits in (26, 27):
        state = (state * 0x5DEECE66D + 0xB) & (2**48 - 1)
        parts.append(state >> (48 - bits))
    return float((parts[0] << 27) + parts[1]) * 2.0**-53


function("CEIL", "CEILING")(lambda call: _whole(call, "up"))
function("FLOOR")(lambda call: _whole(call, "down"))
function("ROUND", most=2)(lambda call: _rounded(call, "half_towards_infinity"))
function("TRUNC", "TRUNCATE", most=2)(lambda call: _rounded(call, "towards_zero"))


def _whole(call: Call, mode: str) -> Value:
    """Compile a call that rounds to an int; an overflow is an error."""

    def run(numbers: Any) -> Any:
        try:
            return pc.cast(numbers, INT)
        except pa.ArrowInvalid:
            said = (
                f"the result is too large for an int, which {call.name} returns; ROUND and TRUNC keep the type of "
                "the number"
            )
            raise ValueError(said) from None

    rounded = _rounded(call, mode)
    if rounded.type in (NULL, INT):
        return nothing(INT) if rounded.type == NULL else rounded
    return call.make(run, INT, [rounded])


def _rounded(call: Call, mode: str) -> Value:
    """Compile a call that rounds; with a constant ``places``, decimal digits that would always be 0 are dropped."""
    number = call.number(0)
    if number.type == NULL:
        return nothing()
    places = call.whole(1) if len(call.args) > 1 else constant(pa.scalar(0, INT))
    kind = number.type
    known = places.constant.as_py() if places.constant is not None else None
    if pa.types.is_integer(kind):
        if known is not None and known >= 0:
            return number
        return call.make(by_row(lambda value, at: int(_quantized(value, at, mode)), kind), kind, [number, places])
    if pa.types.is_floating(kind):
        if known == 0:
            return call.make(lambda values, _: pc.round(values, round_mode=mode), kind, [number, places], fails=False)
        return call.make(
            by_row(lambda value, at: _double_rounded(value, at, mode), kind), kind, [number, places], fails=False
        )
    if known is None:
        return call.make(by_row(lambda value, at: _quantized(value, at, mode), kind), kind, [number, places])
    if known >= kind.scale:
        return number
    kind = _rounded_kind(kind, known, mode)
    return call.make(lambda values, _: rescaled(values, kind, places=known, mode=mode), kind, [number, places])


def _rounded_kind(kind: pa.DataType, places: int, mode: str) -> pa.DataType:
    """Return the type of rounded decimals; rounding up may need another integer digit."""
    scale = max(places, 0)
    whole = kind.precision - kind.scale + (mode != "towards_zero")
    return pa.decimal128(min(max(whole + scale, 1), 38), scale)


_MODES = {
    "up": decimal.ROUND_CEILING,
    "down": decimal.ROUND_FLOOR,
    "half_towards_infinity": decimal.ROUND_HALF_UP,
    "towards_zero": decimal.ROUND_DOWN,
}


def _quantized(value: Any, places: int, mode: str) -> decimal.Decimal:
    with decimal.localcontext(prec=400, rounding=_MODES[mode]):
        number = decimal.Decimal(value)
        if places >= -number.as_tuple().exponent:  # type: ignore[operator]
            return number
        return number.quantize(decimal.Decimal(1).scaleb(-places)) + 0


def _double_rounded(value: float, places: int, mode: str) -> float:
    """Round a double by its displayed digits, as ``BigDecimal.valueOf`` does."""
    if not math.isfinite(value):
        return value
    return float(_quantized(decimal.Decimal(repr(value)), places, mode))


@function("TRIM_SCALE")
def trim_scale(call: Call) -> Value:
    """Compile TRIM_SCALE, which has no effect: all rows of a column have the same scale."""
    return call.number(0)
