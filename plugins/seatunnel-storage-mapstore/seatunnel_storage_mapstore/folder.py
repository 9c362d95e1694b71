"""Folder of a map, and the markers that identify its owner.

::

    <map>/epochs/<epoch, 10 digits>.epoch                         the writer: the largest one
    <map>/log/<epoch>-<number of the group, 20 digits>.snapshot   all entries, that group included
    <map>/log/<epoch>-<number of its first group>.segment         groups of changes
    <map>/values/<epoch>-<number>.value                           a value that is too large for the log

The markers have a separate folder, so that the cost of finding the owner does not depend on the size of the map.
"""

import functools
import re
from collections.abc import Iterable

from attrs import frozen

from seatunnel_storage_api import envelope
from seatunnel_storage_api.blob import BlobStorage
from seatunnel_storage_api.errors import CheckpointCorruptedError, StaleEpochError, StorageUnavailableError

SNAPSHOT, SEGMENT, VALUE = "snapshot", "segment", "value"

_EPOCH = re.compile(r"epochs/(\d{10})\.epoch", re.ASCII)
_PIECE = re.compile(r"(?:log|values)/(\d{10})-(\d{20})\.(snapshot|segment|value)", re.ASCII)
_CLAIMS = 100


@frozen(order=True)
class Piece:
    """Parsed name of a snapshot, a segment or a value."""

    epoch: int
    number: int
    kind: str

    @property
    def name(self) -> str:
        folder = "values" if self.kind == VALUE else "log"
        return f"{folder}/{self.epoch:010d}-{self.number:020d}.{self.kind}"


@frozen
class Contents:
    """One listing of a map."""

    epochs: tuple[int, ...]
    """Epochs of the markers, in ascending order."""

    pieces: tuple[Piece, ...]
    """Snapshots, segments and values, sorted by epoch and number."""

    @property
    def newest_epoch(self) -> int:
        """Largest claimed epoch; 0 if there is none."""
        return max(self.epochs, default=0)

    @property
    def highest_epoch(self) -> int:
        return max([self.newest_epoch, *(piece.epoch for piece in self.pieces)])


@frozen
class Folder:
    """Object store of one map, built on the four primitive operations of a ``BlobStorage``."""

    storage: BlobStorage
    prefix: str
    """Path prefix, ending with "/"."""

    @property
    def map_name(self) -> str:
        return self.prefix.rstrip("/")

    def where(self, name: str) -> str:
        return f"{self.storage.locate(self.prefix + name)} ({self.storage.backend})"

    def put(self, name: str, body: bytes, *, epoch: int) -> None:
        """Store an object with a name that only the writer of this epoch uses. Durable when the call returns.

        Raises:
            StaleEpochError: The object was removed by a newer writer, which removes the objects of older writers.
            CheckpointCorruptedError: The object exists with different content.
        """
        if self.put_if_absent(name, body):
            return
        existing = self.read(name)
        if existing is None:
            self.require_newest(epoch)
            raise StorageUnavailableError(
                f"{self.where(name)} was removed while it was being written. Find the program that removed it"
            )
        if existing != body:
            raise CheckpointCorruptedError(
                f"cannot put {self.where(name)}: it exists with different content, although only this writer uses its "
                "name. Find the other program that writes to this folder"
            )

    def put_if_absent(self, name: str, body: bytes) -> bool:
        """Put an object unless it exists; return True if it has this content afterwards, even after a repeated put."""
        key = self.prefix + name
        put = functools.partial(self.storage.put_if_absent, key, body)
        return self.storage.attempt("put", key, put) or self.read(name) == body

    def read(self, name: str) -> bytes | None:
        key = self.prefix + name
        return self.storage.attempt("read", key, functools.partial(self.storage.read, key))

    def delete(self, names: Iterable[str]) -> None:
        keys = [self.prefix + name for name in names]
        if keys:
            self.storage.attempt("delete", keys[0], functools.partial(self.storage.delete, keys))

    def sweep_unfinished(self, epoch: int) -> None:
        """Remove the unfinished objects of dead writers of older epochs."""
        for below in ("log/", "values/", "epochs/"):
            folder = self.prefix + below
            sweep = functools.partial(self.storage.sweep_unfinished, folder, f"{epoch:010d}")
            self.storage.attempt("sweep", folder, sweep)

    def contents(self, below: str = "") -> Contents:
        """List everything, or one of the three folders."""
        return _contents(self._names(below))

    def newest_epoch(self) -> int:
        """Return the largest claimed epoch, or 0 if there is none, with one small listing."""
        return self.contents("epochs/").newest_epoch

    def require_newest(self, epoch: int) -> None:
        """Check that this writer still owns the map; raise ``StaleEpochError`` otherwise."""
        newest = self.newest_epoch()
        if newest != epoch:
            reason = f"epoch {newest} was claimed" if newest > epoch else f"the marker of epoch {epoch} does not exist"
            raise StaleEpochError(
                f"wrote to {self.where('')}, but {reason}: the map has another writer now, or was removed. The "
                "last write is not acknowledged; open the map again, and stop one of the two writers"
            )

    def claim(self) -> int:
        """Claim and return a new epoch, the largest so far; changes of older writers fail afterwards.

        A marker is valid only if it is still the newest after it was put. Otherwise a number could be claimed twice, if
        it was claimed, superseded and removed between the listing and the put.
        """
        for _ in range(_CLAIMS):
            epoch = self.contents().highest_epoch + 1
            marker = envelope.seal("map-epoch", b"", map=self.map_name, epoch=epoch)
            if self.put_if_absent(marker_name(epoch), marker) and self.newest_epoch() == epoch:
                return epoch
        raise StorageUnavailableError(
            f"cannot claim {self.where('')}: {_CLAIMS} times in a row, another writer was faster. Stop all but one of "
            "the processes that open this map"
        )

    def _names(self, below: str) -> list[str]:
        prefix = self.prefix + below
        blobs = self.storage.attempt("list", prefix, lambda: tuple(self.storage.list_blobs(prefix)))
        return [blob.key.removeprefix(self.prefix) for blob in blobs]


def marker_name(epoch: int) -> str:
    """Return the name of an epoch's marker."""
    return f"epochs/{epoch:010d}.epoch"


def _contents(names: Iterable[str]) -> Contents:
    """Parse names into markers and pieces; ignore foreign files. A lost piece leaves a gap in the group numbers."""
    epochs, pieces = [], []
    for name in names:
        if match := _EPOCH.fullmatch(name):
            epochs.append(int(match[1]))
        elif match := _PIECE.fullmatch(name):
            pieces.append(Piece(int(match[1]), int(match[2]), match[3]))
    return Contents(tuple(sorted(epochs)), tuple(sorted(pieces)))
