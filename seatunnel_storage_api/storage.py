"""The interface of a checkpoint storage: its guarantees for an engine, and the obligations of a plugin.

A *job* consists of *pipelines*, numbered from 1. Starting a pipeline claims an *epoch*, a number larger than all
earlier ones, and stores its *marker*. A *checkpoint* has an ID that grows within its epoch, and its *base* is the
checkpoint from which its epoch continued. The latest checkpoint, the earlier ones in its epoch, its base and so on are
*live*; all others are *orphaned* (``lineage``). A *savepoint* is kept until a user removes it; a *completed point* is
the last checkpoint of a finished pipeline. The *manifest* describes the parts of the job; *attachments* are objects
shared by many checkpoints.

A storage on blobs (files, objects) is best built on ``seatunnel_storage_api.blob.BlobStorage``, which implements every
operation on four primitives. Any other kind implements the abstract methods below. In both cases the conformance kit
(``seatunnel_storage_api.testing``) checks the promises:

1.  *Durable when it returns*, and a part of a checkpoint is never visible.
2.  *Sealed*: a flipped, missing or extra byte is ``CheckpointCorruptedError``, never wrong data.
3.  *Latest is the largest (epoch, id)* that exists: never a clock, a file time or the order of a listing.
4.  *Fallback is explicit*: absence is ``None`` or empty; damage and failure raise.
5.  *max-retained* holds in each pipeline, across restarts; savepoints and the newest completed point stay, and so does
    the newest live checkpoint of each epoch since a live savepoint, because otherwise the savepoint would be orphaned.
6.  *The namespace ends with "/"*, and no id escapes it.
7.  *Store is idempotent* and never overwrites.
8.  *Fenced without a lock service*, see below.
9.  *Isolated*: jobs, pipelines and namespaces never see each other.
10. *Concurrent*: many threads and processes may use one namespace at once.
11. *Errors name* backend, operation, path and remedy, and hold no secret.
12. *Cheap*: a listing reads no payload, ``get_latest_checkpoint`` reads one, a store is one put and one listing.
13. *Large states*, from 0 bytes to 1 GiB, with at most two copies in memory.

**Why the fence holds.** A new engine first puts its epoch's marker and then lists; a running one first puts its
checkpoint and then lists. Both write before they read (Dekker's argument), so with strongly consistent listings at
least one of the two sees the other: either the new engine finds the checkpoint and may continue from it, or the old one
finds the marker and gets ``StaleEpochError``. The fence does *not* prevent a stale engine from putting a checkpoint
after the new one listed (it is orphaned, see ``lineage``), from finishing a commit after a pause between the successful
listing and this commit, or from finishing a deletion that it had computed. It can do nothing else to the storage; its
possible effects on targets are described by rule R6 of ``docs/design/checkpoint-protocol.md``.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Literal, Self

from seatunnel_storage_api import lineage
from seatunnel_storage_api.errors import CheckpointCorruptedError, StorageUnavailableError, StorageUsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType

    from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef, Manifest, PipelineListing, PipelineState

logger = logging.getLogger("seatunnel.storage")

MOST_LISTINGS = 100
"""Maximum number of times that a reader lists again because listed objects were removed."""


class CheckpointStorage(ABC):
    """Stores the checkpoints, epochs, manifests and attachments of many jobs below one namespace.

    Synchronous and thread-safe. A ``job_id`` matches ``[A-Za-z0-9._-]{1,128}`` and is not "." or ".."; pipelines are
    numbered from 1. Every method may raise ``InvalidIdError`` for other IDs, ``StorageUnavailableError`` (after
    internal retries) and ``StorageAccessError``; the docstrings below list other errors.
    """

    # -- checkpoints: writing

    @abstractmethod
    def store_checkpoint(self, state: PipelineState) -> None:
        """Store one checkpoint, check the fence, and expire old checkpoints (promises 1, 5, 7 and 8).

        When the call returns, the checkpoint survives a crash of the process and of the machine, no newer engine had
        been seen, and the caller may commit. The same key (job, pipeline, epoch, ID) with the same content is a no-op.
        A failed expiry does not fail the store: it is logged, recorded in ``prune_failures`` and retried by the
        pipeline's next store.

        Raises:
            StaleEpochError: A newer epoch's marker exists, or the caller's own was removed. Commit nothing.
            CheckpointConflictError: The key exists with different content, which remains unchanged.
        """

    @property
    @abstractmethod
    def prune_failures(self) -> Mapping[tuple[str, int], Exception]:
        """Errors of the last expiry, keyed by (job ID, pipeline ID). A successful expiry removes the entry."""

    @abstractmethod
    def delete_checkpoints(self, job_id: str, pipeline_id: int, refs: Iterable[CheckpointRef]) -> None:
        """Remove checkpoints of one pipeline, including savepoints; ignore missing ones."""

    def delete_checkpoint(self, job_id: str, pipeline_id: int, checkpoint_id: int, epoch: int | None = None) -> None:
        """Remove the checkpoint with this ID in the given epoch, by default in the newest epoch that has one."""
        info = self._find(job_id, pipeline_id, checkpoint_id, epoch)
        if info is not None:
            self.delete_checkpoints(job_id, pipeline_id, (info.ref,))

    @abstractmethod
    def delete_job(self, job_id: str) -> None:
        """Remove all objects of a job: its manifests first, then its checkpoints and attachments.

        Each pipeline is fenced first, so that an engine that still runs it gets ``StaleEpochError``; each pipeline's
        newest marker remains for this purpose. A concurrent store may leave behind one checkpoint that was never
        acknowledged; deleting again removes it. Does nothing for an unknown job.
        """

    # -- checkpoints: reading

    @abstractmethod
    def scan(self, job_id: str, pipeline_id: int) -> PipelineListing:
        """Return the checkpoints and epoch markers of one pipeline, from one listing and without reading payloads.

        The listing is empty for an unknown job or pipeline.

        Raises:
            CheckpointCorruptedError: A name in the folder has the form of a checkpoint or marker, but is not valid.
        """

    @abstractmethod
    def scan_job(self, job_id: str) -> Mapping[int, PipelineListing]:
        """Return the results of ``scan`` for all pipelines of a job, keyed by pipeline ID; empty for an unknown job."""

    @abstractmethod
    def load(self, info: CheckpointInfo) -> PipelineState | None:
        """Read and verify a listed checkpoint; return ``None`` if it has been removed since then.

        Raises:
            CheckpointCorruptedError: Its bytes differ from the stored ones.
            UnsupportedFormatError: A newer version wrote it.
        """

    def list_checkpoints(self, job_id: str, pipeline_id: int) -> tuple[CheckpointInfo, ...]:
        """Return all checkpoints of a pipeline, even orphaned ones, sorted by (epoch, ID); see ``lineage.live``."""
        return self.scan(job_id, pipeline_id).checkpoints

    def get_checkpoint(
        self, job_id: str, pipeline_id: int, checkpoint_id: int, epoch: int | None = None
    ) -> PipelineState | None:
        """Return the checkpoint with this ID in the given epoch, else in the newest epoch that has one; or ``None``.

        Raises:
            CheckpointCorruptedError: The checkpoint is damaged.
            UnsupportedFormatError: A newer version wrote it.
        """
        for _ in range(MOST_LISTINGS):
            info = self._find(job_id, pipeline_id, checkpoint_id, epoch)
            state = self.load(info) if info else None
            if info is None or state is not None:
                return state
        raise vanishing(job_id)

    def get_latest_checkpoint(
        self,
        job_id: str,
        pipeline_id: int,
        *,
        on_corrupted: Literal["raise", "previous"] = "raise",
        report: Callable[[CheckpointCorruptedError], object] | None = None,
    ) -> PipelineState | None:
        """Return the checkpoint with the largest (epoch, ID); ``None`` only if there is none (promises 3 and 4).

        Reads one payload.

        Args:
            job_id: The job.
            pipeline_id: The pipeline, from 1.
            on_corrupted: ``"raise"`` raises an error if that checkpoint is damaged. ``"previous"`` returns the newest
                intact *live* one instead; the caller must then be aware that rows after it were committed.
            report: Function that is called with the error of each skipped damaged checkpoint, newest first, such as
                ``list.append``. Each error is also logged.

        Raises:
            CheckpointCorruptedError: The newest checkpoint is damaged; with ``"previous"``, all live ones are damaged.
            UnsupportedFormatError: A newer version wrote it. It is never skipped.
        """
        if on_corrupted not in ("raise", "previous"):
            raise StorageUsageError(f"on_corrupted is {on_corrupted!r}, expected 'raise' or 'previous'")
        damaged: list[CheckpointCorruptedError] = []
        state = self._newest_intact(job_id, pipeline_id, on_corrupted == "previous", damaged)
        for error in damaged:
            logger.warning("skipped a damaged checkpoint: %s", error)
            if report is not None:
                report(error)
        return state

    def get_latest_checkpoints(self, job_id: str) -> tuple[PipelineState, ...]:
        """Return the latest checkpoint of each pipeline, sorted by pipeline ID.

        Raises the errors of ``get_latest_checkpoint``.
        """
        states = (self.get_latest_checkpoint(job_id, pipeline) for pipeline in sorted(self.scan_job(job_id)))
        return tuple(state for state in states if state is not None)

    def get_all_checkpoints(self, job_id: str, pipeline_id: int | None = None) -> tuple[PipelineState, ...]:
        """Return all checkpoints of a job or of one pipeline with their payloads, sorted by (pipeline, epoch, ID).

        Raises:
            CheckpointCorruptedError: A checkpoint is damaged.
            UnsupportedFormatError: A newer version wrote a checkpoint.
        """
        numbers = sorted(self.scan_job(job_id)) if pipeline_id is None else [pipeline_id]
        return tuple(state for number in numbers for state in self._all_of(job_id, number))

    # -- epochs

    @abstractmethod
    def acquire_epoch(self, job_id: str, pipeline_id: int, minimum: int, below: int | None = None) -> int:
        """Claim and return an epoch of a pipeline; the marker is durable when the call returns (promise 8).

        It is larger than the epochs of all markers and checkpoints of the pipeline. No two callers get the same epoch.

        Args:
            job_id: The job.
            pipeline_id: The pipeline, from 1.
            minimum: The minimum epoch to claim, from 0.
            below: The epoch must be smaller than this; ``None`` for no limit.

        Raises:
            StaleEpochError: The next epoch would not be smaller than ``below``. Nothing was claimed.
        """

    def newest_epoch(self, job_id: str, pipeline_id: int) -> int | None:
        """Return the largest epoch with a marker, or ``None`` if the pipeline was never claimed."""
        return self.scan(job_id, pipeline_id).newest_epoch

    # -- the job

    @abstractmethod
    def put_manifest(self, job_id: str, version: int, body: bytes) -> None:
        """Store a version of the job's manifest, durable when the call returns.

        Raises:
            ManifestConflictError: The version exists, whatever its content. Exactly one of several callers succeeds.
        """

    @abstractmethod
    def get_manifest(self, job_id: str) -> Manifest | None:
        """Return the newest version of the job's manifest, or ``None`` if the job has none.

        Raises:
            CheckpointCorruptedError: The manifest is damaged. An older version is never returned instead.
        """

    def delete_manifests(self, job_id: str, below: int) -> None:
        """Remove all versions of the job's manifest before ``below``; the newest one is always kept.

        A removed version can be put again. Therefore a process that removes versions must check after each put that its
        version is the newest. The default does nothing.
        """

    @abstractmethod
    def list_jobs(self) -> tuple[str, ...]:
        """Return the sorted IDs of all jobs with a manifest, checkpoint or attachment; lists the whole namespace."""

    @abstractmethod
    def store_attachment(self, job_id: str, body: bytes) -> str:
        """Store an immutable object that exists as long as its job. Durable when the call returns.

        Returns:
            The name of the object: the SHA-256 of ``body`` as 64 lowercase hex digits. Storing the same body again is a
                no-op.

        Raises:
            CheckpointCorruptedError: The stored object with that name is damaged.
        """

    @abstractmethod
    def get_attachment(self, job_id: str, digest: str) -> bytes:
        """Return the body of an attachment.

        Raises:
            AttachmentNotFoundError: The job has no attachment with that name.
            CheckpointCorruptedError: The attachment is damaged.
        """

    # -- the end

    @abstractmethod
    def close(self) -> None:
        """Release all resources. Idempotent. Afterwards, all other methods raise ``StorageClosedError``."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # -- shared by the readers

    def _find(self, job_id: str, pipeline_id: int, checkpoint_id: int, epoch: int | None) -> CheckpointInfo | None:
        infos = self.scan(job_id, pipeline_id).checkpoints
        return lineage.latest(
            info for info in infos if info.checkpoint_id == checkpoint_id and epoch in (None, info.epoch)
        )

    def _newest_intact(
        self, job_id: str, pipeline_id: int, fall_back: bool, damaged: list[CheckpointCorruptedError]
    ) -> PipelineState | None:
        for _ in range(MOST_LISTINGS):
            infos = self.scan(job_id, pipeline_id).checkpoints
            alive = lineage.live(infos)
            damaged.clear()
            for info in reversed([each for each in infos if each.ref in alive]):
                outcome = self._load_or_damage(info)
                if outcome is None:
                    break
                if not isinstance(outcome, CheckpointCorruptedError):
                    return outcome
                damaged.append(outcome)
                if not fall_back:
                    raise outcome
            else:
                if damaged:
                    raise damaged[0]
                return None
        raise vanishing(job_id)

    def _load_or_damage(self, info: CheckpointInfo) -> PipelineState | CheckpointCorruptedError | None:
        try:
            return self.load(info)
        except CheckpointCorruptedError as error:
            return error

    def _all_of(self, job_id: str, pipeline_id: int) -> list[PipelineState]:
        for _ in range(MOST_LISTINGS):
            states = [self.load(info) for info in self.scan(job_id, pipeline_id).checkpoints]
            present = [state for state in states if state is not None]
            if len(present) == len(states):
                return present
        raise vanishing(job_id)


