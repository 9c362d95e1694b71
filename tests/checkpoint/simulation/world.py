"""One run: engines that come and go, and everything that outlives them."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from seatunnel_core.checkpoint.commands import (
    CheckpointTriggered,
    Command,
    Outcome,
    Poll,
    SavepointCompleted,
    StoreCheckpoint,
)
from seatunnel_core.checkpoint.decisions.base import RestoreRequest, Rewind
from seatunnel_core.checkpoint.errors import RestoreRefusedError
from seatunnel_core.checkpoint.events import (
    CheckpointsListed,
    Event,
    SavepointRequested,
    Started,
    StopRequested,
    TimerFired,
    TriggerRequested,
)
from seatunnel_core.checkpoint.transitions import Phase
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.split import Split
from seatunnel_storage_api.state import CheckpointRef, CheckpointType, PipelineState
from tests.checkpoint.simulation.clock import VirtualClock
from tests.checkpoint.simulation.engine import Engine
from tests.checkpoint.simulation.invariants.every import all_invariants
from tests.checkpoint.simulation.invariants.invariant import Invariant, ViolationError, listeners, understood
from tests.checkpoint.simulation.scenario import Scenario, draw
from tests.checkpoint.simulation.storage import ModelStorage
from tests.checkpoint.simulation.target import MissingError, ModelTarget, Published, Row, StagedThing, StagingKey

PATIENCE_MS = 120_000
"""With nothing broken any more, a pipeline of this size ends long before."""

MOST_STEPS = 60_000
COUNTED = (
    "epochs", "crashes", "checkpoints", "publications", "fenced", "stopped",
    "savepoints", "rewinds", "retracted", "lost", "refused",
)  # fmt: skip
"""What a run counts."""


class World:
    """Plays a scenario to its end: faults come first, then everything works and the pipeline has to finish."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.rng = random.Random(scenario.seed * 7 + 1)
        self.clock = VirtualClock(self.rng)
        self.storage = ModelStorage(scenario.retained)
        self.target = ModelTarget()
        self.engines: list[Engine] = []
        self.invariants: tuple[Invariant, ...] = all_invariants(self)
        self._listeners = listeners(self.invariants)
        self.trace: list[tuple[int, str, Any]] = []
        self.counts = dict.fromkeys(COUNTED, 0)
        self.rewinds: dict[int, Rewind] = {}
        """By epoch: the starts that went back, and what was to become of the rows."""

        self.looks = True
        """Whether a store looks at the markers; a test of the simulation itself turns it off."""

        self.loses = False
        """Whether a user removes the newest checkpoints after the first crash."""

        self.lost: dict[CheckpointRef, PipelineState] = {}
        """The checkpoints that were removed, until the user puts them back."""

        self.last_sweep_listed_ms = 0
        self.finished: Engine | None = None
        self._outlived: set[Engine] = set()
        """Who finished after somebody went back: another engine does it all again."""

        self._disturbances = list(scenario.faults.disturbances)
        self._to_rewind = list(scenario.rewinds)
        self._numbers = 0
        self._processes = 0
        self._looked_at = 0
        """How many publications there were when somebody last looked whether all is published."""

    # ---- The run. ----

    def run(self) -> None:
        """Play to the end.

        Raises:
            ViolationError: an invariant does not hold, or the pipeline does not end.
        """
        self.start_process()
        while self.finished is None or self._second_visit():
            self._disturb()
            if not self.clock.step():
                raise ViolationError("liveness", "nothing happens any more, and the pipeline has not ended")
            if self.clock.steps > MOST_STEPS or self.clock.now_ms > self.scenario.faults.until_ms + PATIENCE_MS:
                raise ViolationError("liveness", f"the pipeline has not ended after {self.clock.now_ms} ms")
            self._replace_the_dead()
        self._tell("at_end")

    @property
    def faults_are_on(self) -> bool:
        return self.clock.now_ms < self.scenario.faults.until_ms

    def _second_visit(self) -> bool:
        """Some runs are started once more after they have finished: nothing may move, and they finish again (R7); or
        somebody goes back, and they finish again."""
        mode = self.scenario.rewind_at_the_end
        if self.finished is None or (self.scenario.seed % 4 and mode is None):
            return False
        if self._has_finished(self.engines[-1]) and len(self.finished_engines) == 1:
            self.start_process(self._request(mode) if mode is not None else None)
        return len(self.finished_engines) < 2

    @property
    def finished_engines(self) -> list[Engine]:
        return [engine for engine in self.engines if self._has_finished(engine)]

    def _has_finished(self, engine: Engine) -> bool:
        return self._is_through(engine) and engine not in self._outlived

    @staticmethod
    def _is_through(engine: Engine) -> bool:
        """Whether it finished; of what never ends by itself, whether it was drained when all was published."""
        return engine.outcome is Outcome.FINISHED or (engine.outcome is Outcome.STOPPED and engine.drained)

    def is_of_the_past(self, engine: Engine) -> bool:
        """Whether a newer start stands in a run in which somebody went back: what such an engine publishes is swept or
        taken back, or named by the base, and then the newer one finds it; what it finishes may be undone."""
        newest = max((ref.epoch for ref in self.storage.checkpoints), default=0)
        return bool(self.rewinds) and (engine.epoch or 0) < newest

    def start_process(self, request: RestoreRequest | None = None) -> Engine:
        self._processes += 1
        first = self._processes * 1_000
        asked = (request or RestoreRequest()).of_process(since=first, is_restored=self._processes > 1)
        return self._start(first, f"process {self._processes}", asked)

    def _start(self, epoch_minimum: int, name: str, request: RestoreRequest) -> Engine:
        engine = Engine(self, epoch_minimum=epoch_minimum, name=name, request=request)
        self.engines.append(engine)
        engine.answer(lambda now_ms: Started(now_ms=now_ms))
        if self.scenario.delayed_messages:
            self._pump(engine)
        return engine

    def _pump(self, engine: Engine) -> None:
        """Withheld messages need an event to be delivered with."""
        if engine.dead or engine.outcome is not None:
            return
        if engine.wiring.ready:
            engine.later(lambda: engine.tell(TimerFired(now_ms=self.clock.now_ms, key="")))
        self.clock.after(7, lambda: self._pump(engine))

    def _request(self, mode: Rewind) -> RestoreRequest:
        """Go back to something that is stored, live or orphaned."""
        refs = sorted(self.storage.checkpoints) or [CheckpointRef(1, 1)]
        return RestoreRequest(ref=self.rng.choice(refs), rewind=mode)

    def _go_back(self, mode: Rewind) -> None:
        """A person starts the job from an older checkpoint; perhaps the engine before still runs."""
        engine = self.engines[-1]
        if self.rng.random() < 0.6 and engine.outcome is None and not engine.dead:
            self.kill(engine)
        self.start_process(self._request(mode))

    def kill(self, engine: Engine) -> None:
        engine.dead = True
        self.counts["crashes"] += 1
        self.note(engine, "--- crash ---")

    def _drain_what_never_ends(self) -> None:
        """Nobody but a person ends it; here, when all of its rows are published."""
        if self.scenario.bounded or (self.counts["publications"] == self._looked_at and self.clock.steps % 50):
            return
        self._looked_at = self.counts["publications"]
        running = [each for each in self.engines if each.protocol.phase is Phase.RUNNING and not each.dead]
        if not running or not self._is_all_enumerated() or self.expected_rows() - Counter(self.published_rows()):
            return
        for engine in running:
            if not engine.drained:
                engine.drained = True
                self.ask_for_savepoint(engine, stop=False, drain=True)

    def _is_all_enumerated(self) -> bool:
        latest = understood(self.storage.checkpoints[max(self.storage.checkpoints)].states)
        return all(source.attachment is not None for source in latest.sources.values())

    def _disturb(self) -> None:
        self._drain_what_never_ends()
        while self._to_rewind and self._to_rewind[0][0] <= self.clock.steps:
            self._go_back(self._to_rewind.pop(0)[1])
        while self._disturbances and self._disturbances[0][0] <= self.clock.steps:
            _, kind = self._disturbances.pop(0)
            engine = self.engines[-1]
            if engine.outcome is not None or engine.dead:
                continue
            self.note(engine, f"--- {kind} ---")
            if kind == "crash":
                engine.dead = True
                self.counts["crashes"] += 1
                self._lose_checkpoints()
            elif kind == "pause":
                engine.paused_until_ms = self.clock.now_ms + self.rng.choice([20, 300, 3_000])
                self.start_process()
            elif kind == "rival":
                self.start_process()
            elif kind == "stop":
                engine.answer(lambda now_ms, e=engine: StopRequested(now_ms=now_ms))  # type: ignore[misc]
            elif engine.protocol.phase is Phase.CREATED:
                continue
            elif kind in ("savepoint", "savepoint and stop", "drain"):
                self.ask_for_savepoint(engine, stop=kind == "savepoint and stop", drain=kind == "drain")
            else:
                self.deliver(
                    engine, TriggerRequested(now_ms=self.clock.now_ms, checkpoint_type=CheckpointType.CHECKPOINT)
                )

    def _lose_checkpoints(self) -> None:
        """Remove the newest checkpoints, as a user may do by mistake, or a copy of the storage that is restored."""
        stored = sorted(self.storage.checkpoints)
        if not self.loses or self.lost or not stored:
            return
        number = self.rng.randint(1, len(stored))
        self.lost = {ref: self.storage.checkpoints.pop(ref) for ref in stored[-number:]}
        self.counts["lost"] += number

    def _put_back(self) -> None:
        """A start was refused: the user puts the checkpoints back."""
        self.storage.checkpoints.update(self.lost)
        self.counts["refused"] += 1

    def ask_for_savepoint(self, engine: Engine, *, stop: bool, drain: bool) -> None:
        name = f"savepoint {self.next_number()}"
        self.deliver(engine, SavepointRequested(now_ms=self.clock.now_ms, name=name, stop=stop, drain=drain))

    def _replace_the_dead(self) -> None:
        """What people and supervisors do: what crashed, stopped or failed starts again, here or in a new process."""
        engine = self.engines[-1]
        if self._has_finished(engine) or not (engine.dead or engine.outcome is not None):
            return
        if engine.outcome is Outcome.FENCED and any(
            other.outcome is None and not other.dead for other in self.engines if other is not engine
        ):
            return
        if engine.failure is not None and engine.failure.code == RestoreRefusedError.code and self.lost:
            self._put_back()
        if engine.outcome is Outcome.FAILED and self.rng.random() < 0.5:
            minimum = (engine.epoch or self._processes * 1_000) + 1
            engine.successor = self._start(minimum, f"{engine.name}, again", engine.request)
        else:
            self.start_process()

    # ---- What engines do to the world; invariants watch. ----

    def deliver(self, engine: Engine, event: Event) -> None:
        before = engine.protocol.phase
        if not isinstance(event, TimerFired) or event.key:
            self.note(engine, event)
        if isinstance(event, CheckpointsListed):
            engine.listed = event.checkpoints
        result = engine.hears(event)
        self._look_for_rewind(engine, before, result)
        for command in result:
            self.note(engine, command)
            self.counts["checkpoints"] += isinstance(command, CheckpointTriggered)
            self.counts["savepoints"] += isinstance(command, SavepointCompleted)
        for handled in self._listeners["handled"]:
            handled(engine, before, event, result)
        for command in result:
            engine.carry_out(command)
        if engine.outcome is not None:
            self.counts["fenced"] += engine.outcome is Outcome.FENCED
            self.counts["stopped"] += engine.outcome is Outcome.STOPPED
            if self._is_through(engine) and self.is_of_the_past(engine):
                self._outlived.add(engine)
            elif self._is_through(engine) and self.finished is None:
                self.finished = engine

    def _look_for_rewind(self, engine: Engine, before: Phase, result: tuple[Command, ...]) -> None:
        """A start goes back when its base is not the latest that it saw."""
        if before not in (Phase.LISTING, Phase.LOADING):
            return
        latest = max((info.ref for info in engine.listed), default=None)
        for command in result:
            if isinstance(command, StoreCheckpoint) and command.state.base != latest:
                self.rewinds[command.state.epoch] = engine.request.rewind
                self.counts["rewinds"] += 1

    def claimed(self, engine: Engine, epoch: int) -> None:
        self.counts["epochs"] += 1
        self.note(engine, f"claims epoch {epoch}")

    def put(self, engine: Engine, state: PipelineState) -> None:
        self.note(engine, f"put {state.ref} ({state.checkpoint_type.value}) lands")
        self._tell("put", engine, state)

    def looked_clean(self, engine: Engine, state: PipelineState) -> None:
        self._tell("looked_clean", engine, state)

    def prune(self, refs: frozenset[CheckpointRef], epochs: frozenset[int]) -> None:
        self._tell("removed", refs)
        self.storage.remove(refs, epochs)

    def is_pruned(self, _engine: Engine) -> bool:
        """Whether what a store was to remove is removed when it answers."""
        return True

    def stage(self, key: StagingKey, thing: StagedThing) -> None:
        if key in self.target.staged or key in self.target.consumed:
            raise ViolationError("R8", f"{key} is staged twice")
        self.target.staged[key] = thing

    def publish(self, engine: Engine, sink: str, committable: Committable, *, may_be_committed: bool) -> None:
        assert engine.epoch is not None
        publication = self.target.publish(sink, committable, may_be_committed=may_be_committed, by_epoch=engine.epoch)
        self.note(engine, f"publishes {sink} {committable.id}" if publication else f"finds {committable.id} published")
        self.counts["publications"] += publication is not None
        self._tell("published", engine, sink, committable, publication)

    def missed(self, engine: Engine, error: MissingError) -> None:
        """Only a stale engine may find that what it is to publish first is gone: the newer one took it."""
        if engine.epoch == max(self.storage.epochs):
            raise ViolationError("R8", str(error))

    def save_mode(self, engine: Engine, sink: str, deleted: tuple[Published, ...]) -> None:
        self._tell("save_mode", engine, sink, deleted)

    def sweep(self, engine: Engine, keys: frozenset[StagingKey]) -> None:
        things = {key: self.target.staged[key] for key in keys if key in self.target.staged}
        self._tell("swept", engine, things)
        self.target.remove(keys)

    def complete(self, engine: Engine) -> None:
        self.note(engine, "completes")
        self._tell("completed", engine)

    def take_back(self, engine: Engine, publication: Published) -> None:
        if self.target.take_back(publication):
            self.note(engine, f"takes back {publication.key}")
            self.counts["retracted"] += 1
            self._tell("taken_back", engine, publication)

    def _tell(self, hook: str, *what: Any) -> None:
        for listener in self._listeners[hook]:
            listener(*what)

    # ---- The source. ----

    def freeze(self, source: str) -> str:
        """Enumerate, and write the result once. A later enumeration of the same source finds something else (R12)."""
        name = f"{source}-{self.next_number()}"
        sinks = next(spec.sinks for spec in self.scenario.topology.sources if spec.name == source)
        count = self.scenario.splits[source]
        if count:
            count += self.rng.randint(0, 2)
        ordering_key = ordering_keys(self.scenario.seed, name)
        self.storage.attachments[name] = tuple(
            Split(
                index=index,
                weight_bytes=self.rng.randint(1, 15),
                rows=self.rng.randint(1, 10),
                body={"enumeration": name, "filtered": [sink for sink in sinks if self.rng.random() < 0.1]},
                ordering_key=ordering_key(),
            )
            for index in range(count)
        )
        return name

    def at_first(self, source: str, attachment: str) -> tuple[Split, ...]:
        """What a source is enumerated with: all of it; of one that never ends, the first third."""
        splits = self.storage.attachments[attachment]
        bounded = next(spec.bounded for spec in self.scenario.topology.sources if spec.name == source)
        return splits if bounded else splits[: len(splits) // 3]

    def looked(self, command: Poll, given: int) -> None:
        """R12: what was found and what is remembered of it are of one cut, or something is left out or read twice."""
        if command.next_index != given:
            raise ViolationError(
                "R12", f"{command.source} looks for split {command.next_index}, and remembers that {given} were found"
            )

    def row_of(self, source: str, split: Split) -> Row:
        return (split.body["enumeration"], source, split.index)

    def is_owed(self, sink: str, row: Row) -> bool:
        """Whether a sink gets a row: here the sinks never change."""
        return True

    def may_be_there(self) -> Counter[tuple[str, Row]]:
        """Rows that are there or not."""
        return Counter()

    def known_as(self, sink: str) -> str:
        """What a sink was called first."""
        return sink

    def expected_rows(self) -> Counter[tuple[str, Row]]:
        """What the sinks must hold in the end, by the enumerations that the latest state names."""
        latest = understood(self.storage.checkpoints[max(self.storage.checkpoints)].states)
        return Counter(
            (sink, self.row_of(spec.name, split))
            for spec in self.scenario.topology.sources
            for split in self.storage.attachments.get(latest.sources[spec.name].attachment or "", ())
            for sink in spec.sinks
            if sink not in split.body["filtered"]
        )

    def published_rows(self) -> Iterator[tuple[str, Row]]:
        for publication in self.target.published:
            for row in publication.rows:
                yield publication.key.sink, row

    def next_number(self) -> int:
        self._numbers += 1
        return self._numbers

    # ---- For people. ----

    def note(self, engine: Engine, what: Any) -> None:
        self.trace.append((self.clock.now_ms, f"{engine.name} (epoch {engine.epoch})", what))

    def story(self, most: int = 200) -> str:
        """The last steps of the run, readable."""
        return "\n".join(f"{at_ms:>8} ms  {who:<28} {what}" for at_ms, who, what in self.trace[-most:])


def ordering_keys(*of: object) -> Callable[[], str | None]:
    """One to four keys for the splits of a source, in any order, and none for some of them."""
    rng = random.Random(repr(of))
    keys = "abcd"[: rng.randint(1, 4)]
    return lambda: None if rng.random() < 0.15 else rng.choice(keys)


def play(seed: int, prepare: Callable[[World], None] | None = None) -> World:
    """Play one seed.

    Raises:
        ViolationError: with the seed, the scenario, the story and how to play it again.
    """
    world = World(draw(seed))
    if prepare is not None:
        prepare(world)
    try:
        world.run()
    except Exception as error:
        rule = error.rule if isinstance(error, ViolationError) else type(error).__name__
        raise ViolationError(
            rule,
            f"{error}\n\n{world.scenario}\n{world.scenario.faults}\n\n{world.story()}\n\nseed {seed}: {error}\n"
            f"play it again: python -m tests.checkpoint.simulation --seed {seed}",
        ) from error
    return world
