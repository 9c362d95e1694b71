"""The few things that the file connectors ask of a file system. Local files are the one implementation so far."""

import glob
import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import pyarrow as pa
from attrs import frozen

from seatunnel_core import stored
from seatunnel_core.errors import SourceChangedError, SourceError, UsageError


@frozen(kw_only=True)
class FileVersion:
    """A file as it was when it was listed."""

    path: str
    size: int
    """Bytes."""

    mtime_ns: int
    """When it was last changed: nanoseconds since 1970."""

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "FileVersion":
        """The version that the body of an item or a split carries.

        Raises:
            StoredValueError: it carries none.
        """
        return cls(
            path=stored.path(body, "path"),
            size=stored.number(body, "size"),
            mtime_ns=stored.number(body, "mtime_ns", least=-stored.MOST),
        )

    def body(self) -> dict[str, Any]:
        return {"path": self.path, "size": self.size, "mtime_ns": self.mtime_ns}


class OpenFile(ABC):
    """A file that is open for reading; a context manager."""

    version: FileVersion

    @abstractmethod
    def read_range(self, start: int, end: int) -> bytes:
        """The bytes from ``start`` up to ``end``, fewer only at the end of the file."""

    @abstractmethod
    def stream(self, start: int = 0) -> pa.NativeFile:
        """The bytes from ``start`` to the end, as an Arrow input stream."""

    @abstractmethod
    def python_file(self) -> BinaryIO:
        """The whole file as Python's libraries read it, from its beginning; a context manager."""

    @abstractmethod
    def descriptor(self) -> int:
        """The operating system's number for the file, for another process to read it."""

    @abstractmethod
    def check(self) -> None:
        """Raise ``SourceChangedError`` unless the file still is the version that was listed."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> "OpenFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class LocalOpenFile(OpenFile):
    def __init__(self, version: FileVersion) -> None:
        self.version = version
        try:
            # What is no file is refused below; to open a pipe would wait for its writer.
            self._descriptor = os.open(version.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise SourceError(f"{version.path} cannot be opened: {error.strerror}") from error
        try:
            self.check()
        except BaseException:
            self.close()
            raise

    def read_range(self, start: int, end: int) -> bytes:
        first = os.pread(self._descriptor, end - start, start)
        if len(first) == end - start or not first:
            return first
        parts = [first]  # one call reads at most 2 GiB
        position = start + len(first)
        while position < end and (part := os.pread(self._descriptor, end - position, position)):
            parts.append(part)
            position += len(part)
        return b"".join(parts)

    def stream(self, start: int = 0) -> pa.NativeFile:
        stream = pa.OSFile(os.fsencode(self.version.path), "rb")
        # The path was opened once more, and may be another file's by now.
        if not os.path.samestat(os.stat(self.version.path), os.fstat(self._descriptor)):
            raise self._changed("another file took its place")
        stream.seek(start)
        return stream

    def python_file(self) -> BinaryIO:
        # Opened once more, for a place of its own in the file.
        found = os.fdopen(os.open(f"/dev/fd/{self._descriptor}", os.O_RDONLY | os.O_CLOEXEC), "rb")
        found.seek(0)
        return found

    def descriptor(self) -> int:
        return self._descriptor

    def check(self) -> None:
        now, then = os.fstat(self._descriptor), self.version
        if not stat.S_ISREG(now.st_mode):
            raise self._changed("it is not a file any more")
        if (now.st_size, now.st_mtime_ns) != (then.size, then.mtime_ns):
            raise self._changed(f"it had {then.size} bytes and now has {now.st_size}, or was written again")

    def _changed(self, how: str) -> SourceChangedError:
        return SourceChangedError(
            f"{self.version.path} changed after it was listed: {how}; start a new job to read it as it is now"
        )

    def close(self) -> None:
        os.close(self._descriptor)


def local_path(path: str) -> str:
    """The path itself, without ``file://``."""
    for prefix in ("file://", "file:"):
        if path.startswith(prefix):
            return path[len(prefix) :]
    return path


def named_path(path: str) -> str:
    """The path of the option ``path``, without ``file://``.

    Raises:
        UsageError: it is empty, which the operating system would take for the current folder.
    """
    found = local_path(path)
    if not found.strip():
        raise UsageError(f"option 'path': expected a path, found {path!r}; write . for the current folder")
    return found


def absolute(path: str) -> str:
    """The path from the root of the file system.

    Raises:
        UsageError: it is a relative one, and the folder in which the engine was started is gone.
    """
    try:
        return os.path.abspath(path)
    except FileNotFoundError:
        raise UsageError(
            f"{path!r} is a path below the folder in which the engine was started, and that is gone; write one that "
            "begins with /"
        ) from None


def fixed_part(path: str) -> str:
    """The folder below which all that ``path`` names lies: itself, or what is above a file or a pattern."""
    if os.path.isdir(path):
        return path
    if os.path.lexists(path) or not glob.has_magic(path):
        return os.path.dirname(path)
    parts = path.split("/")
    magic = next(number for number, part in enumerate(parts) if glob.has_magic(part))
    return "/".join(parts[:magic]) or ("/" if path.startswith("/") else ".")


def walk(path: str, *, recursive: bool, may_be_empty: bool = False) -> Iterator[FileVersion]:
    """The files at ``path``: the file itself, those of a folder, or those that a pattern (``*``, ``?``, ``[…]``) names.

    Names that begin with ``.`` or ``_`` are left out inside folders, as Hadoop's tools do. So is what vanishes
    meanwhile.

    Args:
        may_be_empty: whether a pattern may name nothing.

    Raises:
        SourceError: there is nothing at ``path``, or it cannot be listed.
    """
    path = local_path(path)
    roots = [path] if os.path.lexists(path) or not glob.has_magic(path) else sorted(glob.glob(path, recursive=True))
    if not roots and not may_be_empty:
        raise SourceError(f"no file matches the pattern {path}")
    for root in roots:
        yield from _under(root, recursive=recursive)


def _under(root: str, *, recursive: bool) -> Iterator[FileVersion]:
    try:
        if os.path.isdir(root):
            with os.scandir(root) as entries:
                for entry in sorted(entries, key=lambda each: each.name):
                    if entry.name.startswith((".", "_")):
                        continue
                    if entry.is_dir():
                        if recursive:
                            yield from _under(entry.path, recursive=True)
                    elif (found := _stat(entry)) is not None:
                        yield _version(entry.path, found)
        else:
            yield _version(root, os.stat(root))
    except OSError as error:
        raise SourceError(f"{error.filename or root} cannot be listed: {error.strerror}") from error


def _stat(entry: os.DirEntry[str]) -> os.stat_result | None:
    """``None`` when it was removed after it was listed. A link that leads nowhere is an error."""
    try:
        return entry.stat()
    except FileNotFoundError:
        if entry.is_symlink():
            raise
        return None


def _version(path: str, found: os.stat_result) -> FileVersion:
    if not stat.S_ISREG(found.st_mode):
        raise SourceError(f"{path} is not a file but a pipe, a socket or a device, which cannot be read twice")
    return FileVersion(path=path, size=found.st_size, mtime_ns=found.st_mtime_ns)
