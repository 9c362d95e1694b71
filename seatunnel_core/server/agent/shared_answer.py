"""Single-flight cache of an expensive response: concurrent and slightly later requests share it."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

FRESH_S = 1.0


class SharedAnswer:
    """Computes a response once for all requests within ``FRESH_S``."""

    def __init__(self) -> None:
        self._making: asyncio.Future[Any] | None = None
        self._begun_at = 0.0

    async def get(self, make: Callable[[], Awaitable[Any]]) -> Any:
        """Return a result of ``make`` that is at most ``FRESH_S`` old. Errors of ``make`` are propagated."""
        now = time.monotonic()
        if self._making is None or (self._making.done() and now - self._begun_at > FRESH_S):
            self._begun_at = now
            self._making = asyncio.ensure_future(make())
        return await asyncio.shield(self._making)
