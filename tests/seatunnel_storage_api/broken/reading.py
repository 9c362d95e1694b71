"""Storages that break promises 2, 3, 4, 12 and 13, about reads. Each docstring is what their author thought."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from seatunnel_storage_api import envelope, layout
from seatunnel_storage_api.blob import Blob
from seatunnel_storage_api.memory import MemoryStorage
from seatunnel_storage_api.state import CheckpointInfo, CheckpointType, PipelineState
from tests.seatunnel_storage_api.broken.given import breaks

# -- 2: sealed


@breaks(2)
class BelievesTheBytes(MemoryStorage):
    """The disk has its own checksums."""

    def _open(
        self, key: str, kind: str, sealed: bytes, info: CheckpointInfo | None, **expected: object
    ) -> envelope.Opened:
        body = 18 + int.from_bytes(sealed[14:18], "big")
        return envelope.Opened(header=expected, body=sealed[body:-32])


@breaks(2)
class BelievesTheName(MemoryStorage):
    """The bytes are intact, so they are those of this checkpoint."""

    def _open(
        self, key: str, kind: str, sealed: bytes, info: CheckpointInfo | None, **expected: object
    ) -> envelope.Opened:
        return envelope.unseal(sealed, kind=kind, where=key)


@breaks(2)
class PassesOverStrangeNames(MemoryStorage):
    """Files whose names cannot be parsed are not checkpoints."""

    def list_blobs(self, prefix: str) -> Iterable[Blob]:
        types = {each.value for each in CheckpointType}
        return [
            blob
            for blob in super().list_blobs(prefix)
            if not blob.key.endswith(".ckpt") or blob.key.split(".base-")[0].rpartition(".")[2] in types
        ]


# -- 3: latest


class Chooses(MemoryStorage):
    """Has an idea of its own of which one is the latest."""

    @abstractmethod
    def rank(self, info: CheckpointInfo) -> Any:
        """The largest is the latest."""

    def get_latest_checkpoint(self, job_id: str, pipeline_id: int, **how: Any) -> PipelineState | None:
        infos = self.list_checkpoints(job_id, pipeline_id)
        return self.load(max(infos, key=self.rank)) if infos else None


@breaks(3)
class TakesTheLastWritten(Chooses):
    """The file with the newest time is the newest."""

    def rank(self, info: CheckpointInfo) -> Any:
        return list(self.blobs).index(self.locate(layout.checkpoint_key(info)))


@breaks(3)
class ComparesAsText(Chooses):
    """Listed names are already in the right order."""

    def rank(self, info: CheckpointInfo) -> Any:
        return str(info.ref)


@breaks(3)
class ComparesIdsAlone(Chooses):
    """IDs always increase, so the largest ID is the latest."""

    def rank(self, info: CheckpointInfo) -> Any:
        return info.checkpoint_id


@breaks(3)
class LeavesSavepointsOut(Chooses):
    """Savepoints are only for users, so they do not count as the latest checkpoint."""

    def rank(self, info: CheckpointInfo) -> Any:
        return (info.checkpoint_type is not CheckpointType.SAVEPOINT, info.ref)


@breaks(3)
class LooksInTheNewestEpochOnly(MemoryStorage):
    """The newest epoch always contains the newest checkpoint."""

    def get_latest_checkpoint(self, job_id: str, pipeline_id: int, **how: Any) -> PipelineState | None:
        listing = self.scan(job_id, pipeline_id)
        infos = [info for info in listing.checkpoints if info.epoch == listing.newest_epoch]
        return self.load(infos[-1]) if infos else None


# -- 4: fallback is explicit


@breaks(4)
class PassesOverDamage(MemoryStorage):
    """An older checkpoint is better than none."""

    def get_latest_checkpoint(self, job_id: str, pipeline_id: int, **how: Any) -> PipelineState | None:
        return super().get_latest_checkpoint(job_id, pipeline_id, **{**how, "on_corrupted": "previous"})


@breaks(4)
class FallsBackToTheVoid(MemoryStorage):
    """The previous checkpoint is the previous entry in the listing."""

    def get_latest_checkpoint(self, job_id: str, pipeline_id: int, **how: Any) -> PipelineState | None:
        infos = self.list_checkpoints(job_id, pipeline_id)
        if how.get("on_corrupted") == "previous" and len(infos) > 1:
            return self.load(infos[-2])
        return super().get_latest_checkpoint(job_id, pipeline_id, **how)


@breaks(4)
class TakesAbsenceForAnError(MemoryStorage):
    """A caller that requests a checkpoint expects that it exists."""

    def get_checkpoint(self, job_id: str, pipeline_id: int, checkpoint_id: int, epoch: int | None = None) -> Any:
        state = super().get_checkpoint(job_id, pipeline_id, checkpoint_id, epoch)
        if state is None:
            raise LookupError(f"no checkpoint {checkpoint_id}")
        return state


# -- 12: cheap


@breaks(12)
class ReadsPayloadsToList(MemoryStorage):
    """The size is the length of the body."""

    def list_blobs(self, prefix: str) -> Iterable[Blob]:
        keys = [blob.key for blob in super().list_blobs(prefix)]
        return [Blob(key=key, size_bytes=len(self.read(key) or b"")) for key in keys]


@breaks(12)
class ReadsAllForTheLatest(MemoryStorage):
    """The latest checkpoint is found by reading all of them."""

    def get_latest_checkpoint(self, job_id: str, pipeline_id: int, **how: Any) -> PipelineState | None:
        return (None, *self.get_all_checkpoints(job_id, pipeline_id))[-1]


@breaks(12)
class LooksTwice(MemoryStorage):
    """A second listing confirms that the checkpoint was stored."""

    def store_checkpoint(self, state: PipelineState) -> None:
        super().store_checkpoint(state)
        self.list_checkpoints(state.job_id, state.pipeline_id)


# -- 13: from nothing to large


@breaks(13)
class CopiesOnTheWay(MemoryStorage):
    """One more buffer makes no difference."""

    def put_if_absent(self, key: str, body: bytes) -> bool:
        return super().put_if_absent(key, bytes(bytearray(body)))


@breaks(13)
class TakesEmptyForAbsent(MemoryStorage):
    """``if not states: return None``."""

    def load(self, info: CheckpointInfo) -> PipelineState | None:
        state = super().load(info)
        return state if state and state.states else None
