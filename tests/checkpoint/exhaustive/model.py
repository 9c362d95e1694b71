"""A few engines, a storage and a target as one world, and every step that may come next.

Real are the protocol, retention and lineage. The storage is a set of checkpoints and a set of markers; a store is a
put, then a look that decides, then a deletion, and others may come between. The target is what is staged and what is
published. The answer to a step reaches its engine with the step: no other engine sees the difference, and what the
engine itself might do in between does not change the answer.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import ClassVar

from seatunnel_core.checkpoint import events
from seatunnel_core.checkpoint.decisions.base import RestoreRequest, Rewind
from seatunnel_core.checkpoint.events import Event
from seatunnel_core.checkpoint.transitions import Phase
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.failure import Failure, FailureKind
from seatunnel_core.work.unit import AttemptId
from seatunnel_storage_api import retention
from seatunnel_storage_api.state import CheckpointType, PipelineListing
from tests.checkpoint.exhaustive.engines import Engines
from tests.checkpoint.exhaustive.failures import commit_failed, storage_failed, unit_failed
from tests.checkpoint.exhaustive.properties import Key, bits, live_by_hand, require, some
from tests.checkpoint.exhaustive.worlds import Bounds, Engine, Op, Step, World


class Model:
    """Knows the worlds that come after a world. A store is ``put``, ``look``, ``prune``; the rest is one step each."""

    store_begins_with: ClassVar[str] = "put"

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.engines = Engines(bounds, store_begins_with=self.store_begins_with)
        self._states = self.engines.states
        self.live: Callable[[tuple[int, ...]], frozenset[int]] = lru_cache(maxsize=None)(self._live)
        self.too_much: Callable[[tuple[int, ...], tuple[int, ...], int], tuple[tuple[int, ...], tuple[int, ...]]]
        self.too_much = lru_cache(maxsize=None)(self._too_much)

    def first(self) -> World:
        bounds = self.bounds
        return World((), (), frozenset(), frozenset(), 0, frozenset(), (), bounds.unwritten, bounds.faults)

    # ---- Every step that may come next. ----

    def steps(self, world: World) -> Iterator[Step]:
        for number, engine in enumerate(world.engines):
            for op in engine.under_way:
                if op[0] == "run" and self.bounds.keys and self.refuses(world, number):
                    continue
                if not (op[0] == "fire" and op[1].startswith("expire")):
                    yield Step(number, op)
                elif world.faults:
                    yield Step(number, op, "too late")
                fallible = ("put", "commit", "run") if self.bounds.keys else ("put", "commit")
                if world.faults and op[0] in fallible and not self.engines.ended(engine):
                    yield Step(number, op, "fails")
                    yield Step(number, op, "is done and fails")
            if engine.triggers and self.engines.phase(engine) is Phase.RUNNING:
                yield Step(number, ("trigger",))
        if len(world.engines) < self.bounds.engines:
            yield Step(len(world.engines), ("claim",))
            if sum(engine.asked is not None for engine in world.engines) < self.bounds.rewinds:
                for each in world.stored:
                    yield Step(len(world.engines), ("claim", self._states[each].ref))

    def take(self, world: World, step: Step) -> World:
        """The world after ``step``.

        Raises:
            BrokenError: a rule does not hold there.
        """
        if step.how:
            world = world._replace(faults=world.faults - 1)
        after: World = getattr(self, step.op[0].replace(" ", "_"))(world, step.engine, step.op, step.how)
        if step.op[0] != "claim":
            self._require_complete(world.engines[step.engine], step.engine, after)
        if (after.stored, after.published) != (world.stored, world.published) or after.staged != world.staged:
            self._require_restorable(after)
        return after

    def require_end(self, world: World) -> None:
        """Nothing can happen any more: the newest engine has finished, unless a fault ended it."""
        newest = world.engines[-1]
        waits = self.bounds.endless and self.engines.phase(newest) is Phase.RUNNING
        broken = world.faults < self.bounds.faults and self.engines.ended(newest)
        refused = newest.asked is not None and newest.restore_point < 0
        require(
            newest.finished or waits or broken or refused,
            "liveness",
            "nothing can happen any more, and the pipeline is not finished",
        )

    def _require_complete(self, before: Engine, number: int, world: World) -> None:
        if not world.engines[number].finished or before.finished:
            return
        require(world.engines[number].completed, "R16", "the pipeline is finished, and its sinks never completed")
        if not self._went_back(world, number):
            missing = bits(range(self.bounds.rows)) & ~world.published
            require(not missing, "R7", f"the pipeline is finished without {some(missing)}")
        newest = self.bounds.newest
        require(world.written == newest, "R13", f"the last rows written are {world.written}, not {newest}")

    def _went_back(self, world: World, number: int) -> bool:
        """Whether a newer engine acts from a restore point that takes rows back: it sweeps and takes what this one
        still publishes or has published, and does all of it again (R6, R10)."""
        acting = [engine.restore_point for engine in world.engines[number + 1 :] if engine.restore_point >= 0]
        return any(self.engines.cuts[restore_point].debt is not None for restore_point in acting)

    def _require_restorable(self, world: World) -> None:
        """RESTORABLE, and what became orphaned stays orphaned."""
        if world.stored:
            latest = world.stored[-1]
            where = f"the latest checkpoint {self._states[latest].ref}"
            self.engines.cuts[latest].require_restorable(world.published, world.staged, world.things, where)
        again = self.live(world.stored) & world.orphaned
        require(not again, "R4", f"orphaned and live again: {', '.join(str(self._states[each].ref) for each in again)}")

    def _hears(self, world: World, number: int, op: Op | None, event: Event, name: object) -> World:
        return world.with_engine(number, self.engines.hears(world.engines[number], op, event, name))

    def _goes_on(self, world: World, number: int, before: Op, after: Op | None) -> World:
        """``op`` is done in part: the engine has the rest under way and hears nothing yet."""
        engine = world.engines[number]
        left = [op for op in engine.under_way if op != before]
        if after is not None:
            left.append(after)
        return world.with_engine(number, engine._replace(under_way=tuple(sorted(left))))

    # ---- The storage. ----

    def claim(self, world: World, number: int, op: Op, _how: str) -> World:
        """R4a. A start, and the claim that it begins with."""
        epoch = number + 1
        asked = self.bounds.triggers[min(number, len(self.bounds.triggers) - 1)]
        ref = op[1] if len(op) > 1 else None
        request = RestoreRequest(ref=ref, rewind=Rewind.RETRACTED if ref else Rewind.REFUSED, since=epoch)
        if not self.bounds.rewinds:
            request = RestoreRequest(requires_known=self.bounds.asks and number > 0)
        first = self.engines.automaton.first(request)
        engine = Engine(first, (), asked, asked=ref)
        engine = self.engines.hears(engine, None, events.Started(now_ms=0), "started")
        engine = self.engines.hears(engine, ("claim",), events.EpochClaimed(now_ms=0, epoch=epoch), ("claimed", epoch))
        return world._replace(markers=(*world.markers, epoch), engines=(*world.engines, engine))

    def list(self, world: World, number: int, op: Op, _how: str) -> World:
        """R4b."""
        checkpoints, newest = tuple(map(self.engines.info, world.stored)), world.markers[-1]
        event = events.CheckpointsListed(now_ms=0, checkpoints=checkpoints, newest_epoch=newest)
        return self._hears(world, number, op, event, ("listed", world.stored, newest))

    def load(self, world: World, number: int, op: Op, _how: str) -> World:
        for each in world.stored:
            if self._states[each].ref == op[1]:
                event = events.CheckpointLoaded(now_ms=0, state=self._states[each])
                return self._hears(world, number, op, event, ("loaded", each))
        return self._hears(world, number, op, storage_failed(None), "nothing to load")

    def list_published(self, world: World, number: int, op: Op, _how: str) -> World:
        """R10. Where nobody removed a checkpoint, the base knows all that is published."""
        ids = frozenset(f"0-{key.epoch}-{key.unit}" for key, _ in world.things)
        event = events.PublishedListed(now_ms=0, published={"out": ids})
        return self._hears(world, number, op, event, ("published", ids))

    def put(self, world: World, number: int, op: Op, how: str) -> World:
        """What the last thread of an engine that ended puts, nobody looks at."""
        state = self._states[op[1]]
        if how != "fails":
            world = self.stored(world, number, op[1])
        if how:
            return self._hears(world, number, op, storage_failed(state.ref), ("not stored", state.ref))
        ended = self.engines.ended(world.engines[number])
        return self._goes_on(world, number, op, None if ended else ("check", op[1]))

    def stored(self, world: World, number: int, state_number: int) -> World:
        """One more checkpoint stands. When a newer engine acts already, it is orphaned, unless it is a smaller id
        of an epoch whose larger one is a base."""
        stored = tuple(sorted({*world.stored, state_number}, key=lambda each: self._states[each].ref))
        refs = {self._states[each].ref for each in stored}
        require(len(refs) == len(stored), "ids", f"{self._states[state_number].ref} is put twice, and differs")
        stale = any(newer.restore_point >= 0 for newer in world.engines[number + 1 :])
        late = {state_number} - self.live(stored) if stale and not self._on_line(world, state_number) else set()
        return world._replace(stored=stored, orphaned=world.orphaned | late)

    def fenced(self, world: World, number: int, _state_number: int) -> bool:
        """R5: there is a newer marker, or ours is gone."""
        return world.markers[-1] != number + 1

    def check(self, world: World, number: int, op: Op, _how: str) -> World:
        """R4e, R5. The listing that decides also says what is too much."""
        if self.fenced(world, number, op[1]):
            event = events.FenceLost(now_ms=0, message="a newer engine runs this pipeline")
            return self._hears(world, number, op, event, "fenced")
        world = self._acts(world, number, op[1])
        refs, epochs = self.too_much(world.stored, world.markers, op[1])
        if refs or epochs:
            return self._goes_on(world, number, op, ("prune", op[1], refs, epochs))
        return self._stood(world, number, op)

    def prune(self, world: World, number: int, op: Op, _how: str) -> World:
        """What was computed is removed, however long ago that was (R6)."""
        _, _, refs, epochs = op
        stored = tuple(each for each in world.stored if each not in refs)
        markers = tuple(epoch for epoch in world.markers if epoch not in epochs)
        world = world._replace(stored=stored, markers=markers, orphaned=world.orphaned.intersection(stored))
        return self._stood(world, number, op)

    def _stood(self, world: World, number: int, op: Op) -> World:
        ref = self._states[op[1]].ref
        return self._hears(world, number, op, events.CheckpointStored(now_ms=0, ref=ref), ("stored", ref))

    def _acts(self, world: World, number: int, state_number: int) -> World:
        """From here on what is not on the line of this engine is orphaned for ever."""
        engine = world.engines[number]
        if engine.restore_point >= 0:
            return world
        world = world.with_engine(number, engine._replace(restore_point=state_number))
        dead = frozenset(world.stored) - self.live(world.stored)
        return world._replace(orphaned=world.orphaned.union(each for each in dead if not self._on_line(world, each)))

    def _on_line(self, world: World, state_number: int) -> bool:
        """Whether the newest engine that acts builds on this state's epoch from a larger id. Retention may have removed
        the names that say so, and a zombie's store brings them back: that makes nothing live that was not."""
        ref = self._states[state_number].ref
        acting = [engine.restore_point for engine in world.engines if engine.restore_point >= 0]
        head = self._states[acting[-1]].ref if acting else None
        while head is not None and head.epoch != ref.epoch:
            restore_point = world.engines[head.epoch - 1].restore_point
            head = self._states[restore_point].base if restore_point >= 0 else None
        return head is not None and ref.checkpoint_id <= head.checkpoint_id

    # ---- The source. ----

    def look_for_more(self, world: World, number: int, op: Op, _how: str) -> World:
        """R12. What an engine remembers and what it has been given are of one cut."""
        _, given, next_index, known = op
        require(given == next_index, "R12", f"{given} splits are remembered, and {next_index} are known")
        found = self.engines.splits[given : given + 1]
        memory = {"given": given + len(found), "known": [*known]}
        again_ms = None if len(known) == self.bounds.rows else 0
        event = events.Found(now_ms=0, source="in", splits=found, memory=memory, again_ms=again_ms)
        return self._hears(world, number, op, event, ("found", given, known))

    # ---- The target. ----

    def run(self, world: World, number: int, op: Op, how: str) -> World:
        """A task stages or writes, and its result counts or not. Rows that a task of an older engine writes after a
        newer one has begun are no matter of the protocol: tasks end with their engine."""
        self._require_acting(world, number, op)
        _, unit, rows, attempt = op
        epoch = number + 1
        if self.bounds.keys and how != "fails":
            world = world._replace(written=self.bounds.written(world.written, rows))
        if how:
            failed = unit_failed(AttemptId(unit=unit, epoch=epoch, number=attempt))
            return self._hears(world, number, op, failed, ("unit fails", unit, attempt))
        committable = Committable(
            id=f"0-{epoch}-{unit}",
            epoch=epoch,
            unit=unit,
            source="in",
            rows=len(rows),
            bytes=1,
            body={"rows": [*rows]},
        )
        event = events.UnitFinished(
            now_ms=0,
            task="in",
            attempt=AttemptId(unit=unit, epoch=epoch, number=attempt),
            rows_read=len(rows),
            bytes_read=1,
            rows_skipped=0,
            committables={"out": committable},
            facts=tuple({"split": row} for row in rows) if self.bounds.endless else (),
        )
        world = world._replace(staged=world.staged | {Key(epoch, unit)})
        return self._hears(world, number, op, event, ("finished", epoch, unit, rows, attempt))

    def commit(self, world: World, number: int, op: Op, how: str) -> World:
        """The next of a batch: publish it, or find that it was published before (R8)."""
        self._require_acting(world, number, op)
        _, committables, done, again = op
        ids = tuple(identity for identity, _, _ in committables)
        _, key, rows = committables[done]
        if how == "fails":
            return self._hears(world, number, op, commit_failed((), FailureKind.TRANSIENT), ("commit fails",))
        if key in world.staged:
            world = self._publish(world, number, key, rows)
        elif again:
            swept = rows & ~world.published and not self._went_back(world, number)
            require(not swept, "R9", f"{key} counts as published, and a sweep took it")
        else:
            newest = world.markers[-1] == number + 1
            require(not newest, "R8", f"{key} is not staged, and nobody may have published it before")
            return self._hears(world, number, op, commit_failed(ids[:done], FailureKind.DATA), ("missing", done))
        if how:
            failure = commit_failed(ids[:done], FailureKind.TRANSIENT)
            return self._hears(world, number, op, failure, ("commit fails", done))
        if done + 1 < len(ids):
            return self._goes_on(world, number, op, ("commit", committables, done + 1, again))
        return self._hears(world, number, op, events.CommitSucceeded(now_ms=0, sink="out", ids=ids), ("done", ids))

    def _publish(self, world: World, number: int, key: Key, rows: int) -> World:
        """ONCE. And what a zombie still publishes, every newer engine that acts knew from its base (R6)."""
        require(not rows & world.published, "R8", f"engine {number + 1} publishes {some(rows)} a second time")
        for newer in () if self._went_back(world, number) else world.engines[number + 1 :]:
            if newer.restore_point >= 0:
                named = [each for each, _ in self.engines.cuts[newer.restore_point].waiting]
                require(key in named, "R6", f"a zombie publishes {key}, which the base of a newer engine has not")
        records = self.bounds.rewinds or self.bounds.asks
        things = world.things | {(key, rows)} if records else world.things
        return world._replace(staged=self.consumed(world.staged, key), published=world.published | rows, things=things)

    def consumed(self, staged: frozenset[Key], key: Key) -> frozenset[Key]:
        return staged - {key}

    def complete(self, world: World, number: int, op: Op, _how: str) -> World:
        """R16. The target refuses an engine when a newer one has prepared it; otherwise every row is published."""
        if self.refuses(world, number):
            failure = Failure(kind=FailureKind.DATA, message="another engine runs this pipeline")
            return self._hears(world, number, op, events.ConnectorFailed(now_ms=0, failure=failure), "refused")
        missing = bits(range(self.bounds.rows)) & ~world.published
        require(not missing, "R16", f"engine {number + 1} completes without {some(missing)}")
        world = world.with_engine(number, world.engines[number]._replace(completed=True))
        return self._hears(world, number, op, events.Completed(now_ms=0), "completed")

    def refuses(self, world: World, number: int) -> bool:
        return any(newer.restore_point >= 0 for newer in world.engines[number + 1 :])

    def sweep(self, world: World, number: int, op: Op, _how: str) -> World:
        """It lists first, and removes later what it has listed (R9)."""
        self._require_acting(world, number, op)
        _, keep, final = op
        keys = [key for key in world.staged if key.epoch < number + 1 + final]
        keys = [key for key in keys if f"0-{key.epoch}-{key.unit}" not in keep]
        if keys:
            return self._goes_on(world, number, op, ("delete", tuple(sorted(keys))))
        return self._hears(world, number, op, events.Swept(now_ms=0, removed=0), "swept")

    def delete(self, world: World, number: int, op: Op, _how: str) -> World:
        world = world._replace(staged=world.staged.difference(op[1]))
        return self._hears(world, number, op, events.Swept(now_ms=0, removed=0), "swept")

    def retract(self, world: World, number: int, op: Op, _how: str) -> World:
        """It lists first, and then removes one thing after the other (R10)."""
        self._require_acting(world, number, op)
        retraction = self.engines.retractions[op[1]]
        keys = tuple(
            key
            for key, _ in sorted(world.things)
            if retraction.takes(f"0-{key.epoch}-{key.unit}", source=0, epoch=key.epoch, unit=key.unit)
        )
        if keys:
            return self._goes_on(world, number, op, ("take back", keys))
        return self._hears(world, number, op, events.Retracted(now_ms=0, removed=0), "retracted")

    def take_back(self, world: World, number: int, op: Op, _how: str) -> World:
        """What is gone already counts as taken back."""
        first, *rest = op[1]
        things = frozenset((key, rows) for key, rows in world.things if key != first)
        published = 0
        for _, rows in things:
            published |= rows
        world = world._replace(things=things, published=published)
        if rest:
            return self._goes_on(world, number, op, ("take back", tuple(rest)))
        return self._hears(world, number, op, events.Retracted(now_ms=0, removed=0), "retracted")

    def _require_acting(self, world: World, number: int, op: Op) -> None:
        acts = world.engines[number].restore_point >= 0
        require(acts, "R4", f"engine {number + 1} does {op[0]} before its restore point stood unfenced")

    # ---- What a person and the time do. ----

    def trigger(self, world: World, number: int, _op: Op, _how: str) -> World:
        engine = world.engines[number]
        world = world.with_engine(number, engine._replace(triggers=engine.triggers - 1))
        event = events.TriggerRequested(now_ms=0, checkpoint_type=CheckpointType.CHECKPOINT)
        return self._hears(world, number, None, event, "asked")

    def fire(self, world: World, number: int, op: Op, _how: str) -> World:
        return self._hears(world, number, op, events.TimerFired(now_ms=op[2], key=op[1]), op)

    # ---- What follows from the names of the stored states alone. ----

    def _live(self, stored: tuple[int, ...]) -> frozenset[int]:
        refs = live_by_hand([self.engines.info(each) for each in stored])
        return frozenset(each for each in stored if self._states[each].ref in refs)

    def _too_much(
        self, stored: tuple[int, ...], markers: tuple[int, ...], number: int
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        listing = PipelineListing(checkpoints=tuple(map(self.engines.info, stored)), epochs=markers)
        pruning = retention.prune(listing, stored=self._states[number].ref, max_retained=self.bounds.retained)
        refs = {info.ref for info in pruning.checkpoints}
        return tuple(each for each in stored if self._states[each].ref in refs), pruning.epochs
