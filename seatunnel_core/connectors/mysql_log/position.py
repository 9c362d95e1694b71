"""Positions in a log: a file and an offset."""

import re
from functools import total_ordering

from attrs import frozen

from seatunnel_core.connectors.mysql_log.errors import LogError

_NAME = re.compile(r"(.*)\.(\d+)", re.DOTALL)


@total_ordering
@frozen(order=False)
class LogPosition:
    """An offset in a log file of one server. Positions of different servers are not comparable."""

    file: str
    """Name of the file, such as ``binlog.000042``."""

    offset: int
    """Offset in the file, in bytes. The first event is at offset 4."""

    def __lt__(self, other: "LogPosition") -> bool:
        if self.file == other.file:  # Each transaction is compared several times, so this is to be quick.
            return self.offset < other.offset
        return (self._number(other), self.offset) < (other._number(self), other.offset)

    def __str__(self) -> str:
        return f"{self.file}:{self.offset}"

    @property
    def padded(self) -> str:
        """The position with leading zeros, which sorts as a string if all file names have the same length."""
        return f"{self.file}:{self.offset:012d}"

    def _number(self, other: "LogPosition") -> int:
        """Return the number in the file name. It may get more digits: ``binlog.1000000`` follows ``binlog.999999``."""
        mine, its = _NAME.fullmatch(self.file), _NAME.fullmatch(other.file)
        if mine is None or its is None or mine[1] != its[1]:
            raise LogError(f"the positions {self} and {other} belong to different logs and cannot be compared")
        return int(mine[2])


def position_of(text: str) -> LogPosition:
    """Parse the string form of a position.

    Raises:
        LogError: The string is not a position.
    """
    file, _, offset = text.rpartition(":")
    if not file or not offset.isdigit():
        raise LogError(f"{text!r} is not a position in a log; expected a file and an offset, such as binlog.000042:4")
    return LogPosition(file, int(offset))


_BACKWARDS = 1 << 24
"""Maximum number of bytes by which an offset may be below the expected one."""


def unwrapped(expected: int, logged: int) -> int:
    """Return the smallest offset that has the lower 32 bits ``logged`` and is not far below ``expected``.

    Files may be larger than 4 GiB, and a server may skip events. The offset may be slightly below the expected one,
    because an event that is not in the file, such as a heartbeat, has the offset of the last event but another size.
    """
    difference = (logged - expected + _BACKWARDS) & 0xFFFFFFFF
    return expected + difference - _BACKWARDS
