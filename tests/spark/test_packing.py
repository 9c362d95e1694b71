"""The packing policy as a table: who shares a Spark job with whom, and how big it gets."""

import pytest

from seatunnel_core.checkpoint.split import Split, WorkUnit
from seatunnel_core.spark.packing import (
    MOST_UNITS,
    SHORT_MS,
    TARGET_MS,
    Candidate,
    Pace,
    ShareMode,
    choose_packet,
    first_guess_ms,
    longest_packet_ms,
    overdue_ms,
)

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
    ("mode", "idle", "given", "packet"),
    [
        # Whose units share.
        (PART, 1, "a5 b5 c5", "a5 b5 c5"),
        (OFF, 1, "a5 b5 a5 c5", "a5 a5"),
        (ALL, 1, "a5 b900 c5", "a5 b900 c5"),
        (PART, 1, "a5 b900 c5", "a5 c5"),
        (PART, 1, "b900 a5 c5", "b900"),
        (PART, 1, "b400 b400 a5", "b400 b400"),
        # How much goes into one packet.
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
        # After a packet was lost: each pipeline by itself, then each unit.
        (ALL, 1, "a5! b5! a5! c5", "a5! a5!"),
        (ALL, 1, "c5 a5! d5", "c5 d5"),
        (ALL, 1, "a5* a5* b5", "a5*"),
        (ALL, 1, "b5 a5* b5", "b5 b5"),
        # Nothing to do.
        (PART, 2, "", ""),
    ],
)
def test_packets(mode: ShareMode, idle: int, given: str, packet: str) -> None:
    assert " ".join(unit.load for unit in choose_packet(waiting(given), mode, idle)) == packet


def test_packets_that_wait_in_spark_get_smaller_towards_the_end() -> None:
    """Two slots that both have work: one takes half of what waits, and what is left is shared again."""
    left, sizes = waiting("a100 " * 16), list[int]()
    while left:
        packet = choose_packet(left, PART, 0, slots=2)
        left = left[len(packet) :]
        sizes.append(len(packet))
    assert sizes == [8, 4, 2, 1, 1]


def test_a_packet_ends_when_the_next_checkpoint_is_due() -> None:
    """What shares it is told of when it ends."""
    given = waiting("a30 " * 100)
    sizes = [len(choose_packet(given, PART, 1, 1, longest_packet_ms(every))) for every in (None, 60_000, 300, 1)]
    assert sizes == [33, 33, 10, 2]


def test_a_packet_has_a_bound_in_units_too() -> None:
    assert len(choose_packet(waiting("a0.1 " * 1000), ALL, 1)) == MOST_UNITS


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
    """Two sources of one pipeline shared a packet; while a split of one slept, the other's units held their slots."""
    assert overdue_ms(waiting("a5")) is None
    limit = overdue_ms(waiting(units))
    assert limit is not None
    assert 1000 < limit < 30_000
