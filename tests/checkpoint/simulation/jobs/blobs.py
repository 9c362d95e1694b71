"""The checkpoint storage: the real one above its four primitives, on blobs that all processes share."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from seatunnel_storage_api import envelope, layout, retention
from seatunnel_storage_api.blob import Blob, BlobStorage
from seatunnel_storage_api.errors import StorageUnavailableError
from seatunnel_storage_api.retry import Backoff
from seatunnel_storage_api.state import PipelineState

if TYPE_CHECKING:
    from tests.checkpoint.simulation.jobs.process import Process


class SimulatedStorage(BlobStorage):
    """Slow, failing with and without effect, down for a while, listing in any order; what a dead process was putting
    may still land, whole or torn."""

    def __init__(self, process: "Process") -> None:
        self._process = process
        self._world = process.world
        self._stage = process.world.stage
        super().__init__(
            backend="simulated",
            namespace="/",
            max_retained=self._world.scenario.retained,
            backoff=Backoff(sleep=lambda seconds: self._stage.sleep(int(seconds * 1_000))),
        )

    # -- what the invariants hear of

    def _put_checkpoint(self, key: str, state: PipelineState) -> None:
        self._world.states[key] = state
        super()._put_checkpoint(key, state)

    def _prune(self, state: PipelineState, pruning: retention.Pruning) -> None:
        sight = self._world.sights.get(state.pipeline_id)
        if sight is not None:
            sight.looked_clean(state)
        super()._prune(state, pruning)
        self._process.unpruned = {pipeline for _, pipeline in self.prune_failures}

    # -- the primitives

    def put_if_absent(self, key: str, body: bytes) -> bool:
        fails = self._fails()
        lands = not fails or self._world.rng.random() < 0.5
        self._may_claim_late(key)

        def put() -> bool:
            stored = lands and self._world.put(self._process, key, body)
            if fails or self._is_down:
                raise StorageUnavailableError("the simulated storage did not answer")
            return stored

        stored: bool = self._stage.act(put, most_ms=self._delay_ms(key), outside=True)
        return stored

    def _may_claim_late(self, key: str) -> None:
        """A process that goes on with the job may sleep before it claims the job, or the first epoch; meanwhile, the
        one before it works."""
        if self._process.restore is None:
            return
        if layout.manifest_version(key) is not None and not self._process.version:
            self._world.may_fall_asleep("claim of the job")
        elif key.endswith(".epoch") and not self._process.has_epoch:
            self._world.may_fall_asleep("claim of an epoch")

    def read(self, key: str) -> bytes | None:
        found: bytes | None = self._act(lambda: self._world.blobs.get(key))  # type: ignore[assignment]
        return found

    def list_blobs(self, prefix: str) -> Iterable[Blob]:
        def listed() -> list[Blob]:
            keys = [key for key in self._world.blobs if key.startswith(prefix)]
            self._world.rng.shuffle(keys)
            return [Blob(key=key, size_bytes=len(self._world.blobs[key])) for key in keys]

        blobs: list[Blob] = self._act(listed)  # type: ignore[assignment]
        return blobs

    def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._act(lambda key=key: self._world.remove(key), outside=True)

    def _act(self, effect: object, *, outside: bool = False) -> object:
        fails = self._fails()

        def step() -> object:
            if fails or self._is_down:
                raise StorageUnavailableError("the simulated storage did not answer")
            return effect()  # type: ignore[operator]

        return self._stage.act(step, most_ms=self._delay_ms(), outside=outside)

    @property
    def _is_down(self) -> bool:
        now_ms = self._stage.clock.now_ms
        return any(begins <= now_ms < ends for begins, ends in self._world.scenario.faults.outages)

    def _fails(self) -> bool:
        return self._world.chance(self._world.scenario.faults.storage_fails)

    def _delay_ms(self, key: str = "") -> int:
        may_be_late = key.endswith(".ckpt") or (key.endswith(".epoch") and self._process.has_epoch)
        if may_be_late and self._world.chance(self._world.scenario.faults.checkpoint_stalls):
            return self._world.rng.choice([200, 1_000, 3_000])
        stalls = self._world.chance(self._world.scenario.faults.storage_stalls)
        return self._world.rng.choice([200, 2_000, 6_000]) if stalls else 3


def attachment_of(blobs: Mapping[str, bytes], job_id: str, digest: str) -> bytes:
    """The body of a stored attachment."""
    key = layout.attachment_key(job_id, digest)
    return envelope.unseal(blobs[key], kind="attachment", where=key).body


def manifest_of(sealed: bytes) -> bytes:
    return envelope.unseal(sealed, kind="manifest", where="").body
