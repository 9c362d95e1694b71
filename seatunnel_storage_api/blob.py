"""Complete checkpoint storage built on four primitive operations, for any backend that stores named bytes."""

import functools
import hashlib
import itertools
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from seatunnel_storage_api import configuration, envelope, inventory, layout, retention
from seatunnel_storage_api.errors import (
    AttachmentNotFoundError,
    CheckpointConflictError,
    CheckpointCorruptedError,
    CheckpointStorageError,
    ManifestConflictError,
    StaleEpochError,
    StorageAccessError,
    StorageClosedError,
    StorageUnavailableError,
)
from seatunnel_storage_api.inventory import Holding, HoldingKind, Inventory
from seatunnel_storage_api.layout import Blob
from seatunnel_storage_api.retry import Backoff, as_storage_errors
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef, Manifest, PipelineListing, PipelineState
from seatunnel_storage_api.storage import MOST_LISTINGS, CheckpointStorage, logger, vanishing

__all__ = ["Blob", "BlobStorage"]

Answer = TypeVar("Answer")

_PUTS = 100
"""Maximum number of attempts to put an object if it is removed, or to claim an epoch if it is superseded."""


_CHANGES = frozenset(("put", "delete", "sweep"))
"""Operations that a ``read_only`` storage rejects."""


