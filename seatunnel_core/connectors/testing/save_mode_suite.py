"""What a sink does with what is in its target, and to which target its committables belong (R4, R6 and R8)."""

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from attrs import evolve

from seatunnel_core.connectors.sink import Sink, WriterContext
from seatunnel_core.connectors.testing.drive import commit, options_of, place, sink_place, stage
from seatunnel_core.connectors.testing.kill_suite import SCHEMA, numbered
from seatunnel_core.errors import SinkError
from seatunnel_core.work.committable import Committable


class SinkTargets(ABC):
    """Part of ``SinkConformance``."""

    sink_class: type[Sink]

    @abstractmethod
    def options(self) -> Mapping[str, Any]: ...

    @abstractmethod
    def visible(self) -> Sequence[Mapping[str, Any]]: ...

    def elsewhere(self) -> Mapping[str, Any] | None:
        """Options that lead to another target than ``options``; ``None`` where committables belong to none."""
        return None

    def emptying(self) -> Mapping[str, Any] | None:
        """Options with which the save mode removes what is in the target; ``None`` where nothing does. As it stands
        here, ``options`` where these do."""
        mode = self._made(self.options()).save_mode
        return self.options() if mode is not None and mode.does else None

    def test_committables_are_bound_to_what_says_where_they_go(self) -> None:
        """The job's manifest keeps it, and a restore compares it: a sink that is told otherwise gets none of them."""
        bound, again = self._made(self.options()).bound_to, self._made(self.options()).bound_to
        assert json.loads(json.dumps(dict(bound))) == dict(again), "texts, and the same for the same options"
        other = self.elsewhere()
        assert other is None or self._made(other).bound_to != bound, "nothing tells the two targets apart"

    def test_a_sink_that_is_told_otherwise_loses_nothing_silently(self) -> None:
        """The engine gives it nothing that was staged for something else; where that was not written down, it publishes
        where it was meant, or refuses. That nothing is staged where it looks now is no proof (R8)."""
        other = self.elsewhere()
        if other is None:
            return
        first, later = place(), place(epoch=2)
        sink, told_otherwise = self._made(self.options()), self._made(other)
        sink.prepare(sink_place(first))
        committable = stage(sink, SCHEMA, [numbered(10, 1)], first)
        with suppress(SinkError):
            told_otherwise.prepare(sink_place(later))
            told_otherwise.create_tables((SCHEMA,), sink_place(later))
            commit(told_otherwise, [committable], later, again=True)
            assert self._found() == Counter([10]), "it took what it did not find for published, or published elsewhere"
        self._finish(sink, committable)

    def _finish(self, sink: Sink, committable: Committable) -> None:
        """Whoever puts the options back finds everything."""
        last = place(epoch=3)
        sink.prepare(sink_place(last))
        commit(sink, [committable], last, again=True)
        assert self._found() == Counter([10]), "what was staged is not there any more"

    def test_two_sinks_of_a_pipeline_that_share_a_target_keep_apart(self) -> None:
        """One of them was put in place of the other, or stands beside it: neither publishes, sweeps or takes back what
        is the other's."""
        one, two = place(), evolve(place(), sink_ordinal=1)
        first, second = self._made(self.options()), self._made(self.options())
        for sink, here in ((first, one), (second, two)):
            sink.prepare(sink_place(here))
        waiting = stage(first, SCHEMA, [numbered(10, 1)], one)
        commit(second, [stage(second, SCHEMA, [numbered(20, 1)], two)], two)
        assert self._found() == Counter([20])
        second.sweep(sink_place(evolve(two, epoch=2)), frozenset(), final=True)
        second.clear(sink_place(evolve(two, epoch=2)))
        commit(first, [waiting], one)
        assert self._found() == Counter([10, 20])

    def test_a_save_mode_acts_once_for_the_pipelines_of_a_job(self) -> None:
        """Two pipelines of one target, as the engine has them: the second one's tables are made ready when the first
        one has committed."""
        options = self.emptying()
        if options is None:
            return
        self._publish(self._made(self.options()), place(job_id="before"), 90)
        one, two = place(), place(pipeline_id=2)
        first, second = self._made(options), self._made(options)
        for sink, here in ((first, one), (second, two)):
            sink.prepare(sink_place(here))
            if sink is first or sink.saves_later:
                sink.apply_save_mode(sink_place(here))
        self._publish(first, one, 10, began=True)
        self._publish(second, two, 20, began=True)
        assert self._found() == Counter([10, 20])

    def test_an_engine_that_was_replaced_empties_nothing(self) -> None:
        """It fell asleep behind its last look at whose the job is, and wakes up when another one has published, and
        once more when the job has ended and another job has written there."""
        options = self.emptying()
        if options is None:
            return
        asleep, awake, later = self._made(options), self._made(options), place(epoch=2)
        asleep.prepare(sink_place(place()))
        if asleep.saves_later:
            asleep.apply_save_mode(sink_place(place()))
        awake.prepare(sink_place(later))
        awake.apply_save_mode(sink_place(later))
        self._publish(awake, later, 10, began=True)
        self._wake(asleep)
        assert self._found() == Counter([10]), "it emptied the target behind the back of the one that goes on"
        awake.clear(sink_place(later))
        self._publish(self._made(self.options()), place(job_id="another"), 20)
        self._wake(asleep)
        assert self._found() == Counter([10, 20]), "it emptied the target of a job that has ended"

    def _made(self, options: Mapping[str, Any]) -> Sink:
        return self.sink_class(options_of(self.sink_class, options))

    def _publish(self, sink: Sink, here: WriterContext, number: int, *, began: bool = False) -> None:
        if not began:
            sink.prepare(sink_place(here))
        commit(sink, [stage(sink, SCHEMA, [numbered(number, 1)], here)], here)

    def _wake(self, asleep: Sink) -> None:
        with suppress(SinkError):
            if not asleep.saves_later:
                asleep.apply_save_mode(sink_place(place()))
            asleep.create_tables((SCHEMA,), sink_place(place()))

    def _found(self) -> Counter[int]:
        return Counter(int(row["id"]) for row in self.visible())
