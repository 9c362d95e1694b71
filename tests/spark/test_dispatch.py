"""Units on a real Spark: shared jobs, accidents that stay where they happen, and units that run again apart."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from watched import most_at_once, numbers_program, numbers_unit, staged_numbers

from seatunnel_core.errors import PacketLostError
from seatunnel_core.spark import dispatch
from seatunnel_core.spark.dispatch import UnitDispatcher
from seatunnel_core.spark.line import TaskListener
from seatunnel_core.spark.packing import ShareMode
from seatunnel_core.spark.plane import SparkPlane
from seatunnel_core.spark.program import Program
from seatunnel_core.spark.starting.settings import SparkSettings
from seatunnel_core.spark.work import Packet, UnitResult, UnitWork
from seatunnel_core.work.failure import FailureKind
from seatunnel_core.work.unit import UnitAttempt, WorkUnit


class Inbox:
    """Collects results, and waits for them."""

    def __init__(self) -> None:
        self.results: list[UnitResult] = []
        self._changed = threading.Condition()

    def __call__(self, result: UnitResult) -> None:
        with self._changed:
            self.results.append(result)
            self._changed.notify_all()

    def wait(self, count: int, seconds: float = 60) -> dict[tuple[int, int], UnitResult]:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.results) >= count, seconds), self.results
        by_unit = {(result.pipeline_id, result.attempt.unit): result for result in self.results}
        assert len(by_unit) == len(self.results), "a unit got two results"
        return by_unit


@pytest.fixture
def dispatcher_of(plane: SparkPlane) -> Iterator[Callable[..., UnitDispatcher]]:
    made: list[UnitDispatcher] = []

    def make(mode: ShareMode = ShareMode.PART, slots: int | None = None) -> UnitDispatcher:
        made.append(UnitDispatcher(plane, mode, slots))
        return made[-1]

    yield make
    for dispatcher in made:
        dispatcher.close()


Make = Callable[..., UnitDispatcher]


def first_attempt(unit: WorkUnit, epoch: int = 100_000) -> UnitAttempt:
    return UnitAttempt(unit=unit, epoch=epoch, number=1)


def run_all(dispatcher: UnitDispatcher, works: list[tuple[Program, WorkUnit]]) -> dict[tuple[int, int], UnitResult]:
    """All wait when the first packet is chosen: a slow machine would choose from what has come so far."""
    inbox = Inbox()
    with dispatcher._changed:
        for program, unit in works:
            dispatcher.submit(program, first_attempt(unit), inbox)
    return inbox.wait(len(works))


def test_a_unit_is_read_and_staged_once(dispatcher_of: Make, tmp_path: Path) -> None:
    program = numbers_program(tmp_path)
    results = run_all(
        dispatcher_of(), [(program, numbers_unit(number, number * 20, number * 20 + 20)) for number in (1, 2, 3)]
    )
    assert all(result.failure is None for result in results.values())
    assert [results[1, number].rows_read for number in (1, 2, 3)] == [20, 20, 20]
    committables = [result.committables["folder"] for result in results.values()]
    assert sorted(committable.id for committable in committables) == ["0-100000-1", "0-100000-2", "0-100000-3"]
    assert staged_numbers(tmp_path, committables) == list(range(20, 80))


def jobs_of(plane: SparkPlane) -> int:
    """How many jobs its Spark has had."""
    return int(plane.context._jsc.sc().dagScheduler().numTotalJobs())


@pytest.mark.parametrize(("mode", "jobs"), [(ShareMode.ALL, 1), (ShareMode.PART, 3), (ShareMode.OFF, 8)])
def test_who_shares_spark_jobs(
    dispatcher_of: Make, plane: SparkPlane, tmp_path: Path, mode: ShareMode, jobs: int
) -> None:
    """Six pipelines with three short units each, and two with one that is predicted to be long."""
    dispatcher, inbox, before = dispatcher_of(mode, slots=1), Inbox(), jobs_of(plane)
    with dispatcher._changed:  # no packet leaves before all units wait
        for pipeline in range(1, 7):
            for number in (1, 2, 3):
                dispatcher.submit(
                    numbers_program(tmp_path, pipeline),
                    first_attempt(numbers_unit(number)),
                    inbox,
                )
        for pipeline in (7, 8):
            long = numbers_unit(1, weight_bytes=40_000_000)
            dispatcher.submit(numbers_program(tmp_path, pipeline), first_attempt(long), inbox)
    assert all(result.failure is None for result in inbox.wait(20).values())
    assert jobs_of(plane) - before == jobs


def test_no_more_units_run_at_once_than_there_are_slots(dispatcher_of: Make, tmp_path: Path) -> None:
    """With one slot two jobs were given to Spark at a time, and it has room for both."""
    notes = tmp_path / "notes"
    works = [
        (numbers_program(tmp_path, pipeline), numbers_unit(1, note=str(notes), sleep_s=0.05))
        for pipeline in range(1, 9)
    ]
    results = run_all(dispatcher_of(ShareMode.OFF, slots=1), works)
    assert all(result.failure is None for result in results.values())
    assert most_at_once(notes) == 1


def test_no_more_tasks_read_a_source_than_its_parallelism_says(dispatcher_of: Make, tmp_path: Path) -> None:
    """Its units wait for each other, and not those of others."""
    notes, other_notes = tmp_path / "notes", tmp_path / "other_notes"
    dispatcher, inbox = dispatcher_of(ShareMode.OFF), Inbox()
    one, other = numbers_program(tmp_path, 1, parallelism=1), numbers_program(tmp_path, 2)
    for number in range(1, 7):
        for program, where in ((one, notes), (other, other_notes)):
            unit = numbers_unit(number, note=str(where), sleep_s=0.1, weight_bytes=90_000_000)
            dispatcher.submit(program, first_attempt(unit), inbox)
    assert all(result.failure is None for result in inbox.wait(12).values())
    assert most_at_once(notes) == 1


def test_a_small_source_does_not_wait_for_all_that_a_large_one_has_submitted(
    dispatcher_of: Make, tmp_path: Path
) -> None:
    dispatcher, inbox = dispatcher_of(), Inbox()
    large, small = numbers_program(tmp_path, 1, parallelism=8), numbers_program(tmp_path, 2)
    for number in range(1, 17):
        unit = numbers_unit(number, sleep_s=0.2, weight_bytes=90_000_000)
        dispatcher.submit(large, first_attempt(unit), inbox)
    dispatcher.submit(small, first_attempt(numbers_unit(1)), inbox)
    assert all(result.failure is None for result in inbox.wait(17).values())
    assert [result.pipeline_id for result in inbox.results].index(2) < 12


def test_units_that_wait_share_a_task_once_it_is_known_that_they_are_short(
    dispatcher_of: Make, plane: SparkPlane, tmp_path: Path
) -> None:
    dispatcher, inbox, before = dispatcher_of(), Inbox(), jobs_of(plane)
    program = numbers_program(tmp_path, parallelism=1)
    with dispatcher._changed:
        for number in range(1, 10):
            dispatcher.submit(program, first_attempt(numbers_unit(number, weight_bytes=90_000_000)), inbox)
    assert all(result.failure is None for result in inbox.wait(9).values())
    assert jobs_of(plane) - before < 5, "the first one by itself; and it tells how few of the others do"


@pytest.mark.parametrize("mode", list(ShareMode))
def test_every_way_to_share_gives_the_same_rows(dispatcher_of: Make, tmp_path: Path, mode: ShareMode) -> None:
    works = [
        (numbers_program(tmp_path, pipeline), numbers_unit(number, number * 7, number * 7 + 7))
        for pipeline in range(1, 9)
        for number in (1, 2, 3)
    ]
    results = run_all(dispatcher_of(mode), works)
    for pipeline in range(1, 9):
        mine = [result.committables["folder"] for (one, _), result in results.items() if one == pipeline]
        assert staged_numbers(tmp_path, mine) == list(range(7, 28))


def test_a_bad_row_fails_its_own_unit_only(dispatcher_of: Make, tmp_path: Path) -> None:
    works = [(numbers_program(tmp_path, pipeline), numbers_unit(1)) for pipeline in range(1, 8)]
    works.append(
        (numbers_program(tmp_path, 9), numbers_unit(4, **{"raise": "a.csv, line 7, column n: 'x' is no number"}))
    )
    works.append((numbers_program(tmp_path, 10, full=True), numbers_unit(1)))
    results = run_all(dispatcher_of(ShareMode.ALL), works)
    bad, full = results[9, 4].failure, results[10, 1].failure
    assert bad is not None
    assert bad.kind is FailureKind.DATA
    assert bad.message == "pipeline 9, source 'numbers': a.csv, line 7, column n: 'x' is no number"
    assert full is not None
    assert full.kind is FailureKind.TRANSIENT
    assert full.message.startswith("pipeline 10, sink 'folder': ")
    assert all(results[pipeline, 1].failure is None for pipeline in range(1, 8))


def test_a_killed_worker_costs_no_unit(dispatcher_of: Make, tmp_path: Path) -> None:
    works = [(numbers_program(tmp_path, pipeline), numbers_unit(1)) for pipeline in range(1, 5)]
    works.insert(2, (numbers_program(tmp_path, 9), numbers_unit(1, kill_once=str(tmp_path / "killed"))))
    results = run_all(dispatcher_of(ShareMode.ALL), works)
    assert (tmp_path / "killed").exists()
    assert all(result.failure is None for result in results.values())


def test_a_unit_that_always_kills_its_worker_fails_alone(dispatcher_of: Make, tmp_path: Path) -> None:
    """Its packet fails as a whole; the others run again apart, and only it is left with the failure."""
    deaths = tmp_path / "deaths"
    works = [(numbers_program(tmp_path, pipeline), numbers_unit(1)) for pipeline in range(1, 5)]
    works.insert(0, (numbers_program(tmp_path, 8), numbers_unit(1, sleep_s=0.5)))
    works.insert(0, (numbers_program(tmp_path, 7), numbers_unit(1, sleep_s=0.5)))
    works.insert(4, (numbers_program(tmp_path, 9), numbers_unit(1, kill_always=str(deaths))))
    results = run_all(dispatcher_of(ShareMode.ALL), works)
    killer = results.pop((9, 1)).failure
    assert killer is not None
    assert killer.kind is FailureKind.TRANSIENT
    assert killer.message.startswith("pipeline 9, source 'numbers', work unit 1: the Spark task that ran it was lost: ")
    assert all(result.failure is None for result in results.values())
    assert deaths.read_text().count("x") >= 4, "Spark tries a task four times"


def test_a_killed_worker_lets_nothing_run_again_but_its_own_packet(
    dispatcher_of: Make, plane: SparkPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R15: what has a result keeps it, and the rest of that packet runs apart; a packet beside it goes on
    undisturbed."""
    monkeypatch.setattr(dispatch, "overdue_ms", lambda packet: None)
    dispatcher, inbox, woken, before = dispatcher_of(ShareMode.ALL), Inbox(), tmp_path / "woken", jobs_of(plane)
    notes = {pipeline: tmp_path / f"notes-{pipeline}" for pipeline in range(1, 6)}
    accidents = {3: {"kill_times": (str(tmp_path / "deaths"), 4)}, 4: {"sleep_until": str(woken)}}

    def submit(*pipelines: int) -> None:
        with dispatcher._changed:  # they share a packet
            for pipeline in pipelines:
                unit = numbers_unit(1, note=str(notes[pipeline]), **accidents.get(pipeline, {}))  # type: ignore[arg-type]
                dispatcher.submit(numbers_program(tmp_path, pipeline), first_attempt(unit), inbox)

    submit(4, 5)
    while not notes[4].exists():
        time.sleep(0.01)
    submit(1, 2, 3)
    assert sorted(pipeline for pipeline, _ in inbox.wait(3)) == [1, 2, 3], "they ran while the other packet slept"
    woken.touch()
    results = inbox.wait(5)
    assert all(result.failure is None for result in results.values())
    assert jobs_of(plane) - before == 2 + 1, "two packets, and the unit that has no result"
    assert [notes[pipeline].read_text() for pipeline in (4, 5)] == ["+-", "+-"]
    assert notes[3].read_text() == "++++" + "+-", "Spark tries a task four times"


