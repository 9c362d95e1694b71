"""Base classes of remote file systems, which are listed by folder and read in byte ranges. Their paths are URLs."""

import errno
import io
import os
import shutil
import tempfile
import weakref
from abc import abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from typing import BinaryIO, cast

import pyarrow as pa

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connectors.filesystems.filesystem import FileSystem, FileVersion, OpenFile, Receipt, StagedOutput
from seatunnel_core.connectors.filesystems.pattern import has_wildcards

AHEAD_BYTES = 8 << 20
"""Number of bytes requested at a time when a file is read sequentially."""


class RemoteFileSystem(FileSystem):
    """A file system in which all paths start with the address of a server."""

    schemes: tuple[str, ...] = ()
    """Alternative prefixes of ``top``, such as ``s3a://bucket``."""

    def named(self, path: str) -> str:
        written = path.strip()
        if not written:
            raise UsageError(f"option 'path': expected a path, found {path!r}; write / for all of {self.top}")
        for beginning in (self.top, *self.schemes):
            if written == beginning or written.startswith(f"{beginning}/"):
                written = written[len(beginning) :]
                break
        if "://" in written:
            raise UsageError(f"option 'path': {path!r} is not a path of {self.top}; start it with /, without a host")
        names = [name for name in written.split("/") if name]
        if {".", ".."}.intersection(names):
            raise UsageError(f"option 'path': {path!r} contains . or ..; write the path without them")
        slash = "/" if written.endswith("/") and has_wildcards(written) else ""
        return "/".join((self.top, *names)) + slash if names else f"{self.top}/"


class RemoteOpenFile(OpenFile):
    """A remote file that is read in ranges, with read-ahead for sequential reads."""

    def __init__(self, version: FileVersion) -> None:
        self.version = version
        self._held_from = 0
        self._held = b""
        self._copy: BinaryIO | None = None

    @abstractmethod
    def fetch(self, start: int, end: int) -> bytes:
        """Return all bytes of a range within the file; raise ``SourceChangedError`` if it is not the listed version."""

    def read_range(self, start: int, end: int) -> bytes:
        end = min(end, self.version.size)
        if start >= end:
            return b""
        held_to = self._held_from + len(self._held)
        if not self._held or not self._held_from <= start <= held_to:
            self._hold(start, end)
        elif end > held_to:
            before = self._held[start - self._held_from :]
            self._hold(held_to, min(max(end, held_to + AHEAD_BYTES), self.version.size))
            return before + self._held[: end - held_to]
        return self._held[start - self._held_from : end - self._held_from]

    def _hold(self, start: int, end: int) -> None:
        self._held, self._held_from = self.fetch(start, end), start
        if len(self._held) != end - start:
            raise self.changed(f"received only {len(self._held)} of {end - start} bytes from byte {start}")

    def stream(self, start: int = 0) -> pa.NativeFile:
        found = pa.PythonFile(_Ranges(self), mode="r")
        found.seek(start)
        return found

    def python_file(self) -> BinaryIO:
        return cast(BinaryIO, io.BufferedReader(_Ranges(self), 64 << 10))

    def descriptor(self) -> int:
        """Copy the file to a temporary file on this machine, and return that file's descriptor."""
        if self._copy is None:
            self._copy = cast(BinaryIO, tempfile.TemporaryFile())  # noqa: SIM115  # closed with the file
            with self.python_file() as content:
                shutil.copyfileobj(content, self._copy, 1 << 20)
            self._copy.flush()
        return self._copy.fileno()

    def close(self) -> None:
        self._held = b""
        if self._copy is not None:
            self._copy.close()

    def require_same(self, now: FileVersion | None) -> None:
        """Raise ``SourceChangedError`` if ``now`` is not the listed version."""
        if now is None:
            raise self.changed("it no longer exists")
        if not self.is_same(now):
            raise self.changed(f"it was modified ({self.version.size} bytes when listed, {now.size} now)")

    def is_same(self, now: FileVersion) -> bool:
        """Return True if the file still has the listed content."""
        return now == self.version


class CopiedOutput(StagedOutput):
    """A staged file that is collected on the task's machine, and sent when it is complete."""

    def __init__(self, send: Callable[[BinaryIO, int], Receipt]) -> None:
        """Create an output. ``send`` gets the file, positioned at its beginning, and its size in bytes."""
        self._send = send
        opened = ExitStack()
        weakref.finalize(self, opened.close)  # Also closes an abandoned output; registered first.
        self._copy = opened.enter_context(cast(BinaryIO, tempfile.TemporaryFile()))  # noqa: SIM115
        self.stream = pa.OSFile(f"/dev/fd/{self._copy.fileno()}", "wb")

    def finish(self) -> Receipt:
        with self._copy:
            self._copy.seek(0)
            return self._send(self._copy, os.fstat(self._copy.fileno()).st_size)


class _Ranges(io.RawIOBase):
    """A raw file object for the readers of Python and Arrow; closing it leaves the underlying file open."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        before = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._file.version.size}[whence]
        if before + offset < 0:
            raise OSError(errno.EINVAL, "a negative position")
        self._place = before + offset
        return self._place

    def read(self, size: int | None = -1, /) -> bytes:
        end = self._file.version.size if size is None or size < 0 else self._place + size
        found = self._file.read_range(self._place, end)
        self._place += len(found)
        return found

    def readinto(self, buffer: object, /) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        found = self.read(len(view))
        view[: len(found)] = found
        return len(found)
