"""The runtime's two clocks."""

import time


def now_ms() -> int:
    """Return monotonic milliseconds, which stamp the protocol's events. Never compared with another process's."""
    return time.monotonic_ns() // 1_000_000


def wall_clock() -> float:
    """Return seconds since 1970, for display only."""
    return time.time()
