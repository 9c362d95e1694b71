"""Open-file limit of a node, and the connection limit derived from it."""

import contextlib
import logging
import resource

logger = logging.getLogger("seatunnel.cluster")

MOST_CONNECTIONS = 1_000
"""Maximum number of connections of a port."""

RESERVED = 256
"""Number of descriptors reserved for state, logs, worker processes and connections to other members."""

LEAST_CONNECTIONS = 16
_ENOUGH = 4_096
_HIGHEST = 1 << 20
"""Maximum soft limit to set. It is bounded because some programs loop over all possible descriptors."""


def raise_limit() -> int:
    """Raise this process's soft limit of open files to the hard limit, and return the effective limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _HIGHEST if hard == resource.RLIM_INFINITY else min(hard, _HIGHEST)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(ValueError, OSError):  # a system may allow less than it declares
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return _HIGHEST if soft == resource.RLIM_INFINITY else soft


def connections_per_port(limit: int, ports: int) -> int:
    """Return the maximum number of connections per port that leaves ``RESERVED`` descriptors free."""
    return max(LEAST_CONNECTIONS, min(MOST_CONNECTIONS, (limit - RESERVED) // max(1, ports)))


def log_limit(limit: int, connections: int) -> None:
    """Log the effective limits of a node; warn if they are low."""
    logger.info("limit of open files: %d; connections per port: %d at most", limit, connections)
    if limit < _ENOUGH:
        logger.warning(
            "the limit of open files is %d, which many jobs or connections may exceed: set LimitNOFILE=65536 in the "
            "systemd unit, or raise `ulimit -Hn`, and start the node again",
            limit,
        )
