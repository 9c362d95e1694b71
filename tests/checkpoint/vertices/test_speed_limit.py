"""The token bucket."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_core.checkpoint.vertices.speed_limit import TokenBucket


@pytest.mark.parametrize(
    ("per_second", "charged", "ready_ms"),
    [(100, 0, 0), (100, 1, 10), (100, 100, 1_000), (3, 1, 334), (100, -50, 0)],
)
def test_a_debt_is_paid_in_time(per_second: int, charged: int, ready_ms: int) -> None:
    bucket = TokenBucket(per_second=per_second).charge(charged)
    assert bucket.ready_ms() == ready_ms
    assert bucket.at(ready_ms).level_milli >= 0


def test_a_correction_shortens_or_lengthens_the_wait() -> None:
    bucket = TokenBucket(per_second=100).charge(100)
    assert bucket.charge(-60).ready_ms() == 400
    assert bucket.charge(60).ready_ms() == 1_600


def test_an_idle_stretch_saves_up_no_more_than_the_burst() -> None:
    assert TokenBucket(per_second=100).at(60_000).level_milli == 0
    assert TokenBucket(per_second=100, burst_ms=500).at(60_000).level_milli == 50_000


def test_time_does_not_run_backwards() -> None:
    bucket = TokenBucket(per_second=100).charge(100).at(500)
    assert bucket.at(400) == bucket


@given(st.integers(1, 10_000), st.lists(st.integers(1, 5_000), min_size=1, max_size=30))
def test_the_limit_holds_over_any_sequence(per_second: int, charges: list[int]) -> None:
    """Emitting whenever it is allowed, all but the last emission are paid for by the time that has passed."""
    bucket, now_ms = TokenBucket(per_second=per_second), 0
    for charge in charges:
        now_ms = bucket.ready_ms()
        bucket = bucket.at(now_ms).charge(charge)
    assert sum(charges[:-1]) * 1_000 <= now_ms * per_second
    assert now_ms <= sum(charges[:-1]) * 1_000 / per_second + len(charges)


def test_what_was_charged_too_much_comes_back_in_full_however_late() -> None:
    """It was waited for and never read; when the debt was paid already, it was lost, and the source read too slowly."""
    paid = TokenBucket(per_second=100, burst_ms=200).charge(100).at(1_000)
    ahead = paid.charge(-60).at(5_000)
    assert ahead.charge(60).ready_ms() == 5_000
    assert ahead.charge(61).ready_ms() == 5_010
