"""Objects of a bucket as files, which are listed by prefix, read in ranges, and published by a copy in the store."""

import errno
import logging
import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any, ClassVar

from attrs import frozen

from seatunnel_core import stored
from seatunnel_core.connector_api.errors import SourceChangedError, SourceError
from seatunnel_core.connectors.filesystems.filesystem import Entry, FileVersion, OpenFile, StagedOutput
from seatunnel_core.connectors.filesystems.objects.staged import NOTE, StagedObject, complete, mark
from seatunnel_core.connectors.filesystems.objects.store import LARGEST_COPY, Found, ObjectStore, Page
from seatunnel_core.connectors.filesystems.pattern import MatchState, Walk
from seatunnel_core.connectors.filesystems.remote import RemoteFileSystem, RemoteOpenFile
from seatunnel_core.connectors.filesystems.rename import TargetExistsError
from seatunnel_core.connectors.filesystems.staged_name import PREPARED, PROBE, STAGING

_REMOVALS = 4
"""Number of attempts to remove an object before the commit fails."""

_PAUSE_S = 0.2

logger = logging.getLogger("seatunnel.connectors")


@frozen(kw_only=True)
class ObjectFileSystem(RemoteFileSystem):
    """Files of one bucket, accessed as one user."""

    store: ObjectStore
    gone_is_published: bool = False
    """True if the user allows a staged object to count as published when both the object and its copy are missing."""

    has_folders: ClassVar[bool] = False
    gives_receipts: ClassVar[bool] = True
    publishes_at_once: ClassVar[int] = 16

    @property
    def task_modules(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.store.task_modules

    @property
    def top(self) -> str:  # type: ignore[override]
        return f"{self.store.schemes[0]}://{self.store.bucket}"

    @property
    def schemes(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(f"{scheme}://{self.store.bucket}" for scheme in self.store.schemes[1:])

    def key(self, path: str) -> str:
        """Return the key of the object at a path."""
        return path[len(self.top) + 1 :]

    def _prefix(self, folder: str) -> str:
        key = self.key(folder).rstrip("/")
        return f"{key}/" if key else ""

    # -- listing and reading --------------------------------------------------------------------------------------

    def version(self, path: str) -> FileVersion | None:
        key = self.key(path)
        if not key or key.endswith("/"):
            return None
        try:
            found = self.store.head(key)
        except FileNotFoundError:
            return None
        except PermissionError:  # A rejected listing reports the reason.
            self.is_folder(path)
            raise
        return self._version(found)

    def versions(self, folder: str, walk: Walk, state: MatchState) -> Iterator[FileVersion]:
        """Yield the matching files from one recursive listing, which returns pages in the order of keys."""
        begin = len(folder.rstrip("/")) + 1
        deep = walk.pattern.recursive or bool(walk.pattern.names)
        for path, of_folder in groupby(self._objects(folder, deep=deep), key=lambda each: each.path.rpartition("/")[0]):
            inside = state
            for name in path[begin:].split("/") if path[begin:] else ():
                inside = walk.enter(inside, name)
            for version in of_folder if inside else ():
                if walk.takes(inside, version.path.rpartition("/")[2], version.path):
                    yield version

    def _objects(self, folder: str, *, deep: bool) -> Iterator[FileVersion]:
        for page in self._pages(folder, deep=deep):
            for found in page.objects:
                if not found.key.endswith("/"):  # Some programs write an object as a placeholder of a folder.
                    yield self._version(found)

    def _version(self, found: Found) -> FileVersion:
        mtime_ns = found.modified_s * 1_000_000_000
        return FileVersion(path=f"{self.top}/{found.key}", size=found.size, mtime_ns=mtime_ns, etag=found.etag)

    def _pages(self, folder: str, *, deep: bool) -> Iterator[Page]:
        page = self.store.page(self._prefix(folder), deep=deep)
        yield page
        while page.more is not None:
            page = self.store.page(self._prefix(folder), deep=deep, more=page.more)
            yield page

    def open(self, version: FileVersion) -> OpenFile:
        return _OpenObject(self, version)

    # -- a target -------------------------------------------------------------------------------------------------

    def is_folder(self, path: str) -> bool:
        return bool(self.store.page(self._prefix(path), deep=True, most=1).objects)

    def exists(self, path: str) -> bool:
        return self.version(path) is not None

    def entries(self, folder: str) -> Sequence[Entry]:
        """Return the entries of a folder; empty if it does not exist, because a bucket has no empty folders."""
        found: list[Entry] = []
        for page in self._pages(folder, deep=False):
            keys = [(prefix.rstrip("/"), True) for prefix in page.folders]
            keys += [(each.key, False) for each in page.objects if not each.key.endswith("/")]
            found += [_entry(f"{self.top}/{key}", is_folder=is_folder) for key, is_folder in keys]
        return found

    def folders(self, root: str, without: str = "") -> Iterator[tuple[str, list[Entry]]]:
        """Yield folders from a single listing; a folder may occur more than once."""
        skipped = f"{root}/{without}/"
        paths = (version.path for version in self._objects(root, deep=True))
        kept = (path for path in paths if not without or not path.startswith(skipped))
        for folder, of_folder in groupby(kept, key=lambda path: path.rpartition("/")[0]):
            yield folder, [_entry(path, is_folder=False) for path in of_folder]

    def remove(self, path: str) -> bool:
        """Remove an object that the caller has just found. The server does not report whether the object existed."""
        self.store.delete([self.key(path)])
        return True

    def remove_folder(self, path: str) -> None:
        for page in self._pages(path, deep=True):
            if page.objects:
                self.store.delete([found.key for found in page.objects])

    def require_writable(self, path: str) -> bool:
        """Start an upload and abort it, which requires write permission and creates neither an object nor a version."""
        key = f"{self._prefix(path)}{STAGING}/{PROBE}{secrets.token_hex(8)}"
        self.store.abort(key, self.store.begin(key, ""))
        return True

    def move(self, path: str, to: str) -> None:
        """Copy an object to an unused name and remove the original; an interrupted call may already have copied it."""
        found = self.store.head(self.key(path))
        if self.version(to) is None:
            with suppress(FileExistsError):  # Another process was faster.
                self._copy(path, to, found.size)
        there = self.version(to)
        if there is None or there.size != found.size:
            raise TargetExistsError(errno.EEXIST, os.strerror(errno.EEXIST), to)
        self._consume(path, to)

    # -- staging and publishing -----------------------------------------------------------------------------------

    def make_staging(self, folder: str, root: str) -> None:
        """Check that the bucket exists and that no lifecycle rule removes staged objects. Create nothing."""
        self.store.require_writable(self._prefix(folder))
        for days in self.store.days_of_objects(self._prefix(folder)):
            logger.warning(
                "the bucket %s has a lifecycle rule that removes objects after %d days, so the staged output of a "
                "job that is stopped for longer is lost. Exclude %s from the rule, or extend its period",
                self.store.bucket,
                days,
                f"{root}/{STAGING}",
            )

    def prepare_staging(self, folder: str, root: str) -> None:
        """Write a note in place of a folder."""
        self.make_staging(folder, root)
        self.leave_note(f"{folder}/{PREPARED}")

    def is_prepared(self, folder: str) -> bool:
        return self.exists(f"{folder}/{PREPARED}")

    def unmark(self, folder: str) -> None:
        with suppress(OSError):
            self.remove(f"{folder}/{PREPARED}")

    def leave_note(self, path: str) -> None:
        self.store.put(self.key(path), NOTE)

    def stage(self, staged: str, target: str) -> StagedOutput:
        return StagedObject(self.store, self.key(staged), staged)

    def publish(self, staged: str, target: str, receipt: Mapping[str, Any]) -> None:
        """Copy the staged object, and remove it when the copy exists.

        No data is lost if the process or server is killed in between. If both objects exist, the copy was made by an
        earlier process, or by an earlier request with a lost response.
        """
        size = stored.number(receipt, "size")
        there = self._is(staged, target, size)
        if there is None:
            try:
                self._copy(staged, target, size)
            except FileExistsError:  # The response to a request was lost, or another process was faster.
                there = self._is(staged, target, size)
                if there is None:
                    raise OSError(errno.EIO, "the object no longer exists", target) from None
        if there is not None and not self.exists(staged):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), staged)
        if there is False:
            raise TargetExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
        self._consume(staged, target)

    def _consume(self, staged: str, target: str) -> None:
        """Remove a staged object after it was copied; the object counts as published only after this.

        Otherwise, if a consumer moved the target and the process was killed before the removal, the next process would
        publish the object again.
        """
        for tried in range(_REMOVALS):
            time.sleep(tried * _PAUSE_S)
            try:
                self.remove(staged)
            except OSError as error:
                said = error.strerror or str(error)
            else:
                return
        raise OSError(
            errno.EIO, (f"it was copied to its target, but the staged object cannot be removed: {said}"), target
        )

    def _copy(self, staged: str, target: str, size: int) -> None:
        if size <= LARGEST_COPY:
            self.store.copy(self.key(staged), self.key(target))
            return
        key = self.key(target)
        upload = self.store.begin(key, mark(staged))
        try:
            starts = range(0, size, LARGEST_COPY)
            spans = [(start, min(start + LARGEST_COPY, size)) for start in starts]
            etags = [
                self.store.send_copy(key, upload, number, self.key(staged), *span)
                for number, span in enumerate(spans, 1)
            ]
            complete(self.store, key, upload, etags, size, new=True)
        except OSError:
            with suppress(OSError):
                self.store.abort(key, upload)
            raise

    def _is(self, staged: str, target: str, size: int) -> bool | None:
        """Return True if the object at ``target`` is a copy of the staged object; ``None`` if there is no object."""
        try:
            found = self.store.head(self.key(target))
        except FileNotFoundError:
            return None
        return found.mark == mark(staged) and found.size == size

    def why_unknown(self, staged: str, target: str, receipt: Mapping[str, Any]) -> str:
        found = self._is(staged, target, stored.number(receipt, "size"))
        if found or (found is None and self.gone_is_published):
            return ""
        if found is None:
            return (
                f"the staged object {staged} and its target {target} no longer exist. Either the object was "
                "published and removed later, or it was removed before it was published (by a rule of the bucket, "
                "or manually), and its rows are lost. If you know that it was published, set missing_staged = "
                "published"
            )
        return f"{target} exists, but is not the object that was staged as {staged}; move {target} away"

    def discard(self, staged: str) -> bool:
        """Remove a staged object, and the unfinished upload of a failed task."""
        key = self.key(staged)
        for upload in list(self.store.uploads(key)):
            with suppress(FileNotFoundError):  # The upload was completed, or another process was faster.
                self.store.abort(key, upload)
        return self.remove(staged)


