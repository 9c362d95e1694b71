"""Copies of jobs in other storages, with identical epochs, IDs and state bytes.

A copy contains everything that can be restored: live checkpoints, savepoints, their enumerations and the newest
manifest, which is written last. The job therefore exists at the destination only if it is complete. An interrupted copy
can be repeated: existing objects are compared and not stored again.
"""

import time
from collections.abc import Callable

from attrs import define, field, frozen

from seatunnel_core.checkpoint.errors import StateFormatError
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.errors import CopyError, UsageError
from seatunnel_core.inspector.content import attachments_of
from seatunnel_core.inspector.reference import title
from seatunnel_core.inspector.survey import JobState, JobSurvey, PipelineSurvey, survey_job
from seatunnel_storage_api.errors import (
    AttachmentNotFoundError,
    CheckpointConflictError,
    CheckpointCorruptedError,
    StaleEpochError,
    UnsupportedFormatError,
)
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef, PipelineState
from seatunnel_storage_api.storage import CheckpointStorage

RECENT_S = 600
"""Age of a job's newest object, in seconds, up to which the job seems to run; twice the default checkpoint interval."""

Progress = Callable[[str], object]
"""Function that receives a short message for each copied object."""


@frozen(kw_only=True)
class Copied:
    """Result of copying one job."""

    job_id: str
    checkpoints: int
    """Number of checkpoints at the destination, including checkpoints from an earlier, interrupted copy."""

    attachments: int
    size_bytes: int
    """Size of the states, in bytes."""

    was_there: bool = False
    """True if the destination already had the complete job with identical bytes."""

    left_behind: tuple[str, ...] = ()
    """Damaged checkpoints that were not copied, each with its problem. A pipeline's latest checkpoint is always copied.
    """

    warnings: tuple[str, ...] = ()


def copy_job(
    source: CheckpointStorage, destination: CheckpointStorage, job_id: str, progress: Progress = lambda _: None
) -> Copied:
    """Copy one job and verify everything that was written; ``progress`` receives a message for each object.

    The destination must be opened with ``to_write``, so that its retention removes nothing.

    Raises:
        UsageError: The source has no such job, or the destination has a different or newer job with this ID.
        CopyError: The manifest, the latest checkpoint of a pipeline or an enumeration is damaged or missing. In this
            case, the job does not exist at the destination.
    """
    job = survey_job(source, job_id)
    if job.state not in (JobState.OPEN, JobState.ENDED):
        reason = "; ".join(job.problems) or "it has no manifest, so it cannot be resumed"
        raise CopyError(f"job {job_id} was not copied: {reason}")
    for problem in job.all_problems:
        raise CopyError(f"job {job_id} was not copied: {problem}")
    return _Copy(source, destination, job, progress).run()


def seems_to_run(job: JobSurvey, now: float | None = None) -> str:
    """Return a warning if the job seems to be running, otherwise ``""``."""
    if job.state is not JobState.OPEN or job.active_at is None:
        return ""
    age_s = (time.time() if now is None else now) - job.active_at
    if age_s > RECENT_S:
        return ""
    return (
        f"job {job.job_id} wrote data {max(age_s, 0):.0f} s ago and may be running: the copy lacks later data, "
        "and if both jobs continue, rows are published twice. Stop the job, and copy it again"
    )


