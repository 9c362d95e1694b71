"""The interface of a file system: listing, reading, staging and publishing.

``LocalFileSystem`` implements it for the local disk. To add another, write a module with a class of its own, and a
source and a sink that name it. ``docs/design/decisions/file-systems.md`` explains the design of the interface.
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
from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connectors.filesystems.marked_staging import MarkedStaging
from seatunnel_core.connectors.filesystems.pattern import MatchState, Pattern, Walk, all_of, fixed_part, patterns

_log = logging.getLogger(__name__)


@frozen(kw_only=True)
class FileVersion:
    """A file as it was when it was listed."""

    path: str
    size: int
    """Bytes."""

    mtime_ns: int
    """When it was last changed: nanoseconds since 1970."""

    etag: str = ""
    """The server's identifier of the content, where it has one beyond size and time; else empty."""

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "FileVersion":
        """Return the version that the body of an item or a split carries.

        Raises:
            StoredValueError: it carries none.
        """
        return cls(
            path=stored.path(body, "path"),
            size=stored.number(body, "size"),
            mtime_ns=stored.number(body, "mtime_ns", least=-stored.MOST),
            etag=stored.text(body, "etag") if "etag" in body else "",
        )

    def body(self) -> dict[str, Any]:
        """Return the version as JSON values, for the body of an item or a split."""
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
        """Return a file descriptor of the operating system, from which another process can read the file."""

    @abstractmethod
    def check(self) -> None:
        """Raise ``SourceChangedError`` unless the file still is the version that was listed."""

    @abstractmethod
    def close(self) -> None:
        """Release the file. The object cannot be used after that."""

    def __enter__(self) -> "OpenFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@frozen(kw_only=True)
class Entry:
    """What a folder holds under one name."""

    name: str
    path: str
    is_folder: bool
    """True also for a link to a folder."""

    is_link: bool = False
    version: FileVersion | None = None
    """Of a file, if the listing reports it."""


class StagedOutput(ABC):
    """A file that a task stages: it writes and closes ``stream``, and calls ``finish`` unless it gives up."""

    stream: pa.NativeFile

    @abstractmethod
    def finish(self) -> "Receipt":
        """Make the content survive a crash of the machine that holds it."""


@frozen(kw_only=True)
class Receipt:
    """What a file system reports of a staged file."""

    size: int
    """Bytes."""

    body: Mapping[str, Any] = field(factory=dict)
    """What ``publish`` has to know besides the two paths: JSON values, part of the committable; empty for nothing."""


