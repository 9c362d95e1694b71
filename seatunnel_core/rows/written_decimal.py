"""JSON numbers that keep their notation: ``1e2`` in a string column stays ``1e2`` and does not become ``1E+2``."""

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

_NEGATIVE_ZERO = re.compile(r"-0(?![.\deE])")
"""Pattern of the integer ``-0``. A match inside a string is harmless but costs time."""


class WrittenDecimal(Decimal):
    """A number with a decimal point or an exponent that keeps its notation. Arithmetic returns plain ``Decimal``s."""

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
    """The integer ``-0``: zero that keeps its sign."""

    def __new__(cls) -> "NegativeZero":
        return super().__new__(cls, 0)

    def __str__(self) -> str:
        return "-0"

    def __reduce__(self) -> tuple[Any, ...]:
        return NegativeZero, ()


def decoders(**options: Any) -> Callable[[str], json.JSONDecoder]:
    """Return a function that selects one of two decoders for each string. Both have the same options.

    Only the decoder for strings with ``-0`` checks each integer, because that takes twice as long.
    """
    usual = json.JSONDecoder(**options)
    careful = json.JSONDecoder(**options, parse_int=whole_number)
    return lambda text: careful if "-0" in text and _NEGATIVE_ZERO.search(text) else usual


def whole_number(text: str) -> int:
    """Return the integer in a string."""
    return NegativeZero() if text == "-0" else int(text)
