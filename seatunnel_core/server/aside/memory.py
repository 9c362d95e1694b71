"""A limit on the memory that parsing a submitted text may take. A text that needs more is an error."""

import resource
import sys

from seatunnel_core.errors import ConfigError

MOST_BYTES = 1 << 30
"""Memory that one text may take, beside what the process has already. The other limits let it take less."""


class BoundedMemory:
    """A context in which this process may allocate so much more memory, where the system can limit that (Linux).

    Threads share the limit, and processes that are started meanwhile inherit it: start none.

    Raises:
        ConfigError: more was asked for.
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
            resource.setrlimit(resource.RLIMIT_DATA, self._before)  # first: the message needs memory, too
        if isinstance(error, MemoryError):
            raise ConfigError(
                f"limit of memory exceeded: to read this text takes more than {MOST_BYTES >> 20:,} MiB. Split the "
                "job, or write it without repetitions"
            ) from None


def _allocated() -> int:
    """Return what counts towards ``RLIMIT_DATA`` now, in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[5]) * resource.getpagesize()
