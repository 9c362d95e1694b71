"""Accidents on a real Spark that stay where they happen: bad rows, killed workers, lost and late batches, cancels."""

import time
from functools import partial
from pathlib import Path

import pytest
from watched import numbers_chain, numbers_unit, staged_numbers

from seatunnel_core.spark import dispatch
from seatunnel_core.spark.backend import SparkBackend
from seatunnel_core.spark.packing import ShareMode
from seatunnel_core.work.failure import FailureKind
from tests.spark.dispatched import Inbox, Make, first_attempt, run_all
from tests.spark.test_dispatch import jobs_of


def test_a_bad_row_fails_its_own_unit_only(dispatcher_of: Make, tmp_path: Path) -> None:
    works = [(numbers_chain(tmp_path, pipeline), numbers_unit(1)) for pipeline in range(1, 8)]
    works.append(
        (numbers_chain(tmp_path, 9), numbers_unit(4, **{"raise": "a.csv, line 7, column n: 'x' is no number"}))
    )
    works.append((numbers_chain(tmp_path, 10, full=True), numbers_unit(1)))
    results = run_all(dispatcher_of(ShareMode.ALL), works)
    bad, full = results[9, 4].failure, results[10, 1].failure
    assert bad is not None
    assert bad.kind is FailureKind.DATA
    assert bad.message == "pipeline 9, source 'numbers': a.csv, line 7, column n: 'x' is no number"
    assert full is not None
    assert full.kind is FailureKind.TRANSIENT  # there may be space when it is tried again
    assert full.message.startswith("pipeline 10, sink 'folder': ")
    assert all(results[pipeline, 1].failure is None for pipeline in range(1, 8))


def test_a_killed_worker_costs_no_unit(dispatcher_of: Make, tmp_path: Path) -> None:
    works = [(numbers_chain(tmp_path, pipeline), numbers_unit(1)) for pipeline in range(1, 5)]
    works.insert(2, (numbers_chain(tmp_path, 9), numbers_unit(1, kill_once=str(tmp_path / "killed"))))
    results = run_all(dispatcher_of(ShareMode.ALL), works)
    assert (tmp_path / "killed").exists()
    assert all(result.failure is None for result in results.values())


def test_a_unit_that_always_kills_its_worker_fails_alone(dispatcher_of: Make, tmp_path: Path) -> None:
    """Its batch fails as a whole; the others run again apart, and only it is left with the failure."""
    deaths = tmp_path / "deaths"
    works = [(numbers_chain(tmp_path, pipeline), numbers_unit(1)) for pipeline in range(1, 5)]
    works.insert(0, (numbers_chain(tmp_path, 8), numbers_unit(1, sleep_s=0.5)))
    works.insert(0, (numbers_chain(tmp_path, 7), numbers_unit(1, sleep_s=0.5)))
    works.insert(4, (numbers_chain(tmp_path, 9), numbers_unit(1, kill_always=str(deaths))))
    results = run_all(dispatcher_of(ShareMode.ALL), works)
    killer = results.pop((9, 1)).failure
    assert killer is not None
    assert killer.kind is FailureKind.TRANSIENT
    assert killer.message.startswith(
        "pipeline 9, source 'numbers', work unit 1: the Spark task that ran this unit was lost: "
    )
    assert all(result.failure is None for result in results.values())
    assert deaths.read_text().count("x") >= 4, "Spark tries a task four times"


