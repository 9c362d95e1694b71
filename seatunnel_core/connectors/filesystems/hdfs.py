"""HDFS files over WebHDFS, without Java; supports two NameNodes. The checkpoint storage uses the same client.

An HDFS rename is atomic and never replaces another file, and each file has a permanent number. Therefore a repeated
commit recognizes its file even if the response to the first attempt was lost.
"""

import errno
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, TypeVar

from attrs import field, frozen

from seatunnel_core import stored
from seatunnel_core.connector_api.errors import SourceChangedError, SourceError
from seatunnel_core.connectors.filesystems.filesystem import Entry, FileVersion, OpenFile, Receipt, StagedOutput
from seatunnel_core.connectors.filesystems.remote import CopiedOutput, RemoteFileSystem, RemoteOpenFile
from seatunnel_core.connectors.filesystems.rename import TargetExistsError
from seatunnel_core.connectors.filesystems.server_clients import client_of, os_errors
from seatunnel_core.connectors.filesystems.staged_name import PROBE
from seatunnel_storage_api.errors import CheckpointStorageError
from seatunnel_storage_api.retry import Backoff

if TYPE_CHECKING:
    from seatunnel_core.clients.webhdfs.client import WebHdfs

Answer = TypeVar("Answer")

_FIRST = Backoff()
"""Retry limit of the first request: the address may be wrong, and the user is waiting for the response."""

_PATIENCE = Backoff(attempts=40, first_wait_ms=100, longest_wait_ms=3_000)
"""Retry limit of about 75 s, enough to fail over to the other NameNode or to restart a DataNode.

After a failover, the NameNode may reserve a file that was being written for another minute (the soft limit of leases).
"""

OPTION_NAMES = {
    "kerberosKeytabFilePath": "kerberos_keytab_path",
    "kerberosPrincipal": "kerberos_principal",
    "hadoop.user.name": "remote_user",
    "Set another namespace in plugin-config": "Write another path",
    "Check the keys in plugin-config": "Check the options",
    "<namespace>": "<path>",
    " in plugin-config": "",
}
"""Mapping from the names that the storage uses in messages to option names of the connector."""


def _responding(configuration: Mapping[str, str]) -> "WebHdfs":
    from seatunnel_core.clients.webhdfs import connection

    made = connection.connect(configuration)
    _FIRST.call(lambda: made.status("/"))
    return made


