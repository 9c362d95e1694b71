"""Files of servers that fsspec has a client for and that rename a file in one step.

What is staged lies beside what is published, in the same file system, and is renamed as local files are. fsspec's
clients keep their connection for the life of a process, one for each set of options.
"""

import datetime as dt
import errno
import ftplib
import importlib
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

import pyarrow as pa
from attrs import define, field, frozen

from seatunnel_core.connectors.filesystems.filesystem import Entry, FileVersion, OpenFile, Receipt, StagedOutput
from seatunnel_core.connectors.filesystems.remote import CopiedOutput, RemoteFileSystem, RemoteOpenFile
from seatunnel_core.connectors.filesystems.rename import TargetExistsError
from seatunnel_core.errors import SourceError, UsageError


@frozen(kw_only=True)
class Protocol:
    """The client of fsspec for one kind of server that renames a file in one step."""

    module: str
    kind: str
    """The class in the module. It is not looked up in fsspec's registry, where other packages may replace it."""

    rename: Callable[[Any, str, str], None] = field(repr=False)
    """Renames with a client of the class: fsspec's own ``mv`` copies unless a class overrides it."""

    package: str = "fsspec"
    """What has to be installed, by the name of its module."""

    login: str = "user and password"
    """The options with which the user logs in."""

    real: Callable[[Any, str], str] | None = None
    """Returns the path without links, if the server has links."""

    shared: bool = True
    """Whether files may be open while a connection serves another request. A file may be begun in one thread and
    finished in another, which then takes turns with the first: no client keeps the answers for two threads apart."""


def _rename_in_memory(client: Any, old: str, new: str) -> None:
    if not client.isdir(new.rpartition("/")[0]) or not client.exists(old):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), new)
    for path in [path for path in client.store if path == old or path.startswith(f"{old}/")]:
        client.store[new + path[len(old) :]] = client.store.pop(path)
    client.pseudo_dirs[:] = [
        new + path[len(old) :] if path == old or path.startswith(f"{old}/") else path for path in client.pseudo_dirs
    ]


PROTOCOLS: Mapping[str, Protocol] = {
    "sftp": Protocol(
        module="fsspec.implementations.sftp",
        kind="SFTPFileSystem",
        rename=lambda client, old, new: client.ftp.posix_rename(old, new),
        real=lambda client, path: str(client.ftp.normalize(path)),
        package="paramiko",
        login="user, password and private_key_path",
    ),
    "ftp": Protocol(
        module="fsspec.implementations.ftp",
        kind="FTPFileSystem",
        rename=lambda client, old, new: client.ftp.rename(old, new),
        shared=False,
    ),
    "memory": Protocol(module="fsspec.implementations.memory", kind="MemoryFileSystem", rename=_rename_in_memory),
}

_connected = threading.local()
"""The connections of one thread. Other threads use them for the files that were begun on them."""


@define(eq=False)
class _Connection:
    client: Any
    """fsspec's own client, connected."""

    turn: Any = field(factory=threading.RLock)
    """Held by whoever sends a request, until it is answered."""

    lost: bool = False

    def lose(self) -> None:
        """Mark the connection as lost, so that the next request opens another one."""
        self.lost = True
        if isinstance(connection := getattr(self.client, "ftp", None), ftplib.FTP):
            connection.close()  # no server is told; else Python would, of a socket that nobody had closed


