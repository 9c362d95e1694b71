"""Garbage collection of checkpoint storages.

Objects are garbage if no restorable checkpoint needs them. All live checkpoints and savepoints are restorable, and all
are read: if one cannot be read, no object of its job is removed (protocol rule R9). Objects younger than
``older_than_s`` are kept, because a process may be using them.

The following objects are never removed: the newest epoch of a job that is not recorded as ended, savepoints, manifests,
the newest marker of a pipeline, and foreign objects.
"""

import errno
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from seatunnel_core.checkpoint.errors import StateFormatError
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.connectors.filesystems.staged_name import PREPARED, STAGING
from seatunnel_core.errors import UsageError
from seatunnel_core.inspector.content import attachments_of, loaded
from seatunnel_core.inspector.staged import StagedFile, staged, targets_of
from seatunnel_core.inspector.survey import JobState, JobSurvey, PipelineSurvey, inventory_of
from seatunnel_storage_api.errors import CheckpointCorruptedError, InvalidIdError, UnsupportedFormatError
from seatunnel_storage_api.inventory import Holding, HoldingKind
from seatunnel_storage_api.state import CheckpointRef
from seatunnel_storage_api.storage import CheckpointStorage

DAY_S = 86_400

PROBE_PREFIX = "probe-"
PROBE_ID = re.compile(PROBE_PREFIX + r"[0-9a-f]{32}")
"""Pattern of the IDs of probe objects, which nodes write to check that they share a storage. They are not jobs."""


@frozen(kw_only=True)
class Garbage:
    """An unneeded object, file or folder."""

    what: str
    """Kind of garbage: ``void checkpoint``, ``old marker``, ``attachment``, ``staged file``, ``staging folder``,
    ``unfinished write``, ``ended job`` or ``probe of a node that died``."""

    job_id: str | None
    pipeline: int | None
    path: str
    size_bytes: int
    age_s: float | None
    """Seconds since the last write; ``None`` if unknown."""

    holding: Holding | None = field(default=None, repr=False)
    staged: StagedFile | None = field(default=None, repr=False)
    """Staged file to remove instead of ``holding``. If both are ``None``, the garbage is a whole job."""


@frozen(kw_only=True)
class Findings:
    """Garbage that was found, and reasons for keeping other objects."""

    garbage: tuple[Garbage, ...]
    spared: tuple[str, ...]
    """Messages about objects that were not checked, or that were kept because something could not be read."""

    damaged: bool
    """True if objects were kept because of damage."""

    @property
    def size_bytes(self) -> int:
        """Total size of the garbage, in bytes."""
        return sum(each.size_bytes for each in self.garbage)


@frozen(kw_only=True)
class Needs:
    """Objects that the restorable checkpoints of one pipeline need."""

    committables: frozenset[str]
    epochs: frozenset[int]
    """Epochs with staging folders to keep: a missing staged file counts as published only if its folder exists."""

    attachments: frozenset[str]
    frozen: bool
    """True if the latest state refers to the enumerations of all sources, so no others will be stored."""


def find_garbage(
    storage: CheckpointStorage,
    jobs: Sequence[JobSurvey],
    *,
    whole: bool = True,
    targets: Iterable[str] = (),
    older_than_s: float = DAY_S,
    ended_jobs: bool = False,
    now: float | None = None,
) -> Findings:
    """Search jobs and the staging folders of their sinks for garbage, without removing it.

    Args:
        storage: The storage of the jobs.
        jobs: Surveys of all or some jobs.
        whole: True if ``jobs`` contains all jobs, so that objects without a job are also searched.
        targets: Target folders of sinks, in addition to those in the manifests.
        older_than_s: Minimum age of garbage, in seconds; objects of unknown age are kept unless this is 0.
        ended_jobs: True if jobs that are recorded as ended are garbage.
        now: Current time in seconds since 1970; by default from the clock.
    """
    moment = time.time() if now is None else now
    search = _Search(storage, {job.job_id: job for job in jobs}, whole, older_than_s, moment, ended_jobs)
    for job in jobs:
        search.job(job)
    search.unfinished()
    for target in sorted({*targets_of(jobs), *targets}):
        search.target(target)
    return Findings(garbage=tuple(search.garbage), spared=tuple(search.spared), damaged=search.damaged)


