"""Savepoints of a job: one checkpoint per pipeline, then the manifest that refers to all of them."""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Protocol

from attrs import define, field

from seatunnel_core.claiming.claim import Claim
from seatunnel_core.clock import wall_clock
from seatunnel_core.errors import SavepointError, UsageError
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.job.savepoint import JobSavepoint, require_savepoint_name
from seatunnel_core.runtime.thread_pool import Pool
from seatunnel_storage_api.errors import ManifestConflictError
from seatunnel_storage_api.state import CheckpointRef, CheckpointType, PipelineListing
from seatunnel_storage_api.storage import CheckpointStorage

Answer = Callable[[CheckpointRef | None, str], None]
"""Callback that receives the checkpoint of a pipeline, or ``None`` and the reason for a failure."""


class SavepointPipeline(Protocol):
    """Methods of ``PipelineRun`` that savepoints use."""

    @property
    def id(self) -> int:
        """Number of the pipeline in its job."""

    @property
    def title(self) -> str:
        """Names of the sources and sinks of the pipeline, for users."""

    def savepoint(self, name: str, *, stop: bool, drain: bool, answer: Answer) -> None:
        """Take a savepoint, and call ``answer`` after it has been stored or has failed."""


class ManifestWriter:
    """Writer of a job's manifest, for the process that has claimed the job."""

    def __init__(self, storage: CheckpointStorage, job_id: str, claim: Claim) -> None:
        self._storage = storage
        self._job_id = job_id
        self._version = claim.version
        self._manifest = claim.job.manifest
        self._writing = threading.Lock()

    @property
    def manifest(self) -> Manifest:
        """Last written manifest."""
        return self._manifest

    def job_has_ended(self) -> bool:
        """Return True if this or another process has recorded the end of the job."""
        stored = self._storage.get_manifest(self._job_id)
        return stored is not None and Manifest.from_bytes(stored.body).ended is not None

    def final(self, refs: Mapping[int, CheckpointRef]) -> frozenset[int]:
        """Return the numbers of the pipelines with a final checkpoint in ``refs``."""
        listings = self._storage.scan_job(self._job_id)
        return frozenset(
            number
            for number, ref in refs.items()
            for info in listings.get(number, PipelineListing()).checkpoints
            if info.ref == ref and info.checkpoint_type is CheckpointType.COMPLETED_POINT
        )

    def write(self, change: Callable[[Manifest], Manifest]) -> None:
        """Store the version of the manifest that ``change`` returns.

        Raises:
            ManifestConflictError: Another process has claimed the job.
        """
        with self._writing:
            changed = change(self._manifest)
            self._storage.put_manifest(self._job_id, self._version + 1, changed.to_bytes())
            self._version, self._manifest = self._version + 1, changed


@define
class _Taking:
    name: str
    stop: bool
    waiting: dict[int, str]
    """Titles of the pipelines that have no result yet, keyed by pipeline number."""

    taken: "Future[JobSavepoint]"
    refs: dict[int, CheckpointRef] = field(factory=dict)
    refusals: list[str] = field(factory=list)


class JobSavepoints:
    """Savepoints of a job that are in progress.

    ``take`` and the results of pipelines run on the loop's thread; the manifest is written in the storage's pool.
    """

    def __init__(self, writer: ManifestWriter, pool: Pool) -> None:
        self._writer = writer
        self._pool = pool
        self._open: dict[str, _Taking] = {}
        self._stopped: list[_Taking] = []
        """Completed savepoints to write to the manifest when the job has stopped."""

        self._concluded = False
        self._ending = threading.Lock()
        """Lock that guards ``_stopped`` and ``_concluded``, because ``conclude`` is not called on the loop's thread."""

    def take(
        self,
        name: str | None,
        *,
        stop: bool,
        drain: bool,
        pipelines: Sequence[SavepointPipeline],
        taken: "Future[JobSavepoint]",
    ) -> None:
        """Request a savepoint from every pipeline.

        ``taken`` receives the savepoint once the manifest contains it, a ``SavepointError`` if a pipeline failed, or a
        ``UsageError`` for an invalid name.
        """
        try:
            name = self._unused(name)
        except UsageError as error:
            taken.set_exception(error)
            return
        taking = _Taking(name, stop or drain, {each.id: each.title for each in pipelines}, taken)
        self._open[name] = taking
        for each in pipelines:
            each.savepoint(name, stop=stop, drain=drain, answer=partial(self._answered, taking, each.id))

    def _unused(self, name: str | None) -> str:
        """Return the name, by default the next number; raise ``UsageError`` if it is taken or invalid."""
        names = {each.name for each in self._writer.manifest.savepoints} | self._open.keys()
        if name is None:
            return str(max((int(each) for each in names if each.isdecimal()), default=0) + 1)
        if require_savepoint_name(name) in names:
            raise UsageError(f"this job already has a savepoint {name}: choose another name")
        return name

    def _answered(self, taking: _Taking, pipeline: int, ref: CheckpointRef | None, reason: str) -> None:
        title = taking.waiting.pop(pipeline)
        if ref is None:
            taking.refusals.append(f"pipeline {pipeline} ({title}): {reason}")
        else:
            taking.refs[pipeline] = ref
        if taking.waiting:
            return
        if taking.refusals:
            self._refuse(taking, "; ".join(taking.refusals))
        elif not self._waits_for_the_end(taking):
            self._pool.submit(self._write, taking)

    def _waits_for_the_end(self, taking: _Taking) -> bool:
        with self._ending:
            if taking.stop and not self._concluded:
                self._stopped.append(taking)
                return True
        return False

    def conclude(self) -> None:
        """Write the savepoints that stopped the job, after all pipelines have ended."""
        with self._ending:
            self._concluded = True
            stopped, self._stopped = self._stopped, []
        for taking in stopped:
            self._write(taking)

    def close(self) -> None:
        """Fail all incomplete savepoints, so that no caller waits forever."""
        for taking in list(self._open.values()):
            self._refuse(taking, "the job ended before the savepoint was complete")

    def _write(self, taking: _Taking) -> None:
        try:
            savepoint = JobSavepoint(
                name=taking.name,
                taken_at=wall_clock(),
                stopped=taking.stop,
                pipelines=dict(sorted(taking.refs.items())),
                finished=self._writer.final(taking.refs),
            )
            self._writer.write(lambda manifest: manifest.with_savepoint(savepoint))
        except ManifestConflictError:
            self._refuse(taking, "another process has claimed the job and continues it")
        except Exception as error:
            self._refuse(taking, str(error))
        else:
            if self._open.pop(taking.name, None) is not None:
                taking.taken.set_result(savepoint)

    def _refuse(self, taking: _Taking, reason: str) -> None:
        if self._open.pop(taking.name, None) is not None:
            taking.taken.set_exception(SavepointError(f"the savepoint {taking.name} was not taken: {reason}"))
