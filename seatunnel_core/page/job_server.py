"""Page of a single job, which its process serves on loopback while it runs.

Other users of the machine can also reach the port, so requests need the key in the printed address. The key is in the
fragment of the address (``#``), so requests and logs do not contain it; the page sends it as a header.
"""

import hmac
import io
import json
import logging
import secrets
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from seatunnel_core import stored
from seatunnel_core.control.bounded_server import BoundedServer, DeadlineReader
from seatunnel_core.errors import SeaTunnelError, StoredValueError
from seatunnel_core.page.assets import HEADERS, START, asset
from seatunnel_core.page.job_answers import answer
from seatunnel_core.runtime.control_requests import Shown

LONGEST_BODY = 64 * 1024
PATIENCE_S = 10
"""Maximum seconds for a request to arrive, or for the client to receive a response."""

_LOOK_S = 0.2
"""Seconds between checks whether to stop the server; the end of the job may be delayed by this time."""

logger = logging.getLogger("seatunnel.job")


class JobPage:
    """Server for the page of a job, until ``close`` is called. Raises ``OSError`` if no loopback port is available."""

    def __init__(self, run: Shown) -> None:
        self.key = secrets.token_urlsafe(24)
        self._server = _Server(run, self.key)
        self._serving = threading.Thread(
            target=self._server.serve_forever, args=(_LOOK_S,), name="seatunnel-page", daemon=True
        )
        self._serving.start()

    @property
    def address(self) -> str:
        """Address for a browser, with the key."""
        return f"http://{self._server.host}/#key={self.key}"

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._serving.join()
        self._server.server_close()


class _Server(BoundedServer, HTTPServer):
    daemon_threads = True
    block_on_close = False
    """False, because a browser may keep a connection open indefinitely."""

    def __init__(self, run: Shown, key: str) -> None:
        self.run = run
        self.key = key
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        logger.debug("a response of the page was not delivered: the client disconnected")


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = PATIENCE_S
    """Timeout of each write, and of a whole request."""

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self.rfile = io.BufferedReader(DeadlineReader(self.connection, PATIENCE_S))

    server_version, sys_version = "seatunnel", ""

    def do_GET(self) -> None:
        path = self._allowed_path()
        if path is None:
            return
        name = START if path == "/" else path.removeprefix("/page/")
        found = asset(name) if path == "/" or path.startswith("/page/") else None
        if found is not None:
            self._send(200, found.body, found.kind)
        elif self._knows_key():
            query = dict(parse_qsl(urlsplit(self.path).query))
            run = self.server.run
            value = None if run.job is None else answer(path, query, run.job, run.metrics(), run.series)
            self._send_value(200, value) if value is not None else self._refuse(
                404, f"the server of a single job does not have the path {path}"
            )

    def do_POST(self) -> None:
        path = self._allowed_path()
        if path is None or not self._knows_key():
            return
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit() and int(length) <= LONGEST_BODY):
            self._refuse(413, f"a request must have a Content-Length of at most {LONGEST_BODY} bytes")
        elif path not in ("/stop-job", "/savepoint"):
            self._refuse(404, f"the server of a single job does not accept POST requests to {path}")
        else:
            self._carry_out(path, self.rfile.read(int(length)))

    def _carry_out(self, path: str, body: bytes) -> None:
        """Stop the job or take a savepoint, like the REST endpoints, and respond when this is done."""
        run, name = self.server.run, ""
        try:
            block = stored.parse(body)
            if stored.text(block, "jobId") != run.job_id:
                self._refuse(404, f"this server serves only the job {run.job_id}")
                return
            if path == "/savepoint" or block.get("isStopWithSavePoint"):
                name = run.savepoint(None, stop=path == "/stop-job").name
            elif block.get("force"):
                run.kill()
            else:
                run.stop()
        except StoredValueError as error:
            self._refuse(400, str(error))
        except SeaTunnelError as error:
            self._send_value(500, {"status": "fail", "message": str(error), "code": error.code})
        else:
            self._send_value(200, {"jobId": run.job_id, **({"name": name} if name else {})})

    def _allowed_path(self) -> str | None:
        """Return the path of the request if its host and origin are this server; or else reject it and return ``None``.

        This prevents DNS rebinding: a page of another site sends that site's name as the host or origin.
        """
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        own = (self.server.host, f"localhost:{self.server.server_port}")
        if host in own and origin in (None, f"http://{host}"):
            return urlsplit(self.path).path
        self._refuse(403, "cross-site request rejected")
        return None

    def _knows_key(self) -> bool:
        given = self.headers.get("Authorization", "")
        if hmac.compare_digest(given.encode("utf-8", "replace"), f"Bearer {self.server.key}".encode()):
            self.server.trust(self.connection)
            return True
        self._refuse(401, "open the address that the command printed; it ends with a key")
        return False

    def _refuse(self, status: int, message: str) -> None:
        self._send_value(status, {"status": "fail", "message": message})

    def _send_value(self, status: int, value: Any) -> None:
        self._send(status, json.dumps(value).encode(), "application/json")

    def _send(self, status: int, body: bytes, kind: str) -> None:
        headers: Mapping[str, str] = {"Content-Type": kind, "Content-Length": str(len(body)), **HEADERS}
        self.connection.settimeout(PATIENCE_S)
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Do not log requests, because the terminal shows the job."""
