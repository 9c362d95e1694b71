"""Files on one server. Staged files are on the same server as the target, and are published by a rename."""

import datetime as dt
import errno
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

import pyarrow as pa
from attrs import field, frozen

from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connectors.filesystems.filesystem import Entry, FileVersion, OpenFile, Receipt, StagedOutput
from seatunnel_core.connectors.filesystems.fsspec.connection import Connection, connection_of, os_errors
from seatunnel_core.connectors.filesystems.fsspec.protocols import PROTOCOLS
from seatunnel_core.connectors.filesystems.remote import CopiedOutput, RemoteFileSystem, RemoteOpenFile
from seatunnel_core.connectors.filesystems.rename import TargetExistsError


@frozen(kw_only=True)
class FsspecFileSystem(RemoteFileSystem):
    """Files of one server, accessed as one user."""

    protocol: str
    """Key in ``PROTOCOLS``."""

    options: Mapping[str, Any] = field(factory=dict, repr=False)
    """Arguments of fsspec's class, including secrets."""

    top: str = "/"
    schemes: tuple[str, ...] = ()

    @property
    def task_modules(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(dict.fromkeys(("fsspec", PROTOCOLS[self.protocol].package)))

    @property
    def connection(self) -> Connection:
        """Return the connection of this thread."""
        return connection_of(self.protocol, self.options, self.top)

    def within(self, path: str) -> str:
        """Return the path in the form that the server uses."""
        return path[len(self.top) :] or "/"

    @contextmanager
    def asking(self, path: str, connection: Connection | None = None) -> Iterator[Any]:
        """Yield the fsspec client for one request. After an ``EIO`` error, mark the connection as lost."""
        connection = connection or self.connection
        try:
            with os_errors(path), connection.turn:
                yield connection.client
        except OSError as error:
            if error.errno == errno.EIO:
                connection.lose()
            raise

    # -- listing and reading --------------------------------------------------------------------------------------

    def _info(self, path: str) -> Mapping[str, Any] | None:
        try:
            with self.asking(path) as client:
                found: Mapping[str, Any] = client.info(self.within(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        return found

    def version(self, path: str) -> FileVersion | None:
        found = self._info(path)
        return None if found is None or found["type"] == "directory" else _version(path, found)

    def real(self, path: str) -> str:
        real = PROTOCOLS[self.protocol].real
        if real is None:
            return path
        with self.asking(path) as client:
            return self.top + real(client, self.within(path))

    def _listed(self, folder: str) -> dict[str, Mapping[str, Any]]:
        """Return fsspec's entries of a folder, keyed by name. A link that is not broken has the entry of its target."""
        with self.asking(folder) as client:
            found = client.ls(self.within(folder), detail=True)
            return {info["name"].rstrip("/").rpartition("/")[2]: _followed(client, info) for info in found}

    def open(self, version: FileVersion) -> OpenFile:
        return _OpenFile(self, version)

    # -- a target -------------------------------------------------------------------------------------------------

    def is_folder(self, path: str) -> bool:
        found = self._info(path)
        return found is not None and found["type"] == "directory"

    def exists(self, path: str) -> bool:
        return self._info(path) is not None

    def entries(self, folder: str) -> Sequence[Entry]:
        return [_entry(f"{folder.rstrip('/')}/{name}", name, info) for name, info in self._listed(folder).items()]

    def remove(self, path: str) -> bool:
        try:
            with self.asking(path) as client:
                client.rm_file(self.within(path))
        except FileNotFoundError:
            return False
        return True

    def remove_folder(self, path: str) -> None:
        with self.asking(path) as client:
            client.rm(self.within(path), recursive=True)

    def move(self, path: str, to: str) -> None:
        """Rename; raise ``FileNotFoundError`` for a missing path, which servers report in different ways."""
        try:
            self._rename(path, to)
        except OSError:
            if self.exists(path) and self.is_folder(to.rpartition("/")[0]):
                raise
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from None

    def remove_if_empty(self, folder: str) -> bool:
        try:
            with self.asking(folder) as client:
                client.rmdir(self.within(folder))
        except Exception:  # The folder is not empty or does not exist, or the server is unreachable.
            return False
        return True

    # -- staging and publishing -----------------------------------------------------------------------------------

    def make_staging(self, folder: str, root: str) -> None:
        self._make_folder(folder)

    def _make_folder(self, folder: str) -> None:
        with self.asking(folder) as client:
            client.makedirs(self.within(folder), exist_ok=True)

    def leave_note(self, path: str) -> None:
        with self.asking(path) as client:
            client.pipe_file(self.within(path), b"")

    def stage(self, staged: str, target: str) -> StagedOutput:
        if not PROTOCOLS[self.protocol].shared:
            return CopiedOutput(lambda copy, size: self._send(staged, copy))
        return _Output(self, staged)

    def _send(self, staged: str, copy: BinaryIO) -> Receipt:
        with self.asking(staged) as client, client.open(self.within(staged), "wb") as content:
            shutil.copyfileobj(copy, content, 1 << 20)
        return Receipt(size=self.size(staged))

    def size(self, path: str) -> int:
        """Return the size of a file that has just been written, in bytes."""
        found = self.version(path)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return found.size

    def publish(self, staged: str, target: str, receipt: Mapping[str, Any]) -> None:
        """Rename the file after checking that the target does not exist, because the rename would replace it.

        No other task creates the target between the check and the rename, because file names are unique.
        """
        if self.exists(target):
            if not self.exists(staged):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), staged)
            raise TargetExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
        try:
            self._rename(staged, target)
        except OSError:
            if not self.exists(staged):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), staged) from None
            self._make_folder(target.rpartition("/")[0])
            self._rename(staged, target)

    def _rename(self, old: str, new: str) -> None:
        with self.asking(old) as client:
            PROTOCOLS[self.protocol].rename(client, self.within(old), self.within(new))

    def why_unknown(self, staged: str, target: str, receipt: Mapping[str, Any]) -> str:
        return self.not_prepared(staged, target)

    def discard(self, staged: str) -> bool:
        return self.remove(staged)


