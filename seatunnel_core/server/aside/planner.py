"""Helper process in which an agent parses and plans submitted jobs. Planning runs plugins and may take a long time."""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

from seatunnel_core import stored
from seatunnel_core.errors import StoredValueError
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.aside.asides import LimitedRequests
from seatunnel_core.server.errors import RequestError

logger = logging.getLogger("seatunnel.cluster")

LIMIT_S = 45
"""Time limit for planning a job, in seconds, after which the process is killed."""

_LONGEST_ANSWER = 128 * 1024 * 1024
"""Maximum size of a response, in bytes. In the response to a list of jobs, each job text is escaped twice."""


class Planner(LimitedRequests):
    """Planner of one job at a time, in a process that starts with the first request and ends when idle."""

    limit_s = LIMIT_S
    at_once = 1
    most_waiting = 200
    busy = "too many jobs are waiting to be planned"

    def __init__(self, config: NodeConfig) -> None:
        super().__init__(config)
        self._process: asyncio.subprocess.Process | None = None

    async def plan(self, job: Mapping[str, Any]) -> Any:
        """Return the name of a job and its warnings, as ``server.aside.planning.plan`` does."""
        return await self.ask("plan", job, reason="config_error")

    async def split(self, body: str) -> Any:
        """Return the jobs of a list, as ``server.aside.submissions.split`` does."""
        return await self.ask("split", {"body": body})

    async def encrypt(self, text: str, format: str) -> Any:
        """Return a job with its secrets encrypted, as ``server.aside.submissions.encrypt`` does."""
        return await self.ask("encrypt", {"text": text, "format": format})

    async def close(self) -> None:
        """Kill the process."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()

    async def _answer(self, request: bytes) -> Any:
        for is_repeated in (False, True):  # an idle process ends by itself, possibly just now
            had_run = self._process is not None
            try:
                async with asyncio.timeout(LIMIT_S):
                    line = await self._exchange(request)
            except TimeoutError:
                await self.close()
                raise RequestError(
                    f"the job could not be planned within {LIMIT_S} s", status=503, reason="timeout"
                ) from None
            except BaseException:
                await self.close()
                raise
            if line:
                break
            await self.close()
            if is_repeated or not had_run:
                logger.error("the planning process ended; its output is above")
                raise RequestError("planning failed: see the node's log", status=500, reason="bug")
        try:
            return stored.parse(line)
        except StoredValueError as error:
            await self.close()
            raise RequestError("planning failed: see the node's log", status=500, reason="bug") from error

    async def _exchange(self, request: bytes) -> bytes:
        """Send a request and return the response line; empty if the process has ended."""
        if self._process is None:
            try:
                self._process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", "seatunnel_core.server.aside", "--stay"),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    limit=_LONGEST_ANSWER,
                    start_new_session=True,
                )
            except OSError as error:
                raise RequestError(f"cannot start the planning process: {error}", status=503, reason="busy") from error
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(request + b"\n")
            await process.stdin.drain()
            return await process.stdout.readline()
        except (ConnectionError, ValueError):  # the process ended, or wrote an invalid line
            return b""
