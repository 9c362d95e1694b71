"""Connection limit of a port, and an accept loop that survives running out of file descriptors.

A connection counts as soon as it is accepted. It is *untrusted* until one of its requests is allowed. If a port is
full, a new connection replaces the oldest untrusted one, so idle connections cannot lock out members, clients and
users.
"""

import asyncio
import contextlib
import errno
import logging
import socket
import ssl
import time
from collections.abc import Callable
from typing import Any

from attrs import define, field

logger = logging.getLogger("seatunnel.cluster")

GUEST = "seatunnel_guest"
"""Key of the connection's ``Guest`` in the state of a request's scope."""

HANDSHAKE_S = 20.0
"""Maximum duration of a TLS handshake, in seconds."""

OUT_OF_RESOURCES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
"""Errors of ``accept`` that are resolved when other connections or files are closed."""

PAUSE_S = 0.2
"""Pause of the accept loop after one of the errors in ``OUT_OF_RESOURCES``, in seconds."""

_LOG_EACH_S = 60.0

_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"


@define(eq=False)
class Guest:
    """An accepted connection."""

    gate: "Gate"
    close: Callable[[], object]
    """Function that closes the connection immediately."""

    def trust(self) -> None:
        """Mark the connection as trusted. Trusted connections are never closed to admit new ones."""
        self.gate.trust(self)

    def leave(self) -> None:
        """Release the connection's slot. Idempotent."""
        self.gate.leave(self)


@define(eq=False)
class Gate:
    """Accepted connections of one port."""

    most: int
    """Maximum number of connections."""

    _untrusted: dict[Guest, None] = field(factory=dict, init=False)
    """Untrusted connections, oldest first."""

    _trusted: set[Guest] = field(factory=set, init=False)
    _logged: dict[str, float] = field(factory=dict, init=False)

    def __len__(self) -> int:
        return len(self._untrusted) + len(self._trusted)

    def enter(self, guest: Guest) -> bool:
        """Admit a connection. Return False if trusted connections use all slots."""
        if len(self) >= self.most:
            self.log(
                "a port has reached its limit of %d connections: connections without a valid request are closed",
                self.most,
            )
            if not self.evict():
                return False
        self._untrusted[guest] = None
        return True

    def evict(self) -> bool:
        """Close the oldest untrusted connection. Return False if there is none."""
        oldest = next(iter(self._untrusted), None)
        if oldest is None:
            return False
        del self._untrusted[oldest]
        oldest.close()
        return True

    def trust(self, guest: Guest) -> None:
        """Mark a connection as trusted, because one of its requests was allowed."""
        if guest in self._untrusted:
            del self._untrusted[guest]
            self._trusted.add(guest)

    def leave(self, guest: Guest) -> None:
        """Release the slot of a connection."""
        self._untrusted.pop(guest, None)
        self._trusted.discard(guest)

    def log(self, message: str, *arguments: Any) -> None:
        """Log a warning, at most once a minute for each message."""
        now = time.monotonic()
        if now - self._logged.get(message, -_LOG_EACH_S) >= _LOG_EACH_S:
            self._logged[message] = now
            logger.warning(message, *arguments)


async def accept(
    listener: socket.socket, gate: Gate, make: Callable[[Guest], asyncio.Protocol], tls: ssl.SSLContext | None
) -> None:
    """Accept connections until cancelled. ``make`` returns a connection's protocol, which calls ``Guest.leave``."""
    loop = asyncio.get_running_loop()
    beginning: set[asyncio.Task[None]] = set()
    try:
        while True:
            try:
                connection, _ = await loop.sock_accept(listener)
            except OSError as error:
                if listener.fileno() < 0:
                    return
                if error.errno in OUT_OF_RESOURCES:
                    gate.log("cannot accept connections: %s. The open-file limit is too low", error)
                    gate.evict()
                    await asyncio.sleep(PAUSE_S)
                continue
            _admit(connection, gate, make, tls, beginning)
            await asyncio.sleep(0)  # a flood of connections must not block the event loop
    finally:
        for task in beginning:
            task.cancel()


def _admit(
    connection: socket.socket,
    gate: Gate,
    make: Callable[[Guest], asyncio.Protocol],
    tls: ssl.SSLContext | None,
    beginning: set[asyncio.Task[None]],
) -> None:
    guest = Guest(gate, connection.close)
    if not gate.enter(guest):
        if tls is None:
            with contextlib.suppress(OSError):
                connection.send(_BUSY)
        connection.close()
        return
    task = asyncio.create_task(_begin(connection, guest, make, tls))
    guest.close = task.cancel
    beginning.add(task)
    task.add_done_callback(beginning.discard)


async def _begin(
    connection: socket.socket, guest: Guest, make: Callable[[Guest], asyncio.Protocol], tls: ssl.SSLContext | None
) -> None:
    """Attach a connection to its protocol, after the TLS handshake if the port uses TLS."""
    try:
        await asyncio.get_running_loop().connect_accepted_socket(
            lambda: make(guest), connection, ssl=tls, ssl_handshake_timeout=None if tls is None else HANDSHAKE_S
        )
    except (OSError, asyncio.CancelledError):
        guest.leave()
        connection.close()
