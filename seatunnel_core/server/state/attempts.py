"""Attempts of a job: where each one ran, from when to when, and why it ended there."""

from attrs import frozen

from seatunnel_core.stored_fields import Stored

KEPT = 20
"""A record keeps the last ones: it is written at each change of its job."""

LONGEST_CAUSE = 500


@frozen(kw_only=True)
class PastAttempt(Stored):
    """An attempt that has ended."""

    attempt: int
    host: str
    """The member that ran it, as ``host:port``."""

    started_at: float
    """Seconds since 1970, for display only; 0 where an earlier version did not record it."""

    ended_at: float
    """Seconds since 1970, for display only."""

    cause: str
    """Why it ended; empty where the job ended with it as it should."""


def with_attempt(past: tuple[PastAttempt, ...], ended: PastAttempt) -> tuple[PastAttempt, ...]:
    """Return the attempts with one more, without the oldest where there are too many."""
    return (*past, ended)[-KEPT:]


def shortened(cause: str) -> str:
    """Return a cause with at most ``LONGEST_CAUSE`` characters."""
    return cause if len(cause) <= LONGEST_CAUSE else f"{cause[: LONGEST_CAUSE - 1]}…"
