"""The runtime's two clocks."""

import time


def now_ms() -> int:
    """Monotonic milliseconds: what stamps the protocol's events. Never compared with another process's."""
    return time.monotonic_ns() // 1_000_000


def wall_clock() -> float:
    """Seconds since 1970, for people only."""
    return time.time()
