"""``CAST`` and ``TRY_CAST``. Conversions to integers truncate; all other conversions behave as in H2."""

import datetime as dt
import decimal
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_core.rows.java_text import java_moments, java_text
from seatunnel_core.rows.types import type_name
from seatunnel_core.rows.values import number_text
from seatunnel_core.transforms.sql.engine_function import (
    ArrowFunction,
    EngineFunctions,
    by_row,
    either_way,
    value_by_value,
)
from seatunnel_core.transforms.sql.value import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    NULL,
    STRING,
    TIME,
    TIMESTAMP,
    SqlError,
    Value,
    beside,
    engine_cast,
    is_number,
    nothing,
)

_NEAREST = "half_towards_infinity"
"""Rounding mode "half away from zero", Java's HALF_UP."""


def cast(functions: EngineFunctions, value: Value, kind: pa.DataType, what: str, *, tolerant: bool = False) -> Value:
    """Convert a value to another type; raise ``SqlError`` if the types are not convertible.

    ``what`` is the part of the statement and its position, for messages. If ``tolerant`` is True, values that cannot be
    converted become null.
    """
    value = beside(value, (kind,))
    if value.type == kind:
        return value
    if value.type == NULL:
        return nothing(kind)
    if _never_fails(value.type, kind) and value.constant is None:
        return Value(sql=engine_cast(value.sql, kind), type=kind, fails=value.fails)
    function = conversion(value.type, kind)
    if function is None:
        raise SqlError(f"Sql: {what} cannot convert {type_name(value.type)} to {type_name(kind)}")
    if tolerant:
        function = value_by_value(function, kind)
    return functions.call(what, function, [value], kind, fails=not tolerant)


def exactly(functions: EngineFunctions, value: Value, kind: pa.DataType, what: str) -> Value:
    """Convert a value to the common type of several values; a loss of digits is an error."""
    value = beside(value, (kind,))
    if not (is_number(value.type) and is_number(kind)) or value.type == kind or kind == DOUBLE:
        return cast(functions, value, kind, what)
    back = DOUBLE if FLOAT in (value.type, kind) else value.type
    there = _conversion_of_numbers(value.type, kind)

    def kept(numbers: Any) -> pa.Array:
        found = there(numbers)
        same = _conversion_of_numbers(kind, back)(found), _conversion_of_numbers(value.type, back)(numbers)
        if pc.any(pc.not_equal(*same)).as_py():
            raise ValueError(f"it would lose digits as {type_name(kind)}; use CAST")
        return found

    return functions.call(what, kept, [value], kind)


def _conversion_of_numbers(given: pa.DataType, kind: pa.DataType) -> ArrowFunction:
    found = conversion(given, kind)
    assert found is not None
    return found


def _never_fails(given: pa.DataType, kind: pa.DataType) -> bool:
    """Return True if DataFusion's own conversion returns the same values as this dialect and never fails."""
    if pa.types.is_integer(given):
        if pa.types.is_integer(kind):
            return bool(kind.bit_width > given.bit_width)
        return bool(pa.types.is_floating(kind) or kind == STRING)
    return bool(given == pa.float32() and kind == pa.float64()) or bool(pa.types.is_date(given) and kind == TIMESTAMP)


def conversion(given: pa.DataType, kind: pa.DataType) -> ArrowFunction | None:
    """Return the function that converts a column of one type to another; ``None`` if there is none."""
    for matches, make in _TO:
        if matches(kind):
            return make(given, kind)
    return None


def _to_whole(given: pa.DataType, kind: pa.DataType) -> ArrowFunction | None:
    if given == STRING:  # Arrow parses 0x10 as 16
        return lambda texts: pc.cast(pc.replace_substring_regex(_number_text(texts), "^0[xX]", "hex "), kind)
    if pa.types.is_floating(given) or pa.types.is_decimal(given):
        return lambda numbers: pc.cast(pc.trunc(numbers), kind)
    return _arrow(kind) if pa.types.is_integer(given) or given == BOOLEAN else None


def _to_floating(given: pa.DataType, kind: pa.DataType) -> ArrowFunction | None:
    if given == STRING:
        return lambda texts: pc.cast(_number_text(texts), kind)
    if pa.types.is_decimal(given):  # Arrow's conversion is sometimes off by one in the last digit
        return lambda numbers: pc.cast(pc.cast(numbers, STRING), kind)
    return _arrow(kind, safe=False) if is_number(given) or given == BOOLEAN else None


