"""What the file connectors ask of a place where files are: one interface for listing, reading and publishing.

``LocalFileSystem`` is the one of the local disk. Another one is a module with a class of its own, and a source and a
sink that name it. ``docs/decisions/file-systems.md`` says why the interface is as it is.
"""

import errno
import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, BinaryIO, ClassVar

import pyarrow as pa
from attrs import define, field, frozen

from seatunnel_core import stored
from seatunnel_core.connectors.filesystems.pattern import Pattern, Way, all_of, fixed_part, patterns
from seatunnel_core.errors import SourceError

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
    """What the server says of its content, where it says more than size and time; else empty."""

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
            etag=stored.text(body, "etag") if "etag" in body else "",
        )

    def body(self) -> dict[str, Any]:
        found = {"path": self.path, "size": self.size, "mtime_ns": self.mtime_ns}
        return {**found, "etag": self.etag} if self.etag else found


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


@frozen(kw_only=True)
class Entry:
    """What a folder holds under one name."""

    name: str
    path: str
    is_folder: bool
    """Also where it is a link to one."""

    is_link: bool = False
    version: FileVersion | None = None
    """Of a file, where a listing tells it."""


@define
class Walk:
    """One look at what a pattern names."""

    pattern: Pattern
    matched: bool = False
    """Whether there is something that it names, be it an empty folder."""

    left_out: int = 0
    """How many files it would name, did they or their folders not begin with ``_``."""

    example: str = ""
    """One of them."""

    def enter(self, way: Way, name: str) -> Way:
        found = self.pattern.enter(way, name)
        self.matched |= self.pattern.is_whole(found)
        return found

    def takes(self, way: Way, name: str, path: str) -> bool:
        if self.pattern.takes(way, name):
            self.matched = True
            return True
        if self.pattern.leaves_out(way, name):
            self.left_out += 1
            self.example = path
        return False


class StagedOutput(ABC):
    """A file that a task stages: it writes and closes ``stream``, and then calls ``finish``; or not, for one that is
    given up."""

    stream: pa.NativeFile

    @abstractmethod
    def finish(self) -> "Receipt":
        """Make the content survive a crash of the machine that holds it."""


@frozen(kw_only=True)
class Receipt:
    """What is known of a staged file."""

    size: int
    """Bytes."""

    body: Mapping[str, Any] = field(factory=dict)
    """What ``publish`` has to know besides the two paths: JSON values, part of the committable; empty for nothing."""