@frozen(kw_only=True)
class HdfsFileSystem(RemoteFileSystem):
    """Files of one HDFS cluster, accessed as one user."""

    top: str
    """``hdfs://host:port``, or ``hdfs://nameservice``."""

    configuration: Mapping[str, str] = field(repr=False)
    """Values of the options, under the keys that the checkpoint storage uses."""

    gives_receipts: ClassVar[bool] = True
    publishes_at_once: ClassVar[int] = 8
    task_modules: ClassVar[tuple[str, ...]] = ("hdfs", "requests")

    @property
    def schemes(self) -> tuple[str, ...]:  # type: ignore[override]
        return (f"webhdfs://{self.top.partition('://')[2]}",)

    def _client(self) -> "WebHdfs":
        """Return this process's shared client for the cluster, after checking that the cluster responds."""
        return client_of(self.configuration, _responding)

    def _ask(self, path: str, question: Callable[["WebHdfs", str], Answer], patience: Backoff = _PATIENCE) -> Answer:
        """Send a request about a path; retry temporary failures, then raise ``OSError``."""
        with os_errors(path, OPTION_NAMES, _number):
            client = self._client()
            return patience.call(lambda: question(client, self.within(path)))

    def within(self, path: str) -> str:
        """Return the path in the form that the cluster uses."""
        return path[len(self.top) :] or "/"

    # -- listing and reading --------------------------------------------------------------------------------------

    def _status(self, path: str) -> Mapping[str, Any] | None:
        return self._ask(path, lambda client, within: client.status(within))

    def version(self, path: str) -> FileVersion | None:
        found = self._status(path)
        return None if found is None or found["type"] == "DIRECTORY" else _version(path, found)

    def _listed(self, folder: str) -> dict[str, Mapping[str, Any]]:
        found = self._ask(folder, lambda client, within: client.entries(within))
        return {each["pathSuffix"]: each for each in found}

    def open(self, version: FileVersion) -> OpenFile:
        return _HdfsOpenFile(self, version)

    def range(self, path: str, start: int, end: int) -> bytes | None:
        """Return a range of bytes of a file; ``None`` if the file does not exist."""
        return self._ask(path, lambda client, within: client.read(within, start=start, length=end - start))

    # -- a target -------------------------------------------------------------------------------------------------

    def is_folder(self, path: str) -> bool:
        found = self._status(path)
        return found is not None and found["type"] == "DIRECTORY"

    def exists(self, path: str) -> bool:
        return self._status(path) is not None

    def entries(self, folder: str) -> Sequence[Entry]:
        """Return the entries of a folder; empty if the folder does not exist."""
        return [_entry(f"{folder.rstrip('/')}/{name}", name, found) for name, found in self._listed(folder).items()]

    def remove(self, path: str) -> bool:
        return self._ask(path, lambda client, within: client.delete(within))

    def remove_folder(self, path: str) -> None:
        self._ask(path, lambda client, within: client.delete(within, recursive=True))

    def move(self, path: str, to: str) -> None:
        if not self._rename(path, to):
            if self.exists(path) and self.is_folder(to.rpartition("/")[0]):
                raise OSError(errno.EIO, "it cannot be renamed", path)
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)

    def remove_if_empty(self, folder: str) -> bool:
        with suppress(OSError):  # The folder is not empty, or the cluster is unreachable.
            return self._ask(folder, lambda client, within: client.delete(within), Backoff(attempts=1))
        return False

    # -- staging and publishing -----------------------------------------------------------------------------------

    def require_writable(self, path: str) -> bool:
        there = path
        while there != self.top and self._status(there) is None:
            there = there.rpartition("/")[0]
        self._ask(there, lambda client, within: client.require_access(within, "-wx"))
        return True

    def make_staging(self, folder: str, root: str) -> None:
        """Create the folder, then write and remove a file to detect missing permission, quota or space."""
        self._ask(folder, lambda client, within: client.make_folder(within))
        probe = f"{folder}/{PROBE}{secrets.token_hex(8)}"
        self.leave_note(probe)
        self.remove(probe)

    def leave_note(self, path: str) -> None:
        """Write a file of one byte. An empty file needs no block, so it would not prove that blocks can be written."""
        if not self.is_folder(path.rpartition("/")[0]):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        self._ask(path, lambda client, within: client.create(within, b"\n"))

    def stage(self, staged: str, target: str) -> StagedOutput:
        """Collect the content on the task's machine, because WebHDFS receives a file in one request."""
        return CopiedOutput(lambda copy, size: self._send(staged, copy, size))

    def _send(self, staged: str, copy: BinaryIO, size: int) -> Receipt:
        def create(client: "WebHdfs", within: str) -> None:
            copy.seek(0)
            client.create(within, copy if size else b"")

        self._ask(staged, create)
        found = self._status(staged)
        if found is None or found["length"] != size:
            raise OSError(errno.EIO, f"only {found['length'] if found else 0} of {size} bytes arrived", staged)
        return Receipt(size=size, body={"file": found["fileId"]})

    def publish(self, staged: str, target: str, receipt: Mapping[str, Any]) -> None:
        """Rename the file. After a lost response, recognize the renamed file by its number."""
        number = stored.number(receipt, "file")
        if self._is(staged, number) is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), staged)
        if self._moved(staged, target, number):
            return
        if not self.exists(target):
            self._ask(target.rpartition("/")[0], lambda client, within: client.make_folder(within))
            if self._moved(staged, target, number):
                return
        if self._status(staged) is None:  # Two other processes were faster.
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), staged)
        raise TargetExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)

    def _moved(self, staged: str, target: str, number: int) -> bool:
        return self._rename(staged, target) or bool(self._is(target, number))

    def _rename(self, old: str, new: str) -> bool:
        return self._ask(old, lambda client, within: client.rename(within, self.within(new)))

    def _is(self, path: str, number: int) -> bool | None:
        """Return True if the file at a path has this number; ``None`` if no file exists."""
        found = self._status(path)
        return None if found is None else found["fileId"] == number

    def why_unknown(self, staged: str, target: str, receipt: Mapping[str, Any]) -> str:
        found = self._is(target, stored.number(receipt, "file"))
        if found:
            return ""
        if found is None:
            return self.not_prepared(staged, target)
        return f"{target} exists, but is not the file that was staged as {staged}; move {target} away"

    def discard(self, staged: str) -> bool:
        return self.remove(staged)


class _HdfsOpenFile(RemoteOpenFile):
    """An HDFS file that is open for reading. It can only grow, or be replaced by a file with another number."""

    def __init__(self, files: HdfsFileSystem, version: FileVersion) -> None:
        super().__init__(version)
        self._files = files
        self.check()

    def fetch(self, start: int, end: int) -> bytes:
        try:
            found = self._files.range(self.version.path, start, end)
        except OSError as error:
            raise self._failed(error) from error
        if found is None:
            raise self.changed("it no longer exists")
        if len(found) != end - start:  # Either the response or the file was truncated.
            self.check()
            raise self._failed(OSError(errno.EIO, f"only {len(found)} of {end - start} bytes arrived"))
        return found

    def check(self) -> None:
        try:
            now = self._files.version(self.version.path)
        except OSError as error:
            raise self._failed(error) from error
        self.require_same(now)

    def _failed(self, error: OSError) -> SourceError | SourceChangedError:
        found = SourceError(f"{self.version.path} cannot be read: {error.strerror or error}")
        found.retryable = error.errno == errno.EIO
        return found


def _number(error: CheckpointStorageError) -> int | None:
    from seatunnel_core.clients.webhdfs.refusals import QuotaExceededError

    return errno.EDQUOT if isinstance(error, QuotaExceededError) else None  # The next attempt uses another name.


def _entry(path: str, name: str, found: Mapping[str, Any]) -> Entry:
    is_folder = found["type"] == "DIRECTORY"
    return Entry(name=name, path=path, is_folder=is_folder, version=None if is_folder else _version(path, found))


def _version(path: str, found: Mapping[str, Any]) -> FileVersion:
    return FileVersion(
        path=path, size=found["length"], mtime_ns=found["modificationTime"] * 1_000_000, etag=str(found["fileId"])
    )
