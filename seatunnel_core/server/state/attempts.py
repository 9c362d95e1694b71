"""Attempts of a job: where each one ran, from when to when, and why it ended there."""

from collections.abc import Mapping
from typing import Any

from attrs import asdict, frozen

from seatunnel_core import stored

KEPT = 20
"""A record keeps the last ones: it is written at each change of its job."""

LONGEST_CAUSE = 500


@frozen(kw_only=True)
class PastAttempt:
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

    def record(self) -> dict[str, Any]:
        """Return the attempt as JSON values."""
        return asdict(self)

    @classmethod
    def from_record(cls, block: Any) -> "PastAttempt":
        """Return the attempt that ``record`` described.

        Raises:
            StoredValueError: The block does not describe one.
        """
        return cls(
            attempt=stored.number(block, "attempt"),
            host=stored.text(block, "host"),
            started_at=stored.seconds(block, "started_at"),
            ended_at=stored.seconds(block, "ended_at"),
            cause=stored.text(block, "cause"),
        )


def read_past(block: Mapping[str, Any]) -> tuple[PastAttempt, ...]:
    """Return the attempts of a stored record; none where an earlier version wrote it.

    Raises:
        StoredValueError: A block does not describe one.
    """
    return tuple(map(PastAttempt.from_record, stored.items(block, "past"))) if "past" in block else ()


def with_attempt(past: tuple[PastAttempt, ...], ended: PastAttempt) -> tuple[PastAttempt, ...]:
    """Return the attempts with one more, without the oldest where there are too many."""
    return (*past, ended)[-KEPT:]


def shortened(cause: str) -> str:
    """Return a cause with at most ``LONGEST_CAUSE`` characters."""
    return cause if len(cause) <= LONGEST_CAUSE else f"{cause[: LONGEST_CAUSE - 1]}…"
