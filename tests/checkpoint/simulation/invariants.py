"""What must hold whatever happens: one object per rule of the protocol, each with its own small memory.

They are told what engines were told and said, and every step that changes the storage or the target. They know the
rules and not the implementation: what they need to know of a state they read from its stored bytes.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.commands import Command, Outcome
from seatunnel_core.checkpoint.decisions.base import Rewind
from seatunnel_core.checkpoint.events import Event
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.checkpoint.transitions import Phase, targets
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.split import Split
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef, CheckpointType, PipelineState

if TYPE_CHECKING:
    from tests.checkpoint.simulation.engine import Engine
    from tests.checkpoint.simulation.target import Published, Row, StagedThing, StagingKey
    from tests.checkpoint.simulation.world import World


class ViolationError(Exception):
    """A rule does not hold."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(f"{rule}: {message}")
        self.rule = rule


class Invariant:
    """Watches a run. The default for everything is to look away."""

    rule: str

    def __init__(self, world: "World") -> None:
        self.world = world

    def handled(self, engine: "Engine", before: Phase, event: Event, result: tuple[Command, ...]) -> None: ...

    def put(self, engine: "Engine", state: PipelineState) -> None: ...

    def looked_clean(self, engine: "Engine", state: PipelineState) -> None: ...

    def published(
        self, engine: "Engine", sink: str, committable: Committable, publication: "Published | None"
    ) -> None: ...

    def save_mode(self, engine: "Engine", sink: str, deleted: "tuple[Published, ...]") -> None: ...

    def swept(self, engine: "Engine", things: "Mapping[StagingKey, StagedThing]") -> None: ...

    def taken_back(self, engine: "Engine", publication: "Published") -> None: ...

    def removed(self, refs: frozenset[CheckpointRef]) -> None: ...

    def at_end(self) -> None: ...

    def require(self, holds: bool, message: str, rule: str | None = None) -> None:
        if not holds:
            raise ViolationError(rule or self.rule, message)

    def is_newest(self, engine: "Engine") -> bool:
        """Whether nobody has claimed a newer epoch than ``engine``."""
        return engine.epoch is not None and max(self.world.storage.epochs) == engine.epoch


HOOKS = (
    "handled", "put", "looked_clean", "published", "save_mode", "swept", "taken_back", "removed", "at_end",
)  # fmt: skip


def listeners(invariants: "Iterable[Invariant]") -> dict[str, tuple[Callable[..., None], ...]]:
    """By what happens: those that do not look away."""
    return {
        hook: tuple(
            getattr(each, hook) for each in invariants if getattr(type(each), hook) is not getattr(Invariant, hook)
        )
        for hook in HOOKS
    }


@lru_cache(maxsize=2_000)
def understood(encoded: bytes) -> VertexStates:
    """What a stored state says. Many invariants read the same one."""
    return codec.decode(encoded)


def stores(result: Iterable[Command]) -> list[PipelineState]:
    return [command.state for command in result if isinstance(command, commands.StoreCheckpoint)]


def live_by_hand(
    states: Mapping[CheckpointRef, PipelineState] | Mapping[CheckpointRef, CheckpointInfo],
) -> set[CheckpointRef]:
    """R4, written a second time: the latest, the smaller ids of its epoch, its base, and so on down."""
    live: set[CheckpointRef] = set()
    head = max(states, default=None)
    while head is not None:
        same_epoch = [ref for ref in states if ref.epoch == head.epoch]
        live |= {ref for ref in same_epoch if ref.checkpoint_id <= head.checkpoint_id}
        head = states[same_epoch[0]].base if same_epoch else None
    return live


