"""Access to all objects of a storage, for inspection and clean-up.

It is used to verify every byte and to find unused objects; an engine does not need it. The operations of a storage only
return checkpoints, and ignore unfinished objects of dead writers, older manifests and foreign files.
"""

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping

from attrs import evolve, frozen

from seatunnel_storage_api import layout
from seatunnel_storage_api.errors import CheckpointCorruptedError, InvalidIdError, StorageAccessError
from seatunnel_storage_api.layout import Blob
from seatunnel_storage_api.state import CheckpointInfo, PipelineState

PROBE = ".probe"
"""Prefix of the probe objects that a backend writes directly below a namespace."""


class HoldingKind(enum.Enum):
    """Kind of an object, determined only by its name."""

    CHECKPOINT = "checkpoint"
    EPOCH = "epoch"
    """Marker of a claimed epoch."""

    MANIFEST = "manifest"
    ATTACHMENT = "attachment"
    UNFINISHED = "unfinished"
    """Temporary object of a writer; an old one was left by a dead writer."""

    MISNAMED = "misnamed"
    """Object with an invalid checkpoint or marker name: it is damaged, or from a newer version."""

    UNREADABLE = "unreadable"
    """Job folder that this user is not allowed to read."""

    FOREIGN = "foreign"
    """Object of another program."""


SEALED = frozenset((HoldingKind.CHECKPOINT, HoldingKind.EPOCH, HoldingKind.MANIFEST, HoldingKind.ATTACHMENT))
"""Kinds of sealed objects; the seal contains the kind's value."""


@frozen(kw_only=True)
class Holding:
    """One stored object."""

    key: str
    """Key below the namespace."""

    path: str
    """Full path or address, as a user would enter it."""

    kind: HoldingKind
    size_bytes: int
    modified_at: float | None
    """Time in seconds since 1970 by the storage's clock; ``None`` if the storage does not report it."""

    job_id: str | None = None
    """ID of the job; ``None`` for objects outside of jobs."""

    pipeline_id: int | None = None
    """Pipeline of a checkpoint, a marker, or an object with a similar name."""

    number: int | None = None
    """Epoch of a marker, or version of a manifest."""

    digest: str | None = None
    """Name of an attachment."""

    checkpoint: CheckpointInfo | None = None

    @property
    def header(self) -> Mapping[str, object]:
        """Header fields that the object must have according to its name."""
        if self.checkpoint is not None:
            return checkpoint_header(self.checkpoint)
        if self.kind is HoldingKind.EPOCH:
            return {"job_id": self.job_id, "pipeline_id": self.pipeline_id, "epoch": self.number}
        if self.kind is HoldingKind.MANIFEST:
            return {"job_id": self.job_id, "version": self.number}
        return {"job_id": self.job_id, "sha256": self.digest}


class Inventory(ABC):
    """Optional operations of a storage; every ``BlobStorage`` has them."""

    @abstractmethod
    def holdings(self, job_id: str | None = None) -> tuple[Holding, ...]:
        """Return all objects of the namespace, or of one job, sorted by key, without reading payloads."""

    @abstractmethod
    def verify(self, holding: Holding) -> bool:
        """Read and verify every byte of an object; return ``False`` if it has been removed since it was listed.

        An object of a kind without a seal (see ``SEALED``) is not read; the result is then ``True``.

        Raises:
            CheckpointCorruptedError: The object is damaged, or its name is not a valid checkpoint or marker name.
            UnsupportedFormatError: A newer version wrote the object.
        """

    @abstractmethod
    def discard(self, holdings: Iterable[Holding]) -> None:
        """Remove objects of any kind and ignore absent ones. The caller must ensure that they are unused."""


def checkpoint_header(checkpoint: PipelineState | CheckpointInfo) -> dict[str, object]:
    """Return the header fields of a checkpoint that its name also contains."""
    return {
        "job_id": checkpoint.job_id,
        "pipeline_id": checkpoint.pipeline_id,
        "epoch": checkpoint.epoch,
        "checkpoint_id": checkpoint.checkpoint_id,
        "checkpoint_type": checkpoint.checkpoint_type.value,
        "base": None if checkpoint.base is None else str(checkpoint.base),
    }


def holdings(blobs: Iterable[Blob], unfinished: Iterable[Blob], locate: Callable[[str], str]) -> tuple[Holding, ...]:
    """Return the listed objects with their kinds, sorted by key.

    Args:
        blobs: A listing of the namespace or of a part of it.
        unfinished: Unfinished objects that the listing omits.
        locate: Function that returns the full path of a key.
    """
    found = {blob.key: _classified(blob, locate) for blob in blobs}
    found |= {blob.key: evolve(_foreign(blob, locate), kind=HoldingKind.UNFINISHED) for blob in unfinished}
    return tuple(found[key] for key in sorted(found))


def holdings_despite_refusals(
    holdings_of: Callable[[str | None], tuple[Holding, ...]],
    job_id: str | None,
    *,
    names: Callable[[], Iterable[str]],
    locate: Callable[[str], str],
) -> tuple[Holding, ...]:
    """Return the holdings of one job or all jobs; a job folder that may not be read is a single unreadable holding.

    Args:
        holdings_of: Function that lists one job, or all jobs for ``None``; raises ``StorageAccessError`` if access is
            denied.
        job_id: The job to list; ``None`` for all.
        names: Function that returns the names directly below the namespace.
        locate: Function that returns the full path of a key.

    Raises:
        StorageAccessError: ``job_id`` is given, and access to its folder is denied.
    """
    try:
        return holdings_of(job_id)
    except StorageAccessError:
        if job_id is not None:
            raise
    found: list[Holding] = []
    for name in sorted(names(), key=lambda name: f"{name}/"):
        try:
            found += holdings_of(name)
        except InvalidIdError:
            continue
        except StorageAccessError:
            folder = _foreign(Blob(key=f"{name}/", size_bytes=0), locate)
            found.append(evolve(folder, kind=HoldingKind.UNREADABLE))
    return tuple(found)


def _classified(blob: Blob, locate: Callable[[str], str]) -> Holding:
    held = _foreign(blob, locate)
    folder, _, name = blob.key.rpartition("/")
    version = layout.manifest_version(blob.key)
    if version is not None:
        return evolve(held, kind=HoldingKind.MANIFEST, number=version)
    if layout.is_attachment(blob.key):
        return evolve(held, kind=HoldingKind.ATTACHMENT, digest=name.partition(".")[0])
    if folder.endswith(f"/{layout.TEMPORARY_FOLDER}") or (not folder and name.startswith(PROBE)):
        return evolve(held, kind=HoldingKind.UNFINISHED)
    try:
        pipelines = layout.pipelines([blob], locate)
    except CheckpointCorruptedError:
        return evolve(held, kind=HoldingKind.MISNAMED, pipeline_id=int(folder.rpartition("/")[2]))
    for (_, pipeline_id), listing in pipelines.items():
        held = evolve(held, pipeline_id=pipeline_id)
        if listing.checkpoints:
            return evolve(held, kind=HoldingKind.CHECKPOINT, checkpoint=listing.checkpoints[0])
        return evolve(held, kind=HoldingKind.EPOCH, number=listing.epochs[0])
    return held


def _foreign(blob: Blob, locate: Callable[[str], str]) -> Holding:
    job_id, slash, _ = blob.key.partition("/")
    return Holding(
        key=blob.key,
        path=locate(blob.key),
        kind=HoldingKind.FOREIGN,
        size_bytes=blob.size_bytes,
        modified_at=blob.modified_at,
        job_id=job_id if slash else None,
    )
