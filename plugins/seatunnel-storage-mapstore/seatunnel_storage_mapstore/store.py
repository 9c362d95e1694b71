"""Durable maps on a ``BlobStorage``."""

import hashlib
import itertools
import threading
from collections.abc import Collection, Mapping

from seatunnel_storage_api.blob import BlobStorage
from seatunnel_storage_api.errors import CheckpointCorruptedError, StorageClosedError
from seatunnel_storage_api.mapstore import MapStore
from seatunnel_storage_api.storage import MOST_LISTINGS, vanishing
from seatunnel_storage_mapstore import frames
from seatunnel_storage_mapstore.folder import VALUE, Folder, Piece
from seatunnel_storage_mapstore.frames import Entry, Remote
from seatunnel_storage_mapstore.journal import Journal, Limits
from seatunnel_storage_mapstore.segments import can_append

INLINE_BYTES = 2**16
"""Size in bytes from which a value is a separate object, which is written once and not rewritten by compactions."""


class LoggedMap(MapStore):
    """Map in a write-ahead log (``journal``). All keys and small values are in memory.

    A map has one writer at a time: a process that opens the map claims it. From then on, every change by the previous
    writer raises ``StaleEpochError``, and its reads return the map's content at the time of the claim.

    Args:
        storage: Storage for the objects; closed with the map.
        prefix: The folder of the map, below the storage's namespace; ends with "/".
        append: True to append groups to files; by default, this is done on local files.
    """

    def __init__(
        self, storage: BlobStorage, prefix: str, *, append: bool | None = None, limits: Limits | None = None
    ) -> None:
        self._folder = Folder(storage, prefix)
        self._append = can_append(storage) if append is None else append
        self._limits = limits or Limits()
        self._opening = threading.Lock()
        self._journal: Journal | None = None
        self._destroyed = False
        self._values = itertools.count(1)

    def open(self) -> None:
        """Claim the map and read it. The first use of a map does this implicitly."""
        self._opened()

    def store(self, key: str, value: bytes) -> None:
        self.store_all({key: value})

    def store_all(self, entries: Mapping[str, bytes]) -> None:
        """Set many values atomically."""
        journal = self._opened()
        journal.commit([(key, self._placed(journal, value)) for key, value in entries.items()])

    def delete(self, key: str) -> None:
        self.delete_all([key])

    def delete_all(self, keys: Collection[str]) -> None:
        """Remove many keys atomically."""
        self._opened().commit([(key, None) for key in keys])

    def load(self, key: str) -> bytes | None:
        return self.load_all([key]).get(key)

    def load_all(self, keys: Collection[str]) -> dict[str, bytes]:
        journal = self._opened()
        values = {key: _value(journal, key) for key in keys}
        return {key: value for key, value in values.items() if value is not None}

    def load_all_keys(self) -> frozenset[str]:
        return frozenset(self._opened().entries)

    def destroy(self, *, delete_files: bool = False) -> None:
        """Release the map. May be called twice.

        With ``delete_files``, its data is permanently removed. One marker of a few hundred bytes remains, so that an
        earlier writer can still detect that it lost the map.
        """
        if self._destroyed:
            return
        journal = self._opened() if delete_files else self._journal
        self._destroyed = True
        try:
            if journal is not None:
                journal.close()
                if delete_files:
                    journal.erase()
        finally:
            self._folder.storage.close()

    def _opened(self) -> Journal:
        journal = self._journal
        if journal is not None and not self._destroyed:
            return journal
        with self._opening:
            if self._destroyed:
                raise StorageClosedError(
                    f"cannot use {self._folder.where('')}: this map was destroyed. Create another one"
                )
            if self._journal is None:
                self._journal = Journal(self._folder, append=self._append, limits=self._limits)
            return self._journal

    def _placed(self, journal: Journal, value: bytes) -> Entry:
        return place(journal, next(self._values), value)


def place(journal: Journal, number: int, value: bytes) -> Entry:
    """Return the entry for a value; a large value is put as an object named with the unused ``number``."""
    if len(value) <= INLINE_BYTES:
        return value
    name = Piece(journal.epoch, number, VALUE).name
    journal.folder.put(name, value, epoch=journal.epoch)
    return Remote(name, len(value), hashlib.sha256(value).digest())


def fetch(folder: Folder, entry: Entry) -> bytes | None:
    """Return the bytes of an entry; ``None`` if they have been removed since the entry was read."""
    if not isinstance(entry, Remote):
        return entry
    value = folder.read(entry.name)
    if value is not None and (len(value) != entry.size_bytes or hashlib.sha256(value).digest() != entry.sha256):
        raise frames.damaged(folder.where(entry.name), "its SHA-256 does not match the SHA-256 in the log")
    return value


def _value(journal: Journal, key: str) -> bytes | None:
    for _ in range(MOST_LISTINGS):
        entry = journal.entries.get(key)
        value = None if entry is None else fetch(journal.folder, entry)
        if entry is None or value is not None:
            return value
        if journal.entries.get(key) is entry:
            journal.confirm()
            raise missing(journal.folder, key)
    raise vanishing(journal.folder.map_name)


def missing(folder: Folder, key: str) -> CheckpointCorruptedError:
    """Return the error for a value that is missing although the log refers to it and it was not replaced."""
    return frames.damaged(folder.where("values/"), f"the value of {key!r} does not exist")
