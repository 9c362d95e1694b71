"""Dates and times with configured parts: ``date.year.template`` and similar options."""

import calendar
import datetime as dt
from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

Draw = Callable[[int, int], pa.Array]
"""Function of a salt and a limit that returns a random number below the limit for each row."""

YEARS = range(2000, 2025)
_EPOCH = dt.date(1970, 1, 1)


@frozen(kw_only=True)
class Parts:
    """Possible values for each part of a date or time. An empty list allows all values."""

    years: Sequence[int] = ()
    months: Sequence[int] = ()
    days: Sequence[int] = ()
    hours: Sequence[int] = ()
    minutes: Sequence[int] = ()
    seconds: Sequence[int] = ()

    @property
    def of_dates(self) -> bool:
        """True if any part of a date has configured values."""
        return bool(self.years or self.months or self.days)

    @property
    def of_times(self) -> bool:
        """True if any part of a time of day has configured values."""
        return bool(self.hours or self.minutes or self.seconds)

    def check(self) -> None:
        """Raise ValueError if a configured day does not exist in a configured month."""
        wanted = max(self.days, default=1)
        for year in set(self.years or YEARS):
            for month in set(self.months or range(1, 13)):
                if wanted > calendar.monthrange(year, month)[1]:
                    raise ValueError(
                        f"{year}-{month:02} has no day {wanted}; restrict the months with date.month.template"
                    )

    def dates(self, draw: Draw) -> pa.Array:
        """Return dates as days since 1970."""
        months = [(year, month) for year in self.years or YEARS for month in self.months or range(1, 13)]
        first = pa.array([(dt.date(*month, 1) - _EPOCH).days for month in months], pa.int64())
        days = pa.array([day - 1 for day in self.days or range(1, 29)], pa.int64())
        return pc.add(_chosen(first, draw, 0), _chosen(days, draw, 1))

    def times(self, draw: Draw) -> pa.Array:
        """Return times of day as seconds since midnight."""
        hours = pa.array([3600 * hour for hour in self.hours or range(24)], pa.int64())
        minutes = pa.array([60 * minute for minute in self.minutes or range(60)], pa.int64())
        seconds = pa.array(list(self.seconds or range(60)), pa.int64())
        return pc.add(pc.add(_chosen(hours, draw, 2), _chosen(minutes, draw, 3)), _chosen(seconds, draw, 4))


def _chosen(values: pa.Array, draw: Draw, which: int) -> pa.Array:
    return values.take(draw(which, len(values)).cast(pa.int64()))
