"""A bad network between a client and an HTTP server: a proxy that delays, cuts and repeats, by a seeded plan.

It understands HTTP as far as it must to be cruel at the right moment: it knows where a request and an answer begin and
end. What passes, passes as it is, signatures included; only the address in a redirect is changed where another proxy
stands before that server.
"""

import collections
import contextlib
import enum
import http.client
import random
import socket
import struct
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from attrs import define, field

BEHIND_TIMEOUT_S = 60.0


class Fate(enum.Enum):
    """What happens to one request."""

    PASS = "passed"
    DELAY = "delayed"
    """The request waits before it reaches the server."""

    CUT_BEFORE = "cut before the server"
    """The server never hears of it."""

    CUT_AFTER = "cut after the server"
    """The server has done it; the client never hears the answer."""

    CUT_AMID = "cut amid the answer"
    LATE = "late"
    """The connection is cut at once, and the server gets the request later: perhaps after the client's next try."""

    REPEAT_REQUEST = "asked twice"
    """As a proxy does that tries again by itself: the server does it twice, the client hears the second answer."""

    REPEAT_ANSWER = "answered twice"
    """The client gets the same answer twice on one connection."""


EVERY_FATE = tuple(fate for fate in Fate if fate is not Fate.PASS)


@define
class Plan:
    """Draws a fate for each request. The same seed draws the same fates in the same order."""

    seed: int
    share: float
    """Of the requests that do not simply pass, 0 to 1."""

    fates: tuple[Fate, ...] = EVERY_FATE
    longest_delay_s: float = 0.3
    drawn: collections.Counter[Fate] = field(init=False, factory=collections.Counter)
    _random: random.Random = field(init=False)
    _lock: threading.Lock = field(init=False, factory=threading.Lock)

    def __attrs_post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def draw(self) -> tuple[Fate, float]:
        """A fate, and how long a delay would last in seconds."""
        with self._lock:
            cruel = self._random.random() < self.share
            fate = self._random.choice(self.fates) if cruel else Fate.PASS
            self.drawn[fate] += 1
            return fate, self._random.uniform(0, self.longest_delay_s)

    def __str__(self) -> str:
        counted = ", ".join(f"{self.drawn[fate]} {fate.value}" for fate in self.fates if self.drawn[fate])
        return f"{self.drawn.total()} requests through the proxy, of these {counted}"


class Proxy(ThreadingHTTPServer):
    """Listens on loopback before one server; a context manager. Its end waits for what is late.

    Args:
        server: ``host:port`` of the server behind.
        plan: what to do.
        host: the name that clients know it by.
        redirects: ``host:port`` in the address of a redirect, and what is written instead.
    """

    daemon_threads = False
    request_queue_size = 128

    def __init__(
        self, server: str, plan: Plan, *, host: str = "127.0.0.1", redirects: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.behind = server
        self.plan = plan
        self.redirects = redirects or {}
        self.address = f"{host}:{self.server_port}"
        self.swallows = threading.Event()
        """While it is set, no request reaches the server; none of them is ever answered, and no connection is cut."""
        self.closing = threading.Event()
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self.shutdown()
        self._thread.join()
        self.server_close()  # waits for the connections

    def handle_error(self, request: object, client_address: object) -> None:
        """Nothing: a client that hangs up is what this is about."""


class _Connection(BaseHTTPRequestHandler):
    """What comes from one client over one connection."""

    server: Proxy
    protocol_version = "HTTP/1.1"
    timeout = 1.0  # how soon an idle connection sees that the proxy closes

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing."""

    def handle_one_request(self) -> None:
        if self._waits_for_a_request():
            super().handle_one_request()

    def _waits_for_a_request(self) -> bool:
        """Idle connections live until the proxy closes; a timeout amid a request is an error of the client."""
        while not self.server.closing.is_set():
            try:
                if self.rfile.peek(1):  # type: ignore[attr-defined]
                    return True
                break
            except OSError as error:
                if not isinstance(error, TimeoutError):
                    break
                # A buffered reader whose raw read timed out refuses to read again: begin with a new one.
                self.rfile.close()
                self.rfile = self.connection.makefile("rb", self.rbufsize)
        self.close_connection = True
        return False

    def _handle(self) -> None:
        self.connection.settimeout(BEHIND_TIMEOUT_S)
        try:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.headers.get("Transfer-Encoding"):
                raise NotImplementedError("this proxy reads no chunked requests")
            if self.server.swallows.is_set():
                self.server.closing.wait()
                return self._cut(reset=False)
            return self._meet(*self.server.plan.draw(), body)
        except (OSError, http.client.HTTPException):  # the server behind is away, or the client is
            self._cut(reset=False)
        finally:
            self.connection.settimeout(self.timeout)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _handle  # noqa: N815

    def _meet(self, fate: Fate, delay_s: float, body: bytes) -> None:
        if fate is Fate.CUT_BEFORE:
            return self._cut(reset=delay_s > self.server.plan.longest_delay_s / 2)
        if fate is Fate.LATE:
            self._cut(reset=False)
        if fate in (Fate.DELAY, Fate.LATE):
            time.sleep(delay_s)
        answer = self._ask(body)
        if fate is Fate.REPEAT_REQUEST:
            answer = self._ask(body)
        if fate is Fate.CUT_AFTER:
            return self._cut(reset=delay_s > self.server.plan.longest_delay_s / 2)
        if fate is Fate.CUT_AMID:
            self.connection.sendall(answer[: len(answer) // 2])
            return self._cut(reset=False)
        if fate is not Fate.LATE:
            self.connection.sendall(answer * (2 if fate is Fate.REPEAT_ANSWER else 1))
        return None

    def _ask(self, body: bytes) -> bytes:
        """Does the request, and returns all bytes of the answer."""
        behind = http.client.HTTPConnection(self.server.behind, timeout=BEHIND_TIMEOUT_S)
        try:
            behind.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() != "expect":
                    behind.putheader(name, value)
            behind.endheaders(body)
            with behind.getresponse() as answer:
                content = answer.read()
                return self._head(answer, len(content)) + content
        finally:
            behind.close()

    def _head(self, answer: http.client.HTTPResponse, size: int) -> bytes:
        lines = [f"HTTP/1.1 {answer.status} {answer.reason}"]
        for name, value in answer.getheaders():
            if name.lower() == "location":
                for address, proxied in self.server.redirects.items():
                    value = value.replace(f"//{address}/", f"//{proxied}/")
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                lines.append(f"{name}: {value}")
        length = answer.getheader("Content-Length") if self.command == "HEAD" else str(size)
        if length is not None and answer.status != 204:
            lines.append(f"Content-Length: {length}")
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def _cut(self, *, reset: bool) -> None:
        """Ends the connection, in order or as a broken one."""
        self.close_connection = True
        if reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        self.connection.close()
