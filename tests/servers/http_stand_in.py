"""Stand-ins for HTTP services, in a thread of the test."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from threading import Thread
from typing import TypeVar

S = TypeVar("S", bound=HTTPServer)


class StandIn(BaseHTTPRequestHandler):
    """A handler that logs nothing; subclasses have the methods ``do_GET`` and so on."""

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def reply(self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "content-length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep the tests' output clean."""


@contextmanager
def serving(server: S) -> Iterator[S]:
    """Serve until the end of the block."""
    with server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def stand_in(handler: type[StandIn]) -> Iterator[str]:
    """Give the address of a server with this handler, each request in a thread."""
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as server:
        yield f"127.0.0.1:{server.server_port}"