def _to_decimal(given: pa.DataType, kind: pa.DataType) -> ArrowFunction | None:
    exact = by_row(lambda value: rounded_decimal(value, kind), kind)
    if given == STRING:
        return either_way(lambda texts: pc.cast(_number_text(texts), kind), exact)
    if pa.types.is_integer(given):
        return lambda numbers: pc.cast(pc.cast(numbers, pa.decimal256(76, 0)), kind)
    if pa.types.is_decimal(given):
        return lambda numbers: rescaled(numbers, kind)
    return exact if pa.types.is_floating(given) else None


def rescaled(numbers: Any, kind: pa.DataType, *, places: int | None = None, mode: str = _NEAREST) -> pa.Array:
    """Convert decimals to another type, rounded to its scale or to ``places`` decimal places."""
    scale, places = numbers.type.scale, kind.scale if places is None else places
    if places < scale:  # rounding up may need another digit
        numbers = pc.round(pc.cast(numbers, pa.decimal256(76, scale)), ndigits=places, round_mode=mode)
    return pc.cast(pc.cast(numbers, pa.decimal256(76, kind.scale)), kind)


def rounded_decimal(value: Any, kind: pa.DataType) -> decimal.Decimal:
    """Convert a number, or a string that contains one, to a decimal with the scale of the type.

    Raises:
        ValueError: The value is not a number, or has too many integer digits for the type.
    """
    try:
        number = decimal.Decimal(number_text(value) if isinstance(value, str) else repr(value))
        with decimal.localcontext(prec=80, rounding=decimal.ROUND_HALF_UP):
            exact = number.quantize(decimal.Decimal(1).scaleb(-kind.scale))
    except decimal.InvalidOperation:
        raise ValueError(f"it is not a number that fits {type_name(kind)}") from None
    if len(exact.as_tuple().digits) > kind.precision:
        raise ValueError(f"it has more digits than {type_name(kind)}")
    return exact


def _to_text(given: pa.DataType, kind: pa.DataType) -> ArrowFunction | None:
    if pa.types.is_floating(given):
        single = given == pa.float32()
        return by_row(lambda number: java_text(number, single=single), STRING)
    if pa.types.is_timestamp(given):
        return lambda moments: pc.binary_join_element_wise(java_moments(moments), "Z" if given.tz else "", "")
    if given == TIME:
        return java_moments
    return _arrow(STRING) if given in (DATE, BOOLEAN, BYTES) or is_number(given) else None


def _to_boolean(given: pa.DataType, kind: pa.DataType) -> ArrowFunction | None:
    if given == STRING:
        return by_row(_truth, BOOLEAN)
    return (
        by_row(lambda number: _truth(str(int(number) if number == int(number) else number)), BOOLEAN)
        if (is_number(given))
        else None
    )


def _truth(text: str) -> bool:
    known = {"true": True, "1": True, "false": False, "0": False}.get(text.strip().lower())
    if known is None:
        raise ValueError("expected a boolean: true, false, 1 or 0")
    return known


def _to_bytes(given: pa.DataType, kind: pa.DataType) -> ArrowFunction | None:
    """Return the function that converts a column of strings to UTF-8 bytes; ``None`` if there is none."""
    written = None if given == STRING else _to_text(given, STRING)
    if given == STRING or written is None:
        return _arrow(BYTES) if given == STRING else None
    return lambda values: pc.cast(written(values), BYTES)


def _to_date(given: pa.DataType, kind: pa.DataType) -> ArrowFunction | None:
    if given == STRING:
        return either_way(_arrow(DATE), by_row(lambda text: _moment(text).date(), DATE))
    if given == INT:
        return by_row(lambda number: dt.date(*_parts(number)), DATE)
    return (
        (lambda moments: pc.cast(pc.floor_temporal(pc.cast(moments, TIMESTAMP), unit="day"), DATE))
        if (pa.types.is_timestamp(given))
        else None
    )


