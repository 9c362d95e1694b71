"""Rules of checkpoints: a complete cut, barriers that pass, ids that grow, savepoints, and an end for each."""

from collections import Counter
from typing import TYPE_CHECKING

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.commands import Command
from seatunnel_core.checkpoint.events import Event
from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.checkpoint.transitions import Phase
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.split import Split
from seatunnel_storage_api.state import CheckpointRef, CheckpointType, PipelineState
from tests.checkpoint.simulation.invariants.invariant import Invariant, ViolationError, named, stores, understood

if TYPE_CHECKING:
    from tests.checkpoint.simulation.engine import Engine
    from tests.checkpoint.simulation.target import Published, Row, StagingKey
    from tests.checkpoint.simulation.world import World


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


class FactsHaveOnePlace(Invariant):
    """R17: in the state of a checkpoint each fact of a split that was emitted is in one place: still to be reported, as
    the split is in flight; held back with its unit; kept by the task; or part of the cursor."""

    rule = "R17"

    def handled(self, engine: "Engine", before: Phase, event: Event, result: tuple[Command, ...]) -> None:
        for state in stores(result):
            states = understood(state.states)
            for name in self.world.scenario.reporting:
                self._require_one_place(state.ref, states, name)

    def _require_one_place(self, ref: CheckpointRef, states: VertexStates, name: str) -> None:
        source, task = states.sources[name], states.tasks[name]
        facts = [*task.facts, *(fact for held in task.units for fact in held.facts)]
        in_flight = [split.index for held in task.units if held.committables is None for split in held.unit.splits]
        places = Counter([*(source.memory or {}).get("known", ()), *(fact["split"] for fact in facts), *in_flight])
        found = sorted(places.elements())
        self.require(
            found == [*range(source.cursor)],
            f"checkpoint {ref}: {source.cursor} splits of {name!r} were emitted, and there are facts of {found}",
        )


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
