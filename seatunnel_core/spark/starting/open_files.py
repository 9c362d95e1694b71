"""Limit on open files for this process and its children. Spark's JVM reaches it long before Python does."""

import resource
from contextlib import suppress

_ENOUGH = 1024
"""Maximum number of files that one job keeps open: about 330 for the JVM, plus those of tasks and connections."""


def raise_limit() -> None:
    """Raise the soft limit to the number that a job needs, or to the hard limit if that is lower."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(_ENOUGH, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):  # the system may allow less than it declares
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def is_short() -> bool:
    """Return True if the limit may be too low."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return soft != resource.RLIM_INFINITY and soft < _ENOUGH


def shortage() -> str:
    """Return a message with the current limit, the required limit, and how to raise it."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return (
        f"this process is limited to {soft} open files, but a job needs up to {_ENOUGH:,}: raise the limit with "
        f"`ulimit -n {_ENOUGH}`, or LimitNOFILE= in a systemd unit"
    )
