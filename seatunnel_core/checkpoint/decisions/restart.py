"""Decide whether and when to restart a failed pipeline."""

from attrs import frozen

from seatunnel_core.work.failure import Failure

_MOST_DOUBLINGS = 30
"""Maximum number of doublings; the maximum delay is reached long before this."""


@frozen(kw_only=True)
class RestartPolicy:
    """Restart policy from ``job.retry.times`` and ``job.retry.interval.seconds``."""

    retry_times: int = 3
    """Maximum number of restarts without a stable period in between; 0 disables restarts."""

    retry_interval_ms: int = 3_000
    """Maximum delay before the first restart. It doubles with every further restart until rows are committed again."""

    max_interval_ms: int = 300_000
    """Limit for the doubled delay, unless ``retry_interval_ms`` itself is longer."""

    stable_after_ms: int = 600_000
    """Time without a failure after which a pipeline regains its full restart budget."""

    def longest_pause_ms(self, restarts: int) -> int:
        """Return the maximum delay after this number of consecutive restarts."""
        ceiling_ms = max(self.max_interval_ms, self.retry_interval_ms)
        return min(self.retry_interval_ms << min(restarts, _MOST_DOUBLINGS), ceiling_ms)


@frozen(kw_only=True)
class RestartBudget:
    """Number of restarts used so far."""

    used: int = 0

    in_a_row: int = 0
    """Number of restarts since rows were last committed; it determines the delay."""


@frozen(kw_only=True)
class RestartDecision:
    """Decision about the restart of a failed pipeline, and the restart budget used so far."""

    restart_at_ms: int | None
    """Time of the next start; ``None`` if the pipeline is not restarted."""

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
    """Decide whether and when a pipeline restarts after a failure.

    ``moved`` is True if rows were committed since the last start. ``chance``, a random number from 0 to 1, is the
    fraction of the maximum delay to wait ("full jitter"), so that pipelines that failed together do not reconnect to a
    server at the same time.
    """
    if ran_ms >= policy.stable_after_ms:
        budget = RestartBudget()
    if not failure.retryable or budget.used >= policy.retry_times:
        return RestartDecision(restart_at_ms=None, budget=budget)
    in_a_row = 0 if moved else budget.in_a_row
    pause_ms = int(chance * policy.longest_pause_ms(in_a_row))
    used = RestartBudget(used=budget.used + 1, in_a_row=in_a_row + 1)
    return RestartDecision(restart_at_ms=now_ms + pause_ms, budget=used)