class CompleteCut(Invariant):
    """R1, R2: in the state of a checkpoint every split that was emitted is in exactly one place for every sink it goes
    to: in flight, or not known to be committed, or published."""

    rule = "R1/R2"

    def __init__(self, world: "World") -> None:
        super().__init__(world)
        self._published: set[tuple[str, Row]] = set()
        self._published_by: dict[CheckpointRef, frozenset[tuple[str, Row]]] = {}
        """What was published when a checkpoint was taken."""

        self._states: dict[CheckpointRef, VertexStates] = {}
        self._cuts: dict[Engine, CheckpointRef] = {}
        """From which checkpoint an engine took its state."""

    def published(self, engine: "Engine", sink: str, committable: Committable, publication: "Published | None") -> None:
        if not self.world.is_of_the_past(engine):
            self._published |= {(sink, row) for row in self._rows(sink, committable)}

    def handled(self, engine: "Engine", before: Phase, event: Event, result: tuple[Command, ...]) -> None:
        for command in result:
            if isinstance(command, commands.LoadCheckpoint):
                self._cuts[engine] = command.ref
        for state in stores(result):
            states = self._states[state.ref] = understood(state.states)
            if before in (Phase.LISTING, Phase.LOADING):
                published = self._of_the_base(engine, event, state)
            elif state.checkpoint_type is CheckpointType.SAVEPOINT and not self.world.is_of_the_past(engine):
                published = self._of_the_cut(CheckpointRef(state.epoch, state.checkpoint_id - 1))
                early = published - self._published if self.is_newest(engine) else frozenset()
                self.require(not early, f"savepoint {state.ref} is stored before {sorted(early)} are published")
            else:
                published = frozenset(self._published)
            self._published_by[state.ref] = published
            if self.is_newest(engine):
                self._check(states, state.ref, published)

    def put(self, engine: "Engine", state: PipelineState) -> None:
        """The latest checkpoint says which history counts; one from which somebody went back does not."""
        stored = self.world.storage.checkpoints
        first = not any(ref.epoch == state.epoch and ref != state.ref for ref in stored)
        if first and state.ref == max(stored) and state.ref in self._published_by:
            self._published = set(self._published_by[state.ref])

    def _of_the_base(self, engine: "Engine", event: Event, state: PipelineState) -> "frozenset[tuple[str, Row]]":
        """Of a job that had ended, all that a checkpoint names is published, and is read without it; so is all that
        the cut of a savepoint names."""
        cut = self._cuts.get(engine)
        if cut is None:
            return frozenset()
        settled = isinstance(event, events.CheckpointLoaded) and understood(event.state.states) != self._states[cut]
        base = None if state.base is None else self.world.storage.checkpoints.get(state.base)
        settled = settled or (base is not None and base.checkpoint_type is CheckpointType.SAVEPOINT)
        return self._of_the_cut(cut) if settled else self._published_by[cut]

    def _of_the_cut(self, cut: CheckpointRef) -> "frozenset[tuple[str, Row]]":
        """A savepoint is stored when all that the checkpoint before it names is published, and perhaps more."""
        named_there = {
            (name, row)
            for name, sink in self._states[cut].sinks.items()
            for committable in sink.uncommitted
            for row in self._rows(name, committable)
        }
        return self._published_by[cut] | named_there

    def _check(self, states: VertexStates, ref: CheckpointRef, already: "frozenset[tuple[str, Row]]") -> None:
        for spec in self.world.scenario.topology.sources:
            source = states.sources[spec.name]
            if source.attachment is None:
                continue
            splits = self.world.storage.attachments[source.attachment]
            in_flight = Counter(split.index for held in states.tasks[spec.name].units for split in held.unit.splits)
            for sink in spec.sinks:
                waiting = Counter(
                    row[2]
                    for committable in states.sinks[sink].uncommitted
                    for row in self._rows(sink, committable)
                    if row[1] == spec.name
                )
                for split in splits:
                    published = (sink, self.world.row_of(spec.name, split)) in already
                    emitted = split.index < source.cursor
                    self._place(ref, sink, spec.name, split, emitted, published, in_flight, waiting)

    def _place(
        self,
        ref: CheckpointRef,
        sink: str,
        source: str,
        split: Split,
        emitted: bool,
        published: bool,
        in_flight: Counter[int],
        waiting: Counter[int],
    ) -> None:
        where = f"checkpoint {ref}: split {split.index} of {source!r} for {sink!r}"
        places = in_flight[split.index] + waiting[split.index]
        if not emitted:
            self.require(places == 0 and not published, f"{where} was not emitted, and is somewhere", "R2")
            return
        self.require(places <= 1, f"{where} is in {places} places", "R2")
        self.require(not (in_flight[split.index] and published), f"{where} is in flight and published", "R2")
        filtered = sink in split.body["filtered"] or not self.world.is_owed(sink, self.world.row_of(source, split))
        self.require(
            bool(places) or published or filtered, f"{where} is neither in flight, nor uncommitted, nor published"
        )

    def _rows(self, sink: str, committable: Committable) -> "tuple[Row, ...]":
        target = self.world.target
        for key, thing in target.staged.items():
            if self._names(sink, committable, key):
                return thing.rows
        for publication in target.published:
            if self._names(sink, committable, publication.key):
                return publication.rows
        raise ViolationError("R8", f"committable {committable.id} of {sink!r} names nothing that was ever staged")

    @staticmethod
    def _names(sink: str, committable: Committable, key: "StagingKey") -> bool:
        return (key.sink, key.source, key.epoch, key.unit, key.attempt) == (
            sink,
            committable.source,
            committable.epoch,
            committable.unit,
            committable.body["attempt"],
        )


