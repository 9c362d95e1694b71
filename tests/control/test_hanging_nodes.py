"""Nodes that accept a connection and then stand still, or hang in the middle of an answer."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from seatunnel_core.control import node_client
from seatunnel_core.control.cluster import ClusterClient
from seatunnel_core.control.rest_client import RestAddress, RestClient
from seatunnel_core.errors import PlatformError
from tests.servers.http_stand_in import StandIn


@contextlib.contextmanager
def silent() -> Iterator[str]:
    """Give the address of a node that stands still."""
    with socket.create_server(("127.0.0.1", 0), backlog=8) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


@contextlib.contextmanager
def dripping() -> Iterator[str]:
    """Give the address of a node that begins each answer, and sends a byte of it now and then forever."""
    over = threading.Event()

    class Handler(StandIn):
        def handle(self) -> None:
            with contextlib.suppress(OSError):
                self.wfile.write(b"HTTP/1.1 200 OK\r\nx-slow: ")
                while not over.wait(0.02):
                    self.wfile.write(b"x")

    with _served(Handler) as node:
        try:
            yield node
        finally:
            over.set()


@contextlib.contextmanager
def answering(after_s: float = 0.0) -> Iterator[str]:
    """Give the address of a node that answers."""

    class Handler(StandIn):
        def do_GET(self) -> None:
            time.sleep(after_s)
            with contextlib.suppress(OSError):
                self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")
            self.close_connection = True

        do_POST = do_GET  # as the server calls it

    with _served(Handler) as node:
        yield node


@contextlib.contextmanager
def _served(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            threading.Timer(0, server.shutdown).start()
            _joined(thread)


def _joined(thread: threading.Thread) -> None:
    thread.join(60)
    assert not thread.is_alive()


def test_a_node_that_hangs_in_the_middle_of_an_answer_is_given_up_at_the_deadline() -> None:
    """The timeout of a socket is that of each read: a byte now and then held a client forever."""
    with dripping() as node:
        for client in (
            ClusterClient([node], "c", None, answer_s=0.4),
            RestClient(RestAddress.of(node), answer_s=0.4),
        ):
            began = time.monotonic()
            with pytest.raises(PlatformError, match=r"did not arrive in time|timed out"):
                client.ask("POST", "/stop-job", {})
            assert time.monotonic() - began < 10


@pytest.mark.parametrize("hanging", [silent, dripping])
def test_a_request_that_changes_nothing_goes_to_the_next_node_soon(
    monkeypatch: pytest.MonkeyPatch, hanging: Callable[[], contextlib.AbstractContextManager[str]]
) -> None:
    """A client whose list began with a node that stood still waited 20 s for its first answer."""
    monkeypatch.setattr(node_client, "READ_S", 1.0)
    with hanging() as node, answering() as living:
        client = ClusterClient([node, living], "c", None, answer_s=60)
        began = time.monotonic()
        assert client.ask("GET", "/overview") == {}
        assert time.monotonic() - began < 10


@pytest.mark.parametrize("hanging", [silent, dripping])
def test_a_request_that_changes_something_does_not_wait_for_a_node_that_hangs(
    monkeypatch: pytest.MonkeyPatch, hanging: Callable[[], contextlib.AbstractContextManager[str]]
) -> None:
    """A submission to a list that began with a frozen node waited 20 s, and was then sent to the next node."""
    monkeypatch.setattr(node_client, "LIVING_S", 1.0)
    with hanging() as node, answering() as living, answering(after_s=0.1) as slow:
        for client in (
            ClusterClient([node, living, slow], "c", None, answer_s=60),
            RestClient(RestAddress.of([node, living]), answer_s=60),
        ):
            began = time.monotonic()
            assert client.ask("POST", "/submit-job", {}) == {}
            assert client.ask("POST", "/stop-job", {}) == {}
            assert time.monotonic() - began < 10


def test_where_no_node_shows_in_time_that_it_answers_a_change_gets_the_whole_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(node_client, "LIVING_S", 0.05)
    with answering(after_s=0.3) as one, answering(after_s=0.3) as other:
        assert ClusterClient([one, other], "c", None, answer_s=60).ask("POST", "/stop-job", {}) == {}


def test_where_all_nodes_are_slow_each_gets_the_whole_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_client, "READ_S", 0.05)
    with answering(after_s=0.3) as one, answering(after_s=0.3) as other:
        assert ClusterClient([one, other], "c", None, answer_s=60).ask("GET", "/overview") == {}
