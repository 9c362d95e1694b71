"""Numbers of JSON that know how they are written: ``1e2`` in a column of texts is ``1e2``, and not ``1E+2``."""

from decimal import Decimal
from typing import Any


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
