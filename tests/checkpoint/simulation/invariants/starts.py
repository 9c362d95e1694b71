"""Rules of an engine's life: the order of its start, whom it shuts out, from where it may go on, and its end."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.commands import Command, Outcome
from seatunnel_core.checkpoint.decisions.base import Rewind
from seatunnel_core.checkpoint.events import Event
from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.checkpoint.transitions import Phase, targets
from seatunnel_core.work.committable import Committable
from seatunnel_storage_api.state import CheckpointRef, CheckpointType, PipelineState
from tests.checkpoint.simulation.invariants.invariant import Invariant, live_by_hand, stores, understood

if TYPE_CHECKING:
    from tests.checkpoint.simulation.engine import Engine
    from tests.checkpoint.simulation.target import Published, StagedThing, StagingKey
    from tests.checkpoint.simulation.world import World


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
                Phase.RUNNING, Phase.STOPPING, Phase.FINISHING, Phase.COMPLETING, Phase.CLEANING, Phase.ENDED,
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


class TargetsAreRecognised(Invariant):
    """R8: a target that an epoch has prepared is never prepared as a new one. The start names the newest epoch that did
    it, as far as the base knows, so that a target which shows nothing of that epoch is refused; and the tables to which
    rows of the base were published, so that none of them is created again."""

    rule = "R8"

    def __init__(self, world: "World") -> None:
        super().__init__(world)
        self._prepared: set[int] = set()
        self._restored: dict[Engine, VertexStates] = {}
        self._told: set[str] = set()
        """Sinks of which a start was told that their save mode has acted, or that their options have changed."""

    def handled(self, engine: "Engine", before: Phase, event: Event, result: tuple[Command, ...]) -> None:
        if isinstance(event, events.SinksPrepared):
            self._prepared.add(engine.epoch or 0)
        self._told |= {*engine.request.saved, *engine.request.changed_bindings}
        for command in result:
            if isinstance(command, commands.StoreCheckpoint):
                self._restored.setdefault(engine, understood(command.state.states))
            if not isinstance(command, commands.PrepareSinks):
                continue
            for name, state in self._restored[engine].sinks.items():
                if state.rows_committed and name not in engine.request.changed_targets:
                    tables = command.published_to.get(name, {})
                    self.require(bool(tables), f"nothing says to which table rows of {name!r} were published")
            for sink in (each.name for each in self.world.scenario.topology.sinks):
                known = command.prepared_in.get(sink, 0)
                if known:
                    self.require(known in self._prepared, f"epoch {known} has not prepared the target of {sink!r}")
                    self.require(known < command.epoch, f"epoch {known} is not before {command.epoch}")
                elif sink not in self._told:
                    pending = sink in command.save_mode_pending
                    self.require(pending, f"the target of {sink!r} is prepared as if no epoch had done so")


class ZombiesAreHarmless(Invariant):
    """R6: what a stale engine publishes is contained in the base of the newest one, and what it stores is orphaned."""

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


class GoingBack(Invariant):
    """R10: nobody goes back unasked or to what is orphaned, and rows are taken back before any unit runs, in every
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
        self.require(base in live_by_hand(listed), f"{state.ref} goes back to {base}, which is orphaned")
        done = [ref for ref in listed if ref.epoch >= (request.since or 0)]
        self.require(not done, f"{state.ref} goes back to {base} again, and {done} is there")


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
