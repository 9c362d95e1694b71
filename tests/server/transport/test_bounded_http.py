"""Clients that are slow on purpose hold a connection for a while, and no longer."""

import asyncio
import contextlib
import select
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from seatunnel_core.server.transport.bounded_http import BoundedHttp
from seatunnel_core.server.transport.listening import http_server, listening

LARGE = b"x" * (32 << 20)
"""More than the kernel takes of an answer that nobody reads."""


async def _answer(scope: dict, receive: object, send: object) -> None:
    body = LARGE if scope["path"] == "/large" else b"hi"
    size = str(len(body)).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", size)]})  # type: ignore[operator]
    await send({"type": "http.response.body", "body": body})  # type: ignore[operator]


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Give the port of a server of which a client may take nothing for a fifth of a second."""
    monkeypatch.setattr(BoundedHttp, "headers_s", 0.2)
    monkeypatch.setattr(BoundedHttp, "stuck_s", 0.2)
    bound = listening("127.0.0.1", 0)
    server = http_server(_answer)
    thread = threading.Thread(target=lambda: asyncio.run(server._serve(sockets=[bound])))
    thread.start()
    try:
        yield bound.getsockname()[1]
    finally:
        server.should_exit = server.force_exit = True
        thread.join(30)
        bound.close()


def is_closed_within(client: socket.socket, seconds: float) -> bool:
    """Return whether the server ends a connection, whatever it says before."""
    client.settimeout(seconds)
    try:
        while client.recv(65_536):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nhost: lo", b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\nGET"])
def test_a_request_that_does_not_arrive_ends_its_connection(port: int, begun: bytes) -> None:
    """The last one has been answered before."""
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(begun)
        if begun.endswith(b"GET"):
            assert client.recv(1000).startswith(b"HTTP/1.1 200")
            client.sendall(b" ")
        assert is_closed_within(client, 60)


def test_bytes_that_trickle_in_do_not_help(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as client:
        begun = time.monotonic()
        with contextlib.suppress(OSError):
            while time.monotonic() < begun + 60:
                client.sendall(b"G")
                time.sleep(0.02)
        assert time.monotonic() < begun + 60


def test_a_client_that_does_not_take_its_answer_loses_it(port: int) -> None:
    """After how long depends on how busy the machine is: the server is a thread of this process."""
    assert any(taken_after(port, pause_s) < len(LARGE) for pause_s in (1, 4, 16))


def taken_after(port: int, pause_s: float) -> int:
    """Ask for a large answer, take nothing of it for a while, and return how many bytes came in all."""
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"GET /large HTTP/1.1\r\nhost: localhost\r\n\r\n")
        select.select([client], [], [], 60)  # it has begun, and soon waits for the client
        time.sleep(pause_s)
        client.settimeout(60)
        taken = 0
        with contextlib.suppress(ConnectionError):
            while part := client.recv(1 << 20):
                taken += len(part)
        return taken


def test_a_client_that_asks_and_reads_is_served_again_and_again(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Together for longer than a request may take to arrive."""
    monkeypatch.setattr(BoundedHttp, "headers_s", 2)
    monkeypatch.setattr(BoundedHttp, "stuck_s", 2)
    with socket.create_connection(("127.0.0.1", port)) as client:
        for _ in range(5):
            client.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
            said = b""
            while not said.endswith(b"hi"):
                part = client.recv(1000)
                assert part, "it was closed"
                said += part
            time.sleep(0.5)
