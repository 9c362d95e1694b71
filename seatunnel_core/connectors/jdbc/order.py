"""In which order rows are cut by a column: borders are looked for in the order in which they are compared later.

Where the order of a column's own values is not the one in which it is compared with a written value, or cannot be
written, rows are cut by an expression whose order can be trusted. It costs the help of an index, and no row.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from attrs import field, frozen

from seatunnel_core.errors import StoredValueError

_NUMBER = re.compile(r"-?\d+(\.\d*)?([eE][+-]?\d+)?")
_HEX = re.compile(r"([0-9A-Fa-f]{2})*")


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def number(text: str) -> str:
    if not _NUMBER.fullmatch(text):
        raise StoredValueError(f"{ascii(text)[:60]} is no number")
    return text


def hexadecimal(text: str) -> str:
    if not _HEX.fullmatch(text):
        raise StoredValueError(f"{ascii(text)[:60]} is not hexadecimal")
    return f"x'{text}'"


@frozen(kw_only=True)
class Order:
    """Of an expression for a column, whose quoted name is ``{}`` in all of these."""

    by: str = "{}"
    """What is compared."""

    shown: str
    """A border as a text."""

    literal: Callable[[str], str] = field(default=quoted, repr=False)
    """Such a text as it is written behind a comparison."""

    among: str = ""
    """Which values may be borders; ``""`` for all but null. The others are in one of the outer splits."""

    ranges: bool = False
    """Whether borders may be computed, where the type of the values lets that be."""

    key: Callable[[str], Any] | None = field(default=None, repr=False)
    """The same order outside of the database, where there is one."""

    said: str = ""
    """In which order that is, where it is not the column's own and no index helps."""

    def rising(self, borders: list[str]) -> list[str]:
        """Without those that are not larger than the ones before them."""
        if self.key is None:
            return borders
        kept: list[str] = []
        for border in borders:
            if not kept or self.key(border) > self.key(kept[-1]):
                kept.append(border)
        return kept


OWN = ""
"""The name of a column's own order, with its borders between quotes."""

NUMBERS = Order(shown="{}", literal=number, key=Decimal, ranges=True)
