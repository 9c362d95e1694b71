"""Decide which checkpoint each pipeline of a restored job starts from, before any of them starts.

``checkpoint.decisions`` makes the decision, and repeats it at each start. This module collects all reasons for a
rejection in one message, and all notes for the user.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from attrs import evolve, field, frozen

from seatunnel_core.checkpoint.decisions.base import (
    Base,
    RestoreRequest,
    Rewind,
    choose_base,
    require_agreed,
    require_retracting,
)
from seatunnel_core.checkpoint.decisions.matching import Comparison, fitted, not_restored
from seatunnel_core.checkpoint.errors import RestoreRefusedError, StateFormatError
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.claiming.asked import AskedCheckpoints, Findings, going_back
from seatunnel_core.claiming.bound import Bound, left_behind
from seatunnel_core.claiming.changed_job import other_columns, other_inputs, unreadable
from seatunnel_core.connector_api.capabilities import can_roll_back
from seatunnel_core.errors import UsageError
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.job.restoring import Asked, Restore
from seatunnel_core.planning.plan import PlannedJob, PlannedPipeline
from seatunnel_core.planning.save_modes import SharedTarget, by_pipeline, shared_targets
from seatunnel_core.planning.settings import topology_of
from seatunnel_storage_api import lineage
from seatunnel_storage_api.errors import CheckpointCorruptedError, UnsupportedFormatError
from seatunnel_storage_api.state import CheckpointInfo, PipelineListing
from seatunnel_storage_api.storage import CheckpointStorage

READERS = 8
"""Maximum number of checkpoints read concurrently."""


@frozen(kw_only=True)
class Restoration:
    """Checkpoints that the pipelines of a restored job start from."""

    manifest: Manifest
    """Next version of the manifest."""

    requests: Mapping[int, RestoreRequest] = field(factory=dict)
    """Restore requests by pipeline; a pipeline without a request resumes from its latest checkpoint."""

    notes: tuple[str, ...] = ()
    """Notes for the user, one sentence each."""

    undecided: Sequence[SharedTarget] = ()
    """Targets to which no sink of the job has written yet. They are checked again after the claim (R4)."""


def restoration(
    storage: CheckpointStorage, job_id: str, job: PlannedJob, stored: Manifest, restore: Restore, *, since: int
) -> Restoration:
    """Decide which checkpoint each pipeline starts from; ``since`` is the first epoch that this process may claim.

    Raises:
        UsageError: A part of the request is impossible; the message lists every such part.
    """
    return _Restoring(storage, job_id, job, stored, restore, since).decide()


def dropped_pipelines(job: PlannedJob, stored: Manifest) -> frozenset[int]:
    """Return the numbers of the stored pipelines that this start drops as a whole."""
    return frozenset(stored.seats[name].pipeline for name in job.dropped) - {each.id for each in job.pipelines}


def states_in(storage: CheckpointStorage, info: CheckpointInfo) -> VertexStates | str:
    """Return the states in a checkpoint, or the reason why they cannot be read."""
    try:
        state = storage.load(info)
        return "the checkpoint was removed in the meantime" if state is None else codec.decode(state.states)
    except (CheckpointCorruptedError, UnsupportedFormatError, StateFormatError) as error:
        return str(error)


class _Restoring:
    def __init__(
        self,
        storage: CheckpointStorage,
        job_id: str,
        job: PlannedJob,
        stored: Manifest,
        restore: Restore,
        since: int,
    ) -> None:
        self._storage = storage
        self._job_id = job_id
        self._job = job
        self._stored = stored
        self._restore = restore
        self._since = since
        self._pipelines = {pipeline.id: pipeline for pipeline in job.pipelines}
        self._listings: Mapping[int, PipelineListing] = storage.scan_job(job_id)
        self._dropped_before = {seat.pipeline for seat in stored.seats.values() if seat.dropped}
        self._bound = Bound(stored=stored)
        self._drops_staged: set[int] = set()
        """Pipelines for which all output in the restored checkpoint is published."""

        self._saved: dict[int, frozenset[str]] = {}
        """Sinks that have applied their save modes, keyed by pipeline. The checkpoint may mark them as pending."""

        self._problems, self._notes = (findings := Findings()).problems, findings.notes
        self._asked = AskedCheckpoints(
            job_id=job_id,
            stored=stored,
            restore=restore,
            since=since,
            pipelines=self._pipelines,
            listings=self._listings,
            findings=findings,
        )

    def decide(self) -> Restoration:
        self._compare_with_manifest()
        asked = {**self._asked.still(), **self._asked.now()}
        self._look_at(asked)
        self._refuse_what_waits()
        if self._problems:
            raise UsageError("\n".join(self._problems))
        shared = shared_targets(self._job, self._stored)
        written = [each for each in shared if each.is_written(self._latest_states)]
        for number, sinks in by_pipeline(sink for each in written for sink in each.sinks).items():
            self._saved[number] = self._saved.get(number, frozenset()) | sinks
        return Restoration(
            manifest=self._manifest(asked),
            requests={number: self._request(number, asked.get(number)) for number in self._pipelines},
            notes=tuple(self._notes),
            undecided=[each for each in shared if each not in written],
        )

    def _request(self, number: int, asked: Asked | None) -> RestoreRequest:
        request = RestoreRequest(
            allow_non_restored=self._may_drop(number),
            drops_staged=number in self._drops_staged,
            saved=self._saved.get(number, frozenset()),
            changed_bindings=self._bound.changed_bindings(self._pipelines[number]),
            changed_targets=self._bound.changed_targets(self._pipelines[number]),
        )
        return request if asked is None else evolve(request, ref=asked.ref, rewind=Rewind(asked.rewind))

    # -- consequences

    def _listing(self, number: int) -> PipelineListing:
        return self._listings.get(number, PipelineListing())

    def _look_at(self, asked: Mapping[int, Asked]) -> None:
        """Check the checkpoint of each pipeline with changed vertices or a request to restore an older one."""
        bases: dict[int, Base] = {}
        for number in sorted(asked.keys() | self._changed()):
            request = RestoreRequest(ref=asked[number].ref if number in asked else None, rewind=Rewind.ACCEPTED)
            try:
                bases[number] = choose_base(self._listing(number).checkpoints, request)
            except RestoreRefusedError as error:
                self._problems.append(f"{self._pipelines[number].title}: {error}")
        wanted = {info for number, base in bases.items() for info in (base.cut, self._latest(number)) if info}
        with ThreadPoolExecutor(READERS) as pool:
            read = dict(zip(wanted, pool.map(self._states, wanted), strict=True))
        for number, base in bases.items():
            self._judge(self._pipelines[number], base, asked.get(number), read)

    def _changed(self) -> set[int]:
        """Return the pipelines that lost a source or a sink, or that have a sink with changed options."""
        lost = {self._stored.seats[name].pipeline for name in self._job.dropped} & self._pipelines.keys()
        return lost.union(number for number, each in self._pipelines.items() if self._bound.has_changed(each))

    def _latest(self, number: int) -> CheckpointInfo | None:
        return lineage.latest(self._listing(number).checkpoints)

    def _latest_states(self, number: int) -> VertexStates | str | None:
        latest = self._latest(number)
        return None if latest is None else self._states(latest)

    def _states(self, info: CheckpointInfo) -> VertexStates | str:
        return states_in(self._storage, info)

    def _judge(
        self,
        pipeline: PlannedPipeline,
        base: Base,
        asked: Asked | None,
        read: Mapping[CheckpointInfo, VertexStates | str],
    ) -> None:
        latest = self._latest(pipeline.id)
        if base.cut is None or latest is None:
            return
        states = read[base.cut]
        which = f"checkpoint {base.ref} of pipeline {pipeline.id} ({pipeline.title})"
        if isinstance(states, str):
            self._problems.append(f"{which} cannot be restored: {states}")
            return
        self._fit(which, pipeline, base, states)
        self._require_bound(which, pipeline, base, asked, states)
        if asked is None:
            return
        if base.info is latest:
            self._notes.append(f"{pipeline.heading} starts from its latest checkpoint, {base.ref}.")
            return
        self._problems += [f"{which} cannot be restored: {each}" for each in unreadable(pipeline, states)]
        newest = read[latest]
        known = {name for name, sink in states.sinks.items() if not sink.save_mode_pending}
        self._saved[pipeline.id] = _acted(pipeline, newest) - known
        number = "an unknown number of" if isinstance(newest, str) else f"{_published(newest) - _published(states):,}"
        self._judge_rewind(pipeline, base, asked, f"up to {number} rows")

    def _judge_rewind(self, pipeline: PlannedPipeline, base: Base, asked: Asked, rows: str) -> None:
        who, unable = pipeline.heading, [sink.name for sink in pipeline.sinks if not can_roll_back(sink.sink)]
        rewind, checkpoints = Rewind(asked.rewind), self._listing(pipeline.id).checkpoints
        assert base.ref is not None
        try:
            require_agreed(rewind, asked=asked.ref, chosen=base.ref, checkpoints=checkpoints, rows=rows)
            require_retracting(rewind, asked=asked.ref, unable=unable, rows=rows)
        except RestoreRefusedError as error:
            self._problems.append(f"{who}: {error}")
            return
        taken_back = "rolled back and read again" if rewind is Rewind.RETRACTED else "published twice"
        self._notes.append(f"{who} is restored from {asked.ref}: {rows} are {taken_back}.")

    # -- vertices by name

    def _compare_with_manifest(self) -> None:
        dropped = self._job.dropped
        if dropped and not self._restore.allow_non_restored_state:
            refused = not_restored(f"the stored job {self._job_id}", [*map(repr, dropped)])
            self._problems.append(f"{refused}; or run the job under a new id")
        compared = evolve(Comparison.of(self._stored.seats, self._job.vertices), dropped=dropped)
        if compared.new or dropped:
            self._notes.append(str(compared))
        self._notes += other_inputs(self._job, self._stored)
        self._problems += other_columns(self._job, self._stored)

    def _require_bound(
        self, which: str, pipeline: PlannedPipeline, base: Base, asked: Asked | None, states: VertexStates
    ) -> None:
        """Require that staged output keeps its target, and that a rollback can find the published output."""
        now = asked is not None and asked.rewind == "retracted"
        back_to = base.ref if now else states.retracting
        if back_to is not None:
            lost = self._bound.lost_tracks(pipeline, states, back_to.epoch)
            self._problems += [f"{which}: {each}" for each in lost]
        if self._is_published(base):
            self._drops_staged.update({pipeline.id} if any(self._bound.strays(pipeline, states)) else ())
        else:
            self._problems += [f"{which}: {each}" for each in self._bound.strays(pipeline, states)]

    def _is_published(self, base: Base) -> bool:
        """Return True if all output of the sinks in a checkpoint is known to be published."""
        settled = base.cut is not None and base.cut.epoch < self._stored.settled_below
        return settled or self._stored.ended is not None or base.is_published

    def _fit(self, which: str, pipeline: PlannedPipeline, base: Base, states: VertexStates) -> None:
        compared = Comparison.of((*states.sources, *states.sinks), pipeline.vertices)
        if set(compared.dropped) <= set(self._job.dropped) and not self._may_drop(pipeline.id):
            compared = evolve(compared, dropped=())  # already reported
        if (compared.new or compared.dropped) and not self._job.dropped:
            self._notes.append(f"{which}: {compared}")
        if compared.dropped:
            try:
                fitted(
                    states,
                    topology_of(pipeline),
                    allow_non_restored=self._may_drop(pipeline.id),
                    is_published=self._is_published(base),
                )
            except RestoreRefusedError as error:
                self._problems.append(f"{which} cannot be restored: {error}")

    def _may_drop(self, number: int) -> bool:
        """Return True if the user allowed dropping state of the pipeline, now or at an earlier start."""
        return self._restore.allow_non_restored_state or number in self._dropped_before

    def _refuse_what_waits(self) -> None:
        """Reject dropping a pipeline that has staged but unpublished output, because that output would be lost."""
        for number in sorted(dropped_pipelines(self._job, self._stored)):
            latest = self._latest(number)
            if latest is None or latest.epoch < self._stored.settled_below or self._stored.ended is not None:
                continue
            states = self._states(latest)
            if isinstance(states, str):
                self._notes.append(f"The stored state of dropped pipeline {number} cannot be read: {states}")
                continue
            waiting = left_behind(self._job_id, number, states, self._stored)
            if waiting is not None:
                self._problems.append(
                    f"pipeline {number} has {waiting}: resume the job without this change until it has finished or "
                    "was stopped with a savepoint, and then drop the pipeline"
                )

    # -- results

    def _manifest(self, asked: Mapping[int, Asked]) -> Manifest:
        manifest = self._job.manifest.bound(self._job.bindings, since=self._since)
        settled = self._since if self._stored.ended is not None else self._stored.settled_below
        gone = manifest.seats.keys() - set(self._job.vertices)
        return evolve(manifest.without(gone), asked=going_back(asked), ended=None, settled_below=settled)


def _acted(pipeline: PlannedPipeline, newest: VertexStates | str) -> frozenset[str]:
    """Return the sinks that have already applied their save modes; all sinks if the state is unreadable."""
    if isinstance(newest, str):
        return frozenset(sink.name for sink in pipeline.sinks)
    return frozenset(name for name, sink in newest.sinks.items() if not sink.save_mode_pending)


def _published(states: VertexStates) -> int:
    """Return the number of rows in the targets once all output of a checkpoint is published."""
    return sum(
        sink.rows_committed + sum(committable.rows for committable in sink.uncommitted)
        for sink in states.sinks.values()
    )
