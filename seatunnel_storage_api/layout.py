"""Layout of the storage: keys below the namespace, and parsing of keys.

::

    <job id>/manifest/<version, 10 digits>.manifest
    <job id>/attachments/<SHA-256>.attachment
    <job id>/<pipeline, 6 digits>/<epoch, 10 digits>.epoch
    <job id>/<pipeline, 6 digits>/<epoch, 10 digits>-<id, 20 digits>.<type>.base-<epoch>-<id>.ckpt

``base-none`` means that the epoch did not continue from a checkpoint. Names sort by (epoch, ID). They are non-empty
ASCII strings, do not consist of dots, and never equal the name of a folder, so every file system and object store
accepts them.

Parsing is strict: a name is valid only if formatting its parsed values produces the same name. Foreign files are
ignored, but a name that has the form of a checkpoint or marker and cannot be parsed is an error (damage, or a newer
version's name): ignoring it could silently restore an older state.
"""

import functools
import operator
import re
from collections.abc import Callable, Iterable

from attrs import frozen

from seatunnel_storage_api.errors import CheckpointCorruptedError, InvalidIdError
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef, CheckpointType, PipelineListing, PipelineState

MAX_PIPELINE_ID = 10**6 - 1
MAX_EPOCH = 10**10 - 1
MAX_CHECKPOINT_ID = 10**20 - 1
MAX_MANIFEST_VERSION = 10**10 - 1

TEMPORARY_FOLDER = ".tmp"
"""Folder, inside the folder of the target, for unfinished files of a backend that writes before it publishes."""

AFTER_ALL_NAMES = "~"
"""String that sorts after all names of the layout."""

_JOB_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_REF = r"(\d+)-(\d+)"
_CHECKPOINT = re.compile(rf"{_REF}\.([a-z-]+)\.base-(?:none|{_REF})\.ckpt", re.ASCII)
_MARKER = re.compile(r"(\d{10})\.epoch", re.ASCII)
_MANIFEST = re.compile(r"(\d{10})\.manifest", re.ASCII)
_PIPELINE = re.compile(r"(?!000000)\d{6}", re.ASCII)
_TYPES = {each.value: each for each in CheckpointType}


@frozen(kw_only=True)
class Blob:
    """One stored object in a listing."""

    key: str
    """Key below the namespace, with folders separated by "/"."""

    size_bytes: int

    modified_at: float | None = None
    """Time in seconds since 1970 by the storage's clock; ``None`` if the storage does not report it."""


def require_job_id(job_id: str) -> str:
    """Check a job ID and return it unchanged.

    Raises:
        InvalidIdError: The ID could escape the namespace, or a backend could reject it.
    """
    if not _JOB_ID.fullmatch(job_id) or job_id in (".", ".."):
        raise InvalidIdError(
            f"the job id {job_id!r} cannot be used as a folder name: use 1 to 128 characters from A-Z a-z 0-9 "
            '. _ -, other than "." or ".."'
        )
    return job_id


def require_number(name: str, number: int, *, least: int, most: int) -> int:
    """Check a number and return it unchanged.

    Raises:
        InvalidIdError: The number is not between ``least`` and ``most``, inclusive.
    """
    if not least <= number <= most:
        raise InvalidIdError(f"the {name} {number} is not between {least} and {most}")
    return number


def job_folder(job_id: str) -> str:
    """Return ``<job id>/``; raise ``InvalidIdError`` for an ID that is not valid as a folder name."""
    return f"{require_job_id(job_id)}/"


@functools.lru_cache(maxsize=1024)
def pipeline_folder(job_id: str, pipeline_id: int) -> str:
    """Return ``<job id>/<pipeline, 6 digits>/``; raise ``InvalidIdError`` for an ID out of range."""
    number = require_number("pipeline id", pipeline_id, least=1, most=MAX_PIPELINE_ID)
    return f"{job_folder(job_id)}{number:06d}/"


def manifest_folder(job_id: str) -> str:
    """Return the folder of a job's manifests, which ends with "/"."""
    return f"{job_folder(job_id)}manifest/"


def attachment_folder(job_id: str) -> str:
    """Return the folder of a job's attachments, which ends with "/"."""
    return f"{job_folder(job_id)}attachments/"


def manifest_key(job_id: str, version: int) -> str:
    """Return the key of one version of a job's manifest; raise ``InvalidIdError`` for a version out of range."""
    number = require_number("manifest version", version, least=1, most=MAX_MANIFEST_VERSION)
    return f"{manifest_folder(job_id)}{number:010d}.manifest"


def attachment_key(job_id: str, digest: str) -> str:
    """Return the key of an attachment; raise ``InvalidIdError`` unless ``digest`` is 64 lowercase hex digits."""
    if not _DIGEST.fullmatch(digest):
        raise InvalidIdError(
            f"{digest!r} is not the name of an attachment: expected a SHA-256 of 64 lowercase hex digits"
        )
    return f"{attachment_folder(job_id)}{digest}.attachment"


def epoch_prefix(epoch: int) -> str:
    """Return the epoch as 10 digits: a prefix of object names that sorts before all names of this and later epochs."""
    return f"{require_number('epoch', epoch, least=1, most=MAX_EPOCH):010d}"


def epoch_key(job_id: str, pipeline_id: int, epoch: int) -> str:
    """Return the key of an epoch's marker; raise ``InvalidIdError`` for an epoch out of range."""
    return f"{pipeline_folder(job_id, pipeline_id)}{epoch_prefix(epoch)}.epoch"


def checkpoint_key(checkpoint: PipelineState | CheckpointInfo) -> str:
    """Return the key of a checkpoint; raise ``InvalidIdError`` for an ID, an epoch or a number out of range."""
    return pipeline_folder(checkpoint.job_id, checkpoint.pipeline_id) + _checkpoint_name(
        checkpoint.ref, checkpoint.checkpoint_type, checkpoint.base
    )