class BlobStorage(CheckpointStorage, Inventory):
    """``CheckpointStorage`` built on ``put_if_absent``, ``read``, ``list_blobs`` and ``delete`` (and ``close``).

    These operations receive keys below the namespace and must be thread-safe. They raise ``StorageUnavailableError``
    for retryable failures, ``StorageAccessError`` if access is denied, or a plain ``OSError``. This class retries
    retryable failures with jitter, converts ``OSError`` to one of the two, and adds backend, operation and path to all
    of them.

    Args:
        backend: Name of this storage in messages, such as ``"hdfs on local files"``.
        namespace: Absolute folder that ends with "/"; see ``configuration.namespace``.
        max_retained: Number of checkpoints to keep per pipeline, at least 1; see ``configuration.max_retained``.
        backoff: Retry policy for a primitive that raises ``StorageUnavailableError``.

    A factory sets ``read_only`` if the configuration requires it; all changes are then rejected.
    """

    def __init__(self, *, backend: str, namespace: str, max_retained: int, backoff: Backoff | None = None) -> None:
        self.backend = backend
        self.namespace = namespace
        self.max_retained = max_retained
        self.read_only = False
        self._backoff = backoff or Backoff()
        self._prune_failures: dict[tuple[str, int], Exception] = {}
        self._closed = False

    # -- the primitives

    @abstractmethod
    def put_if_absent(self, key: str, body: bytes) -> bool:
        """Store ``body`` under ``key`` unless the key exists: atomically, and durable when the call returns.

        Atomic means that a reader never gets a part of ``body``. Exactly one of several concurrent calls for one key
        returns ``True``.

        Args:
            key: Key below the namespace, with folders separated by "/".
            body: From 0 bytes to 1 GiB.

        Returns:
            ``True`` if this call stored the body; ``False`` if the key exists and its object is durable.

        Raises:
            StorageUnavailableError: A retryable failure; the calling operation retries.
            StorageAccessError: Access is denied.
            OSError: Any other failure; the calling operation converts it to one of the two.
        """

    @abstractmethod
    def read(self, key: str) -> bytes | None:
        """Return all bytes under ``key``, or ``None`` if it does not exist. Raises the errors of ``put_if_absent``."""

    @abstractmethod
    def list_blobs(self, prefix: str) -> Iterable[Blob]:
        """Return the objects with keys that start with ``prefix``, in any order; raise the errors of ``put_if_absent``.

        The listing is strongly consistent: it contains the object of every put that returned before the call. It should
        omit unfinished objects; ``unfinished`` returns these.

        Args:
            prefix: Empty for the whole namespace, otherwise a folder that ends with "/".
        """

    @abstractmethod
    def delete(self, keys: Iterable[str]) -> None:
        """Remove the objects under these keys and ignore absent ones. Raises the errors of ``put_if_absent``."""

    def close(self) -> None:
        """Mark the storage as closed. A class that overrides this releases its own resources and calls this method."""
        self._closed = True

    # -- optional overrides

    def put_pieces_if_absent(self, key: str, pieces: Sequence[bytes]) -> bool:
        """Store the concatenation of ``pieces`` as ``put_if_absent`` does.

        All operations that store data call it. Override it if the backend can write the pieces one by one; joining them
        copies a large state once more.
        """
        return self.put_if_absent(key, b"".join(pieces))

    def locate(self, key: str) -> str:
        """Return the full path or address of a key, as a user would enter it to find the object."""
        return self.namespace + key

    def sweep_unfinished(self, folder: str, before: str) -> None:
        """Remove unfinished objects of dead writers in ``folder`` with names that sort before ``before``.

        The default does nothing, which is correct for a backend without unfinished objects. This call may remove a live
        writer's unfinished object, which the writer must then write again.
        """

    def unfinished(self, prefix: str) -> Iterable[Blob]:
        """Return the unfinished objects below ``prefix`` that ``list_blobs`` omits; none by default."""
        return ()

    # -- checkpoints: writing

    def store_checkpoint(self, state: PipelineState) -> None:
        """Put the checkpoint, then list. If a newer epoch exists, this epoch is fenced and its checkpoint orphaned."""
        key = layout.checkpoint_key(state)
        self._put_checkpoint(key, state)
        listing = self._listing(state.job_id, state.pipeline_id)
        self._refuse_twin(key, state, listing)
        if listing.newest_epoch != state.epoch:
            raise self._stale(key, state, listing)
        self._prune(state, retention.prune(listing, stored=state.ref, max_retained=self.max_retained))

    @property
    def prune_failures(self) -> Mapping[tuple[str, int], Exception]:
        return MappingProxyType(dict(self._prune_failures))

    def delete_checkpoints(self, job_id: str, pipeline_id: int, refs: Iterable[CheckpointRef]) -> None:
        unwanted = frozenset(refs)
        infos = self._listing(job_id, pipeline_id).checkpoints
        self._delete([layout.checkpoint_key(info) for info in infos if info.ref in unwanted])

    def delete_job(self, job_id: str) -> None:
        for job, pipeline_id in self._listings_of(layout.job_folder(job_id)):
            self.acquire_epoch(job, pipeline_id, minimum=1)
        keys = [blob.key for blob in self._list(layout.job_folder(job_id))]
        ours = [key for key in keys if layout.job_of(key) == job_id]
        self._delete([key for key in ours if layout.manifest_version(key) is not None])
        self._delete([key for key in ours if layout.manifest_version(key) is None])
        for (job, pipeline_id), listing in self._listings_of(layout.job_folder(job_id)).items():
            self._delete([layout.epoch_key(job, pipeline_id, epoch) for epoch in listing.epochs[:-1]])
        self._sweep_unfinished(layout.manifest_folder(job_id), layout.AFTER_ALL_NAMES)
        self._sweep_unfinished(layout.attachment_folder(job_id), layout.AFTER_ALL_NAMES)

    # -- checkpoints: reading

    def scan(self, job_id: str, pipeline_id: int) -> PipelineListing:
        return self._without_twins(job_id, pipeline_id, self._listing(job_id, pipeline_id))

    def scan_job(self, job_id: str) -> Mapping[int, PipelineListing]:
        listings = self._listings_of(layout.job_folder(job_id))
        return {number: self._without_twins(job_id, number, listing) for (_, number), listing in listings.items()}

    def load(self, info: CheckpointInfo) -> PipelineState | None:
        key = layout.checkpoint_key(info)
        sealed = self._read(key)
        return None if sealed is None else self._open_checkpoint(key, info, sealed)

    def acquire_epoch(self, job_id: str, pipeline_id: int, minimum: int, below: int | None = None) -> int:
        layout.require_number("minimum", minimum, least=0, most=layout.MAX_EPOCH)
        for _ in range(_PUTS):
            newest = self._listing(job_id, pipeline_id).highest_epoch
            epoch = max(minimum, 1, newest + 1)
            key = layout.epoch_key(job_id, pipeline_id, epoch)
            if below is not None and epoch >= below:
                raise StaleEpochError(
                    f"another engine runs pipeline {pipeline_id} of job {job_id!r} now: it claimed epoch {newest}, "
                    f"but this engine may claim only epochs {minimum} to {below - 1}. Stop this engine"
                )
            marker = envelope.seal("epoch", b"", job_id=job_id, pipeline_id=pipeline_id, epoch=epoch)
            # Markers of fenced engines are removed, so the claim counts only if it is still the newest afterwards:
            # a number that was claimed, superseded and removed between our listing and our put could be claimed twice.
            if self._put_own(key, marker) and self._listing(job_id, pipeline_id).newest_epoch == epoch:
                self._sweep_unfinished(layout.pipeline_folder(job_id, pipeline_id), layout.epoch_prefix(epoch))
                return epoch
        folder = layout.pipeline_folder(job_id, pipeline_id)
        raise StorageUnavailableError(
            f"cannot claim an epoch in {self._where(folder)}: {_PUTS} times in a row, a listing did not contain "
            "the object that was just written. Either many engines start this pipeline at once, or the "
            "listings of this storage are not strongly consistent"
        )

    # -- the job

    def put_manifest(self, job_id: str, version: int, body: bytes) -> None:
        key = layout.manifest_key(job_id, version)
        if not self._put_own(key, envelope.seal("manifest", body, job_id=job_id, version=version)):
            raise ManifestConflictError(
                f"cannot put {self._where(key)}: version {version} of the manifest exists, so another "
                f"process claimed job {job_id!r}. Stop one of the two, or start again to take the job over"
            )
        self._sweep_unfinished(layout.manifest_folder(job_id), layout.AFTER_ALL_NAMES)
        self._sweep_unfinished(layout.attachment_folder(job_id), layout.AFTER_ALL_NAMES)

    def get_manifest(self, job_id: str) -> Manifest | None:
        for _ in range(MOST_LISTINGS):
            keys = [blob.key for blob in self._list(layout.manifest_folder(job_id))]
            newest = max((layout.manifest_version(key) or 0 for key in keys), default=0)
            if newest == 0:
                return None
            key = layout.manifest_key(job_id, newest)
            sealed = self._read(key)
            if sealed is not None:
                opened = self._open(key, "manifest", sealed, None, job_id=job_id, version=newest)
                return Manifest(version=newest, body=opened.body)
        raise vanishing(job_id)

    def delete_manifests(self, job_id: str, below: int) -> None:
        keys = [blob.key for blob in self._list(layout.manifest_folder(job_id))]
        versions = {key: version for key in keys if (version := layout.manifest_version(key)) is not None}
        least = min(below, max(versions.values(), default=0))
        self._delete([key for key, version in versions.items() if version < least])

    def list_jobs(self) -> tuple[str, ...]:
        jobs = {layout.job_of(blob.key) for blob in self._list("")}
        return tuple(sorted(job for job in jobs if job is not None))

    def store_attachment(self, job_id: str, body: bytes) -> str:
        digest = hashlib.sha256(body).hexdigest()
        key = layout.attachment_key(job_id, digest)
        sealed = envelope.seal_in_pieces("attachment", body, job_id=job_id, sha256=digest)
        existing = self._put_or_read(key, sealed)
        if existing is not None:
            self._open(key, "attachment", existing, None, job_id=job_id, sha256=digest)
        return digest

    def get_attachment(self, job_id: str, digest: str) -> bytes:
        key = layout.attachment_key(job_id, digest)
        sealed = self._read(key)
        if sealed is None:
            raise AttachmentNotFoundError(
                f"cannot read {self._where(key)}: job {job_id!r} does not have this attachment. An attachment is "
                "removed with its job: check that the job was not deleted and that the namespace is correct"
            )
        return self._open(key, "attachment", sealed, None, job_id=job_id, sha256=digest).body

    def attempt(self, operation: str, key: str, action: Callable[[], Answer]) -> Answer:
        """Run an action that calls primitives, retry it after retryable failures, and return its result.

        An error contains the backend, the operation and the path.

        Args:
            operation: One word for the message: ``put``, ``read``, ``list``, ``delete`` or ``sweep``.
            key: Key that the action uses, for the message.
            action: Function to run, without arguments.

        Raises:
            StorageClosedError: The storage was closed.
            StorageAccessError: Access was denied, or the action would change a storage that is ``read_only``.
            StorageUnavailableError: Every attempt failed.
        """
        return self._attempt(operation, key, action)

    # -- object by object

    def holdings(self, job_id: str | None = None) -> tuple[Holding, ...]:
        prefix = "" if job_id is None else layout.job_folder(job_id)
        unfinished = self._attempt("list", prefix, lambda: tuple(self.unfinished(prefix)))
        return inventory.holdings(self._list(prefix), unfinished, self.locate)

    def verify(self, holding: Holding) -> bool:
        if holding.kind is HoldingKind.MISNAMED:
            layout.pipelines([Blob(key=holding.key, size_bytes=holding.size_bytes)], self._where)
        if holding.kind not in inventory.SEALED:
            return True
        sealed = self._read(holding.key)
        if sealed is not None:
            self._open(holding.key, holding.kind.value, sealed, holding.checkpoint, **holding.header)
        return sealed is not None

    def discard(self, holdings: Iterable[Holding]) -> None:
        self._delete([holding.key for holding in holdings])

    # -- shared by the operations

    def _put_checkpoint(self, key: str, state: PipelineState) -> None:
        sealed = envelope.seal_in_pieces("checkpoint", state.states, **inventory.checkpoint_header(state))
        existing = self._put_or_read(key, sealed)
        if existing is not None and self._open_checkpoint(key, state, existing).states != state.states:
            raise self._conflict(key, state)

    def _refuse_twin(self, key: str, state: PipelineState, listing: PipelineListing) -> None:
        """If another object represents the same checkpoint, remove the object that was just put and raise an error.

        Type and base are part of the name, so a checkpoint of the same epoch and ID may exist under a different key.
        """
        namesakes = [info for info in listing.checkpoints if info.checkpoint_id == state.checkpoint_id]
        twins = [info for info in namesakes if info.ref == state.ref and layout.checkpoint_key(info) != key]
        if twins:
            self._delete([key])
            raise self._conflict(layout.checkpoint_key(twins[0]), state)

    def _prune(self, state: PipelineState, pruning: retention.Pruning) -> None:
        owner = (state.job_id, state.pipeline_id)
        checkpoints = [layout.checkpoint_key(info) for info in pruning.checkpoints]
        markers = [layout.epoch_key(*owner, epoch) for epoch in pruning.epochs]
        try:
            self._delete(checkpoints + markers)
        except Exception as error:  # whatever the error is, the checkpoint is stored and the caller must know
            self._prune_failures[owner] = error
            logger.warning("removing old checkpoints failed and will be retried at the next checkpoint: %s", error)
        else:
            self._prune_failures.pop(owner, None)

    def _listing(self, job_id: str, pipeline_id: int) -> PipelineListing:
        folder = layout.pipeline_folder(job_id, pipeline_id)
        return self._listings_of(folder).get((job_id, pipeline_id), PipelineListing())

    def _listings_of(self, prefix: str) -> dict[tuple[str, int], PipelineListing]:
        return layout.pipelines(self._list(prefix), self._where)

    def _without_twins(self, job_id: str, pipeline_id: int, listing: PipelineListing) -> PipelineListing:
        infos = listing.checkpoints
        for one, other in itertools.pairwise(infos):
            if one.ref == other.ref:
                raise CheckpointCorruptedError(
                    f"cannot list {self._where(layout.pipeline_folder(job_id, pipeline_id))}: two objects claim to be "
                    f"checkpoint {one.ref}. Remove the wrong one: {self.locate(layout.checkpoint_key(one))} or "
                    f"{self.locate(layout.checkpoint_key(other))}",
                    info=one,
                )
        return listing

    def _open_checkpoint(self, key: str, named: CheckpointInfo | PipelineState, sealed: bytes) -> PipelineState:
        info = named if isinstance(named, CheckpointInfo) else None
        opened = self._open(key, "checkpoint", sealed, info, **inventory.checkpoint_header(named))
        return PipelineState(
            job_id=named.job_id,
            pipeline_id=named.pipeline_id,
            epoch=named.epoch,
            checkpoint_id=named.checkpoint_id,
            checkpoint_type=named.checkpoint_type,
            base=named.base,
            states=opened.body,
        )

    def _open(
        self, key: str, kind: str, sealed: bytes, info: CheckpointInfo | None, **expected: object
    ) -> envelope.Opened:
        try:
            opened = envelope.unseal(sealed, kind=kind, where=self._where(key))
        except CheckpointCorruptedError as error:
            error.info = info
            raise
        if any(opened.header.get(name) != value for name, value in expected.items()):
            raise CheckpointCorruptedError(
                f"cannot read {self._where(key)}: its header does not match its path, so it was moved or copied "
                "there. Move it back",
                info=info,
            )
        return opened

    def _put_own(self, key: str, sealed: bytes) -> bool:
        """Return True if this call stored the existing bytes; a repeated put may find its own earlier attempt.

        No two calls store equal bytes, because each seal contains random bytes.
        """
        existing = self._put_or_read(key, [sealed])
        return existing is None or existing == sealed

    def _put_or_read(self, key: str, sealed: Sequence[bytes]) -> bytes | None:
        """Put the pieces and return ``None``; if the key exists, return its bytes."""
        for _ in range(_PUTS):
            if self._attempt("put", key, functools.partial(self.put_pieces_if_absent, key, sealed)):
                return None
            existing = self._read(key)
            if existing is not None:
                return existing
        raise StorageUnavailableError(
            f"cannot put {self._where(key)}: {_PUTS} times in a row, an object existed but was removed before it "
            "could be read. Find the other program that writes to this namespace"
        )

    def _read(self, key: str) -> bytes | None:
        return self._attempt("read", key, functools.partial(self.read, key))

    def _list(self, prefix: str) -> tuple[Blob, ...]:
        return self._attempt("list", prefix, lambda: tuple(self.list_blobs(prefix)))

    def _delete(self, keys: list[str]) -> None:
        if keys:
            self._attempt("delete", keys[0], functools.partial(self.delete, keys))

    def _sweep_unfinished(self, folder: str, before: str) -> None:
        try:
            self._attempt("sweep", folder, functools.partial(self.sweep_unfinished, folder, before))
        except CheckpointStorageError as error:
            logger.warning("files of writers that have ended could not be removed yet: %s", error)

    def _attempt(self, operation: str, key: str, action: Callable[[], Answer]) -> Answer:
        if self._closed:
            raise StorageClosedError(
                f"cannot {operation} {self._where(key)}: this storage was closed. Create another one"
            )
        if self.read_only and operation in _CHANGES:
            raise StorageAccessError(
                f"cannot {operation} {self._where(key)}: this storage was opened read-only. To change it, open it "
                f"without {configuration.READ_ONLY}: true"
            )
        try:
            return self._backoff.call(functools.partial(as_storage_errors, action))
        except (StorageUnavailableError, StorageAccessError) as error:
            raise type(error)(f"cannot {operation} {self._where(key)}: {error}") from (error.__cause__ or error)

    def _where(self, key: str) -> str:
        return f"{self.locate(key)} ({self.backend})"

    def _conflict(self, key: str, state: PipelineState) -> CheckpointConflictError:
        return CheckpointConflictError(
            f"cannot put {self._where(key)}: checkpoint {state.ref} of pipeline {state.pipeline_id} of job "
            f"{state.job_id!r} exists with different content. Nothing was overwritten; store it under the next id"
        )

    def _stale(self, key: str, state: PipelineState, listing: PipelineListing) -> StaleEpochError:
        newest = listing.newest_epoch
        taken = newest is not None and newest > state.epoch
        reason = f"epoch {newest} was claimed" if taken else f"the marker of epoch {state.epoch} does not exist"
        return StaleEpochError(
            f"wrote {self._where(key)}, but {reason}: another engine runs pipeline {state.pipeline_id} of job "
            f"{state.job_id!r}, or the job was deleted. Nothing may be committed any more; stop this engine"
        )