def test_a_cancelled_pipeline_is_silent_and_its_own_job_ends(
    dispatcher_of: Make, plane: SparkPlane, tmp_path: Path
) -> None:
    dispatcher, inbox = dispatcher_of(ShareMode.OFF), Inbox()
    sleeper, other = numbers_program(tmp_path, 1), numbers_program(tmp_path, 2)
    for number in (1, 2, 3, 4):
        dispatcher.submit(sleeper, first_attempt(numbers_unit(number, sleep_s=30)), inbox)
    time.sleep(1.0)
    dispatcher.cancel("job", 1)
    started = time.monotonic()
    dispatcher.submit(other, first_attempt(numbers_unit(1)), inbox)
    results = inbox.wait(1, seconds=15)
    assert list(results) == [(2, 1)]
    assert time.monotonic() - started < 15


def test_a_shared_job_is_not_stopped_for_one_of_its_pipelines(dispatcher_of: Make, tmp_path: Path) -> None:
    dispatcher, inbox = dispatcher_of(ShareMode.ALL), Inbox()
    for pipeline in (1, 2, 3, 4, 5):
        dispatcher.submit(
            numbers_program(tmp_path, pipeline),
            first_attempt(numbers_unit(1, sleep_s=0.4)),
            inbox,
        )
    time.sleep(0.2)
    dispatcher.cancel("job", 3)
    results = inbox.wait(4)
    time.sleep(0.5)
    assert sorted(pipeline for pipeline, _ in results) == [1, 2, 4, 5]
    assert all(result.failure is None and result.attempt.number == 1 for result in inbox.results)


