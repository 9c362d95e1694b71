"""Conformance tests of two-phase sinks (protocol rules R8, R9 and R10)."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from seatunnel_core.connector_api.capabilities import (
    SupportsProbe,
    SupportsPublishedQuery,
    SupportsRollback,
    can_roll_back,
)
from seatunnel_core.connector_api.sink import Sink, WriterContext
from seatunnel_core.connector_api.testing.drive import (
    begin,
    commit,
    finished,
    options_of,
    place,
    shipped,
    sink_place,
    stage,
)
from seatunnel_core.connector_api.testing.kill_suite import SCHEMA, SinkKills, numbered
from seatunnel_core.connector_api.testing.save_mode_suite import SinkTargets
from seatunnel_core.errors import CommitError, SinkError
from seatunnel_core.rows.batch import Batch
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.retraction import Retraction

__all__ = ["SinkConformance"]


class SinkConformance(SinkTargets, SinkKills):
    """Test suite to subclass in your tests. Name the class ``Test…``; define the sink and how to inspect its target.

    Rows have a column ``id`` of type bigint and a column ``name`` of type string.
    """

    sink_class: type[Sink]

    @abstractmethod
    def options(self) -> Mapping[str, Any]:
        """Return options in configuration-file form; the target must be empty at the start of each test."""

    @abstractmethod
    def visible(self) -> Sequence[Mapping[str, Any]]:
        """Return the rows that are currently visible to readers of the target, read without the sink."""

    @abstractmethod
    def staged(self) -> int:
        """Return the number of staged files, tables or uploads."""

    def sink(self) -> Sink:
        """Return a new sink for the options."""
        return self.sink_class(options_of(self.sink_class, self.options()))

    def started(self, staging: WriterContext) -> Sink:
        """Return a sink that is prepared as at the start of an epoch."""
        sink = self.sink()
        sink.prepare(sink_place(staging))
        return sink

    def test_nothing_is_visible_before_the_commit_and_all_after(self) -> None:
        """Stage, read the target, commit, and read it again."""
        staging = place()
        sink = self.started(staging)
        committable = stage(sink, SCHEMA, [numbered(0, 3), numbered(3, 2)], staging)
        assert (committable.rows, list(self.visible())) == (5, [])
        commit(sink, [committable], staging)
        assert self._ids() == Counter(range(5))

    def test_a_repeated_commit_publishes_nothing_twice(self) -> None:
        """Commit the same committables twice."""
        staging = place()
        sink = self.started(staging)
        committable = stage(sink, SCHEMA, [numbered(0, 4)], staging)
        commit(sink, [committable], staging)
        commit(sink, [committable], staging, may_be_committed=True)
        assert self._ids() == Counter(range(4))

    def test_a_commit_that_was_interrupted_goes_on(self) -> None:
        """Commit again after some of the committables were committed."""
        staging = place()
        sink = self.started(staging)
        both = [stage(sink, SCHEMA, [numbered(unit * 10, 2)], place(unit=unit)) for unit in (1, 2)]
        commit(sink, both[:1], staging)
        later = place(epoch=2)
        commit(self.started(later), both, later, may_be_committed=True)
        assert self._ids() == Counter([10, 11, 20, 21])

    def test_what_is_gone_for_no_known_reason_is_an_error(self) -> None:
        """Commit a committable again without ``may_be_committed``, when its staged rows no longer exist."""
        staging = place()
        sink = self.started(staging)
        committable = stage(sink, SCHEMA, [numbered(0, 1)], staging)
        commit(sink, [committable], staging)
        with pytest.raises(CommitError):
            commit(sink, [committable], staging)

    def test_attempts_of_a_unit_do_not_meet(self) -> None:
        """Stage a unit in two attempts, and commit the second."""
        staging = place()
        sink = self.started(staging)
        first = stage(sink, SCHEMA, [numbered(0, 2)], place(attempt="1-0"))
        second = stage(sink, SCHEMA, [numbered(0, 2)], place(attempt="2-7"))
        assert first.body != second.body
        commit(sink, [second], staging)
        assert self._ids() == Counter(range(2))

    def test_a_killed_writer_leaves_only_what_a_sweep_removes(self) -> None:
        """Abandon an unfinished writer, and sweep in the next epoch."""
        sink = self.started(place())
        writer = begin(sink, SCHEMA, place())
        writer.write(Batch(table=SCHEMA.table, rows=numbered(0, 3)))
        del writer
        later = place(epoch=2)
        self.started(later).sweep(sink_place(later), frozenset(), final=False)
        assert (list(self.visible()), self.staged()) == ([], 0)

    def test_a_sweep_keeps_what_a_checkpoint_names(self) -> None:
        """Sweep while keeping some committables, and then commit these."""
        sink = self.started(place())
        kept, dropped = (stage(sink, SCHEMA, [numbered(unit * 10, 1)], place(unit=unit)) for unit in (1, 2))
        later = place(epoch=2)
        after = self.started(later)
        assert after.sweep(sink_place(later), frozenset({kept.id}), final=False) >= 1
        commit(after, [kept], later, may_be_committed=True)
        assert self._ids() == Counter([10])
        assert dropped.id != kept.id

    def test_what_is_committed_and_kept_is_not_published_again(self) -> None:
        """Restore twice from the same base, as after two kills between the sweep and the first checkpoint."""
        first = place()
        committable = stage(self.started(first), SCHEMA, [numbered(0, 3)], first)
        commit(self.started(first), [committable], first)
        for epoch in (2, 3):
            later = place(epoch=epoch)
            sink = self.started(later)
            commit(sink, [committable], later, may_be_committed=True)
            sink.sweep(sink_place(later), frozenset({committable.id}), final=False)
        assert self._ids() == Counter(range(3))

    def test_a_sweep_leaves_its_own_epoch_alone_until_the_end(self) -> None:
        """Sweep in the epoch of the staged rows, first with ``final=False``, then with ``final=True``."""
        staging = place()
        sink = self.started(staging)
        stage(sink, SCHEMA, [numbered(0, 1)], staging)
        sink.sweep(sink_place(staging), frozenset(), final=False)
        assert self.staged() >= 1
        sink.sweep(sink_place(staging), frozenset(), final=True)
        assert self.staged() == 0

    def test_a_sweep_leaves_alone_what_newer_engines_staged(self) -> None:
        """Resume a replaced engine just before its sweep; the sweep may raise an error."""
        old, new = place(), place(epoch=5)
        late = self.started(old)
        sink = self.started(new)
        committable = stage(sink, SCHEMA, [numbered(0, 3)], new)
        for final in (False, True):
            with suppress(SinkError):
                late.sweep(sink_place(old), frozenset(), final=final)
        commit(sink, [committable], new)
        assert self._ids() == Counter(range(3))

    def test_what_the_target_shows_as_published_is_what_was_committed(self) -> None:
        """Check that ``published`` returns the job's committed committables or none, and never staged ones."""
        first, other = place(), place(job_id="job2")
        assert self._published(first) == set()
        sink = self.started(first)
        units = [stage(sink, SCHEMA, [numbered(unit * 10, 1)], place(unit=unit)) for unit in (1, 2, 3)]
        commit(sink, units[:2], first)
        commit(self.started(other), [stage(sink, SCHEMA, [numbered(40, 1)], other)], other)
        assert self._published(place(epoch=2)) in (set(), {units[0].id, units[1].id})

    def test_a_sweep_leaves_other_jobs_and_pipelines_alone(self) -> None:
        """Sweep one job while another job and another pipeline have staged rows."""
        sink = self.started(place())
        others = (place(job_id="job2"), place(pipeline_id=11))
        found = []
        for other in others:
            self.started(other)
            found.append((other, stage(sink, SCHEMA, [numbered(other.pipeline_id * 10, 1)], other)))
        later = place(epoch=9)
        self.started(later).sweep(sink_place(later), frozenset(), final=True)
        for other, committable in found:
            commit(sink, [committable], other)
        assert self._ids() == Counter([10, 110])

    def test_clearing_removes_what_was_staged_after_the_last_sweep(self) -> None:
        """Clear after a task of a lost batch has staged rows; the staged rows of another job remain."""
        first, later, other = place(), place(epoch=2), place(job_id="job2")
        committable = stage(self.started(first), SCHEMA, [numbered(0, 1)], first)
        sink = self.started(later)
        commit(sink, [committable], later)
        sink.sweep(sink_place(later), frozenset(), final=True)
        stage(sink, SCHEMA, [numbered(10, 1)], place(epoch=2, unit=2))
        assert self.staged() >= 1
        sink.clear(sink_place(later))
        assert self.staged() == 0
        kept = stage(self.started(other), SCHEMA, [numbered(20, 1)], other)
        sink.clear(sink_place(later))
        commit(sink, [kept], other)
        assert self._ids() == Counter([0, 20])

    def test_what_came_after_a_base_is_taken_back_and_nothing_else(self) -> None:
        """Roll back to a base of epoch 1 in which unit 2 was in flight and unit 4 was next."""
        sink = rolling = self.started(place())
        back = Retraction(
            epoch=3, base_epoch=1, next_units={0: 4}, in_flight={0: frozenset({2})}, named=frozenset({"0-1-3"})
        )
        if not can_roll_back(rolling):
            self._refuses_to_roll_back(sink, back)
            return
        stays = [place(unit=1), place(unit=3), place(unit=5, epoch=3), place(unit=6, job_id="job2")]
        goes = [place(unit=2), place(unit=4), place(unit=1, epoch=2), place(unit=7, epoch=2)]
        for number, staging in sorted(enumerate((*stays, *goes)), key=lambda each: each[1].epoch):
            commit(self.started(staging), [stage(sink, SCHEMA, [numbered(number, 1)], staging)], staging)
        for _ in range(2):
            rolling.roll_back(sink_place(place(epoch=3)), back)
            assert self._ids() == Counter(range(len(stays)))

    def test_a_task_and_the_driver_see_the_same_target(self) -> None:
        """Write a probe in a task, and find it in the driver."""
        staging = place()
        sink = self.started(staging)
        if isinstance(sink, SupportsProbe):
            shipped(sink).probe(sink_place(staging), "a1b2")
            sink.prove(sink_place(staging), "a1b2")

    def test_commits_keep_the_order_and_every_row(self) -> None:
        """Commit several units, and compare the rows."""
        staging = place()
        sink = self.started(staging)
        units: list[Committable] = [
            stage(sink, SCHEMA, [numbered(unit * 10, unit)], place(unit=unit)) for unit in range(1, 8)
        ]
        commit(sink, units, staging)
        assert self._ids() == Counter(unit * 10 + number for unit in range(1, 8) for number in range(unit))

    def test_units_are_finished_in_threads_while_the_next_are_written(self) -> None:
        """Finish units in threads, as tasks do; a client that mixes up the responses of two threads hangs."""
        sink = self.started(place())
        sink.create_tables((SCHEMA,), sink_place(place()))
        in_task, finishing = shipped(sink), []
        with ThreadPoolExecutor(8) as pool:
            for unit in range(1, 31):
                writer = in_task.open_writer((SCHEMA,), place(unit=unit))
                for number in range(3):
                    writer.write(Batch(table=SCHEMA.table, rows=numbered(unit * 10 + number, 1)))
                finishing.append(pool.submit(finished, writer, place(unit=unit)))
            units = [future.result() for future in finishing]
        commit(sink, units, place())
        assert self._ids() == Counter(unit * 10 + number for unit in range(1, 31) for number in range(3))

    @staticmethod
    def _refuses_to_roll_back(sink: Sink, back: Retraction) -> None:
        """Check that a sink raises an error if its options do not allow a rollback."""
        if isinstance(sink, SupportsRollback):
            with pytest.raises(SinkError):
                sink.roll_back(sink_place(place(epoch=3)), back)

    def _published(self, staging: WriterContext) -> set[str]:
        sink = self.sink()
        return set(sink.published(sink_place(staging))) if isinstance(sink, SupportsPublishedQuery) else set()

    def _ids(self) -> Counter[int]:
        return Counter(int(row["id"]) for row in self.visible())