class BoundedUncommitted(Invariant):
    """R1: at the bound, sources get no credit, so that a sink holds no more than the bound and what was on its way: all
    credits once, and those that were given back before the news of the bound had arrived."""

    rule = "R1 bound"

    def handled(self, engine: "Engine", before: Phase, event: Event, result: tuple[Command, ...]) -> None:
        if not isinstance(event, events.UnitFinished):
            return
        scenario = self.world.scenario
        rounds = 6 if scenario.delayed_messages else 2
        on_their_way = rounds * scenario.limits.credits_per_source * len(scenario.topology.sources)
        most = (scenario.limits.max_uncommitted + on_their_way) * len(scenario.topology.sinks)
        held = engine.progress().uncommitted
        self.require(held <= most, f"the sinks hold {held} committables, and at most {most} are expected")


class BarriersPass(Invariant):
    """R3: a barrier waits for nothing: when messages travel at once, the checkpoint that an event triggers is stored in
    the same step, whatever is running. Credits bound what is on its way."""

    rule = "R3"

    def handled(self, engine: "Engine", before: Phase, event: Event, result: tuple[Command, ...]) -> None:
        scenario = self.world.scenario
        if not scenario.delayed_messages:
            triggered = [
                command.checkpoint_id for command in result if isinstance(command, commands.CheckpointTriggered)
            ]
            over = [state.checkpoint_id for state in stores(result)]
            over += [command.checkpoint_id for command in result if isinstance(command, commands.CheckpointAborted)]
            missing = [checkpoint_id for checkpoint_id in triggered if checkpoint_id not in over]
            self.require(not missing, f"the barriers {missing} did not pass at once")
        for state in stores(result):
            if state.checkpoint_type is not CheckpointType.CHECKPOINT:
                continue
            for name, task in understood(state.states).tasks.items():
                splits = sum(len(held.unit.splits) for held in task.units)
                most = scenario.limits.credits_per_source
                self.require(splits <= most, f"{splits} splits of {name!r} are on their way, with {most} credits")


class SavepointsStandAlone(Invariant):
    """A savepoint is the cut of the checkpoint before it, named by nobody's staging, and every one that was asked for
    is stored or refused before its pipeline ends."""

    rule = "savepoints"

    def __init__(self, world: "World") -> None:
        super().__init__(world)
        self._cuts: dict[CheckpointRef, VertexStates] = {}
        self._unanswered: dict[Engine, set[str]] = {}
        self._stored: set[CheckpointRef] = set()

    def looked_clean(self, engine: "Engine", state: PipelineState) -> None:
        self._stored.add(state.ref)

    def handled(self, engine: "Engine", before: Phase, event: Event, result: tuple[Command, ...]) -> None:
        unanswered = self._unanswered.setdefault(engine, set())
        if isinstance(event, events.SavepointRequested):
            unanswered.add(event.name)
        for command in result:
            match command:
                case commands.StoreCheckpoint(state=state) if state.checkpoint_type is CheckpointType.SAVEPOINT:
                    self._compare(state)
                case commands.StoreCheckpoint(state=state):
                    self._cuts[state.ref] = understood(state.states)
                case commands.SavepointCompleted(name=name, ref=ref):
                    self.require(ref in self._stored, f"{name} counts as stored, and {ref} is not")
                    unanswered.remove(name)
                case commands.SavepointFailed(name=name):
                    unanswered.remove(name)
                case commands.EndPipeline():
                    self.require(not unanswered, f"the pipeline ended, and nobody heard of {sorted(unanswered)}")

    def _compare(self, state: PipelineState) -> None:
        savepoint = understood(state.states)
        cut = self._cuts[CheckpointRef(state.epoch, state.checkpoint_id - 1)]
        self.require(not named(savepoint), f"the savepoint {state.ref} names {named(savepoint)}")
        self.require(savepoint.sources == cut.sources, f"the savepoint {state.ref} has another cut")
        for name, task in savepoint.tasks.items():
            units = [held.unit for held in cut.tasks[name].units]
            self.require([held.unit for held in task.units] == units, f"the savepoint {state.ref} has other units")


