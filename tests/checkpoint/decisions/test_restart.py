"""Whether and when a failed pipeline starts again, as a table."""

import random

import pytest

from seatunnel_core.checkpoint.decisions.restart import RestartBudget, RestartPolicy, after_failure
from seatunnel_core.work.failure import Failure, FailureKind

POLICY = RestartPolicy(retry_times=3, retry_interval_ms=1_000, max_interval_ms=3_000, stable_after_ms=60_000)
PASSING = Failure(kind=FailureKind.TRANSIENT, message="a worker is gone")


@pytest.mark.parametrize(
    ("used", "ran_ms", "latest_restart_at_ms", "used_then"),
    [
        (0, 10, 6_000, 1),
        (1, 10, 7_000, 2),
        (2, 10, 8_000, 3),  # the pause has reached its ceiling
        (3, 10, None, 3),  # used up
        (3, 59_999, None, 3),
        (3, 60_000, 6_000, 1),  # a stable stretch heals the budget
    ],
)
def test_after_failure(used: int, ran_ms: int, latest_restart_at_ms: int | None, used_then: int) -> None:
    budget = RestartBudget(used=used, in_a_row=used)
    decision = after_failure(POLICY, budget, PASSING, ran_ms=ran_ms, now_ms=5_000, chance=1.0)
    assert (decision.restart_at_ms, decision.budget.used) == (latest_restart_at_ms, used_then)


@pytest.mark.parametrize("kind", list(FailureKind))
def test_only_what_may_pass_is_tried_again(kind: FailureKind) -> None:
    failure = Failure(kind=kind, message="…")
    decision = after_failure(POLICY, RestartBudget(), failure, ran_ms=10, now_ms=0, chance=0.5)
    assert (decision.restart_at_ms is not None) == failure.retryable


def test_who_commits_rows_between_two_failures_waits_no_longer_for_it() -> None:
    """A server that was killed ten times in a minute cost a job a quarter of an hour of pauses."""
    budget = RestartBudget()
    for used in (1, 2, 3):
        decision = after_failure(POLICY, budget, PASSING, ran_ms=10, moved=True, now_ms=0, chance=1.0)
        assert decision.restart_at_ms == 1_000
        budget = decision.budget
        assert budget.used == used, "the budget is used up all the same"
    decision = after_failure(POLICY, budget, PASSING, ran_ms=10, moved=True, now_ms=0, chance=1.0)
    assert decision.restart_at_ms is None


def test_an_interval_above_the_ceiling_is_kept() -> None:
    policy = RestartPolicy(retry_times=3, retry_interval_ms=10_000, max_interval_ms=3_000)
    decision = after_failure(policy, RestartBudget(used=2, in_a_row=2), PASSING, ran_ms=0, now_ms=0, chance=1.0)
    assert decision.restart_at_ms == 10_000


def test_a_budget_without_end_counts_on() -> None:
    """``job.retry.times`` may be a million: the pause stays at its ceiling."""
    policy = RestartPolicy(retry_times=1_000_000, retry_interval_ms=1)
    decision = after_failure(
        policy, RestartBudget(used=999_999, in_a_row=999_999), PASSING, ran_ms=0, now_ms=0, chance=1.0
    )
    assert (decision.restart_at_ms, decision.budget.used) == (policy.max_interval_ms, 1_000_000)


def test_of_the_longest_pause_a_random_part_is_waited() -> None:
    """Full jitter: 400 pipelines that fail together come back spread over the whole stretch, from at once on."""
    drawn = random.Random(7)
    budget, seen = RestartBudget(used=1, in_a_row=1), []
    for _ in range(400):
        decision = after_failure(POLICY, budget, PASSING, ran_ms=10, now_ms=0, chance=drawn.random())
        assert decision.restart_at_ms is not None
        seen.append(decision.restart_at_ms)
    assert 0 <= min(seen) < 100
    assert 1_900 < max(seen) <= 2_000
    quarters = [sum(low <= each < low + 500 for each in seen) for low in range(0, 2_000, 500)]
    assert min(quarters) > 60, quarters
