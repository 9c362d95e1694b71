"""The connection limit of a port counts from accept on, and a lack of descriptors passes."""

import asyncio
import contextlib
import errno
import logging
import resource
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatunnel_core.server.transport import bounded_http, descriptors, gate
from seatunnel_core.server.transport.gate import GUEST
from seatunnel_core.server.transport.http_config import HttpConfig, KeyStore
from seatunnel_core.server.transport.key_store import server_context
from seatunnel_core.server.transport.listening import http_server, listening
from tests.server.transport.authority import signed


async def _answer(scope: dict, receive: object, send: object) -> None:
    """Say hi; a request to /trusted makes the connection a trusted one."""
    if scope["path"] == "/trusted":
        scope["state"][GUEST].trust()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})  # type: ignore[operator]
    await send({"type": "http.response.body", "body": b"hi"})  # type: ignore[operator]


@contextlib.contextmanager
def serving(most: int, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """Give the port of a server with at most so many connections."""
    bound = listening("127.0.0.1", 0)
    server = http_server(_answer, tls, most=most)
    thread = threading.Thread(target=lambda: asyncio.run(server._serve(sockets=[bound])))
    thread.start()
    try:
        yield bound.getsockname()[1]
    finally:
        server.should_exit = server.force_exit = True
        thread.join(30)
        bound.close()


def connected(port: int) -> socket.socket:
    """Return a connection that has sent nothing."""
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def asked(client: socket.socket, path: bytes) -> bytes:
    """Return the answer to a request."""
    client.sendall(b"GET /%s HTTP/1.1\r\nhost: localhost\r\n\r\n" % path)
    said = b""
    while not said.endswith(b"hi"):
        part = client.recv(1000)
        if not part:
            break
        said += part
    return said


def test_a_full_port_closes_the_connection_that_has_been_idle_longest() -> None:
    with serving(3) as port, contextlib.ExitStack() as clients:
        idle = [clients.enter_context(connected(port)) for _ in range(3)]
        newer = clients.enter_context(connected(port))
        assert asked(newer, b"x").endswith(b"hi")
        with contextlib.suppress(ConnectionError):
            assert idle[0].recv(1) == b"", "it has sent nothing for longest"
        for each in idle[1:]:
            assert asked(each, b"x").endswith(b"hi")


def test_hundreds_of_idle_connections_do_not_close_one_that_was_allowed() -> None:
    with serving(20) as port, contextlib.ExitStack() as clients:
        member = clients.enter_context(connected(port))
        assert asked(member, b"trusted").endswith(b"hi")
        for _ in range(300):
            clients.enter_context(connected(port))
        assert asked(member, b"x").endswith(b"hi")
        assert asked(clients.enter_context(connected(port)), b"x").endswith(b"hi"), "strangers make room for it"


def test_a_port_full_of_allowed_connections_refuses_further_ones_at_once() -> None:
    with serving(2) as port, contextlib.ExitStack() as clients:
        members = [clients.enter_context(connected(port)) for _ in range(2)]
        for each in members:
            asked(each, b"trusted")
        one_more = clients.enter_context(connected(port))
        assert one_more.recv(1000).startswith(b"HTTP/1.1 503 ")
        members[0].close()
        assert asked(members[1], b"x").endswith(b"hi")


def test_connections_that_begin_no_handshake_count_and_make_room(tmp_path: Path) -> None:
    """TLS tells the protocol of a connection only after its handshake."""
    root = signed("root", is_authority=True)
    node = signed("localhost", root)
    store = tmp_path / "node.pem"
    store.write_bytes(node.key_pem() + node.certificates_pem())
    store.chmod(0o600)
    tls = server_context(HttpConfig(https_port=1, key_store=KeyStore(path=store)))
    trusting = ssl.create_default_context(cadata=root.certificates_pem().decode())
    with serving(3, tls) as port, contextlib.ExitStack() as clients:
        idle = [clients.enter_context(connected(port)) for _ in range(3)]
        client = clients.enter_context(trusting.wrap_socket(connected(port), server_hostname="localhost"))
        assert asked(client, b"x").endswith(b"hi")
        with contextlib.suppress(ConnectionError):
            assert idle[0].recv(1) == b""


def test_a_lack_of_descriptors_passes_and_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(gate, "PAUSE_S", 0.01)
    failures = [OSError(number, "none is free") for number in (errno.EMFILE, errno.EMFILE, errno.ECONNABORTED)]
    real = asyncio.SelectorEventLoop.sock_accept

    async def failing(loop: asyncio.SelectorEventLoop, listener: socket.socket) -> object:
        if failures:
            raise failures.pop()
        return await real(loop, listener)

    monkeypatch.setattr(asyncio.SelectorEventLoop, "sock_accept", failing)
    with caplog.at_level(logging.WARNING), serving(3) as port, connected(port) as client:
        assert asked(client, b"x").endswith(b"hi")
    assert not failures
    assert caplog.text.count("cannot accept connections") == 1


def test_connections_leave_descriptors_for_the_rest(caplog: pytest.LogCaptureFixture) -> None:
    assert descriptors.connections_per_port(65_536, 3) == 1_000
    assert descriptors.connections_per_port(1_024, 3) == 256
    assert descriptors.connections_per_port(100, 3) == 16
    with caplog.at_level(logging.INFO):
        descriptors.log_limit(1_024, 256)
    assert "limit of open files: 1024; connections per port: 256 at most" in caplog.text
    assert "LimitNOFILE" in caplog.text


def test_the_soft_limit_is_raised_to_the_hard_one() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))
        limit = descriptors.raise_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == limit == min(hard, 1 << 20)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def answered_early(port: int, body_bytes: int) -> bytes:
    """Send a request whose answer does not wait for its body, all of the body, and then return the answer."""
    with connected(port) as sent:
        sent.sendall(b"POST /x HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n")
        sent.sendall(b"content-length: %d\r\n\r\n" % body_bytes)
        for _ in range(body_bytes // 65_536):
            sent.sendall(bytes(65_536))
        said = b""
        while part := sent.recv(1000):
            said += part
        return said


def test_a_client_that_sends_first_and_reads_then_gets_an_answer_that_did_not_wait() -> None:
    """The connection was reset: 413 for a body that is too large was lost with it."""
    with serving(3) as port:
        for _ in range(3):
            assert answered_early(port, 11 * 1024 * 1024).endswith(b"\r\n\r\nhi")


def test_what_arrives_after_an_early_answer_is_bounded_in_size_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_http.BoundedHttp, "linger_bytes", 1_000_000)
    with serving(3) as port, pytest.raises(ConnectionError):
        answered_early(port, 64 * 1024 * 1024)
    monkeypatch.setattr(bounded_http.BoundedHttp, "linger_s", 0.2)
    with serving(3) as port, connected(port) as client:
        client.sendall(b"POST /x HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 10\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            while client.recv(1000):
                pass
