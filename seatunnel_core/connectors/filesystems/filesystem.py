"""Interface of a file system: listing, reading, staging and publishing.

See ``docs/design/decisions/file-systems.md`` for the design.
"""

import errno
import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, BinaryIO, ClassVar

import pyarrow as pa
from attrs import field, frozen

from seatunnel_core import stored
from seatunnel_core.connector_api.errors import SourceChangedError, SourceError
from seatunnel_core.connectors.filesystems.marked_staging import MarkedStaging
from seatunnel_core.connectors.filesystems.pattern import MatchState, Pattern, Walk, all_of, fixed_part, patterns

_log = logging.getLogger(__name__)


@frozen(kw_only=True)
class FileVersion:
    """A file and its state when it was listed."""

    path: str
    size: int
    """Size in bytes."""

    mtime_ns: int
    """Modification time, in nanoseconds since 1970."""

    etag: str = ""
    """Identifier of the content from the server, if available; else empty."""

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "FileVersion":
        """Parse the version in the body of a discovered object or a split."""
        return cls(
            path=stored.path(body, "path"),
            size=stored.number(body, "size"),
            mtime_ns=stored.number(body, "mtime_ns", least=-stored.MOST),
            etag=stored.text(body, "etag") if "etag" in body else "",
        )

    def body(self) -> dict[str, Any]:
        """Return the version as JSON values, for the body of a discovered object or a split."""
        found = {"path": self.path, "size": self.size, "mtime_ns": self.mtime_ns}
        return {**found, "etag": self.etag} if self.etag else found


class OpenFile(ABC):
    """A file that is open for reading; a context manager."""

    version: FileVersion

    @abstractmethod
    def read_range(self, start: int, end: int) -> bytes:
        """Return the bytes from ``start`` up to ``end``; fewer only at the end of the file."""

    @abstractmethod
    def stream(self, start: int = 0) -> pa.NativeFile:
        """Return the bytes from ``start`` to the end, as an Arrow input stream."""

    @abstractmethod
    def python_file(self) -> BinaryIO:
        """Return the whole file, from its beginning, as a binary file object of Python; a context manager."""

    @abstractmethod
    def descriptor(self) -> int:
        """Return a file descriptor with which another process can read the file."""

    @abstractmethod
    def check(self) -> None:
        """Raise ``SourceChangedError`` if the file is no longer the listed version."""

    def changed(self, how: str) -> SourceChangedError:
        """Return the error for a file that is no longer the listed version."""
        return SourceChangedError(
            f"{self.version.path} changed after it was listed: {how}; start a new job to read its current content"
        )

    @abstractmethod
    def close(self) -> None:
        """Release the file."""

    def __enter__(self) -> "OpenFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@frozen(kw_only=True)
class Entry:
    """An entry of a folder."""

    name: str
    path: str
    is_folder: bool
    """True for a folder or a link to a folder."""

    is_link: bool = False
    version: FileVersion | None = None
    """Version of the file, if the listing contains it."""


class StagedOutput(ABC):
    """A file that a task stages. The task writes and closes ``stream``, then calls ``finish`` unless it gives up."""

    stream: pa.NativeFile

    @abstractmethod
    def finish(self) -> "Receipt":
        """Make the content durable, so that it survives a crash of the machine that stores it."""


@frozen(kw_only=True)
class Receipt:
    """Result of staging a file."""

    size: int
    """Size in bytes."""

    body: Mapping[str, Any] = field(factory=dict)
    """JSON values that ``publish`` needs in addition to the two paths. Part of the committable; may be empty."""


