"""Numbers of JSON that know how they are written: ``1e2`` in a column of texts is ``1e2``, and not ``1E+2``."""

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

_NEGATIVE_ZERO = re.compile(r"-0(?![.\deE])")
"""A whole number ``-0``; also one within a text, which only takes longer."""


class WrittenDecimal(Decimal):
    """A number with a point or an exponent. Its text is the one that was read; results of arithmetic are decimals."""

    text: str

    def __new__(cls, text: str) -> "WrittenDecimal":
        made = super().__new__(cls, text)
        made.text = text
        return made

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[Any, ...]:
        return WrittenDecimal, (self.text,)


class NegativeZero(int):
    """The whole number ``-0``, which is 0 with a sign."""

    def __new__(cls) -> "NegativeZero":
        return super().__new__(cls, 0)

    def __str__(self) -> str:
        return "-0"

    def __reduce__(self) -> tuple[Any, ...]:
        return NegativeZero, ()


def decoders(**options: Any) -> Callable[[str], json.JSONDecoder]:
    """Return a function that chooses the decoder for a text: one of two with the same options.

    Only the one for texts with ``-0`` looks at each whole number, because that takes twice as long.
    """
    usual = json.JSONDecoder(**options)
    careful = json.JSONDecoder(**options, parse_int=whole_number)
    return lambda text: careful if "-0" in text and _NEGATIVE_ZERO.search(text) else usual


def whole_number(text: str) -> int:
    """Return the whole number of a text."""
    return NegativeZero() if text == "-0" else int(text)
