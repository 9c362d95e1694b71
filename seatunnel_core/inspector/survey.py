"""Survey of the jobs in a storage, from one listing of its objects and the newest manifest of each job.

Damage does not make the survey fail; it is reported, and all other jobs are included.
"""

import enum
import itertools
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from seatunnel_core.config.job_file import Kind
from seatunnel_core.errors import JobError, UsageError
from seatunnel_core.job.increment_state import PREFIX
from seatunnel_core.job.manifest import Manifest, Seat
from seatunnel_storage_api import lineage
from seatunnel_storage_api.errors import (
    CheckpointCorruptedError,
    InvalidIdError,
    StorageAccessError,
    UnsupportedFormatError,
)
from seatunnel_storage_api.inventory import Holding, HoldingKind, Inventory
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef, CheckpointType, PipelineListing
from seatunnel_storage_api.storage import CheckpointStorage

_OF_A_JOB = frozenset(
    (
        *(HoldingKind.CHECKPOINT, HoldingKind.MANIFEST, HoldingKind.ATTACHMENT),
        *(HoldingKind.MISNAMED, HoldingKind.UNREADABLE),
    )
)
"""Kinds of objects that are removed when their job is deleted."""

_CLUSTER = "cluster"
"""Folder with the state of a cluster, next to the folders of jobs."""

NOT_OURS = frozenset((HoldingKind.FOREIGN, HoldingKind.UNFINISHED))
"""Kinds of objects that are not read. A folder that contains only such objects may be foreign."""


class JobState(enum.Enum):
    """State of a job in a storage."""

    OPEN = "open"
    """The job is not recorded as ended: it is running or can be resumed."""

    ENDED = "ended"
    """The manifest contains the final report: the job will not be restored again."""

    NO_MANIFEST = "no manifest"
    """The job cannot be resumed, because its deletion or a copy to this storage was interrupted."""

    DELETED = "deleted"
    """Only epoch markers remain. They stop an engine that may still run the job."""

    UNREADABLE = "unreadable"
    """The manifest is damaged or has a newer version, or this user cannot read the job's folder."""


@frozen(kw_only=True)
class PipelineSurvey:
    """Survey of one pipeline."""

    job_id: str
    number: int
    listing: PipelineListing
    sources: tuple[str, ...] = ()
    sinks: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    """Reasons why the checkpoint listing is unreliable."""

    _alive: frozenset[CheckpointRef] = field(init=False, repr=False, eq=False)

    @_alive.default
    def _find_live(self) -> frozenset[CheckpointRef]:
        return lineage.live(self.listing.checkpoints)

    @property
    def title(self) -> str:
        """Name for display, such as ``flights -> flights_out``."""
        return f"{', '.join(self.sources) or '?'} -> {', '.join(self.sinks) or '?'}"

    @property
    def live(self) -> tuple[CheckpointInfo, ...]:
        """Live checkpoints, from the oldest to the latest."""
        return tuple(info for info in self.listing.checkpoints if self.is_live(info))

    @property
    def latest(self) -> CheckpointInfo | None:
        """Checkpoint with the largest (epoch, ID), or ``None``."""
        return lineage.latest(self.listing.checkpoints)

    def is_live(self, info: CheckpointInfo) -> bool:
        """Return True if the checkpoint is live."""
        return info.ref in self._alive

    def needs(self, info: CheckpointInfo) -> bool:
        """Return True if the checkpoint may be restored, because it is live or a savepoint."""
        return self.is_live(info) or info.checkpoint_type is CheckpointType.SAVEPOINT

    @property
    def needed(self) -> tuple[CheckpointInfo, ...]:
        """Checkpoints that may be restored, oldest first."""
        return tuple(info for info in self.listing.checkpoints if self.needs(info))

    def find(self, ref: CheckpointRef) -> CheckpointInfo:
        """Return the checkpoint with this epoch and ID; raise ``UsageError`` if it does not exist."""
        found = next((info for info in self.listing.checkpoints if info.ref == ref), None)
        if found is None:
            known = ", ".join(str(info.ref) for info in self.listing.checkpoints) or "none"
            raise UsageError(
                f"pipeline {self.number} of job {self.job_id} has no checkpoint {ref}; it has {known}. "
                "Retention may have removed it since it was listed"
            )
        return found