class OrderOfTheStart(Invariant):
    """R4: nothing is touched before the restore point is durable and the fence was looked at; then prepare, commit,
    sweep, enumerate, run, in this order."""

    rule = "R4"
    ORDER = (
        commands.ClaimEpoch, commands.ListCheckpoints, commands.LoadCheckpoint, commands.StoreCheckpoint,
        commands.PrepareSinks, commands.Commit, commands.Sweep, commands.Retract, commands.Enumerate,
        commands.RunUnit,
    )  # fmt: skip

    def __init__(self, world: "World") -> None:
        super().__init__(world)
        self._reached: dict[Engine, int] = {}
        self._clean: set[int] = set()

    def looked_clean(self, engine: "Engine", state: PipelineState) -> None:
        self._clean.add(state.epoch)

    def handled(self, engine: "Engine", before: Phase, event: Event, result: tuple[Command, ...]) -> None:
        prepare = self.ORDER.index(commands.PrepareSinks)
        for command in result:
            if type(command) not in self.ORDER:
                continue
            step = self.ORDER.index(type(command))
            reached = self._reached.get(engine, -1)
            starting = reached < self.ORDER.index(commands.RunUnit) and engine.protocol.phase not in (
                Phase.RUNNING, Phase.STOPPING, Phase.FINISHING, Phase.CLEANING, Phase.ENDED,
            )  # fmt: skip
            if starting:
                self.require(step >= reached, f"{type(command).__name__} after {self.ORDER[reached].__name__}")
            self._reached[engine] = max(step, reached)
            if step >= prepare:
                self.require(
                    engine.epoch in self._clean, f"{type(command).__name__} before the restore point stood unfenced"
                )

    def put(self, engine: "Engine", state: PipelineState) -> None:
        first = min((ref for ref in self.world.storage.checkpoints if ref.epoch == state.epoch), default=state.ref)
        if state.checkpoint_type is CheckpointType.RESTORE_POINT:
            self.require(first == state.ref, f"the restore point {state.ref} is not the first of its epoch")

    def save_mode(self, engine: "Engine", sink: str, deleted: "tuple[Published, ...]") -> None:
        self.require(not deleted, f"the save mode of {sink!r} deletes rows that this pipeline has published")


class IdsGrow(Invariant):
    """Ids of checkpoints only grow within an epoch, and never sort below what was listed."""

    rule = "ids"

    def __init__(self, world: "World") -> None:
        super().__init__(world)
        self._last: dict[Engine, int] = {}

    def handled(self, engine: "Engine", before: Phase, event: Event, result: tuple[Command, ...]) -> None:
        if isinstance(event, events.CheckpointsListed):
            self._last[engine] = max((info.checkpoint_id for info in event.checkpoints), default=0)
        for command in result:
            if isinstance(command, commands.CheckpointTriggered):
                last = self._last.get(engine, 0)
                self.require(command.checkpoint_id > last, f"checkpoint {command.checkpoint_id} after {last}")
                self._last[engine] = command.checkpoint_id
        for conflict in self.world.storage.conflicts:
            self.require(False, conflict)


class StoredBeforeCommitted(Invariant):
    """R5: a commit is begun only for what a checkpoint contains that this engine stored and then looked."""

    rule = "R5"

    def __init__(self, world: "World") -> None:
        super().__init__(world)
        self._allowed: dict[int, set[tuple[str, str]]] = {}

    def looked_clean(self, engine: "Engine", state: PipelineState) -> None:
        allowed = self._allowed.setdefault(state.epoch, set())
        for sink, sink_state in understood(state.states).sinks.items():
            allowed |= {(sink, committable.id) for committable in sink_state.uncommitted}

    def handled(self, engine: "Engine", before: Phase, event: Event, result: tuple[Command, ...]) -> None:
        for command in result:
            if isinstance(command, commands.Commit):
                allowed = self._allowed.get(engine.epoch or 0, set())
                strange = [each.id for each in command.committables if (command.sink, each.id) not in allowed]
                self.require(not strange, f"{command.sink!r} commits {strange}, which no completed checkpoint contains")


