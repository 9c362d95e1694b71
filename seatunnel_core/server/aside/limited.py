"""Requests to helper processes, limited in number."""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from seatunnel_core import stored
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
        """Run the request ``what`` and return its response; ``reason`` replaces the error's code if it is rejected."""
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
