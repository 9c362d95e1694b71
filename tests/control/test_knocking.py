"""Connections to the first of several addresses that accept one."""

import contextlib
import socket
import time
from collections.abc import Iterator

import pytest

from seatunnel_core.control.cluster import ClusterClient
from seatunnel_core.control.knocking import knock
from seatunnel_core.errors import PlatformError


def listener(*, backlog: int = 8) -> socket.socket:
    return socket.create_server(("127.0.0.1", 0), backlog=backlog)


def address_of(listening: socket.socket) -> str:
    return f"127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture
def silent() -> Iterator[str]:
    """An address that accepts nothing and refuses nothing: its queue of connections is full."""
    with listener(backlog=0) as full, contextlib.ExitStack() as waiting:
        for _ in range(3):
            connecting = waiting.enter_context(socket.socket())
            connecting.setblocking(False)
            connecting.connect_ex(full.getsockname())
        time.sleep(0.05)
        yield address_of(full)


def test_dead_and_silent_members_hold_nobody_up(silent: str) -> None:
    failures: list[tuple[str, Exception]] = []
    with listener() as living:
        began = time.monotonic()
        members = ["127.0.0.1:1", silent, "no-such-host.invalid:5801", "127.0.0.1:2", address_of(living)]
        member, connected = next(knock(members, 60.0, failures))
        connected.close()
        assert member == address_of(living)
    assert time.monotonic() - began < 40
    assert failures[0][0] == "127.0.0.1:1"
    assert isinstance(failures[0][1], ConnectionRefusedError)


def test_all_that_connect_are_given_in_turn() -> None:
    with listener() as one, listener() as other:
        members = [address_of(one), address_of(other)]
        found = []
        for member, connected in knock(members, 5.0, []):
            connected.close()
            found.append(member)
    assert found == members


def test_whom_nobody_answers_is_said_with_reasons(silent: str) -> None:
    client = ClusterClient(["127.0.0.1:1", silent], "c", None, connect_s=0.5)
    with pytest.raises(
        PlatformError, match=r"cannot be reached: 127.0.0.1:1: Connection refused; .*no answer after 0.5 s"
    ):
        client.ask("GET", "/overview")
    with pytest.raises(PlatformError, match="no member is configured"):
        ClusterClient([], "c", None).ask("GET", "/overview")