def test_a_killed_worker_lets_nothing_run_again_but_its_own_batch(
    dispatcher_of: Make, backend: SparkBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R15: what was reported keeps its result, and the rest of that batch runs apart; a batch beside it goes on
    undisturbed."""
    monkeypatch.setattr(dispatch, "overdue_ms", lambda batch: None)
    dispatcher, inbox, woken, before = dispatcher_of(ShareMode.ALL), Inbox(), tmp_path / "woken", jobs_of(backend)
    notes = {pipeline: tmp_path / f"notes-{pipeline}" for pipeline in range(1, 6)}
    accidents = {3: {"sleep_s": 1.0, "kill_times": (str(tmp_path / "deaths"), 4)}, 4: {"sleep_until": str(woken)}}

    def submit(*pipelines: int) -> None:
        with dispatcher._changed:  # they share a batch
            for pipeline in pipelines:
                unit = numbers_unit(1, note=str(notes[pipeline]), **accidents.get(pipeline, {}))  # type: ignore[arg-type]
                dispatcher.submit(numbers_chain(tmp_path, pipeline), first_attempt(unit), inbox)

    submit(4, 5)
    while not notes[4].exists():
        time.sleep(0.01)
    submit(1, 2, 3)
    assert sorted(pipeline for pipeline, _ in inbox.wait(3)) == [1, 2, 3], "they ran while the other batch slept"
    woken.touch()
    results = inbox.wait(5)
    assert all(result.failure is None for result in results.values())
    assert jobs_of(backend) - before == 2 + 1, "two batches, and the unit that has no result"
    assert [notes[pipeline].read_text() for pipeline in (1, 2)] == ["+-", "+-"]
    assert [notes[pipeline].read_text() for pipeline in (4, 5)] == ["+-", "+-"]
    assert notes[3].read_text() == "++++" + "+-", "Spark tries a task four times"


def test_a_cancelled_pipeline_is_silent_and_its_own_job_ends(
    dispatcher_of: Make, backend: SparkBackend, tmp_path: Path
) -> None:
    dispatcher, inbox = dispatcher_of(ShareMode.OFF), Inbox()
    sleeper, other = numbers_chain(tmp_path, 1), numbers_chain(tmp_path, 2)
    for number in (1, 2, 3, 4):
        dispatcher.submit(sleeper, first_attempt(numbers_unit(number, sleep_s=100)), inbox)
    time.sleep(1.0)
    dispatcher.cancel("job", 1)
    started = time.monotonic()
    dispatcher.submit(other, first_attempt(numbers_unit(1)), inbox)
    results = inbox.wait(1)
    assert list(results) == [(2, 1)]
    assert time.monotonic() - started < 60


def test_a_shared_job_is_not_stopped_for_one_of_its_pipelines(dispatcher_of: Make, tmp_path: Path) -> None:
    dispatcher, inbox, cancelled = dispatcher_of(ShareMode.ALL), Inbox(), tmp_path / "cancelled"
    for pipeline in (1, 2, 3, 4, 5):
        dispatcher.submit(
            numbers_chain(tmp_path, pipeline),
            first_attempt(numbers_unit(1, sleep_s=0.4, sleep_until=str(cancelled))),
            inbox,
        )
    time.sleep(0.2)
    dispatcher.cancel("job", 3)
    cancelled.touch()
    results = inbox.wait(4)
    time.sleep(0.5)
    assert sorted(pipeline for pipeline, _ in results) == [1, 2, 4, 5]
    assert all(result.failure is None and result.attempt.number == 1 for result in inbox.results)


def test_a_batch_that_far_outlives_its_prediction_runs_again_apart(
    dispatcher_of: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sleeping source shares a job with others, because nobody knew; it does not hold them up until it wakes."""
    monkeypatch.setattr(
        dispatch, "overdue_ms", lambda batch: 2_500.0 if len({unit.pipeline for unit in batch}) > 1 else None
    )
    dispatcher, inbox, woken = dispatcher_of(), Inbox(), tmp_path / "woken"
    with dispatcher._changed:  # no batch leaves before all units wait
        for pipeline in (1, 2, 3, 4):
            unit = numbers_unit(1, sleep_until=str(woken) if pipeline == 2 else "")
            dispatcher.submit(numbers_chain(tmp_path, pipeline), first_attempt(unit), inbox)
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
    monkeypatch.setattr(dispatch, "overdue_ms", lambda batch: 300.0 if len(batch) > 1 else None)
    dispatcher, inbox, again = dispatcher_of(), Inbox(), list[int]()
    notes = {pipeline: tmp_path / f"notes-{pipeline}" for pipeline in range(1, 9)}
    run_all(dispatcher, [(numbers_chain(tmp_path, pipeline), numbers_unit(1)) for pipeline in (1, 2)])  # warm
    with dispatcher._changed:
        for pipeline, at in notes.items():
            chain = numbers_chain(tmp_path, pipeline, at_once=pipeline % 2 == 0)
            unit = numbers_unit(1, note=str(at), sleep_s=0.5)
            dispatcher.submit(
                chain,
                first_attempt(unit),
                inbox,
                on_again=partial(again.append, pipeline),
            )
    assert all(result.failure is None for result in inbox.wait(8).values())
    time.sleep(1.0)
    assert [at.read_text() for at in notes.values()] == ["+-"] * 8
    assert again == []


def test_of_a_task_that_is_killed_only_what_had_no_result_is_written_again(dispatcher_of: Make, tmp_path: Path) -> None:
    """R15: Spark ran the whole task again, and its neighbours in the batch were written twice, uncounted."""
    dispatcher, inbox, again = dispatcher_of(ShareMode.ALL, slots=1), Inbox(), list[int]()
    notes = {pipeline: tmp_path / f"notes-{pipeline}" for pipeline in range(1, 6)}
    with dispatcher._changed:
        for pipeline, at in notes.items():
            accident = {"kill_once": str(tmp_path / "killed"), "sleep_s": 1.0} if pipeline == 3 else {}
            unit = numbers_unit(1, note=str(at), **accident)
            chain = numbers_chain(tmp_path, pipeline, at_once=True)
            dispatcher.submit(
                chain,
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
    chain, begun = numbers_chain(tmp_path, at_once=True), tmp_path / "begun"
    unit = numbers_unit(1, alone=str(begun), sleep_s=60)
    dispatcher.submit(chain, first_attempt(unit), inbox, on_again=partial(again.append, 1))
    while not begun.exists():
        time.sleep(0.01)
    dispatcher.cancel("job", 1)
    short = numbers_unit(1, alone=str(begun))
    dispatcher.submit(chain, first_attempt(short, epoch=100_001), inbox, on_again=partial(again.append, 2))
    (result,) = inbox.wait(1).values()
    assert result.failure is None
    assert result.attempt.epoch == 100_001
    assert again == [2]
