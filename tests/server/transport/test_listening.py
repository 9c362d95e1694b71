"""The sockets of a node."""

import asyncio
import socket
from typing import Any

import pytest

from seatunnel_core.control.knocking import knock
from seatunnel_core.server.transport.listening import http_server, listening


def test_neither_side_of_a_connection_holds_back_what_is_written() -> None:
    """Headers and body are written apart, and the second one would wait 40 ms for the first one's acknowledgement."""
    with listening("127.0.0.1", 0) as listener:
        ((_, asking),) = knock([f"127.0.0.1:{listener.getsockname()[1]}"], 3.0, [])
        answering, _ = listener.accept()
        with asking, answering:
            for end in (asking, answering):
                assert end.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_what_a_node_that_stops_still_answered_is_not_logged_as_a_fault(caplog: pytest.LogCaptureFixture) -> None:
    async def play(failing: bool) -> None:
        begun = asyncio.Event()

        async def answer(_scope: Any, _receive: Any, _send: Any) -> None:
            begun.set()
            await asyncio.sleep(0 if failing else 60)
            raise ValueError("a fault")

        listener = listening("127.0.0.1", 0)
        server = http_server(answer)
        serving = asyncio.create_task(server._serve(sockets=[listener]))
        _, writer = await asyncio.open_connection(*listener.getsockname()[:2])
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await begun.wait()
        await asyncio.sleep(0.01)
        server.should_exit = server.force_exit = True
        await serving
        writer.close()

    for failing in (False, True):
        caplog.clear()
        asyncio.run(play(failing))  # which cancels what still runs at its end
        assert [isinstance(each.exc_info[1], ValueError) for each in caplog.records if each.exc_info] == [
            True
        ] * failing
