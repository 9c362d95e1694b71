"""Job ownership: a process claims a job by writing the next version of its manifest (protocol rule R7)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from attrs import evolve, field, frozen

from seatunnel_core.checkpoint.decisions.base import RestoreRequest
from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.claiming.changed_job import require_same_job
from seatunnel_core.claiming.judged import JudgedPipeline, keep_judged
from seatunnel_core.claiming.published_tables import Published, published_tables
from seatunnel_core.claiming.restoration import READERS, dropped_pipelines, restoration
from seatunnel_core.errors import UsageError
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.job.restoring import Restore
from seatunnel_core.planning.plan import PlannedJob
from seatunnel_core.planning.save_modes import SharedTarget, by_pipeline
from seatunnel_core.reporting.report import JobReport
from seatunnel_core.reporting.report_record import report_from
from seatunnel_storage_api.errors import ManifestConflictError, StaleEpochError
from seatunnel_storage_api.storage import CheckpointStorage

EPOCHS_PER_VERSION = 100_000
"""Number of epochs per manifest version. Epoch = version × this number + restarts in this process."""


@frozen(kw_only=True)
class Claim:
    """Ownership of a job by this process, until another process writes a higher manifest version."""

    version: int
    job: PlannedJob
    restores: Mapping[int, RestoreRequest] = field(factory=dict, repr=False)
    """Restore requests by pipeline; a pipeline without a request starts from its latest checkpoint."""

    notes: tuple[str, ...] = ()
    """Notes for the user, one sentence each."""

    epochs_used: int = 0
    """Number of epochs that the claim itself has used."""

    published: Published = field(factory=dict, repr=False)
    """Tables with published rows, of targets that several pipelines share."""

    def with_published(self, storage: CheckpointStorage, job_id: str) -> "Claim":
        """Return the claim with the tables to which the pipelines have published rows, read from the storage."""
        since = self.epoch_minimum(0)
        requests = {number: each.of_process(since=since, is_restored=True) for number, each in self.restores.items()}
        return evolve(self, published=published_tables(storage, job_id, self.job.pipelines, requests))

    def epoch_minimum(self, restarts: int) -> int:
        """Return the minimum epoch to claim after this many restarts; larger than all epochs of earlier owners."""
        return self.version * EPOCHS_PER_VERSION + self.epochs_used + restarts


def claim_new(
    storage: CheckpointStorage, job_id: str, plan: Callable[[Manifest | None], PlannedJob], *, submission: str = ""
) -> Claim:
    """Claim an unused job ID; raise ``UsageError`` if a job or checkpoints with this ID exist.

    ``submission`` is the ID of the submission to a cluster, by which later attempts recognize the job as their own.
    """
    job = plan(None)
    left = any(listing.checkpoints for listing in storage.scan_job(job_id).values())
    if left and storage.get_manifest(job_id) is None:
        raise UsageError(
            f"the storage contains checkpoints of the job {job_id}, but not its manifest: the job is being "
            "deleted, copied here or moved to this id, or this operation was interrupted. Choose another id with "
            "--set-job-id, or repeat the interrupted operation"
        )
    return put_first(storage, job_id, job, submission=submission)


def put_first(
    storage: CheckpointStorage, job_id: str, job: PlannedJob, notes: tuple[str, ...] = (), *, submission: str = ""
) -> Claim:
    """Write a job's first manifest, with epochs above those of a deleted job; raise UsageError if the job exists."""
    listings = storage.scan_job(job_id).values()  # before the manifest: claiming epochs requires one
    version = 1 + max((listing.highest_epoch // EPOCHS_PER_VERSION for listing in listings), default=0)
    manifest = job.manifest.bound(job.bindings, since=version * EPOCHS_PER_VERSION)
    job = evolve(job, manifest=evolve(manifest, submission=submission))
    try:
        if storage.get_manifest(job_id) is not None:
            raise ManifestConflictError(f"a manifest of the job {job_id} exists")
        storage.put_manifest(job_id, version, job.manifest.to_bytes())
    except ManifestConflictError as error:
        raise exists_already(job_id) from error
    return Claim(version=version, job=job, notes=notes)


def exists_already(job_id: str) -> UsageError:
    """Return the error that rejects a new job because its ID is in use."""
    return UsageError(
        f"the job {job_id} exists already: resume it with `-r {job_id}`, or choose another id with --set-job-id"
    )


def claim_again(
    storage: CheckpointStorage,
    job_id: str,
    plan: Callable[[Manifest | None], PlannedJob],
    restore: Restore | None = None,
) -> Claim | JobReport:
    """Claim an existing job. If it has ended and nothing else is requested, return its final report instead."""
    stored = storage.get_manifest(job_id)
    if stored is None:
        raise UsageError(
            f"there is no job {job_id} in the checkpoint storage. Check the id that the job printed on startup, and "
            "whether its engine file configures another checkpoint storage"
        )
    manifest = Manifest.from_bytes(stored.body)
    if manifest.moved_to is not None:
        raise UsageError(_moved(job_id, manifest.moved_to, manifest))
    restore = restore or Restore()
    if manifest.ended is not None and not restore.goes_back:
        require_same_job(plan(manifest), manifest, job_id)
        return report_from(job_id, manifest.ended)
    version = stored.version + 1
    job = plan(manifest)
    found = restoration(storage, job_id, job, manifest, restore, since=version * EPOCHS_PER_VERSION)
    dropped = dropped_pipelines(job, manifest)
    if dropped and manifest.ended is None:
        _supersede(storage, job_id, manifest, version, dropped)
        version += 1
        found = restoration(storage, job_id, job, manifest, restore, since=version * EPOCHS_PER_VERSION)
    try:
        storage.put_manifest(job_id, version, found.manifest.to_bytes())
    except ManifestConflictError as error:
        raise _another_started(job_id) from error
    claim = Claim(version=version, job=evolve(job, manifest=found.manifest), restores=found.requests, notes=found.notes)
    return _check_again(storage, job_id, claim, manifest, found.undecided).with_published(storage, job_id)


def _supersede(
    storage: CheckpointStorage, job_id: str, manifest: Manifest, version: int, dropped: Iterable[int]
) -> None:
    """Claim the job unchanged, and an epoch of each pipeline that is to be dropped.

    The previous process may stage output in these pipelines until then, so their states are read again afterwards. If
    the drop is rejected, or this process dies, the stored manifest still contains the pipelines.
    """
    try:
        storage.put_manifest(job_id, version, manifest.to_bytes())
        with ThreadPoolExecutor(READERS) as pool:
            minimum = version * EPOCHS_PER_VERSION
            list(pool.map(lambda number: claim_epoch(storage, job_id, number, minimum), sorted(dropped)))
    except (ManifestConflictError, StaleEpochError) as error:
        raise _another_started(job_id) from error


def _check_again(
    storage: CheckpointStorage, job_id: str, claim: Claim, earlier: Manifest, undecided: Sequence[SharedTarget]
) -> Claim:
    """Check again, now that the job is claimed, that no sink of the job has written to these targets (R4).

    The previous process may have done so in the meantime, and continues until its epochs are superseded. So an epoch of
    each pipeline with such a target is claimed first: its latest checkpoint then shows whether output was or will be
    published. If no sink has written to a target, the states that show this are stored as restore points, because the
    previous process may still be storing a checkpoint: it is then orphaned, so no process restores and publishes it
    after the target was emptied. Pipelines that go back start from the requested checkpoint in any case.
    """
    if not undecided:
        return claim
    seats = {seat.pipeline for seat in earlier.seats.values()}
    numbers = sorted({number for each in undecided for number in each.pipelines} & seats)

    def judged(number: int) -> JudgedPipeline:
        epoch = claim_epoch(storage, job_id, number, claim.epoch_minimum(0))
        return JudgedPipeline.listed(storage, job_id, number, epoch)

    try:
        with ThreadPoolExecutor(READERS) as pool:
            found = dict(zip(numbers, pool.map(judged, numbers), strict=True))
            judgement = [(each, each.is_written(lambda number: _states_of(found, number))) for each in undecided]
            unwritten = {number for each, is_written in judgement if not is_written for number in each.pipelines}
            if earlier.ended is not None:
                unwritten = set()  # its process stores no more checkpoints
            kept = sorted((unwritten & found.keys()) - claim.job.manifest.asked.keys())
            list(pool.map(lambda number: keep_judged(storage, found[number], claim.job), kept))
    except StaleEpochError as error:
        raise _another_started(job_id) from error
    written = by_pipeline(sink for each, is_written in judgement if is_written for sink in each.sinks)
    restores = {
        number: evolve(
            found[number].request(each) if number in kept else each,
            saved=each.saved | written.get(number, frozenset()),
        )
        for number, each in claim.restores.items()
    }
    used = max(each.epoch for each in found.values()) + 1 - claim.epoch_minimum(0) if found else 0
    return evolve(claim, restores=restores, epochs_used=used)


def _states_of(found: Mapping[int, JudgedPipeline], number: int) -> VertexStates | str | None:
    return found[number].states if number in found else None


def _another_started(job_id: str) -> UsageError:
    return UsageError(f"another process has just started the job {job_id}: let it run, or stop it and try again")


def _moved(job_id: str, moved_to: str, manifest: Manifest) -> str:
    return (
        f"the job {job_id} ({manifest.job_name}) was moved to {moved_to}, which continues its work: resume that job "
        f"with -r {moved_to}. If it was never started, repeat the command that was meant to start it, with "
        f"--set-job-id {moved_to}"
    )


def claim_epoch(storage: CheckpointStorage, job_id: str, pipeline_id: int, minimum: int) -> int:
    """Claim the next epoch of a pipeline, unless a process that claimed the job later has already claimed one.

    The storage checks and claims in one operation. Otherwise, a larger epoch of this process could stop the later
    process.

    Raises:
        StaleEpochError: Another process runs the job.
    """
    next_process = (minimum // EPOCHS_PER_VERSION + 1) * EPOCHS_PER_VERSION
    return storage.acquire_epoch(job_id, pipeline_id, minimum, below=next_process)
