"""Storages that break promises 1, 5, 7, 8 and 10, about stores. Each docstring is what their author thought."""

import itertools
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import attrs
from seatunnel_storage_hdfs.local import LocalFileStorage

from seatunnel_storage_api import layout, retention
from seatunnel_storage_api.blob import Blob
from seatunnel_storage_api.memory import MemoryStorage
from seatunnel_storage_api.retention import Pruning
from seatunnel_storage_api.state import CheckpointInfo, CheckpointType, PipelineListing, PipelineState
from tests.seatunnel_storage_api.broken.given import breaks

# -- 1: durable, and whole or not at all


@breaks(1)
class AcknowledgesFromABuffer(MemoryStorage):
    """Few large requests are cheaper than many small ones."""

    def __init__(self, *blobs: dict[str, bytes], **more: Any) -> None:
        super().__init__(*blobs, **more)
        self.buffer: dict[str, bytes] = {}

    def put_if_absent(self, key: str, body: bytes) -> bool:
        return super().read(key) is None and self.buffer.setdefault(key, body) is body

    def read(self, key: str) -> bytes | None:
        return self.buffer.get(key) or super().read(key)

    def list_blobs(self, prefix: str) -> Iterable[Blob]:
        pending = [Blob(key=key, size_bytes=len(body)) for key, body in self.buffer.items() if key.startswith(prefix)]
        return [*super().list_blobs(prefix), *pending]

    def close(self) -> None:
        for key, body in self.buffer.items():
            super().put_if_absent(key, body)
        super().close()


@breaks(1)
class AcknowledgesBeforeTheGroup(LocalFileStorage):
    """One sync for several checkpoints is sufficient, because until then the process has them in memory."""

    group: ClassVar[dict[str, bytes]] = {}

    def put_pieces_if_absent(self, key: str, pieces: Sequence[bytes]) -> bool:
        path = self.locate(key)
        if os.path.exists(path) or path in self.group:
            return False
        self.group[path] = b"".join(pieces)
        if len(self.group) > 50:
            for each in list(self.group):
                super().put_pieces_if_absent(each.removeprefix(self.namespace), [self.group.pop(each)])
        return True

    def read(self, key: str) -> bytes | None:
        return self.group.get(self.locate(key)) or super().read(key)

    def list_blobs(self, prefix: str) -> Iterator[Blob]:
        yield from super().list_blobs(prefix)
        for path, body in self.group.items():
            if path.startswith(self.locate(prefix)):
                yield Blob(key=path.removeprefix(self.namespace), size_bytes=len(body))


@breaks(1)
class WritesInPlace(LocalFileStorage):
    """No process reads a file before the store has returned."""

    def put_pieces_if_absent(self, key: str, pieces: Sequence[bytes]) -> bool:
        path = Path(self.locate(key))
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with path.open("xb", buffering=0) as file:
                for piece in pieces:
                    file.write(piece)
                    time.sleep(0.005)
                os.fsync(file)
        except FileExistsError:
            return False
        return True


@breaks(1)
class ForgetsAtClose(MemoryStorage):
    """A closed storage cleans up its data."""

    def close(self) -> None:
        self.blobs.clear()
        super().close()


# -- 5: retention


@breaks(5)
class KeepsOneTooMany(MemoryStorage):
    """The comparison is ``>`` (it should be ``>=``)."""

    def __init__(self, *blobs: dict[str, bytes], max_retained: int, **more: Any) -> None:
        super().__init__(*blobs, max_retained=max_retained + 1, **more)


class Prunes(MemoryStorage):
    """Decides by itself what is too much."""

    def too_many(self, state: PipelineState, listing: PipelineListing) -> Iterable[CheckpointInfo]:
        return ()

    def _prune(self, state: PipelineState, pruning: Pruning) -> None:
        listing = self._listing(state.job_id, state.pipeline_id)
        super()._prune(state, attrs.evolve(pruning, checkpoints=tuple(self.too_many(state, listing))))


@breaks(5)
class PrunesSavepoints(Prunes):
    """All files in the folder count towards max-retained."""

    def too_many(self, state: PipelineState, listing: PipelineListing) -> Iterable[CheckpointInfo]:
        alike = [attrs.evolve(info, checkpoint_type=CheckpointType.CHECKPOINT) for info in listing.checkpoints]
        pruning = retention.prune(
            attrs.evolve(listing, checkpoints=tuple(alike)), stored=state.ref, max_retained=self.max_retained
        )
        unwanted = {info.ref for info in pruning.checkpoints}
        return [info for info in listing.checkpoints if info.ref in unwanted]


@breaks(5)
class PrunesTheWayToASavepoint(Prunes):
    """A savepoint is complete, so it does not depend on other checkpoints."""

    def too_many(self, state: PipelineState, listing: PipelineListing) -> Iterable[CheckpointInfo]:
        counted = [info for info in listing.checkpoints if info.checkpoint_type is CheckpointType.CHECKPOINT]
        return [info for info in counted[: -self.max_retained] if info.ref != state.ref]


@breaks(5)
class PrunesWhatWasJustStored(Prunes):
    """The checkpoints with the largest IDs are kept, regardless of the one just stored."""

    def too_many(self, state: PipelineState, listing: PipelineListing) -> Iterable[CheckpointInfo]:
        return listing.checkpoints[: -self.max_retained]


