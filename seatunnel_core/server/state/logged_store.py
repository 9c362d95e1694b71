"""The cluster's state as a logged map on the checkpoint storage.

::

    <prefix>engine_cluster/…                     the map, see ``seatunnel_storage_mapstore``; its epoch is the term
    <prefix>engine_beats/<term>-<number>.beat    the leader's heartbeats; all but the newest are removed
"""

import logging
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from seatunnel_storage_mapstore.folder import Folder
from seatunnel_storage_mapstore.frames import Entry
from seatunnel_storage_mapstore.journal import Journal, Limits
from seatunnel_storage_mapstore.recovery import Recovered, recover
from seatunnel_storage_mapstore.segments import can_append
from seatunnel_storage_mapstore.store import fetch, missing, place

from seatunnel_core.server.errors import DeposedError, StateUnavailableError, StateWentBackError
from seatunnel_core.server.state.newest_seen import went_back
from seatunnel_core.server.state.store import ClusterStore, Lease, Observation, Version
from seatunnel_storage_api.blob import BlobStorage
from seatunnel_storage_api.errors import CheckpointCorruptedError, CheckpointStorageError, StaleEpochError

logger = logging.getLogger("seatunnel.cluster")

MAP = "engine_cluster"
BEATS = "engine_beats"

_BEAT = re.compile(r"(\d{10})-(\d{20})\.beat", re.ASCII)
_READS = 20
"""Maximum number of read attempts while a writer compacts the log or a new writer takes over."""

_READ_PAUSE_S = 0.01


class LoggedStore(ClusterStore):
    """A cluster's state in a storage, below a prefix that is empty or ends with "/". Closing it closes the storage."""

    def __init__(self, storage: BlobStorage, prefix: str, *, limits: Limits | None = None) -> None:
        self._storage = storage
        self._folder = Folder(storage, f"{prefix}{MAP}/")
        self._beats = Folder(storage, f"{prefix}{BEATS}/")
        self._limits = limits or Limits()

    def describe(self) -> str:
        return self._folder.where("")

    def claim(self) -> "LoggedLease":
        with _translated():
            journal = Journal(self._folder, append=can_append(self._storage), limits=self._limits)
            before = max(_beats_in(self._beats), default=(0, 0))
        return LoggedLease(journal, self._beats, (journal.epoch - 1, *before))

    def observe(self) -> Observation:
        with _translated():
            for _ in range(_READS):
                claimed = self._folder.newest_epoch()
                newest = max(_beats_in(self._beats), default=None)
                if newest is None:
                    return Observation(claimed=claimed, term=0, number=0, body=b"", version=(claimed, 0, 0))
                body = self._beats.read(_beat_name(*newest))
                if body is not None:
                    version = (claimed, *newest)
                    return Observation(claimed=claimed, term=newest[0], number=newest[1], body=body, version=version)
        raise StateUnavailableError(
            f"the heartbeats in {self._beats.where('')} were removed {_READS} times while being read"
        )

    def read(self) -> dict[str, bytes]:
        problem: Exception | None = None
        for _ in range(_READS):
            try:
                with _translated():
                    entries = self._read_once()
            except CheckpointCorruptedError as error:  # a concurrent compaction looks the same; damage persists
                problem = error
            else:
                if entries is not None:
                    return entries
            time.sleep(_READ_PAUSE_S)
        raise StateUnavailableError(
            f"cannot read the cluster's state in {self.describe()}: {problem or 'the writer changed on each attempt'}"
        ) from problem

    def _read_once(self) -> dict[str, bytes] | None:
        """Return the entries; ``None`` if a writer claimed the map in the meantime."""
        before = self._folder.newest_epoch()
        recovered: Recovered = recover(self._folder)
        if recovered.epoch > before or self._folder.newest_epoch() != before:
            return None
        # The epoch may be older: a writer that dies between claim and snapshot leaves its predecessor's entries.
        values = {key: fetch(self._folder, entry) for key, entry in recovered.entries.items()}
        if any(value is None for value in values.values()):
            return None
        return {key: value for key, value in values.items() if value is not None}

    def close(self) -> None:
        self._storage.close()


