"""Durable writing of groups, to local files or to object stores."""

import os
from abc import ABC, abstractmethod

from seatunnel_storage_hdfs.local import LocalFileStorage

from seatunnel_storage_api.blob import BlobStorage
from seatunnel_storage_api.errors import StorageUnavailableError
from seatunnel_storage_api.links import require_own_links
from seatunnel_storage_mapstore.folder import SEGMENT, Folder, Piece


class SegmentWriter(ABC):
    """Writer of one epoch's groups. Not thread-safe, and unusable after an error."""

    def __init__(self, folder: Folder, epoch: int) -> None:
        self._folder = folder
        self._epoch = epoch
        self.segments = 0
        """Number of segments started so far."""

    @abstractmethod
    def write(self, number: int, frame: bytes) -> None:
        """Write a group. It is durable when the call returns; after an error, it may or may not be durable."""

    def roll(self) -> None:
        """Start a new segment with the next group."""

    def close(self) -> None:
        """Release open files. May be called twice."""

    def _begin(self, number: int, frame: bytes) -> str:
        name = Piece(self._epoch, number, SEGMENT).name
        self._folder.put(name, frame, epoch=self._epoch)
        self.segments += 1
        return name


class ObjectPerGroup(SegmentWriter):
    """Writer for storages that only support puts: every group is a segment."""

    def write(self, number: int, frame: bytes) -> None:
        self._begin(number, frame)


class AppendedFiles(SegmentWriter):
    """Writer for local files: the first group creates a file; later groups are appended with a write and an fsync."""

    def __init__(self, folder: Folder, epoch: int, segment_bytes: int) -> None:
        super().__init__(folder, epoch)
        self._segment_bytes = segment_bytes
        self._path = ""
        self._descriptor: int | None = None
        self._written_bytes = 0

    def write(self, number: int, frame: bytes) -> None:
        if self._path and self._written_bytes < self._segment_bytes:
            self._append(frame)
        else:
            self.close()
            self._path = self._folder.storage.locate(self._folder.prefix + self._begin(number, frame))
            self._written_bytes = 0
        self._written_bytes += len(frame)

    def roll(self) -> None:
        self.close()
        self._path = ""

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _append(self, frame: bytes) -> None:
        try:
            if self._descriptor is None:
                require_own_links(self._path)
                self._descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            rest = memoryview(frame)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            os.fsync(self._descriptor)
        except OSError as cause:
            raise StorageUnavailableError(
                f"cannot append to {self._path} ({self._folder.storage.backend}): {cause}. Check that the disk is "
                "available and has free space"
            ) from cause


def can_append(storage: BlobStorage) -> bool:
    """Return True if the objects of a storage are files on this machine."""
    return isinstance(storage, LocalFileStorage)
