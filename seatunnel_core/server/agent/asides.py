"""Helper processes for expensive requests: limited in number and time, so that they never block the agent."""

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

from seatunnel_core import stored
from seatunnel_core.errors import StoredValueError
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.errors import RequestError

logger = logging.getLogger("seatunnel.cluster")

LIMIT_S = 60
"""Time limit of a helper process, in seconds."""

AT_ONCE = 2
MOST_WAITING = 10
"""Maximum number of waiting requests; further ones get status 503."""


class Asides:
    """Runs requests in processes of ``seatunnel_core.server.aside``.

    Args:
        config: Configuration of the node.
    """

    def __init__(self, config: NodeConfig) -> None:
        self._engine_file = "" if config.engine_file is None else str(config.engine_file)
        self._room = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0

    async def ask(self, what: str, request: Mapping[str, Any]) -> Any:
        """Run a request and return its response.

        Raises:
            RequestError: The request was rejected, took too long, or too many are waiting.
        """
        if self._waiting >= MOST_WAITING:
            raise RequestError("too many expensive requests are waiting: try again", status=503, reason="busy")
        block = {**request, "do": what, "engine_file": self._engine_file, "limit_s": LIMIT_S + 10}
        self._waiting += 1
        try:
            async with self._room:
                answer = await self._answer(json.dumps(block).encode())
        finally:
            self._waiting -= 1
        if "error" in answer:
            code = stored.text(answer, "code").lower().replace("-", "_")
            raise RequestError(stored.text(answer, "error"), reason=code)
        return stored.member(answer, "answer")

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
