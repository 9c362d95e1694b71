"""A server with a thread for each connection has limits, too."""

import contextlib
import errno
import io
import socket
import socketserver
import threading
import time
from collections.abc import Iterator

import pytest

from seatunnel_core.control import bounded_server
from seatunnel_core.control.bounded_server import BoundedServer, DeadlineReader


class _Handler(socketserver.BaseRequestHandler):
    server: BoundedServer

    def handle(self) -> None:
        with io.BufferedReader(DeadlineReader(self.request, 0.5)) as lines, contextlib.suppress(OSError):
            while lines.readline():
                self.server.trust(self.request)
                self.request.sendall(b"+")


class _Few(BoundedServer):
    daemon_threads = True
    most_untrusted = 3


@pytest.fixture
def server() -> Iterator[_Few]:
    """Give a server that takes lines for half a second, and has room for three strangers."""
    with _Few(("127.0.0.1", 0), _Handler) as found:
        thread = threading.Thread(target=found.serve_forever, args=(0.01,))
        thread.start()
        yield found
        found.shutdown()
        thread.join(60)


def connected(server: _Few) -> socket.socket:
    return socket.create_connection(server.server_address[:2], timeout=60)  # type: ignore[arg-type]


def test_a_stranger_makes_room_and_a_trusted_connection_does_not(server: _Few) -> None:
    with contextlib.ExitStack() as clients:
        first = clients.enter_context(connected(server))
        first.sendall(b"hello\n")
        assert first.recv(1) == b"+"
        idle = [clients.enter_context(connected(server)) for _ in range(4)]
        assert idle[0].recv(1) == b""
        first.sendall(b"hello\n")
        assert first.recv(1) == b"+"


def test_bytes_that_trickle_in_do_not_extend_the_deadline(server: _Few) -> None:
    begun = time.monotonic()
    with connected(server) as client, contextlib.suppress(OSError):
        while time.monotonic() - begun < 60:
            client.sendall(b"x")
            client.settimeout(0.05)
            with contextlib.suppress(TimeoutError):
                if not client.recv(1):
                    break
    assert 0.4 < time.monotonic() - begun < 60


def test_a_lack_of_descriptors_is_waited_for_and_logged_once(
    server: _Few, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(bounded_server, "PAUSE_S", 0.01)
    failures = [OSError(errno.EMFILE, "none is free") for _ in range(5)]
    real = socketserver.TCPServer.get_request

    def failing(self: socketserver.TCPServer) -> object:
        if failures:
            raise failures.pop()
        return real(self)

    monkeypatch.setattr(socketserver.TCPServer, "get_request", failing)
    with connected(server) as client:
        client.sendall(b"hello\n")
        assert client.recv(1) == b"+"
    assert not failures
    assert caplog.text.count("cannot accept connections") == 1
