"""Clocks of the runtime."""

import time


def now_ms() -> int:
    """Return a monotonic time in milliseconds for the protocol's events, not comparable between processes."""
    return time.monotonic_ns() // 1_000_000


def wall_clock() -> float:
    """Return seconds since 1970, for display only."""
    return time.time()
