"""Verification of all bytes in a storage: finds damage, and the checkpoints that can still be restored."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from attrs import define, field, frozen

from seatunnel_core.checkpoint.errors import StateFormatError
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.enumeration import document_of, splits_of
from seatunnel_core.inspector.content import attachments_of
from seatunnel_core.inspector.survey import NOT_OURS, JobState, JobSurvey, PipelineSurvey, inventory_of
from seatunnel_core.work.parts import is_part
from seatunnel_storage_api.errors import (
    AttachmentNotFoundError,
    CheckpointCorruptedError,
    InvalidIdError,
    StorageAccessError,
    UnsupportedFormatError,
)
from seatunnel_storage_api.inventory import Holding, HoldingKind
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef
from seatunnel_storage_api.storage import CheckpointStorage

Progress = Callable[[Holding], object]
"""Function that is called after each object has been read."""

_UNREADABLE = (CheckpointCorruptedError, UnsupportedFormatError, StateFormatError, StorageAccessError, InvalidIdError)


@frozen(kw_only=True)
class Damage:
    """A damaged object."""

    job_id: str
    pipeline: int | None
    path: str
    kind: HoldingKind
    checkpoint: CheckpointInfo | None
    problem: str


@frozen(kw_only=True)
class Verdict:
    """Result for one pipeline, with the newest checkpoint that can be restored."""

    job_id: str
    pipeline: int
    title: str
    latest: CheckpointRef | None
    restorable: CheckpointRef | None
    """Newest intact live checkpoint with intact enumerations; the latest one if nothing is damaged."""

    words: str

    @property
    def sound(self) -> bool:
        """True if the pipeline can resume without intervention."""
        return self.restorable == self.latest


@frozen(kw_only=True)
class Verification:
    """Result of a verification."""

    objects: int
    size_bytes: int
    damaged: tuple[Damage, ...]
    problems: tuple[str, ...]
    """Problems that do not concern a single object: problems of manifests and listings, and missing enumerations."""

    verdicts: tuple[Verdict, ...]
    foreign: int
    """Number of foreign objects, which were not read."""

    unfinished: int

    passed_over: tuple[str, ...] = ()
    """Paths of objects that were not read."""

    @property
    def sound(self) -> bool:
        """True if there is no damage and no other problem."""
        return not self.damaged and not self.problems


def verify(storage: CheckpointStorage, jobs: Sequence[JobSurvey], progress: Progress = lambda _: None) -> Verification:
    """Read and check all objects of the surveyed jobs. Objects that were removed in the meantime are not damage."""
    reading = _Reading(storage, progress)
    verdicts = []
    for job in jobs:
        reading.read(job)
        if job.state is not JobState.DELETED:
            verdicts += [reading.verdict(job, pipeline) for pipeline in job.pipelines.values()]
    held = [holding for job in jobs for holding in job.holdings]
    return Verification(
        objects=reading.objects,
        size_bytes=reading.size_bytes,
        damaged=tuple(reading.damaged),
        problems=(*(problem for job in jobs for problem in _problems_of(job)), *reading.missing),
        verdicts=tuple(verdicts),
        foreign=sum(holding.kind is HoldingKind.FOREIGN for holding in held),
        unfinished=sum(holding.kind is HoldingKind.UNFINISHED for holding in held),
        passed_over=tuple(holding.path for holding in held if holding.kind in NOT_OURS),
    )


@define
class _Reading:
    storage: CheckpointStorage
    progress: Progress
    objects: int = 0
    size_bytes: int = 0
    damaged: list[Damage] = field(factory=list)
    missing: list[str] = field(factory=list)
    _broken: set[tuple[str, int, CheckpointRef]] = field(factory=set)
    _named: dict[tuple[str, int, CheckpointRef], frozenset[str]] = field(factory=dict)
    _intact: set[tuple[str, str]] = field(factory=set)
    """Intact enumerations, by job and digest."""

    def read(self, job: JobSurvey) -> None:
        for holding in job.holdings:
            if holding.kind not in NOT_OURS:
                self._read(holding)
            self.progress(holding)
        for pipeline in job.pipelines.values():
            for info in pipeline.needed:
                self._require_enumerations(info)

    def _read(self, holding: Holding) -> None:
        try:
            self._check(holding)
        except _UNREADABLE as error:
            problem = str(error) if holding.path in str(error) else f"cannot read {holding.path}: {error}"
        else:
            problem = ""
        self.objects += 1
        self.size_bytes += holding.size_bytes
        if problem:
            self.damaged.append(
                Damage(
                    job_id=holding.job_id or "",
                    pipeline=holding.pipeline_id,
                    path=holding.path,
                    kind=holding.kind,
                    checkpoint=holding.checkpoint,
                    problem=problem,
                )
            )
            if holding.checkpoint is not None:
                self._broken.add(_key(holding.checkpoint))

    def _check(self, holding: Holding) -> None:
        job_id = holding.job_id or ""
        if holding.checkpoint is not None:
            state = self.storage.load(holding.checkpoint)
            if state is not None:
                self._named[_key(holding.checkpoint)] = attachments_of(codec.decode(state.states))
        elif holding.digest is not None:
            with suppress(AttachmentNotFoundError):  # removed in the meantime together with its job
                body = self.storage.get_attachment(job_id, holding.digest)
                if not is_part(body):
                    splits_of(document_of(body))
                self._intact.add((job_id, holding.digest))
        else:
            inventory_of(self.storage).verify(holding)

    def _require_enumerations(self, info: CheckpointInfo) -> None:
        for digest in self._named.get(_key(info), frozenset()):
            if (info.job_id, digest) not in self._intact:
                self._broken.add(_key(info))
                self.missing.append(
                    f"job {info.job_id}, pipeline {info.pipeline_id}: checkpoint {info.ref} refers to the "
                    f"enumeration or cursor part {digest[:12]}…, which is missing or damaged: the checkpoint cannot "
                    "be restored"
                )

    def verdict(self, job: JobSurvey, pipeline: PipelineSurvey) -> Verdict:
        latest = pipeline.latest
        intact = [info.ref for info in pipeline.live if _key(info) not in self._broken]
        restorable = intact[-1] if intact and not pipeline.problems else None
        ref = latest.ref if latest is not None else None
        if job.state is JobState.NO_MANIFEST:
            words = "cannot be resumed: the job has no manifest"
        elif job.state is JobState.UNREADABLE:
            words = "cannot be resumed: the job's manifest cannot be read"
        elif job.state is JobState.ENDED:
            words = "has ended: none of its checkpoints will be restored"
        elif ref is None:
            words = "has no checkpoint; it starts from the beginning"
        elif pipeline.problems:
            words = "cannot be resumed until its folder is repaired"
        elif restorable == ref:
            words = f"resumes from {ref}"
        elif restorable is None:
            words = "cannot be resumed: none of its live checkpoints is intact"
        else:
            words = (
                f"cannot resume automatically: the latest checkpoint, {ref}, is unusable. The newest usable "
                f"checkpoint is {restorable}; rows committed after it would be published twice"
            )
        return Verdict(
            job_id=job.job_id,
            pipeline=pipeline.number,
            title=pipeline.title,
            latest=ref,
            restorable=restorable,
            words=words,
        )


def _problems_of(job: JobSurvey) -> list[str]:
    problems = [f"job {job.job_id}: {problem}" for problem in job.all_problems]
    if job.state is JobState.NO_MANIFEST:
        problems.append(f"job {job.job_id} has no manifest: its deletion, or a copy to this storage, was interrupted")
    return problems


def _key(info: CheckpointInfo) -> tuple[str, int, CheckpointRef]:
    return info.job_id, info.pipeline_id, info.ref