class FileSystem(MarkedStaging):
    """A file system. Picklable, because it is sent to tasks; it connects on first use.

    Paths are strings with ``/`` between names, starting with ``top``. Failures to list or open raise ``SourceError``;
    all other failures raise ``OSError`` with an error number and a message for the user. ``EIO`` means that a retry may
    succeed.
    """

    top: str = "/"
    """Prefix of all paths."""

    has_folders: ClassVar[bool] = True
    """True if folders exist independently of files."""

    gives_receipts: ClassVar[bool] = False
    """True if ``publish`` needs the body of the receipt of ``StagedOutput.finish``."""

    publishes_at_once: ClassVar[int] = 1
    """Number of files that are published concurrently; over a network, each waits for one or two responses."""

    task_modules: ClassVar[tuple[str, ...]] = ()
    """Top-level modules that tasks import in addition to pyarrow."""

    # -- listing and reading --------------------------------------------------------------------------------------

    @abstractmethod
    def named(self, path: str) -> str:
        """Convert a path in an option to this file system's form; raise ``UsageError`` if the path is empty."""

    def absolute(self, path: str) -> str:
        """Return a path in an option as an absolute path that starts with ``top``."""
        return self.named(path)

    def walk(self, path: str, *, recursive: bool, may_be_empty: bool = False) -> Iterator[FileVersion]:
        """Yield the files at ``path``, each once and in no particular order.

        These are the file itself, the files in a folder, or the files that match a pattern (``pattern.py``). Inside
        folders, names that start with ``.`` or ``_`` are skipped, as in Hadoop's tools, except for partition folders
        (``_key=value``) and for files of a sink. Files that disappear during the listing are skipped, too.

        Args:
            path: A path returned by ``absolute``.
            recursive: True to descend into subfolders.
            may_be_empty: True if a pattern may match nothing yet, because the folder is polled.

        Raises:
            SourceError: Nothing exists at ``path``, or it cannot be listed.
        """
        try:
            exact = self.version(path)
            if exact is not None:
                yield exact
            elif self.is_folder(path):
                yield from self._named_by([all_of(path, recursive=recursive)], quiet=may_be_empty)
            else:
                wanted = patterns(path, top=self.top, recursive=recursive)
                if not wanted:
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
                if not (yield from self._named_by(wanted, quiet=may_be_empty)) and not may_be_empty:
                    raise SourceError(f"no file matches the pattern {path}")
        except OSError as error:
            found = SourceError(f"{error.filename or path} cannot be listed: {error.strerror or error}")
            found.retryable = error.errno == errno.EIO
            raise found from error

    def _named_by(self, wanted: Sequence[Pattern], *, quiet: bool) -> Generator[FileVersion, None, bool]:
        """Yield the files that match any of the patterns; return True if anything, even a folder, matches."""
        walks = [Walk(pattern) for pattern in wanted]
        seen: set[str] = set()
        for walk in walks:
            base = walk.pattern.base
            versions = self.versions(base, walk, walk.pattern.begin()) if self.is_folder(base) else ()
            for version in versions:
                if version.path not in seen:
                    yield version
                if len(walks) > 1:
                    seen.add(version.path)
            if walk.left_out and not quiet:
                _log.warning(
                    "%d files are skipped because their names, or names of their folders, start with _, such as %s; "
                    "to read them, set path to such a file or folder",
                    walk.left_out,
                    walk.example,
                )
        return any(walk.matched for walk in walks)

    def versions(self, folder: str, walk: Walk, state: MatchState) -> Iterator[FileVersion]:
        """Yield the files in a folder that match the pattern of ``walk``."""
        found: Sequence[Entry] = ()
        with suppress(FileNotFoundError):  # The folder was removed in the meantime.
            found = self.entries(folder)
        for entry in sorted(found, key=lambda each: each.name):
            if entry.is_folder:
                inside = walk.enter(state, entry.name)
                if inside and not (entry.is_link and self._leads_up(entry.path, folder)):
                    yield from self.versions(entry.path, walk, inside)
            elif walk.takes(state, entry.name, entry.path):
                version = self.listed(entry)
                if version is not None:
                    yield version

    def _leads_up(self, link: str, folder: str) -> bool:
        return f"{self.real(folder)}/".startswith(f"{self.real(link).rstrip('/')}/")

    def real(self, path: str) -> str:
        """Return the path with symbolic links resolved."""
        return path

    @abstractmethod
    def version(self, path: str) -> FileVersion | None:
        """Return the file at a path; ``None`` if it does not exist."""

    def listed(self, entry: Entry) -> FileVersion | None:
        """Return the file of an entry; ``None`` if it was removed. Raise ``FileNotFoundError`` for a broken link."""
        if entry.version is None and entry.is_link:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), entry.path)
        return entry.version

    def fixed_part(self, path: str) -> str:
        """Return the folder that contains all matches of a path: the fixed part of a pattern, or a file's folder."""
        if self.is_folder(path):
            return path
        return path.rpartition("/")[0] if self.version(path) else fixed_part(path, self.top)

    @abstractmethod
    def open(self, version: FileVersion) -> OpenFile:
        """Open a file for reading.

        Raises:
            SourceError: The file cannot be opened.
            SourceChangedError: The file is not the listed version.
        """

    # -- a target -------------------------------------------------------------------------------------------------

    @abstractmethod
    def exists(self, path: str) -> bool:
        """Return True if anything exists at ``path``, including a broken link."""

    @abstractmethod
    def entries(self, folder: str) -> Sequence[Entry]:
        """Return the entries of a folder in any order; raise ``FileNotFoundError`` if the folder does not exist."""

    def folders(self, root: str, without: str = "") -> Iterator[tuple[str, list[Entry]]]:
        """Yield a folder and all its subfolders, each with its files; do not follow links.

        The folder ``without`` directly below ``root``, and folders that are removed during the listing, are skipped.
        """
        try:
            found = self.entries(root)
        except FileNotFoundError:
            return
        yield root, [entry for entry in found if not entry.is_folder]
        for entry in found:
            if entry.is_folder and not entry.is_link and entry.name != without:
                yield from self.folders(entry.path)

    def require_writable(self, path: str) -> bool:
        """Raise ``OSError`` unless a path is writable; return False if only a write can show this. No file remains."""
        return False  # By default, only a write could show this.

    def require_replaceable(self, folder: str) -> None:
        """Raise ``OSError`` if a folder cannot be replaced by another, as far as this can be checked in advance."""

    def stays_inside(self, root: str, folder: str) -> bool:
        """Return True if a folder below ``root`` is still below it after links are resolved."""
        return True

    @abstractmethod
    def remove(self, path: str) -> bool:
        """Remove a file; return True if this call removed it."""

    @abstractmethod
    def remove_folder(self, path: str) -> None:
        """Remove a folder with all its content."""

    def move(self, path: str, to: str) -> None:
        """Rename a file or a folder atomically; in a bucket, copy an object to an unused name and remove the original.

        Raises:
            FileNotFoundError: The path or the folder of ``to`` does not exist.
        """
        raise NotImplementedError(f"{self.top} cannot rename")

    def trade(self, one: str, other: str) -> bool:
        """Exchange two folders atomically; return ``False`` if this is not supported."""
        return False

    def remove_if_empty(self, folder: str) -> bool:
        return False

    def sync_folder(self, folder: str) -> None:
        """Make the names in a folder durable, so that they survive a crash of the machine that stores it."""
        return

    # -- staging and publishing -----------------------------------------------------------------------------------

    @abstractmethod
    def leave_note(self, path: str) -> None:
        """Write an empty file to a staging folder; raise ``FileNotFoundError`` if the folder does not exist."""

    @abstractmethod
    def stage(self, staged: str, target: str) -> StagedOutput:
        """Start a staged file, which is not visible at ``target`` until ``publish`` is called."""

    @abstractmethod
    def publish(self, staged: str, target: str, receipt: Mapping[str, Any]) -> None:
        """Make a staged file visible in one atomic step that consumes it; create the folder of the target if necessary.

        Raises:
            TargetExistsError: A file exists at ``target``.
            FileNotFoundError: No file is staged at this path.
            StoredValueError: The receipt is not from this file system.
        """

    @abstractmethod
    def why_unknown(self, staged: str, target: str, receipt: Mapping[str, Any]) -> str:
        """Return the reason why a missing staged file may be unpublished; empty if it is known to be published."""

    @abstractmethod
    def discard(self, staged: str) -> bool:
        """Remove a staged file or a note; return True if this call removed it."""
