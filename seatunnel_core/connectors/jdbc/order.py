"""Orders in which the rows of a table are divided into splits.

The bounds of splits are found in the order in which a split's SELECT later compares them. If the values of a column
sort differently from how they compare with a literal, or cannot be written as literals, rows are divided by an
expression with a reliable order. Such a split cannot use an index, but no row is lost.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from attrs import field, frozen

from seatunnel_core.connector_api.errors import StoredValueError

_NUMBER = re.compile(r"-?\d+(\.\d*)?([eE][+-]?\d+)?")
_HEX = re.compile(r"([0-9A-Fa-f]{2})*")


def quoted(text: str) -> str:
    """Return the SQL literal of a string."""
    return "'" + text.replace("'", "''") + "'"


def number(text: str) -> str:
    """Return a number unchanged, because its string is also its SQL literal.

    Raises:
        StoredValueError: The string is not a number.
    """
    if not _NUMBER.fullmatch(text):
        raise StoredValueError(f"{ascii(text)[:60]} is not a number")
    return text


def hexadecimal(text: str) -> str:
    """Return the SQL literal of bytes, given as hexadecimal digits.

    Raises:
        StoredValueError: The string has other characters, or an odd number of digits.
    """
    if not _HEX.fullmatch(text):
        raise StoredValueError(f"{ascii(text)[:60]} is not hexadecimal")
    return f"x'{text}'"


@frozen(kw_only=True)
class Order:
    """Order of an expression over a column. In SQL fields, ``{}`` is replaced by the column's quoted name."""

    by: str = "{}"
    """Expression that is compared."""

    shown: str
    """Expression that returns a bound as a string."""

    literal: Callable[[str], str] = field(default=quoted, repr=False)
    """Function that returns the SQL literal of such a string."""

    among: str = ""
    """Condition for values that may be bounds; ``""`` to exclude only null. Other values are in the first or last
    split."""

    ranges: bool = False
    """True if bounds may be interpolated between the smallest and the largest value, if the type supports this."""

    key: Callable[[str], Any] | None = field(default=None, repr=False)
    """Sort key that gives bounds the same order in Python; ``None`` if there is none."""

    description: str = ""
    """Description of the order for users if no index supports it; ``""`` if it is the column's own order."""

    def rising(self, borders: list[str]) -> list[str]:
        """Return the bounds that are larger than their predecessors."""
        if self.key is None:
            return borders
        kept: list[str] = []
        for border in borders:
            if not kept or self.key(border) > self.key(kept[-1]):
                kept.append(border)
        return kept


OWN = ""
"""Key of a column's own order, whose bounds are quoted literals."""

NUMBERS = Order(shown="{}", literal=number, key=Decimal, ranges=True)
