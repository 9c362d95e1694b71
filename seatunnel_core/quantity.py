"""Formatting of numbers for users."""


def count(number: int) -> str:
    """Return a number with thousands separators: ``336,776``."""
    return f"{number:,}"


def size(size_bytes: int) -> str:
    """Return a number of bytes in decimal units with one decimal place: ``31.1 MB``."""
    if size_bytes < 1000:
        return f"{size_bytes} B"
    value = float(size_bytes)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if value < 999.95:
            return f"{value:.1f} {unit}"
    return f"{value / 1000:.1f} TB"


def duration(seconds: float) -> str:
    """Return a duration in its two largest units: ``0.8 s``, ``2 min 5 s``, ``3 h 12 min``."""
    seconds = max(0.0, seconds)
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def rate(per_second: float) -> str:
    """Return a rate in rows per second: ``22,451 rows/s``."""
    return f"{per_second:,.0f} rows/s"


def pick(number: int, noun: str) -> str:
    """Return a number with its noun in the singular or plural: ``1 pipeline``, ``5 pipelines``."""
    return f"{count(number)} {noun}" if number == 1 else f"{count(number)} {noun}s"
