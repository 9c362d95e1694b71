"""Requests that a node forwards while the leader stands still, is replaced, or hangs in the middle of an answer."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from starlette.requests import ClientDisconnect

from seatunnel_core.errors import PlatformError
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.agent.peers import Line, Peers
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.rest.forwarding import forwarded
from tests.server.agent.test_agent_parts import config

OWN = "127.0.0.1:1"
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
DRIPPED = b"HTTP/1.1 200 OK\r\nx-slow: "
AT_ONCE = 100
"""More than the threads of any pool."""

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


async def answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Be a member that lives."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(ANSWER)
    await writer.drain()
    writer.close()


@contextlib.asynccontextmanager
async def member(serve: Serve) -> AsyncIterator[str]:
    """Give the address of a member."""
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


@contextlib.asynccontextmanager
async def frozen() -> AsyncIterator[tuple[str, "asyncio.Queue[bytes]"]]:
    """Give the address of a member that answers nothing, and what its requests begin with."""
    received = asyncio.Queue[bytes]()
    over = asyncio.Event()

    async def keep(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.put_nowait(await reader.readuntil(b" "))
        await over.wait()
        writer.close()

    async with await asyncio.start_server(keep, "127.0.0.1", 0, backlog=2 * AT_ONCE) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}", received
        over.set()


class Node:
    """A node that does not lead."""

    address = OWN

    def __init__(self, folder: Path, leader: str) -> None:
        self.peers = Peers(config(folder))
        self.named = leader

    def leader(self) -> str:
        return self.named

    def problem(self) -> str:
        return ""

    async def ask(self, method: str = "GET", left: asyncio.Event | None = None) -> tuple[int, bytes, str]:
        async def receive() -> dict[str, str]:
            await (left or asyncio.Event()).wait()
            return {"type": "http.disconnect"}

        request = SimpleNamespace(method=method, headers={}, query_params={}, receive=receive)
        return await forwarded(cast(Agent, self), request, "/overview", b"")


def test_a_frozen_leader_delays_no_request_that_comes_after_its_replacement(tmp_path: Path) -> None:
    """Eight forwards to a leader that stood still held all threads for a minute: the node answered nothing at all."""

    async def play() -> None:
        async with frozen() as (old, received), member(answers) as new:
            node = Node(tmp_path, old)
            waiting = [asyncio.create_task(node.ask()) for _ in range(AT_ONCE)]
            changing = asyncio.create_task(node.ask("POST"))
            found = sorted([await received.get() for _ in range(AT_ONCE + 1)])
            assert found == [b"GET "] * AT_ONCE + [b"POST "]
            assert not any(each.done() for each in waiting)
            node.named = new
            began = time.monotonic()
            assert (await node.ask())[0] == 200
            assert {answer[0] for answer in await asyncio.gather(*waiting)} == {200}, "they go to the new leader"
            with pytest.raises(RequestError, match=r"whether the request was recorded.*was replaced") as raised:
                await changing
            assert (raised.value.status, raised.value.reason) == (503, "not_acknowledged")
            assert time.monotonic() - began < 40

    asyncio.run(play())


def test_a_node_that_takes_the_lead_itself_says_to_try_again(tmp_path: Path) -> None:
    async def play() -> None:
        async with frozen() as (old, received):
            node = Node(tmp_path, old)
            waiting = asyncio.create_task(node.ask())
            assert await received.get() == b"GET "
            node.named = OWN
            with pytest.raises(RequestError, match="no leader now"):
                await asyncio.wait_for(waiting, 10)

    asyncio.run(play())


def test_a_forward_ends_when_its_client_leaves(tmp_path: Path) -> None:
    closed = asyncio.Event()

    async def hangs(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            await reader.read()
        closed.set()
        writer.close()

    async def play() -> None:
        async with member(hangs) as leader:
            left = asyncio.Event()
            waiting = asyncio.create_task(Node(tmp_path, leader).ask(left=left))
            await asyncio.wait([waiting], timeout=0.1)
            left.set()
            with pytest.raises(ClientDisconnect):
                await asyncio.wait_for(waiting, 10)
            await asyncio.wait_for(closed.wait(), 10)

    asyncio.run(play())


@pytest.mark.parametrize("sent", [DRIPPED, b"", ANSWER[:20], ANSWER[:-1]])
def test_a_member_that_hangs_in_its_answer_is_waited_for_as_long_as_the_line_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    """A byte now and then renewed the timeout of the socket, and the request never ended."""
    monkeypatch.setattr(Line, "answer_s", property(lambda line: 0.5 if line is Line.READ else 60.0))
    left = asyncio.Semaphore(0)
    """Released when a connection has ended."""

    async def drips(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(sent)
        with contextlib.suppress(OSError):
            await reader.readuntil(b"\r\n\r\n")
            while not (reader.at_eof() or reader.exception()):
                await asyncio.sleep(0.05)
                if sent == DRIPPED:
                    writer.write(b"x")
        writer.close()
        left.release()

    async def play() -> None:
        nonlocal left
        left = asyncio.Semaphore(0)
        async with member(drips) as hanging, member(answers) as living:
            peers = Peers(config(tmp_path))
            began = time.monotonic()
            asked = [asyncio.create_task(peers.read(hanging, "/logs", b"")) for _ in range(AT_ONCE)]
            await asyncio.sleep(0)
            assert await peers.ask(living, Line.STATUS, "/hosts", {}) == {}
            for error in await asyncio.gather(*asked, return_exceptions=True):
                assert isinstance(error, PlatformError)
                assert "no response within 0.5 s" in str(error)
            assert time.monotonic() - began < 40
            for _ in asked:
                await left.acquire()

    asyncio.run(play())


def test_the_address_of_a_leader_is_chosen_when_a_request_is_sent(tmp_path: Path) -> None:
    async def play() -> None:
        async with member(answers) as new:
            node = Node(tmp_path, "127.0.0.1:9")
            asking = asyncio.create_task(node.ask())
            node.named = new
            assert (await asking)[0] == 200

    asyncio.run(play())
