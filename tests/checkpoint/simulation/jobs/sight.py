"""One pipeline of a job, as the invariants of single pipelines see it: they watch the real runtime unchanged."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from attrs import define, field, frozen

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.commands import Command
from seatunnel_core.checkpoint.decisions.base import RestoreRequest, Rewind
from seatunnel_core.checkpoint.decisions.trigger import CheckpointPolicy
from seatunnel_core.checkpoint.events import Event
from seatunnel_core.checkpoint.pipeline import PipelineProtocol
from seatunnel_core.checkpoint.progress import PipelineProgress
from seatunnel_core.checkpoint.state.enumeration import document_of, splits_of
from seatunnel_core.checkpoint.state.topology import Topology
from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.checkpoint.transitions import Phase
from seatunnel_core.checkpoint.vertices.limits import Limits
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.retraction import Retraction
from seatunnel_core.work.split import Split
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef, CheckpointType, PipelineState
from tests.checkpoint.simulation.invariants.every import all_invariants
from tests.checkpoint.simulation.invariants.invariant import ViolationError, listeners, understood
from tests.checkpoint.simulation.jobs.blobs import attachment_of
from tests.checkpoint.simulation.target import MissingError, ModelTarget, Published, Row, StagedThing, StagingKey

if TYPE_CHECKING:
    from tests.checkpoint.simulation.jobs.process import Process
    from tests.checkpoint.simulation.jobs.world import JobWorld


@frozen(kw_only=True)
class Shape:
    """What the invariants ask of a scenario."""

    topology: Topology
    policy: CheckpointPolicy
    limits: Limits
    retained: int
    delayed_messages: bool = False
    reporting: frozenset[str] = frozenset()

    @property
    def bounded(self) -> bool:
        return all(source.bounded for source in self.topology.sources)


@define(eq=False)
class Start:
    """One start of the pipeline, in any process."""

    process: "Process"
    protocol: PipelineProtocol
    request: RestoreRequest
    shape: Shape
    epoch: int | None = None
    listed: tuple[CheckpointInfo, ...] = ()

    def progress(self) -> PipelineProgress:
        return self.protocol.progress()

    @property
    def paused_until_ms(self) -> int:
        return self.process.paused_until_ms


@define
class Stored:
    """What stands in the checkpoint storage, of this pipeline."""

    world: "JobWorld"
    epochs: set[int]
    checkpoints: dict[CheckpointRef, PipelineState] = field(factory=dict)
    conflicts: list[str] = field(factory=list)
    attachments: "Attachments" = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.attachments = Attachments(self.world)


class Attachments:
    """Frozen enumerations, by the names under which states know them."""

    def __init__(self, world: "JobWorld") -> None:
        self._world = world
        self._read: dict[str, tuple[Split, ...]] = {}

    def __getitem__(self, digest: str) -> tuple[Split, ...]:
        if digest not in self._read:
            self._read[digest] = splits_of(document_of(attachment_of(self._world.blobs, self._world.job_id, digest)))
        return self._read[digest]

    def get(self, digest: str, default: tuple[Split, ...]) -> tuple[Split, ...]:
        return self[digest] if digest else default


class Sight:
    """A pipeline: what is stored, staged and published of it, who started it, and what must hold."""

    def __init__(self, world: "JobWorld", pipeline_id: int, shape: Shape) -> None:
        self.id = pipeline_id
        self.job = world
        self.scenario = shape
        """Of the start that came last: people change the job file."""

        self.clock = world.stage.clock
        self.storage = Stored(world, world.epochs[pipeline_id])
        self.target = ModelTarget()
        self.starts: dict[int, Start] = {}
        """By epoch."""

        self.rewinds: dict[int, Rewind] = {}
        self._swept: dict[str, tuple[int, str]] = {}
        """By sink: when its last sweep had looked, and what it was told."""

        self._told: dict[StagingKey, str] = {}
        """What the sinks were told that anything was ever staged for."""

        self._sinks: dict[CheckpointRef, frozenset[str]] = {}
        """Those in each checkpoint that was ever stored."""

        self._too_late: dict[int, dict[str, frozenset[Row]]] = {}
        """By epoch and sink: the rows that had been read when the sink came."""
        self._published_before: dict[int, dict[str, tuple[Published, ...]]] = {}
        self._listeners = listeners(all_invariants(self))  # type: ignore[arg-type]

    # -- what the invariants ask of a world

    def is_of_the_past(self, start: Start) -> bool:
        newest = max((ref.epoch for ref in self.storage.checkpoints), default=0)
        return bool(self.rewinds) and (start.epoch or 0) < newest

    def is_pruned(self, start: Start) -> bool:
        """A prune that fails is left to the next store."""
        return self.id not in start.process.unpruned

    @property
    def last_sweep_listed_ms(self) -> int:
        """When the last sweep had looked at the first of its sinks."""
        return min(self._swept.get(sink.name, (0, ""))[0] for sink in self.scenario.topology.sinks)

    def row_of(self, source: str, split: Split) -> Row:
        return (split.body["enumeration"], source, split.index)

    def expected_rows(self) -> Counter[tuple[str, Row]]:
        latest = understood(self.storage.checkpoints[max(self.storage.checkpoints)].states)
        return Counter(
            (sink, self.row_of(spec.name, split))
            for spec in self.scenario.topology.sources
            for split in self.storage.attachments.get(latest.sources[spec.name].attachment or "", ())
            for sink in spec.sinks
            if sink not in split.body["filtered"] and self.is_owed(sink, self.row_of(spec.name, split))
        )

    def may_be_there(self) -> Counter[tuple[str, Row]]:
        """Rows of sinks that the job has no more, or that came when these rows had been read."""
        named = {sink.name for sink in self.scenario.topology.sinks}
        return Counter(
            {(sink, row) for sink, row in self.published_rows() if not (sink in named and self.is_owed(sink, row))}
        )

    def is_owed(self, sink: str, row: Row) -> bool:
        """Whether a sink gets a row: not one that had been read before the sink was in the job."""
        late = self._too_late[max(self._too_late)] if self._too_late else {}
        return row not in late.get(sink, ())

    def known_as(self, sink: str) -> str:
        return self.job.known_as(sink)

    def published_rows(self) -> Iterator[tuple[str, Row]]:
        for publication in self.target.published:
            for row in publication.rows:
                yield publication.key.sink, row

    # -- what the protocol says and hears

    def handled(self, start: Start, before: Phase, event: Event, result: tuple[Command, ...]) -> None:
        match event:
            case events.EpochClaimed(epoch=epoch):
                start.epoch = epoch
                self.starts[epoch] = start
                if epoch == max(self.storage.epochs):
                    self.scenario = start.shape
            case events.CheckpointsListed(checkpoints=listed):
                start.listed = listed
        starts = before in (Phase.LISTING, Phase.LOADING, Phase.RECOGNISING)
        if starts:
            self._look_for_rewind(start, result)
        for command in result:
            self.job.note(f"pipeline {self.id}, epoch {start.epoch}", command)
            self.job.count(command)
            self.job.may_fall_asleep(type(command).__name__)
            if isinstance(command, commands.StoreCheckpoint):
                self._will_store(command.state, first=starts)
        self._tell("handled", start, before, event, result)

    def shown(self, start: Start, before: Phase, event: Event, result: tuple[Command, ...]) -> None:
        """The same for what no engine says."""
        for command in result:
            if isinstance(command, commands.StoreCheckpoint):
                self._will_store(command.state, first=True)
        self._tell("handled", start, before, event, result)

    def _look_for_rewind(self, start: Start, result: tuple[Command, ...]) -> None:
        latest = max((info.ref for info in start.listed), default=None)
        for command in result:
            if isinstance(command, commands.StoreCheckpoint) and command.state.base != latest:
                self.rewinds[command.state.epoch] = start.request.rewind
                self.job.counts["rewinds"] += 1

    def _will_store(self, state: PipelineState, *, first: bool) -> None:
        """The save mode deletes what was listed before the restore point stood, and nothing else."""
        states = understood(state.states)
        self._sinks[state.ref] = frozenset(states.sinks)
        if first:
            self._require_published(state, states)
            self._too_late[state.epoch] = self._late_for(state, states)
        if state.checkpoint_type is CheckpointType.RESTORE_POINT and not self.rewinds:
            self._published_before[state.epoch] = {
                sink.name: tuple(each for each in self.target.published if each.key.sink == sink.name)
                for sink in self.scenario.topology.sinks
            }

    def _require_published(self, state: PipelineState, states: VertexStates) -> None:
        """R7: a sink that is dropped has published what it had to."""
        before = (
            understood(self.storage.checkpoints[state.base].states)
            if state.base in self.storage.checkpoints
            else states
        )
        for sink in before.sinks.keys() - states.sinks.keys():
            gone = [each.id for each in before.sinks[sink].uncommitted if not self._is_published(sink, each)]
            if gone:
                raise self.job.broken_by(
                    ViolationError("R7 dropped", f"{sink} is dropped, and {gone} are not published")
                )

    def _is_published(self, sink: str, committable: Committable) -> bool:
        return any(
            (key.sink, key.source, key.epoch, key.unit)
            == (sink, committable.source, committable.epoch, committable.unit)
            for key in self.target.consumed
        )

    def _late_for(self, state: PipelineState, states: VertexStates) -> dict[str, frozenset[Row]]:
        """By sink: what was read before it came, now or in an epoch before."""
        if state.base is None:
            return {}
        before = self._too_late.get(state.base.epoch, {})
        known = self._sinks.get(state.base, frozenset())
        return {sink: before.get(sink, frozenset()) if sink in known else self._read(states) for sink in states.sinks}

    def _read(self, states: VertexStates) -> frozenset[Row]:
        """What is read, and not read again by a unit that has to run again."""
        serial = {spec.name for spec in self.scenario.topology.sources if spec.serial}
        return frozenset(
            self.row_of(name, split)
            for name, source in states.sources.items()
            for split in self.storage.attachments.get(source.attachment or "", ())
            if split.index < source.cursor and split.index not in _runs_again(states, name, serial)
        )

    # -- what happens to the storage and the target

    def put(self, state: PipelineState) -> None:
        existing = self.storage.checkpoints.setdefault(state.ref, state)
        if existing.states != state.states:
            self.storage.conflicts.append(f"checkpoint {state.ref} was put twice with different states")
        start = self.starts[state.epoch]
        self._tell("put", start, state)

    def removed(self, ref: CheckpointRef) -> None:
        self._tell("removed", frozenset({ref}))
        del self.storage.checkpoints[ref]

    def looked_clean(self, state: PipelineState) -> None:
        start = self.starts[state.epoch]
        self._tell("looked_clean", start, state)

    def save_mode(self, epoch: int, sink: str) -> None:
        start, deleted = self.starts[epoch], self._published_before.get(epoch, {}).get(sink, ())
        self._tell("save_mode", start, sink, deleted)

    def stage(self, key: StagingKey, thing: StagedThing) -> None:
        if key in self.target.staged or key in self.target.consumed:
            raise self.job.broken_by(ViolationError("R8", f"{key} is staged twice"))
        self.target.staged[key] = thing
        self._told[key] = thing.told

    def publish(self, epoch: int, sink: str, told: str, committable: Committable, *, may_be_committed: bool) -> None:
        start = self.starts[epoch]
        self._require_meant(sink, told, committable)
        try:
            publication = self.target.publish(sink, committable, may_be_committed=may_be_committed, by_epoch=epoch)
        except MissingError as error:
            if epoch == max(self.storage.epochs):
                raise self.job.broken_by(ViolationError("R8", str(error))) from error
            raise
        self.job.counts["publications"] += publication is not None
        what = "publishes" if publication else "finds published"
        self.job.note(f"pipeline {self.id}, epoch {epoch}", f"{what} {committable.id} in {sink}")
        self._tell("published", start, sink, committable, publication)

    def _require_meant(self, sink: str, told: str, committable: Committable) -> None:
        """R8: what is staged is published where it was meant, as it was meant."""
        key = StagingKey(sink, committable.source, committable.epoch, committable.unit, committable.body["attempt"])
        meant = self._told.get(key, told)
        if meant != told:
            message = f"{committable.id} of {sink} was staged for {meant}, and goes to {told}"
            raise self.job.broken_by(ViolationError("R8 meant", message))

    def complete(self, epoch: int) -> None:
        start = self.starts[epoch]
        self._tell("completed", start)

    def to_sweep(self, sink: str, told: str, epoch: int, keep: frozenset[str], *, final: bool) -> frozenset[StagingKey]:
        if epoch == max(self.storage.epochs):
            self._swept[sink] = self.clock.now_ms, told
        older = self.target.older_than(epoch, keep, final=final)
        return frozenset(key for key in older if key.sink == sink and self._told[key] == told)

    def sweep(self, epoch: int, keys: frozenset[StagingKey]) -> None:
        things = {key: self.target.staged[key] for key in keys if key in self.target.staged}
        start = self.starts[epoch]
        self._tell("swept", start, things)
        self.target.remove(keys)

    def to_take_back(self, sink: str, told: str, retraction: Retraction) -> list[Published]:
        ordinals = {spec.name: spec.ordinal for spec in self.scenario.topology.sources}

        def goes(each: Published) -> bool:
            key, source = each.key, ordinals[each.key.source]
            identity = f"{source}-{key.epoch}-{key.unit}"
            taken = retraction.takes(identity, source=source, epoch=key.epoch, unit=key.unit)
            return key.sink == sink and each.told == told and taken

        return [each for each in self.target.published if goes(each)]

    def take_back(self, epoch: int, publication: Published) -> None:
        if self.target.take_back(publication):
            self.job.counts["retracted"] += 1
            start = self.starts[epoch]
            self._tell("taken_back", start, publication)

    def at_end(self) -> None:
        """What was staged somewhere that no sink looks at any more is left to the collector."""
        named = {sink.name for sink in self.scenario.topology.sinks}
        for key, thing in list(self.target.staged.items()):
            if key.sink not in named or thing.told != self._swept.get(key.sink, (0, thing.told))[1]:
                del self.target.staged[key]
        self._tell("at_end")

    def _tell(self, hook: str, *what: Any) -> None:
        try:
            for listener in self._listeners[hook]:
                listener(*what)
        except ViolationError as error:
            raise self.job.broken_by(error) from None


def _runs_again(states: VertexStates, source: str, serial: set[str]) -> set[int]:
    """What is held back runs again too, if the source is serial now (R13)."""
    again = (held for held in states.tasks[source].units if held.committables is None or source in serial)
    return {split.index for held in again for split in held.unit.splits}


class WatchedProtocol(PipelineProtocol):
    """The real one, with somebody who listens."""

    def __init__(self, world: "JobWorld", **how: Any) -> None:
        super().__init__(**how)
        shape = Shape(
            topology=how["topology"], policy=how["policy"], limits=how["limits"], retained=world.scenario.retained
        )
        process = world.stage.process
        assert process is not None
        self._sight = world.sight(how["pipeline_id"], shape)
        self._start = Start(process, self, how["restore"], shape)
        process.latest[how["pipeline_id"]] = self._start

    def handle(self, event: Event) -> tuple[Command, ...]:
        before = self.phase
        if before is Phase.ENDED:
            return super().handle(event)
        result = super().handle(event)
        self._sight.handled(self._start, before, event, result)
        return result
