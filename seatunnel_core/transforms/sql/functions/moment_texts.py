"""Functions that format dates and times, or parse them."""

import datetime as dt
import decimal
import re
import zoneinfo
from collections.abc import Callable
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_core.transforms.sql.arithmetic import displayed
from seatunnel_core.transforms.sql.call import Call, function
from seatunnel_core.transforms.sql.engine_function import ArrowFunction, by_row
from seatunnel_core.transforms.sql.functions.java_format import DAYS, MONTHS, Pattern, pattern
from seatunnel_core.transforms.sql.functions.moments import micros, moment
from seatunnel_core.transforms.sql.functions.oracle_format import moment_writer, write_number
from seatunnel_core.transforms.sql.value import (
    BIGINT,
    BOOLEAN,
    DATE,
    STRING,
    TIME,
    TIMESTAMP,
    SqlError,
    Value,
    is_moment,
    is_number,
)

_Made = TypeVar("_Made")


function("DAYNAME")(lambda call: _name(call, DAYS, pc.day_of_week))
function("MONTHNAME")(lambda call: _name(call, MONTHS, lambda moments: pc.subtract(pc.month(moments), 1)))


def _name(call: Call, names: tuple[str, ...], number: ArrowFunction) -> Value:
    value = moment(call, 0)
    if value.type == TIME:
        raise call.wrong(0, "a date or a timestamp")
    return call.make(
        lambda moments: pa.array(names).take(number(pc.cast(moments, TIMESTAMP))), STRING, [value], fails=False
    )


def _checked(call: Call, made: Callable[[], _Made]) -> _Made:
    """Return the result of ``made``; raise ``SqlError`` if it rejects a format."""
    try:
        return made()
    except ValueError as error:
        raise SqlError(f"Sql: {call.what}: {error}") from None


def _pattern(call: Call, at: int) -> Pattern:
    text = call.known(at, "a format such as 'yyyy-MM-dd HH:mm:ss'")
    return _checked(call, lambda: pattern(text))


@function("FORMATDATETIME", least=2)
def formatdatetime(call: Call) -> Value:
    """Compile FORMATDATETIME, with Java's pattern."""
    made = _pattern(call, 1)
    return _written(call, made.write, made)


def _written(call: Call, write: Callable[[dt.datetime], str], made: Pattern | None) -> Value:
    value = moment(call, 0)
    if value.type == TIME and (made is None or made.has_date):
        raise SqlError(f"Sql: {call.what}: the format contains a date, but the value is a time of day")
    slow = by_row(write, STRING)
    quick = _strftime(made) if made else None

    def run(moments: Any) -> Any:
        moments = pc.cast(micros(moments), TIMESTAMP)
        if quick is None:
            return slow(moments)
        whole = pc.cast(pc.floor_temporal(moments, unit="second"), pa.timestamp("s"))
        return pc.strftime(whole, format=quick)

    return call.make(run, STRING, [value], fails=False)


_QUICK = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}


def _strftime(made: Pattern) -> str | None:
    """Return the pattern for Arrow; ``None`` if it has unusual parts."""
    written = ""
    for letter, count in made.parts:
        if not count:
            written += letter.replace("%", "%%")
        elif letter * count in _QUICK:
            written += _QUICK[letter * count]
        else:
            return None
    return written


@function("PARSEDATETIME", "TO_DATE", least=2)
def parsedatetime(call: Call) -> Value:
    """Compile PARSEDATETIME: a timestamp, a date or a time, depending on the pattern's letters."""
    made = _pattern(call, 1)
    if made.has_date and made.has_time:
        return call.make(by_row(made.read, TIMESTAMP), TIMESTAMP, [call.text(0)])
    if made.has_date:
        return call.make(by_row(lambda text: made.read(text).date(), DATE), DATE, [call.text(0)])
    if made.has_time:
        return call.make(by_row(lambda text: made.read(text).time(), TIME), TIME, [call.text(0)])
    raise SqlError(f"Sql: {call.what}: the format {made.text} contains no letter for a date or time")


@function("IS_DATE", least=2)
def is_date(call: Call) -> Value:
    """Compile IS_DATE: true if a string matches the pattern and its day exists."""
    made = _pattern(call, 1)

    def known(text: str) -> bool:
        try:
            made.read(text, existing=True)
        except ValueError:
            return False
        return True

    return call.make(by_row(known, BOOLEAN), BOOLEAN, [call.text(0)], fails=False)


@function("FROM_UNIXTIME", least=2, most=3)
def from_unixtime(call: Call) -> Value:
    """Compile FROM_UNIXTIME, by default in the machine's time zone."""
    made = _pattern(call, 1)
    zone = _zone(call, call.known(2, "a time zone")) if len(call.args) > 2 else None
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

    def written(seconds: int) -> str:
        return made.write((epoch + dt.timedelta(seconds=seconds)).astimezone(zone))

    return call.make(by_row(written, STRING), STRING, [call.whole(0, BIGINT)])


def at_time_zone(call: Call) -> Value:
    """Compile AT TIME ZONE: a timestamp interpreted in a time zone; one with a time zone is unchanged."""
    clock = _zone(call, call.known(1, "a time zone"))
    value = moment(call, 0)
    if pa.types.is_timestamp(value.type) and value.type.tz:
        return value
    if value.type == TIME:
        raise call.wrong(0, "a date or a timestamp")
    kind = pa.timestamp("us", tz="UTC")

    def found(shown: dt.datetime) -> dt.datetime:
        return shown.replace(tzinfo=clock).astimezone(dt.UTC)

    return call.make(by_row(found, kind), kind, [call.cast(0, TIMESTAMP)])


def _zone(call: Call, name: str) -> dt.tzinfo:
    """Return the time zone with a name: ``UTC``, ``UTC+8``, ``GMT-03:30``, ``+08:00``, ``Asia/Shanghai``."""
    offset = name.removeprefix("UTC").removeprefix("GMT")
    if not offset or offset == "Z":
        return dt.UTC
    if offset[0] in "+-":
        hours, _, minutes = offset[1:].partition(":")
        if hours.isdigit() and (minutes or "0").isdigit() and int(hours) <= 18:
            length = dt.timedelta(hours=int(hours), minutes=int(minutes or 0))
            return dt.timezone(length if offset[0] == "+" else -length)
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        raise SqlError(
            f"Sql: {call.what}: {name} is not a time zone; use UTC+8 or Asia/Shanghai, for example"
        ) from None


@function("TO_CHAR", most=2)
def to_char(call: Call) -> Value:
    """Compile TO_CHAR: timestamps in Java's or Oracle's format, numbers in Oracle's; without a format, a CAST."""
    if len(call.args) == 1:
        return call.text(0)
    text = call.known(1, "a format")
    kind = call.args[0].type
    if is_moment(kind) or kind == TIME:
        if any(sign.islower() for sign in _CAPITALIZED.sub("", text)):
            return formatdatetime(call)
        return _written(call, _checked(call, lambda: moment_writer(text)), None)
    if is_number(kind):
        _checked(call, lambda: write_number(decimal.Decimal(0), text))
        return call.make(by_row(lambda number: write_number(displayed(number), text), STRING), STRING, [call.args[0]])
    return call.text(0)


_CAPITALIZED = re.compile("Day|Dy|Month|Mon")
"""Elements of Oracle's formats that contain lower-case letters; other lower-case letters indicate Java's format."""