@frozen(kw_only=True)
class FsspecFileSystem(RemoteFileSystem):
    """One server, as one user."""

    protocol: str
    """One of ``PROTOCOLS``."""

    options: Mapping[str, Any] = field(factory=dict, repr=False)
    """The arguments of fsspec's class; some are secret."""

    top: str = "/"
    schemes: tuple[str, ...] = ()

    @property
    def task_modules(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(dict.fromkeys(("fsspec", PROTOCOLS[self.protocol].package)))

    @property
    def _connection(self) -> _Connection:
        """The connection of this thread.

        Raises:
            UsageError: a package is missing.
            OSError: the server cannot be reached, or refuses the user.
        """
        connections: dict[str, _Connection] = _connected.__dict__
        key = self._key
        if key not in connections or connections[key].lost:
            known = PROTOCOLS[self.protocol]
            try:
                kind = getattr(importlib.import_module(known.module), known.kind)
            except ImportError as error:
                raise UsageError(
                    f"files over {self.protocol} need {known.package}: run pip install {known.package}"
                ) from error
            with self._told(self.top):
                connections[key] = _Connection(kind(skip_instance_cache=True, **self.options))
        return connections[key]

    @property
    def _key(self) -> str:
        """The key of a connection; it names the process, because a fork must not use the connection of its parent."""
        return repr((os.getpid(), self.protocol, sorted(self.options.items())))

    def within(self, path: str) -> str:
        """Return the path as the server knows it."""
        return path[len(self.top) :] or "/"

    @contextmanager
    def _asking(self, path: str, connection: _Connection | None = None) -> Iterator[Any]:
        """Lend the client of fsspec for one request about a path, exclusively."""
        connection = connection or self._connection
        try:
            with self._told(path), connection.turn:
                yield connection.client
        except OSError as error:
            if error.errno == errno.EIO:
                connection.lose()
            raise

    @contextmanager
    def _told(self, path: str) -> Iterator[None]:
        """Translate errors of fsspec and its packages into ``OSError``, with our form of the path."""
        try:
            yield
        except FileNotFoundError as error:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from error
        except Exception as error:
            number = _number(error)
            known = isinstance(error, OSError) and error.errno == number
            words = os.strerror(number) if known else _first_line(error)
            if path == self.top:  # nothing was asked for yet but to come in
                words += f". Correct {PROTOCOLS[self.protocol].login if number == errno.EACCES else 'host and port'}"
            raise OSError(number, words, path) from error

    # -- listing and reading --------------------------------------------------------------------------------------

    def _info(self, path: str) -> Mapping[str, Any] | None:
        try:
            with self._asking(path) as client:
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
        with self._asking(path) as client:
            return self.top + real(client, self.within(path))

    def _listed(self, folder: str) -> dict[str, Mapping[str, Any]]:
        """Return the infos of a folder by name; of a link that of its target, or its own if it is broken."""
        with self._asking(folder) as client:
            found = client.ls(self.within(folder), detail=True)
            return {info["name"].rstrip("/").rpartition("/")[2]: _followed(client, info) for info in found}

    def open(self, version: FileVersion) -> OpenFile:
        return _FsspecOpenFile(self, version)

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
            with self._asking(path) as client:
                client.rm_file(self.within(path))
        except FileNotFoundError:
            return False
        return True

    def remove_folder(self, path: str) -> None:
        with self._asking(path) as client:
            client.rm(self.within(path), recursive=True)

    def move(self, path: str, to: str) -> None:
        """Rename, and raise ``FileNotFoundError`` for a missing path: servers report that in different ways."""
        try:
            self._rename(path, to)
        except OSError:
            if self.exists(path) and self.is_folder(to.rpartition("/")[0]):
                raise
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from None

    def remove_if_empty(self, folder: str) -> bool:
        try:
            with self._asking(folder) as client:
                client.rmdir(self.within(folder))
        except Exception:  # it is not empty, or not there, or the server is not
            return False
        return True

    # -- staging and publishing -----------------------------------------------------------------------------------

    def make_staging(self, folder: str, root: str) -> None:
        self._make_folder(folder)

    def _make_folder(self, folder: str) -> None:
        with self._asking(folder) as client:
            client.makedirs(self.within(folder), exist_ok=True)

    def leave_note(self, path: str) -> None:
        with self._asking(path) as client:
            client.pipe_file(self.within(path), b"")

    def stage(self, staged: str, target: str) -> StagedOutput:
        if not PROTOCOLS[self.protocol].shared:
            return CopiedOutput(lambda copy, size: self._send(staged, copy))
        return _FsspecOutput(self, staged)

    def _send(self, staged: str, copy: BinaryIO) -> Receipt:
        with self._asking(staged) as client, client.open(self.within(staged), "wb") as content:
            shutil.copyfileobj(copy, content, 1 << 20)
        return Receipt(size=self.size(staged))

    def size(self, path: str) -> int:
        """Return the size in bytes of a file that has just been written."""
        found = self.version(path)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return found.size

    def publish(self, staged: str, target: str, receipt: Mapping[str, Any]) -> None:
        """Rename the file after checking that there is no target: the rename itself would replace it.

        Between the two nothing of ours can appear there, because no two of our files share a name.
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
        with self._asking(old) as client:
            PROTOCOLS[self.protocol].rename(client, self.within(old), self.within(new))

    def why_unknown(self, staged: str, target: str, receipt: Mapping[str, Any]) -> str:
        folder = staged.rpartition("/")[0]
        if self.is_folder(folder):
            return ""
        return (
            f"the staging folder {folder} is gone, so it cannot be told whether {target} was published; is this the "
            "same server and the same folder?"
        )

    def discard(self, staged: str) -> bool:
        return self.remove(staged)


class _FsspecOpenFile(RemoteOpenFile):
    def __init__(self, files: FsspecFileSystem, version: FileVersion) -> None:
        super().__init__(version)
        self._files = files
        try:
            self.check()
            self._connection = files._connection
            with files._asking(version.path, self._connection) as client:
                self._content = client.open(files.within(version.path), "rb", cache_type="none")
        except OSError as error:
            raise self._failed(error) from error

    def fetch(self, start: int, end: int) -> bytes:
        parts, place = [], start
        try:
            with self._files._asking(self.version.path, self._connection):
                self._content.seek(start)
                while place < end and (part := self._content.read(end - place)):
                    parts.append(part)
                    place += len(part)
        except OSError as error:
            raise self._failed(error) from error
        return b"".join(parts)

    def check(self) -> None:
        now = self._files.version(self.version.path)
        if now is None:
            raise self.changed("it is not there any more")
        if now != self.version:
            raise self.changed(f"it had {self.version.size} bytes and now has {now.size}, or was written again")

    def _failed(self, error: OSError) -> SourceError:
        found = SourceError(f"{self.version.path} cannot be read: {error.strerror or error}")
        found.retryable = error.errno not in (errno.ENOENT, errno.EACCES, errno.EPERM)
        return found

    def close(self) -> None:
        super().close()
        with self._connection.turn:
            self._content.close()


class _FsspecOutput(StagedOutput):
    def __init__(self, files: FsspecFileSystem, path: str) -> None:
        self._files = files
        self._path = path
        self._connection = files._connection
        self.stream = pa.PythonFile(_Staged(files, path, self._connection), mode="w")

    def finish(self) -> Receipt:
        with self._files._asking(self._path, self._connection) as client:
            return Receipt(size=int(client.info(self._files.within(self._path))["size"]))


class _Staged:
    """A file object that takes turns with the other requests of its connection.

    It is not a class of ``io``: Python closes forgotten objects of these by itself. That would send a request, perhaps
    within another one of the same thread, whose answer would be lost.
    """

    def __init__(self, files: FsspecFileSystem, path: str, connection: _Connection) -> None:
        self.closed = False
        self._files = files
        self._path = path
        self._connection = connection
        with files._asking(path, connection) as client:
            self._content = client.open(files.within(path), "wb")

    def write(self, data: Any) -> int:
        with self._files._asking(self._path, self._connection):
            self._content.write(data)
        return len(data)

    def flush(self) -> None:
        with self._files._asking(self._path, self._connection):
            self._content.flush()

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            with self._files._asking(self._path, self._connection):
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
    if isinstance(moment, str):  # of FTP: 20240131120000
        return _nanoseconds(dt.datetime.strptime(moment[:14], "%Y%m%d%H%M%S"))
    return round(float(moment) * 1_000_000) * 1000  # a float has no more


def _number(error: Exception) -> int:
    """Return the error number of an exception: ``EIO`` for what may pass, such as a closed connection."""
    if "Authentication" in type(error).__name__ or isinstance(error, (TypeError, ValueError)):
        return errno.EACCES
    if str(error).startswith("530") or "private key" in str(error):  # of FTP, and of paramiko
        return errno.EACCES
    if isinstance(error, OSError) and not isinstance(error, (ConnectionError, TimeoutError)):
        return max(error.errno or 0, 0) or errno.EIO  # the numbers of a name that is not known are below 0
    return errno.EIO


def _first_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300].rstrip(". ")