class LoggedLease(Lease):
    """Journal and heartbeats of one claim."""

    def __init__(self, journal: Journal, beats: Folder, claimed_from: Version) -> None:
        self._journal = journal
        self._beats = beats
        self.claimed_from = claimed_from
        self.version = (journal.epoch, *claimed_from[1:])
        self._last_beat: int | None = None
        """Number of the last stored heartbeat."""

        self._numbering = threading.Lock()
        self._values = 0
        self._old_beats_removed = False

    @property
    def term(self) -> int:
        return self._journal.epoch

    @property
    def entries(self) -> Mapping[str, bytes]:
        return _Values(self._journal)

    def commit(self, changes: Mapping[str, bytes | None]) -> None:
        with _translated():
            self._journal.commit(
                [(key, None if value is None else self._placed(value)) for key, value in changes.items()]
            )

    def _placed(self, value: bytes) -> Entry:
        with self._numbering:
            self._values += 1
            number = self._values
        return place(self._journal, number, value)

    def renew(self, number: int, body: bytes) -> None:
        with _translated():
            self._require_last_beat()
            self._beats.put(_beat_name(self.term, number), body, epoch=self.term)
            self._journal.confirm()
        self._last_beat, self.version = number, (self.term, self.term, number)
        self._remove_beats_before(number)

    def _require_last_beat(self) -> None:
        """Raise StateWentBackError if the last heartbeat has disappeared, unless a newer leader has removed it."""
        if self._last_beat is None or self._beats.read(_beat_name(self.term, self._last_beat)) is not None:
            return
        self._journal.confirm()
        where, last = self._beats.where(""), (self.term, self._last_beat)
        raise StateWentBackError(went_back(where, found="without the last heartbeat", seen=last))

    def _remove_beats_before(self, number: int) -> None:
        """Remove the previous heartbeat. After the first one of a lease, also remove the heartbeats of older terms."""
        names = [_beat_name(self.term, number - 1)] if number > 0 else []
        try:
            if not self._old_beats_removed:
                names += [_beat_name(*each) for each in _beats_in(self._beats) if each < (self.term, number)]
                self._old_beats_removed = True
            self._beats.delete(names)
        except CheckpointStorageError as error:
            self._old_beats_removed = False
            logger.warning("cannot remove an old heartbeat; the next heartbeat retries it: %s", error)

    def release(self) -> None:
        self._journal.close()


class _Values(Mapping[str, bytes]):
    """Entries of a journal. Large values are read from their objects on access.

    Raises:
        CheckpointCorruptedError: The object of a large value is damaged or does not exist.
        DeposedError: The object does not exist, because another node leads.
        StateUnavailableError: The storage failed.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def __getitem__(self, key: str) -> bytes:
        journal, entry = self._journal, self._journal.entries[key]
        with _translated():
            value = fetch(journal.folder, entry)
            if value is None and journal.entries.get(key) is entry:
                journal.confirm()  # a newer leader may have removed the value
                raise missing(journal.folder, key)
        return self[key] if value is None else value

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._journal.entries))

    def __len__(self) -> int:
        return len(self._journal.entries)


def _beat_name(term: int, number: int) -> str:
    return f"{term:010d}-{number:020d}.beat"


def _beats_in(folder: Folder) -> list[tuple[int, int]]:
    blobs = folder.storage.attempt("list", folder.prefix, lambda: tuple(folder.storage.list_blobs(folder.prefix)))
    matches = (_BEAT.fullmatch(blob.key.removeprefix(folder.prefix)) for blob in blobs)
    return [(int(match[1]), int(match[2])) for match in matches if match is not None]


@contextmanager
def _translated() -> Iterator[None]:
    """Convert storage errors to cluster errors, except errors that report damage."""
    try:
        yield
    except StaleEpochError as error:
        raise DeposedError(f"another node leads: {error}") from error
    except CheckpointCorruptedError:
        raise
    except (CheckpointStorageError, OSError) as error:
        raise StateUnavailableError(f"the cluster's state is not available: {error}") from error