class FileSystem(MarkedStaging):
    """A file system. Picklable: it travels to the tasks of its source or sink, and connects where it is used.

    Paths are texts with ``/`` between names, starting with ``top``. A failure to list or open is a ``SourceError``;
    every other failure is an ``OSError`` with an error number and a message for the user. ``EIO`` stands for failures
    that may pass when the call is repeated.
    """

    top: str = "/"
    """The path above all others."""

    has_folders: ClassVar[bool] = True
    """Whether folders exist by themselves; if not, a folder exists as long as there are files in it."""

    gives_receipts: ClassVar[bool] = False
    """Whether ``publish`` needs the body of the receipt that ``StagedOutput.finish`` returned."""

    publishes_at_once: ClassVar[int] = 1
    """How many files are published at the same time: behind a network each one waits for an answer or two."""

    task_modules: ClassVar[tuple[str, ...]] = ()
    """Top-level modules that it imports in tasks beyond pyarrow."""

    # -- listing and reading --------------------------------------------------------------------------------------

    @abstractmethod
    def named(self, path: str) -> str:
        """Return the path that the user wrote in an option in the form of this file system.

        Raises:
            UsageError: it names nothing.
        """

    def absolute(self, path: str) -> str:
        """Return the path that the user wrote in an option, starting with ``top``."""
        return self.named(path)

    def walk(self, path: str, *, recursive: bool, may_be_empty: bool = False) -> Iterator[FileVersion]:
        """Yield the files at ``path``, each once and in no order.

        They are the file itself, the files of a folder, or the files that match a pattern (``pattern.py``). Inside
        folders, names that begin with ``.`` or ``_`` are left out, as by Hadoop's tools, except for folders of
        partitions (``_key=value``) and for what a sink wrote. Files that disappear meanwhile are left out, too.

        Args:
            path: a path as ``absolute`` returns it.
            recursive: whether to descend into the folders of a folder.
            may_be_empty: whether a pattern may match nothing yet, because the folder is polled.

        Raises:
            SourceError: there is nothing at ``path``, or it cannot be listed.
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
        """Yield the files that any of the patterns names; return whether one of them matches anything."""
        walks = [Walk(pattern) for pattern in wanted]
        seen: set[str] = set()
        for walk in walks:
            for version in self._versions_of(walk):
                if version.path not in seen:
                    yield version
                if len(walks) > 1:
                    seen.add(version.path)
            if walk.left_out and not quiet:
                _log.warning(
                    "%d files are left out because they or their folders begin with _, such as %s; name them in path",
                    walk.left_out,
                    walk.example,
                )
        return any(walk.matched for walk in walks)

    def _versions_of(self, walk: Walk) -> Iterator[FileVersion]:
        base = walk.pattern.base
        if self.is_folder(base):
            yield from self.versions(base, walk, walk.pattern.begin())

    def versions(self, folder: str, walk: Walk, state: MatchState) -> Iterator[FileVersion]:
        """Yield the files in a folder that ``walk`` takes. Links are followed, except into a folder that holds them.

        Raises:
            OSError: the folder cannot be listed.
        """
        found: Sequence[Entry] = ()
        with suppress(FileNotFoundError):  # it was removed meanwhile
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
        """Return the path without links."""
        return path

    @abstractmethod
    def version(self, path: str) -> FileVersion | None:
        """Return the file at a path, ``None`` if there is none.

        Raises:
            OSError: the file system cannot be asked.
        """

    def listed(self, entry: Entry) -> FileVersion | None:
        """Return the file of an entry; ``None`` if it was removed meanwhile.

        Raises:
            FileNotFoundError: the entry is a broken link.
        """
        if entry.version is None and entry.is_link:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), entry.path)
        return entry.version

    def fixed_part(self, path: str) -> str:
        """Return the folder below which everything named by ``path`` lies.

        That is a folder itself, the one of a file, or the fixed part of a pattern.
        """
        if self.is_folder(path):
            return path
        return path.rpartition("/")[0] if self.version(path) else fixed_part(path, self.top)

    @abstractmethod
    def open(self, version: FileVersion) -> OpenFile:
        """Open a file for reading.

        Raises:
            SourceError: it cannot be opened.
            SourceChangedError: it is not the version that was listed.
        """

    # -- a target -------------------------------------------------------------------------------------------------

    @abstractmethod
    def is_folder(self, path: str) -> bool:
        """Return whether there is a folder at ``path``, also by way of a link."""

    @abstractmethod
    def exists(self, path: str) -> bool:
        """Return whether there is anything at ``path``, a broken link included."""

    @abstractmethod
    def entries(self, folder: str) -> Sequence[Entry]:
        """Return the entries of a folder, in no order.

        Raises:
            FileNotFoundError: there is no such folder.
        """

    def folders(self, root: str, without: str = "") -> Iterator[tuple[str, list[Entry]]]:
        """Yield a folder and all folders below it, each with its files.

        Links to folders are not followed, and folders that are removed meanwhile are left out.

        Args:
            root: the folder to begin with.
            without: the name of a folder directly below ``root`` that is left out.
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
        """Return whether it is known that something can be written at ``path``; leave nothing there.

        Raises:
            OSError: nothing can.
        """
        return False  # who knows it by writing only

    def require_replaceable(self, folder: str) -> None:
        """Raise ``OSError`` if no other folder can take the place of one, as far as that shows before it is tried."""

    def stays_inside(self, root: str, folder: str) -> bool:
        """Return whether a folder that is named below ``root`` is still below it when links are followed."""
        return True

    @abstractmethod
    def remove(self, path: str) -> bool:
        """Remove a file, and return whether this call did it."""

    @abstractmethod
    def remove_folder(self, path: str) -> None:
        """Remove a folder with everything in it."""

    def move(self, path: str, to: str) -> None:
        """Rename a file or a folder in one step; in a bucket, copy an object whose name no other has, and remove it.

        Raises:
            FileNotFoundError: it does not exist, or the folder of ``to`` does not.
        """
        raise NotImplementedError(f"{self.top} cannot rename")

    def trade(self, one: str, other: str) -> bool:
        """Let two folders change places in one step; return ``False`` where that cannot be done."""
        return False

    def remove_if_empty(self, folder: str) -> bool:
        """Remove an empty folder, and return whether this call did it. Never raises."""
        return False

    def sync_folder(self, folder: str) -> None:
        """Make the names in a folder survive a crash of the machine that holds it."""
        return

    # -- staging and publishing -----------------------------------------------------------------------------------

    @abstractmethod
    def leave_note(self, path: str) -> None:
        """Write an empty file into a staging folder.

        Raises:
            FileNotFoundError: the folder does not exist.
        """

    @abstractmethod
    def stage(self, staged: str, target: str) -> StagedOutput:
        """Begin a file that ``publish`` will make visible as ``target``; nobody sees it there before."""

    @abstractmethod
    def publish(self, staged: str, target: str, receipt: Mapping[str, Any]) -> None:
        """Make a staged file visible, in one step that consumes it. Creates the folder of the target if it is missing.

        Raises:
            TargetExistsError: there is a file at ``target``.
            FileNotFoundError: nothing is staged under this path.
            StoredValueError: this file system did not give the receipt.
        """

    @abstractmethod
    def why_unknown(self, staged: str, target: str, receipt: Mapping[str, Any]) -> str:
        """Return why it is unknown whether a missing staged file was published; empty if it was."""

    @abstractmethod
    def discard(self, staged: str) -> bool:
        """Remove a staged file or a note, and return whether this call did it."""
