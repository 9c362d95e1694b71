"""Threading servers with limits on connections and request times."""

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
"""Seconds to pause if a connection could not be accepted because no file descriptor was free."""

_OUT_OF_RESOURCES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_LOG_EACH_S = 60.0


class BoundedServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Threading server with a limit on untrusted connections: those for which the handler has not called ``trust``.

    If there are more than ``most_untrusted``, the oldest one is closed, so that idle connections do not block others.
    """

    most_untrusted = 64

    def __init__(self, *arguments: Any, **more: Any) -> None:
        self._untrusted: dict[socket.socket, None] = {}
        self._changing = threading.Lock()
        self._logged_at = -_LOG_EACH_S
        super().__init__(*arguments, **more)

    def get_request(self) -> Any:
        """Accept a connection. Pause if no file descriptor is free, because the caller retries at once."""
        try:
            return super().get_request()
        except OSError as error:
            if error.errno in _OUT_OF_RESOURCES:
                if time.monotonic() - self._logged_at >= _LOG_EACH_S:
                    self._logged_at = time.monotonic()
                    logger.warning("cannot accept connections: %s; raise the limit of open files", error)
                time.sleep(PAUSE_S)
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        """Register a connection as untrusted and serve it in a thread."""
        with self._changing:
            if len(self._untrusted) >= self.most_untrusted:
                oldest = next(iter(self._untrusted))
                del self._untrusted[oldest]
                with contextlib.suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)  # its thread ends and closes it
            self._untrusted[request] = None
        super().process_request(request, client_address)

    def trust(self, request: socket.socket) -> None:
        """Mark a connection as trusted, so that it is never closed in favour of a new one."""
        with self._changing:
            self._untrusted.pop(request, None)

    def shutdown_request(self, request: Any) -> None:
        """Unregister and close a connection."""
        self.trust(request)
        super().shutdown_request(request)


class DeadlineReader(io.RawIOBase):
    """Reader for a connection, with a deadline for the whole request."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self._connection = connection
        self._until = time.monotonic() + seconds

    def extend(self, seconds: float | None) -> None:
        """Set the deadline; ``None`` for no deadline."""
        self._until = float("inf") if seconds is None else time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Receive bytes, or raise ``TimeoutError`` after the deadline."""
        left_s = self._until - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("the request did not arrive in time")
        self._connection.settimeout(None if left_s == float("inf") else left_s)
        return self._connection.recv_into(buffer)
