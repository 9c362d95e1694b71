"""The write-ahead log of one map, from one writer's claim to its end.

**Opening.** A writer claims an epoch, *then* reads (``recovery``), puts all entries as the first snapshot of its own
epoch, and looks whether its epoch still is the newest. Only then is anything answered, and what older epochs left is
removed. So a map is always read from one epoch alone: its newest snapshot, and the groups that follow it.

**Group commit.** Threads that change the map while a group is being written form the next group; the first of them
leads it. One frame, one fsync (one PUT on object stores), then one listing of the markers: the group is acknowledged
only if no newer epoch exists, applied to the entries, and its threads continue.

**Compaction.** When snapshot and groups together outgrow the bound, the entries as of the last group are copied (a
shallow copy, the only thing that writers wait for), the next group begins a new segment, and a thread puts the
snapshot, looks whether the epoch still is the newest, and removes what the snapshot includes.

**Why nothing acknowledged is lost, whatever the interleaving.**

- *Two writers.* The old one writes, then looks; the new one claims, then reads. If the old one's look was clean, its
  group was durable before the marker, so the new one reads it. If not, it is not acknowledged.
- *A zombie that continues to write* appends to segments of an old epoch. Once the new epoch has a snapshot, these are
  not read any more; before that, it cannot be acknowledged, because the marker exists. What it had in doubt is in the
  new snapshot or never returns: a change that failed does not appear later, after others have seen the map without it.
- *A writer that dies between claim and snapshot* leaves a marker only. The next one reads the same older epoch.
- *A slow opener*, overtaken while it reads, may put its snapshot late. It is older than that of the process that
  overtook it, so it matters only if that one died before its own; and then it holds everything that was acknowledged,
  because nothing of an older epoch was acknowledged after the opener's own marker.
- *A crash within a compaction*: before the put, the old snapshot and all groups are there. After it, the new snapshot
  includes what is not yet removed, and readers begin with the newest. A put is whole or not at all.
- *A reader in the middle* of a compaction misses what it listed and lists again; so does one with a gap in its listing.
- *A removal that was computed* before a newer epoch was claimed may be finished after: it names only what a durable
  snapshot includes.
- *A torn tail* is possible only where a writer died within a write: at the end of the last segment of an epoch. Nothing
  is appended after it. A group with a failed write is not acknowledged, and its writer writes nothing after it.
"""

import logging
import threading
from collections.abc import Iterable, Sequence

from attrs import define, field, frozen

from seatunnel_storage_api.errors import (
    CheckpointStorageError,
    StorageAccessError,
    StorageClosedError,
    StorageUnavailableError,
)
from seatunnel_storage_mapstore import frames
from seatunnel_storage_mapstore.folder import SNAPSHOT, Folder, Piece, marker_name
from seatunnel_storage_mapstore.frames import Change, Entry, Kind, Remote
from seatunnel_storage_mapstore.recovery import recover
from seatunnel_storage_mapstore.segments import AppendedFiles, ObjectPerGroup, SegmentWriter

logger = logging.getLogger("seatunnel.storage")

SEGMENT_BYTES = 2**20
MOST_SEGMENTS = 256
"""The number of segments at which even a small log is compacted: a reader makes one request for each."""

_Compaction = threading.Thread


@frozen(kw_only=True)
class Limits:
    """Limits on the size of a log. The defaults are for every use; tests take smaller ones."""

    segment_bytes: int = SEGMENT_BYTES
    most_segments: int = MOST_SEGMENTS


def _held() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


@define(eq=False)
class _Group:
    """Changes that are written at once."""

    changes: list[Change] = field(factory=list)
    records: list[bytes] = field(factory=list)
    settled: threading.Lock = field(factory=_held)
    """Held until the group is written. A plain lock, because an event wakes its waiters more slowly."""
    error: Exception | None = None
    replaced: list[Remote] = field(factory=list)
    """Values outside the log that nothing names any more once the group is acknowledged."""