def test_a_packet_that_far_outlives_its_prediction_runs_again_apart(
    dispatcher_of: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sleeping source shares a job with others, because nobody knew; it does not hold them up until it wakes."""
    monkeypatch.setattr(
        dispatch, "overdue_ms", lambda packet: 700.0 if len({unit.pipeline for unit in packet}) > 1 else None
    )
    dispatcher, inbox, woken = dispatcher_of(), Inbox(), tmp_path / "woken"
    with dispatcher._changed:  # no packet leaves before all units wait
        for pipeline in (1, 2, 3, 4):
            unit = numbers_unit(1, sleep_until=str(woken) if pipeline == 2 else "")
            dispatcher.submit(numbers_program(tmp_path, pipeline), first_attempt(unit), inbox)
    first = inbox.wait(3)
    assert sorted(pipeline for pipeline, _ in first) == [1, 3, 4], "they waited for the sleeper"
    woken.touch()
    results = inbox.wait(4)
    assert all(result.failure is None for result in results.values())
    for pipeline in (1, 2, 3, 4):
        assert staged_numbers(tmp_path, [results[pipeline, 1].committables["folder"]]) == list(range(20))


def test_a_unit_that_is_slow_is_not_read_again_beside_itself(
    dispatcher_of: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R15: eight slow tables shared two tasks; what took far longer than predicted was cancelled and run again, also
    what had ended, so that sinks that write at once got rows twice without any failure."""
    monkeypatch.setattr(dispatch, "overdue_ms", lambda packet: 300.0 if len(packet) > 1 else None)
    dispatcher, inbox, again = dispatcher_of(), Inbox(), list[int]()
    notes = {pipeline: tmp_path / f"notes-{pipeline}" for pipeline in range(1, 9)}
    run_all(dispatcher, [(numbers_program(tmp_path, pipeline), numbers_unit(1)) for pipeline in (1, 2)])  # warm
    with dispatcher._changed:
        for pipeline, at in notes.items():
            program = numbers_program(tmp_path, pipeline, at_once=pipeline % 2 == 0)
            unit = numbers_unit(1, note=str(at), sleep_s=0.5)
            dispatcher.submit(
                program,
                first_attempt(unit),
                inbox,
                on_again=partial(again.append, pipeline),
            )
    assert all(result.failure is None for result in inbox.wait(8).values())
    time.sleep(1.0)
    assert [at.read_text() for at in notes.values()] == ["+-"] * 8
    assert again == []


def test_of_a_task_that_is_killed_only_what_had_no_result_is_written_again(dispatcher_of: Make, tmp_path: Path) -> None:
    """R15: Spark ran the whole task again, and its neighbours in the packet were written twice, uncounted."""
    dispatcher, inbox, again = dispatcher_of(ShareMode.ALL, slots=1), Inbox(), list[int]()
    notes = {pipeline: tmp_path / f"notes-{pipeline}" for pipeline in range(1, 6)}
    with dispatcher._changed:
        for pipeline, at in notes.items():
            accident = {"kill_once": str(tmp_path / "killed"), "sleep_s": 1.0} if pipeline == 3 else {}
            unit = numbers_unit(1, note=str(at), **accident)
            program = numbers_program(tmp_path, pipeline, at_once=True)
            dispatcher.submit(
                program,
                first_attempt(unit),
                inbox,
                on_again=partial(again.append, pipeline),
            )
    assert all(result.failure is None for result in inbox.wait(5).values())
    assert [at.read_text() for at in notes.values()] == ["+-", "+-", "++-", "+-", "+-"]
    assert again == [3]


@pytest.mark.torture
def test_a_new_start_waits_for_what_was_cancelled_where_rows_are_written_at_once(
    dispatcher_of: Make, tmp_path: Path
) -> None:
    """R15: Spark tells a worker to stop seconds after a job is cancelled; until then it wrote beside the next start."""
    dispatcher, inbox, again = dispatcher_of(), Inbox(), list[int]()
    program, begun = numbers_program(tmp_path, at_once=True), tmp_path / "begun"
    unit = numbers_unit(1, alone=str(begun), sleep_s=60)
    dispatcher.submit(program, first_attempt(unit), inbox, on_again=partial(again.append, 1))
    while not begun.exists():
        time.sleep(0.01)
    dispatcher.cancel("job", 1)
    short = numbers_unit(1, alone=str(begun))
    dispatcher.submit(program, first_attempt(short, epoch=100_001), inbox, on_again=partial(again.append, 2))
    (result,) = inbox.wait(1).values()
    assert result.failure is None
    assert result.attempt.epoch == 100_001
    assert again == [2]


@pytest.mark.parametrize("waits", [True, None])
def test_what_waits_is_read_side_by_side_on_however_few_processors(
    dispatcher_of: Make, tmp_path: Path, waits: bool | None
) -> None:
    """``parallelism = 6`` on two processors read six slow splits two at a time."""
    notes, program = tmp_path / "notes", numbers_program(tmp_path, parallelism=6, waits=waits)
    works = [(program, numbers_unit(number, note=str(notes), together=5, sleep_s=0.1)) for number in range(1, 19)]
    results = run_all(dispatcher_of(), works)
    assert all(result.failure is None for result in results.values())
    assert 5 <= most_at_once(notes) <= 6


def test_a_job_with_slots_has_no_more_units_at_once_than_those(dispatcher_of: Make, tmp_path: Path) -> None:
    notes, program = tmp_path / "notes", numbers_program(tmp_path, parallelism=6, waits=True)
    works = [(program, numbers_unit(number, note=str(notes), sleep_s=0.2)) for number in range(1, 9)]
    assert all(result.failure is None for result in run_all(dispatcher_of(slots=3), works).values())
    assert most_at_once(notes) <= 3


class Losing(SparkPlane):
    """One on which every job is lost."""

    def __init__(self) -> None:
        super().__init__(SparkSettings())
        self._slots = 1
        self.jobs: list[int] = []
        """The number of works of each."""

    def run_units(self, packet: Packet, tag: str, listener: TaskListener) -> list[tuple[int, UnitResult]]:
        listener.reached()
        self.jobs.append(sum(listener.begins(number) for number, _ in enumerate(packet.works)))
        raise PacketLostError("a worker died")


def test_a_pipeline_that_is_cancelled_while_its_packet_is_lost_does_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its units would stage for an epoch that is over, and keep a slot."""
    plane, inbox, program = Losing(), Inbox(), numbers_program(tmp_path)
    dispatcher = UnitDispatcher(plane)
    monkeypatch.setattr(dispatch.logger, "info", lambda *_: dispatcher.cancel("job", 1))
    with dispatcher._changed:
        for number in (1, 2):
            dispatcher.submit(program, first_attempt(numbers_unit(number)), inbox)
    while not plane.jobs or dispatcher._running or dispatcher._waiting:
        time.sleep(0.01)
    dispatcher.close()
    assert (plane.jobs, inbox.results) == ([2], [])


def test_units_of_a_source_that_waits_come_one_by_one_and_share_a_packet(tmp_path: Path) -> None:
    """The first had a packet of its own, which held a task while the others waited."""
    plane, inbox = Losing(), Inbox()
    dispatcher, program = UnitDispatcher(plane), numbers_program(tmp_path, parallelism=8, waits=True)
    for number in range(1, 9):
        dispatcher.submit(program, first_attempt(numbers_unit(number)), inbox)
    inbox.wait(8)
    dispatcher.close()
    assert plane.jobs[0] == 8


def test_what_waits_is_not_chosen_before_there_is_a_task_for_it(tmp_path: Path) -> None:
    """It was, with the few readers that were free then, and had no more when its turn came."""
    dispatcher, program = UnitDispatcher(Losing()), numbers_program(tmp_path, parallelism=4, waits=True)
    with dispatcher._changed:
        for number in range(1, 9):
            dispatcher.submit(program, first_attempt(numbers_unit(number)), Inbox())
        first = dispatcher._take()
        assert first is not None
        assert first.lanes == {program: 4}
        first.over.update(range(2, len(first.units)))  # two are left: two readers are free
        dispatcher.submit(program, first_attempt(numbers_unit(9)), Inbox())
        assert dispatcher._take() is None
        del dispatcher._running[first]
        second = dispatcher._take()
        assert second is not None
    dispatcher.close()


class Counting(SparkPlane):
    """One whose tasks only sleep, in the order in which they come, and which counts who runs."""

    def __init__(self, cores: int, slots: int) -> None:
        super().__init__(SparkSettings())
        self._slots = slots
        self.holds_back = cores == slots
        self.units: list[int] = []
        """The number of units of each packet."""
        self.most_at_once = 0
        self._at_once = 0
        self._counting = threading.Lock()
        self._cores = threading.Semaphore(cores)
        self._cancelled: set[str] = set()

    def run_units(self, packet: Packet, tag: str, listener: TaskListener) -> list[tuple[int, UnitResult]]:
        works = packet.works
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
        program = next(program for program, packed in self._pickles._packed.items() if packed.key == work.program)
        return UnitResult(
            job_id=program.job_id,
            pipeline_id=program.pipeline_id,
            source=program.source_name,
            attempt=work.attempt.id,
            failure=None,
            wall_ms=work.attempt.unit.splits[0].body["sleep_s"] * 1000,
        )


class Lingering(Counting):
    """One whose tasks report their units' results, and go on until they are cancelled."""

    def __init__(self) -> None:
        super().__init__(cores=1, slots=1)
        self._over = threading.Event()

    def run_units(self, packet: Packet, tag: str, listener: TaskListener) -> list[tuple[int, UnitResult]]:
        listener.reached()
        for number, work in enumerate(packet.works):
            assert isinstance(work, UnitWork)
            listener.begins(number)
            listener.ended(number, self._result(work))
        self._over.wait(1.0)
        if tag in self._cancelled:
            raise PacketLostError("it was cancelled")
        return []

    def cancel(self, tag: str) -> None:
        super().cancel(tag)
        self._over.set()


def test_a_task_whose_units_all_have_results_is_not_lost_at_the_end(tmp_path: Path) -> None:
    """It was cancelled and counted as lost, so that each job waited a second for the end of Spark."""
    plane, inbox = Lingering(), Inbox()
    dispatcher = UnitDispatcher(plane)
    dispatcher.submit(numbers_program(tmp_path), first_attempt(numbers_unit(1, sleep_s=0)), inbox)
    (result,) = inbox.wait(1).values()
    dispatcher.close()
    assert result.failure is None
    assert (dispatcher.lost_packets, plane._cancelled) == (0, set())


def counted(plane: Counting, works: list[tuple[Program, WorkUnit]]) -> float:
    """Run them, and say how many seconds it took."""
    dispatcher, inbox, began = UnitDispatcher(plane), Inbox(), time.monotonic()
    with dispatcher._changed:
        for program, unit in works:
            dispatcher.submit(program, first_attempt(unit), inbox)
    inbox.wait(len(works))
    took = time.monotonic() - began
    dispatcher.close()
    assert all(result.failure is None for result in inbox.results)
    return took


def test_a_source_is_not_read_more_often_at_once_than_its_parallelism_where_spark_has_more_processors(
    tmp_path: Path,
) -> None:
    """With ``spark.default.parallelism``, or where executors come later."""
    program = numbers_program(tmp_path, parallelism=2)
    works = [(program, numbers_unit(number, sleep_s=0.1, weight_bytes=90_000_000)) for number in range(1, 9)]
    plane = Counting(cores=4, slots=2)
    counted(plane, works)
    assert plane.most_at_once == 2


def test_what_has_waited_for_a_packet_of_many_sources_begins_as_soon_as_it_ends(tmp_path: Path) -> None:
    """All of them were full until then, and only one thread was told."""
    programs = [numbers_program(tmp_path, pipeline, parallelism=1) for pipeline in range(1, 9)]
    short = [(program, numbers_unit(1, sleep_s=0.01)) for program in programs]
    long = [(program, numbers_unit(2, sleep_s=0.5, weight_bytes=90_000_000)) for program in programs]
    took = counted(Counting(cores=8, slots=8), short + long)
    assert took < 1.5, "half a second for the packet with a long one in it, and another when all run beside each other"


def test_units_share_a_task_where_their_source_may_have_fewer_tasks_than_there_are_slots(tmp_path: Path) -> None:
    program = numbers_program(tmp_path, parallelism=1)
    works = [(program, numbers_unit(number, sleep_s=0.02, weight_bytes=32_000_000)) for number in range(1, 25)]
    plane = Counting(cores=8, slots=8)
    counted(plane, works)
    assert plane.units[0] == 1
    assert len(plane.units) < 8, plane.units


def test_the_time_that_a_packet_waits_in_spark_is_not_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "overdue_ms", lambda packet: 300.0 if len(packet) > 1 else None)
    long, short = numbers_program(tmp_path, 1, parallelism=2), numbers_program(tmp_path, 2)
    works = [(long, numbers_unit(number, sleep_s=0.8, weight_bytes=90_000_000)) for number in (1, 2)]
    works += [(short, numbers_unit(number, sleep_s=0.01)) for number in (1, 2, 3)]
    plane = Counting(cores=2, slots=2)
    counted(plane, works)
    assert sorted(plane.units) == [1, 1, 3], "none ran again"


def test_a_big_program_travels_as_a_broadcast(dispatcher_of: Make, plane: SparkPlane, tmp_path: Path) -> None:
    program = numbers_program(tmp_path)
    program.source.ballast = os.urandom(200_000)
    results = run_all(dispatcher_of(), [(program, numbers_unit(number)) for number in range(1, 6)])
    assert all(result.failure is None for result in results.values())
    carrier = plane.pack_program(program)
    assert not isinstance(carrier.carrier, bytes)
    assert carrier is plane.pack_program(program), "packed once"
