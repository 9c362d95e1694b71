"""Positions in PostgreSQL's write-ahead log."""

import re

from attrs import field, frozen

_WRITTEN = re.compile(r"([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})")


@frozen(order=True, repr=False)
class Lsn:
    """A log sequence number (LSN): a position in the log."""

    value: int = field()
    """Offset in the log, in bytes. No record has the position 0."""

    @value.validator
    def _is_64_bits(self, attribute: object, value: int) -> None:
        if not 0 <= value < 1 << 64:
            raise ValueError(f"{value} is not a position in a log: positions have at most 64 bits")

    @classmethod
    def parse(cls, written: str) -> "Lsn":
        """Parse a position in PostgreSQL's notation, such as ``16/B374D848``.

        Raises:
            ValueError: The string has a different format.
        """
        found = _WRITTEN.fullmatch(written)
        if found is None:
            raise ValueError(
                f"{written!r} is not a position in a log; expected two hexadecimal numbers, such as 16/B374D848"
            )
        return cls(int(found[1], 16) << 32 | int(found[2], 16))

    def __str__(self) -> str:
        return f"{self.value >> 32:X}/{self.value & 0xFFFFFFFF:X}"

    __repr__ = __str__

    @property
    def padded(self) -> str:
        """The position with leading zeros. These strings sort in log order."""
        return f"{self.value >> 32:08X}/{self.value & 0xFFFFFFFF:08X}"


NOWHERE = Lsn(0)
"""Position before all records."""
