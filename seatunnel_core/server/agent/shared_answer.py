"""An answer that is dear to make: readers who ask while it is made, and a moment later, get the same one."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

FRESH_S = 1.0


class SharedAnswer:
    """Makes an answer once for all who ask for it within ``FRESH_S``."""

    def __init__(self) -> None:
        self._making: asyncio.Future[Any] | None = None
        self._begun_at = 0.0

    async def get(self, make: Callable[[], Awaitable[Any]]) -> Any:
        """Return what ``make`` gives, or has given a moment ago; and raise what it raises."""
        now = time.monotonic()
        if self._making is None or (self._making.done() and now - self._begun_at > FRESH_S):
            self._begun_at = now
            self._making = asyncio.ensure_future(make())
        return await asyncio.shield(self._making)
