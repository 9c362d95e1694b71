"""How a file is staged in an object store: as an upload in parts, which becomes an object when it is completed.

Not every server lists uploads by the beginning of their keys (MinIO lists those of one key only). So each upload has a
note, a small object where other file systems have the staged file itself: ``<target>/.seatunnel/<job>/…/<name>``. It is
written first, and tells a sweep which key to look at.
"""

import json
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

import pyarrow as pa
from attrs import frozen

from seatunnel_core import stored
from seatunnel_core.connectors.file.filesystem import Receipt, StagedOutput
from seatunnel_core.connectors.file.objects.store import ObjectStore
from seatunnel_core.errors import StoredValueError

PART_BYTES = 8 << 20
"""Of the first thousand parts of an upload; of each thousand that follows, twice as much as before. Stores take 10,000
parts."""


@frozen(kw_only=True)
class Upload:
    """What a committable knows of one."""

    id: str
    etags: tuple[str, ...]
    """Of the parts, in order."""

    size: int
    """Bytes."""

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "Upload":
        """Raises ``StoredValueError`` where it is none."""
        etags = stored.items(body, "parts")
        if not all(isinstance(etag, str) for etag in etags):
            raise StoredValueError("'parts' must be texts")
        return cls(id=stored.text(body, "upload"), etags=tuple(etags), size=stored.number(body, "size"))

    def body(self) -> dict[str, Any]:
        return {"upload": self.id, "parts": list(self.etags), "size": self.size}


def mark(staged: str) -> str:
    """The value of ``MARK``: which attempt wrote it, in signs that a header takes."""
    return blake2b(staged.encode(errors="surrogateescape"), digest_size=16).hexdigest()


class UploadOutput(StagedOutput):
    """Sends a part whenever one is full, so that no more than that is held."""

    def __init__(self, store: ObjectStore, key: str, note: str, staged: str) -> None:
        """``note`` is the key of the note, and ``staged`` its path."""
        self._store, self._key = store, key
        self._held = bytearray()
        self._etags: list[str] = []
        self._size = 0
        write_note(store, note, key, None)
        self._id = store.begin(key, mark(staged))
        if note.rpartition("/")[2] != key.rpartition("/")[2]:  # another job may upload to the same key
            write_note(store, note, key, self._id)
        self.stream = pa.PythonFile(_Sink(self), mode="w")

    def take(self, data: bytes) -> None:
        self._held += data
        while len(self._held) >= (size := PART_BYTES << (len(self._etags) // 1000)):
            self._send(bytes(memoryview(self._held)[:size]))
            del self._held[:size]

    def _send(self, part: bytes) -> None:
        self._etags.append(self._store.send(self._key, self._id, len(self._etags) + 1, part))
        self._size += len(part)

    def finish(self) -> Receipt:
        if self._held or not self._etags:
            self._send(bytes(self._held))
            self._held.clear()
        return Receipt(size=self._size, body=Upload(id=self._id, etags=tuple(self._etags), size=self._size).body())


class _Sink:
    """No file object of Python, which would close itself when it is given up."""

    def __init__(self, output: UploadOutput) -> None:
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


def write_note(store: ObjectStore, note: str, key: str, upload: str | None) -> None:
    store.put(note, json.dumps({"key": key, "upload": upload}).encode())


def uploads_of(store: ObjectStore, note: str, content: bytes) -> Iterator[tuple[str, str]]:
    """The key and the id of each upload that a note tells of. One without an id has a key that nobody else writes, or
    was left before there was an upload."""
    if not content.strip():  # of a probe
        return
    told_of = stored.parse(content)
    key, upload = stored.text(told_of, "key"), stored.member(told_of, "upload")
    if isinstance(upload, str):
        yield key, upload
    elif note.rpartition("/")[2] == key.rpartition("/")[2]:
        yield from ((key, each) for each in store.uploads(key))
