"""An answer that was cut in its head is none, whatever the HTTP client thinks of it."""

import contextlib
import gc
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests
from botocore.credentials import Credentials
from botocore.exceptions import ConnectionClosedError

from seatunnel_core.clients.framing import is_whole, require_whole
from seatunnel_core.clients.s3.client import open_client

Speaker = Callable[[bytes], str]


@pytest.fixture
def speaker() -> Iterator[Speaker]:
    """Says these bytes to whoever connects, and hangs up; its address."""
    said: list[bytes] = []
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)

        def speak() -> None:
            while not over.is_set():
                with contextlib.suppress(TimeoutError):
                    client, _ = server.accept()
                    with client:
                        client.recv(65_536)
                        client.sendall(said[0])

        def address(words: bytes) -> str:
            said.append(words)
            return f"http://127.0.0.1:{server.getsockname()[1]}"

        thread = threading.Thread(target=speak)
        thread.start()
        yield address
        over.set()
        thread.join()


def leaves_nothing_open(refusal: type[Exception], ask: Callable[[], object]) -> None:
    """A connection that nobody closed is told of by the garbage collector, which is an error of the test."""

    def keep_the_error() -> None:
        with pytest.raises(refusal) as caught:
            ask()
        assert caught  # the error holds this function's frame, and that holds the error

    keep_the_error()
    gc.collect()


WHOLE = b"HTTP/1.1 200 OK\r\nServer: some\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize("end", [WHOLE.index(b"\r\n"), WHOLE.index(b"Server") + 9, WHOLE.index(b"Length"), -5])
def test_an_answer_cut_in_its_head(speaker: Speaker, end: int) -> None:
    """Without the hook it is a success with an empty body."""
    address = speaker(WHOLE[:end])
    with requests.Session() as session:
        assert session.get(address, timeout=5).status_code == 200
        session.hooks["response"].append(require_whole)
        leaves_nothing_open(requests.ConnectionError, lambda: session.get(address, timeout=5, stream=True))


def test_a_whole_answer_passes(speaker: Speaker) -> None:
    with requests.Session() as session:
        session.hooks["response"].append(require_whole)
        assert session.get(speaker(WHOLE), timeout=5).ok


@pytest.mark.parametrize(
    "ask",
    [
        lambda client: client.list_objects_v2(Bucket="bucket"),
        lambda client: client.get_object(Bucket="bucket", Key="k"),
    ],
    ids=["a listing", "an object"],
)
def test_an_answer_of_s3_that_was_cut_is_not_an_empty_one(speaker: Speaker, ask: Callable[[Any], object]) -> None:
    client = open_client("s3", Credentials("id", "secret"), {}, endpoint=speaker(WHOLE[:25]), region=None)
    leaves_nothing_open(ConnectionClosedError, lambda: ask(client))
    client.close()


@pytest.mark.parametrize(
    ("status", "headers", "whole"),
    [
        (200, {"content-length": "12"}, True),
        (200, {"transfer-encoding": "chunked"}, True),
        (204, {}, True),
        (304, {}, True),
        (412, {}, False),
        (200, {"content-length": ""}, False),
        (200, {"content-length": "1x"}, False),
    ],
)
def test_what_says_where_it_ends(status: int, headers: dict[str, str], whole: bool) -> None:
    assert is_whole(status, headers) is whole