class ZombiesAreHarmless(Invariant):
    """R6: what a stale engine publishes is contained in the base of the newest one, and what it stores is void."""

    rule = "R6"

    def __init__(self, world: "World") -> None:
        super().__init__(world)
        self._restore_points: dict[int, set[tuple[str, str]]] = {}
        self._swept: set[int] = set()

    def swept(self, engine: "Engine", things: "Mapping[StagingKey, StagedThing]") -> None:
        self._swept.add(engine.epoch or 0)

    def put(self, engine: "Engine", state: PipelineState) -> None:
        first_of_epoch = state.epoch not in self._restore_points
        if first_of_epoch:
            self._restore_points[state.epoch] = {
                (sink, committable.id)
                for sink, sink_state in understood(state.states).sinks.items()
                for committable in sink_state.uncommitted
            }
        stored = self.world.storage.checkpoints
        live = live_by_hand(stored)
        if max(self._restore_points) > state.epoch and not first_of_epoch:
            newer = [each for ref, each in stored.items() if ref.epoch > state.epoch]
            is_base = any(each.base is not None and each.base >= state.ref for each in newer if each.ref in live)
            self.require(is_base or state.ref not in live, f"{state.ref} of a stale engine counts")

    def published(self, engine: "Engine", sink: str, committable: Committable, publication: "Published | None") -> None:
        newest = max(self._restore_points)
        if publication is None or engine.epoch is None or engine.epoch >= newest:
            return
        went_back = min((epoch for epoch in self.world.rewinds if engine.epoch < epoch <= newest), default=newest + 1)
        if went_back <= newest and not any(epoch >= went_back for epoch in self._swept):
            return  # it is taken back, or was accepted
        self.require(
            (sink, committable.id) in self._restore_points[newest],
            f"epoch {engine.epoch} publishes {committable.id} of {sink!r}, which the base of epoch {newest} has not",
        )


class FinishedStaysFinished(Invariant):
    """R7: a start from a completed point reads nothing, and a pipeline is finished only after its last commit."""

    rule = "R7"

    def __init__(self, world: "World") -> None:
        super().__init__(world)
        self._final: set[Engine] = set()

    def handled(self, engine: "Engine", before: Phase, event: Event, result: tuple[Command, ...]) -> None:
        if isinstance(event, events.CheckpointLoaded):
            kind = event.state.checkpoint_type
            known = understood(event.state.states).sinks
            for state in stores(result) if kind is CheckpointType.COMPLETED_POINT else ():
                if not understood(state.states).sinks.keys() <= known.keys():
                    continue  # a sink is new: it is not finished
                self._final.add(engine)
                self.require(state.checkpoint_type is kind, f"the restore point of a finished pipeline is {state}")
        for command in result:
            if engine in self._final:
                moved = isinstance(command, (commands.RunUnit, commands.Enumerate))
                self.require(not moved, f"a finished pipeline does {type(command).__name__}")
            if (
                isinstance(command, commands.EndPipeline)
                and command.outcome is Outcome.FINISHED
                and not self.world.is_of_the_past(engine)
            ):
                missing = self.world.expected_rows() - Counter(self.world.published_rows())
                self.require(not missing, f"finished, and these rows are not published: {sorted(missing)}")


