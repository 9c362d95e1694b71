"""Rules of rows on their way: each once, committed after it is stored, swept by nobody who may not, in its order."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.commands import Command
from seatunnel_core.checkpoint.decisions.base import Rewind
from seatunnel_core.checkpoint.events import Event
from seatunnel_core.checkpoint.state.topology import SourceSpec
from seatunnel_core.checkpoint.transitions import Phase
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.split import Split
from seatunnel_core.work.unit import UnitAttempt
from seatunnel_storage_api.state import CheckpointType, PipelineState
from tests.checkpoint.simulation.invariants.invariant import Invariant, live_by_hand, named, stores, understood

if TYPE_CHECKING:
    from tests.checkpoint.simulation.engine import Engine
    from tests.checkpoint.simulation.target import Published, Row, StagedThing, StagingKey
    from tests.checkpoint.simulation.world import World


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


class CompletesWithEveryRow(Invariant):
    """R16: sinks complete when every row is published and the completed point is durable and fenced. A pipeline
    finishes only after that, and one that died in between completes at its next start."""

    rule = "R16"

    def __init__(self, world: "World") -> None:
        super().__init__(world)
        self._final: set[int] = set()
        """Epochs whose completed point was stored, with no newer marker seen."""

        self._completed: set[int] = set()

    def looked_clean(self, engine: "Engine", state: PipelineState) -> None:
        if state.checkpoint_type is CheckpointType.COMPLETED_POINT:
            self._final.add(state.epoch)

    def completed(self, engine: "Engine") -> None:
        missing = self.world.expected_rows() - Counter(self.world.published_rows())
        self.require(not missing, f"epoch {engine.epoch} completes without {sorted(missing)}")
        self._completed.add(engine.epoch or 0)

    def handled(self, engine: "Engine", before: Phase, event: Event, result: tuple[Command, ...]) -> None:
        for command in result:
            if isinstance(command, commands.Complete):
                self.require(engine.epoch in self._final, "Complete before the completed point was stored and fenced")
            elif isinstance(command, commands.EndPipeline) and command.outcome is commands.Outcome.FINISHED:
                self.require(engine.epoch in self._completed, f"epoch {engine.epoch} finished and never completed")


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
    """R13: what an ordered source gives reaches a sink in the order of its splits, except for those that commute."""

    rule = "R13"

    def __init__(self, world: "World") -> None:
        super().__init__(world)
        self._ordered = {spec.name for spec in world.scenario.topology.sources if spec.ordered}
        self._keyed: set[str] = set()
        self._keys: dict[tuple[str, int], str | None] = {}
        """By enumeration and index: the ordering keys of splits."""

        self._last: dict[tuple[str, str], dict[str | None, int]] = {}
        """By sink and source: of each ordering key, the split that was published last."""

    def put(self, engine: "Engine", state: PipelineState) -> None:
        self._keyed.update(spec.name for spec in self.world.scenario.topology.sources if spec.keyed)
        if state.epoch in self.world.rewinds:
            self._last.clear()

    def handled(self, engine: "Engine", before: Phase, event: Event, result: tuple[Command, ...]) -> None:
        if isinstance(event, events.Enumerated | events.Found):
            self._keys.update({(split.body["enumeration"], split.index): split.ordering_key for split in event.splits})

    def published(self, engine: "Engine", sink: str, committable: Committable, publication: "Published | None") -> None:
        if self.world.is_of_the_past(engine):
            return
        rows = publication.rows if publication and committable.source in self._ordered else ()
        for enumeration, source, index in rows:
            key = self._keys[enumeration, index] if source in self._keyed else None
            known = self._last.setdefault((sink, source), {})
            last = max((known[each] for each in known if each == key or None in (each, key)), default=-1)
            self.require(index > last, f"split {index} of {source!r} reaches {sink!r} after split {last}")
            known[key] = index


class UnitsTakeTurns(Invariant):
    """R13, where a sink writes directly: a unit of an ordered source begins when each older split has a result that was
    accepted, unless the two have different ordering keys; so what older units write never lands on what newer ones
    wrote."""

    rule = "R13"

    def __init__(self, world: "World") -> None:
        super().__init__(world)
        self._written: dict[tuple[int, str], set[int]] = {}
        """By epoch and source: the splits that are not written any more."""

        self._keys: dict[tuple[int, str, int], str | None] = {}
        """By epoch, source and split: the ordering keys."""

        self._awaited: dict[tuple[int, str, int], UnitAttempt] = {}
        """By epoch, source and unit: the attempts whose result is awaited."""

    def put(self, engine: "Engine", state: PipelineState) -> None:
        """A start writes again what was in flight, finished or not."""
        if state.checkpoint_type is not CheckpointType.RESTORE_POINT:
            return
        states = understood(state.states)
        for name in states.sources:
            source, in_flight = states.sources[name], states.unread(name, ())
            self._learn(state.epoch, name, in_flight)
            again = {split.index for split in in_flight}
            self._written[state.epoch, name] = {*range(source.cursor)} - again

    def handled(self, engine: "Engine", before: Phase, event: Event, result: tuple[Command, ...]) -> None:
        epoch = engine.epoch or 0
        if isinstance(event, events.Enumerated | events.Found):
            self._learn(epoch, event.source, event.splits)
        if isinstance(event, events.UnitFinished | events.UnitFailed):
            unit = epoch, event.task, event.attempt.unit
            if unit in self._awaited and self._awaited[unit].id == event.attempt:
                splits = self._awaited.pop(unit).unit.splits
                if isinstance(event, events.UnitFinished):
                    self._written[unit[:2]].update(split.index for split in splits)
        for command in result:
            if isinstance(command, commands.RunUnit):
                spec = engine.protocol._tasks[command.task].spec
                if spec.serial:
                    self._begins(epoch, spec, command.attempt)

    def _begins(self, epoch: int, spec: SourceSpec, attempt: UnitAttempt) -> None:
        source = spec.name
        written, own = self._written[epoch, source], {split.index for split in attempt.unit.splits}
        self.require(not own & written, f"{attempt.id} of {source!r} begins, and has a result that was accepted")
        for split in attempt.unit.splits:
            older = {*range(split.index)} - written - own
            missing = {index for index in older if not self._commute(epoch, spec, index, split)}
            self.require(not missing, f"{attempt.id} of {source!r} begins before splits {missing} are written")
        self._awaited[epoch, source, attempt.unit.number] = attempt

    def _learn(self, epoch: int, source: str, splits: Iterable[Split]) -> None:
        self._keys.update({(epoch, source, split.index): split.ordering_key for split in splits})

    def _commute(self, epoch: int, spec: SourceSpec, index: int, split: Split) -> bool:
        keys = {self._keys[epoch, spec.name, index], split.ordering_key}
        return spec.keyed and len(keys) == 2 and None not in keys


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
