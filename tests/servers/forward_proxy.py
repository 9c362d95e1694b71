"""A small HTTP proxy with a password, for requests whose target is a whole URL."""

import base64
import http.client
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit


class Proxy(ThreadingHTTPServer):
    """Lets in who sends the password, and notes the targets that it forwards."""

    daemon_threads = True

    def __init__(self, user: str, password: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.expected = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
        self.forwarded: list[str] = []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def _forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Proxy-Authorization") != self.server.expected:
            self._answer(407, [], b"")
            return
        self.server.forwarded.append(self.path)
        target = urlsplit(self.path)
        connection = http.client.HTTPConnection(target.netloc, timeout=30)
        headers = {name: value for name, value in self.headers.items() if not name.startswith("Proxy-")}
        connection.request(self.command, self.path.partition(target.netloc)[2], body, headers)
        answer = connection.getresponse()
        kept = [each for each in answer.getheaders() if each[0].lower() not in ("transfer-encoding", "connection")]
        self._answer(answer.status, kept, answer.read())
        connection.close()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _forward  # noqa: N815

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() != "content-length" or self.command == "HEAD":
                self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keeps the tests' output clean."""


@contextmanager
def forward_proxy(user: str, password: str) -> Iterator[tuple[int, list[str]]]:
    """Yields its port, and the targets that it forwarded so far."""
    with Proxy(user, password) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_port, server.forwarded
        finally:
            server.shutdown()
            thread.join()
