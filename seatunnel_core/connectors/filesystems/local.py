"""Local files, and network disks that are mounted like local ones.

A staged file is published by a rename that never replaces another file. Files and folders are synced to disk before a
call that guarantees durability returns.
"""

import errno
import os
import shutil
import stat
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, BinaryIO

import pyarrow as pa

from seatunnel_core.connector_api.errors import SourceError, UsageError
from seatunnel_core.connectors.filesystems.filesystem import (
    Entry,
    FileSystem,
    FileVersion,
    OpenFile,
    Receipt,
    StagedOutput,
)
from seatunnel_core.connectors.filesystems.rename import exchange, rename_new


class LocalFileSystem(FileSystem):
    """The files of this machine. The driver and all tasks must reach them under the same paths."""

    def named(self, path: str) -> str:
        return named_path(path)

    def absolute(self, path: str) -> str:
        return absolute(named_path(path))

    def real(self, path: str) -> str:
        return os.path.realpath(path)

    def require_writable(self, path: str) -> bool:
        there = path
        while not os.path.lexists(there) and os.path.dirname(there) != there:
            there = os.path.dirname(there)
        if not os.path.isdir(there):
            number = errno.ENOTDIR
        elif not os.access(there, os.W_OK | os.X_OK):
            number = errno.EROFS if os.statvfs(there).f_flag & os.ST_RDONLY else errno.EACCES
        elif not os.statvfs(there).f_bavail and os.statvfs(there).f_blocks:
            number = errno.ENOSPC
        else:
            return True
        raise OSError(number, os.strerror(number), there)

    def version(self, path: str) -> FileVersion | None:
        try:
            found = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            if os.path.islink(path):
                raise
            return None
        return None if stat.S_ISDIR(found.st_mode) else _version(path, found)

    def listed(self, entry: Entry) -> FileVersion | None:
        try:
            return _version(entry.path, os.stat(entry.path))
        except FileNotFoundError:
            if entry.is_link:
                raise
            return None

    def open(self, version: FileVersion) -> OpenFile:
        return LocalOpenFile(version)

    def is_folder(self, path: str) -> bool:
        return os.path.isdir(path)

    def exists(self, path: str) -> bool:
        return os.path.lexists(path)

    def entries(self, folder: str) -> Sequence[Entry]:
        with os.scandir(folder) as entries:
            return [
                Entry(name=entry.name, path=entry.path, is_folder=entry.is_dir(), is_link=entry.is_symlink())
                for entry in entries
            ]

    def stays_inside(self, root: str, folder: str) -> bool:
        real_root = os.path.realpath(root)
        return os.path.commonpath([real_root, os.path.realpath(os.path.join(root, folder))]) == real_root

    def remove(self, path: str) -> bool:
        try:
            os.unlink(path)
        except FileNotFoundError:
            return False
        return True

    def remove_folder(self, path: str) -> None:
        shutil.rmtree(path)

    def move(self, path: str, to: str) -> None:
        os.rename(path, to)

    def trade(self, one: str, other: str) -> bool:
        return exchange(one, other)

    def require_replaceable(self, folder: str) -> None:
        above = os.path.dirname(folder)
        if os.path.islink(folder):
            problem = f"it is a link; set path to its target, {os.path.realpath(folder)}"
            raise OSError(errno.EINVAL, problem, folder)
        if os.path.ismount(folder):
            problem = "it is a mount point, which cannot be replaced; use a folder in it"
            raise OSError(errno.EBUSY, problem, folder)
        if os.path.isdir(above) and not os.access(above, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, f"its parent folder {above} is not writable", folder)

    def remove_if_empty(self, folder: str) -> bool:
        try:
            os.rmdir(folder)
        except OSError:
            return False
        return True

    def sync_folder(self, folder: str) -> None:
        sync_folder(folder)

    def make_staging(self, folder: str, root: str) -> None:
        _create_folder(root)
        folders = list(accumulate(folder.removeprefix(root).strip("/").split("/"), os.path.join, initial=root))
        made = [_make_folder(each) for each in folders[1:]]
        for each in reversed(folders[:-1]):  # Including existing folders, which a killed process may have created.
            sync_folder(each)
        if not made[0] and not os.access(root, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), root)

    def leave_note(self, path: str) -> None:
        with open(path, "wb"):
            pass

    def stage(self, staged: str, target: str) -> StagedOutput:
        return LocalOutput(staged)

    def publish(self, staged: str, target: str, receipt: Mapping[str, Any]) -> None:
        """Rename the file without replacing another one. A suspended earlier process may already have renamed it."""
        try:
            rename_new(staged, target)
        except FileNotFoundError:
            if not os.path.lexists(staged):
                raise
            _create_folder(os.path.dirname(target))
            rename_new(staged, target)

    def why_unknown(self, staged: str, target: str, receipt: Mapping[str, Any]) -> str:
        """Treat a missing file as published while its staging folder exists.

        That folder disappears only with its disk. A missing target does not prove that the file is unpublished, because
        a consumer may have moved it.
        """
        return self.not_prepared(staged, target)

    def discard(self, staged: str) -> bool:
        return self.remove(staged)


