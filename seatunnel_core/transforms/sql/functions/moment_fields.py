"""Units and fields of dates, times and timestamps."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_core.transforms.sql.value import BIGINT, INT

OF_DATES = {"MILLENNIUM": 12_000, "CENTURY": 1200, "DECADE": 120, "YEAR": 12, "QUARTER": 3, "MONTH": 1}
"""Units of variable length, in months."""

_SECOND_US = 1_000_000
STEPS_US = {
    "WEEK": 7 * 86_400 * _SECOND_US,
    "DAY": 86_400 * _SECOND_US,
    "HOUR": 3600 * _SECOND_US,
    "MINUTE": 60 * _SECOND_US,
    "SECOND": _SECOND_US,
    "MILLISECOND": 1000,
    "MICROSECOND": 1,
}
"""Units of fixed length, in microseconds."""

OF_TIMES = tuple(name for name, step in STEPS_US.items() if step < STEPS_US["DAY"])
"""Units of a time of day that a date lacks."""


def _since(years: int) -> Callable[[Any], Any]:
    """Return the function that counts centuries or millennia from the year 1."""
    return lambda moments: pc.add(pc.divide(pc.subtract(pc.year(moments), 1), years), 1)


def _week(moments: Any) -> Any:
    """Return the ISO week within the calendar year, 0 to 53; week 0 continues the previous year."""
    days = pc.subtract(pc.day_of_year(moments), pc.day_of_week(moments))
    return pc.divide(pc.add(days, 9), 7)


def _second_micros(moments: Any) -> Any:
    """Return the fraction of the second in microseconds: 0 to 999,999."""
    return pc.subtract(pc.cast(moments, BIGINT), pc.cast(pc.floor_temporal(moments, unit="second"), BIGINT))


def _second_millis(moments: Any) -> Any:
    """Return the fraction of the second in whole milliseconds: 0 to 999."""
    return pc.divide(_second_micros(moments), 1000)


def _epoch(moments: Any) -> Any:
    """Return whole seconds since 1970."""
    return pc.divide(pc.cast(pc.floor_temporal(moments, unit="second"), BIGINT), _SECOND_US)


FIELDS: dict[str, tuple[Callable[[Any], Any], pa.DataType, bool]] = {
    "YEAR": (pc.year, INT, False),
    "ISOYEAR": (pc.iso_year, INT, False),
    "ISO_YEAR": (pc.iso_year, INT, False),
    "DECADE": (lambda moments: pc.divide(pc.year(moments), 10), INT, False),
    "CENTURY": (_since(100), INT, False),
    "MILLENNIUM": (_since(1000), INT, False),
    "QUARTER": (pc.quarter, INT, False),
    "MONTH": (pc.month, INT, False),
    "WEEK": (_week, INT, False),
    "ISO_WEEK": (pc.iso_week, INT, False),
    "DAY": (pc.day, INT, False),
    "DOY": (pc.day_of_year, INT, False),
    "DAYOFYEAR": (pc.day_of_year, INT, False),
    "DAY_OF_YEAR": (pc.day_of_year, INT, False),
    "DOW": (lambda moments: pc.day_of_week(moments, week_start=7), INT, False),
    "DAYOFWEEK": (lambda moments: pc.day_of_week(moments, week_start=7), INT, False),
    "ISODOW": (lambda moments: pc.day_of_week(moments, count_from_zero=False), INT, False),
    "ISO_DAY_OF_WEEK": (lambda moments: pc.day_of_week(moments, count_from_zero=False), INT, False),
    "HOUR": (pc.hour, INT, True),
    "MINUTE": (pc.minute, INT, True),
    "SECOND": (pc.second, INT, True),
    "MILLISECOND": (_second_millis, INT, True),
    "MILLISECONDS": (_second_millis, INT, True),
    "MICROSECOND": (_second_micros, INT, True),
    "MICROSECONDS": (_second_micros, INT, True),
    "EPOCH": (_epoch, BIGINT, True),
}
"""Fields by name: function that computes the field from timestamps, type, and True if times of day have it."""
