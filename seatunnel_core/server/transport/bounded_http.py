"""HTTP/1.1 protocol of ``uvicorn`` with limits on the number of connections and on slow clients."""

import asyncio
import contextlib
import socket
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from seatunnel_core.server.transport.gate import GUEST, Gate, Guest, accept

HEADERS_S = 20.0
"""Maximum time for a request's headers to arrive, in seconds."""

STUCK_S = 60.0
"""Maximum time without progress while a client reads a response, in seconds."""


LINGER_S = 5.0
LINGER_BYTES = 64 * 1024 * 1024
"""Maximum number of body bytes that are received and dropped after an early response, within ``LINGER_S`` seconds.

Closing a socket with unread bytes would reset the connection, and the client would lose the response."""


class BoundedHttp(H11Protocol):  # type: ignore[misc]
    """Protocol that closes a connection if the request does not arrive in time, or the response is not read in time."""

    headers_s = HEADERS_S
    stuck_s = STUCK_S
    linger_s = LINGER_S
    linger_bytes = LINGER_BYTES

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._awaited: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None
        self._lingering: asyncio.TimerHandle | None = None
        self._dropped = 0

    def connection_made(self, transport: Any) -> None:
        """Start the timeout of the first request."""
        super().connection_made(_Lingering(self, transport))
        guest = self._guest()
        if guest is not None:
            guest.close = transport.abort
        self._await_request()

    def data_received(self, data: bytes) -> None:
        """Parse received bytes. The request timeout does not run while a response is in progress."""
        if self.lingers:
            self._dropped += len(data)
            if self._dropped > self.linger_bytes:
                self.transport.abort()
            return
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            _cancel(self._awaited)
            self._awaited = None
        elif self._awaited is None:
            self._await_request()

    def pause_writing(self) -> None:
        """Start the timeout for a client that does not read its response."""
        super().pause_writing()
        self._stuck = self._stuck or self.loop.call_later(self.stuck_s, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the timeout, because the client reads again."""
        super().resume_writing()
        _cancel(self._stuck)
        self._stuck = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel all timers and release the connection's slot."""
        guest = self._guest()
        if guest is not None:
            guest.leave()
        _cancel(self._awaited)
        _cancel(self._stuck)
        _cancel(self._lingering)
        super().connection_lost(exc)

    @property
    def lingers(self) -> bool:
        """True if the last response was sent and the rest of its request is being discarded."""
        return self._lingering is not None

    @property
    def is_receiving(self) -> bool:
        """True if the body of a request has not arrived completely."""
        return self.conn.their_state is h11.SEND_BODY

    def linger(self, transport: Any) -> None:
        """End the response, and discard further bytes until the client closes the connection or a timeout expires."""
        self._lingering = self.loop.call_later(self.linger_s, transport.abort)
        with contextlib.suppress(OSError, RuntimeError):
            if transport.can_write_eof():
                transport.write_eof()
            transport.resume_reading()

    def _guest(self) -> Guest | None:
        found = self.app_state.get(GUEST)
        return found if isinstance(found, Guest) else None

    def _await_request(self) -> None:
        self._awaited = self.loop.call_later(self.headers_s, self.transport.abort)


class _Lingering:
    """Transport that delays ``close`` until the client has sent its body, within limits."""

    def __init__(self, protocol: BoundedHttp, transport: Any) -> None:
        self._protocol = protocol
        self._transport = transport

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def close(self) -> None:
        """Close the connection; linger if a body is still arriving."""
        if self._protocol.lingers:
            return
        if self._protocol.is_receiving and not self._transport.is_closing():
            self._protocol.linger(self._transport)
        else:
            self._transport.close()

    def is_closing(self) -> bool:
        """Return True if no further response can be sent."""
        return self._protocol.lingers or bool(self._transport.is_closing())


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


class BoundedServer(uvicorn.Server):  # type: ignore[misc]
    """Server with its own accept loop. Its connection limit includes connections that have not sent any data yet."""

    def __init__(self, config: uvicorn.Config, gate: Gate) -> None:
        super().__init__(config)
        self.gate = gate
        self._accepting: list[asyncio.Task[None]] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the accept loops."""
        await super().startup(sockets=[])
        for listener in sockets or ():
            listener.setblocking(False)
            task = asyncio.create_task(accept(listener, self.gate, self._protocol, self.config.ssl))
            self._accepting.append(task)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting connections and close the existing ones."""
        for task in self._accepting:
            task.cancel()
        await asyncio.gather(*self._accepting, return_exceptions=True)
        await super().shutdown(sockets=sockets)

    def _protocol(self, guest: Guest) -> BoundedHttp:
        state = {**self.lifespan.state, GUEST: guest}
        return BoundedHttp(config=self.config, server_state=self.server_state, app_state=state)
