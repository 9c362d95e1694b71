"""Text that a sheet displays for a number, date or duration, from the format code of its cell (ECMA-376, 18.8.31).

Colours, the width of spaces and the padding of fractions are omitted. A value has its default form if the month names
of the code are not English, or if the code depends on the machine's settings.
"""

import datetime as dt
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any

from attrs import frozen

Cell = int | float | dt.datetime | dt.date | dt.time | dt.timedelta

_DIGITS = 15
"""Number of significant digits that Excel supports."""

_TOKEN = re.compile(
    r"""
    "(?P<quoted>[^"]*)" | \\(?P<escaped>.) | _(?P<space>.) | \*(?P<fill>.)
    | \[(?P<elapsed>h+|m+|s+)\] | \[(?P<bracket>[^\]]*)\]
    | (?P<half>AM/PM|A/P) | (?P<fraction>\.0+(?=[^0-9#?.]*$|[^0-9#?.]*[;]))
    | (?P<exponent>E[+-]) | (?P<date>y+|m+|d+|h+|s+|b+|g+|e+) | (?P<general>General)
    | (?P<digit>[0#?]) | (?P<point>\.) | (?P<comma>,) | (?P<percent>%) | (?P<text>@) | (?P<semicolon>;)
    | (?P<other>.)
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_LOCAL = re.compile(r"\[\$-F[48]00\]|^mm-dd-yy$|^m/d/yy h:mm$", re.IGNORECASE)
"""Date formats that depend on the machine's settings: the built-in formats 14 and 22, and the formats of Windows."""

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@frozen
class _Token:
    kind: str
    text: str


class _NotRenderedError(Exception):
    """The format code, or a value with this code, cannot be rendered."""


def shown(value: Cell, code: str) -> str | None:
    """Return the string that a sheet displays for a value; ``None`` if the value has its default form."""
    if isinstance(value, dt.datetime) and code.lower() == "m/d/yy h:mm":
        return value.isoformat(" ")  # The format of the date depends on the machine.
    try:
        sections = _sections(code)
        if any(token.kind in ("date", "elapsed", "half") for token in sections[0]):
            return _moment(value, sections[0])
        if isinstance(value, int | float):
            return _signed(Decimal(f"{value:.{_DIGITS}g}"), sections)
    except (_NotRenderedError, ArithmeticError):
        return None
    return None


@lru_cache(maxsize=256)
def _sections(code: str) -> tuple[tuple[_Token, ...], ...]:
    """Split a format code at its semicolons into sections, and omit colours."""
    if _LOCAL.search(code):
        raise _NotRenderedError
    sections: list[list[_Token]] = [[]]
    for found in _TOKEN.finditer(code):
        kind = str(found.lastgroup)
        if kind == "semicolon":
            sections.append([])
        elif kind not in ("space", "fill"):
            sections[-1] += _read(kind, found[kind])
    if len(sections) > 4 or any(token.kind in ("general", "text") for token in sections[0]):
        raise _NotRenderedError
    return tuple(map(tuple, sections))


def _read(kind: str, text: str) -> list[_Token]:
    if kind == "bracket":
        if text.startswith("$"):
            sign, _, locale = text[1:].partition("-")
            foreign = bool(locale) and not locale.upper().endswith("09")
            return [_Token("literal", sign), *([_Token("foreign", "")] if foreign else [])]
        return [_Token("condition", text)] if text[:1] in ("<", ">", "=") else []  # Otherwise a colour.
    if kind == "other" and text == "/":
        return [_Token("slash", text)]
    if kind == "date" and text[0] in "bBgGeE":
        raise _NotRenderedError  # Years of other calendars.
    return [_Token("literal" if kind in ("quoted", "escaped", "other") else kind, text)]


# -- numbers ------------------------------------------------------------------------------------------------------


def _signed(number: Decimal, sections: Sequence[Sequence[_Token]]) -> str:
    """Return a number formatted by the section for its sign, or by the first section with a satisfied condition.

    The sections are for positive numbers, negative numbers, and zero; with a single section, the minus sign is added.
    """
    count = min(len(sections), 3)
    usual = ((">", 0) if count > 2 else (">=", 0), ("<", 0))
    by_sign = not any(each.kind == "condition" for each in sections[0])
    for at, tokens in enumerate(sections[:count]):
        given = next((each.text for each in tokens if each.kind == "condition"), None)
        if given is None and at == count - 1:
            return _number_with_sign(number, tokens, negative=by_sign and number < 0 and at == 1)
        sign, limit = usual[min(at, 1)] if given is None else _condition(given)
        if _COMPARED[sign](number, limit):
            return _number_with_sign(number, tokens, negative=sign in ("<", "<=") and limit <= 0)
    raise _NotRenderedError  # A sheet displays ####### instead.


_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
}


