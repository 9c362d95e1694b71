"""Conversion of dates and times to Arrow."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_core.connectors.mysql_log import column_types as ct
from seatunnel_core.connectors.mysql_log.values.converted import (
    Converted,
    Mask,
    Values,
    big_endian,
    fixed_size,
    little_endian,
)

Ints = npt.NDArray[np.int64]

_DAY_US = 86_400_000_000
_MONTH_DAYS = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
_BY_HINT = "; set properties { zeroDateTimeBehavior = CONVERT_TO_NULL } to read the date 0000-00-00 as null"


def dates(values: Values, arrow: pa.DataType, *, zero_is_null: bool) -> Converted:
    """Convert dates of three bytes: 15 bits for the year, 4 for the month and 5 for the day."""
    found, absent = fixed_size(values, 3)
    packed = little_endian(found)
    year, month, day = packed >> 9, packed >> 5 & 15, packed & 31
    wrong = _no_date(year, month, day)
    zero = packed == 0
    array = pa.array(_days(year, month, day).astype(np.int32), pa.int32()).view(pa.date32())
    text = lambda n: f"{year[n]:04d}-{month[n]:02d}-{day[n]:02d}"  # noqa: E731
    return _finished(array.cast(arrow), absent, wrong, zero, text, zero_is_null=zero_is_null)


def datetimes2(values: Values, arrow: pa.DataType, digits: int, *, zero_is_null: bool) -> Converted:
    """Convert DATETIME values (MySQL 5.6 and later): 17 bits for year and month, then day, hour, minute, second."""
    found, absent = fixed_size(values, 5 + ct.fraction_bytes(digits))
    packed = big_endian(found[:, :5]) - (1 << 39)
    months = packed >> 22
    return _datetimes(
        (months // 13, months % 13, packed >> 17 & 31, packed >> 12 & 31, packed >> 6 & 63, packed & 63),
        _fraction(found[:, 5:]),
        absent,
        arrow,
        zero_is_null=zero_is_null,
    )


def datetimes(values: Values, arrow: pa.DataType, *, zero_is_null: bool) -> Converted:
    """Convert DATETIME values in the format before MySQL 5.6: the decimal number YYYYMMDDhhmmss."""
    found, absent = fixed_size(values, 8)
    packed = little_endian(found)
    day, clock = packed // 1_000_000, packed % 1_000_000
    parts = (day // 10_000, day // 100 % 100, day % 100, clock // 10_000, clock // 100 % 100, clock % 100)
    return _datetimes(parts, np.zeros(len(values), np.int64), absent, arrow, zero_is_null=zero_is_null)


def _datetimes(
    parts: tuple[Ints, Ints, Ints, Ints, Ints, Ints],
    fraction: Ints,
    absent: Mask,
    arrow: pa.DataType,
    *,
    zero_is_null: bool,
) -> Converted:
    year, month, day, hour, minute, second = parts
    wrong = _no_date(year, month, day) | (hour > 23) | (minute > 59) | (second > 59)
    zero = (year == 0) & (month == 0) & (day == 0)
    clock = (hour * 3_600 + minute * 60 + second) * 1_000_000 + fraction
    array = pa.array(_days(year, month, day) * _DAY_US + clock).view(pa.timestamp("us"))

    def text(n: int) -> str:
        shown = f"{year[n]:04d}-{month[n]:02d}-{day[n]:02d} {hour[n]:02d}:{minute[n]:02d}:{second[n]:02d}"
        return f"{shown}.{fraction[n]:06d}" if fraction[n] else shown

    return _finished(array.cast(arrow), absent, wrong, zero, text, zero_is_null=zero_is_null)


def timestamps2(values: Values, arrow: pa.DataType, digits: int, zone: str, *, zero_is_null: bool) -> Converted:
    """Convert TIMESTAMP values (MySQL 5.6 and later): big-endian seconds since 1970 in UTC, and a fraction."""
    found, absent = fixed_size(values, 4 + ct.fraction_bytes(digits))
    seconds, fraction = big_endian(found[:, :4]), _fraction(found[:, 4:])
    return _timestamps(seconds, fraction, absent, arrow, zone, zero_is_null=zero_is_null)


def timestamps(values: Values, arrow: pa.DataType, zone: str, *, zero_is_null: bool) -> Converted:
    """Convert TIMESTAMP values in the format before MySQL 5.6: little-endian seconds since 1970 in UTC."""
    found, absent = fixed_size(values, 4)
    nothing = np.zeros(len(values), np.int64)
    return _timestamps(little_endian(found), nothing, absent, arrow, zone, zero_is_null=zero_is_null)


def _timestamps(
    seconds: Ints, fraction: Ints, absent: Mask, arrow: pa.DataType, zone: str, *, zero_is_null: bool
) -> Converted:
    zero = seconds == 0
    moments = pa.array(seconds * 1_000_000 + fraction).view(pa.timestamp("us"))
    if zone != "UTC":
        moments = pc.local_timestamp(moments.cast(pa.timestamp("us", zone)))
    text = lambda n: "0000-00-00 00:00:00"  # noqa: E731
    return _finished(moments.cast(arrow), absent, zero, zero, text, zero_is_null=zero_is_null)


def times2(values: Values, arrow: pa.DataType, digits: int) -> Converted:
    """Convert TIME values (MySQL 5.6 and later): a sign bit, then hour, minute, second and a fraction."""
    size = 3 + ct.fraction_bytes(digits)
    found, absent = fixed_size(values, size)
    packed = big_endian(found) - (1 << 8 * size - 1)
    bits = 8 * (size - 3)
    clock, part = np.abs(packed) >> bits, np.abs(packed) & (1 << bits) - 1
    hour, minute, second = clock >> 12 & 1023, clock >> 6 & 63, clock & 63
    return _times(packed < 0, (hour, minute, second), part * 100 ** (3 - size + 3), absent, arrow)


def times(values: Values, arrow: pa.DataType) -> Converted:
    """Convert TIME values in the format before MySQL 5.6: the signed decimal number hhmmss."""
    found, absent = fixed_size(values, 3)
    packed = little_endian(found)
    packed = np.where(packed >= 1 << 23, packed - (1 << 24), packed)
    clock = np.abs(packed)
    nothing = np.zeros(len(values), np.int64)
    return _times(packed < 0, (clock // 10_000, clock // 100 % 100, clock % 100), nothing, absent, arrow)


def _times(
    negative: npt.NDArray[np.bool_], parts: tuple[Ints, Ints, Ints], fraction: Ints, absent: Mask, arrow: pa.DataType
) -> Converted:
    hour, minute, second = parts
    wrong = negative | (hour > 23) | (minute > 59) | (second > 59)
    array = pa.array((hour * 3_600 + minute * 60 + second) * 1_000_000 + fraction).view(pa.time64("us"))

    def text(n: int) -> str:
        shown = f"{'-' * int(negative[n])}{hour[n]:02d}:{minute[n]:02d}:{second[n]:02d}"
        return f"{shown}.{fraction[n]:06d}" if fraction[n] else shown

    return _finished(array.cast(arrow), absent, wrong, np.zeros_like(wrong), text, zero_is_null=False)


def _fraction(found: npt.NDArray[np.uint8]) -> Ints:
    """Convert fractions of 0 to 3 bytes (hundredths, ten-thousandths or millionths) to microseconds."""
    size = found.shape[1]
    micros: Ints = big_endian(found) * 100 ** (3 - size)
    return micros


def _no_date(year: Ints, month: Ints, day: Ints) -> npt.NDArray[np.bool_]:
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    most = _MONTH_DAYS[np.minimum(month, 12)] + ((month == 2) & leap)
    found: npt.NDArray[np.bool_] = (year < 1) | (year > 9_999) | (month < 1) | (month > 12) | (day < 1) | (day > most)
    return found


def _days(year: Ints, month: Ints, day: Ints) -> Ints:
    """Return the number of days since 1970 in the Gregorian calendar."""
    year = year - (month <= 2)
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    days: Ints = era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468
    return days


def _finished(
    array: pa.Array,
    absent: Mask,
    wrong: npt.NDArray[np.bool_],
    zero: npt.NDArray[np.bool_],
    text: Callable[[int], str],
    *,
    zero_is_null: bool,
) -> Converted:
    """Replace invalid values with null, and return the array with a message for each invalid value."""
    if absent is None and not wrong.any():
        return array, {}
    null = wrong if absent is None else wrong | absent
    bad = null if absent is None else wrong & ~absent
    if zero_is_null:
        bad = bad & ~zero
    hint = _BY_HINT if (bad & zero).any() else ""
    misfits = {
        number: f"{text(number)!r} is not a valid {'time of one day' if pa.types.is_time(array.type) else 'date'}{hint}"
        for number in np.flatnonzero(bad).tolist()
    }
    return pc.if_else(pa.array(null), pa.scalar(None, array.type), array), misfits
