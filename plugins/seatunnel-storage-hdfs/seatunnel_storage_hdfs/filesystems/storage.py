"""Checkpoints on an fsspec file system, with conditional puts or a single writer."""

import contextlib
import datetime
import os
import secrets
import threading
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from fsspec.dircache import DirCache

from seatunnel_storage_api.blob import Blob, BlobStorage
from seatunnel_storage_api.errors import CheckpointStorageError, StorageAccessError, StorageUnavailableError
from seatunnel_storage_api.layout import TEMPORARY_FOLDER
from seatunnel_storage_api.retry import Backoff
from seatunnel_storage_api.secret import masked
from seatunnel_storage_hdfs.filesystems.protocols import ConditionalPut
from seatunnel_storage_hdfs.probe import never_overwrites, probe

_MOMENTS = ("mtime", "last_modified", "LastModified", "updated", "created")
"""Keys under which file systems report the modification time, most common first."""

_LOCKS = tuple(threading.Lock() for _ in range(64))
"""Locks of all storages of this process, assigned by path."""


class FileSystemStorage(BlobStorage):
    """Storage of blobs as files below the namespace; for an object store, the namespace starts with the bucket.

    ``open_file_system`` is called again when a connection was lost. No message contains the values in ``hidden``.
    """

    def __init__(
        self,
        *,
        kind: str,
        open_file_system: Callable[[], Any],
        hidden: Collection[str],
        namespace: str,
        max_retained: int,
        backoff: Backoff | None = None,
    ) -> None:
        super().__init__(backend=f"{kind} by fsspec", namespace=namespace, max_retained=max_retained, backoff=backoff)
        self._kind = kind
        self._open_file_system = open_file_system
        self._hidden = hidden
        self._opening = threading.Lock()
        self._turn = threading.Lock()
        self._opened: Any = None

    def locate(self, key: str) -> str:
        return f"{self._kind}:/{self.namespace}{key}"

    def read(self, key: str) -> bytes | None:
        with self._file_system() as files:
            try:
                body: bytes = files.cat_file(self._path(key))
            except FileNotFoundError:
                return None
        return body

    def list_blobs(self, prefix: str) -> Iterable[Blob]:
        with self._file_system() as files:
            return [self._blob(entry) for entry in self._entries(files, prefix)]

    def _blob(self, entry: dict[str, Any]) -> Blob:
        key = str(entry["name"]).lstrip("/").removeprefix(self._path("").lstrip("/"))
        return Blob(key=key, size_bytes=entry["size"], modified_at=_modified(entry))

    @abstractmethod
    def _entries(self, files: Any, prefix: str) -> Iterable[dict[str, Any]]:
        """Return fsspec's description of every file below ``prefix``."""

    def delete(self, keys: Iterable[str]) -> None:
        with self._file_system() as files:
            for key in keys:
                with contextlib.suppress(FileNotFoundError):
                    files.rm_file(self._path(key))

    def close(self) -> None:
        self._drop()
        super().close()

    def probe(self) -> None:
        """Test the operations of a checkpoint with one fixed key: put, read, list and delete."""
        probe(self, self._require_put_if_absent)

    def _require_put_if_absent(self) -> None:
        if not never_overwrites(self):
            raise StorageAccessError(
                "a second put replaced the first instead of failing: two engines could overwrite each other's "
                "checkpoints here. Install a newer version of its package, or choose another location"
            )

    def _path(self, key: str) -> str:
        """Return the path of a key in the form that the file system expects."""
        return self.namespace + key

    @contextlib.contextmanager
    def _file_system(self) -> Iterator[Any]:
        """Yield the file system, or a new one after an error that may have closed its connection.

        Only asynchronous file systems are used by several threads at once. Others are not thread-safe, and paramiko
        deadlocks when two threads send requests.
        """
        with translated(self._hidden):
            with self._opening:
                if self._opened is None:
                    self._opened = self._open_file_system()
                    self._opened.dircache = DirCache(use_listings_cache=False)  # of another thread's listing
                files = self._opened
            with contextlib.nullcontext() if files.async_impl else self._turn:
                try:
                    yield files
                except (FileNotFoundError, FileExistsError, CheckpointStorageError):
                    raise
                except Exception:
                    if not files.async_impl:
                        self._drop()
                    raise

    def _drop(self) -> None:
        with self._opening:
            files, self._opened = self._opened, None
        close = getattr(getattr(files, "client", None), "close", None)  # paramiko; others close when collected
        if close is not None:
            close()


class ConditionalStorage(FileSystemStorage):
    """Storage on a server that rejects puts of existing keys. The client itself retries requests for up to a minute."""

    def __init__(self, conditional: ConditionalPut, **more: Any) -> None:
        super().__init__(backoff=Backoff(attempts=2), **more)
        self._conditional = conditional

    def put_if_absent(self, key: str, body: bytes) -> bool:
        with self._file_system() as files:
            try:
                files.pipe_file(self._path(key), body, mode="create", **self._conditional.arguments(body))
            except FileExistsError:
                return False
        return True

    def _path(self, key: str) -> str:
        """Return the path without its leading "/", because it starts with a bucket or container instead of a folder."""
        return super()._path(key).lstrip("/")

    def _entries(self, files: Any, prefix: str) -> Iterable[dict[str, Any]]:
        found = files.find(self._path(prefix), detail=True)
        return [entry for entry in found.values() if entry["type"] == "file"]