class FileSystem(ABC):
    """A place where files are. Picklable: it travels to the tasks of its source or sink, and connects where it is used.

    Paths are texts with ``/`` between names, from ``top`` on. What goes wrong while something is listed or opened is a
    ``SourceError``; everything else raises ``OSError``, with the number and the words of a person: what may be gone
    when it is tried again is ``EIO``.
    """

    top: str = "/"
    """The path that holds all others."""

    has_folders: ClassVar[bool] = True
    """Whether a folder is there by itself; else one is there as long as there are files in it."""

    gives_receipts: ClassVar[bool] = False
    """Whether ``publish`` needs what ``StagedOutput.finish`` told."""

    publishes_at_once: ClassVar[int] = 1
    """How many files are published at the same time: behind a network each waits for an answer, or two."""

    task_modules: ClassVar[tuple[str, ...]] = ()
    """Top-level modules that it imports in tasks beyond pyarrow."""

    # -- listing and reading --------------------------------------------------------------------------------------

    @abstractmethod
    def named(self, path: str) -> str:
        """The path that a person wrote in an option, as this file system has it.

        Raises:
            UsageError: it names nothing.
        """

    def absolute(self, path: str) -> str:
        """As ``named``, from ``top`` on."""
        return self.named(path)

    def walk(self, path: str, *, recursive: bool, may_be_empty: bool = False) -> Iterator[FileVersion]:
        """The files at ``path``, each once and in no order: the file itself, those of a folder, or those that a pattern
        names (``pattern.py``).

        Inside folders names that begin with ``.`` or ``_`` are left out, as Hadoop's tools do, but for folders of
        partitions (``_key=value``) and what a sink wrote. So is what vanishes meanwhile.

        Args:
            may_be_empty: whether a pattern may name nothing yet, of a folder that is looked at again and again.

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
        """Returns whether any of the patterns names something."""
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

    def versions(self, folder: str, walk: Walk, way: Way) -> Iterator[FileVersion]:
        """The files in a folder that ``walk`` takes. Raises ``OSError``.

        Links are followed, but for those that lead to a folder in which they lie.
        """
        found: Sequence[Entry] = ()
        with suppress(FileNotFoundError):  # it was removed meanwhile
            found = self.entries(folder)
        for entry in sorted(found, key=lambda each: each.name):
            if entry.is_folder:
                inside = walk.enter(way, entry.name)
                if inside and not (entry.is_link and self._leads_up(entry.path, folder)):
                    yield from self.versions(entry.path, walk, inside)
            elif walk.takes(way, entry.name, entry.path):
                version = self.listed(entry)
                if version is not None:
                    yield version

    def _leads_up(self, link: str, folder: str) -> bool:
        return f"{self.real(folder)}/".startswith(f"{self.real(link).rstrip('/')}/")

    def real(self, path: str) -> str:
        """The path without links."""
        return path

    @abstractmethod
    def version(self, path: str) -> FileVersion | None:
        """The file at a path, ``None`` where there is none. Raises ``OSError``."""

    def listed(self, entry: Entry) -> FileVersion | None:
        """The file of an entry; ``None`` where it was removed meanwhile. Raises ``FileNotFoundError`` for a link that
        leads nowhere."""
        if entry.version is None and entry.is_link:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), entry.path)
        return entry.version

    def fixed_part(self, path: str) -> str:
        """The folder below which all that ``path`` names lies: itself, or what is above a file or a pattern."""
        if self.is_folder(path):
            return path
        return path.rpartition("/")[0] if self.version(path) else fixed_part(path, self.top)

    @abstractmethod
    def open(self, version: FileVersion) -> OpenFile:
        """Raises ``SourceError``, and ``SourceChangedError`` where it is not the version that was listed."""

    # -- a target -------------------------------------------------------------------------------------------------

    @abstractmethod
    def is_folder(self, path: str) -> bool: ...

    @abstractmethod
    def exists(self, path: str) -> bool: ...

    @abstractmethod
    def entries(self, folder: str) -> Sequence[Entry]:
        """What lies in a folder, in no order. Raises ``FileNotFoundError`` where there is none."""

    def folders(self, root: str, without: str = "") -> Iterator[tuple[str, list[Entry]]]:
        """A folder and all below it, with the files in each. Links to folders are not followed, and what is removed
        meanwhile is left out.

        Args:
            without: the name of a folder right below ``root`` that is left out.
        """
        try:
            found = self.entries(root)
        except FileNotFoundError:
            return
        yield root, [entry for entry in found if not entry.is_folder]
        for entry in found:
            if entry.is_folder and not entry.is_link and entry.name != without:
                yield from self.folders(entry.path)

    def stays_inside(self, root: str, folder: str) -> bool:
        """Whether a folder below ``root``, by its name, is below it where links are followed."""
        return True

    @abstractmethod
    def remove(self, path: str) -> bool:
        """Remove a file, and say whether it was this call that did."""

    @abstractmethod
    def remove_folder(self, path: str) -> None:
        """Remove a folder with all that is in it."""

    def move(self, path: str, to: str) -> None:
        """Rename a file or a folder in one step, where there are folders.

        Raises:
            FileNotFoundError: it is not there, or the folder of ``to`` is not.
        """
        raise NotImplementedError(f"{self.top} has no folders")

    def remove_if_empty(self, folder: str) -> bool:
        """Remove a folder that has nothing in it, and say whether it was this call that did. Never raises."""
        return False

    def sync_folder(self, folder: str) -> None:
        """Make the names in a folder survive a crash of the machine that holds it."""
        return

    # -- staging and publishing -----------------------------------------------------------------------------------

    @abstractmethod
    def make_staging(self, folder: str, root: str) -> None:
        """Create a folder below the target ``root``, and that, so that they survive a crash; see that it can be written
        there. It may be there already."""

    @abstractmethod
    def leave_note(self, path: str) -> None:
        """Write an empty file into a staging folder. Raises ``FileNotFoundError`` where that is not there."""

    @abstractmethod
    def stage(self, staged: str, target: str) -> StagedOutput:
        """Begin a file that ``publish`` will make visible as ``target``, and that nobody sees there before."""

    @abstractmethod
    def publish(self, staged: str, target: str, receipt: Mapping[str, Any]) -> None:
        """Make a staged file visible, in one step that consumes it. Creates the target's folder if it is missing.

        Raises:
            TargetExistsError: there is a file at ``target``.
            FileNotFoundError: nothing is staged there.
            StoredValueError: the receipt is not one that it gave.
        """

    @abstractmethod
    def why_unknown(self, staged: str, target: str, receipt: Mapping[str, Any]) -> str:
        """Of a staged file that is gone, why it cannot be told that it was published; empty when it was."""

    @abstractmethod
    def discard(self, staged: str) -> bool:
        """Remove what was staged under this path, or a note, and say whether it was this call that did."""
