"""Units on a real Spark: shared jobs, slots, and the order in which units are chosen."""

import os
from pathlib import Path

import pytest
from watched import most_at_once, numbers_chain, numbers_unit, staged_numbers

from seatunnel_core.spark.backend import SparkBackend
from seatunnel_core.spark.packing import ShareMode
from tests.spark.dispatched import Inbox, Make, first_attempt, run_all


def test_a_unit_is_read_and_staged_once(dispatcher_of: Make, tmp_path: Path) -> None:
    chain = numbers_chain(tmp_path)
    results = run_all(
        dispatcher_of(), [(chain, numbers_unit(number, number * 20, number * 20 + 20)) for number in (1, 2, 3)]
    )
    assert all(result.failure is None for result in results.values())
    assert [results[1, number].rows_read for number in (1, 2, 3)] == [20, 20, 20]
    committables = [result.committables["folder"] for result in results.values()]
    assert sorted(committable.id for committable in committables) == ["0-100000-1", "0-100000-2", "0-100000-3"]
    assert staged_numbers(tmp_path, committables) == list(range(20, 80))


def jobs_of(backend: SparkBackend) -> int:
    """How many jobs its Spark has had."""
    return int(backend.context._jsc.sc().dagScheduler().numTotalJobs())


@pytest.mark.parametrize(("mode", "jobs"), [(ShareMode.ALL, 1), (ShareMode.PART, 3), (ShareMode.OFF, 8)])
def test_who_shares_spark_jobs(
    dispatcher_of: Make, backend: SparkBackend, tmp_path: Path, mode: ShareMode, jobs: int
) -> None:
    """Six pipelines with three short units each, and two with one that is predicted to be long."""
    dispatcher, inbox, before = dispatcher_of(mode, slots=1), Inbox(), jobs_of(backend)
    with dispatcher._changed:  # no batch leaves before all units wait
        for pipeline in range(1, 7):
            for number in (1, 2, 3):
                dispatcher.submit(
                    numbers_chain(tmp_path, pipeline),
                    first_attempt(numbers_unit(number)),
                    inbox,
                )
        for pipeline in (7, 8):
            long = numbers_unit(1, weight_bytes=40_000_000)
            dispatcher.submit(numbers_chain(tmp_path, pipeline), first_attempt(long), inbox)
    assert all(result.failure is None for result in inbox.wait(20).values())
    assert jobs_of(backend) - before == jobs


def test_no_more_units_run_at_once_than_there_are_slots(dispatcher_of: Make, tmp_path: Path) -> None:
    """With one slot two jobs were given to Spark at a time, and it has room for both."""
    notes = tmp_path / "notes"
    works = [
        (numbers_chain(tmp_path, pipeline), numbers_unit(1, note=str(notes), sleep_s=0.05)) for pipeline in range(1, 9)
    ]
    results = run_all(dispatcher_of(ShareMode.OFF, slots=1), works)
    assert all(result.failure is None for result in results.values())
    assert most_at_once(notes) == 1


def test_no_more_tasks_read_a_source_than_its_parallelism_says(dispatcher_of: Make, tmp_path: Path) -> None:
    """Its units wait for each other, and not those of others."""
    notes, other_notes = tmp_path / "notes", tmp_path / "other_notes"
    dispatcher, inbox = dispatcher_of(ShareMode.OFF), Inbox()
    one, other = numbers_chain(tmp_path, 1, parallelism=1), numbers_chain(tmp_path, 2)
    for number in range(1, 7):
        for chain, where in ((one, notes), (other, other_notes)):
            unit = numbers_unit(number, note=str(where), sleep_s=0.1, weight_bytes=90_000_000)
            dispatcher.submit(chain, first_attempt(unit), inbox)
    assert all(result.failure is None for result in inbox.wait(12).values())
    assert most_at_once(notes) == 1


def test_a_small_source_does_not_wait_for_all_that_a_large_one_has_submitted(
    dispatcher_of: Make, tmp_path: Path
) -> None:
    dispatcher, inbox = dispatcher_of(), Inbox()
    large, small = numbers_chain(tmp_path, 1, parallelism=8), numbers_chain(tmp_path, 2)
    for number in range(1, 17):
        unit = numbers_unit(number, sleep_s=0.2, weight_bytes=90_000_000)
        dispatcher.submit(large, first_attempt(unit), inbox)
    dispatcher.submit(small, first_attempt(numbers_unit(1)), inbox)
    assert all(result.failure is None for result in inbox.wait(17).values())
    assert [result.pipeline_id for result in inbox.results].index(2) < 12


def test_units_that_wait_share_a_task_once_it_is_known_that_they_are_short(
    dispatcher_of: Make, backend: SparkBackend, tmp_path: Path
) -> None:
    dispatcher, inbox, before = dispatcher_of(), Inbox(), jobs_of(backend)
    chain = numbers_chain(tmp_path, parallelism=1)
    with dispatcher._changed:
        for number in range(1, 10):
            dispatcher.submit(chain, first_attempt(numbers_unit(number, weight_bytes=90_000_000)), inbox)
    assert all(result.failure is None for result in inbox.wait(9).values())
    assert jobs_of(backend) - before < 5, "the first one by itself; and it tells how few of the others do"


@pytest.mark.parametrize("mode", list(ShareMode))
def test_every_way_to_share_gives_the_same_rows(dispatcher_of: Make, tmp_path: Path, mode: ShareMode) -> None:
    works = [
        (numbers_chain(tmp_path, pipeline), numbers_unit(number, number * 7, number * 7 + 7))
        for pipeline in range(1, 9)
        for number in (1, 2, 3)
    ]
    results = run_all(dispatcher_of(mode), works)
    for pipeline in range(1, 9):
        mine = [result.committables["folder"] for (one, _), result in results.items() if one == pipeline]
        assert staged_numbers(tmp_path, mine) == list(range(7, 28))


@pytest.mark.parametrize("waits", [True, None])
def test_what_waits_is_read_side_by_side_on_however_few_processors(
    dispatcher_of: Make, tmp_path: Path, waits: bool | None
) -> None:
    """``parallelism = 6`` on two processors read six slow splits two at a time."""
    notes, chain = tmp_path / "notes", numbers_chain(tmp_path, parallelism=6, waits=waits)
    works = [(chain, numbers_unit(number, note=str(notes), together=5, sleep_s=0.1)) for number in range(1, 19)]
    results = run_all(dispatcher_of(), works)
    assert all(result.failure is None for result in results.values())
    assert 5 <= most_at_once(notes) <= 6


def test_a_job_with_slots_has_no_more_units_at_once_than_those(dispatcher_of: Make, tmp_path: Path) -> None:
    notes, chain = tmp_path / "notes", numbers_chain(tmp_path, parallelism=6, waits=True)
    works = [(chain, numbers_unit(number, note=str(notes), sleep_s=0.2)) for number in range(1, 9)]
    assert all(result.failure is None for result in run_all(dispatcher_of(slots=3), works).values())
    assert most_at_once(notes) <= 3


def test_a_big_chain_travels_as_a_broadcast(dispatcher_of: Make, backend: SparkBackend, tmp_path: Path) -> None:
    chain = numbers_chain(tmp_path)
    chain.source.ballast = os.urandom(200_000)
    results = run_all(dispatcher_of(), [(chain, numbers_unit(number)) for number in range(1, 6)])
    assert all(result.failure is None for result in results.values())
    carrier = backend.pack_chain(chain)
    assert not isinstance(carrier.carrier, bytes)
    assert carrier is backend.pack_chain(chain), "packed once"
