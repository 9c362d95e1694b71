"""A driver process: the real protocol, with everything that it asks for carried out by models, late and unreliably."""

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.commands import Command, Outcome
from seatunnel_core.checkpoint.decisions.base import RestoreRequest
from seatunnel_core.checkpoint.events import Event
from seatunnel_core.checkpoint.pipeline import PipelineProtocol
from seatunnel_core.checkpoint.progress import PipelineProgress
from seatunnel_core.checkpoint.transitions import Phase
from seatunnel_core.checkpoint.vertices.wiring import Channel, Wiring
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.failure import Failure, FailureKind
from seatunnel_core.work.split import Split
from seatunnel_core.work.unit import AttemptId
from seatunnel_storage_api.state import CheckpointInfo, CheckpointType
from tests.checkpoint.simulation.target import MissingError, Published, StagedThing, StagingKey

if TYPE_CHECKING:
    from tests.checkpoint.simulation.world import World


class DelayingWiring(Wiring):
    """Delivers some messages now and some with a later event, channels in a random order. Each channel stays FIFO."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__()
        self._rng = rng

    def deliver(self) -> None:
        while self.ready and self._rng.random() > 0.1:
            channel: Channel = self.ready[self._rng.randrange(len(self.ready))]
            self.ready.remove(channel)
            channel.deliver_one()


class Engine:
    """One start of the pipeline in one process.

    Everything that it does takes time and goes through ``later``: a crash drops it, a pause holds it back. What is
    already on its way to a storage, a target or Spark may still happen after the crash.
    """

    def __init__(self, world: "World", *, epoch_minimum: int, name: str, request: RestoreRequest) -> None:
        self.world = world
        self.rng = world.rng
        self.name = name
        self.request = request
        self.listed: tuple[CheckpointInfo, ...] = ()
        """What it saw when it chose its base."""

        self.dead = False
        self.paused_until_ms = 0
        self.outcome: Outcome | None = None
        self.failure: Failure | None = None
        self.successor: Engine | None = None
        """The next start in the same process: late results of units reach it too (R14)."""

        scenario = world.scenario
        self.wiring = DelayingWiring(self.rng) if scenario.delayed_messages else Wiring()
        self.protocol = PipelineProtocol(
            job_id="job",
            pipeline_id=1,
            epoch_minimum=epoch_minimum,
            topology=scenario.topology,
            policy=scenario.policy,
            limits=scenario.limits,
            restore=request,
            wiring=self.wiring,
        )
        self.epoch: int | None = None
        self.drained = False
        """Whether a person drains it, because all that it can read is published."""

        self._progress: PipelineProgress | None = None
        self._timers: dict[str, int] = {}
        self._frozen: dict[str, str] = {}
        """By source: its enumeration."""

        self._published_before: dict[str, tuple[Published, ...]] = {}
        self.running: dict[tuple[str, AttemptId], commands.RunUnit] = {}

    def progress(self) -> PipelineProgress:
        """As it stands after the event that it heard last: several invariants ask."""
        if self._progress is None:
            self._progress = self.protocol.progress()
        return self._progress

    def hears(self, event: Event) -> tuple[Command, ...]:
        self._progress = None
        return self.protocol.handle(event)

    # ---- Time. ----

    def later(self, action: Callable[[], None], *, most_ms: int = 10, outside: bool = False) -> None:
        """Do ``action`` soon. ``outside`` says that it does not need this process any more: it may happen after a
        crash, and during a pause."""
        self.world.clock.after(self.rng.randint(0, most_ms), lambda: self._do(action, outside))

    def _do(self, action: Callable[[], None], outside: bool) -> None:
        if self.dead:
            if outside and self.rng.random() < 0.5:
                action()
        elif self.world.clock.now_ms < self.paused_until_ms and not (outside and self.rng.random() < 0.5):
            wait_ms = self.paused_until_ms - self.world.clock.now_ms
            self.world.clock.after(wait_ms + self.rng.randint(0, 5), lambda: self._do(action, outside))
        else:
            action()

    def tell(self, event: Event) -> None:
        """An event reaches the protocol; its commands are begun."""
        if self.dead or self.outcome is not None:
            return
        self.world.deliver(self, event)

    def report(self, result: events.UnitFinished | events.UnitFailed) -> None:
        """A result of a unit reaches whoever runs the pipeline in this process now."""
        reader = self
        while reader.outcome is not None and reader.successor is not None:
            reader = reader.successor
        if reader.protocol.phase is not Phase.CREATED:
            reader.tell(result)

    def answer(self, make: Callable[[int], Event], *, most_ms: int = 10) -> None:
        """Tell the protocol what came out, a little later; ``make`` is given the time."""
        self.later(lambda: self.tell(make(self.world.clock.now_ms)), most_ms=most_ms)

    def chance(self, probability: float) -> bool:
        return self.world.faults_are_on and self.rng.random() < probability

    def _broken(self, what: str, kind: FailureKind = FailureKind.TRANSIENT) -> Failure:
        return Failure(kind=kind, message=f"the simulation broke {what}")

    # ---- Commands. ----

    def carry_out(self, command: Command) -> None:
        match command:
            case commands.SetTimer():
                self._set_timer(command)
            case commands.CancelTimer(key=key):
                self._timers.pop(key, None)
            case commands.ClaimEpoch():
                self._claim(command)
            case commands.ListCheckpoints():
                self._list()
            case commands.LoadCheckpoint():
                self._load(command)
            case commands.StoreCheckpoint():
                self._store(command)
            case commands.PrepareSinks():
                self._prepare(command)
            case commands.Enumerate():
                self._enumerate(command)
            case commands.Poll():
                self._look(command)
            case commands.RunUnit():
                self._run(command)
            case commands.CancelUnits():
                self.running.clear()
            case commands.Commit():
                self.later(lambda: self._publish(command, 0))
            case commands.ListPublished():
                self.later(self._list_published)
            case commands.Complete():
                self.later(self._complete)
            case commands.Sweep():
                self._sweep(command)
            case commands.Retract():
                self._retract(command)
            case commands.EndPipeline(outcome=outcome, failure=failure):
                self.outcome, self.failure = outcome, failure

    def _set_timer(self, command: commands.SetTimer) -> None:
        self._timers[command.key] = command.at_ms
        late_ms = self.rng.randint(0, 50) if self.chance(self.world.scenario.faults.late_timer) else 0

        def fire() -> None:
            if self._timers.get(command.key) == command.at_ms or late_ms:
                self.tell(events.TimerFired(now_ms=self.world.clock.now_ms, key=command.key))

        delay_ms = max(0, command.at_ms - self.world.clock.now_ms) + late_ms
        self.world.clock.after(delay_ms, lambda: self._do(fire, False))

    def _storage_failed(self, ref: object = None) -> Callable[[int], Event]:
        failure = self._broken("the storage", FailureKind.STORAGE)
        return lambda now_ms: events.StorageFailed(now_ms=now_ms, failure=failure, ref=ref)  # type: ignore[arg-type]

    def _claim(self, command: commands.ClaimEpoch) -> None:
        def claim() -> None:
            epoch = self.world.storage.claim(command.minimum)
            self.world.claimed(self, epoch)
            if self.chance(self.world.scenario.faults.storage_fails):
                self.answer(self._storage_failed())
            else:
                self.epoch = epoch
                self.answer(lambda now_ms: events.EpochClaimed(now_ms=now_ms, epoch=epoch))

        self.later(claim, outside=True)

    def _list(self) -> None:
        def read_listing() -> None:
            listing = self.world.storage.listing()
            self.answer(
                lambda now_ms: events.CheckpointsListed(
                    now_ms=now_ms, checkpoints=listing.checkpoints, newest_epoch=listing.newest_epoch
                )
            )

        self.later(read_listing)

    def _load(self, command: commands.LoadCheckpoint) -> None:
        def load() -> None:
            state = self.world.storage.checkpoints.get(command.ref)
            if state is None:
                self.answer(self._storage_failed())
            else:
                self.answer(lambda now_ms: events.CheckpointLoaded(now_ms=now_ms, state=state))

        self.later(load)

    def _store(self, command: commands.StoreCheckpoint) -> None:
        """Put, then list, then perhaps remove what is too much, then answer: each step on its own (R5)."""
        state, faults, storage = command.state, self.world.scenario.faults, self.world.storage
        if state.checkpoint_type is CheckpointType.RESTORE_POINT and not self.world.rewinds:
            for sink in self.world.scenario.topology.sinks:
                published = [each for each in self.world.target.published if each.key.sink == sink.name]
                self._published_before[sink.name] = tuple(published)

        def put() -> None:
            storage.put(state)
            self.world.put(self, state)

        def check_fence() -> None:
            if self.world.looks and storage.is_fenced(state.epoch):
                self.answer(lambda now_ms: events.FenceLost(now_ms=now_ms, message="a newer engine runs this pipeline"))
                return
            self.world.looked_clean(self, state)
            refs, epochs = storage.too_much(state.ref)

            def prune() -> None:
                self.world.prune(refs, epochs)
                self.answer(lambda now_ms: events.CheckpointStored(now_ms=now_ms, ref=state.ref))

            self.later(prune)

        def put_and_look() -> None:
            put()
            self.later(check_fence)

        stall_ms = self.rng.choice([200, 2_000, 6_000]) if self.chance(faults.storage_stalls) else 10
        if not self.chance(faults.storage_fails):
            self.later(put_and_look, most_ms=stall_ms, outside=True)
            return
        if self.rng.random() < 0.5:
            self.later(put, most_ms=stall_ms, outside=True)
        self.answer(self._storage_failed(state.ref), most_ms=stall_ms)

    def _prepare(self, command: commands.PrepareSinks) -> None:
        def prepare() -> None:
            self.world.target.prepared = max(self.world.target.prepared, command.epoch)
            for sink in sorted(command.save_mode_pending):
                self.world.save_mode(self, sink, self._published_before.get(sink, ()))
            if self.chance(self.world.scenario.faults.place_fails):
                self.answer(lambda now_ms: events.ConnectorFailed(now_ms=now_ms, failure=self._broken("a sink")))
            else:
                self.answer(lambda now_ms: events.SinksPrepared(now_ms=now_ms))

        self.later(prepare)

    def _enumerate(self, command: commands.Enumerate) -> None:
        def plan() -> None:
            if self.chance(self.world.scenario.faults.place_fails):
                self.answer(lambda now_ms: events.ConnectorFailed(now_ms=now_ms, failure=self._broken("a source")))
                return
            attachment = command.attachment or self.world.freeze(command.source)
            self._frozen[command.source] = attachment
            self.answer(
                lambda now_ms: events.Enumerated(
                    now_ms=now_ms,
                    source=command.source,
                    splits=self.world.at_first(command.source, attachment),
                    attachment=attachment,
                )
            )

        self.later(plan)

    def _look(self, command: commands.Poll) -> None:
        """A source that never ends finds some more of its splits, behind those that it remembers."""
        source, attachment = command.source, self._frozen[command.source]

        def poll() -> None:
            if self.chance(self.world.scenario.faults.place_fails):
                failure = self._broken("a look")
                self.answer(lambda now_ms: events.PollFailed(now_ms=now_ms, source=source, failure=failure))
                return
            splits = self.world.storage.attachments[attachment]
            given = command.memory.get("given", len(self.world.at_first(source, attachment)))
            self.world.looked(command, given)
            found = splits[given : given + self.rng.randint(0, 3)]
            known = sorted([*command.memory.get("known", ()), *(fact["split"] for fact in command.facts)])
            all_known = given == len(splits) == len(known) or source not in self.world.scenario.reporting
            pauses = [5, None] if given + len(found) == len(splits) and all_known else [0, 5, 50]
            again_ms, memory = self.rng.choice(pauses), {"given": given + len(found)}
            if known:
                memory["known"] = known
            self.answer(
                lambda now_ms: events.Found(
                    now_ms=now_ms, source=source, splits=found, memory=memory, again_ms=again_ms
                )
            )

        self.later(poll)

    def _list_published(self) -> None:
        """A target shows what it recorded as committed; a sweep of the newest engine forgets some of it."""
        if self.chance(self.world.scenario.faults.place_fails):
            self.answer(lambda now_ms: events.ConnectorFailed(now_ms=now_ms, failure=self._broken("a target")))
            return
        published = {
            sink.name: frozenset(each for named, each in self.world.target.recorded if named == sink.name)
            for sink in self.world.scenario.topology.sinks
        }
        self.answer(lambda now_ms: events.PublishedListed(now_ms=now_ms, published=published))

    def _complete(self) -> None:
        """The target refuses an engine that a newer one has shut out, and finds what is done already."""
        if self.world.target.refuses(self.epoch or 0) or self.chance(self.world.scenario.faults.place_fails):
            self.answer(lambda now_ms: events.ConnectorFailed(now_ms=now_ms, failure=self._broken("a completion")))
            return
        self.world.complete(self)
        if self.chance(self.world.scenario.faults.place_fails):
            self.answer(lambda now_ms: events.ConnectorFailed(now_ms=now_ms, failure=self._broken("a completion")))
        else:
            self.answer(lambda now_ms: events.Completed(now_ms=now_ms))

    def _sweep(self, command: commands.Sweep) -> None:
        def list_staged() -> None:
            keys = self.world.target.older_than(command.epoch, command.keep, final=command.final)
            self.world.last_sweep_listed_ms = self.world.clock.now_ms

            def remove() -> None:
                self.world.sweep(self, keys)
                scenario = self.world.scenario
                if not (command.final or scenario.rewinds or scenario.rewind_at_the_end):
                    # Whoever goes back further asks for what the newest checkpoint does not name: files tell it by
                    # themselves, and a database that has forgotten it refuses.
                    self.world.target.forget(command.epoch, command.keep)
                if self.chance(self.world.scenario.faults.place_fails):
                    self.answer(lambda now_ms: events.ConnectorFailed(now_ms=now_ms, failure=self._broken("a sweep")))
                else:
                    self.answer(lambda now_ms: events.Swept(now_ms=now_ms, removed=len(keys)))

            self.later(remove)

        self.later(list_staged)

    def _retract(self, command: commands.Retract) -> None:
        """List, then remove one after the other; the process may die or sleep between two, and does so often."""
        ordinals = {spec.name: spec.ordinal for spec in self.world.scenario.topology.sources}

        def takes(each: Published) -> bool:
            key, source = each.key, ordinals[each.key.source]
            identity = f"{source}-{key.epoch}-{key.unit}"
            return command.retractions[key.sink].takes(identity, source=source, epoch=key.epoch, unit=key.unit)

        self.later(lambda: self._take_back([each for each in self.world.target.published if takes(each)]))

    def _take_back(self, publications: list[Published]) -> None:
        if self.chance(0.05):
            self.world.kill(self)
        elif self.chance(self.world.scenario.faults.place_fails):
            self.answer(lambda now_ms: events.ConnectorFailed(now_ms=now_ms, failure=self._broken("a retraction")))
        elif not publications:
            self.answer(lambda now_ms: events.Retracted(now_ms=now_ms, removed=0))
        else:
            self.world.take_back(self, publications[0])
            self.later(lambda: self._take_back(publications[1:]), most_ms=3)

    # ---- Spark. ----

    def _run(self, command: commands.RunUnit) -> None:
        faults = self.world.scenario.faults
        self.running[command.task, command.attempt.id] = command
        duration_ms = self.rng.choice([1_000, 8_000]) if self.chance(faults.unit_is_slow) else self.rng.randint(1, 60)
        if self.chance(faults.whole_job_fails):
            for other in list(self.running.values()):
                self._fail_unit(other, FailureKind.TRANSIENT, duration_ms)
        elif self.chance(faults.unit_fails_for_good):
            self._fail_unit(command, FailureKind.DATA, duration_ms)
        elif self.chance(faults.unit_is_lost):
            self._fail_unit(command, FailureKind.TRANSIENT, duration_ms)
            self._finish_unit(command, duration_ms + 500)
        elif self.chance(faults.unit_fails):
            if self.rng.random() < 0.5:
                self.later(lambda: self._stage(command, "orphan") and None, most_ms=duration_ms, outside=True)  # type: ignore[arg-type]
            self._fail_unit(command, FailureKind.TRANSIENT, duration_ms)
        else:
            self._finish_unit(command, duration_ms)
            if self.chance(faults.unit_answers_twice):
                self._finish_unit(command, duration_ms + 100)

    def _fail_unit(self, command: commands.RunUnit, kind: FailureKind, duration_ms: int) -> None:
        def report() -> None:
            self.report(
                events.UnitFailed(
                    now_ms=self.world.clock.now_ms,
                    task=command.task,
                    attempt=command.attempt.id,
                    failure=self._broken("a unit", kind),
                )
            )

        self.later(report, most_ms=duration_ms)

    def _finish_unit(self, command: commands.RunUnit, duration_ms: int) -> None:
        """The task stages first; its result travels after that. Two runs of a unit stage under two names."""
        spark_attempt = str(self.world.next_number())

        def finish() -> None:
            committables = self._stage(command, spark_attempt)
            self.later(lambda: self.report(self._finished(command, committables)), most_ms=30)

        self.later(finish, most_ms=duration_ms, outside=True)

    def _finished(self, command: commands.RunUnit, committables: dict[str, Committable]) -> events.UnitFinished:
        return events.UnitFinished(
            now_ms=self.world.clock.now_ms,
            task=command.task,
            attempt=command.attempt.id,
            rows_read=len(command.attempt.unit.splits),
            bytes_read=command.attempt.unit.weight_bytes,
            rows_skipped=0,
            committables=committables,
            facts=tuple(
                {"split": split.index}
                for split in command.attempt.unit.splits
                if command.task in self.world.scenario.reporting
            ),
        )

    def _stage(self, command: commands.RunUnit, spark_attempt: str) -> dict[str, Committable]:
        spec = next(spec for spec in self.world.scenario.topology.sources if spec.name == command.task)
        number, attempt = command.attempt.unit.number, f"{command.attempt.number}-{spark_attempt}"
        staged: dict[str, Committable] = {}
        for sink in spec.sinks:
            rows = tuple(
                self.world.row_of(command.task, split) for split in command.attempt.unit.splits if _reaches(split, sink)
            )
            if not rows:
                continue
            identity = f"{spec.ordinal}-{command.attempt.epoch}-{number}"
            key = StagingKey(sink, command.task, command.attempt.epoch, number, attempt)
            self.world.stage(key, StagedThing(identity, rows, self.world.clock.now_ms))
            staged[sink] = Committable(
                id=identity,
                epoch=command.attempt.epoch,
                unit=number,
                source=command.task,
                rows=len(rows),
                bytes=command.attempt.unit.weight_bytes,
                body={"attempt": attempt},
                tables={f"table of {sink}": "1"},
            )
        return staged

    # ---- Commits. ----

    def _publish(self, command: commands.Commit, done: int) -> None:
        """One committable after the other, each an atomic step; the process may die or sleep between two."""
        faults = self.world.scenario.faults
        ids = tuple(committable.id for committable in command.committables)
        if done == len(ids):
            if self.chance(faults.commit_fails):
                self._commit_failed(command, self.rng.randint(0, done), FailureKind.TRANSIENT)
            else:
                self.answer(lambda now_ms: events.CommitSucceeded(now_ms=now_ms, sink=command.sink, ids=ids))
            return
        if self.chance(faults.commit_fails / 4):
            self._commit_failed(command, done, FailureKind.TRANSIENT)
            return
        try:
            self.world.publish(
                self, command.sink, command.committables[done], may_be_committed=command.may_be_committed
            )
        except MissingError as error:
            self.world.missed(self, error)
            self._commit_failed(command, done, FailureKind.DATA)
            return
        self.later(lambda: self._publish(command, done + 1), most_ms=3)

    def _commit_failed(self, command: commands.Commit, done: int, kind: FailureKind) -> None:
        ids = tuple(committable.id for committable in command.committables[:done])
        self.answer(
            lambda now_ms: events.CommitFailed(
                now_ms=now_ms, sink=command.sink, committed=ids, failure=self._broken("a commit", kind)
            )
        )


def _reaches(split: Split, sink: str) -> bool:
    """Some splits have no row for some sink, as with a filter."""
    return sink not in split.body["filtered"]
