"""The write-ahead log of one map, from a writer's claim until it is closed.

**Opening.** A writer claims an epoch, *then* reads (``recovery``), puts all entries as the first snapshot of its own
epoch, and checks that its epoch is still the newest. After that, it serves requests and removes the objects of older
epochs. Thus a map is always read from a single epoch: its newest snapshot and the groups after it.

**Group commit.** Threads that change the map while a group is being written form the next group. The first of them
writes it: one frame, with one fsync (one PUT on object stores). It then lists the markers once. The group is
acknowledged only if no newer epoch exists; it is then applied to the entries, and its threads continue.

**Compaction.** When snapshot and groups together exceed the limit, the entries as of the last group are copied (a
shallow copy, the only part for which writers wait), the next group starts a new segment, and a thread puts the
snapshot, checks that the epoch is still the newest, and removes the objects that the snapshot includes.

**No acknowledged change is lost, regardless of the interleaving.**

- *Two writers.* The old one writes, then checks; the new one claims, then reads. If the old one's check succeeded, its
  group was durable before the marker, so the new one reads it. Otherwise the group is not acknowledged.
- *A zombie that continues to write* appends to segments of an old epoch. Once the new epoch has a snapshot, these are
  no longer read; before that, the group is not acknowledged, because the marker exists. An unacknowledged change is in
  the new snapshot or lost: a failed change never appears after others have read the map without it.
- *A writer that dies between claim and snapshot* leaves a marker only. The next one reads the same older epoch.
- *A slow opener*, superseded while it reads, may put its snapshot late. Its snapshot is older than that of the
  superseding process, so it matters only if that process died before its own snapshot. In this case it contains every
  acknowledged change, because no change of an older epoch was acknowledged after the opener's marker.
- *A crash within a compaction*: before the put, the old snapshot and all groups exist. After it, the new snapshot
  includes the objects that are not removed yet, and readers start from the newest one. A put is atomic.
- *A reader during a compaction* misses a listed object, or finds a gap in its listing, and lists again.
- *A removal that was computed* before a newer epoch was claimed may end after the claim, but it only removes objects
  that a durable snapshot includes.
- *A torn tail* is possible only where a writer died during a write: at the end of the last segment of an epoch. Nothing
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
"""Number of segments at which even a small log is compacted, because a reader makes one request for each segment."""

_Compaction = threading.Thread


@frozen(kw_only=True)
class Limits:
    """Limits on the size of a log. The defaults suit every use; tests set smaller limits."""

    segment_bytes: int = SEGMENT_BYTES
    most_segments: int = MOST_SEGMENTS


def _held() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


@define(eq=False)
class _Group:
    changes: list[Change] = field(factory=list)
    records: list[bytes] = field(factory=list)
    settled: threading.Lock = field(factory=_held)
    """Lock that is held until the group has been written. Threads that wait for an event would wake up more slowly."""
    error: Exception | None = None
    replaced: list[Remote] = field(factory=list)
    """Values stored outside the log that are no longer referenced once the group has been acknowledged."""


class Journal:
    """Writer's access to a map. Thread-safe.

    ``entries`` is the acknowledged content. Only commits change it, and it may be read without a lock.
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
        """Lock that guards ``_forming`` and the sizes."""
        self._forming = _Group()
        self._committing = threading.Lock()
        """Lock held while a group is written, so that only one group is written at a time."""
        self._failure: Exception | None = None
        self._compaction: threading.Thread | None = None
        self._live_bytes = len(frames.snapshot_body(self.entries)) + frames.OVERHEAD_BYTES
        self._snapshot_bytes = self._group_bytes = self._segments_compacted = 0
        self._begin()

    # -- changes

    def commit(self, changes: Sequence[Change]) -> None:
        """Make the changes durable atomically, possibly together with changes of other threads.

        Raises:
            StaleEpochError: The map has another writer, or was removed.
            StorageUnavailableError: The storage failed. It is unknown whether the changes are durable.
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
        """Check that this writer owns the map, so that readers see ``entries``; raise ``StaleEpochError`` if not."""
        self.folder.require_newest(self.epoch)

    def close(self) -> None:
        """Release the map once the group that is being written is complete; later changes raise errors."""
        with self._committing:
            self._failure = self._failure or StorageClosedError(
                f"cannot write to {self.folder.where('')}: this map was released. Open it again"
            )
            self._segments.close()
        running = self._compaction
        if running is not None:
            running.join()

    def erase(self) -> None:
        """Permanently remove everything except the newest marker. Call this after ``close``.

        An empty snapshot is put first, so that the map remains empty if a crash interrupts the removal. A writer that
        claims the map in the meantime may find it empty.
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
            self.folder.require_newest(self.epoch)  # a newer writer removes older files: report that
            raise
        self.folder.require_newest(self.epoch)
        self._number = number
        with self._gate:
            self._group_bytes += len(frame)
            self._live_bytes += self._apply(group)
        self._compact_if_due()

    def _apply(self, group: _Group) -> int:
        """Apply a group to the entries; return the growth of the live entries in bytes."""
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
            logger.warning("an unreferenced value remains until the map is opened again: %s", error)

    # -- snapshots

    def _begin(self) -> None:
        """Write the epoch's first snapshot, from which the map is read from now on, and remove older objects."""
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
        """Start a compaction at half of the allowed garbage; wait for it only when the limit is reached."""
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
        """Return the number of bytes by which the log exceeds twice the size of its live entries."""
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
        except Exception as error:  # after any error, the log remains valid, only longer
            logger.warning("a map could not be compacted; the next change retries it: %s", error)
        finally:
            self._compaction = None

    def _failed(self, error: BaseException) -> Exception:
        """Return the error that every later change raises."""
        if isinstance(error, (StorageUnavailableError, StorageAccessError)):
            message = f"{error}. It is unknown whether the last change is durable: open the map again to check"
            return _caused(type(error)(message), error)
        if isinstance(error, Exception):
            return error
        message = f"cannot write to {self.folder.where('')}: a write was interrupted by {type(error).__name__}"
        return _caused(StorageUnavailableError(f"{message}. Open the map again"), error)


def _again(error: Exception) -> Exception:
    """Return a copy of an error for another thread; threads that raise the same exception mix up its tracebacks."""
    return _caused(type(error)(*error.args), error)


def _caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error