def _condition(text: str) -> tuple[str, Decimal]:
    sign = text[: 2 if text[1:2] in ("=", ">") else 1]
    if sign not in _COMPARED:
        raise _NotRenderedError
    return sign, Decimal(text.removeprefix(sign))


def _number_with_sign(number: Decimal, tokens: Sequence[_Token], *, negative: bool) -> str:
    """Return a number formatted by a section, with a minus sign unless the section applies only to negative numbers."""
    shown_tokens = [each for each in tokens if each.kind != "condition"]
    return ("-" if number < 0 and not negative else "") + _number(abs(number), shown_tokens)


def _number(number: Decimal, tokens: Sequence[_Token]) -> str:
    kinds = [token.kind for token in tokens]
    if "slash" in kinds and "digit" in kinds:
        return _fraction(number, tokens)
    tokens = [each if each.kind != "fraction" else _Token("decimals", each.text) for each in tokens]
    parts = _unfolded(tokens)
    if not any(each.kind == "digit" for each in parts):
        return "".join(each.text for each in parts)
    if any(each.kind == "exponent" for each in parts):
        return _scientific(number, parts)
    return _fixed(number, parts)


def _unfolded(tokens: Sequence[_Token]) -> list[_Token]:
    """Return the tokens with ``.00`` split into a decimal point and two digits."""
    found: list[_Token] = []
    for each in tokens:
        if each.kind == "decimals":
            found += [_Token("point", "."), *(_Token("digit", "0") for _ in each.text[1:])]
        elif each.kind != "foreign":
            found.append(each)
    return found


def _fixed(number: Decimal, parts: Sequence[_Token]) -> str:
    point = next((at for at, each in enumerate(parts) if each.kind == "point"), len(parts))
    last = _last_digit(parts)
    before, after = parts[:point], parts[point + 1 :]
    if any(each.kind == "point" for each in after):
        raise _NotRenderedError
    thousands = sum(_commas_behind(parts, at) for at in {last, _last_digit(before)} if at >= 0)
    number = number.scaleb(2 * sum(each.kind == "percent" for each in parts) - 3 * thousands)
    places = sum(each.kind == "digit" for each in after)
    with localcontext(prec=400, rounding=ROUND_HALF_UP):
        whole, _, decimals = f"{number.quantize(Decimal(1).scaleb(-places)):f}".partition(".")
    grouped = any(each.kind == "comma" for each in before[: _last_digit(before) + 1])
    text = _whole("" if whole == "0" else whole, before, grouped=grouped)
    return text + ("." if point < len(parts) else "") + _decimals(decimals, after)


def _last_digit(parts: Sequence[_Token]) -> int:
    return max((at for at, each in enumerate(parts) if each.kind == "digit"), default=-1)


def _commas_behind(parts: Sequence[_Token], last: int) -> int:
    """Return the number of commas directly after a position; each divides by 1000."""
    count = 0
    while last + 1 + count < len(parts) and parts[last + 1 + count].kind == "comma":
        count += 1
    return count


def _whole(digits: str, parts: Sequence[_Token], *, grouped: bool) -> str:
    """Return the digits before the decimal point at their placeholders; the first one takes all further digits."""
    first = next((at for at, each in enumerate(parts) if each.kind == "digit"), None)
    if first is None:
        return "".join(each.text for each in parts if each.kind != "comma") + digits
    written: list[str] = []
    count = 0

    def put(sign: str) -> None:
        nonlocal count
        if grouped and count and count % 3 == 0 and sign.isdigit():
            written.append(",")
        written.append(sign)
        count += 1

    for at in range(len(parts) - 1, -1, -1):
        each = parts[at]
        if each.kind != "digit":
            written.append("" if each.kind == "comma" else each.text[::-1])
            continue
        for sign in reversed(digits if at == first else digits[-1:]):
            put(sign)
        if not digits and each.text != "#":
            put("0" if each.text == "0" else " ")
        digits = digits[:-1]
    return "".join(written)[::-1]


