"""Requests to running jobs, through the node that runs them: savepoints, checkpoints, metrics and plans."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from seatunnel_core import stored
from seatunnel_core.control import client
from seatunnel_core.errors import SeaTunnelError, StoredValueError
from seatunnel_core.server.agent.peers import Line, Peers
from seatunnel_core.server.errors import RequestError

TARGET = "/internal/v1/running-job"
LATER_S = 5.0
"""Time after a request's timeout, in seconds, after which the job also stops waiting, to free the connection's
thread."""

ASKED = ("checkpoints", "reread", "savepoint", "series", "plan")


class RunningJobs:
    """Client for running jobs. ``pids`` returns the process IDs of this member's worker processes."""

    def __init__(self, address: str, peers: Peers, pids: Callable[[], Collection[int]]) -> None:
        self._address = address
        self._peers = peers
        self._pids = pids
        self._pool = ThreadPoolExecutor(4, "running job")

    async def savepoint(self, member: str, job_id: str, name: str) -> Any:
        """Take a savepoint of a running job, and return it once it is complete. The default name is the next number.

        Raises:
            UsageError: The job is not running on this member, or the name is taken or invalid.
            RequestError: The savepoint takes too long. It may still complete.
        """
        request = {
            "do": "savepoint",
            "name": name or None,
            "stop": False,
            "drain": False,
            "timeout_s": Line.SAVEPOINT.answer_s + LATER_S,
        }
        try:
            return await self.ask(member, Line.SAVEPOINT, job_id, request)
        except TimeoutError:
            message = f"the savepoint takes longer than {Line.SAVEPOINT.answer_s:.0f} s; it may still complete"
            raise RequestError(message, status=503, reason="timeout") from None

    async def reread(self, member: str, job_id: str, table: str) -> None:
        """Read a captured table of a running job again; return once a checkpoint contains the request.

        Raises:
            UsageError: The job is not running on this member, or rejects the request.
            RequestError: No checkpoint was completed in time; the table may still be read again.
        """
        request = {"do": "reread", "table": table, "timeout_s": Line.SAVEPOINT.answer_s + LATER_S}
        try:
            await self.ask(member, Line.SAVEPOINT, job_id, request)
        except TimeoutError:
            message = (
                f"no checkpoint was completed in {Line.SAVEPOINT.answer_s:.0f} s; the table may still be read again"
            )
            raise RequestError(message, status=503, reason="timeout") from None

    async def checkpoints(self, member: str, job_id: str) -> dict[str, list[Any]]:
        """Return the last checkpoints of a job by pipeline; empty if the job does not respond."""
        try:
            found = await self.ask(member, Line.MONITORING, job_id, {"do": "checkpoints"})
            return {number: stored.items(found, number) for number in found}
        except (SeaTunnelError, StoredValueError, TimeoutError):
            return {}

    async def series(self, member: str, job_id: str, pipeline: int, since_s: float, most: int) -> dict[str, Any]:
        """Return metrics of a job over time, as ``JobSeries.record``; empty if the job does not respond."""
        request = {"do": "series", "pipeline": pipeline, "since_s": since_s, "most": most}
        try:
            found = await self.ask(member, Line.MONITORING, job_id, request)
            return dict(stored.below({"series": found}, "series"))
        except (SeaTunnelError, StoredValueError, TimeoutError):
            return {}

    async def plan(self, member: str, job_id: str) -> dict[str, Any] | None:
        """Return the plan of a job in the format of ``plan_record``, or ``None`` if it has none or does not respond."""
        try:
            found = await self.ask(member, Line.MONITORING, job_id, {"do": "plan"})
            return None if found is None else dict(stored.below({"plan": found}, "plan"))
        except (SeaTunnelError, StoredValueError, TimeoutError):
            return None

    async def ask(self, member: str, line: Line, job_id: str, request: Mapping[str, Any]) -> Any:
        """Send a request to a job; return the response.

        Raises:
            UsageError: The job is not running on this member, or rejects the request.
            SeaTunnelError: The member is unreachable.
            TimeoutError: The time limit of ``line`` has passed.
        """
        async with asyncio.timeout(line.answer_s):
            if member != self._address:
                return await self._peers.ask(member, line, TARGET, {"job_id": job_id, "request": request})
            asked = partial(client.ask, job_id, request, pids=self._pids())
            return await asyncio.get_running_loop().run_in_executor(self._pool, asked)

    def close(self) -> None:
        """Cancel pending requests."""
        self._pool.shutdown(wait=False, cancel_futures=True)
