"""Orders in which the rows of a table are divided into splits.

The bounds of splits are found in the order in which a split's SELECT later compares them. If the values of a column
sort in another order than they compare with a literal, or cannot be written as literals, rows are divided by an
expression whose order is reliable. Such a split cannot use an index, but no row is lost.
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
    """Return a number as it is written, which is also its SQL literal.

    Raises:
        StoredValueError: It is not a number.
    """
    if not _NUMBER.fullmatch(text):
        raise StoredValueError(f"{ascii(text)[:60]} is not a number")
    return text


def hexadecimal(text: str) -> str:
    """Return the SQL literal of bytes from their hexadecimal digits.

    Raises:
        StoredValueError: The string has other characters, or an odd number of digits.
    """
    if not _HEX.fullmatch(text):
        raise StoredValueError(f"{ascii(text)[:60]} is not hexadecimal")
    return f"x'{text}'"


@frozen(kw_only=True)
class Order:
    """Order of an expression of a column; in each SQL field ``{}`` is replaced by the column's quoted name."""

    by: str = "{}"
    """Expression that is compared."""

    shown: str
    """Expression that returns a bound as a string."""

    literal: Callable[[str], str] = field(default=quoted, repr=False)
    """Returns the SQL literal of such a string."""

    among: str = ""
    """Condition on values that may be bounds; ``""`` for all but null. Others are in the first or last split."""

    ranges: bool = False
    """True if bounds may be interpolated between the smallest and the largest value, if the type allows it."""

    key: Callable[[str], Any] | None = field(default=None, repr=False)
    """Sort key for bounds that has the same order in Python, if there is one."""

    description: str = ""
    """Description of the order for users, if it is not the column's own and no index supports it; else ``""``."""

    def rising(self, borders: list[str]) -> list[str]:
        """Return the bounds that are larger than their predecessor."""
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
