"""What a dispatcher does with backends on which no Spark runs: they lose jobs, count who runs at once, or linger."""

import threading
import time
from pathlib import Path

import pytest
from watched import numbers_chain, numbers_unit

from seatunnel_core.errors import PacketLostError
from seatunnel_core.spark import dispatch
from seatunnel_core.spark.backend import SparkBackend
from seatunnel_core.spark.dispatch import UnitDispatcher
from seatunnel_core.spark.operator_chain import OperatorChain
from seatunnel_core.spark.report_channel import TaskListener
from seatunnel_core.spark.starting.settings import SparkSettings
from seatunnel_core.spark.work import TaskBatch, UnitResult, UnitWork
from seatunnel_core.work.unit import WorkUnit
from tests.spark.dispatched import Inbox, first_attempt


class Losing(SparkBackend):
    """One on which every job is lost."""

    def __init__(self) -> None:
        super().__init__(SparkSettings())
        self._slots = 1
        self.jobs: list[int] = []
        """The number of works of each."""

    def run_units(self, batch: TaskBatch, tag: str, listener: TaskListener) -> list[tuple[int, UnitResult]]:
        listener.reached()
        self.jobs.append(sum(listener.begins(number) for number, _ in enumerate(batch.works)))
        raise PacketLostError("a worker died")


def test_a_pipeline_that_is_cancelled_while_its_batch_is_lost_does_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its units would stage for an epoch that is over, and keep a slot."""
    backend, inbox, chain = Losing(), Inbox(), numbers_chain(tmp_path)
    dispatcher = UnitDispatcher(backend)
    monkeypatch.setattr(dispatch.logger, "info", lambda *_: dispatcher.cancel("job", 1))
    with dispatcher._changed:
        for number in (1, 2):
            dispatcher.submit(chain, first_attempt(numbers_unit(number)), inbox)
    while not backend.jobs or dispatcher._running or dispatcher._waiting:
        time.sleep(0.01)
    dispatcher.close()
    assert (backend.jobs, inbox.results) == ([2], [])


def test_units_of_a_source_that_waits_come_one_by_one_and_share_a_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first had a batch of its own, which held a task while the others waited."""
    backend, inbox = Losing(), Inbox()
    dispatcher, chain = UnitDispatcher(backend), numbers_chain(tmp_path, parallelism=8, waits=True)
    with monkeypatch.context() as patient:
        patient.setattr(dispatch, "GATHERING_S", 1.0)  # a busy machine may pause between two of them
        for number in range(1, 9):
            dispatcher.submit(chain, first_attempt(numbers_unit(number)), inbox)
        while not backend.jobs:
            time.sleep(0.01)
    inbox.wait(8)
    dispatcher.close()
    assert backend.jobs[0] == 8


def test_what_waits_is_not_chosen_before_there_is_a_task_for_it(tmp_path: Path) -> None:
    """It was, with the few readers that were free then, and had no more when its turn came."""
    dispatcher, chain = UnitDispatcher(Losing()), numbers_chain(tmp_path, parallelism=4, waits=True)
    with dispatcher._changed:
        for number in range(1, 9):
            dispatcher.submit(chain, first_attempt(numbers_unit(number)), Inbox())
        first = dispatcher._take()
        assert first is not None
        assert first.reader_threads == {chain: 4}
        first.over.update(range(2, len(first.units)))  # two are left: two readers are free
        dispatcher.submit(chain, first_attempt(numbers_unit(9)), Inbox())
        assert dispatcher._take() is None
        del dispatcher._running[first]
        second = dispatcher._take()
        assert second is not None
    dispatcher.close()


class Counting(SparkBackend):
    """One whose tasks only sleep, in the order in which they come, and which counts who runs."""

    def __init__(self, cores: int, slots: int) -> None:
        super().__init__(SparkSettings())
        self._slots = slots
        self.holds_back = cores == slots
        self.units: list[int] = []
        """The number of units of each batch."""
        self.most_at_once = 0
        self._at_once = 0
        self._counting = threading.Lock()
        self._cores = threading.Semaphore(cores)
        self._cancelled: set[str] = set()

    def run_units(self, batch: TaskBatch, tag: str, listener: TaskListener) -> list[tuple[int, UnitResult]]:
        works = batch.works
        self.units.append(len(works))
        with self._cores:
            with self._counting:
                self._at_once += 1
                self.most_at_once = max(self.most_at_once, self._at_once)
            for work in works:
                assert isinstance(work, UnitWork)
                time.sleep(work.attempt.unit.splits[0].body["sleep_s"])
            with self._counting:
                self._at_once -= 1
        if tag in self._cancelled:
            raise PacketLostError("it was cancelled")
        return [(number, self._result(work)) for number, work in enumerate(works) if isinstance(work, UnitWork)]

    def cancel(self, tag: str) -> None:
        self._cancelled.add(tag)

    def _result(self, work: UnitWork) -> UnitResult:
        chain = next(chain for chain, packed in self._pickles._packed.items() if packed.key == work.chain)
        return UnitResult(
            job_id=chain.job_id,
            pipeline_id=chain.pipeline_id,
            source=chain.source_name,
            attempt=work.attempt.id,
            failure=None,
            wall_ms=work.attempt.unit.splits[0].body["sleep_s"] * 1000,
        )


