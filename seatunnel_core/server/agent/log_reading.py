"""Reads the log files of a node: by their names alone, and a piece at a time."""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from seatunnel_core import stored
from seatunnel_core.server.errors import RequestError
from seatunnel_core.stored_fields import Stored

PIECE_BYTES = 1 << 20
"""So much of a file is read at once, and no more of it is in memory."""

_NAME = re.compile(r"(?:job-([A-Za-z0-9._-]{1,128})|spark-\d{1,19}|seatunnel-engine-[a-z]{1,32})\.log(\.1)?", re.ASCII)


@frozen(kw_only=True)
class LogFile(Stored):
    """A log file of a node."""

    name: str
    size_bytes: int
    written_at: float
    """Seconds since 1970."""

    def __attrs_post_init__(self) -> None:
        require_log_name(self.name)


@frozen(kw_only=True)
class Piece:
    """A part of a log file."""

    content: bytes
    offset: int
    """Of its first byte."""

    size_bytes: int
    """Of the whole file, when it was read."""

    @property
    def end(self) -> int:
        """Return the offset behind its last byte."""
        return self.offset + len(self.content)

    def to_bytes(self) -> bytes:
        """Return the piece behind a line that describes it."""
        return b"%d %d\n%b" % (self.offset, self.size_bytes, self.content)

    @classmethod
    def from_bytes(cls, written: bytes) -> "Piece":
        """Return the piece that ``to_bytes`` wrote.

        Raises:
            ValueError: it is none.
        """
        line, _, content = written.partition(b"\n")
        offset, size = line.split()
        return cls(content=content, offset=int(offset), size_bytes=int(size))


def is_log_name(name: str) -> bool:
    """Return whether a file of this name is a log of a node."""
    return _NAME.fullmatch(name) is not None


def require_log_name(name: str) -> str:
    """Return the name of a log.

    Raises:
        RequestError: no log is called so.
    """
    if not is_log_name(name):
        raise RequestError(f"no log is called {name[:200]!a}", status=404)
    return name


def is_of_job(name: str, job_id: str) -> bool:
    """Return whether a log is one of a job."""
    found = _NAME.fullmatch(name)
    return found is not None and found[1] == job_id


def log_files(folder: Path) -> list[LogFile]:
    """Return the log files of a node by their names; what else lies in the folder is none of them. Blocks."""
    return sorted(_found(folder), key=lambda each: each.name)


def _found(folder: Path) -> Iterator[LogFile]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if is_log_name(entry.name) and entry.is_file(follow_symlinks=False):
                    found = entry.stat(follow_symlinks=False)
                    yield LogFile(name=entry.name, size_bytes=found.st_size, written_at=found.st_mtime)
    except OSError:  # there is none yet, or a file is gone meanwhile
        return


def read_piece(folder: Path, name: str, offset: int, length: int) -> Piece:
    """Return a part of a log file, at most ``PIECE_BYTES`` of it. Blocks.

    Args:
        folder: of the node's logs.
        name: of the file.
        offset: of its first byte; below 0: so many bytes before the end of the file.
        length: so many bytes at most.

    Raises:
        RequestError: there is no such log.
    """
    path = folder / require_log_name(name)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise RequestError(f"there is no log {name} here", status=404) from error
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise RequestError(f"there is no log {name} here", status=404)
        first = offset if offset >= 0 else max(0, found.st_size + offset)
        content = os.pread(descriptor, min(length, PIECE_BYTES), first)
        return Piece(content=content, offset=first, size_bytes=found.st_size)
    finally:
        os.close(descriptor)


def piece_wanted(block: Mapping[str, Any]) -> tuple[str, int, int]:
    """Return name, offset and length of a request for a piece.

    Raises:
        StoredValueError: it is none.
    """
    offset = stored.number(block, "offset", least=-stored.MOST)
    return stored.text(block, "name"), offset, stored.number(block, "length")
