"""The packing policy as a table: who shares a Spark job with whom, and how big it gets."""

import pytest
from attrs import evolve

from seatunnel_core.spark.packing import (
    MOST_UNITS,
    SHORT_MS,
    TARGET_MS,
    Candidate,
    Pace,
    ShareMode,
    choose_batch,
    choose_reader_threads,
    first_guess_ms,
    longest_batch_ms,
    overdue_ms,
)
from seatunnel_core.work.split import Split
from seatunnel_core.work.unit import WorkUnit

ALL, OFF, PART = ShareMode.ALL, ShareMode.OFF, ShareMode.PART


def waiting(text: str) -> list[Candidate[str]]:
    """``a5 b900 c5! d5* e5?``: pipelines and predicted milliseconds; ``!`` apart, ``*`` alone, ``?`` is a guess."""
    return [
        Candidate(
            load=word,
            pipeline=word[0],
            predicted_ms=float(word[1:].rstrip("!*?")),
            measured=not word.endswith("?"),
            apart=word.endswith("!"),
            alone=word.endswith("*"),
        )
        for word in text.split()
    ]


@pytest.mark.parametrize(
    ("mode", "idle", "given", "batch"),
    [
        # Whose units share.
        (PART, 1, "a5 b5 c5", "a5 b5 c5"),
        (OFF, 1, "a5 b5 a5 c5", "a5 a5"),
        (ALL, 1, "a5 b900 c5", "a5 b900 c5"),
        (PART, 1, "a5 b900 c5", "a5 c5"),
        (PART, 1, "b900 a5 c5", "b900"),
        (PART, 1, "b400 b400 a5", "b400 b400"),
        # How much goes into one batch.
        (PART, 1, "a250 b250 c250 d250 e250", "a250 b250 c250 d250"),
        (ALL, 1, "a5000 b5", "a5000"),
        # Idle slots: what waits is spread over them, but not into crumbs.
        (PART, 2, "a100 b100 c100 d100", "a100 b100"),
        (PART, 4, "a100 b100 c100 d100", "a100"),
        (PART, 4, "a5 b5 c5 d5", "a5 b5 c5 d5"),
        (PART, 0, "a100 b100 c100 d100", "a100 b100 c100 d100"),
        (PART, 1, "a400 a400 a400", "a400 a400 a400"),
        (PART, 1, "a500 a400 a300", "a500 a400"),
        # The first of a source whose pace is only guessed go alone, unless they are tiny.
        (PART, 2, "a400? a400? a400? a400?", "a400?"),
        (PART, 0, "a400? a400? a400? a400?", "a400?"),
        (PART, 1, "a45? a45? b45? b45? a5?", "a45? b45? a5?"),
        (PART, 1, "a400 a400?", "a400 a400?"),
        (PART, 1, "a5? a5? a5? b400?", "a5? a5? a5?"),
        # After a batch was lost: each pipeline by itself, then each unit.
        (ALL, 1, "a5! b5! a5! c5", "a5! a5!"),
        (ALL, 1, "c5 a5! d5", "c5 d5"),
        (ALL, 1, "a5* a5* b5", "a5*"),
        (ALL, 1, "b5 a5* b5", "b5 b5"),
        # Nothing to do.
        (PART, 2, "", ""),
    ],
)
def test_batches(mode: ShareMode, idle: int, given: str, batch: str) -> None:
    assert " ".join(unit.load for unit in choose_batch(waiting(given), mode, idle)) == batch


def test_batches_that_wait_in_spark_get_smaller_towards_the_end() -> None:
    """Two slots that both have work: one takes half of what waits, and what is left is shared again."""
    left, sizes = waiting("a100 " * 16), list[int]()
    while left:
        batch = choose_batch(left, PART, 0, slots=2)
        left = left[len(batch) :]
        sizes.append(len(batch))
    assert sizes == [8, 4, 2, 1, 1]


def test_a_batch_ends_when_the_next_checkpoint_is_due() -> None:
    """What shares it is told of when it ends."""
    given = waiting("a30 " * 100)
    sizes = [len(choose_batch(given, PART, 1, 1, longest_batch_ms(every))) for every in (None, 60_000, 300, 1)]
    assert sizes == [33, 33, 10, 2]


