"""Read access to the log files of a node, by name and in pieces."""

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
"""Maximum number of bytes to read at once. It limits memory usage."""

_NAME = re.compile(r"(?:job-([A-Za-z0-9._-]{1,128})|spark-\d{1,19}|seatunnel-engine-[a-z]{1,32})\.log(\.1)?", re.ASCII)


@frozen(kw_only=True)
class LogFile(Stored):
    """A log file of a node."""

    name: str
    size_bytes: int
    written_at: float
    """Time of the last write, in seconds since 1970."""

    def __attrs_post_init__(self) -> None:
        require_log_name(self.name)


@frozen(kw_only=True)
class Piece:
    """A part of a log file."""

    content: bytes
    offset: int
    """Offset of the first byte."""

    size_bytes: int
    """Size of the whole file when it was read."""

    @property
    def end(self) -> int:
        """Offset of the byte after the last one."""
        return self.offset + len(self.content)

    def to_bytes(self) -> bytes:
        """Encode the piece, preceded by a line with its offset and the size of the file."""
        return b"%d %d\n%b" % (self.offset, self.size_bytes, self.content)

    @classmethod
    def from_bytes(cls, written: bytes) -> "Piece":
        """Decode the result of ``to_bytes``. Raise ValueError if it is invalid."""
        line, _, content = written.partition(b"\n")
        offset, size = line.split()
        return cls(content=content, offset=int(offset), size_bytes=int(size))


def is_log_name(name: str) -> bool:
    """Return True if a file with this name is a log file of a node."""
    return _NAME.fullmatch(name) is not None


def require_log_name(name: str) -> str:
    """Return the name if it is a valid log file name; otherwise raise ``RequestError``."""
    if not is_log_name(name):
        raise RequestError(f"no such log: {name[:200]!a}", status=404)
    return name


def is_of_job(name: str, job_id: str) -> bool:
    """Return True if a log belongs to a job."""
    found = _NAME.fullmatch(name)
    return found is not None and found[1] == job_id


def log_files(folder: Path) -> list[LogFile]:
    """Return the log files of a node, sorted by name, and ignore other files in the folder. Blocks."""
    return sorted(_found(folder), key=lambda each: each.name)


def _found(folder: Path) -> Iterator[LogFile]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if is_log_name(entry.name) and entry.is_file(follow_symlinks=False):
                    found = entry.stat(follow_symlinks=False)
                    yield LogFile(name=entry.name, size_bytes=found.st_size, written_at=found.st_mtime)
    except OSError:  # the folder does not exist yet, or a file was removed in the meantime
        return


def read_piece(folder: Path, name: str, offset: int, length: int) -> Piece:
    """Return up to ``PIECE_BYTES`` of a log file. A negative ``offset`` is relative to the end of the file. Blocks."""
    path = folder / require_log_name(name)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise RequestError(f"there is no log {name} on this node", status=404) from error
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise RequestError(f"there is no log {name} on this node", status=404)
        first = offset if offset >= 0 else max(0, found.st_size + offset)
        content = os.pread(descriptor, min(length, PIECE_BYTES), first)
        return Piece(content=content, offset=first, size_bytes=found.st_size)
    finally:
        os.close(descriptor)


def piece_wanted(block: Mapping[str, Any]) -> tuple[str, int, int]:
    """Return the name, offset and length in a request for a piece."""
    offset = stored.number(block, "offset", least=-stored.MOST)
    return stored.text(block, "name"), offset, stored.number(block, "length")