class SingleWriterStorage(FileSystemStorage):
    """Storage on file systems without a conditional put. Correct only if a single process writes.

    A put writes a file in ``.tmp/`` next to the target, checks that the target does not exist, and moves the file
    there. Readers see whole files if the file system's move is atomic.
    """

    def locate(self, key: str) -> str:
        return f"{self._kind}://{self.namespace}{key}"

    def put_if_absent(self, key: str, body: bytes) -> bool:
        with self._file_system() as files:
            path = self._path(key)
            folder, _, name = path.rpartition("/")
            with _LOCKS[hash(path) % len(_LOCKS)]:
                if _exists(files, path):
                    return False
                temporary = f"{folder}/{TEMPORARY_FOLDER}/{name}.{os.getpid()}-{secrets.token_hex(4)}"
                _write_in_folder(files, temporary, body)
                _move(files, temporary, path)
        return True

    def _entries(self, files: Any, prefix: str) -> Iterator[dict[str, Any]]:
        """List folder by folder, because ``find`` treats unreadable folders as empty."""
        yield from _files(files, self._path(prefix).rstrip("/") or "/", top=not prefix)

    def unfinished(self, prefix: str) -> Iterable[Blob]:
        with self._file_system() as files:
            found = _files(files, self._path(prefix).rstrip("/") or "/", top=not prefix, hidden=True)
            return [blob for blob in map(self._blob, found) if f"/{TEMPORARY_FOLDER}/" in blob.key]

    def sweep_unfinished(self, folder: str, before: str) -> None:
        with self._file_system() as files:
            for entry in _listed(files, self._path(folder + TEMPORARY_FOLDER)):
                if str(entry["name"]).rpartition("/")[2] < before:
                    with contextlib.suppress(FileNotFoundError):
                        files.rm_file(entry["name"])


def _exists(files: Any, path: str) -> bool:
    """Return True if a path exists. fsspec's ``exists`` reports every failure as ``False``."""
    try:
        files.info(path)
    except FileNotFoundError:
        return False
    return True


def _write_in_folder(files: Any, path: str, body: bytes) -> None:
    """Write a file; create its folder only if it is missing, which happens once per pipeline."""
    try:
        files.pipe_file(path, body)
    except FileNotFoundError:
        files.makedirs(path.rpartition("/")[0], exist_ok=True)
        files.pipe_file(path, body)


def _move(files: Any, temporary: str, path: str) -> None:
    """Move a file to its final name; raise ``StorageUnavailableError`` if it no longer exists.

    A claim removes the unfinished files of older engines, even of live ones. A live engine must then write its file
    again, and detects that it was superseded.
    """
    try:
        files.mv(temporary, path)
    except FileNotFoundError as cause:
        raise StorageUnavailableError(
            f"{temporary} was removed before it was renamed. Find the other program that writes to this "
            "namespace, and try again"
        ) from cause


def _files(files: Any, folder: str, *, top: bool, hidden: bool = False) -> Iterator[dict[str, Any]]:
    """List the files below a folder; ``hidden`` includes unfinished files."""
    for entry in _listed(files, folder):
        name = str(entry["name"]).rstrip("/").rpartition("/")[2]
        if entry["type"] != "directory":
            yield entry
        elif hidden or name != TEMPORARY_FOLDER or top:  # directly below the namespace it is a job of that name
            yield from _files(files, f"{folder}/{name}", top=False, hidden=hidden)


def _listed(files: Any, folder: str) -> list[dict[str, Any]]:
    try:
        return list(files.ls(folder, detail=True))
    except FileNotFoundError:
        return []


def _modified(entry: dict[str, Any]) -> float | None:
    moment = next((entry[name] for name in _MOMENTS if entry.get(name) is not None), None)
    if isinstance(moment, datetime.datetime):
        return moment.timestamp()
    return float(moment) if isinstance(moment, int | float) else None


_FINAL_STATUSES = frozenset({400, 401, 403, 404, 405, 409})
_FINAL_CLASSES = (
    *("AuthenticationException", "BadHostKeyException", "ClientAuthenticationError", "DefaultCredentialsError"),
    *("RefreshError", "PasswordRequiredException", "TypeError", "ValueError"),
)
"""Names of exception classes for permanent errors; the packages that define them may not be installed."""


@contextlib.contextmanager
def translated(secrets: Collection[str]) -> Iterator[None]:
    """Convert errors of a file system to storage errors; operating-system errors keep their number.

    ``secrets`` are removed from the messages.

    Raises:
        StorageUnavailableError: The failure is retryable.
        StorageAccessError: The failure is permanent.
    """
    try:
        yield
    except CheckpointStorageError:
        raise
    except Exception as cause:  # a file system is third-party code: it may raise anything
        if isinstance(cause, OSError) and cause.errno is not None and not isinstance(cause, FileNotFoundError):
            raise
        text = f"{type(cause).__name__}: {_first_line(str(cause))}"
        clean = masked(text, secrets)
        raise _meaning(cause, clean) from (cause if clean == text else None)


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or ["no details available"])[0][:500].rstrip(".")


def _meaning(cause: Exception, said: str) -> StorageUnavailableError | StorageAccessError:
    if isinstance(cause, FileNotFoundError) or _status(cause) == 404:
        return StorageAccessError(
            f"{said}. Create the bucket, container or folder with which the namespace starts, or correct the namespace"
        )
    refused = _status(cause) in _FINAL_STATUSES or "Forbidden" in said or "known_hosts" in said
    if refused or any(each.__name__ in _FINAL_CLASSES for each in type(cause).__mro__):
        return StorageAccessError(
            f"{said}. Check the options fs.<storage.type>.* of plugin-config, and that this user may read, write, list "
            "and delete there"
        )
    return StorageUnavailableError(f"{said}. Check that the server is up and can be reached from here, then try again")


def _status(cause: Exception) -> int | None:
    """Return the status of an HTTP response, from whichever attribute the client stores it in."""
    found = (getattr(cause, name, None) for name in ("status_code", "status", "code"))
    return next((int(each) for each in found if isinstance(each, int | str) and str(each).isdigit()), None)
