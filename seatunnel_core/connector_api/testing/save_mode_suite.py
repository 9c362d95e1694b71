"""Tests of save modes and of the binding of committables to their target (protocol rules R4, R6 and R8)."""

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.connector_api.sink import Sink, SinkContext, WriterContext
from seatunnel_core.connector_api.testing.drive import (
    apply_save_mode,
    commit,
    options_of,
    place,
    shipped,
    sink_place,
    stage,
)
from seatunnel_core.connector_api.testing.kill_suite import SCHEMA, numbered
from seatunnel_core.connector_api.within_extent import writer_of
from seatunnel_core.errors import CommitError, SinkError
from seatunnel_core.rows.batch import Batch
from seatunnel_core.work.committable import Committable

__all__ = ["SinkTargets"]


class SinkTargets(ABC):
    """Target tests of ``SinkConformance``."""

    sink_class: type[Sink]

    @abstractmethod
    def options(self) -> Mapping[str, Any]:
        """Return options in configuration-file form."""

    @abstractmethod
    def visible(self) -> Sequence[Mapping[str, Any]]:
        """Return the rows that are currently visible to readers of the target."""

    def elsewhere(self) -> Mapping[str, Any] | None:
        """Return options for a different target; ``None`` if committables have no target."""
        return None

    def lose(self) -> bool:
        """Remove the target with all files of the sink, as if a disk were unmounted; return True if it was removed."""
        return False

    def lose_table(self) -> bool:
        """Drop the table that rows were published to, as another user might; return True if it was dropped."""
        return False

    def emptying(self) -> Mapping[str, Any] | None:
        """Return options with a save mode that empties the target, by default ``options``; ``None`` if none exist."""
        mode = self._made(self.options()).save_mode
        return self.options() if mode is not None and mode.does else None

    def test_committables_are_bound_to_what_says_where_they_go(self) -> None:
        """Check ``bound_to``, which is stored in the job's manifest and compared when the job is restored."""
        bound, again = self._made(self.options()).bound_to, self._made(self.options()).bound_to
        assert json.loads(json.dumps(dict(bound))) == dict(again), "equal options must give equal strings"
        other = self.elsewhere()
        assert other is None or self._made(other).bound_to != bound, "bound_to is the same for both targets"

    def test_a_sink_whose_options_change_loses_nothing_silently(self) -> None:
        """Pass a committable to a sink with a different target.

        The engine does this only if the manifest does not contain the target. The sink must then publish to the
        original target or raise an error, even if its own target has no staged output (R8).
        """
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
            commit(told_otherwise, [committable], later, may_be_committed=True)
            assert self._found() == Counter([10]), (
                "commit treated missing staged output as published, or published it elsewhere"
            )
        self._finish(sink, committable)

    def test_a_target_that_was_lost_is_refused_and_not_created_again(self) -> None:
        """Lose the target between two units: no commit and no later start may accept an empty target (R8)."""
        first = place()
        sink = self._made(self.options())
        sink.prepare(sink_place(first))
        done, waiting = (stage(sink, SCHEMA, [numbered(unit * 10, 1)], place(unit=unit)) for unit in (1, 2))
        commit(sink, [done], first)
        for epoch in (2, 3):
            self._made(self.options()).prepare(evolve(sink_place(place(epoch=epoch)), prepared_in=epoch - 1))
        if not self.lose():
            return
        with suppress(Exception):  # a task that has not noticed the loss
            writer = writer_of(shipped(sink), (SCHEMA,), place(unit=3))
            writer.write(Batch(table=SCHEMA.table, rows=numbered(30, 1)))
            writer.finish()
        here = evolve(sink_place(first), published_to=done.tables)
        for again in (False, True):
            with pytest.raises(CommitError):
                sink.commit([waiting], here, may_be_committed=again)
        for _ in range(2):
            here = evolve(sink_place(place(epoch=4)), prepared_in=3, published_to=done.tables)
            later = self._made(self.options())
            with pytest.raises(SinkError):
                _start(later, here)

    def test_a_table_that_was_dropped_is_refused_and_not_created_again(self) -> None:
        """Drop a table with published rows: later starts may create it only if no published rows are known (R8)."""
        first = place()
        sink = self._made(self.options())
        sink.prepare(sink_place(first))
        done = stage(sink, SCHEMA, [numbered(10, 1)], first)
        commit(sink, [done], first)
        if not self.lose_table():
            return
        assert done.tables, "Staged.tables lists no table, so the engine cannot record the tables"
        for epoch in (2, 3):
            here = evolve(sink_place(place(epoch=epoch)), prepared_in=epoch - 1, published_to=done.tables)
            later = self._made(self.options())
            later.prepare(here)
            with pytest.raises(SinkError):
                later.create_tables((SCHEMA,), here)
        here = evolve(sink_place(place(epoch=4)), prepared_in=3)
        later = self._made(self.options())
        later.prepare(here)
        later.create_tables((SCHEMA,), here)
        assert self._found() == Counter()

    def _finish(self, sink: Sink, committable: Committable) -> None:
        """Commit with the original options, and check that the target has all rows."""
        last = place(epoch=3)
        sink.prepare(sink_place(last))
        commit(sink, [committable], last, may_be_committed=True)
        assert self._found() == Counter([10]), "the staged output no longer exists"

    def test_two_sinks_of_a_pipeline_that_share_a_target_keep_apart(self) -> None:
        """Check that neither of two sinks publishes, sweeps or rolls back output of the other."""
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
        """Create the tables of a second pipeline with the same target after the first pipeline has committed."""
        options = self.emptying()
        if options is None:
            return
        self._publish(self._made(self.options()), place(job_id="before"), 90)
        one, two = place(), place(pipeline_id=2)
        first, second = self._made(options), self._made(options)
        for sink, here in ((first, one), (second, two)):
            sink.prepare(sink_place(here))
            if sink is first or sink.defers_save_mode:
                apply_save_mode(sink, sink_place(here))
        self._publish(first, one, 10, began=True)
        self._publish(second, two, 20, began=True)
        assert self._found() == Counter([10, 20])

    def test_an_engine_that_was_replaced_empties_nothing(self) -> None:
        """Resume a suspended engine after another one has published and another job has written to the target."""
        options = self.emptying()
        if options is None:
            return
        asleep, awake, later = self._made(options), self._made(options), place(epoch=2)
        asleep.prepare(sink_place(place()))
        if asleep.defers_save_mode:
            apply_save_mode(asleep, sink_place(place()))
        awake.prepare(sink_place(later))
        apply_save_mode(awake, sink_place(later))
        self._publish(awake, later, 10, began=True)
        self._wake(asleep)
        assert self._found() == Counter([10]), "a replaced engine emptied the target of the current engine"
        awake.clear(sink_place(later))
        self._publish(self._made(self.options()), place(job_id="another"), 20)
        self._wake(asleep)
        assert self._found() == Counter([10, 20]), "a replaced engine emptied the target after its job ended"

    def _made(self, options: Mapping[str, Any]) -> Sink:
        return self.sink_class(options_of(self.sink_class, options))

    def _publish(self, sink: Sink, here: WriterContext, number: int, *, began: bool = False) -> None:
        if not began:
            sink.prepare(sink_place(here))
        commit(sink, [stage(sink, SCHEMA, [numbered(number, 1)], here)], here)

    def _wake(self, asleep: Sink) -> None:
        with suppress(SinkError):
            if not asleep.defers_save_mode:
                apply_save_mode(asleep, sink_place(place()))
            asleep.create_tables((SCHEMA,), sink_place(place()))

    def _found(self) -> Counter[int]:
        return Counter(int(row["id"]) for row in self.visible())


def _start(sink: Sink, here: SinkContext) -> None:
    sink.prepare(here)
    sink.create_tables((SCHEMA,), here)
