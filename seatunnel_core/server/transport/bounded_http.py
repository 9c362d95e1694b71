"""HTTP/1.1 of ``uvicorn`` with bounds for clients that are slow: they hold a connection for so long, and no longer."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS_S = 20.0
"""For so long a request may take to arrive, its body apart."""

STUCK_S = 60.0
"""For so long a client may take nothing of an answer that is under way."""


class BoundedHttp(H11Protocol):  # type: ignore[misc]
    """Closes a connection on which no request arrives in time, or whose client does not take its answer."""

    headers_s = HEADERS_S
    stuck_s = STUCK_S

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._awaited: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Await the first request."""
        super().connection_made(transport)
        self._await_request()

    def data_received(self, data: bytes) -> None:
        """Take in a part of a request; while one is answered, none is awaited."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            _cancel(self._awaited)
            self._awaited = None
        elif self._awaited is None:
            self._await_request()

    def pause_writing(self) -> None:
        """Begin to wait for a client that does not read."""
        super().pause_writing()
        self._stuck = self._stuck or self.loop.call_later(self.stuck_s, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on with a client that reads."""
        super().resume_writing()
        _cancel(self._stuck)
        self._stuck = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Await nothing any more."""
        _cancel(self._awaited)
        _cancel(self._stuck)
        super().connection_lost(exc)

    def _await_request(self) -> None:
        self._awaited = self.loop.call_later(self.headers_s, self.transport.abort)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
