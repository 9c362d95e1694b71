"""Formatting and parsing with Java's date and time patterns (``yyyy-MM-dd HH:mm:ss``), in English."""

import calendar
import datetime as dt
import re
from collections.abc import Callable, Mapping
from functools import cache

from attrs import field, frozen

DATE_LETTERS, TIME_LETTERS = frozenset("yuMLdDEQq"), frozenset("HhKkmsSan")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@frozen(kw_only=True)
class Pattern:
    """A parsed pattern."""

    text: str
    parts: tuple[tuple[str, int], ...] = field(repr=False)
    """Pairs of a letter and its number of repetitions, or of a literal string and 0."""

    @property
    def has_date(self) -> bool:
        """True if the pattern contains a date letter."""
        return any(letter in DATE_LETTERS for letter, count in self.parts if count)

    @property
    def has_time(self) -> bool:
        """True if the pattern contains a time letter."""
        return any(letter in TIME_LETTERS for letter, count in self.parts if count)

    def write(self, moment: dt.datetime) -> str:
        """Return a timestamp as a string."""
        return "".join(_written(moment, letter, count) if count else letter for letter, count in self.parts)

    def read(self, text: str, *, existing: bool = False) -> dt.datetime:
        """Parse a timestamp; parts missing in the pattern are taken from 1970-01-01 00:00.

        As in Java, the 30th and 31st of a shorter month become its last day, unless ``existing`` is True.

        Raises:
            ValueError: The string does not match the pattern, or its day does not exist.
        """
        found = _expression(self).fullmatch(text)
        if found is None:
            raise ValueError(f"the value does not match the pattern {self.text}")
        parts = {name: value for name, value in found.groupdict().items() if value is not None}
        return _moment(parts, existing=existing)


@cache
def pattern(text: str) -> Pattern:
    """Parse a pattern; raise ``ValueError`` if it has an unknown letter."""
    parts: list[tuple[str, int]] = []
    for found in re.finditer(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^'A-Za-z]+|'", text):
        if found[2]:
            if found[2] not in DATE_LETTERS | TIME_LETTERS:
                raise ValueError(f"the pattern {text} contains the unknown letter {found[2]}")
            parts.append((found[2], len(found[0])))
        elif found[0] == "'":
            raise ValueError(f"the pattern {text} has an unclosed quote")
        else:
            parts.append((found[0] if found[1] is None else found[1].replace("''", "'") or "'", 0))
    return Pattern(text=text, parts=tuple(parts))


_NUMBERS: Mapping[str, Callable[[dt.datetime], int]] = {
    "M": lambda at: at.month,
    "L": lambda at: at.month,
    "d": lambda at: at.day,
    "D": lambda at: at.timetuple().tm_yday,
    "H": lambda at: at.hour,
    "k": lambda at: at.hour or 24,
    "K": lambda at: at.hour % 12,
    "h": lambda at: at.hour % 12 or 12,
    "m": lambda at: at.minute,
    "s": lambda at: at.second,
    "n": lambda at: at.microsecond * 1000,
    "Q": lambda at: (at.month + 2) // 3,
    "q": lambda at: (at.month + 2) // 3,
}


def _written(moment: dt.datetime, letter: str, count: int) -> str:
    if letter in "yu":
        return f"{moment.year % 100:02d}" if count == 2 else f"{moment.year:0{count}d}"
    if letter == "S":
        return f"{moment.microsecond:06d}".ljust(count, "0")[:count]
    if letter == "a":
        return "AM" if moment.hour < 12 else "PM"
    if letter == "E":
        name = DAYS[moment.weekday()]
        return name if count == 4 else name[:3]
    if letter in "ML" and count > 2:
        name = MONTHS[moment.month - 1]
        return name if count == 4 else name[:3]
    return f"{_NUMBERS[letter](moment):0{count}d}"


@cache
def _expression(whole: Pattern) -> re.Pattern[str]:
    written, seen = "", set()
    for at, (letter, count) in enumerate(whole.parts):
        if not count:
            written += re.escape(letter)
            continue
        follows = at + 1 < len(whole.parts) and whole.parts[at + 1][1] > 0
        name = "u" if letter == "y" else "M" if letter == "L" else letter
        digits = _read(letter, count, fixed=follows)
        written += digits if name in seen else f"(?P<{name}>{digits})"
        seen.add(name)
    return re.compile(written, re.ASCII)


def _read(letter: str, count: int, *, fixed: bool) -> str:
    if letter in "yu":
        return r"\d{2}" if count == 2 else r"\d{4}" if fixed or count == 4 else rf"\d{{{count},}}"
    if letter == "S":
        return rf"\d{{{count}}}"
    if letter == "a":
        return "AM|PM"
    if letter == "E":
        return "|".join(DAYS if count == 4 else [name[:3] for name in DAYS])
    if letter in "ML" and count > 2:
        return "|".join(MONTHS if count == 4 else [name[:3] for name in MONTHS])
    return rf"\d{{{count}}}" if count > 1 or fixed else r"\d{1,9}" if letter in "Dn" else r"\d{1,2}"


def _moment(found: Mapping[str, str], *, existing: bool) -> dt.datetime:
    year = int(found.get("u", 1970))
    year += 2000 if len(found.get("u", "1970")) == 2 else 0
    day = _number(found, "d", 1, 31, 1)
    month = _month(found.get("M", "1"))
    date = dt.date(year, month, day if existing else min(day, calendar.monthrange(year, month)[1]))
    if "D" in found:
        date = dt.date(year, 1, 1) + dt.timedelta(days=_number(found, "D", 1, 365 + calendar.isleap(year), 1) - 1)
    micros = int(found["S"][:6].ljust(6, "0")) if "S" in found else int(found.get("n", 0)) // 1000
    minute, second = _number(found, "m", 0, 59, 0), _number(found, "s", 0, 59, 0)
    return dt.datetime(date.year, date.month, date.day, _hour(found), minute, second, micros)


def _hour(found: Mapping[str, str]) -> int:
    if "H" in found or "k" in found:
        return _number(found, "H", 0, 23, 0) if "H" in found else _number(found, "k", 1, 24, 24) % 24
    half = _number(found, "h", 1, 12, 12) % 12 if "h" in found else _number(found, "K", 0, 11, 0)
    return half + (12 if found.get("a") == "PM" else 0)


def _month(text: str) -> int:
    if not text.isdigit():
        return next(number for number, name in enumerate(MONTHS, 1) if name.startswith(text))
    return _number({"M": text}, "M", 1, 12, 1)


def _number(found: Mapping[str, str], name: str, least: int, most: int, default: int) -> int:
    number = int(found.get(name, default))
    if not least <= number <= most:
        raise ValueError(f"{number} is not between {least} and {most}")
    return number
