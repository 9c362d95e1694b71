"""The engines of a world: what the real protocol asks for becomes what an engine has under way."""

from typing import Any

from attrs import evolve

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.decisions.trigger import CheckpointPolicy
from seatunnel_core.checkpoint.events import Event
from seatunnel_core.checkpoint.state.topology import SinkSpec, SourceSpec, Topology
from seatunnel_core.checkpoint.transitions import Phase
from seatunnel_core.checkpoint.vertices.limits import Limits
from seatunnel_core.work.retraction import Retraction
from seatunnel_core.work.split import Split
from seatunnel_core.work.unit import UnitAttempt
from seatunnel_storage_api.state import CheckpointInfo, PipelineState
from tests.checkpoint.exhaustive.automaton import Automaton
from tests.checkpoint.exhaustive.properties import Cut, Key, bits
from tests.checkpoint.exhaustive.worlds import UNLIMITED, Bounds, Engine, Op
from tests.checkpoint.played import info_of

OUTLIVING = frozenset({"put", "prune", "commit", "complete", "delete", "take back"})
"""What goes on in the world when the protocol has ended: a thread that nobody can stop (R6)."""

PATIENT = ("restore", "stop", "savepoint")
"""Timers that never fire here: nothing in this world takes long."""


class Engines:
    """Tells engines what happened. The same engine with the same news does the same, so each is asked once."""

    def __init__(self, bounds: Bounds, *, store_begins_with: str) -> None:
        self._bounds = bounds
        self._store_begins_with = store_begins_with
        split = Split(index=0, weight_bytes=1, rows=1, body={})
        keys = [None if key == "-" else key for key in bounds.keys] or [None] * bounds.rows
        self.splits = tuple(evolve(split, index=index, ordering_key=keys[index]) for index in range(bounds.rows))
        self._frozen = () if bounds.endless else self.splits
        source = SourceSpec(
            name="in",
            ordinal=0,
            sinks=("out",),
            parallelism=bounds.rows,
            ordered=bounds.ordered,
            serial=bool(bounds.keys),
            keyed=bool(bounds.keys),
            bounded=not bounds.endless,
        )
        self._topology = Topology(sources=(source,), sinks=(SinkSpec(name="out", ordinal=0, retracts=True),))
        self.automaton = Automaton(
            self._topology,
            CheckpointPolicy(interval_ms=None, max_concurrent=bounds.concurrent, tolerable_failures=UNLIMITED),
            Limits(target_unit_rows=1, credits_per_source=bounds.rows, retry_pause_ms=0),
        )
        self.states: list[PipelineState] = []
        """Every state that was ever to be stored. Worlds name them by their place here."""

        self.cuts: list[Cut] = []
        self.retractions: list[Retraction] = []
        """Worlds name them by their place here."""

        self._numbers: dict[PipelineState, int] = {}
        self._heard: dict[tuple[Engine, Op | None, Any], Engine] = {}

    def phase(self, engine: Engine) -> Phase:
        return self.automaton.phase(engine.local)

    def ended(self, engine: Engine) -> bool:
        return self.phase(engine) is Phase.ENDED

    def hears(self, engine: Engine, op: Op | None, event: Event, name: Any) -> Engine:
        """``op`` is over, and the engine is told ``event``; ``name`` stands for the event."""
        known = self._heard.get((engine, op, name))
        if known is None:
            known = self._heard[engine, op, name] = self._goes_on(engine, op, event, name)
        return known

    def _goes_on(self, engine: Engine, op: Op | None, event: Event, name: Any) -> Engine:
        under_way = [each for each in engine.under_way if each != op]
        local, finished = engine.local, engine.finished
        news: list[tuple[Event, Any]] = [(event, name)]
        while news and self.automaton.phase(local) is not Phase.ENDED:
            local, said = self.automaton.step(local, *news.pop(0))
            for command in said:
                self._begin(command, under_way, news)
                if isinstance(command, commands.EndPipeline):
                    finished = command.outcome is commands.Outcome.FINISHED
        return engine._replace(local=local, under_way=tuple(sorted(under_way)), finished=finished)

    def _begin(self, command: Any, under_way: list[Op], news: list[tuple[Event, Any]]) -> None:
        """What a command sets going. What needs nothing but the engine itself happens at once. Notices set nothing
        going; and a command that is not known here has no answer, so that the pipeline does not finish."""
        match command:
            case commands.ClaimEpoch():
                under_way.append(("claim",))
            case commands.ListCheckpoints():
                under_way.append(("list",))
            case commands.LoadCheckpoint(ref=ref):
                under_way.append(("load", ref))
            case commands.ListPublished():
                under_way.append(("list published",))
            case commands.StoreCheckpoint(state=state):
                under_way.append((self._store_begins_with, self.number(state)))
            case commands.PrepareSinks():
                news.append((events.SinksPrepared(now_ms=0), "prepared"))
            case commands.Enumerate():
                event = events.Enumerated(now_ms=0, source="in", splits=self._frozen, attachment="frozen")
                news.append((event, "enumerated"))
            case commands.Poll(memory=memory, next_index=next_index):
                under_way.append(("look for more", memory.get("given", 0), next_index, _known(command)))
            case commands.RunUnit(attempt=UnitAttempt(unit=unit, number=number)):
                under_way.append(("run", unit.number, tuple(split.index for split in unit.splits), number))
            case commands.Commit(committables=committables, may_be_committed=again):
                named = tuple((each.id, Key(each.epoch, each.unit), bits(each.body["rows"])) for each in committables)
                under_way.append(("commit", named, 0, again))
            case commands.Complete():
                under_way.append(("complete",))
            case commands.Sweep(keep=keep, final=final):
                under_way.append(("sweep", tuple(sorted(keep)), final))
            case commands.Retract(retractions=retractions):
                under_way.append(("retract", self._retraction(retractions["out"])))
            case commands.SetTimer(key=key, at_ms=at_ms):
                _without_timer(under_way, key)
                if not key.startswith(PATIENT):
                    under_way.append(("fire", key, at_ms))
            case commands.CancelTimer(key=key):
                _without_timer(under_way, key)
            case commands.CancelUnits():
                under_way[:] = [op for op in under_way if op[0] != "run"]
            case commands.EndPipeline():
                under_way[:] = [op for op in under_way if op[0] in OUTLIVING]

    def _retraction(self, retraction: Retraction) -> int:
        if retraction not in self.retractions:
            self.retractions.append(retraction)
        return self.retractions.index(retraction)

    def number(self, state: PipelineState) -> int:
        number = self._numbers.setdefault(state, len(self.states))
        if number == len(self.states):
            self.states.append(state)
            self.cuts.append(Cut.of(state, self._bounds.rows, self._topology))
        return number

    def info(self, number: int) -> CheckpointInfo:
        return info_of(self.states[number])


def _known(poll: commands.Poll) -> tuple[int, ...]:
    """The splits of which the cursor or a fact says something."""
    return tuple(sorted((*poll.memory.get("known", ()), *(fact["split"] for fact in poll.facts))))


def _without_timer(under_way: list[Op], key: str) -> None:
    under_way[:] = [op for op in under_way if op[:2] != ("fire", key)]