def _checkpoint_name(ref: CheckpointRef, checkpoint_type: CheckpointType, base: CheckpointRef | None) -> str:
    number = require_number("checkpoint id", ref.checkpoint_id, least=0, most=MAX_CHECKPOINT_ID)
    if base is not None:
        epoch_prefix(base.epoch)
        require_number("checkpoint id of the base", base.checkpoint_id, least=0, most=MAX_CHECKPOINT_ID)
    origin = "none" if base is None else str(base)
    return f"{epoch_prefix(ref.epoch)}-{number:020d}.{checkpoint_type.value}.base-{origin}.ckpt"


def pipelines(blobs: Iterable[Blob], where: Callable[[str], str]) -> dict[tuple[str, int], PipelineListing]:
    """Group checkpoints and markers by (job ID, pipeline ID); ignore all other objects.

    Pipelines, checkpoints and markers are sorted. Sorting the keys sorts by epoch, ID and type, because numbers in
    names are padded with zeros.

    Args:
        blobs: A listing.
        where: Function that returns the full path of a key, for messages.

    Raises:
        CheckpointCorruptedError: A name has the form of a checkpoint or marker, but this version cannot parse it.
    """
    checkpoints: dict[tuple[str, int], list[CheckpointInfo]] = {}
    epochs: dict[tuple[str, int], list[int]] = {}
    for blob in sorted(blobs, key=_key):
        folder, _, name = blob.key.rpartition("/")
        owner = _owner_of_folder(folder)
        if owner is None:
            continue
        if name.endswith(".ckpt"):
            checkpoints.setdefault(owner, []).append(_checkpoint_info(blob, owner, name, where))
        elif name.endswith(".epoch"):
            epochs.setdefault(owner, []).append(_marker_epoch(blob, name, where))
    return {
        owner: PipelineListing(checkpoints=tuple(checkpoints.get(owner, ())), epochs=tuple(epochs.get(owner, ())))
        for owner in sorted({*checkpoints, *epochs})
    }


_key = operator.attrgetter("key")


@functools.lru_cache(maxsize=1024)
def _owner_of_folder(folder: str) -> tuple[str, int] | None:
    parts = folder.split("/")
    if len(parts) != 2 or not _PIPELINE.fullmatch(parts[1]) or not _JOB_ID.fullmatch(parts[0]):
        return None
    return parts[0], int(parts[1])


def _checkpoint_info(blob: Blob, owner: tuple[str, int], name: str, where: Callable[[str], str]) -> CheckpointInfo:
    info = _parse_checkpoint(owner, name, blob.size_bytes, blob.modified_at)
    if info is None:
        raise _misnamed(blob, where, "checkpoint")
    return info


@functools.lru_cache(maxsize=4096)
def _parse_checkpoint(
    owner: tuple[str, int], name: str, size_bytes: int, modified_at: float | None
) -> CheckpointInfo | None:
    """Return the checkpoint that a name describes, or ``None``. Cached, because each store lists them again."""
    said = _parse_name(name)
    if said is None:
        return None
    ref, checkpoint_type, base = said
    return CheckpointInfo(
        job_id=owner[0],
        pipeline_id=owner[1],
        epoch=ref.epoch,
        checkpoint_id=ref.checkpoint_id,
        checkpoint_type=checkpoint_type,
        base=base,
        size_bytes=size_bytes,
        stored_at=modified_at,
    )


def _parse_name(name: str) -> tuple[CheckpointRef, CheckpointType, CheckpointRef | None] | None:
    """Return the ref, type and base in a checkpoint's name, or ``None`` for any other name."""
    match = _CHECKPOINT.fullmatch(name)
    if match is None or match[3] not in _TYPES:
        return None
    ref = CheckpointRef(int(match[1]), int(match[2]))
    base = None if match[4] is None else CheckpointRef(int(match[4]), int(match[5]))
    try:
        canonical = _checkpoint_name(ref, _TYPES[match[3]], base)
    except InvalidIdError:
        return None
    return (ref, _TYPES[match[3]], base) if canonical == name else None


def _marker_epoch(blob: Blob, name: str, where: Callable[[str], str]) -> int:
    match = _MARKER.fullmatch(name)
    if match is None:
        raise _misnamed(blob, where, "epoch marker")
    return int(match[1])


def _misnamed(blob: Blob, where: Callable[[str], str], what: str) -> CheckpointCorruptedError:
    return CheckpointCorruptedError(
        f"cannot list {where(blob.key)}: the name does not match any kind of {what} that this version supports. "
        "If a user put the file there, move it away; if a newer version wrote it, use that version"
    )


def manifest_version(key: str) -> int | None:
    """Return the version in a manifest's key, or ``None`` for any other key."""
    match = _MANIFEST.fullmatch(key.rpartition("/")[2])
    return int(match[1]) if match and key.split("/")[1:-1] == ["manifest"] else None


def job_of(key: str) -> str | None:
    """Return the job of a checkpoint, manifest or attachment; ``None`` for foreign files and for markers."""
    job_id, _, rest = key.partition("/")
    if not _JOB_ID.fullmatch(job_id):
        return None
    checkpoint = _owner_of_folder(key.rpartition("/")[0]) is not None and rest.endswith(".ckpt")
    return job_id if checkpoint or manifest_version(key) is not None or is_attachment(key) else None


def is_attachment(key: str) -> bool:
    """Return True if a key is the key of an attachment."""
    folder, _, name = key.partition("/")[2].partition("/")
    stem, dot, ending = name.partition(".")
    return folder == "attachments" and dot + ending == ".attachment" and _DIGEST.fullmatch(stem) is not None