class Meeting(Counting):
    """One on which units that are alone in their batches end when all of these run at once."""

    def __init__(self, cores: int, slots: int, alone: int) -> None:
        super().__init__(cores, slots)
        self._all = threading.Barrier(alone, timeout=60)

    def run_units(self, batch: TaskBatch, tag: str, listener: TaskListener) -> list[tuple[int, UnitResult]]:
        if len(batch.works) == 1:
            self._all.wait()
        return super().run_units(batch, tag, listener)


class Lingering(Counting):
    """One whose tasks report their units' results, and go on until they are cancelled."""

    def __init__(self) -> None:
        super().__init__(cores=1, slots=1)
        self._over = threading.Event()

    def run_units(self, batch: TaskBatch, tag: str, listener: TaskListener) -> list[tuple[int, UnitResult]]:
        listener.reached()
        for number, work in enumerate(batch.works):
            assert isinstance(work, UnitWork)
            listener.begins(number)
            listener.ended([(number, self._result(work))])
        self._over.wait(1.0)
        if tag in self._cancelled:
            raise PacketLostError("it was cancelled")
        return []

    def cancel(self, tag: str) -> None:
        super().cancel(tag)
        self._over.set()


def test_a_task_whose_units_all_have_results_is_not_lost_at_the_end(tmp_path: Path) -> None:
    """It was cancelled and counted as lost, so that each job waited a second for the end of Spark."""
    backend, inbox = Lingering(), Inbox()
    dispatcher = UnitDispatcher(backend)
    dispatcher.submit(numbers_chain(tmp_path), first_attempt(numbers_unit(1, sleep_s=0)), inbox)
    (result,) = inbox.wait(1).values()
    dispatcher.close()
    assert result.failure is None
    assert (dispatcher.lost_batches, backend._cancelled) == (0, set())


def counted(backend: Counting, works: list[tuple[OperatorChain, WorkUnit]]) -> None:
    """Run them."""
    dispatcher, inbox = UnitDispatcher(backend), Inbox()
    with dispatcher._changed:
        for chain, unit in works:
            dispatcher.submit(chain, first_attempt(unit), inbox)
    inbox.wait(len(works))
    dispatcher.close()
    assert all(result.failure is None for result in inbox.results)


def test_a_source_is_not_read_more_often_at_once_than_its_parallelism_where_spark_has_more_processors(
    tmp_path: Path,
) -> None:
    """With ``spark.default.parallelism``, or where executors come later."""
    chain = numbers_chain(tmp_path, parallelism=2)
    works = [(chain, numbers_unit(number, sleep_s=0.1, weight_bytes=90_000_000)) for number in range(1, 9)]
    backend = Counting(cores=4, slots=2)
    counted(backend, works)
    assert backend.most_at_once == 2


def test_what_has_waited_for_a_batch_of_many_sources_begins_as_soon_as_it_ends(tmp_path: Path) -> None:
    """All of them were full until then, and only one thread was told."""
    chains = [numbers_chain(tmp_path, pipeline, parallelism=1) for pipeline in range(1, 9)]
    short = [(chain, numbers_unit(1, sleep_s=0.01)) for chain in chains]
    long = [(chain, numbers_unit(2, sleep_s=0.5, weight_bytes=90_000_000)) for chain in chains]
    backend = Meeting(cores=8, slots=8, alone=7)
    counted(backend, short + long)
    assert backend.units == [9, *[1] * 7]


def test_units_share_a_task_where_their_source_may_have_fewer_tasks_than_there_are_slots(tmp_path: Path) -> None:
    chain = numbers_chain(tmp_path, parallelism=1)
    works = [(chain, numbers_unit(number, sleep_s=0.02, weight_bytes=32_000_000)) for number in range(1, 25)]
    backend = Counting(cores=8, slots=8)
    counted(backend, works)
    assert backend.units[0] == 1
    assert len(backend.units) < 8, backend.units


def test_the_time_that_a_batch_waits_in_spark_is_not_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "overdue_ms", lambda batch: 300.0 if len(batch) > 1 else None)
    long, short = numbers_chain(tmp_path, 1, parallelism=2), numbers_chain(tmp_path, 2)
    works = [(long, numbers_unit(number, sleep_s=0.8, weight_bytes=90_000_000)) for number in (1, 2)]
    works += [(short, numbers_unit(number, sleep_s=0.01)) for number in (1, 2, 3)]
    backend = Counting(cores=2, slots=2)
    counted(backend, works)
    assert sorted(backend.units) == [1, 1, 3], "none ran again"
