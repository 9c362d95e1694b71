"""A compiled expression: DataFusion's SQL and the Arrow type of its values."""

import datetime as dt
from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa
from attrs import field, frozen

from seatunnel_core.connector_api.errors import TransformError


class SqlError(TransformError):
    """A statement cannot be applied to its input columns."""


class RowError(TransformError):
    """The statement has no result for the values of a row."""


@frozen(kw_only=True)
class Value:
    """A compiled expression."""

    sql: str
    """DataFusion SQL that evaluates to exactly the type ``type``."""

    type: pa.DataType
    constant: pa.Scalar | None = field(default=None, eq=False)
    """Value of an expression that is the same for all rows, possibly a null scalar; otherwise ``None``."""

    written: pa.Scalar | None = field(default=None, eq=False)
    """Exact value of a literal with a decimal point, used with decimals; otherwise, the literal is a double."""

    fails: bool = False
    """True if the expression may fail for a row. A condition that excludes such rows must then be evaluated first."""


INT, BIGINT, FLOAT, DOUBLE = pa.int32(), pa.int64(), pa.float32(), pa.float64()
STRING, BOOLEAN = pa.string(), pa.bool_()
BYTES, DATE, TIME, TIMESTAMP = pa.binary(), pa.date32(), pa.time64("us"), pa.timestamp("us")
NULL = pa.null()

NOW = "#now"
"""Column with the time at which a batch is transformed, in the machine's local time."""

_NAMES = {
    pa.int8(): "Int8",
    pa.int16(): "Int16",
    INT: "Int32",
    BIGINT: "Int64",
    FLOAT: "Float32",
    DOUBLE: "Float64",
    STRING: "Utf8",
    BOOLEAN: "Boolean",
    BYTES: "Binary",
    DATE: "Date32",
    TIME: "Time64(Microsecond)",
    TIMESTAMP: "Timestamp(Microsecond, None)",
    pa.timestamp("us", tz="UTC"): 'Timestamp(Microsecond, Some("UTC"))',
    NULL: "Null",
}


def is_simple(kind: pa.DataType) -> bool:
    """Return True if literals and conversions of the type exist."""
    return kind in _NAMES or pa.types.is_decimal(kind)


def engine_name(kind: pa.DataType) -> str:
    """Return the name of the type for DataFusion's ``arrow_cast``."""
    if pa.types.is_decimal(kind):
        return f"Decimal{kind.bit_width}({kind.precision}, {kind.scale})"
    return _NAMES[kind]


def engine_cast(sql: str, kind: pa.DataType) -> str:
    """Return DataFusion SQL that converts an expression to a type."""
    return f"arrow_cast({sql}, '{engine_name(kind)}')"


def quoted(text: str) -> str:
    """Return a string as a literal in DataFusion's SQL."""
    return "'" + text.replace("'", "''") + "'"


def quoted_name(name: str) -> str:
    """Return a name, quoted for DataFusion."""
    return '"' + name.replace('"', '""') + '"'


def constant(scalar: pa.Scalar) -> Value:
    """Return a constant of a simple type."""
    return Value(sql=_literal(scalar), type=scalar.type, constant=scalar)


def beside(value: Value, kinds: Iterable[pa.DataType]) -> Value:
    """Return the value as an operand. A number literal combined with a decimal becomes a decimal."""
    if value.written is not None and any(map(pa.types.is_decimal, kinds)):
        return constant(value.written)
    return value


def among(values: Sequence[Value]) -> list[Value]:
    """Return the values as operands of one operation."""
    return [beside(value, [each.type for each in values]) for value in values]


def nothing(kind: pa.DataType = NULL) -> Value:
    """Return a null value of a type."""
    return constant(pa.scalar(None, kind))


def _literal(scalar: pa.Scalar) -> str:
    kind = scalar.type
    if not scalar.is_valid:
        return engine_cast("NULL", kind) if is_simple(kind) else "NULL"
    value = scalar.as_py()
    if kind == STRING:
        return quoted(value)
    if kind == BOOLEAN:
        return str(value).upper()
    if kind == BYTES:
        return engine_cast(f"X'{value.hex()}'", kind)
    if pa.types.is_timestamp(kind) or kind == TIME:
        return engine_cast(str(scalar.cast(BIGINT).as_py()), kind)
    if isinstance(value, float):
        return engine_cast(quoted(repr(value)), kind)
    if isinstance(value, dt.date):
        return engine_cast(quoted(value.isoformat()), kind)
    if pa.types.is_decimal(kind):
        return engine_cast(quoted(f"{value:f}"), kind)
    return engine_cast(str(value), kind)


def standard(kind: pa.DataType) -> pa.DataType:
    """Return the type in which expressions are computed; files may use other types for the same values."""
    for matches, other in _STANDARD:
        if matches(kind):
            return other
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", tz="UTC" if kind.tz else None)
    return kind


_STANDARD: tuple[tuple[Callable[[pa.DataType], bool], pa.DataType], ...] = (
    (pa.types.is_large_string, STRING),
    (pa.types.is_string_view, STRING),
    (pa.types.is_large_binary, BYTES),
    (pa.types.is_binary_view, BYTES),
    (pa.types.is_fixed_size_binary, BYTES),
    (pa.types.is_date64, DATE),
    (pa.types.is_time, TIME),
    (pa.types.is_uint8, pa.int16()),
    (pa.types.is_uint16, INT),
    (pa.types.is_uint32, BIGINT),
    (pa.types.is_uint64, pa.decimal128(20, 0)),
    (pa.types.is_float16, pa.float32()),
)


def is_number(kind: pa.DataType) -> bool:
    """Return True for integers, floats and decimals."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def is_moment(kind: pa.DataType) -> bool:
    """Return True for dates, and for timestamps with or without time zone."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def is_list(kind: pa.DataType) -> bool:
    """Return True for arrays and vectors."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


WHOLE_DIGITS = {pa.int8(): 3, pa.int16(): 5, INT: 10, BIGINT: 19}


def digits(kind: pa.DataType) -> tuple[int, int]:
    """Return the precision and the scale of an exact number."""
    return (WHOLE_DIGITS[kind], 0) if kind in WHOLE_DIGITS else (kind.precision, kind.scale)


def exact_number(precision: int, scale: int) -> pa.DataType:
    """Return the decimal type; with more than 38 digits, the scale is reduced, but not below six."""
    if precision > 38:
        scale = max(min(scale, 6), scale - (precision - 38))
        precision = 38
    return pa.decimal128(max(precision, scale, 1), scale)


def common_number(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return the type to which two numbers can be converted: the wider one; double if one is a float or double."""
    if one == other:
        return one
    if pa.types.is_floating(one) or pa.types.is_floating(other):
        return DOUBLE
    if pa.types.is_integer(one) and pa.types.is_integer(other):
        return max(one, other, key=lambda kind: kind.bit_width)
    (one_digits, one_scale), (other_digits, other_scale) = digits(one), digits(other)
    scale = max(one_scale, other_scale)
    return exact_number(max(one_digits - one_scale, other_digits - other_scale) + scale, scale)
