"""What is asked of running jobs themselves, at the node whose host has them: savepoints, and their last checkpoints."""

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from seatunnel_core import stored
from seatunnel_core.control import client
from seatunnel_core.errors import SeaTunnelError, StoredValueError
from seatunnel_core.server.agent.peers import Line, Peers
from seatunnel_core.server.errors import RequestError

TARGET = "/internal/v1/running-job"
ASKED = ("checkpoints", "savepoint", "series", "plan")


class RunningJobs:
    """Asks jobs.

    Args:
        address: of this member.
        peers: asks other members.
    """

    def __init__(self, address: str, peers: Peers) -> None:
        self._address = address
        self._peers = peers
        self._pool = ThreadPoolExecutor(4, "running job")

    async def savepoint(self, member: str, job_id: str, name: str) -> Any:
        """Take a savepoint of a job that goes on, and return what it holds, when it is complete.

        Args:
            member: whose host has the job.
            job_id: of the job.
            name: of the savepoint; empty: the next number.

        Raises:
            UsageError: the job does not run there, or the name is taken or is none.
            RequestError: it takes too long; it may still be completed.
        """
        request = {"do": "savepoint", "name": name or None, "stop": False, "drain": False}
        try:
            return await self.ask(member, Line.SAVEPOINT, job_id, request)
        except TimeoutError:
            message = f"the savepoint takes longer than {Line.SAVEPOINT.answer_s:.0f} s, and may still be completed"
            raise RequestError(message, status=503, reason="timeout") from None

    async def checkpoints(self, member: str, job_id: str) -> dict[str, list[Any]]:
        """Return the last checkpoints of a job by pipeline, as ``RecentCheckpoint``; none when it does not answer."""
        try:
            found = await self.ask(member, Line.MONITORING, job_id, {"do": "checkpoints"})
            return {number: stored.items(found, number) for number in found}
        except (SeaTunnelError, StoredValueError, TimeoutError):
            return {}

    async def series(self, member: str, job_id: str, pipeline: int, since_s: float, most: int) -> dict[str, Any]:
        """Return metrics over time of a job, as ``JobSeries.record``; nothing when it does not answer."""
        request = {"do": "series", "pipeline": pipeline, "since_s": since_s, "most": most}
        try:
            found = await self.ask(member, Line.MONITORING, job_id, request)
            return dict(stored.below({"series": found}, "series"))
        except (SeaTunnelError, StoredValueError, TimeoutError):
            return {}

    async def plan(self, member: str, job_id: str) -> dict[str, Any] | None:
        """Return the plan of a job, as ``plan_record``; ``None`` when it does not answer, or has none yet."""
        try:
            found = await self.ask(member, Line.MONITORING, job_id, {"do": "plan"})
            return None if found is None else dict(stored.below({"plan": found}, "plan"))
        except (SeaTunnelError, StoredValueError, TimeoutError):
            return None

    async def ask(self, member: str, line: Line, job_id: str, request: Mapping[str, Any]) -> Any:
        """Return a job's answer.

        Raises:
            UsageError: the job does not run there, or refuses.
            SeaTunnelError: the member cannot be reached.
            TimeoutError: it has not answered within the time of the line.
        """
        async with asyncio.timeout(line.answer_s):
            if member != self._address:
                return await self._peers.ask(member, line, TARGET, {"job_id": job_id, "request": request})
            return await asyncio.get_running_loop().run_in_executor(self._pool, client.ask, job_id, request)

    def close(self) -> None:
        """Wait for nothing any more."""
        self._pool.shutdown(wait=False, cancel_futures=True)