@define
class _Search:
    storage: CheckpointStorage
    jobs: Mapping[str, JobSurvey]
    whole: bool
    older_than_s: float
    now: float
    ended_jobs: bool
    garbage: list[Garbage] = field(factory=list)
    spared: list[str] = field(factory=list)
    damaged: bool = False
    _needs: dict[str, Mapping[int, Needs] | None] = field(factory=dict)
    """Required objects of each job; ``None`` if they are unknown."""

    _deleted: dict[str, bool] = field(factory=dict)

    # -- the storage

    def job(self, job: JobSurvey) -> None:
        if _is_probe(job):
            self._needs[job.job_id] = None
            for holding in job.holdings:
                if holding.kind is HoldingKind.ATTACHMENT and self._old(holding.modified_at):
                    self._add_holding(holding, "probe of a node that died")
            return
        self._needs[job.job_id] = needs = self._needs_of(job)
        if job.state is JobState.ENDED and self.ended_jobs and self._old(job.active_at):
            self._add("ended job", job, path=job.job_id, at=job.active_at)
        elif needs is not None:
            for holding in job.holdings:
                what = _no_longer_needed(job, holding, needs)
                if what and self._old(holding.modified_at):
                    self._add_holding(holding, what)

    def unfinished(self) -> None:
        held = (holding for job in self.jobs.values() for holding in job.holdings)
        for holding in inventory_of(self.storage).holdings() if self.whole else held:
            if holding.kind is HoldingKind.UNFINISHED and self._old(holding.modified_at):
                self._add_holding(holding, "unfinished write")

    def _needs_of(self, job: JobSurvey) -> Mapping[int, Needs] | None:
        if job.all_problems:
            self._spare(f"no data of job {job.job_id} is removed: {'; '.join(job.all_problems)}")
            return None
        if job.state is JobState.NO_MANIFEST:
            self.spared.append(
                f"job {job.job_id} has no manifest, so it cannot be resumed: its deletion, or a copy to this "
                "storage, was interrupted. Copy the job again, or remove its remaining files manually"
            )
            return None
        try:
            return {number: self._needs_of_pipeline(pipeline) for number, pipeline in job.pipelines.items()}
        except (CheckpointCorruptedError, UnsupportedFormatError, StateFormatError) as error:
            self._spare(f"no data of job {job.job_id} is removed, because the required data cannot be read: {error}")
            return None
        except UsageError as error:  # the job is running: newer checkpoints may need objects that these do not
            self.spared.append(f"no data of job {job.job_id} is removed: {error}")
            return None

    def _needs_of_pipeline(self, pipeline: PipelineSurvey) -> Needs:
        states: dict[CheckpointRef, VertexStates] = {}
        for info in pipeline.needed:
            states[info.ref] = codec.decode(loaded(self.storage, info).states)
        latest = states.get(pipeline.latest.ref) if pipeline.latest is not None else None
        named = [each for state in states.values() for each in state.committables()]
        return Needs(
            committables=frozenset(committable.id for committable in named),
            epochs=frozenset(committable.epoch for committable in named).union(_prepared_in(states)),
            attachments=frozenset().union(*(attachments_of(state) for state in states.values())),
            frozen=latest is not None
            and all(source.attachment and source.memory is None for source in latest.sources.values()),
        )

    # -- the targets

    def target(self, target: str) -> None:
        if "://" in target:
            self.spared.append(
                f"{target} is on another server, so staged files there are only removed by the job itself"
            )
            return
        try:
            files = list(staged(target))
        except OSError as error:
            self._spare(f"{error.filename or target} cannot be read, so staged files there are kept: {error.strerror}")
            return
        unknown: dict[str, int] = {}
        for file in files:
            if file.job_id not in self.jobs and not self.whole:
                continue
            if file.job_id not in self.jobs and not self._was_deleted(file.job_id):
                unknown[file.job_id] = unknown.get(file.job_id, 0) + (not file.is_folder)
            elif self._old(file.modified_at) and self._is_left_over(file):
                what = "staging folder" if file.is_folder else "staged file"
                self._add(what, file, pipeline=file.pipeline, path=file.path, at=file.modified_at, staged=file)
        for job_id, number in unknown.items():
            self.spared.append(
                f"{target} contains {number} staged files of job {job_id}, which is not in this storage but may be "
                "in another one; the files are kept"
            )

    def _is_left_over(self, file: StagedFile) -> bool:
        job = self.jobs.get(file.job_id)
        if file.is_foreign:
            return False
        if job is None or job.state is JobState.ENDED:
            return True
        if file.is_committed:
            return False
        needs = self._needs.get(file.job_id)
        pipeline = job.pipelines.get(file.pipeline)
        if needs is None or pipeline is None or file.epoch >= pipeline.listing.highest_epoch:
            return False
        need = needs[file.pipeline]
        if file.is_folder:
            return file.epoch not in need.epochs
        return file.committable not in need.committables

    def _was_deleted(self, job_id: str) -> bool:
        """Return True if the job was deleted from this storage, so that only its markers remain.

        Call it after listing the job's files: a job that has started in the meantime then has a manifest.
        """
        if job_id not in self._deleted:
            self._deleted[job_id] = _was_deleted(self.storage, job_id)
        return self._deleted[job_id]

    # -- common parts

    def _old(self, modified_at: float | None) -> bool:
        if modified_at is None:
            return self.older_than_s <= 0
        return self.now - modified_at >= self.older_than_s

    def _spare(self, sentence: str) -> None:
        self.spared.append(sentence)
        self.damaged = True

    def _add_holding(self, holding: Holding, what: str) -> None:
        self._add(
            what, holding, pipeline=holding.pipeline_id, path=holding.path, at=holding.modified_at, holding=holding
        )

    def _add(
        self, what: str, found: JobSurvey | Holding | StagedFile, *, path: str, at: float | None, **more: Any
    ) -> None:
        """Record garbage; ``at`` is the time of its last write in seconds since 1970."""
        age_s = None if at is None else self.now - at
        values = {"pipeline": None, **more, "size_bytes": found.size_bytes, "age_s": age_s}
        self.garbage.append(Garbage(what=what, job_id=found.job_id, path=path, **values))