class LocalOutput(StagedOutput):
    """A file in the staging folder."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.stream = pa.OSFile(path, "wb")

    def finish(self) -> Receipt:
        sync_file(self._path)
        return Receipt(size=os.stat(self._path).st_size)


class LocalOpenFile(OpenFile):
    """A local file that is open for reading."""

    def __init__(self, version: FileVersion) -> None:
        self.version = version
        try:
            # Only files are accepted below. Opening a pipe would wait for its writer.
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
        parts = [first]  # One call reads at most 2 GiB.
        position = start + len(first)
        while position < end and (part := os.pread(self._descriptor, end - position, position)):
            parts.append(part)
            position += len(part)
        return b"".join(parts)

    def stream(self, start: int = 0) -> pa.NativeFile:
        stream = pa.OSFile(os.fsencode(self.version.path), "rb")
        # The path is opened again, and may have become another file.
        if not os.path.samestat(os.stat(self.version.path), os.fstat(self._descriptor)):
            raise self.changed("another file replaced it")
        stream.seek(start)
        return stream

    def python_file(self) -> BinaryIO:
        # Opened again, to have a separate position in the file.
        found = os.fdopen(os.open(f"/dev/fd/{self._descriptor}", os.O_RDONLY | os.O_CLOEXEC), "rb")
        found.seek(0)
        return found

    def descriptor(self) -> int:
        return self._descriptor

    def check(self) -> None:
        now, then = os.fstat(self._descriptor), self.version
        if not stat.S_ISREG(now.st_mode):
            raise self.changed("it is no longer a file")
        if (now.st_size, now.st_mtime_ns) != (then.size, then.mtime_ns):
            raise self.changed(f"it was modified ({then.size} bytes when listed, {now.st_size} now)")

    def close(self) -> None:
        os.close(self._descriptor)


def local_path(path: str) -> str:
    """Return a path without ``file://``."""
    for prefix in ("file://", "file:"):
        if path.startswith(prefix):
            return path[len(prefix) :]
    return path


def named_path(path: str) -> str:
    """Return the path without ``file://``; reject an empty path, which would mean the current folder."""
    found = local_path(path)
    if not found.strip():
        raise UsageError(f"option 'path': expected a path, found {path!r}; write . for the current folder")
    return found


def absolute(path: str) -> str:
    """Return the absolute path."""
    try:
        return os.path.abspath(path)
    except FileNotFoundError:
        raise UsageError(
            f"{path!r} is relative to the folder in which the engine was started, which no longer exists; "
            "write an absolute path"
        ) from None


def _version(path: str, found: os.stat_result) -> FileVersion:
    if not stat.S_ISREG(found.st_mode):
        raise SourceError(f"{path} is a pipe, a socket or a device, which cannot be read twice")
    return FileVersion(path=path, size=found.st_size, mtime_ns=found.st_mtime_ns)


def _create_folder(folder: str) -> None:
    """Create a folder and its missing parents, and make their names durable."""
    above = os.path.dirname(folder)
    if not os.path.isdir(above):
        _create_folder(above)
    if _make_folder(folder):
        sync_folder(above)


def _make_folder(folder: str) -> bool:
    """Create a folder; return True if this call created it."""
    try:
        os.mkdir(folder)
    except FileExistsError as error:
        if not os.path.isdir(folder):
            raise NotADirectoryError(errno.ENOTDIR, _instead_of_folder(folder), folder) from error
        return False
    except FileNotFoundError as error:  # for example in /proc, where only the system creates files
        above = os.path.dirname(folder)
        raise PermissionError(errno.EPERM, f"no folder can be created in {above}", folder) from error
    return True


def _instead_of_folder(path: str) -> str:
    if os.path.islink(path) and not os.path.exists(path):
        return f"it is a link to {os.readlink(path)}, which does not exist"
    return "it is a file, not a folder"


def sync_folder(folder: str) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: str) -> None:
    """Make the content of a file durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
