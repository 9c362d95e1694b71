"""Open files of a server, for reading or for writing."""

import errno
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connectors.filesystems.filesystem import FileVersion, Receipt, StagedOutput
from seatunnel_core.connectors.filesystems.fsspec.connection import Connection
from seatunnel_core.connectors.filesystems.remote import RemoteOpenFile

if TYPE_CHECKING:
    from seatunnel_core.connectors.filesystems.fsspec.files import FsspecFileSystem


class FsspecOpenFile(RemoteOpenFile):
    """A file of a server that is open for reading."""

    def __init__(self, files: "FsspecFileSystem", version: FileVersion) -> None:
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


class FsspecOutput(StagedOutput):
    """A file that is staged on the server while the task writes it."""

    def __init__(self, files: "FsspecFileSystem", path: str) -> None:
        self._files = files
        self._path = path
        self._connection = files.connection
        self.stream = pa.PythonFile(_StagedFile(files, path, self._connection), mode="w")

    def finish(self) -> Receipt:
        with self._files.asking(self._path, self._connection) as client:
            return Receipt(size=int(client.info(self._files.within(self._path))["size"]))


class _StagedFile:
    """A file object that takes turns with the other requests of its connection.

    It does not derive from the classes of ``io``, which Python closes on garbage collection. That would send a request,
    perhaps during another one of the same thread, whose response would then be lost.
    """

    def __init__(self, files: "FsspecFileSystem", path: str, connection: Connection) -> None:
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
