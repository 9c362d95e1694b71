"""Attempts of a job: node, start, end and reason of the end."""

from attrs import frozen

from seatunnel_core.stored_fields import Stored

KEPT = 20
"""Maximum number of past attempts in a record, which is rewritten at each change of the job."""


@frozen(kw_only=True)
class PastAttempt(Stored):
    """An attempt that has ended."""

    attempt: int
    host: str
    """Member that ran the attempt, as ``host:port``."""

    started_at: float
    """Time of the start, in seconds since 1970, for display only; 0 in records of earlier versions."""

    ended_at: float
    """Time of the end, in seconds since 1970, for display only."""

    cause: str
    """Reason of the end; empty if the job ended normally."""


def with_attempt(past: tuple[PastAttempt, ...], ended: PastAttempt) -> tuple[PastAttempt, ...]:
    """Return the attempts with one more, dropping the oldest above ``KEPT``."""
    return (*past, ended)[-KEPT:]
