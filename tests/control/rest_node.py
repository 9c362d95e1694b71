"""A node of a cluster as far as its REST goes, which does what a test tells it."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from attrs import define, field, frozen


@frozen
class Asked:
    """A request."""

    method: str
    target: str
    headers: Message
    body: bytes


@define(eq=False)
class RestNode:
    """Answers with what ``answer`` returns: a status and a JSON value."""

    answer: Callable[[Asked], tuple[int, Any]]
    address: str = ""
    asked: list[Asked] = field(factory=list)

    def targets(self) -> list[str]:
        """Return what was asked, in order."""
        return [f"{each.method} {each.target}" for each in self.asked]


@contextmanager
def rest_node(answer: Callable[[Asked], tuple[int, Any]]) -> Iterator[RestNode]:
    """Give a node that listens on loopback."""
    node = RestNode(answer)

    class Handler(BaseHTTPRequestHandler):
        def answered(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            node.asked.append(Asked(self.command, self.path, self.headers, body))
            status, value = node.answer(node.asked[-1])
            encoded = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(encoded)))
            self.end_headers()
            self.wfile.write(encoded)

        do_GET = do_POST = answered  # noqa: N815 # as http.server calls them

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        node.address = f"127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield node
        finally:
            server.shutdown()
            thread.join()


def in_turn(*answers: tuple[int, Any]) -> Callable[[Asked], tuple[int, Any]]:
    """Return these answers one after the other, and the last one again and again."""
    left: Sequence[tuple[int, Any]] = answers

    def answer(_asked: Asked) -> tuple[int, Any]:
        nonlocal left
        first, *rest = left
        left = rest or left
        return first

    return answer
