"""What a restore takes up, pipeline by pipeline, before anything starts: all that can be refused is refused here, in
one message, and what a start will do is said."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

from attrs import evolve, field, frozen

from seatunnel_core.checkpoint.decisions.base import Base, RestoreRequest, Rewind, choose_base
from seatunnel_core.checkpoint.decisions.matching import Comparison, fitted
from seatunnel_core.checkpoint.errors import RestoreRefusedError, StateFormatError
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.claiming.bound import Bound, left_behind
from seatunnel_core.errors import UsageError
from seatunnel_core.job.binding import differences
from seatunnel_core.job.columns import columns_told
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.job.restoring import Asked, ChosenCheckpoint, Restore
from seatunnel_core.planning.plan import PlannedJob, PlannedPipeline, PlannedSource
from seatunnel_core.planning.save_modes import acted_before
from seatunnel_core.planning.settings import topology_of
from seatunnel_core.quantity import pick
from seatunnel_storage_api import lineage
from seatunnel_storage_api.errors import CheckpointCorruptedError, UnsupportedFormatError
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef, CheckpointType, PipelineListing
from seatunnel_storage_api.storage import CheckpointStorage

_READERS = 8
"""Checkpoints that are read at once."""


@frozen(kw_only=True)
class Restoration:
    """What the pipelines of a restored job start from."""

    manifest: Manifest
    """The next version, with all that has to outlive this process."""

    requests: Mapping[int, RestoreRequest] = field(factory=dict)
    """By pipeline; without one a pipeline goes on from its latest checkpoint."""

    told: tuple[str, ...] = ()
    """For the person who started it, a sentence each."""


def restoration(
    storage: CheckpointStorage, job_id: str, job: PlannedJob, stored: Manifest, restore: Restore, *, since: int
) -> Restoration:
    """Decide what each pipeline starts from.

    Args:
        job: as it is planned now.
        stored: the manifest as it was found.
        since: the first epoch that this process may claim.

    Raises:
        UsageError: something that was asked for is not possible; the message has all of it.
        CheckpointStorageError: the storage cannot be read.
    """
    return _Restoring(storage, job_id, job, stored, restore, since).decide()


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
        self._settled: set[int] = set()
        """The pipelines whose base names nothing that anybody has to publish any more."""

        self._saved: dict[int, frozenset[str]] = {}
        """By pipeline: the sinks whose save modes have acted, whatever their bases say."""

        self._problems: list[str] = []
        self._told: list[str] = []

    def decide(self) -> Restoration:
        self._compare_with_manifest()
        asked = {**self._still_asked(), **self._asked_now()}
        self._look_at(asked)
        self._refuse_what_waits()
        if self._problems:
            raise UsageError("\n".join(self._problems))
        for number, sinks in acted_before(self._job, self._stored, self._latest_states).items():
            self._saved[number] = self._saved.get(number, frozenset()) | sinks
        requests = {number: self._request(number, asked.get(number)) for number in self._pipelines}
        return Restoration(manifest=self._manifest(asked), requests=requests, told=tuple(self._told))

    def _request(self, number: int, asked: Asked | None) -> RestoreRequest:
        request = RestoreRequest(
            allow_non_restored=self._may_drop(number),
            settled=number in self._settled,
            saved=self._saved.get(number, frozenset()),
            told_otherwise=self._bound.told_otherwise(self._pipelines[number]),
        )
        return request if asked is None else evolve(request, ref=asked.ref, rewind=Rewind(asked.rewind))

    # -- which checkpoint

    def _still_asked(self) -> dict[int, Asked]:
        """What an earlier process was asked to go back to, and ended before it was done. What is gone by now, because
        an engine that ran meanwhile has pruned it, is not asked for any more: nobody could start the job again."""
        still: dict[int, Asked] = {}
        for number, asked in _going_back(self._stored.asked).items():
            infos = self._listing(number).checkpoints
            if number not in self._pipelines or any(info.epoch >= asked.since for info in infos):
                continue
            if asked.ref in lineage.live(infos):
                still[number] = asked
            elif not self._restore.goes_back:
                self._told.append(
                    f"Pipeline {number} ({self._pipelines[number].title}) does not go back to {asked.ref}, which an "
                    "earlier start was asked for and did not come to: that checkpoint is gone. It goes on from its "
                    "latest"
                )
        return still

    def _asked_now(self) -> dict[int, Asked]:
        name = self._restore.savepoint
        refs = self._chosen() if name is None else self._of_savepoint(name)
        rewind = self._restore.rewind
        return {number: Asked(ref=ref, rewind=rewind, since=self._since) for number, ref in refs.items()}

    def _of_savepoint(self, name: str) -> dict[int, CheckpointRef]:
        try:
            found = self._stored.savepoint(name, job_id=self._job_id)
        except UsageError as error:
            self._problems.append(str(error))
            return {}
        later = [pipeline.title for number, pipeline in self._pipelines.items() if number not in found.pipelines]
        if later:
            self._told.append(f"Not in the savepoint {name}, so it goes on where it is: {'; '.join(later)}")
        still = [number for number in sorted(found.finished & self._pipelines.keys()) if self._is_finished(number)]
        if still:
            titles = "; ".join(self._pipelines[number].title for number in still)
            self._told.append(f"Finished in the savepoint {name} and ever since, so it stays as it is: {titles}")
        return {
            number: ref for number, ref in found.pipelines.items() if number in self._pipelines and number not in still
        }

    def _is_finished(self, number: int) -> bool:
        """Whether its last checkpoint is a final one. It need not be that of the savepoint: each later start has one,
        and only the newest is kept; all of them say that everything is published."""
        base = choose_base(self._listing(number).checkpoints, RestoreRequest())
        return base.cut is not None and base.cut.checkpoint_type is CheckpointType.COMPLETED_POINT

    def _chosen(self) -> dict[int, CheckpointRef]:
        refs: dict[int, CheckpointRef] = {}
        for chosen in self._restore.checkpoints:
            number = chosen.pipeline if chosen.pipeline is not None else self._only_pipeline(chosen)
            if number is None:
                continue
            if number not in self._pipelines:
                self._problems.append(f"{chosen.written}: the job has no pipeline {number}; it has {self._numbered()}")
            elif number in refs:
                self._problems.append(f"{chosen.written}: a second checkpoint for pipeline {number}; name one")
            else:
                info = self._find(number, chosen)
                if info is not None:
                    refs[number] = info.ref
        return refs

    def _only_pipeline(self, chosen: ChosenCheckpoint) -> int | None:
        if len(self._pipelines) == 1:
            return next(iter(self._pipelines))
        self._problems.append(
            f"{chosen.written}: the job has {len(self._pipelines)} pipelines, so write PIPELINE:{chosen.written} with "
            f"one of {self._numbered()}"
        )
        return None

    def _numbered(self) -> str:
        return ", ".join(f"{number} ({pipeline.title})" for number, pipeline in sorted(self._pipelines.items()))

    def _find(self, number: int, chosen: ChosenCheckpoint) -> CheckpointInfo | None:
        infos = self._listing(number).checkpoints
        alive = lineage.live(infos)
        found = [
            info for info in infos if info.checkpoint_id == chosen.checkpoint_id and chosen.epoch in (None, info.epoch)
        ]
        live = [info for info in found if info.ref in alive]
        if live:
            return live[-1]
        known = ", ".join(str(info.ref) for info in infos if info.ref in alive) or "none"
        self._problems.append(
            f"{chosen.written}: pipeline {number} has no such checkpoint; it has {known}"
            if not found
            else f"{chosen.written}: this checkpoint of pipeline {number} is void, because a restore went back "
            f"behind it or an engine stored it that had been replaced; it has {known}"
        )
        return None

    def _listing(self, number: int) -> PipelineListing:
        return self._listings.get(number, PipelineListing())

    # -- what that would mean

    def _look_at(self, asked: Mapping[int, Asked]) -> None:
        """Read what the pipelines start from, where it was asked for or has to fit to something else than before."""
        bases: dict[int, Base] = {}
        for number in sorted(asked.keys() | self._changed()):
            request = RestoreRequest(ref=asked[number].ref if number in asked else None, rewind=Rewind.ACCEPTED)
            try:
                bases[number] = choose_base(self._listing(number).checkpoints, request)
            except RestoreRefusedError as error:
                self._problems.append(f"{self._pipelines[number].title}: {error}")
        wanted = {info for number, base in bases.items() for info in (base.cut, self._latest(number)) if info}
        with ThreadPoolExecutor(_READERS) as pool:
            read = dict(zip(wanted, pool.map(self._states, wanted), strict=True))
        for number, base in bases.items():
            self._judge(self._pipelines[number], base, asked.get(number), read)

    def _changed(self) -> set[int]:
        """The pipelines that have lost a source or a sink, or have a sink that is told something else."""
        lost = {self._stored.seats[name].pipeline for name in self._job.dropped} & self._pipelines.keys()
        return lost.union(number for number, each in self._pipelines.items() if self._bound.is_told_otherwise(each))

    def _latest(self, number: int) -> CheckpointInfo | None:
        return lineage.latest(self._listing(number).checkpoints)

    def _latest_states(self, number: int) -> VertexStates | str | None:
        latest = self._latest(number)
        return None if latest is None else self._states(latest)

    def _states(self, info: CheckpointInfo) -> VertexStates | str:
        """The states, or why they cannot be had."""
        try:
            state = self._storage.load(info)
            return "it was removed meanwhile" if state is None else codec.decode(state.states)
        except (CheckpointCorruptedError, UnsupportedFormatError, StateFormatError) as error:
            return str(error)

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
            self._told.append(f"Pipeline {pipeline.id} ({pipeline.title}) starts from {base.ref}, its latest.")
            return
        newest = read[latest]
        known = {name for name, sink in states.sinks.items() if not sink.save_mode_pending}
        self._saved[pipeline.id] = _acted(pipeline, newest) - known
        rows = "an unknown number of" if isinstance(newest, str) else f"{_published(newest) - _published(states):,}"
        self._judge_rewind(pipeline, base, asked, rows)

    def _judge_rewind(self, pipeline: PlannedPipeline, base: Base, asked: Asked, rows: str) -> None:
        who = f"Pipeline {pipeline.id} ({pipeline.title})"
        live = lineage.live(self._listing(pipeline.id).checkpoints)
        newer = sum(1 for ref in live if base.ref is not None and ref > base.ref)  # its own savepoint is not newer
        if asked.rewind == "accepted":
            self._told.append(f"{who} goes back to {asked.ref}: up to {rows} rows are published a second time.")
        elif asked.rewind == "refused":
            self._problems.append(
                f"{who} has {pick(newer, 'newer checkpoint')} than {asked.ref}: going back publishes up to {rows} rows "
                "a second time. The same command with --retract takes them back first (retract=True in Python); with "
                "--accept-duplicates they stay, and come twice (accept_duplicates=True)"
            )
        else:
            cannot = [sink.name for sink in pipeline.sinks if not sink.sink.retracts]
            if cannot:
                self._problems.append(
                    f"{who}: {' and '.join(map(repr, cannot))} cannot take rows back. With --accept-duplicates "
                    f"up to {rows} rows come twice there"
                )
            self._told.append(f"{who} goes back to {asked.ref}: up to {rows} rows are taken back and moved again.")

    # -- vertices by name

    def _compare_with_manifest(self) -> None:
        dropped = self._job.dropped
        if dropped and not self._restore.allow_non_restored_state:
            self._problems.append(
                f"the stored job {self._job_id} also has {', '.join(map(repr, dropped))}, which this job file does not "
                "name: put them back, or write --allow-non-restored-state to go on without them and what is stored of "
                "them (allow_non_restored_state=True in Python), or run the job under a new id"
            )
        compared = evolve(Comparison.of(self._stored.seats, self._job.vertices), dropped=dropped)
        if compared.new or dropped:
            self._told.append(str(compared))
        self._told += other_inputs(self._job, self._stored)
        self._problems += other_columns(self._job, self._stored)

    def _require_bound(
        self, which: str, pipeline: PlannedPipeline, base: Base, asked: Asked | None, states: VertexStates
    ) -> None:
        """What is staged goes where it was meant, and what was published is found where it went."""
        now = asked is not None and asked.rewind == "retracted"
        back_to = base.ref if now else states.retracting
        if back_to is not None:
            lost = self._bound.lost_tracks(pipeline, states, back_to.epoch)
            self._problems += [f"{which}: {each}" for each in lost]
        if self._is_published(base):
            self._settled.update({pipeline.id} if any(self._bound.strays(pipeline, states)) else ())
        else:
            self._problems += [f"{which}: {each}" for each in self._bound.strays(pipeline, states)]

    def _is_published(self, base: Base) -> bool:
        """Whether all that sinks hold in the base is known to be published: it is a savepoint, or the job had ended."""
        settled = base.cut is not None and base.cut.epoch < self._stored.settled_below
        return settled or self._stored.ended is not None or base.cut is not base.info

    def _fit(self, which: str, pipeline: PlannedPipeline, base: Base, states: VertexStates) -> None:
        compared = Comparison.of((*states.sources, *states.sinks), pipeline.vertices)
        if set(compared.dropped) <= set(self._job.dropped) and not self._may_drop(pipeline.id):
            compared = evolve(compared, dropped=())  # it is said already
        if (compared.new or compared.dropped) and not self._job.dropped:
            self._told.append(f"{which}: {compared}")
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
        """Because it was said now, or before and the latest state may still have it."""
        return self._restore.allow_non_restored_state or number in self._dropped_before

    def _refuse_what_waits(self) -> None:
        """Of a pipeline that is given up as a whole: what is staged and not published, nobody would publish."""
        given_up = {self._stored.seats[name].pipeline for name in self._job.dropped} - self._pipelines.keys()
        for number in sorted(given_up):
            latest = self._latest(number)
            if latest is None or latest.epoch < self._stored.settled_below or self._stored.ended is not None:
                continue
            states = self._states(latest)
            if isinstance(states, str):
                self._told.append(f"What is stored of pipeline {number}, which is dropped, cannot be read: {states}")
                continue
            waiting = left_behind(self._job_id, number, states, self._stored)
            if waiting is not None:
                self._problems.append(
                    f"pipeline {number} has {waiting}: go on with the job as it was until it has finished or was "
                    "stopped with a savepoint (seatunnel -s), and drop the pipeline then"
                )

    # -- what stays

    def _manifest(self, asked: Mapping[int, Asked]) -> Manifest:
        manifest = self._job.manifest.bound(self._job.bindings, since=self._since)
        settled = self._since if self._stored.ended is not None else self._stored.settled_below
        gone = manifest.seats.keys() - set(self._job.vertices)
        return evolve(manifest.without(gone), asked=_going_back(asked), ended=None, settled_below=settled)


def _acted(pipeline: PlannedPipeline, newest: VertexStates | str) -> frozenset[str]:
    """The sinks whose save modes have acted, also those that came behind the base; all, where nobody can read it."""
    if isinstance(newest, str):
        return frozenset(sink.name for sink in pipeline.sinks)
    return frozenset(name for name, sink in newest.sinks.items() if not sink.save_mode_pending)


def _going_back(asked: Mapping[int, Asked]) -> dict[int, Asked]:
    """Without those that refuse to: they asked for the latest, which an engine that was taken over may have followed by
    a newer one since. Nobody agreed to go back behind that."""
    return {number: each for number, each in asked.items() if each.rewind != "refused"}


def require_same_job(job: PlannedJob, stored: Manifest, job_id: str) -> None:
    """Refuse another job's file for one that has ended: its closing table would say that all is done.

    Raises:
        UsageError: what the file names is not what the job had.
    """
    new = [name for name in job.vertices if name not in stored.seats]
    told = [
        *(["it names " + ", ".join(map(repr, new)) + ", which that job did not have"] if new else []),
        *(["it lacks " + ", ".join(map(repr, job.dropped))] if job.dropped else []),
        *(_other_place(job, stored) if not new and not job.dropped else ()),
    ]
    if told:
        raise UsageError(
            f"the job {job_id} ({stored.job_name}) has ended, and this job file is not the one that it ended with: "
            f"{'; '.join(told)}. Leave out -r to run it as a new job (restore in Python)"
        )


def _other_place(job: PlannedJob, stored: Manifest) -> Iterator[str]:
    for pipeline in job.pipelines:
        for source in pipeline.sources:
            before, now = stored.seats[source.name].reads, source.source.read_path
            if before is not None and before != now:
                yield f"{source.name!r} reads {now}, and read {before}"
        for sink in pipeline.sinks:
            targets, folder = stored.seats[sink.name].targets, sink.sink.target_folder
            if targets and targets[-1] != folder:
                yield f"{sink.name!r} writes to {folder}, and wrote to {targets[-1]}"


def other_columns(job: PlannedJob, stored: Manifest) -> list[str]:
    """A sentence for each source that is told of other columns than those that were frozen with its enumeration: rows
    of two shapes would come into one target."""
    found: list[str] = []
    for source in (source for pipeline in job.pipelines for source in pipeline.sources):
        seat = stored.seats.get(source.name)
        now = columns_told(source.source.options)
        if seat is not None and seat.columns not in (None, now):
            found.append(
                f"the source {source.name!r} has other columns than when it was first read: its "
                f"{'; its '.join(differences(seat.columns, now))}. Put that back; or give the source another name, and "
                "it is read from its beginning; or run the job under a new id"
            )
    return found


def other_inputs(job: PlannedJob, stored: Manifest) -> list[str]:
    """A sentence for each source that is told to read something else than what was frozen (R12)."""
    sources = [source for pipeline in job.pipelines for source in pipeline.sources]
    before = {name: seat.reads for name, seat in stored.seats.items()}
    return [
        _other_input(source, before[source.name])
        for source in sources
        if before.get(source.name) not in (None, source.source.read_path)
    ]


def _other_input(source: PlannedSource, before: str | None) -> str:
    now = source.source.read_path
    if source.source.bounded:
        return (
            f"The source {source.name!r} goes on with the files that were found at {before} when it was first read; "
            f"nothing is looked for at {now}. That takes a source of another name"
        )
    return (
        f"The source {source.name!r} does not watch {before} any more, and reads all that it finds at {now}, whether "
        "it was read under another path or not"
    )


def _published(states: VertexStates) -> int:
    """Rows that are, or are about to be, in the targets when a checkpoint of these states is complete."""
    return sum(
        sink.rows_committed + sum(committable.rows for committable in sink.uncommitted)
        for sink in states.sinks.values()
    )
