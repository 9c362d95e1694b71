"""Reader for the fields of an event: little-endian integers, packed integers, strings and bitmaps."""

import struct

from seatunnel_core.connectors.mysql_log.errors import MalformedLogError

DAMAGED = (IndexError, struct.error)
"""Exceptions raised by reads beyond the end of a buffer."""


class Fields:
    """Sequential reader of bytes. Reading beyond the end raises ``MalformedLogError``."""

    def __init__(self, data: bytes, what: str) -> None:
        self._data, self._at, self._what = data, 0, what

    @property
    def left(self) -> int:
        """Number of unread bytes."""
        return len(self._data) - self._at

    def take(self, count: int) -> bytes:
        """Return the next ``count`` bytes."""
        end = self._at + count
        if end > len(self._data):
            raise MalformedLogError(
                f"{self._what} ends early: expected {count} bytes at byte {self._at}, found {self.left}"
            )
        found = self._data[self._at : end]
        self._at = end
        return found

    def rest(self) -> bytes:
        """Return all unread bytes."""
        return self.take(self.left)

    def integer(self, size: int) -> int:
        """Return an unsigned little-endian integer of ``size`` bytes."""
        return int.from_bytes(self.take(size), "little")

    def packed(self) -> int:
        """Return a packed integer of one to nine bytes. The first byte determines the size."""
        first = self.integer(1)
        if first < 251:
            return first
        if first in (251, 255):
            raise MalformedLogError(f"{self._what}: expected a packed integer, found the byte {first}")
        return self.integer({252: 2, 253: 3, 254: 8}[first])

    def sized(self, size_bytes: int = 1) -> bytes:
        """Return a byte string that is preceded by its length, an integer of ``size_bytes`` bytes."""
        return self.take(self.integer(size_bytes))

    def packed_bytes(self) -> bytes:
        """Return a byte string that is preceded by its length, a packed integer."""
        return self.take(self.packed())

    def until_nul(self) -> bytes:
        """Return the bytes before the next NUL, and skip the NUL."""
        end = self._data.find(b"\0", self._at)
        if end < 0:
            raise MalformedLogError(f"{self._what} contains a string without a terminating NUL")
        found = self.take(end - self._at)
        self.take(1)
        return found


def packed_at(data: bytes, at: int) -> tuple[int, int]:
    """Return the packed integer at an offset of a buffer, and the offset after it."""
    first = data[at]
    if first < 251:
        return first, at + 1
    if first == 252:
        return data[at + 1] | data[at + 2] << 8, at + 3
    if first == 253:
        return data[at + 1] | data[at + 2] << 8 | data[at + 3] << 16, at + 4
    if first == 254:
        return int.from_bytes(data[at + 1 : at + 9], "little"), at + 9
    raise MalformedLogError(f"expected a packed integer, found the byte {first}")