def vanishing(job_id: str) -> StorageUnavailableError:
    """Return the error for a reader that found listed objects removed after each of ``MOST_LISTINGS`` listings."""
    return StorageUnavailableError(
        f"cannot read job {job_id!r}: its objects were removed {MOST_LISTINGS} times between listing and reading. "
        "Raise max-retained or the checkpoint interval"
    )


class CheckpointStorageFactory(ABC):
    """Factory of checkpoint storages of one kind, registered by a plugin."""

    @property
    @abstractmethod
    def factory_identifier(self) -> str:
        """``type`` of the storage in the configuration, and name of the plugin's entry point."""

    @abstractmethod
    def create(self, configuration: Mapping[str, str]) -> CheckpointStorage:
        """Return a new storage, independent of all others; ``configuration`` is not changed.

        Detect problems here where possible, instead of at the first checkpoint an hour later: an invalid key, a missing
        bucket, a folder that is not writable.

        Args:
            configuration: ``namespace``, ``max-retained`` (see ``seatunnel_storage_api.configuration``) and the
                backend's own keys. An unknown key causes a warning. With ``read-only: true``, nothing is created, no
                test write is made, and storing is rejected; a plugin need not support this key.

        Raises:
            StorageConfigurationError: The configuration is invalid; the message contains the remedy.
            StorageAccessError: The location exists but denies access.
            StorageUnavailableError: The location does not respond.
        """

    def idle_keys(self, configuration: Mapping[str, str]) -> Mapping[str, str]:
        """Return the keys that have no effect, each with a sentence that explains this and contains no value.

        Makes no connection. The default is empty; a plugin without this method warns about such keys in ``create``.

        Raises:
            StorageConfigurationError: As ``create``, if the mistake is visible in the configuration alone.
        """
        return {}