@breaks(5)
class CountsInMemory(Prunes):
    """A listing costs a request, and the process can count its own checkpoints."""

    def too_many(self, state: PipelineState, listing: PipelineListing) -> Iterable[CheckpointInfo]:
        mine = vars(self).setdefault("mine", [])
        mine.append(state.ref)
        return [info for info in listing.checkpoints if info.ref in mine[: -self.max_retained]]


@breaks(5)
class ForgetsAFailedPrune(MemoryStorage):
    """Each store removes one old checkpoint, so failed removals need no retry."""

    def _prune(self, state: PipelineState, pruning: Pruning) -> None:
        super()._prune(state, attrs.evolve(pruning, checkpoints=pruning.checkpoints[:1]))


@breaks(5)
class FailsTheStoreWithThePrune(MemoryStorage):
    """Every failure must be raised, also that of a removal."""

    def _prune(self, state: PipelineState, pruning: Pruning) -> None:
        self._delete([layout.checkpoint_key(info) for info in pruning.checkpoints])


@breaks(5)
class LetsMarkersPileUp(MemoryStorage):
    """Markers are empty files, so they need not be removed."""

    def _prune(self, state: PipelineState, pruning: Pruning) -> None:
        super()._prune(state, attrs.evolve(pruning, epochs=()))


# -- 7: idempotent, and never over another one


@breaks(7)
class Overwrites(MemoryStorage):
    """The client's default put, without a condition, is sufficient."""

    def put_if_absent(self, key: str, body: bytes) -> bool:
        self.blobs[self.locate(key)] = body
        return True


@breaks(7)
class TakesTheKeyForTheContent(MemoryStorage):
    """An object with the same key was stored by a repeated request."""

    def _put_or_read(self, key: str, sealed: Sequence[bytes]) -> bytes | None:
        super()._put_or_read(key, sealed)
        return None


@breaks(7)
class LetsTwinsLive(MemoryStorage):
    """A checkpoint of another type is a separate file."""

    def _refuse_twin(self, key: str, state: PipelineState, listing: PipelineListing) -> None:
        pass


# -- 8: fenced


@breaks(8)
class IgnoresForeignMarkers(MemoryStorage):
    """Only one engine runs at a time."""

    def store_checkpoint(self, state: PipelineState) -> None:
        self._put_checkpoint(layout.checkpoint_key(state), state)


@breaks(8)
class LooksBeforeItPuts(MemoryStorage):
    """Checking for a newer engine before the write is sufficient."""

    def store_checkpoint(self, state: PipelineState) -> None:
        key = layout.checkpoint_key(state)
        listing = self._listing(state.job_id, state.pipeline_id)
        if listing.newest_epoch != state.epoch:
            raise self._stale(key, state, listing)
        time.sleep(0.002)
        self._put_checkpoint(key, state)


@breaks(8)
class CountsEpochsInMemory(MemoryStorage):
    """Only this process assigns epochs."""

    def acquire_epoch(self, job_id: str, pipeline_id: int, minimum: int, below: int | None = None) -> int:
        epochs = vars(self).setdefault("epochs", itertools.count(1))
        epoch: int = max(minimum, next(epochs))
        self.put_if_absent(layout.epoch_key(job_id, pipeline_id, epoch), b"")
        return epoch


@breaks(8)
class ClaimsAboveItsBound(MemoryStorage):
    """Any larger epoch is valid."""

    def acquire_epoch(self, job_id: str, pipeline_id: int, minimum: int, below: int | None = None) -> int:
        return super().acquire_epoch(job_id, pipeline_id, minimum)


@breaks(8)
class DeletesTheMarkersOfADeletedJob(MemoryStorage):
    """A deleted job needs no markers."""

    def delete_job(self, job_id: str) -> None:
        self._delete([blob.key for blob in self._list(layout.job_folder(job_id))])


@breaks(8)
class ListsFromACache(MemoryStorage):
    """Cached listings, as in NFS, are recent enough."""

    def __init__(self, *blobs: dict[str, bytes], **more: Any) -> None:
        super().__init__(*blobs, **more)
        self.seen: dict[str, list[Blob]] = {}

    def put_if_absent(self, key: str, body: bytes) -> bool:
        for prefix in [prefix for prefix in self.seen if key.startswith(prefix)]:
            self.seen[prefix].append(Blob(key=key, size_bytes=len(body)))
        return super().put_if_absent(key, body)

    def list_blobs(self, prefix: str) -> Iterable[Blob]:
        listed = self.seen.setdefault(prefix, list(super().list_blobs(prefix)))
        return [blob for blob in {blob.key: blob for blob in listed}.values() if self.locate(blob.key) in self.blobs]


# -- 10: concurrent


@breaks(10)
class ChecksThenWrites(MemoryStorage):
    """Checking for existence and then writing is sufficient."""

    def put_if_absent(self, key: str, body: bytes) -> bool:
        if self.locate(key) in self.blobs:
            return False
        time.sleep(0.001)
        self.blobs[self.locate(key)] = body
        return True


@breaks(10)
class ListsWhileOthersWrite(MemoryStorage):
    """A generator can iterate without a copy."""

    def list_blobs(self, prefix: str) -> Iterator[Blob]:
        here = self.locate(prefix)
        for path, body in self.blobs.items():
            time.sleep(0)
            if path.startswith(here):
                yield Blob(key=path.removeprefix(self.namespace), size_bytes=len(body))
