"""Functions for dates, times and timestamps; timestamps with time zone are computed in UTC."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_core.transforms.sql.call import Call, function
from seatunnel_core.transforms.sql.engine_function import ArrowFunction, size_of
from seatunnel_core.transforms.sql.functions.moment_fields import FIELDS, OF_DATES, OF_TIMES, STEPS_US
from seatunnel_core.transforms.sql.value import (
    BIGINT,
    DATE,
    NOW,
    NULL,
    STRING,
    TIME,
    TIMESTAMP,
    SqlError,
    Value,
    engine_cast,
    is_moment,
    nothing,
    quoted_name,
)

# The current time is the same for all rows of a batch.
function("CURRENT_TIMESTAMP", "NOW", least=0)(lambda _: Value(sql=quoted_name(NOW), type=TIMESTAMP))
function("CURRENT_DATE", least=0)(lambda _: Value(sql=engine_cast(quoted_name(NOW), DATE), type=DATE))
function("CURRENT_TIME", least=0)(lambda _: Value(sql=engine_cast(quoted_name(NOW), TIME), type=TIME))


def moment(call: Call, at: int) -> Value:
    """Return an argument that is a date, a time, a timestamp or a string with a timestamp."""
    value = call.args[at]
    if is_moment(value.type) or value.type == TIME:
        return value
    if value.type in (STRING, NULL):
        return call.cast(at, TIMESTAMP)
    raise call.wrong(at, "a date, a time or a timestamp")


def unit(call: Call, at: int, *, more: tuple[str, ...] = ()) -> str:
    """Return the unit given by an argument, in upper case and without a final S."""
    name = call.known(at, "a unit of time such as 'DAY'", "DAY").upper()
    singular = name.removesuffix("S")
    if singular not in STEPS_US and singular not in OF_DATES and singular not in more:
        known = ", ".join((*OF_DATES, *STEPS_US, *more))
        raise SqlError(f"Sql: {call.what}: {name} is not a unit of time; expected one of {known}")
    return singular


def _check_unit(call: Call, name: str, kind: pa.DataType) -> None:
    if kind == TIME and name not in OF_TIMES:
        raise SqlError(f"Sql: {call.what}: a time of day has no {name}")


def micros(moments: Any) -> Any:
    """Return microseconds since 1970, or since midnight."""
    if pa.types.is_date(moments.type):
        moments = pc.cast(moments, TIMESTAMP)
    return pc.cast(moments, BIGINT)


@function("DATEADD", "TIMESTAMPADD", least=2, most=3)
def dateadd(call: Call) -> Value:
    """Compile DATEADD: add a number of units to a date or time."""
    value, count, name = moment(call, 0), call.whole(1, BIGINT), unit(call, 2)
    kind = value.type
    _check_unit(call, name, kind)
    if kind == DATE and name in OF_TIMES:
        kind = TIMESTAMP
    months = OF_DATES.get(name)
    moved = _months_later(months, kind) if months else _later(STEPS_US[name], kind)
    return call.make(moved, kind, [value, count])


def _later(step_us: int, kind: pa.DataType) -> ArrowFunction:
    def run(moments: Any, count: Any) -> Any:
        found = pc.add_checked(micros(moments), pc.multiply_checked(count, pa.scalar(step_us, BIGINT)))
        if kind == TIME:
            day = STEPS_US["DAY"]
            whole = pc.cast(pc.floor(pc.divide(pc.cast(found, pa.float64(), safe=False), float(day))), BIGINT)
            return pc.cast(pc.subtract(found, pc.multiply(whole, day)), TIME)
        return _of_micros(found, kind)

    return run


def _of_micros(found: Any, kind: pa.DataType) -> Any:
    return pc.cast(pc.cast(found, TIMESTAMP), kind) if kind == DATE else pc.cast(found, kind)


def _months_later(months: int, kind: pa.DataType) -> ArrowFunction:
    """Return the function that adds months; in a shorter month, the result is its last day."""

    def run(moments: Any, count: Any) -> Any:
        size = size_of((moments, count))
        given = moments if isinstance(moments, pa.Array) else pa.repeat(moments, size)
        counts = count if isinstance(count, pa.Array) else pa.repeat(count, size)
        known = pc.and_(pc.is_valid(given), pc.is_valid(counts))
        values = pc.fill_null(micros(given), 0).to_numpy(zero_copy_only=False).astype("datetime64[us]")
        steps = pc.fill_null(counts, 0).to_numpy(zero_copy_only=False)
        if len(steps) and np.abs(steps).max() > 1_000_000:
            raise ValueError("the result is not a valid date")
        days = values.astype("datetime64[D]")
        month = days.astype("datetime64[M]")
        target = month + (steps * months).astype("timedelta64[M]")
        start = target.astype("datetime64[D]")
        length = (target + np.timedelta64(1, "M")).astype("datetime64[D]") - start
        moved = start + np.minimum(days - month.astype("datetime64[D]"), length - np.timedelta64(1, "D"))
        found = (moved.astype("datetime64[us]") + (values - days)).astype("int64")
        return pc.if_else(known, _of_micros(pa.array(found), kind), pa.scalar(None, kind))

    return run


@function("DATEDIFF", least=2, most=3)
def datediff(call: Call) -> Value:
    """Compile DATEDIFF: whole units between two times; years, quarters, months and days are calendar units."""
    one, other, name = moment(call, 0), moment(call, 1), unit(call, 2, more=("DAYTIME",))
    if (one.type == TIME) != (other.type == TIME) and NULL not in (call.args[0].type, call.args[1].type):
        raise SqlError(f"Sql: {call.what}: the difference between a time of day and a date is undefined")
    _check_unit(call, name, one.type)
    if name in OF_DATES:
        return call.make(_whole_months(OF_DATES[name]), BIGINT, [one, other], fails=False)
    step = STEPS_US["DAY" if name == "DAYTIME" else name]

    def between(first: Any, second: Any) -> Any:
        if name == "DAY":
            first, second = (pc.floor_temporal(pc.cast(each, TIMESTAMP), unit="day") for each in (first, second))
        return pc.divide(pc.subtract(micros(second), micros(first)), step)

    return call.make(between, BIGINT, [one, other], fails=False)


def _whole_months(step: int) -> ArrowFunction:
    """Return the function that counts units of whole months; a month lasts until the same day of the next month."""

    def between(first: Any, second: Any) -> Any:
        first, second = (pc.cast(each, TIMESTAMP) for each in (first, second))
        months = pc.subtract(_number_of("MONTH", second), _number_of("MONTH", first))
        days = pc.subtract(pc.day(second), pc.day(first))
        short = pc.cast(pc.and_(pc.greater(months, 0), pc.less(days, 0)), BIGINT)
        long = pc.cast(pc.and_(pc.less(months, 0), pc.greater(days, 0)), BIGINT)
        return pc.divide(pc.add(pc.subtract(months, short), long), step)

    return between


def _number_of(name: str, moments: Any) -> Any:
    """Return the index of the unit that contains each time, counted from a fixed point in time."""
    if name in OF_DATES:
        moments = pc.cast(moments, TIMESTAMP)
        year, month = pc.cast(pc.year(moments), BIGINT), pc.cast(pc.month(moments), BIGINT)
        number = pc.add(pc.multiply(year, 12), pc.subtract(month, 1))
        step = OF_DATES[name]
    else:
        number, step = micros(moments), STEPS_US[name]
        if name == "WEEK":  # 1970 began on a Thursday; weeks begin on Monday
            number = pc.add(number, 3 * STEPS_US["DAY"])
    rest = pc.subtract(number, pc.multiply(pc.divide(number, step), step))
    return pc.subtract(pc.divide(number, step), pc.cast(pc.less(rest, 0), BIGINT))


@function("DATE_TRUNC", most=2)
def date_trunc(call: Call) -> Value:
    """Compile DATE_TRUNC: the beginning of the unit that contains a time."""
    value, name = moment(call, 0), unit(call, 1)
    kind = value.type
    _check_unit(call, name, kind)
    if kind == DATE and name in OF_TIMES:
        return value

    def truncated(moments: Any) -> Any:
        if name in OF_DATES and OF_DATES[name] > 12:
            years = OF_DATES[name] // 12
            first = 0 if name == "DECADE" else 1

            def start(year: int) -> dt.datetime:
                return dt.datetime((year - first) // years * years + first, 1, 1)

            years_of = pc.year(pc.cast(moments, TIMESTAMP)).to_pylist()
            return pc.cast(pa.array([None if each is None else start(each) for each in years_of], TIMESTAMP), kind)
        if kind == TIME:
            return pc.cast(pc.multiply(_number_of(name, moments), STEPS_US[name]), TIME)
        found = pc.floor_temporal(pc.cast(moments, TIMESTAMP), unit=name.lower())
        return _of_micros(pc.cast(found, BIGINT), kind)

    return call.make(truncated, kind, [value])


@function("EXTRACT", least=2)
def extract(call: Call) -> Value:
    """Compile ``EXTRACT(YEAR FROM d)``, with the field's name and the value as arguments."""
    name = call.known(0, "a field").upper()
    if name not in FIELDS:
        raise SqlError(f"Sql: {call.what}: {name} is not a field; expected one of {', '.join(FIELDS)}")
    return _field(call, name, moment(call, 1))


def _field(call: Call, name: str, value: Value) -> Value:
    compute, kind, of_time = FIELDS[name]
    if value.type == TIME and not of_time:
        raise SqlError(f"Sql: {call.what}: a time of day has no {name}")
    if value.type == NULL:
        return nothing(kind)

    def run(moments: Any) -> Any:
        if of_time and moments.type == TIME:
            return compute(pc.cast(pc.cast(moments, BIGINT), TIMESTAMP))
        return compute(pc.cast(moments, TIMESTAMP))

    return call.make(run, kind, [value], fails=False)


def _of_field(name: str) -> Callable[[Call], Value]:
    return lambda call: _field(call, name, moment(call, 0))


_OTHER_NAMES = {"DAY_OF_MONTH": "DAY", "DAY_OF_WEEK": "ISODOW", "DAY_OF_YEAR": "DOY"}
for _each in ("YEAR", "QUARTER", "MONTH", "WEEK", "HOUR", "MINUTE", "SECOND", *_OTHER_NAMES):
    function(_each)(_of_field(_OTHER_NAMES.get(_each, _each)))