@frozen(kw_only=True)
class JobSurvey:
    """Survey of one job."""

    job_id: str
    state: JobState
    pipelines: Mapping[int, PipelineSurvey]
    """Pipelines that have a checkpoint or a marker, or are in the manifest."""

    holdings: tuple[Holding, ...] = field(repr=False)
    manifest: Manifest | None = None
    manifest_version: int | None = None
    problems: tuple[str, ...] = ()
    """Problems of the job, without problems of its pipelines."""

    @property
    def name(self) -> str:
        """Name in the manifest; empty if there is no manifest."""
        return self.manifest.job_name if self.manifest is not None else ""

    @property
    def size_bytes(self) -> int:
        """Total size of the job's objects, in bytes."""
        return sum(holding.size_bytes for holding in self.holdings)

    @property
    def checkpoints(self) -> tuple[CheckpointInfo, ...]:
        """Checkpoints of all pipelines, sorted by pipeline, epoch and ID."""
        return tuple(info for pipeline in self.pipelines.values() for info in pipeline.listing.checkpoints)

    @property
    def active_at(self) -> float | None:
        """Time of the newest checkpoint or marker, in seconds since 1970, on the storage's clock."""
        kinds = (HoldingKind.CHECKPOINT, HoldingKind.EPOCH)
        return max(
            (h.modified_at for h in self.holdings if h.kind in kinds and h.modified_at is not None), default=None
        )

    @property
    def ended(self) -> Mapping[str, Any] | None:
        """Final report in the manifest; ``None`` if the job is not recorded as ended."""
        return self.manifest.ended if self.manifest is not None else None

    def is_published(self, info: CheckpointInfo) -> bool:
        """Return True if the output of a checkpoint is published, because the job was recorded as ended after it."""
        manifest = self.manifest
        return manifest is not None and (manifest.ended is not None or info.epoch < manifest.settled_below)

    @property
    def all_problems(self) -> tuple[str, ...]:
        """Problems of the job and of its pipelines."""
        return (*self.problems, *(problem for each in self.pipelines.values() for problem in each.problems))

    def pipeline(self, number: int) -> PipelineSurvey:
        """Return the pipeline with this number, or raise ``UsageError``."""
        if number not in self.pipelines:
            known = ", ".join(map(str, self.pipelines)) or "none"
            raise UsageError(f"job {self.job_id} has no pipeline {number}; it has {known}")
        return self.pipelines[number]

    def assignments(self, kind: Kind, pipeline: int) -> dict[str, Seat]:
        """Return the vertices of a kind that the manifest assigns to a pipeline, keyed by name."""
        seats = self.manifest.seats if self.manifest is not None else {}
        return {name: seat for name, seat in seats.items() if seat.kind is kind and seat.pipeline == pipeline}


def survey(storage: CheckpointStorage, *, deleted: bool = False) -> tuple[JobSurvey, ...]:
    """Return a survey of every job in a storage, sorted by ID; ``deleted`` includes the remains of deleted jobs."""
    by_job: dict[str, list[Holding]] = {}
    for holding in inventory_of(storage).holdings():
        if holding.job_id is not None and not holding.job_id.startswith(PREFIX):
            by_job.setdefault(holding.job_id, []).append(holding)
    if _is_foreign(by_job.get(_CLUSTER, [])):
        by_job.pop(_CLUSTER, None)
    jobs = {job_id: held for job_id, held in by_job.items() if deleted or _is_job(held)}
    return tuple(_survey(storage, job_id, held) for job_id, held in sorted(jobs.items()))


def survey_job(storage: CheckpointStorage, job_id: str) -> JobSurvey:
    """Return the survey of one job; raise ``UsageError`` that lists the existing jobs if it does not exist."""
    held = list(inventory_of(storage).holdings(job_id))
    if _is_foreign(held):
        known = storage.list_jobs()
        shown = ", ".join(known[:10]) + (f" and {len(known) - 10} more" if len(known) > 10 else "")
        raise UsageError(f"there is no job {job_id} in this storage; it has {shown or 'no jobs'}")
    return _survey(storage, job_id, held)