class _OpenFile(RemoteOpenFile):
    """A file on a server that is open for reading."""

    def __init__(self, files: FsspecFileSystem, version: FileVersion) -> None:
        super().__init__(version)
        self._files = files
        try:
            self.check()
            self._connection = files.connection
            with files.asking(version.path, self._connection) as client:
                self._content = client.open(files.within(version.path), "rb", cache_type="none")
        except OSError as error:
            raise self._failed(error) from error

    def fetch(self, start: int, end: int) -> bytes:
        parts, place = [], start
        try:
            with self._files.asking(self.version.path, self._connection):
                self._content.seek(start)
                while place < end and (part := self._content.read(end - place)):
                    parts.append(part)
                    place += len(part)
        except OSError as error:
            raise self._failed(error) from error
        return b"".join(parts)

    def check(self) -> None:
        self.require_same(self._files.version(self.version.path))

    def _failed(self, error: OSError) -> SourceError:
        found = SourceError(f"{self.version.path} cannot be read: {error.strerror or error}")
        found.retryable = error.errno not in (errno.ENOENT, errno.EACCES, errno.EPERM)
        return found

    def close(self) -> None:
        super().close()
        with self._connection.turn:
            self._content.close()


class _Output(StagedOutput):
    """A file that is staged on the server while the task writes it."""

    def __init__(self, files: FsspecFileSystem, path: str) -> None:
        self._files = files
        self._path = path
        self._connection = files.connection
        self.stream = pa.PythonFile(_StagedFile(files, path, self._connection), mode="w")

    def finish(self) -> Receipt:
        with self._files.asking(self._path, self._connection) as client:
            return Receipt(size=int(client.info(self._files.within(self._path))["size"]))


class _StagedFile:
    """A file object that shares its connection with other requests.

    It does not derive from the classes of ``io``, which Python closes on garbage collection: that would send a request,
    possibly in the middle of another request of the same thread, which would lose its response.
    """

    def __init__(self, files: FsspecFileSystem, path: str, connection: Connection) -> None:
        self.closed = False
        self._files = files
        self._path = path
        self._connection = connection
        with files.asking(path, connection) as client:
            self._content = client.open(files.within(path), "wb")

    def write(self, data: Any) -> int:
        with self._files.asking(self._path, self._connection):
            self._content.write(data)
        return len(data)

    def flush(self) -> None:
        with self._files.asking(self._path, self._connection):
            self._content.flush()

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            with self._files.asking(self._path, self._connection):
                self._content.close()


def _followed(client: Any, info: Mapping[str, Any]) -> Mapping[str, Any]:
    if info["type"] != "link":
        return info
    with suppress(FileNotFoundError):
        return {**client.info(info["name"]), "is_link": True}
    return {**info, "is_link": True}


def _entry(path: str, name: str, info: Mapping[str, Any]) -> Entry:
    is_file = info["type"] not in ("directory", "link")
    return Entry(
        name=name,
        path=path,
        is_folder=info["type"] == "directory",
        is_link=info.get("is_link", False),
        version=_version(path, info) if is_file else None,
    )


def _version(path: str, info: Mapping[str, Any]) -> FileVersion:
    moment = next((info[key] for key in ("mtime", "modified", "modify", "LastModified", "created") if key in info), 0)
    etag = info.get("ETag") or info.get("etag") or ""
    return FileVersion(path=path, size=int(info["size"] or 0), mtime_ns=_nanoseconds(moment), etag=str(etag))


def _nanoseconds(moment: Any) -> int:
    if isinstance(moment, dt.datetime):
        aware = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
        return (aware - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1) * 1000
    if isinstance(moment, str):  # The format of FTP: 20240131120000.
        return _nanoseconds(dt.datetime.strptime(moment[:14], "%Y%m%d%H%M%S"))
    return round(float(moment) * 1_000_000) * 1000  # A float is not more precise.
