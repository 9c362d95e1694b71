"""How a file is staged in an object store: as an object below ``<target>/.seatunnel/<job>/…``, put in one request where
it is small, else uploaded in parts.

An upload in parts has a note in its place until it is complete: not every server lists uploads by the beginning of
their keys (MinIO lists those of one key only), and a sweep has to find those of tasks that died.
"""

import errno
from collections.abc import Sequence
from hashlib import blake2b

import pyarrow as pa

from seatunnel_core.connectors.filesystems.filesystem import Receipt, StagedOutput
from seatunnel_core.connectors.filesystems.objects.store import ObjectStore

PART_BYTES = 8 << 20
"""Of the first thousand parts of an upload; of each thousand that follows, twice as much as before. Stores take 10,000
parts."""

NOTE = b"\n"
"""With a byte in it, which a bucket whose quota is used up does not take."""


def mark(staged: str) -> str:
    """The value of ``MARK``: which attempt wrote it, in signs that a header takes."""
    return blake2b(staged.encode(errors="surrogateescape"), digest_size=16).hexdigest()


class StagedObject(StagedOutput):
    """Sends a part whenever one is full, so that no more than that is held."""

    def __init__(self, store: ObjectStore, key: str, staged: str) -> None:
        """``staged`` is the path, and ``key`` what the bucket calls it."""
        self._store, self._key, self._mark = store, key, mark(staged)
        self._held = bytearray()
        self._upload = ""
        self._etags: list[str] = []
        self._size = 0
        self.stream = pa.PythonFile(_Sink(self), mode="w")

    def take(self, data: bytes) -> None:
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
    """Complete an upload, and look whether the object is there.

    A server that was killed meanwhile may have lost parts, or say that it was done though it was not; and where only
    the answer was lost it says that there is no such upload. ``docs/decisions/object-stores.md`` has what was measured.

    Raises:
        FileExistsError: it has to be a ``new`` object, and there is another one.
        OSError: with ``EIO`` where what was uploaded is lost.
    """
    words = "the server says that it is complete, and has not got it"
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
    """No file object of Python, which would close itself when it is given up."""

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
