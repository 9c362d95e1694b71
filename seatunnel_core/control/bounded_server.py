"""Limits of servers that have a thread for each connection: how many, how long a request takes, and no busy loop."""

import contextlib
import errno
import io
import logging
import socket
import socketserver
import threading
import time
from typing import Any

logger = logging.getLogger("seatunnel.job")

PAUSE_S = 0.2
"""Pause after a connection could not be accepted because no descriptor was free."""

_OUT_OF_RESOURCES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_LOG_EACH_S = 60.0


class BoundedServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """A threading server. A connection is a stranger until its handler calls ``trust``.

    Of more strangers than ``most_untrusted`` the one that has waited longest is closed, so idle connections keep no
    other one out, and cost few threads.
    """

    most_untrusted = 64

    def __init__(self, *arguments: Any, **more: Any) -> None:
        self._untrusted: dict[socket.socket, None] = {}
        self._changing = threading.Lock()
        self._logged_at = -_LOG_EACH_S
        super().__init__(*arguments, **more)

    def get_request(self) -> Any:
        """Accept a connection; wait for a moment if no descriptor is free, for the caller tries again at once."""
        try:
            return super().get_request()
        except OSError as error:
            if error.errno in _OUT_OF_RESOURCES:
                if time.monotonic() - self._logged_at >= _LOG_EACH_S:
                    self._logged_at = time.monotonic()
                    logger.warning("no connection can be accepted now: %s; raise the limit of open files", error)
                time.sleep(PAUSE_S)
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        """Count a connection as a stranger, and serve it in a thread."""
        with self._changing:
            if len(self._untrusted) >= self.most_untrusted:
                oldest = next(iter(self._untrusted))
                del self._untrusted[oldest]
                with contextlib.suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)  # its thread ends, and closes it
            self._untrusted[request] = None
        super().process_request(request, client_address)

    def trust(self, request: socket.socket) -> None:
        """Record that a connection has shown that it may stay."""
        with self._changing:
            self._untrusted.pop(request, None)

    def shutdown_request(self, request: Any) -> None:
        """Forget and close a connection."""
        self.trust(request)
        super().shutdown_request(request)


class DeadlineReader(io.RawIOBase):
    """The bytes of a connection until a deadline, however slowly they arrive.

    Args:
        connection: to read from.
        seconds: until the deadline; ``extend`` sets another one.
    """

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self._connection = connection
        self._until = time.monotonic() + seconds

    def extend(self, seconds: float | None) -> None:
        """Set the deadline; ``None`` for none."""
        self._until = float("inf") if seconds is None else time.monotonic() + seconds

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Receive bytes.

        Raises:
            TimeoutError: the deadline has passed.
        """
        left_s = self._until - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("the request did not arrive in time")
        self._connection.settimeout(None if left_s == float("inf") else left_s)
        return self._connection.recv_into(buffer)