def inventory_of(storage: CheckpointStorage) -> Inventory:
    """Return the storage as an ``Inventory``; raise ``UsageError`` if it cannot list its objects."""
    if not isinstance(storage, Inventory):
        raise UsageError(
            f"a storage of type {type(storage).__name__} cannot list its objects: its plugin must implement "
            "seatunnel_storage_api.inventory.Inventory, as every BlobStorage does"
        )
    return storage


def _is_foreign(held: list[Holding]) -> bool:
    """Return True if a folder has no objects of a job, such as ``cluster`` with the state of a cluster."""
    return all(each.kind is HoldingKind.FOREIGN for each in held)


def _is_job(held: list[Holding]) -> bool:
    return any(each.kind in _OF_A_JOB for each in held)


def _survey(storage: CheckpointStorage, job_id: str, held: list[Holding]) -> JobSurvey:
    version: int | None = None
    manifest: Manifest | None = None
    problems: tuple[str, ...] = ()
    state = JobState.NO_MANIFEST if _is_job(held) else JobState.DELETED
    try:
        if any(each.kind is HoldingKind.UNREADABLE for each in held):
            inventory_of(storage).holdings(job_id)  # raises an error with the reason
        stored = storage.get_manifest(job_id) if any(each.kind not in NOT_OURS for each in held) else None
        if stored is not None:
            version, manifest = stored.version, Manifest.from_bytes(stored.body)
            state = JobState.OPEN if manifest.ended is None else JobState.ENDED
    except (CheckpointCorruptedError, UnsupportedFormatError, StorageAccessError, InvalidIdError, JobError) as error:
        state, problems = JobState.UNREADABLE, (str(error),)
    pipelines = _pipelines(storage, job_id, held, manifest)
    return JobSurvey(
        job_id=job_id,
        state=state,
        pipelines=pipelines,
        holdings=tuple(held),
        manifest=manifest,
        manifest_version=version,
        problems=problems,
    )


def _pipelines(
    storage: CheckpointStorage, job_id: str, held: list[Holding], manifest: Manifest | None
) -> dict[int, PipelineSurvey]:
    seats = manifest.seats if manifest is not None else {}
    numbers = {each.pipeline_id for each in held if each.pipeline_id is not None}
    found = {}
    for number in sorted(numbers | {seat.pipeline for seat in seats.values()}):
        own = [each for each in held if each.pipeline_id == number]
        infos = sorted((each.checkpoint for each in own if each.checkpoint), key=lambda info: info.ref)
        epochs = sorted(each.number for each in own if each.kind is HoldingKind.EPOCH and each.number is not None)
        found[number] = PipelineSurvey(
            job_id=job_id,
            number=number,
            listing=PipelineListing(checkpoints=tuple(infos), epochs=tuple(epochs)),
            sources=_seated(seats, Kind.SOURCE, number),
            sinks=_seated(seats, Kind.SINK, number),
            problems=(
                *(_misnamed(storage, each) for each in own if each.kind is HoldingKind.MISNAMED),
                *(
                    f"two objects have the name of checkpoint {one.ref}: remove the wrong one"
                    for one, other in itertools.pairwise(infos)
                    if one.ref == other.ref
                ),
            ),
        )
    return found


def _seated(seats: Mapping[str, Seat], kind: Kind, number: int) -> tuple[str, ...]:
    return tuple(name for name, seat in seats.items() if seat.kind is kind and seat.pipeline == number)


def _misnamed(storage: CheckpointStorage, holding: Holding) -> str:
    """Return the message of the storage about an object with an invalid name."""
    try:
        inventory_of(storage).verify(holding)
    except (CheckpointCorruptedError, UnsupportedFormatError, StorageAccessError) as error:
        return str(error).removeprefix("cannot list ")
    return f"{holding.path} was listed but no longer exists; the name is not that of a checkpoint or marker"
