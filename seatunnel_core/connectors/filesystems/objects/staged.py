"""Staging in an object store, as an object below ``<target>/.seatunnel/<job>/…``.

A small object is written in one request; a larger one is uploaded in parts. Until the upload completes, a small
placeholder object (a note) occupies the object's key. A cleanup needs the notes to find the uploads of failed tasks,
because some servers (MinIO) cannot list uploads by key prefix.
"""

import errno
from collections.abc import Sequence
from hashlib import blake2b

import pyarrow as pa

from seatunnel_core.connectors.filesystems.filesystem import Receipt, StagedOutput
from seatunnel_core.connectors.filesystems.objects.store import ObjectStore

PART_BYTES = 8 << 20
"""Size of the first 1,000 parts of an upload, in bytes; size doubles every 1,000 parts. Stores accept 10,000 parts."""

NOTE = b"\n"
"""Content of a note. It has one byte because a bucket with an exhausted quota rejects it, but not an empty object."""


def mark(staged: str) -> str:
    """Return the value of ``MARK``: a hash of the staged path, which identifies the attempt and fits into a header."""
    return blake2b(staged.encode(errors="surrogateescape"), digest_size=16).hexdigest()


class StagedObject(StagedOutput):
    """Upload that sends each part when it is full, so that only one part is in memory."""

    def __init__(self, store: ObjectStore, key: str, staged: str) -> None:
        """Create an upload for the path ``staged`` and its ``key`` in the bucket."""
        self._store, self._key, self._mark = store, key, mark(staged)
        self._held = bytearray()
        self._upload = ""
        self._etags: list[str] = []
        self._size = 0
        self.stream = pa.PythonFile(_Sink(self), mode="w")

    def take(self, data: bytes) -> None:
        """Append bytes, and send full parts."""
        self._held += data
        while len(self._held) >= (size := PART_BYTES << (len(self._etags) // 1000)):
            self._send(bytes(memoryview(self._held)[:size]))
            del self._held[:size]

    def _send(self, part: bytes) -> None:
        if not self._upload:
            self._store.put(self._key, NOTE, self._mark)
            self._upload = self._store.begin(self._key, self._mark)
        self._etags.append(self._store.send(self._key, self._upload, len(self._etags) + 1, part))
        self._size += len(part)

    def finish(self) -> Receipt:
        if not self._upload:
            self._store.put(self._key, bytes(self._held), self._mark)
            return _receipt(len(self._held))
        if self._held:
            self._send(bytes(self._held))
        complete(self._store, self._key, self._upload, self._etags, self._size, new=False)
        return _receipt(self._size)


def complete(store: ObjectStore, key: str, upload: str, etags: Sequence[str], size: int, *, new: bool) -> None:
    """Complete an upload, and check that the object exists.

    A server that is killed during the request may lose parts, report success without storing the object, or report a
    completed upload as missing. See ``docs/design/decisions/object-stores.md``.

    Raises:
        FileExistsError: The object must be ``new``, but another one exists.
        OSError: With ``EIO`` if the uploaded parts are lost.
    """
    words = "the server reported success, but the object does not exist"
    try:
        store.complete(key, upload, etags, new=new)
    except (FileExistsError, PermissionError):
        raise
    except OSError as error:
        words = error.strerror or words
    try:
        found = store.head(key).size
    except FileNotFoundError:
        found = -1
    if found != size:
        raise OSError(errno.EIO, words, key)


def _receipt(size: int) -> Receipt:
    return Receipt(size=size, body={"size": size})


class _Sink:
    """A file object that does not derive from Python's file classes, which close themselves on garbage collection."""

    def __init__(self, output: StagedObject) -> None:
        self._output = output
        self._place = 0
        self.closed = False

    def write(self, data: bytes) -> int:
        self._output.take(data)
        self._place += len(data)
        return len(data)

    def tell(self) -> int:
        return self._place

    def flush(self) -> None: ...

    def close(self) -> None:
        self.closed = True
