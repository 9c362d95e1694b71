"""Savepoints of running jobs that go on: asked for at the node whose host has the job."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from seatunnel_core.control import client
from seatunnel_core.server.agent.peers import Line, Peers
from seatunnel_core.server.errors import RequestError


class Savepoints:
    """Takes savepoints.

    Args:
        address: of this member.
        peers: asks other members.
    """

    def __init__(self, address: str, peers: Peers) -> None:
        self._address = address
        self._peers = peers
        self._pool = ThreadPoolExecutor(4, "savepoint")

    async def take(self, member: str, job_id: str, name: str) -> dict[str, Any]:
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
            async with asyncio.timeout(Line.SAVEPOINT.answer_s):
                if member != self._address:
                    block = {"job_id": job_id, "name": name}
                    found = await self._peers.ask(member, Line.SAVEPOINT, "/internal/v1/savepoint", block)
                else:
                    loop = asyncio.get_running_loop()
                    found = await loop.run_in_executor(self._pool, client.ask, job_id, request)
        except TimeoutError:
            message = f"the savepoint takes longer than {Line.SAVEPOINT.answer_s:.0f} s, and may still be completed"
            raise RequestError(message, status=503, reason="timeout") from None
        return dict(found)

    def close(self) -> None:
        """Wait for nothing any more."""
        self._pool.shutdown(wait=False, cancel_futures=True)
