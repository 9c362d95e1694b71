"""Helper processes for expensive requests, limited in number and time, so that the requests never block the agent."""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from typing import Any

from seatunnel_core import stored
from seatunnel_core.errors import StoredValueError
from seatunnel_core.server.aside.limited import LimitedRequests
from seatunnel_core.server.errors import RequestError

logger = logging.getLogger("seatunnel.cluster")

LIMIT_S = 60
"""Time limit of a helper process, in seconds."""


class Asides(LimitedRequests):
    """Client that runs each request in a process of ``seatunnel_core.server.aside``."""

    limit_s = LIMIT_S
    at_once = 2
    most_waiting = 10
    busy = "too many expensive requests are waiting"

    async def _answer(self, request: bytes) -> Any:
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "seatunnel_core.server.aside"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise RequestError(f"cannot start a helper process: {error}", status=503, reason="busy") from error
        try:
            async with asyncio.timeout(LIMIT_S):
                told, complaint = await process.communicate(request)
        except TimeoutError:
            raise RequestError(f"the request took longer than {LIMIT_S} s", status=503, reason="timeout") from None
        finally:
            with contextlib.suppress(ProcessLookupError):  # including a JVM of Spark
                os.killpg(process.pid, signal.SIGKILL)
            await process.communicate()  # its pipes are closed when it ends
        try:
            return stored.parse(told)
        except StoredValueError as error:
            logger.error("a helper process failed: %s", complaint[-2000:].decode(errors="replace"))
            raise RequestError("the request failed: see the node's log", status=500, reason="bug") from error
