"""Check that the master of a standalone cluster responds, before Spark is started.

Otherwise Spark would retry for a minute and then fail with a null pointer exception.
"""

import logging
import socket
import time

from seatunnel_core.errors import PlatformError

logger = logging.getLogger("seatunnel.spark")

PATIENCE_S = 20.0
"""Time limit for a failover between masters, in seconds."""

_CONNECT_S = 5.0


def require_master(master: str, patience_s: float = PATIENCE_S) -> None:
    """Wait until a master responds at ``spark://HOST:PORT``, or at one of several comma-separated addresses."""
    if not master.startswith("spark://"):
        return
    deadline, is_logged = time.monotonic() + patience_s, False
    while reason := _unreachable(master):
        if time.monotonic() > deadline:
            raise PlatformError(
                f"no Spark master responds at {master} ({reason}). The master's web page shows its address, such "
                "as spark://HOST:7077; without a master, the job runs on this machine"
            )
        if not is_logged:
            logger.warning("no Spark master responds at %s (%s); retrying for %.0f s", master, reason, patience_s)
            is_logged = True
        time.sleep(0.5)


def _unreachable(master: str) -> str:
    """Return the reason why no address accepts a connection; empty if one does."""
    reason = ""
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        if not (host and port.isdecimal() and int(port) < 2**16):
            raise PlatformError(
                f"{master!r} is not a Spark master: expected spark://HOST:PORT; the port is usually 7077"
            )
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_S).close()
        except OSError as error:
            reason = error.strerror or str(error)
        else:
            return ""
    return reason
