"""Oracle's formats for ``TO_CHAR``: ``9,999.99`` for numbers, ``YYYY-MM-DD HH24:MI:SS`` for timestamps."""

import datetime as dt
import decimal
import re
from collections.abc import Callable
from functools import cache

from seatunnel_core.transforms.sql.functions.java_format import DAYS, MONTHS

_NUMBER = re.compile(r"(FM)?(S)?(\$)?([09,G]*)(?:([.D])([09]*))?(S|MI)?", re.IGNORECASE)


def write_number(value: decimal.Decimal, text: str) -> str:
    """Format a number as Oracle does, with ``#`` signs if it does not fit. Raise ``ValueError`` for a bad format."""
    if re.fullmatch("(FM)?X+", text, re.IGNORECASE):
        return _hexadecimal(value, text)
    found = _NUMBER.fullmatch(text)
    if found is None or not (found[4] or found[6]):
        raise ValueError(f"the format {text} is unknown; it may contain FM, S, $, 9, 0, comma, point, MI and X")
    filled, first, currency, whole, point, fraction, last = found.groups()
    fraction = fraction or ""
    with decimal.localcontext(prec=400, rounding=decimal.ROUND_HALF_UP):
        number = value.quantize(decimal.Decimal(1).scaleb(-len(fraction)))
        digits, _, behind = f"{abs(number):f}".partition(".")
    negative = number < 0
    body = _whole(whole, digits, fraction)
    if body is None:
        return "#" * (len(text.upper().replace("FM", "")) + 1)
    if point:
        shown = _shortened(behind, fraction) if filled else behind
        body += "." + shown
    sign = "-" if negative else "+" if first or (last or "").upper() == "S" else ""
    return _signed(body, sign, bool(filled), bool(currency), first, last)


def _whole(pattern: str, digits: str, fraction: str) -> str | None:
    """Return the integer digits padded with spaces; ``None`` if they do not fit."""
    digits = "" if digits == "0" and (fraction or "0" in pattern) else digits
    places = sum(sign in "09" for sign in pattern)
    if len(digits) > places:
        return None
    digits = digits.rjust(places)
    zeros = next((at for at, sign in enumerate(pattern) if sign == "0"), len(pattern))
    written, rest, begun = "", iter(digits), False
    for at, sign in enumerate(pattern):
        if sign in ",Gg":
            written += "," if begun else " "
            continue
        digit = next(rest)
        digit = "0" if digit == " " and at >= zeros else digit
        begun = begun or digit != " "
        written += digit
    return written


def _shortened(behind: str, fraction: str) -> str:
    """Return the fraction without trailing zeros where the format has the optional digit ``9``."""
    kept = fraction.rfind("0") + 1
    return behind[:kept] + behind[kept:].rstrip("0")


def _signed(body: str, sign: str, filled: bool, currency: bool, first: str | None, last: str | None) -> str:
    number = body.lstrip(" ")
    blanks = "" if filled else " " * (len(body) - len(number))
    number = ("$" if currency else "") + number
    if last:
        return blanks + number + (sign if sign == "-" or last.upper() == "S" else "" if filled else " ")
    return blanks + (sign or ("" if filled or first else " ")) + number


def _hexadecimal(value: decimal.Decimal, text: str) -> str:
    filled = text.upper().startswith("FM")
    places = len(text) - (2 if filled else 0)
    written = f"{int(value):X}" if text.endswith("X") else f"{int(value):x}"
    if value < 0 or len(written) > places:
        return "#" * (places + 1)
    return written if filled else written.rjust(places + 1)


_PARTS: dict[str, Callable[[dt.datetime], str]] = {
    "YYYY": lambda at: f"{at.year:04d}",
    "YY": lambda at: f"{at.year % 100:02d}",
    "MONTH": lambda at: MONTHS[at.month - 1].upper().ljust(9),
    "MON": lambda at: MONTHS[at.month - 1][:3].upper(),
    "MM": lambda at: f"{at.month:02d}",
    "MI": lambda at: f"{at.minute:02d}",
    "DDD": lambda at: f"{at.timetuple().tm_yday}",
    "DD": lambda at: f"{at.day:02d}",
    "DAY": lambda at: DAYS[at.weekday()].upper().ljust(9),
    "DY": lambda at: DAYS[at.weekday()][:3].upper(),
    "HH24": lambda at: f"{at.hour:02d}",
    "HH12": lambda at: f"{at.hour % 12 or 12:02d}",
    "HH": lambda at: f"{at.hour % 12 or 12:02d}",
    "SS": lambda at: f"{at.second:02d}",
    "AM": lambda at: "AM" if at.hour < 12 else "PM",
    "PM": lambda at: "AM" if at.hour < 12 else "PM",
    "Q": lambda at: f"{(at.month + 2) // 3}",
}
_MOMENT = re.compile(
    r"FF([1-9])|(" + "|".join(sorted(_PARTS, key=len, reverse=True)) + r'|Day|Dy|Month|Mon)|"([^"]*)"|([A-Za-z]+)|(.)',
    re.DOTALL,
)


@cache
def moment_writer(text: str) -> Callable[[dt.datetime], str]:
    """Return the function that formats a timestamp; raise ``ValueError`` if the format has an unknown element."""
    makers: list[Callable[[dt.datetime], str]] = []
    for found in _MOMENT.finditer(text):
        fraction, name, literal, unknown, sign = found.groups()
        if unknown:
            raise ValueError(f"the format {text} contains the unknown element {unknown}")
        if fraction:
            makers.append(lambda at, places=int(fraction): f"{at.microsecond:06d}".ljust(9, "0")[:places])  # type: ignore[misc]
        elif name:
            made = _PARTS[name.upper()]
            makers.append(made if name.isupper() else lambda at, made=made: made(at).capitalize())  # type: ignore[misc]
        else:
            makers.append(lambda at, kept=literal if sign is None else sign: kept)  # type: ignore[misc]
    return lambda moment: "".join(maker(moment) for maker in makers)
