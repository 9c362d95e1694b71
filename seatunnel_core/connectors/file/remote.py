"""What file systems behind a network have in common: they are listed by folder and read in ranges of bytes.

Their paths are addresses, such as ``sftp://host/data/a.csv``, so that a message says where a file is.
"""

import errno
import io
import os
import re
import shutil
import tempfile
import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import BinaryIO, cast

import pyarrow as pa

from seatunnel_core.connectors.file.filesystem import FileSystem, FileVersion, OpenFile, Receipt, StagedOutput
from seatunnel_core.errors import SourceChangedError, SourceError, UsageError

AHEAD_BYTES = 8 << 20
"""So much is asked for at once when a file is read from one place on to the next."""

_MAGIC = re.compile(r"[*?\[]")


class RemoteFileSystem(FileSystem):
    """Finds files for patterns and folders by what the server lists."""

    schemes: tuple[str, ...] = ()
    """Other ways to write the beginning of ``top``, such as ``s3a://bucket``."""

    def named(self, path: str) -> str:
        written = path.strip()
        if not written:
            raise UsageError(f"option 'path': expected a path, found {path!r}; write / for all of {self.top}")
        for beginning in (self.top, *self.schemes):
            if written == beginning or written.startswith(f"{beginning}/"):
                written = written[len(beginning) :]
                break
        if "://" in written:
            raise UsageError(f"option 'path': {path!r} is not a path of {self.top}; write it from / on, without a host")
        names = [name for name in written.split("/") if name]
        if {".", ".."}.intersection(names):
            raise UsageError(f"option 'path': {path!r} has . or .. in it; write the path that is meant")
        return "/".join((self.top, *names)) if names else f"{self.top}/"

    # -- what a file system tells ---------------------------------------------------------------------------------

    @abstractmethod
    def version(self, path: str) -> FileVersion | None:
        """The file at a path, ``None`` where there is none. Raises ``OSError``."""

    @abstractmethod
    def versions(self, folder: str, *, recursive: bool) -> Iterator[FileVersion]:
        """All files in a folder, hidden ones too, in no order. Raises ``OSError``."""

    # -- listing --------------------------------------------------------------------------------------------------

    def walk(self, path: str, *, recursive: bool, may_be_empty: bool = False) -> Iterator[FileVersion]:
        try:
            yield from self._walk(path, recursive=recursive, may_be_empty=may_be_empty)
        except OSError as error:
            found = SourceError(f"{error.filename or path} cannot be listed: {error.strerror or error}")
            found.retryable = not isinstance(error, (FileNotFoundError, PermissionError))
            raise found from error

    def _walk(self, path: str, *, recursive: bool, may_be_empty: bool) -> Iterator[FileVersion]:
        exact = self.version(path)
        if exact is not None:
            yield exact
        elif self.is_folder(path):
            begin = len(path.rstrip("/")) + 1
            for found in self.versions(path, recursive=recursive):
                if not is_hidden(found.path[begin:]):
                    yield found
        elif not _MAGIC.search(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        else:
            matching = self._matching(path, recursive=recursive)
            first = next(matching, None)
            if first is None and not may_be_empty:
                raise SourceError(f"no file matches the pattern {path}")
            if first is not None:
                yield first
                yield from matching

    def _matching(self, pattern: str, *, recursive: bool) -> Iterator[FileVersion]:
        base = self._above_magic(pattern)
        if not self.is_folder(base):
            return
        begin = len(base.rstrip("/")) + 1
        names = pattern[begin:].split("/")
        expression = re.compile(f"(?s:{glob_expression(names)}(?:/(?P<below>.+))?)")
        # Not only where it is asked for: a pattern of one name may be that of a folder.
        for found in self.versions(base, recursive=True):
            match = expression.fullmatch(found.path[begin:])
            below = match["below"] or "" if match else ""
            if match and not is_hidden(below) and (recursive or "/" not in below):
                yield found

    def fixed_part(self, path: str) -> str:
        if _MAGIC.search(path) is None:
            return path if self.is_folder(path) else path.rpartition("/")[0]
        if self.is_folder(path):
            return path
        return self._above_magic(path) if self.version(path) is None else path.rpartition("/")[0]

    def _above_magic(self, pattern: str) -> str:
        match = _MAGIC.search(pattern, len(self.top))
        return pattern[: match.start()].rpartition("/")[0] if match else pattern


def is_hidden(path: str) -> bool:
    return any(name.startswith((".", "_")) for name in path.split("/"))


def glob_expression(names: list[str]) -> str:
    """The regular expression of a pattern's names: ``*`` takes no slash and no dot at the beginning of a name."""
    parts = [r"(?:(?!\.)[^/]+/)*" if name == "**" else _name_expression(name) + "/" for name in names]
    last = names[-1]
    parts[-1] = r"(?:(?!\.)[^/]+/)*(?!\.)[^/]+" if last == "**" else _name_expression(last)
    return "".join(parts)


def _name_expression(name: str) -> str:
    found = "" if name.startswith(".") else r"(?!\.)"
    for piece in re.findall(r"\[!?\]?[^\]]*\]|.", name, re.DOTALL):
        if piece == "*":
            found += "[^/]*"
        elif piece == "?":
            found += "[^/]"
        elif len(piece) > 1:
            inside = piece[1:-1].replace("\\", r"\\")
            found += f"[^/{inside[1:]}]" if inside.startswith("!") else f"[{inside}]"
        else:
            found += re.escape(piece)
    return found


class RemoteOpenFile(OpenFile):
    """Reads ranges, and ahead of who reads on from where he was."""

    def __init__(self, version: FileVersion) -> None:
        self.version = version
        self._held_from = 0
        self._held = b""
        self._copy: BinaryIO | None = None

    @abstractmethod
    def fetch(self, start: int, end: int) -> bytes:
        """All bytes of a range that lies within the file.

        Raises:
            SourceError: it cannot be read, ``retryable`` when trying again may help.
            SourceChangedError: it is not the version that was listed.
        """

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
            raise self.changed(f"only {len(self._held)} of {end - start} bytes came from byte {start} on")

    def stream(self, start: int = 0) -> pa.NativeFile:
        found = pa.PythonFile(_Ranges(self), mode="r")
        found.seek(start)
        return found

    def python_file(self) -> BinaryIO:
        return cast(BinaryIO, io.BufferedReader(_Ranges(self), 64 << 10))

    def descriptor(self) -> int:
        """The file is copied to this machine, as long as it is open."""
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

    def changed(self, how: str) -> SourceChangedError:
        return SourceChangedError(
            f"{self.version.path} changed after it was listed: {how}; start a new job to read it as it is now"
        )


class CopiedOutput(StagedOutput):
    """Gathered on the task's machine, and sent when it is complete."""

    def __init__(self, send: Callable[[BinaryIO, int], Receipt]) -> None:
        """``send`` gets the file, at its beginning, and its bytes."""
        self._send = send
        self._copy = cast(BinaryIO, tempfile.TemporaryFile())  # noqa: SIM115
        weakref.finalize(self, self._copy.close)  # also where it is given up
        self.stream = pa.OSFile(f"/dev/fd/{self._copy.fileno()}", "wb")

    def finish(self) -> Receipt:
        with self._copy:
            self._copy.seek(0)
            return self._send(self._copy, os.fstat(self._copy.fileno()).st_size)


class _Ranges(io.RawIOBase):
    """A file as Python's and Arrow's readers want it, which does not close the file behind it."""

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
            raise OSError(errno.EINVAL, "a place before the beginning")
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
