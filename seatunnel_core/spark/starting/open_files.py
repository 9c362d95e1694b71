"""The limit of open files of this process and those that it starts, which Spark's JVM reaches long before Python."""

import resource
from contextlib import suppress

_ENOUGH = 1024
"""Open files that one job needs at most: some 330 of the JVM, those of its tasks, and their connections."""


def raise_limit() -> None:
    """Raise the soft limit towards the hard one, as far as a job needs it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(_ENOUGH, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):  # a system may allow less than it declares
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def is_short() -> bool:
    """Return True if the limit is too low to rely on."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return soft != resource.RLIM_INFINITY and soft < _ENOUGH


def shortage() -> str:
    """Return the limit, what it should be, and how to raise it."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return (
        f"this process may have only {soft} open files, and a job needs up to {_ENOUGH:,}: raise the limit with "
        f"`ulimit -n {_ENOUGH}`, or LimitNOFILE= in a systemd unit"
    )
