"""Helper processes for expensive requests, limited in number and time. The requests never block the agent."""

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from seatunnel_core import stored
from seatunnel_core.errors import StoredValueError
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.errors import RequestError


class LimitedRequests(ABC):
    """Client of helper processes. Requests beyond the limit get status 503."""

    limit_s: ClassVar[int]
    """Time limit of a request, in seconds."""

    at_once: ClassVar[int]
    most_waiting: ClassVar[int]
    """Maximum number of requests that wait or run."""

    busy: ClassVar[str]
    """Message for requests beyond the limit."""

    def __init__(self, config: NodeConfig) -> None:
        self._engine_file = "" if config.engine_file is None else str(config.engine_file)
        self._room = asyncio.Semaphore(self.at_once)
        self._waiting = 0

    async def ask(self, what: str, request: Mapping[str, Any], *, reason: str = "") -> Any:
        """Run the request ``what`` and return its response. If it is rejected, ``reason`` replaces the error code."""
        if self._waiting >= self.most_waiting:
            raise RequestError(f"{self.busy}: try again", status=503, reason="busy")
        block = {**request, "do": what, "engine_file": self._engine_file, "limit_s": self.limit_s + 10}
        self._waiting += 1
        try:
            async with self._room:
                answer = await self._answer(json.dumps(block).encode())
        finally:
            self._waiting -= 1
        if "error" in answer:
            code = stored.text(answer, "code").lower().replace("-", "_")
            raise RequestError(stored.text(answer, "error"), status=answer.get("status", 400), reason=reason or code)
        return stored.member(answer, "answer")

    @abstractmethod
    async def _answer(self, request: bytes) -> Any:
        """Return the response of a helper process to a request."""


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
