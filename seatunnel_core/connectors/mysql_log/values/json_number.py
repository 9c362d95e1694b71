"""Formatting of doubles in the style of MySQL's JSON documents."""

_MOST_POINT = 15
"""Maximum number of digits before the decimal point, and of zeros after it, in numbers without an exponent."""


def double_text(value: float, whole_end: str = ".0") -> str:
    """Return the shortest string that is parsed as the same double: ``1.5``, ``1.0``, ``1e100``, ``1.5e-20``."""
    sign = "-" if str(value).startswith("-") else ""
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, part = mantissa.partition(".")
    digits = (whole + part).lstrip("0")
    leading = len(whole + part) - len(digits)
    digits = digits.rstrip("0")
    if not digits:
        return f"{sign}0{whole_end}"
    point = len(whole) - leading + int(exponent or 0)
    if point <= -_MOST_POINT or (point > _MOST_POINT and len(digits) <= point):
        shown = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
        return f"{sign}{shown}e{point - 1}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if len(digits) <= point:
        return f"{sign}{digits}{'0' * (point - len(digits))}{whole_end}"
    return f"{sign}{digits[:point]}.{digits[point:]}"
