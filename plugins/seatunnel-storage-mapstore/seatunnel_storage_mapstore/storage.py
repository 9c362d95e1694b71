"""Checkpoint storage of type ``map-store``. Each pipeline's checkpoints and markers are in a map.

A checkpoint is an entry with the name defined by ``layout``. The manifests and attachments of a job are put once and
never changed, so they need no map and are stored next to the maps as plain objects.
"""

import itertools
import re
import threading
from collections.abc import Iterable, Iterator, Mapping

from seatunnel_storage_api.blob import Blob, BlobStorage
from seatunnel_storage_api.errors import CheckpointCorruptedError, UnsupportedFormatError
from seatunnel_storage_api.inventory import Holding, HoldingKind, holdings_despite_refusals
from seatunnel_storage_api.retry import Backoff
from seatunnel_storage_api.state import PipelineListing, PipelineState
from seatunnel_storage_mapstore.folder import Folder
from seatunnel_storage_mapstore.frames import Remote
from seatunnel_storage_mapstore.pipeline_map import PipelineMap

BELOW = "map-store/"
"""Folder of all objects. It keeps this storage independent of other storages in the same namespace."""

DAMAGED = "damaged-map.ckpt"
"""Entry that represents an unreadable map in a listing. The job remains in the list of jobs, damage in one pipeline
does not hide the others, and the pipeline is not treated as empty."""

_ENTRY = re.compile(r"([^/]+/\d{6}/)([^/]+)", re.ASCII)
_PIECE = re.compile(r"([^/]+/\d{6}/)(?:epochs/(\d{10})\.epoch|(?:epochs|log|values)/[^/]+)", re.ASCII)


class MapStorage(BlobStorage):
    """``BlobStorage`` that is built on maps, which store their objects in the folder ``BELOW`` of ``beneath``."""

    def __init__(self, beneath: BlobStorage, *, namespace: str, max_retained: int) -> None:
        super().__init__(
            backend=f"map-store, {beneath.backend}",
            namespace=namespace,
            max_retained=max_retained,
            backoff=Backoff(attempts=2),  # the underlying storage has retried enough
        )
        self._beneath = beneath
        self._maps: dict[str, PipelineMap] = {}
        self._lock = threading.Lock()
        self._verb = _Verb()

    def put_if_absent(self, key: str, body: bytes) -> bool:
        entry = _ENTRY.fullmatch(key)
        if entry is None:
            return self._beneath.put_if_absent(key, body)
        stored = self._map(entry[1]).store_if_absent(entry[2], body)
        self._verb.has_changed(entry[1])
        return stored

    def read(self, key: str) -> bytes | None:
        entry = _ENTRY.fullmatch(key)
        return self._beneath.read(key) if entry is None else self._map(entry[1]).load(entry[2])

    def list_blobs(self, prefix: str) -> Iterator[Blob]:
        if _ENTRY.fullmatch(prefix + "x"):
            yield from self._entries(prefix)
            return
        newest: dict[str, int] = {}
        """Newest marker of each map in this listing."""
        for blob in self._beneath.list_blobs(prefix):
            piece = _PIECE.fullmatch(blob.key)
            if piece is not None:
                newest[piece[1]] = max(newest.get(piece[1], 0), int(piece[2] or 0))
            elif not _ENTRY.fullmatch(blob.key):
                yield blob
        for folder in sorted(newest):
            yield from self._entries_or_damage(folder, newest[folder])

    def delete(self, keys: Iterable[str]) -> None:
        matches = [(key, _ENTRY.fullmatch(key)) for key in keys]
        self._beneath.delete([key for key, entry in matches if entry is None])
        entries = sorted((entry[1], entry[2]) for _, entry in matches if entry is not None)
        for folder, names in itertools.groupby(entries, key=lambda entry: entry[0]):
            self._map(folder).delete_all([name for _, name in names])

    def store_checkpoint(self, state: PipelineState) -> None:
        with self._verb:
            super().store_checkpoint(state)

    def acquire_epoch(self, job_id: str, pipeline_id: int, minimum: int, below: int | None = None) -> int:
        with self._verb:
            return super().acquire_epoch(job_id, pipeline_id, minimum, below)

    def scan_job(self, job_id: str) -> Mapping[int, PipelineListing]:
        try:
            return super().scan_job(job_id)
        except CheckpointCorruptedError:
            self._require_readable(self.holdings(job_id))
            raise

    def delete_job(self, job_id: str) -> None:
        """Remove a job. A job with a damaged map remains complete until the damaged file is restored."""
        self._require_readable(self.holdings(job_id))
        super().delete_job(job_id)

    def holdings(self, job_id: str | None = None) -> tuple[Holding, ...]:
        def names() -> set[str]:
            return {held.job_id for held in self._beneath.holdings() if held.job_id is not None}

        return holdings_despite_refusals(super().holdings, job_id, names=names, locate=self.locate)

    def verify(self, holding: Holding) -> bool:
        self._require_readable([holding])
        return super().verify(holding)

    def locate(self, key: str) -> str:
        """Return the address of a key; for an unreadable map, the address of its folder."""
        return self._beneath.locate(key.removesuffix(DAMAGED))

    def sweep_unfinished(self, folder: str, before: str) -> None:
        self._beneath.sweep_unfinished(folder, before)

    def close(self) -> None:
        super().close()
        for each in self._maps.values():
            each.close()
        self._beneath.close()

    def _map(self, folder: str) -> PipelineMap:
        with self._lock:
            return self._maps.setdefault(folder, PipelineMap(Folder(self._beneath, folder)))

    def _entries(self, folder: str, newest: int | None = None) -> Iterator[Blob]:
        entries = self._map(folder).changed() if self._verb.just_changed(folder) else None
        if entries is None:
            entries = self._map(folder).entries(newest)
        for name, entry in entries.items():
            size_bytes = entry.size_bytes if isinstance(entry, Remote) else len(entry)
            yield Blob(key=folder + name, size_bytes=size_bytes)

    def _entries_or_damage(self, folder: str, newest: int) -> list[Blob]:
        try:
            return list(self._entries(folder, newest))
        except (CheckpointCorruptedError, UnsupportedFormatError):
            return [Blob(key=folder + DAMAGED, size_bytes=0)]

    def _require_readable(self, holdings: Iterable[Holding]) -> None:
        """Read the damaged maps of a listing again, to raise an error that describes the damage and the file."""
        for holding in holdings:
            if holding.kind is HoldingKind.MISNAMED and holding.key.endswith("/" + DAMAGED):
                self._map(holding.key.removesuffix(DAMAGED)).entries()


class _Verb(threading.local):
    """Operation in progress on this thread, which puts and then lists.

    A put into a map is acknowledged after a check of the map's markers. This check replaces the operation's next
    listing: if a process had claimed the map earlier, the put would have failed; a process that claims it later reads
    the put object (R5). Outside of an operation, the next call is unknown, so each listing checks the markers itself.
    """

    def __init__(self) -> None:
        self._is_on = False
        self._changed: str | None = None

    def __enter__(self) -> None:
        self._is_on, self._changed = True, None

    def __exit__(self, *_exception: object) -> None:
        self._is_on = False

    def has_changed(self, folder: str) -> None:
        self._changed = folder

    def just_changed(self, folder: str) -> bool:
        """Return True if the operation changed this map and has read nothing else since then."""
        changed, self._changed = self._changed, None
        return self._is_on and changed == folder
