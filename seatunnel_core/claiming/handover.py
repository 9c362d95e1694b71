"""Start a new job from a savepoint of another job.

If the old job stopped with the savepoint, the new job continues its work, and the old one can never start again. If the
old job continued, both jobs would publish the rows after the savepoint. This is rejected, unless the targets differ or
the user accepts it.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from attrs import Factory, define, evolve, field, frozen

from seatunnel_core.checkpoint.decisions.base import savepoint_of
from seatunnel_core.checkpoint.decisions.matching import Comparison, fitted, not_restored
from seatunnel_core.checkpoint.errors import RestoreRefusedError, StateFormatError
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.claiming.changed_job import other_columns, other_inputs, unreadable
from seatunnel_core.claiming.claim import EPOCHS_PER_VERSION, Claim, put_first
from seatunnel_core.connector_api.sink import FrameSink
from seatunnel_core.errors import UsageError
from seatunnel_core.inspector.archive import ENDING
from seatunnel_core.inspector.content import attachments_of
from seatunnel_core.inspector.reference import StorageReference, title
from seatunnel_core.job.binding import have_same_target
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.job.restoring import Restore, SavepointName
from seatunnel_core.job.savepoint import JobSavepoint
from seatunnel_core.planning.plan import PlannedJob, PlannedPipeline
from seatunnel_core.planning.settings import topology_of
from seatunnel_storage_api.errors import (
    AttachmentNotFoundError,
    CheckpointCorruptedError,
    ManifestConflictError,
    StorageAccessError,
    UnsupportedFormatError,
)
from seatunnel_storage_api.state import CheckpointRef, CheckpointType, PipelineState
from seatunnel_storage_api.storage import CheckpointStorage

_UNREADABLE = (CheckpointCorruptedError, UnsupportedFormatError, StateFormatError, AttachmentNotFoundError)


@frozen(kw_only=True)
class ForeignSavepoint:
    """Savepoint from which a new job starts."""

    savepoint: SavepointName
    storage: str | None = None
    """Engine file, folder or exported archive that contains the savepoint; ``None`` for the storage of the new job."""

    accept_duplicates: bool = False
    allow_non_restored_state: bool = False

    @classmethod
    def of(cls, restore: Restore | None) -> "ForeignSavepoint | None":
        """Return the savepoint of another job that the user requested, if any."""
        if restore is None or restore.from_savepoint is None:
            return None
        return cls(
            savepoint=restore.from_savepoint,
            storage=restore.from_storage,
            accept_duplicates=restore.accept_duplicates,
            allow_non_restored_state=restore.allow_non_restored_state,
        )


def claim_with_savepoint(
    storage: CheckpointStorage,
    job_id: str,
    plan: Callable[[Manifest | None], PlannedJob],
    begin_with: ForeignSavepoint,
) -> Claim:
    """Claim an unused job ID for a job that starts from a savepoint of another job."""
    with _source(storage, begin_with) as source:
        return _Moving(storage, job_id, plan, begin_with, source).claim()


@contextmanager
def _source(storage: CheckpointStorage, begin_with: ForeignSavepoint) -> Iterator[CheckpointStorage]:
    if begin_with.storage is None:
        yield storage
    else:
        with _opened(StorageReference(storage=begin_with.storage)) as opened:
            yield opened


def _opened(reference: StorageReference) -> CheckpointStorage:
    """Open the storage that contains the savepoint, if possible for writing, to mark the old job as moved."""
    if (reference.storage or "").endswith(ENDING):
        return reference.open()
    try:
        return reference.open(to_remove=True)
    except StorageAccessError:
        return reference.open()


@define(eq=False, repr=False)
class _Moving:
    _storage: CheckpointStorage
    _job_id: str
    _plan: Callable[[Manifest | None], PlannedJob]
    _begin_with: ForeignSavepoint
    _source: CheckpointStorage
    _old_id: str = field(init=False, default=Factory(lambda self: self._begin_with.savepoint.job_id, takes_self=True))
    _problems: list[str] = field(factory=list, init=False)
    _notes: list[str] = field(factory=list, init=False)

    def claim(self) -> Claim:
        if self._storage.get_manifest(self._job_id) is not None:
            raise UsageError(f"the job {self._job_id} exists already: choose another id with --set-job-id")
        old = self._old_manifest(self._source)
        savepoint = old.savepoint(self._begin_with.savepoint.name, job_id=self._old_id)
        job = self._plan(_seats_of(old))
        states = self._states(savepoint, _same_targets(job, old))
        self._compare(job, old, states)
        for pipeline in job.pipelines:
            gone = unreadable(pipeline, states.get(pipeline.id, VertexStates()))
            self._problems += [f"the savepoint cannot be restored: {each}" for each in gone]
        stands = self._stands(self._source, old, savepoint)
        self._require_one_owner(job, old, stands)
        if self._problems:
            raise UsageError("\n".join(self._problems))
        carried = {
            pipeline.id: self._fitted(pipeline, states[pipeline.id])
            for pipeline in job.pipelines
            if pipeline.id in states
        }
        for number, fitting in carried.items():
            self._carry(number, fitting)
        if stands == "":
            self._give_up_old(savepoint)
        job = evolve(job, manifest=_only_present(job))
        claim = put_first(self._storage, self._job_id, job, notes=tuple(self._notes))
        return claim.with_published(self._storage, self._job_id)

    # -- the savepoint

    def _old_manifest(self, storage: CheckpointStorage) -> Manifest:
        stored = storage.get_manifest(self._old_id)
        if stored is None:
            known = storage.list_jobs()
            shown = ", ".join(known[:10]) + (f" and {len(known) - 10} more" if len(known) > 10 else "")
            raise UsageError(f"there is no job {self._old_id} in {title(storage)}; it has {shown or 'no jobs'}")
        return Manifest.from_bytes(stored.body)

    def _states(self, savepoint: JobSavepoint, same_target: frozenset[str]) -> dict[int, VertexStates]:
        """Return the states in a savepoint by pipeline. All output up to the savepoint is published."""
        found: dict[int, VertexStates] = {}
        for number, ref in savepoint.pipelines.items():
            try:
                state = self._source.get_checkpoint(self._old_id, number, ref.checkpoint_id, epoch=ref.epoch)
                if state is None:
                    self._problems.append(
                        f"checkpoint {ref} of pipeline {number}, which belongs to the savepoint, was removed from "
                        f"{title(self._source)}"
                    )
                else:
                    states = codec.decode(state.states).without_staged().unprepared(same_target)
                    found[number] = evolve(states, retracting=None)
            except _UNREADABLE as error:
                self._problems.append(f"checkpoint {ref} of pipeline {number} cannot be read: {error}")
        return found

    def _compare(self, job: PlannedJob, old: Manifest, states: Mapping[int, VertexStates]) -> None:
        held = [name for found in states.values() for name in (*found.sources, *found.sinks)]
        compared = Comparison.of(held, job.vertices)
        self._notes.append(f"Starts from the savepoint {self._begin_with.savepoint}: {compared}")
        self._notes += other_inputs(job, old)
        self._problems += other_columns(job, old)
        if not compared.matched:
            self._problems.append(
                f"the savepoint contains state for {', '.join(held) or 'no vertex'}, but no source or sink of this "
                "job has one of these names: set the names with name = …"
            )
        elif compared.dropped and not self._begin_with.allow_non_restored_state:
            self._problems.append(not_restored("the savepoint", [*map(repr, compared.dropped)]))

    # -- ownership of the rows after the savepoint

    def _stands(self, storage: CheckpointStorage, old: Manifest, savepoint: JobSavepoint) -> str:
        """Describe why the old job may have continued after the savepoint; ``""`` if it stopped with the savepoint."""
        if not savepoint.stopped:
            return f"the job {self._old_id} continued after the savepoint"
        if old.moved_to not in (None, self._job_id):
            return f"the job {old.moved_to} was already started from the savepoint"
        for number, listing in storage.scan_job(self._old_id).items():
            last = savepoint.pipelines.get(number, CheckpointRef(0, 0))
            same = savepoint_of(last, listing.checkpoints)  # another savepoint, taken with a final checkpoint
            newer = [info.ref for info in listing.checkpoints if info.ref > last and info is not same]
            if newer:
                return (
                    f"the job {self._old_id} continued after the savepoint: pipeline {number} has checkpoint "
                    f"{newer[-1]}"
                )
        return ""

    def _require_one_owner(self, job: PlannedJob, old: Manifest, stands: str) -> None:
        if stands == "" or self._begin_with.accept_duplicates:
            if stands:
                self._notes.append(f"{stands[:1].upper()}{stands[1:]}: later rows may be published twice.")
            return
        before = {folder for seat in old.seats.values() for folder in seat.targets}
        same = [
            sink.name
            for pipeline in job.pipelines
            for sink in pipeline.sinks
            if isinstance(sink.sink, FrameSink)  # its folder contains pending rows and is not the target
            or sink.sink.target_folder is None
            or sink.sink.target_folder in before
        ]
        if same:
            self._problems.append(
                f"{stands}, and {' and '.join(map(repr, same))} may write to the same targets: rows after the "
                "savepoint would be published twice. Give the sinks different targets, or start with "
                "accept_duplicates=True. To roll them back instead, restore the old job itself: "
                f"-r {self._old_id} --restore-with-savepoint {self._begin_with.savepoint.name} --retract"
            )

    def _give_up_old(self, savepoint: JobSavepoint) -> None:
        """Mark the old job as moved in every writable storage that contains it."""
        for storage in {id(each): each for each in (self._storage, self._source)}.values():
            try:
                if storage.get_manifest(self._old_id) is not None:
                    self._mark_moved(storage, savepoint)
            except StorageAccessError:  # an archive, or a read-only storage: it is left unchanged
                self._notes.append(
                    f"{title(storage)} cannot be changed, so the job {self._old_id} is not marked there as moved: do "
                    "not resume it"
                )

    def _mark_moved(self, storage: CheckpointStorage, savepoint: JobSavepoint) -> None:
        """Mark the old job as moved, stop its engine, and check again that it had stopped with the savepoint.

        With this order, at least one of two competing processes detects the other (R5).
        """
        stored = storage.get_manifest(self._old_id)
        assert stored is not None
        manifest = Manifest.from_bytes(stored.body)
        version = stored.version
        if manifest.moved_to != self._job_id:  # else an earlier command wrote it, and was interrupted
            version += 1
            try:
                storage.put_manifest(self._old_id, version, evolve(manifest, moved_to=self._job_id).to_bytes())
            except ManifestConflictError as error:
                raise UsageError(
                    f"another process has just started the job {self._old_id}: stop it, and try again"
                ) from error
        for number in storage.scan_job(self._old_id):
            storage.acquire_epoch(self._old_id, number, version * EPOCHS_PER_VERSION)
        stands = self._stands(storage, manifest, savepoint)
        if stands:
            storage.put_manifest(self._old_id, version + 1, evolve(manifest, moved_to=None).to_bytes())
            raise UsageError(f"{stands} in the meantime: stop it with a new savepoint, and start from that one")
        self._notes.append(f"The job {self._old_id} is marked as moved to {self._job_id} and can no longer be resumed.")

    # -- carried over

    def _fitted(self, pipeline: PlannedPipeline, states: VertexStates) -> VertexStates:
        """Return the state adapted to the new job, and copy the enumerations that it refers to."""
        try:
            for digest in sorted(attachments_of(states)):
                self._storage.store_attachment(self._job_id, self._source.get_attachment(self._old_id, digest))
            return fitted(states, topology_of(pipeline), allow_non_restored=True)
        except (RestoreRefusedError, *_UNREADABLE) as error:
            raise UsageError(f"pipeline {pipeline.id} ({pipeline.title}) cannot be transferred: {error}") from error

    def _carry(self, number: int, states: VertexStates) -> None:
        """Store the states as a savepoint of the new job, in an epoch below all others, so that it can be restored."""
        self._storage.store_checkpoint(
            PipelineState(
                job_id=self._job_id,
                pipeline_id=number,
                epoch=self._storage.acquire_epoch(self._job_id, number, 1),
                checkpoint_id=1,
                checkpoint_type=CheckpointType.SAVEPOINT,
                states=codec.encode(states),
            )
        )


def _seats_of(old: Manifest) -> Manifest:
    """Return a manifest with only the assignments of the old job's vertices to pipelines."""
    seats = {name: evolve(seat, targets=(), bindings=(), dropped=False) for name, seat in old.seats.items()}
    return Manifest(job_name=old.job_name, seats=seats)


def _same_targets(job: PlannedJob, old: Manifest) -> frozenset[str]:
    last = {name: seat.bindings[-1] for name, seat in old.seats.items() if seat.bindings}
    return frozenset(name for name, now in job.bindings.items() if name in last and have_same_target(last[name], now))


def _only_present(job: PlannedJob) -> Manifest:
    """Return the manifest without dropped vertices, because the new job never had them."""
    names = set(job.vertices)
    seats = {name: seat for name, seat in job.manifest.seats.items() if name in names}
    return evolve(job.manifest, job_name=job.name, seats=seats)