def test_a_batch_has_a_bound_in_units_too() -> None:
    assert len(choose_batch(waiting("a0.1 " * 1000), ALL, 1)) == MOST_UNITS


def unit(weight_bytes: int = 0, rows: int = 1) -> WorkUnit:
    return WorkUnit(number=1, splits=(Split(index=0, weight_bytes=weight_bytes, rows=rows, body={}),))


def test_a_small_unit_is_short_and_a_big_one_is_not_at_first_guess() -> None:
    assert first_guess_ms(unit(10_000, 100)) < 10
    assert first_guess_ms(unit(64_000_000, 500_000)) > SHORT_MS
    assert first_guess_ms(unit(0, 1_000_000)) > TARGET_MS


def test_the_pace_follows_what_was_measured() -> None:
    small = unit(1000, 10)
    pace = Pace()
    first = pace.predict_ms(small)
    pace = pace.after(small, wall_ms=first * 100)
    assert pace.predict_ms(small) == pytest.approx(first * 100), "the first measurement replaces the guess"
    for _ in range(10):
        pace = pace.after(small, wall_ms=first)
    assert pace.predict_ms(small) == pytest.approx(first, rel=0.2), "it comes back when units are fast again"
    assert pace.measured == 11


@pytest.mark.parametrize("units", ["a5 b5", "a5 a5"])
def test_only_what_couples_units_can_be_overdue(units: str) -> None:
    """Two sources of one pipeline shared a batch; while a split of one slept, the other's units held their slots."""
    assert overdue_ms(waiting("a5")) is None
    limit = overdue_ms(waiting(units))
    assert limit is not None
    assert 1000 < limit < 30_000


def reader_threads_of(
    given: str, *, readers: int, busy: int = 0, most: int = 100, tasks: int = 2
) -> tuple[str, dict[str, int]]:
    """The units, and how many of each source (its pipeline here) are read at once."""
    units = [evolve(unit, waits=True) for unit in waiting(given)]
    names = {unit.pipeline for unit in units}
    free, whole = dict.fromkeys(names, readers - busy), dict.fromkeys(names, readers)
    batch, reader_threads = choose_reader_threads(units, PART, free, whole, most, tasks, lambda unit: unit.pipeline)
    return " ".join(unit.load for unit in batch), reader_threads  # type: ignore[return-value]


def test_what_waits_is_spread_over_the_tasks_and_read_at_once() -> None:
    assert reader_threads_of("a1 a2 a3 a4 a5 a6 a7 a8", readers=6) == ("a1 a2 a3 a4 a5 a6", {"a": 3})
    assert reader_threads_of("a1 a2 a3 a4 a5 a6 a7 a8", readers=6, tasks=1) == ("a1 a2 a3 a4 a5 a6 a7 a8", {"a": 6})
    assert reader_threads_of("a1 b1 c1 d1", readers=2, tasks=1) == ("a1 b1 c1 d1", {"a": 1, "b": 1, "c": 1, "d": 1})


def test_who_gets_a_part_of_the_readers_leaves_the_rest_of_the_units() -> None:
    """A batch took all units, and was read by as many threads as readers were free at that moment."""
    assert reader_threads_of("a1 a2 a3 a4 a5 a6", readers=6, busy=4, tasks=1) == ("a1 a2", {"a": 2})


def test_a_job_has_no_more_readers_than_slots() -> None:
    assert reader_threads_of("a1 a2 b1 b2", readers=2, most=3, tasks=1) == ("a1 a2 b1", {"a": 2, "b": 1})


def test_a_unit_that_failed_with_others_waits_with_its_own_pipeline_or_alone() -> None:
    assert reader_threads_of("a1! b1 a2! a3", readers=4, tasks=1) == ("a1! a2!", {"a": 2})
    assert reader_threads_of("a1* a2 b1", readers=4, tasks=1) == ("a1*", {"a": 1})


def test_a_source_is_seen_to_wait() -> None:
    unit = WorkUnit(number=1, splits=(Split(index=0, weight_bytes=1, rows=1, body={}),))
    sleeping = Pace().after(unit, 3000.0, busy=0.01)
    working = Pace().after(unit, 3000.0, busy=0.95)
    assert (Pace().waits, sleeping.waits, working.waits) == (False, True, False)
    assert working.after(unit, 3000.0, 0.01).after(unit, 3000.0, 0.01).waits, "the first unit has imported modules"
