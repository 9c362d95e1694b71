"""Ids for jobs that were not given one."""

import secrets
import time

_EPOCH_MS = 1_514_764_800_000  # 2018-01-01T00:00:00Z, where SeaTunnel's ids begin
_RANDOM_BITS = 22


def new_job_id(*, now_ms: int | None = None) -> str:
    """Return a number of 19 digits that sorts by creation time, as SeaTunnel's do.

    Two ids of the same millisecond differ by chance, in one of four million; the manifest's put-if-absent refuses the
    second of two equal ones.
    """
    elapsed_ms = (time.time_ns() // 1_000_000 if now_ms is None else now_ms) - _EPOCH_MS
    return str(elapsed_ms << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS))
