"""Sort orders for dividing the rows of a table into splits.

Bounds are determined in the order in which a split's SELECT compares them. If values sort differently from how they
compare with a literal, or have no literal, rows are divided by an expression with a reliable order. The SELECT of such
a split cannot use an index, but no row is lost.
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
    """Return a number unchanged, because it is its own SQL literal; raise ``StoredValueError`` for any other string."""
    if not _NUMBER.fullmatch(text):
        raise StoredValueError(f"{ascii(text)[:60]} is not a number")
    return text


def hexadecimal(text: str) -> str:
    """Return the SQL literal of bytes in hexadecimal; raise ``StoredValueError`` if the string is not hexadecimal."""
    if not _HEX.fullmatch(text):
        raise StoredValueError(f"{ascii(text)[:60]} is not hexadecimal")
    return f"x'{text}'"


@frozen(kw_only=True)
class Order:
    """Sort order of an expression over a column. In SQL fields, ``{}`` is replaced by the column's quoted name."""

    by: str = "{}"
    """Expression that is compared with the bounds."""

    shown: str
    """Expression that returns a bound as a string."""

    literal: Callable[[str], str] = field(default=quoted, repr=False)
    """Function that returns the SQL literal of a string from ``shown``."""

    among: str = ""
    """Condition for values that may be bounds; ``""`` if all values except null may be bounds. Rows with other values
    are in the first or last split.
    """

    ranges: bool = False
    """True if bounds may be interpolated between the smallest and the largest value."""

    key: Callable[[str], Any] | None = field(default=None, repr=False)
    """Sort key that orders bounds in Python as in the database; ``None`` if there is none."""

    description: str = ""
    """Description for users, if no index supports the sort order; ``""`` for the column's own order."""

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
"""Key of the order in which the database sorts the column itself; bounds are quoted literals."""

NUMBERS = Order(shown="{}", literal=number, key=Decimal, ranges=True)