def _decimals(digits: str, parts: Sequence[_Token]) -> str:
    """Return the digits after the decimal point at their placeholders; ``#`` drops trailing zeros."""
    written, at = "", 0
    for each in parts:
        if each.kind != "digit":
            written += "" if each.kind == "comma" else each.text
            continue
        needed = each.text == "0" or digits[at:].strip("0")
        written += digits[at] if needed else " " if each.text == "?" else ""
        at += 1
    return written


def _scientific(number: Decimal, parts: Sequence[_Token]) -> str:
    at = next(at for at, each in enumerate(parts) if each.kind == "exponent")
    mantissa, power = list(parts[:at]), list(parts[at + 1 :])
    whole = mantissa[: next((place for place, each in enumerate(mantissa) if each.kind == "point"), at)]
    step = sum(each.kind == "digit" for each in whole)
    places = sum(each.kind == "digit" for each in mantissa) - step
    if not step:
        raise _NotRenderedError
    with localcontext(prec=400, rounding=ROUND_HALF_UP):
        exponent = number.adjusted() // step * step if number else 0
        scaled = number.scaleb(-exponent).quantize(Decimal(1).scaleb(-places))
        if scaled >= 10**step:
            exponent += step
            scaled = number.scaleb(-exponent)
    sign = "-" if exponent < 0 else "+" if parts[at].text[1] == "+" else ""
    digits = str(abs(exponent)) if exponent else ""
    return f"{_fixed(scaled, mantissa)}{parts[at].text[0]}{sign}{_whole(digits, power, grouped=False)}"


def _fraction(number: Decimal, tokens: Sequence[_Token]) -> str:
    """Return a number in the form ``1 1/4``: its whole part, if it has a placeholder, and the nearest fraction."""
    before, over, under, after = _around_slash(tokens)
    wholes = [at for at, each in enumerate(before) if each.kind == "digit"]
    whole = int(number) if wholes else 0
    above, below = _nearest(Fraction(number) - whole, under)
    if wholes and above == below:
        whole, above = whole + 1, 0
    fraction = f"{above:0{over.count('0')}d}/{below:0{len(under) if under.strip('0') == '' else 0}d}"
    if not wholes:
        return f"{_literals(before)}{fraction}{_literals(after)}".strip()
    zeros = sum(before[at].text == "0" for at in wholes)
    digits = f"{whole:0{zeros}d}" if whole or zeros or not above else ""
    between = _literals(before[wholes[-1] + 1 :]) if digits else ""
    return f"{_literals(before[: wholes[0]])}{digits}{between + fraction if above else ''}{_literals(after)}".strip()


_Tokens = Sequence[_Token]


def _around_slash(tokens: _Tokens) -> tuple[_Tokens, str, str, _Tokens]:
    slash = next(at for at, each in enumerate(tokens) if each.kind == "slash")
    first, last = slash, slash + 1
    while first and tokens[first - 1].kind == "digit":
        first -= 1
    while last < len(tokens) and (tokens[last].kind == "digit" or tokens[last].text.isdigit()):
        last += 1
    over, under = ("".join(each.text for each in part) for part in (tokens[first:slash], tokens[slash + 1 : last]))
    before, after = tokens[:first], tokens[last:]
    others = {each.kind for each in after} | {each.kind for each in before if each.kind != "digit"}
    if not over or not under or not others <= {"literal", "foreign"}:
        raise _NotRenderedError
    return before, over, under, after


def _nearest(rest: Fraction, under: str) -> tuple[int, int]:
    """Return the nearest numerator and denominator; ``under`` is a denominator, such as ``16``, or placeholders."""
    if under[0] in "#?0":
        found = rest.limit_denominator(10 ** len(under) - 1)
        return found.numerator, found.denominator
    return int(rest * int(under) + Fraction(1, 2)), int(under)