@define
class _Copy:
    source: CheckpointStorage
    destination: CheckpointStorage
    job: JobSurvey
    progress: Progress
    checkpoints: int = 0
    size_bytes: int = 0
    attachments: set[str] = field(factory=set)
    left_behind: list[str] = field(factory=list)
    claimed: dict[int, int] = field(factory=dict)
    """Newest epoch that was claimed at the destination, keyed by pipeline."""

    def run(self) -> Copied:
        was_there = self._is_there()
        for pipeline in self.job.pipelines.values():
            self._pipeline(pipeline)
        if not was_there:
            self._manifest()
        warnings = [warning for warning in (seems_to_run(self.job), *self._changed_meanwhile()) if warning]
        return Copied(
            job_id=self.job.job_id,
            checkpoints=self.checkpoints,
            attachments=len(self.attachments),
            size_bytes=self.size_bytes,
            was_there=was_there,
            left_behind=tuple(self.left_behind),
            warnings=tuple(warnings),
        )

    def _is_there(self) -> bool:
        """Return True if the destination has the job; raise an error if its objects there are different or newer."""
        job_id = self.job.job_id
        there = self.destination.get_manifest(job_id)
        here = self.source.get_manifest(job_id)
        if there is not None and there != here:
            raise UsageError(
                f"job {job_id} already exists in {title(self.destination)} with different content: nothing was "
                "overwritten. Copy the job to another namespace, or first remove the existing job if it is the "
                "wrong one"
            )
        for number, listing in self.destination.scan_job(job_id).items():
            own = self.job.pipelines.get(number)
            latest = own.latest.ref if own is not None and own.latest is not None else CheckpointRef(0, 0)
            newest = own.listing.highest_epoch if own is not None else 0
            newer = [info for info in listing.checkpoints if info.ref > latest]
            if newer or listing.highest_epoch > newest:
                raise UsageError(
                    f"pipeline {number} of job {job_id} has continued in {title(self.destination)}: it has epoch "
                    f"{listing.highest_epoch} there and {newest} here. Nothing was overwritten; copy the job to "
                    "another namespace"
                )
        return there is not None

    # -- one pipeline

    def _pipeline(self, pipeline: PipelineSurvey) -> None:
        for info in pipeline.needed:
            state = self._load(info, is_latest=info == pipeline.latest)
            if state is not None:
                self._enumerations(state)
                self._store(info, state)
        newest = pipeline.listing.highest_epoch
        if newest:
            self._claim(pipeline.number, newest)

    def _load(self, info: CheckpointInfo, *, is_latest: bool) -> PipelineState | None:
        try:
            state = self.source.load(info)
            if state is None and is_latest:
                raise CopyError(
                    f"job {self.job.job_id} was not copied: it is running, and removed the checkpoint {info.ref} of "
                    f"pipeline {info.pipeline_id} during the copy. Stop the job, and copy it again"
                )
            return state
        except (CheckpointCorruptedError, UnsupportedFormatError) as error:
            if is_latest:
                raise CopyError(
                    f"job {self.job.job_id} was not copied: the latest checkpoint of pipeline {info.pipeline_id} "
                    "cannot be read, and without it the copy would silently resume from an older checkpoint: "
                    f"{error}"
                ) from error
            self.left_behind.append(str(error))
            return None

    def _enumerations(self, state: PipelineState) -> None:
        try:
            named = attachments_of(codec.decode(state.states))
            for digest in named - self.attachments:
                stored = self.destination.store_attachment(
                    self.job.job_id, self.source.get_attachment(self.job.job_id, digest)
                )
                self.destination.get_attachment(self.job.job_id, stored)
                self.attachments.add(digest)
                self.progress(f"attachment {digest[:12]}…")
        except (StateFormatError, AttachmentNotFoundError, CheckpointCorruptedError) as error:
            raise CopyError(
                f"job {self.job.job_id} was not copied: checkpoint {state.ref} of pipeline {state.pipeline_id} "
                f"could not be restored from the copy: {error}"
            ) from error

    def _store(self, info: CheckpointInfo, state: PipelineState) -> None:
        """Claim the epoch of a checkpoint and store the checkpoint. Must be called in the order of epochs."""
        known = self.destination.load(info)
        if known is None:
            self._claim(state.pipeline_id, state.epoch)
            try:
                self.destination.store_checkpoint(state)
            except (CheckpointConflictError, StaleEpochError) as error:
                raise UsageError(
                    f"another process is writing job {state.job_id} in {title(self.destination)}: {error}"
                ) from error
            known = self.destination.load(info)
        if known != state:
            raise UsageError(
                f"checkpoint {state.ref} of pipeline {state.pipeline_id} of job {state.job_id} has different "
                f"content in {title(self.destination)}. Nothing was overwritten; copy the job to another namespace"
            )
        self.checkpoints += 1
        self.size_bytes += len(state.states)
        self.progress(f"checkpoint {state.ref} of pipeline {state.pipeline_id}")

    def _claim(self, number: int, epoch: int) -> None:
        if number not in self.claimed:
            self.claimed[number] = self.destination.newest_epoch(self.job.job_id, number) or 0
        if self.claimed[number] >= epoch:
            return
        self.claimed[number] = self.destination.acquire_epoch(self.job.job_id, number, epoch)
        if self.claimed[number] != epoch:
            raise UsageError(
                f"pipeline {number} of job {self.job.job_id} has a newer epoch than {epoch} in "
                f"{title(self.destination)}. Nothing was overwritten; copy the job to another namespace"
            )

    # -- the end

    def _manifest(self) -> None:
        stored = self.source.get_manifest(self.job.job_id)
        if stored is None or stored.version != self.job.manifest_version:
            raise CopyError(
                f"job {self.job.job_id} was not copied: it was started or deleted during the copy. Stop the job, "
                "and copy it again"
            )
        self.destination.put_manifest(self.job.job_id, stored.version, stored.body)
        self.progress("manifest")

    def _changed_meanwhile(self) -> list[str]:
        """Return a warning for each pipeline that stored a checkpoint since the copy began."""
        found = []
        for number, pipeline in self.job.pipelines.items():
            infos = self.source.scan(self.job.job_id, number).checkpoints
            if pipeline.latest is not None and infos and infos[-1].ref != pipeline.latest.ref:
                found.append(
                    f"pipeline {number} stored {infos[-1].ref} after {pipeline.latest.ref} was copied, so the job "
                    "is running. Stop the job, and copy it again to another place"
                )
        return found