class EveryRowOnce(Invariant):
    """R8 and the whole promise: each row of the source reaches each of its sinks once."""

    rule = "R8"

    def __init__(self, world: "World") -> None:
        super().__init__(world)
        self._rows: set[tuple[str, Row]] = set()
        self._units: dict[tuple[str, int, int], tuple[int, ...]] = {}
        self._numbers: set[tuple[str, str, int]] = set()
        self._taken_back: set[StagingKey] = set()

    def published(self, engine: "Engine", sink: str, committable: Committable, publication: "Published | None") -> None:
        if publication is None:
            if not self.world.is_of_the_past(engine):
                self._require_published_before(sink, committable)
            return
        if self._doubles_are_accepted:
            return
        for row in publication.rows:
            known = self.world.known_as(sink), row
            self.require(known not in self._rows, f"{row} is published twice in {sink!r}")
            self._rows.add(known)
        number = (sink, committable.source, committable.unit)
        self.require(number not in self._numbers, f"unit {committable.unit} of {committable.source!r} names two things")
        self._numbers.add(number)

    @property
    def _doubles_are_accepted(self) -> bool:
        return Rewind.ACCEPTED in self.world.rewinds.values()

    def taken_back(self, engine: "Engine", publication: "Published") -> None:
        key = publication.key
        self._rows -= {(self.world.known_as(key.sink), row) for row in publication.rows}
        self._numbers.discard((key.sink, key.source, key.unit))
        self._taken_back.add(key)

    def _require_published_before(self, sink: str, committable: Committable) -> None:
        gone = self.world.target.swept | self._taken_back
        swept = [key for key in gone if key.sink == sink and key.epoch == committable.epoch
                 and key.unit == committable.unit and key.source == committable.source
                 and key.attempt == committable.body["attempt"]]  # fmt: skip
        self.require(not swept, f"{committable.id} of {sink!r} counts as published, and was swept or taken back")

    def handled(self, engine: "Engine", before: Phase, event: Event, result: tuple[Command, ...]) -> None:
        for command in result:
            if isinstance(command, commands.RunUnit):
                splits = tuple(split.index for split in command.attempt.unit.splits)
                key = (command.task, command.attempt.epoch, command.attempt.unit.number)
                self.require(self._units.setdefault(key, splits) == splits, f"unit {key} stands for two sets of splits")

    def at_end(self) -> None:
        published, expected = Counter(self.world.published_rows()), self.world.expected_rows()
        self.require(not expected - published, f"lost: {sorted(expected - published)}")
        if not self._doubles_are_accepted:
            too_much = published - expected - self.world.may_be_there()
            self.require(not too_much, f"too much: {sorted(too_much)}")


class SweepsKeepWhatIsNamed(Invariant):
    """R9: nothing that a live checkpoint names is swept, and after the end nothing staged remains."""

    rule = "R9"

    def swept(self, engine: "Engine", things: "Mapping[StagingKey, StagedThing]") -> None:
        stored = self.world.storage.checkpoints
        for ref in live_by_hand(stored):
            for sink, committable in named(understood(stored[ref].states)):
                for key in things:
                    attempt = committable.body["attempt"]
                    hit = (key.sink, key.source, key.epoch, key.unit, key.attempt) == (
                        sink, committable.source, committable.epoch, committable.unit, attempt,
                    )  # fmt: skip
                    self.require(not hit, f"epoch {engine.epoch} sweeps {key}, which checkpoint {ref} names")

    def at_end(self) -> None:
        """What an old executor wrote after the last sweep had listed is left to the collector; what a pipeline that
        never ends by itself left, to its next start."""
        if not self.world.scenario.bounded:
            return
        late_ms = self.world.last_sweep_listed_ms
        left = [key for key, thing in self.world.target.staged.items() if thing.staged_at < late_ms]
        self.require(not left, f"after the end these are still staged: {left}")


def named(states: VertexStates) -> list[tuple[str, Committable]]:
    """Every committable that a state names, with its sink."""
    held = [pair for task in states.tasks.values() for unit in task.units for pair in (unit.committables or {}).items()]
    waiting = [(name, committable) for name, sink in states.sinks.items() for committable in sink.uncommitted]
    return [*held, *waiting]


class FrozenEnumerations(Invariant):
    """R12: all that is ever published of a source comes from one enumeration."""

    rule = "R12"

    def __init__(self, world: "World") -> None:
        super().__init__(world)
        self._used: dict[str, str] = {}

    def put(self, engine: "Engine", state: PipelineState) -> None:
        """Who goes back behind the enumeration makes another one."""
        if state.epoch in self.world.rewinds:
            begun = understood(state.states).sources
            self._used = {name: used for name, used in self._used.items() if begun[name].attachment is not None}

    def published(self, engine: "Engine", sink: str, committable: Committable, publication: "Published | None") -> None:
        if self.world.is_of_the_past(engine):
            return
        for enumeration, source, _ in publication.rows if publication else ():
            used = self._used.setdefault(source, enumeration)
            self.require(used == enumeration, f"rows of {source!r} come from {used} and from {enumeration}")


class OrderIsKept(Invariant):
    """R13: what an ordered source gives reaches a sink in the order of its splits."""

    rule = "R13"

    def __init__(self, world: "World") -> None:
        super().__init__(world)
        self._ordered = {spec.name for spec in world.scenario.topology.sources if spec.ordered}
        self._last: dict[tuple[str, str], int] = {}

    def put(self, engine: "Engine", state: PipelineState) -> None:
        if state.epoch in self.world.rewinds:
            self._last.clear()

    def published(self, engine: "Engine", sink: str, committable: Committable, publication: "Published | None") -> None:
        if self.world.is_of_the_past(engine):
            return
        for _, source, index in publication.rows if publication and committable.source in self._ordered else ():
            last = self._last.get((sink, source), -1)
            self.require(index > last, f"split {index} of {source!r} reaches {sink!r} after split {last}")
            self._last[sink, source] = index


