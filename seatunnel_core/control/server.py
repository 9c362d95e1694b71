"""Server side of the control socket of a job. Each request and each response is one line of JSON.

::

    {"do": "savepoint", "name": null, "stop": true, "drain": false}
    {"answer": {…}}        or        {"error": "…"}
"""

import contextlib
import json
import logging
import os
import selectors
import socket
import socketserver
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from seatunnel_core import stored
from seatunnel_core.control.bounded_server import BoundedServer
from seatunnel_core.control.sockets import control_folder, socket_of
from seatunnel_core.errors import SeaTunnelError, StoredValueError

LONGEST_REQUEST = 64 * 1024
PATIENCE_S = 3
"""Maximum seconds until a request has arrived."""

Verb = Callable[[Mapping[str, Any]], Any]
"""Request handler that returns a JSON value. A ``SeaTunnelError`` becomes the ``error`` of the response."""

logger = logging.getLogger("seatunnel.job")


class ControlServer:
    """Control server of one job. It listens from ``start`` to ``close``."""

    def __init__(self, job_id: str, verbs: Mapping[str, Verb], environment: Mapping[str, str] = os.environ) -> None:
        self._job_id = job_id
        self._verbs = verbs
        self._environment = environment
        self._server: _Server | None = None
        self._path: Path | None = None
        self._listener: threading.Thread | None = None

    def start(self) -> None:
        """Listen for requests in a separate thread. A failure is logged as a warning, and the job continues."""
        try:
            path = socket_of(control_folder(self._environment), self._job_id, os.getpid())
            with contextlib.suppress(FileNotFoundError):
                path.unlink()  # left by a killed process with the same pid
            self._server = _Server(str(path), self._verbs)
            path.chmod(0o600)
        except (OSError, SeaTunnelError) as error:
            logger.warning("this job cannot accept requests: %s", error, extra={"job": self._job_id})
            return
        self._path = path
        self._listener = threading.Thread(target=self._server.listen, name="seatunnel-control", daemon=True)
        self._listener.start()

    def close(self) -> None:
        """Stop listening once all pending requests are processed. Idempotent."""
        server, self._server = self._server, None
        if server is None:
            return
        if self._listener is not None:
            server.leave()
            self._listener.join()
        server.server_close()
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()


class _Server(BoundedServer):
    address_family = socket.AF_UNIX
    daemon_threads = False
    block_on_close = True
    """True, because the client that requested a stop must receive its response before the process ends."""

    def __init__(self, path: str, verbs: Mapping[str, Verb]) -> None:
        self.verbs = verbs
        super().__init__(path, _Handler)
        self._left, self._leaving = socket.socketpair()

    def listen(self) -> None:
        """Serve requests until ``leave`` is called. ``serve_forever`` would delay the end of a job by half a second."""
        with selectors.DefaultSelector() as ready, self._left:
            ready.register(self, selectors.EVENT_READ)
            ready.register(self._left, selectors.EVENT_READ)
            while all(key.fileobj is not self._left for key, _ in ready.select()):
                self.handle_request()

    def leave(self) -> None:
        self._leaving.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        logger.debug("a response was not delivered: the client disconnected")


class _Handler(socketserver.StreamRequestHandler):
    server: _Server
    timeout = PATIENCE_S

    def handle(self) -> None:
        line = self.rfile.readline(LONGEST_REQUEST)
        self.connection.settimeout(None)
        self.server.trust(self.connection)
        if line:
            self.wfile.write(json.dumps(answer(line, self.server.verbs)).encode() + b"\n")


def answer(line: bytes, verbs: Mapping[str, Verb]) -> dict[str, Any]:
    """Return the response to a request: ``{"answer": …}``, or ``{"error": MESSAGE}`` if it is invalid or fails."""
    verb = ""
    try:
        request = stored.parse(line)
        verb = stored.text(request, "do")
        if verb not in verbs:
            raise StoredValueError(
                f"this version does not support the request {ascii(verb)[:60]}; it supports {', '.join(sorted(verbs))}"
            )
        return {"answer": verbs[verb](request)}
    except SeaTunnelError as error:
        return {"error": str(error)}
    except TimeoutError:
        return {"error": "the request is taking longer than the wait limit, and may still complete"}
    except Exception as error:
        logger.exception("internal error: the request %s failed", ascii(verb)[:60])  # the rest may contain secrets
        return {"error": f"a bug in the job's process; see its log: {type(error).__name__}: {error}"}