def _is_probe(job: JobSurvey) -> bool:
    """Return True if the job consists of probe objects, which nodes write to check that they share a storage."""
    kinds = {holding.kind for holding in job.holdings}
    return PROBE_ID.fullmatch(job.job_id) is not None and kinds <= {HoldingKind.ATTACHMENT, HoldingKind.UNFINISHED}


def _prepared_in(states: Mapping[CheckpointRef, VertexStates]) -> frozenset[int]:
    """Return the epochs of the staging folders that identify the targets of a restored job."""
    return frozenset(sink.prepared_in for state in states.values() for sink in state.sinks.values())


def _no_longer_needed(job: JobSurvey, holding: Holding, needs: Mapping[int, Needs]) -> str:
    """Return the kind of garbage, or ``""`` if a restorable checkpoint needs the object."""
    pipeline = job.pipelines[holding.pipeline_id] if holding.pipeline_id is not None else None
    if holding.checkpoint is not None and pipeline is not None:
        return "void checkpoint" if not pipeline.needs(holding.checkpoint) else ""
    if holding.kind is HoldingKind.EPOCH and pipeline is not None and holding.number is not None:
        return "old marker" if holding.number < (pipeline.listing.newest_epoch or 0) else ""
    if holding.kind is HoldingKind.ATTACHMENT:
        named = any(holding.digest in need.attachments for need in needs.values())
        # The next checkpoint may reference an unreferenced one: each enumeration is stored once.
        settled = job.state is JobState.ENDED or all(need.frozen for need in needs.values())
        return "attachment" if settled and not named else ""
    return ""


def _was_deleted(storage: CheckpointStorage, job_id: str) -> bool:
    try:
        listings = storage.scan_job(job_id)
        markers_only = bool(listings) and not any(listing.checkpoints for listing in listings.values())
        return markers_only and storage.get_manifest(job_id) is None
    except (InvalidIdError, CheckpointCorruptedError):
        return False


def remove(storage: CheckpointStorage, garbage: Sequence[Garbage]) -> tuple[str, ...]:
    """Remove garbage; return a message for each staged file that could not be removed.

    Raises:
        CheckpointStorageError: The storage failed; earlier removals are not undone.
    """
    inventory_of(storage).discard([each.holding for each in garbage if each.holding is not None])
    for each in garbage:
        if each.holding is None and each.staged is None and each.job_id is not None:
            storage.delete_job(each.job_id)
    failures = (_remove_staged(each.staged) for each in garbage if each.staged is not None)
    return tuple(failure for failure in failures if failure)


def _remove_staged(file: StagedFile) -> str:
    """Remove a staged file, or an empty folder with its empty parents; return the reason for a failure, or ``""``."""
    try:
        if not file.is_folder:
            os.unlink(file.path)
            return ""
        folder = Path(file.path)
        if os.listdir(folder) == [PREPARED]:
            os.rmdir(folder / PREPARED)
        for each in (folder, *folder.parents):
            os.rmdir(each)
            if each.name == STAGING:
                break
    except FileNotFoundError:
        return ""
    except OSError as error:
        return "" if error.errno == errno.ENOTEMPTY else f"{file.path} cannot be removed: {error.strerror}"
    return ""