class Journal:
    """One writer's hold on a map. Any number of threads may call it at once.

    ``entries`` is what is acknowledged; it is changed by commits only, and may be read without a lock.
    """

    def __init__(self, folder: Folder, *, append: bool, limits: Limits) -> None:
        self.folder = folder
        self.limits = limits
        self.epoch = folder.claim()
        self.entries = recover(folder).entries
        self._number = 0
        self._segments: SegmentWriter = (
            AppendedFiles(folder, self.epoch, limits.segment_bytes) if append else ObjectPerGroup(folder, self.epoch)
        )
        self._gate = threading.Lock()
        """Guards ``_forming`` and the sizes."""
        self._forming = _Group()
        self._committing = threading.Lock()
        """Held while a group is written: there is one at a time."""
        self._failure: Exception | None = None
        self._compaction: threading.Thread | None = None
        self._live_bytes = len(frames.snapshot_body(self.entries)) + frames.OVERHEAD_BYTES
        self._snapshot_bytes = self._group_bytes = self._segments_compacted = 0
        self._begin()

    # -- changes

    def commit(self, changes: Sequence[Change]) -> None:
        """Make the changes durable, all or none of them, together with those of other threads.

        Raises:
            StaleEpochError: The map has another writer, or was removed.
            StorageUnavailableError: The storage failed. Whether the changes are durable is unknown.
            StorageUsageError: A key cannot be written.
        """
        if not changes:
            return
        records = [frames.record(key, entry) for key, entry in changes]
        with self._gate:
            group = self._forming
            leads = not group.records
            group.changes += changes
            group.records += records
        if leads:
            self._lead(group)
            self._discard(group.replaced)
        else:
            with group.settled:
                pass
        if group.error is not None:
            raise _again(group.error)

    def confirm(self) -> None:
        """Check that the map still is this writer's, so that ``entries`` are what every reader sees.

        Raises:
            StaleEpochError: It is not.
        """
        self.folder.require_newest(self.epoch)

    def close(self) -> None:
        """Release the map after the group that is being written; later changes raise."""
        with self._committing:
            self._failure = self._failure or StorageClosedError(
                f"cannot write to {self.folder.where('')}: this map was released. Open it again"
            )
            self._segments.close()
        running = self._compaction
        if running is not None:
            running.join()

    def erase(self) -> None:
        """Remove everything but the newest marker, for good. Call it after ``close``.

        An empty snapshot is put first: whatever is left by a crash below, the map stays empty.

        Raises:
            StaleEpochError: The map has another writer. If that one claimed it just now, it may find the map empty.
        """
        self.confirm()
        self._number += 1
        last = self._put_snapshot({}, self._number)
        pieces = [piece for piece in self.folder.contents().pieces if piece.epoch <= self.epoch]
        self.folder.delete(piece.name for piece in pieces if piece != last)
        self.folder.delete([last.name])

    # -- writing

    def _lead(self, group: _Group) -> None:
        try:
            with self._committing:
                with self._gate:
                    self._forming = _Group()
                group.error = self._failure
                if group.error is None:
                    self._write_or_fail(group)
        except BaseException as error:
            if group.error is None:  # interrupted while it waited for its turn; its group was never written
                self._failure = group.error = self._failed(error)
            raise
        finally:
            group.settled.release()

    def _write_or_fail(self, group: _Group) -> None:
        try:
            self._write(group)
        except BaseException as error:
            # The outcome of this group is unknown, so nothing may follow it: the next writer reads the stored state.
            self._failure = group.error = self._failed(error)
            self._segments.close()
            if not isinstance(error, Exception):
                raise

    def _write(self, group: _Group) -> None:
        number = self._number + 1
        frame = frames.sealed(Kind.GROUP, group.records, map_name=self.folder.map_name, epoch=self.epoch, number=number)
        try:
            self._segments.write(number, frame)
        except StorageUnavailableError:
            self.folder.require_newest(self.epoch)  # a newer writer removes the files of older ones: say that instead
            raise
        self.folder.require_newest(self.epoch)
        self._number = number
        with self._gate:
            self._group_bytes += len(frame)
            self._live_bytes += self._apply(group)
        self._compact_if_due()

    def _apply(self, group: _Group) -> int:
        """Apply a group to the entries, and return by how many bytes the live entries grew."""
        grown = 0
        for (key, entry), record in zip(group.changes, group.records, strict=True):
            old = self.entries.get(key)
            if old is not None:
                grown -= len(frames.record(key, old))
            if entry is None:
                self.entries.pop(key, None)
            else:
                self.entries[key] = entry
                grown += len(record)
            if isinstance(old, Remote) and old != entry:
                group.replaced.append(old)
        return grown

    def _discard(self, values: Iterable[Remote]) -> None:
        try:
            self.folder.delete(value.name for value in values)
        except CheckpointStorageError as error:
            logger.warning("a value that nothing names stays until the map is opened again: %s", error)

    # -- snapshots

    def _begin(self) -> None:
        """Put the epoch's first snapshot, from which the map is read afterwards, and remove what is older."""
        self._put_snapshot(self.entries, 0)
        contents = self.folder.contents()
        named = {entry.name for entry in self.entries.values() if isinstance(entry, Remote)}
        old = [piece.name for piece in contents.pieces if piece.epoch < self.epoch and piece.name not in named]
        self.folder.delete(old + [marker_name(epoch) for epoch in contents.epochs if epoch < self.epoch])
        self.folder.sweep_unfinished(self.epoch)

    def _put_snapshot(self, entries: dict[str, Entry], number: int) -> Piece:
        piece = Piece(self.epoch, number, SNAPSHOT)
        frame = frames.sealed(
            Kind.SNAPSHOT,
            [frames.snapshot_body(entries)],
            map_name=self.folder.map_name,
            epoch=self.epoch,
            number=number,
        )
        self.folder.put(piece.name, frame, epoch=self.epoch)
        self.folder.require_newest(self.epoch)
        with self._gate:
            self._snapshot_bytes = len(frame)
        return piece

    def _compact_if_due(self) -> None:
        """Begin a compaction at half of the allowed garbage, and wait for it only when all of it is used up."""
        garbage_bytes = self._garbage_bytes()
        segments = self._segments.segments - self._segments_compacted
        if self._compaction is None and (
            garbage_bytes > self.limits.segment_bytes // 2 or segments > self.limits.most_segments
        ):
            self._start_compaction()
        running = self._compaction
        if running is not None and garbage_bytes > self.limits.segment_bytes:
            running.join()

    def _garbage_bytes(self) -> int:
        """Return by how many bytes the log is larger than twice its live entries."""
        with self._gate:
            return self._snapshot_bytes + self._group_bytes - 2 * self._live_bytes

    def _start_compaction(self) -> None:
        self._segments.roll()
        self._segments_compacted = self._segments.segments
        arguments = (dict(self.entries), self._number, self._group_bytes)
        self._compaction = _Compaction(target=self._compact, args=arguments, name=f"compact {self.folder.prefix}")
        self._compaction.start()

    def _compact(self, entries: dict[str, Entry], number: int, group_bytes: int) -> None:
        try:
            snapshot = self._put_snapshot(entries, number)
            with self._gate:
                self._group_bytes -= group_bytes
            pieces = self.folder.contents("log/").pieces
            self.folder.delete(
                piece.name
                for piece in pieces
                if (piece.epoch, piece.number) <= (self.epoch, number) and piece != snapshot
            )
        except Exception as error:  # whatever it is, the log is as good as before, only longer
            logger.warning("a map could not be compacted, which the next change tries again: %s", error)
        finally:
            self._compaction = None

    def _failed(self, error: BaseException) -> Exception:
        """Return the error that every later change raises."""
        if isinstance(error, (StorageUnavailableError, StorageAccessError)):
            message = f"{error}. Whether the last change is durable is not known: open the map again to see"
            return _caused(type(error)(message), error)
        if isinstance(error, Exception):
            return error
        message = f"cannot write to {self.folder.where('')}: a write was interrupted by {type(error).__name__}"
        return _caused(StorageUnavailableError(f"{message}. Open the map again"), error)


def _again(error: Exception) -> Exception:
    """Return a copy of an error for another thread, because two threads that raise one exception mix up its traces."""
    return _caused(type(error)(*error.args), error)


def _caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error