class _OpenObject(RemoteOpenFile):
    """An object that is open for reading. Every range is requested with the ETag of the listing."""

    def __init__(self, files: ObjectFileSystem, version: FileVersion) -> None:
        super().__init__(version)
        self._files = files
        try:
            self.require_same(files.version(version.path))
        except OSError as error:
            raise self._failed(error) from error

    def fetch(self, start: int, end: int) -> bytes:
        try:
            return self._files.store.get(self._files.key(self.version.path), start, end, self.version.etag)
        except FileExistsError:
            raise self.changed("it was rewritten") from None
        except OSError as error:
            raise self._failed(error) from error

    def check(self) -> None:
        """Do nothing: each range was read from the listed version."""

    def is_same(self, now: FileVersion) -> bool:
        return (now.size, now.etag) == (self.version.size, self.version.etag)

    def _failed(self, error: OSError) -> SourceError | SourceChangedError:
        if isinstance(error, FileNotFoundError):
            return self.changed("it no longer exists")
        found = SourceError(f"{self.version.path} cannot be read: {error.strerror or error}")
        found.retryable = error.errno == errno.EIO
        return found


def _entry(path: str, *, is_folder: bool) -> Entry:
    return Entry(name=path.rpartition("/")[2], path=path, is_folder=is_folder)