def _literals(tokens: _Tokens) -> str:
    return "".join(each.text for each in tokens)


# -- dates, times and durations -----------------------------------------------------------------------------------


def _moment(value: Cell, tokens: Sequence[_Token]) -> str:
    if not isinstance(value, dt.date | dt.time | dt.timedelta):
        raise _NotRenderedError
    kinds = {token.text[0].lower() if token.kind == "date" else token.kind for token in tokens}
    names = any(token.kind == "date" and token.text[0] in "mMdD" and len(token.text) > 2 for token in tokens)
    if names and "foreign" in kinds:
        raise _NotRenderedError
    minutes = _minutes(tokens)
    has_date = bool(kinds & {"y", "d"}) or any(
        token.kind == "date" and token.text[0] in "mM" and at not in minutes for at, token in enumerate(tokens)
    )
    at = _parts(value, has_date=has_date, elapsed="elapsed" in kinds)
    twelve = "half" in kinds
    return "".join(_piece(token, at, is_minute=number in minutes, twelve=twelve) for number, token in enumerate(tokens))


@frozen(kw_only=True)
class _Moment:
    """A point in time, and for elapsed-time formats the duration since day zero."""

    clock: dt.datetime
    duration: dt.timedelta


_DAY_ZERO = dt.datetime(1899, 12, 30)


def _parts(value: dt.date | dt.time | dt.timedelta, *, has_date: bool, elapsed: bool) -> _Moment:
    if isinstance(value, dt.timedelta):
        if has_date or value < dt.timedelta(0):
            raise _NotRenderedError
        return _Moment(clock=_DAY_ZERO + value, duration=value)
    if isinstance(value, dt.time):
        if has_date:
            raise _NotRenderedError
        value = dt.datetime.combine(_DAY_ZERO, value)
    elif not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time())
    return _Moment(clock=value, duration=value - _DAY_ZERO if elapsed else dt.timedelta(0))


def _minutes(tokens: Sequence[_Token]) -> frozenset[int]:
    """Return the positions of each ``m`` or ``mm`` that means minutes: it follows hours or precedes seconds."""
    units = [(at, token) for at, token in enumerate(tokens) if token.kind in ("date", "elapsed")]
    found = set()
    for number, (at, token) in enumerate(units):
        if token.kind == "date" and token.text.lower() in ("m", "mm"):
            before = units[number - 1][1].text[0].lower() if number else ""
            after = units[number + 1][1].text[0].lower() if number + 1 < len(units) else ""
            if before == "h" or after == "s":
                found.add(at)
    return frozenset(found)


def _piece(token: _Token, at: _Moment, *, is_minute: bool, twelve: bool) -> str:
    clock, count = at.clock, len(token.text)
    if token.kind == "elapsed":
        seconds = at.duration // dt.timedelta(seconds=1)
        unit = {"h": 3600, "m": 60, "s": 1}[token.text[0].lower()]
        return f"{seconds // unit:0{count}d}"
    if token.kind == "half":
        word = "AM" if clock.hour < 12 else "PM"
        return word if count > 3 else word[0]
    if token.kind == "fraction":
        return "." + f"{clock.microsecond:06d}"[: count - 1].ljust(count - 1, "0")
    if token.kind != "date":
        return "" if token.kind == "foreign" else token.text
    if is_minute:
        return f"{clock.minute:0{count}d}"
    return _date_piece(token.text.lower(), clock, twelve=twelve)


def _date_piece(letters: str, clock: dt.datetime, *, twelve: bool) -> str:
    count = len(letters)
    if letters[0] == "y":
        return f"{clock.year:04d}" if count > 2 else f"{clock.year % 100:02d}"
    if letters[0] == "h":
        return f"{clock.hour % 12 or 12 if twelve else clock.hour:0{min(count, 2)}d}"
    if letters[0] == "s":
        return f"{clock.second:0{min(count, 2)}d}"
    name = _MONTHS[clock.month - 1] if letters[0] == "m" else _DAYS[clock.weekday()]
    if count > 2:
        return name[:1] if count == 5 else name if count > 3 else name[:3]
    return f"{clock.month if letters[0] == 'm' else clock.day:0{count}d}"