class ResultsAreClaims(Invariant):
    """R14: a committable in a state comes from a result of the epoch that ran the unit, and a second result of a unit
    never takes the place of the first."""

    rule = "R14"

    def __init__(self, world: "World") -> None:
        super().__init__(world)
        self._awaited: dict[tuple[int, str, int], int] = {}
        self._restored: dict[int, set[tuple[str, str]]] = {}
        self._accepted: dict[tuple[int, str, int], dict[str, Committable]] = {}

    def handled(self, engine: "Engine", before: Phase, event: Event, result: tuple[Command, ...]) -> None:
        epoch = engine.epoch or 0
        if (
            isinstance(event, events.UnitFinished)
            and event.attempt.epoch == epoch
            and before in (Phase.RUNNING, Phase.STOPPING)
        ):
            key = (epoch, event.task, event.attempt.unit)
            if self._awaited.get(key) == event.attempt.number:
                self._accepted.setdefault(key, event.committables)
        elif isinstance(event, events.UnitFailed) and event.attempt.epoch == epoch:
            key = (epoch, event.task, event.attempt.unit)
            if self._awaited.get(key) == event.attempt.number and key not in self._accepted:
                del self._awaited[key]
        for command in result:
            if isinstance(command, commands.RunUnit):
                self._awaited[epoch, command.task, command.attempt.unit.number] = command.attempt.number
        for state in stores(result):
            names = named(understood(state.states))
            restored = self._restored.setdefault(epoch, {(sink, committable.id) for sink, committable in names})
            for sink, committable in names:
                if committable.epoch != epoch:
                    self.require((sink, committable.id) in restored, f"{committable} is of an older epoch")
                else:
                    accepted = self._accepted.get((epoch, committable.source, committable.unit), {}).get(sink)
                    self.require(accepted == committable, f"{committable} is in a state, and {accepted} was accepted")


class GoingBack(Invariant):
    """R10: nobody goes back unasked or to what is void, and who takes rows back does it before any unit runs, in every
    later start too until a checkpoint of the run says that it is done."""

    rule = "R10"

    def __init__(self, world: "World") -> None:
        super().__init__(world)
        self._owing: set[CheckpointRef] = set()
        """Restore points whose rows are not known to be taken back."""

        self._in_debt: set[Engine] = set()

    def handled(self, engine: "Engine", before: Phase, event: Event, result: tuple[Command, ...]) -> None:
        if isinstance(event, events.Retracted):
            self._in_debt.discard(engine)
        for command in result:
            match command:
                case commands.StoreCheckpoint(state=state) if before in (Phase.LISTING, Phase.LOADING):
                    self._starts_from(engine, state)
                case commands.Enumerate() | commands.RunUnit():
                    self._require_no_debt(engine, command)
                case commands.EndPipeline(outcome=Outcome.FINISHED):
                    self._require_no_debt(engine, command)

    def _require_no_debt(self, engine: "Engine", command: Command) -> None:
        self.require(engine not in self._in_debt, f"{command} before the rows were taken back")

    def _starts_from(self, engine: "Engine", state: PipelineState) -> None:
        listed = {info.ref: info for info in engine.listed}
        latest, request = max(listed, default=None), engine.request
        if state.base in self._owing or (state.base != latest and request.rewind is Rewind.RETRACTED):
            self._owing.add(state.ref)
            self._in_debt.add(engine)
        if state.base == latest:
            return
        base, asked = state.base, request.ref
        self.require(base is not None and asked is not None, f"{state.ref} starts from {base}, and {latest} is there")
        assert base is not None
        assert asked is not None
        own_savepoint = CheckpointRef(asked.epoch, asked.checkpoint_id + 1)
        self.require(base in (asked, own_savepoint), f"{state.ref} starts from {base}, and {asked} was asked for")
        self.require(request.rewind is not Rewind.REFUSED, f"{state.ref} goes back to {base}, which was refused")
        self.require(base in live_by_hand(listed), f"{state.ref} goes back to {base}, which is void")
        done = [ref for ref in listed if ref.epoch >= (request.since or 0)]
        self.require(not done, f"{state.ref} goes back to {base} again, and {done} is there")


