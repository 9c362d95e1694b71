"""Decide whether and when a failed pipeline restarts: a pure decision, tested as a table."""

from attrs import frozen

from seatunnel_core.work.failure import Failure

_MOST_DOUBLINGS = 30
"""More doublings change nothing: the ceiling is reached long before."""


@frozen(kw_only=True)
class RestartPolicy:
    """``job.retry.times`` and ``job.retry.interval.seconds``, and what follows from them."""

    retry_times: int = 3
    """Restarts within one unstable stretch; 0 means never."""

    retry_interval_ms: int = 3_000
    """The longest pause before the first restart; it doubles with every further one, until rows are committed again."""

    max_interval_ms: int = 300_000
    """The doubling ends here, or at the interval itself where that is longer."""

    stable_after_ms: int = 600_000
    """A pipeline that ran this long without a failure gets its whole budget back."""

    def longest_pause_ms(self, restarts: int) -> int:
        """Return the longest pause after so many restarts in a row."""
        ceiling_ms = max(self.max_interval_ms, self.retry_interval_ms)
        return min(self.retry_interval_ms << min(restarts, _MOST_DOUBLINGS), ceiling_ms)


@frozen(kw_only=True)
class RestartBudget:
    """The restarts that are used up so far."""

    used: int = 0

    in_a_row: int = 0
    """Number of these since rows were last committed: a pipeline that makes progress need not wait ever longer."""


@frozen(kw_only=True)
class RestartDecision:
    """The time of the next start of a failed pipeline, and the budget used up by then."""

    restart_at_ms: int | None
    """Time of the next start; ``None`` to give up."""

    budget: RestartBudget


def after_failure(
    policy: RestartPolicy,
    budget: RestartBudget,
    failure: Failure,
    *,
    ran_ms: int,
    moved: bool = False,
    now_ms: int,
    chance: float,
) -> RestartDecision:
    """Decide whether and when a pipeline starts again after a failure.

    Args:
        policy: What the job allows.
        budget: What is used up so far.
        failure: What ended the pipeline.
        ran_ms: How long it had been running since its last start.
        moved: Whether rows were committed since then.
        now_ms: The time of the decision.
        chance: Drawn evenly from 0 to 1. It is the part of the longest pause that is waited: pipelines that one lost
            server made fail together do not all come back to it in the same moment, again and again ("full jitter").
    """
    if ran_ms >= policy.stable_after_ms:
        budget = RestartBudget()
    if not failure.retryable or budget.used >= policy.retry_times:
        return RestartDecision(restart_at_ms=None, budget=budget)
    in_a_row = 0 if moved else budget.in_a_row
    pause_ms = int(chance * policy.longest_pause_ms(in_a_row))
    used = RestartBudget(used=budget.used + 1, in_a_row=in_a_row + 1)
    return RestartDecision(restart_at_ms=now_ms + pause_ms, budget=used)
