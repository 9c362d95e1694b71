"""Type codes of columns in the log."""

DECIMAL, TINY, SHORT, LONG, FLOAT, DOUBLE, TIMESTAMP, LONGLONG, INT24 = 0, 1, 2, 3, 4, 5, 7, 8, 9
DATE, TIME, DATETIME, YEAR, NEWDATE, VARCHAR, BIT, TIMESTAMP2, DATETIME2, TIME2 = 10, 11, 12, 13, 14, 15, 16, 17, 18, 19
BLOB_COMPRESSED, VARCHAR_COMPRESSED = 140, 141
JSON, NEWDECIMAL, ENUM, SET, BLOB, STRING, GEOMETRY = 245, 246, 247, 248, 252, 254, 255

META_BYTES = {
    **dict.fromkeys((TINY, SHORT, LONG, LONGLONG, INT24, TIMESTAMP, DATE, TIME, DATETIME, YEAR, NEWDATE), 0),
    **dict.fromkeys((FLOAT, DOUBLE, TIMESTAMP2, DATETIME2, TIME2, JSON, BLOB, GEOMETRY, BLOB_COMPRESSED), 1),
    **dict.fromkeys((VARCHAR, BIT, NEWDECIMAL, STRING, VARCHAR_COMPRESSED), 2),
}
"""Number of metadata bytes of each column type in a table map. Other types are not supported."""

INTEGERS = {TINY: 1, SHORT: 2, INT24: 3, LONG: 4, LONGLONG: 8}
"""Sizes of integers, in bytes."""

SIGNED = (TINY, SHORT, INT24, LONG, LONGLONG, NEWDECIMAL, FLOAT, DOUBLE)
"""Types that have a bit in the signedness metadata."""

TEXTS = (STRING, VARCHAR, BLOB, BLOB_COMPRESSED, VARCHAR_COMPRESSED)
"""Types that have a collation in the string metadata."""

DECIMAL_DIGIT_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
"""Bytes needed for a group of decimal digits, indexed by the number of digits (0 to 9)."""


def decimal_bytes(precision: int, scale: int) -> int:
    """Return the size of a decimal in a row, in bytes."""
    whole, part = divmod(precision - scale, 9), divmod(scale, 9)
    return 4 * (whole[0] + part[0]) + DECIMAL_DIGIT_BYTES[whole[1]] + DECIMAL_DIGIT_BYTES[part[1]]


def fraction_bytes(digits: int) -> int:
    """Return the size of the fractional part of a time, in bytes."""
    return (digits + 1) // 2
