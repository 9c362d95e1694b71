"""Map of one pipeline, shared by several processes although a map has only one writer.

A process that changes the map first claims it, unless it owns it already, and keeps it until another process claims it.
A change that is superseded by another process's claim is not acknowledged; it is repeated on the map's new content.
Each change is therefore atomic for all processes, as with a lock, but a dead process cannot keep the map locked.

A process that only reads claims nothing: it reads the log between two checks of the markers. If both show the epoch of
the log, everything that was read was durable before any newer writer's claim, so a newer writer keeps it.
"""

import itertools
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from seatunnel_storage_api.errors import StaleEpochError, StorageUnavailableError
from seatunnel_storage_api.storage import MOST_LISTINGS, vanishing
from seatunnel_storage_mapstore.folder import Folder
from seatunnel_storage_mapstore.frames import Entry
from seatunnel_storage_mapstore.journal import Journal, Limits
from seatunnel_storage_mapstore.recovery import recover
from seatunnel_storage_mapstore.store import fetch, missing, place

Answer = TypeVar("Answer")

_TAKEOVERS = 100
_PATIENCE = 20
"""Number of times that a reader waits for a writer that has claimed the map but is not ready, before claiming it."""
_WAIT_S = 0.002


class PipelineMap:
    """Access of a process to the map. Thread-safe; calls are serialized."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._journal: Journal | None = None
        self._values = itertools.count(1)

    def entries(self, newest: int | None = None) -> dict[str, Entry]:
        """Return a copy of the map's entries.

        ``newest`` is the newest marker in a listing that the caller has just made. If it belongs to this process, no
        other process had changed the map by then, and no further listing is needed.
        """
        with self._lock:
            if self._journal is not None and self._journal.epoch == newest:
                return dict(self._journal.entries)
            return dict(self._read())

    def changed(self) -> dict[str, Entry] | None:
        """Return the entries after a change by this process, without listing; ``None`` if it no longer owns the map."""
        with self._lock:
            return None if self._journal is None else dict(self._journal.entries)

    def load(self, key: str) -> bytes | None:
        """Return the value of a key, or ``None``.

        A stored value never changes, so a value in this process's memory is returned without a listing, even if another
        process has removed it.
        """
        with self._lock:
            known = None if self._journal is None else self._journal.entries.get(key)
            value = None if known is None else fetch(self._folder, known)
            if value is not None:
                return value
            entry = None
            for _ in range(MOST_LISTINGS):
                before, entry = entry, self._read().get(key)
                value = None if entry is None else fetch(self._folder, entry)
                if entry is None or value is not None:
                    return value
                if entry == before:
                    raise missing(self._folder, key)
            raise vanishing(self._folder.map_name)

    def store_if_absent(self, key: str, value: bytes) -> bool:
        """Store a value unless the key exists; return True if this call stored it."""

        def change(journal: Journal) -> bool:
            if key in journal.entries:
                journal.confirm()
                return False
            journal.commit([(key, place(journal, next(self._values), value))])
            return True

        with self._lock:
            return self._as_writer(change)

    def delete_all(self, keys: Sequence[str]) -> None:
        with self._lock:
            self._as_writer(lambda journal: journal.commit([(key, None) for key in keys if key in journal.entries]))

    def close(self) -> None:
        with self._lock:
            self._release()

    def _read(self) -> Mapping[str, Entry]:
        if self._journal is not None:
            try:
                self._journal.confirm()
            except StaleEpochError:
                self._release()
            else:
                return self._journal.entries
        for _ in range(_PATIENCE):
            before = self._folder.newest_epoch()
            recovered = recover(self._folder)
            if recovered.epoch == before == self._folder.newest_epoch():
                return recovered.entries
            time.sleep(random.uniform(0, 2 * _WAIT_S))
        return self._as_writer(_confirmed)

    def _as_writer(self, action: Callable[[Journal], Answer]) -> Answer:
        """Run an action on this process's journal; retry with increasing delays if another process claimed the map."""
        wait_s = _WAIT_S
        for _ in range(_TAKEOVERS):
            began = time.monotonic()
            try:
                if self._journal is None:
                    self._journal = Journal(self._folder, append=False, limits=Limits())
                return action(self._journal)
            except StaleEpochError:
                self._release()
            except Exception:
                self._release()  # after a failure the content of the map is unknown: the next call reads it
                raise
            time.sleep(random.uniform(0, wait_s))
            wait_s = min(2 * max(wait_s, time.monotonic() - began), 2.0)
        raise StorageUnavailableError(
            f"{_TAKEOVERS} times in a row, another process took over {self._folder.where('')}. Stop all but one of the "
            "engines that write to this pipeline"
        )

    def _release(self) -> None:
        journal, self._journal = self._journal, None
        if journal is not None:
            journal.close()


def _confirmed(journal: Journal) -> Mapping[str, Entry]:
    journal.confirm()
    return journal.entries
