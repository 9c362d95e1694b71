"""Memory limit for parsing a submitted job."""

import resource
import sys

from seatunnel_core.errors import ConfigError

MOST_BYTES = 1 << 30
"""Additional memory that parsing a job may allocate, in bytes. Usually other limits apply first."""


class BoundedMemory:
    """Context manager that limits memory allocations of this process on Linux. Raises ConfigError above the limit.

    All threads share the limit. Child processes inherit it, so do not start any within the context.
    """

    def __init__(self) -> None:
        self._before = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)

    def __enter__(self) -> None:
        if sys.platform != "linux":
            return
        self._before = soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        most = _allocated() + MOST_BYTES
        if soft == resource.RLIM_INFINITY or most < soft:
            resource.setrlimit(resource.RLIMIT_DATA, (most, hard))

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if sys.platform == "linux":
            resource.setrlimit(resource.RLIMIT_DATA, self._before)  # first, because the message needs memory, too
        # CPython 3.11 sometimes loses the MemoryError: "error return without exception set".
        if isinstance(error, MemoryError | SystemError):
            raise ConfigError(
                f"memory limit exceeded: parsing this text needs more than {MOST_BYTES >> 20:,} MiB. Split the "
                "job, or reduce repetitions"
            ) from None


def _allocated() -> int:
    """Return the current usage that counts towards ``RLIMIT_DATA``, in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[5]) * resource.getpagesize()
