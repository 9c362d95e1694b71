"""Generated job IDs."""

import secrets
import time

_EPOCH_MS = 1_514_764_800_000  # 2018-01-01T00:00:00Z, the start of SeaTunnel's IDs
_RANDOM_BITS = 22


def new_job_id(*, now_ms: int | None = None) -> str:
    """Return a 19-digit number that sorts by creation time, like SeaTunnel's job IDs.

    Two IDs from the same millisecond are equal with a probability of one in four million; the second manifest is then
    rejected.
    """
    elapsed_ms = (time.time_ns() // 1_000_000 if now_ms is None else now_ms) - _EPOCH_MS
    return str(elapsed_ms << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS))