def _parts(number: int) -> tuple[int, int, int]:
    """Return the year, month and day in a number such as 20240229, or the hour, minute and second in 71530."""
    if number < 0:
        raise ValueError("expected a number, such as 20240229 for a date or 71530 for a time")
    return number // 10_000, number // 100 % 100, number % 100


def _to_time(given: pa.DataType, kind: pa.DataType) -> ArrowFunction | None:
    if given == STRING:
        return by_row(_time_of_day, TIME)
    if given == INT:
        return by_row(lambda number: dt.time(*_parts(number)), TIME)
    if given == DATE:
        return lambda dates: pc.if_else(pc.is_valid(dates), pa.scalar(dt.time(), TIME), pa.scalar(None, TIME))
    return (lambda moments: pc.cast(pc.cast(moments, TIMESTAMP), TIME)) if pa.types.is_timestamp(given) else None


def _to_timestamp(given: pa.DataType, kind: pa.DataType) -> ArrowFunction | None:
    if given == STRING:
        if kind.tz:
            return by_row(lambda text: _moment(text).replace(tzinfo=_zone(text)), kind)
        return either_way(_arrow(TIMESTAMP), by_row(_moment, TIMESTAMP))
    if given == TIME and not kind.tz:
        return by_row(lambda time: dt.datetime.combine(dt.date.today(), time), TIMESTAMP)
    if given == BIGINT and not kind.tz:
        return by_row(_local, TIMESTAMP)
    if pa.types.is_timestamp(given) and kind.tz and not given.tz:
        return lambda moments: pc.assume_timezone(moments, "UTC")
    return _arrow(kind) if pa.types.is_timestamp(given) or pa.types.is_date(given) else None


def _local(milliseconds: int) -> dt.datetime:
    """Return milliseconds since 1970 UTC as this machine's local time."""
    try:
        moment = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(milliseconds=milliseconds)
        return moment.astimezone().replace(tzinfo=None)
    except OverflowError:
        raise ValueError("expected a timestamp as milliseconds since 1970, in the years 1 to 9999") from None


_MOMENT = re.compile(
    r"\s*(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?)?"
    r"\s*(Z|[+-]\d{1,2}(?::?\d{2})?)?\s*"
)
_TIME_OF_DAY = re.compile(r"\s*(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?\s*")


def _moment(text: str) -> dt.datetime:
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise ValueError("expected a date such as 2020-02-29, or a timestamp such as 2020-02-29 10:11:12")
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    moment = dt.datetime(year, month, day, hour, minute, second)
    return moment + dt.timedelta(microseconds=_micros(found[7]))


def _time_of_day(text: str) -> dt.time:
    found = _TIME_OF_DAY.fullmatch(text)
    if found is None:
        raise ValueError("expected a time such as 10:11:12")
    hour, minute, second = (int(part or 0) for part in found.groups()[:3])
    return dt.time(hour, minute, second, min(_micros(found[4]), 999_999))


def _micros(fraction: str | None) -> int:
    """Return a fraction of a second in microseconds, rounded."""
    return (int((fraction or "").ljust(9, "0")) + 500) // 1000


def _zone(text: str) -> dt.timezone:
    found = _MOMENT.fullmatch(text)
    zone = found[8] if found else None
    if not zone or zone == "Z":
        return dt.UTC
    minutes = int(zone[1:3].rstrip(":")) * 60 + int(zone[-2:] if len(zone) > 3 else 0)
    return dt.timezone(dt.timedelta(minutes=minutes if zone[0] == "+" else -minutes))


def _number_text(texts: Any) -> Any:
    return pc.replace_substring_regex(pc.utf8_trim_whitespace(texts), pattern=r"^\+", replacement="")


def _arrow(kind: pa.DataType, *, safe: bool = True) -> ArrowFunction:
    return lambda column: pc.cast(column, kind, safe=safe)


_TO: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType, pa.DataType], ArrowFunction | None]], ...] = (
    (pa.types.is_integer, _to_whole),
    (pa.types.is_floating, _to_floating),
    (pa.types.is_decimal, _to_decimal),
    (pa.types.is_string, _to_text),
    (pa.types.is_boolean, _to_boolean),
    (pa.types.is_binary, _to_bytes),
    (pa.types.is_date, _to_date),
    (pa.types.is_time, _to_time),
    (pa.types.is_timestamp, _to_timestamp),
)