class FailuresStayApart(Invariant):
    """R15, as far as the protocol can see: a unit that fails is tried again alone, at most as often as the limit says,
    and nothing of its pipeline is thrown away for a failure that may pass."""

    rule = "R15"

    def handled(self, engine: "Engine", before: Phase, event: Event, result: tuple[Command, ...]) -> None:
        most = self.world.scenario.limits.unit_retries + 1
        for command in result:
            if isinstance(command, commands.RunUnit):
                attempt = command.attempt
                self.require(attempt.number <= most, f"unit {attempt.unit.number} runs {attempt.number} times")
        at_once = not self.world.scenario.delayed_messages
        if at_once and isinstance(event, events.UnitFailed) and event.failure.retryable and event.attempt.number < most:
            ended = any(isinstance(command, commands.EndPipeline) for command in result)
            self.require(not ended, "a failure that may pass ended the pipeline")


class CheckpointsEnd(Invariant):
    """Pending checkpoints are bounded, their timeout is armed before the barrier, and none waits for ever."""

    rule = "checkpoints"
    LATE_MS = 60
    """So late may a timer be, with the time that a message takes."""

    def __init__(self, world: "World") -> None:
        super().__init__(world)
        self._pending: dict[Engine, dict[int, int]] = {}

    def handled(self, engine: "Engine", before: Phase, event: Event, result: tuple[Command, ...]) -> None:
        pending = self._pending.setdefault(engine, {})
        policy = self.world.scenario.policy
        armed = set()
        for command in result:
            match command:
                case commands.SetTimer(key=key):
                    armed.add(key)
                case commands.CheckpointTriggered(checkpoint_id=checkpoint_id):
                    self.require(f"expire:{checkpoint_id}" in armed, f"checkpoint {checkpoint_id} has no timeout")
                    pending[checkpoint_id] = self.world.clock.now_ms
                case commands.CheckpointCompleted(checkpoint_id=checkpoint_id):
                    del pending[checkpoint_id]
                case commands.CheckpointAborted(checkpoint_id=checkpoint_id):
                    del pending[checkpoint_id]
        self.require(len(pending) <= policy.max_concurrent, f"{len(pending)} checkpoints are pending")
        if armed:
            self.require(len(pending) == engine.progress().pending, "a pending checkpoint was forgotten")
        for checkpoint_id, since_ms in pending.items():
            age_ms = self.world.clock.now_ms - max(since_ms, engine.paused_until_ms)
            self.require(
                age_ms <= policy.timeout_ms + self.LATE_MS, f"checkpoint {checkpoint_id} waits for {age_ms} ms"
            )


class TheTableHolds(Invariant):
    """Every step that an engine makes stands in the transition table."""

    rule = "transitions"

    def __init__(self, world: "World") -> None:
        super().__init__(world)
        self.taken: set[tuple[Phase, str, Phase]] = set()
        """The ways that were taken: from, by, to."""

    def handled(self, engine: "Engine", before: Phase, event: Event, result: tuple[Command, ...]) -> None:
        if self.world.scenario.delayed_messages:
            return
        legal = targets(before, type(event))
        after = engine.protocol.phase
        self.taken.add((before, type(event).__name__, after))
        self.require(after in legal, f"{type(event).__name__} leads from {before} to {after}; the table says {legal}")
        ends = [command for command in result if isinstance(command, commands.EndPipeline)]
        self.require(not ends or result[-1] is ends[0], "EndPipeline is not the last command")


def all_invariants(world: "World") -> tuple[Invariant, ...]:
    """One object per rule."""
    from tests.checkpoint.simulation.retained import RetentionIsExact
    from tests.checkpoint.simulation.watch import DeadCheckpointersShow

    return tuple(
        invariant(world)
        for invariant in (
            CompleteCut,
            BoundedUncommitted,
            BarriersPass,
            SavepointsStandAlone,
            OrderOfTheStart,
            IdsGrow,
            StoredBeforeCommitted,
            ZombiesAreHarmless,
            FinishedStaysFinished,
            EveryRowOnce,
            SweepsKeepWhatIsNamed,
            FrozenEnumerations,
            OrderIsKept,
            ResultsAreClaims,
            GoingBack,
            FailuresStayApart,
            CheckpointsEnd,
            DeadCheckpointersShow,
            RetentionIsExact,
            TheTableHolds,
        )
    )
