"""Requests of users on their way to the leader: signed at the first try, and none waits for another one."""

import asyncio
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from attrs import evolve

from seatunnel_core.control.signing import BOOT, Authenticator, Secret
from seatunnel_core.server.agent.peers import Peers
from tests.server.agent.test_agent_parts import config
from tests.servers.http_stand_in import StandIn, serving

SECRET = Secret(b"s" * 64)


class Member(ThreadingHTTPServer):
    """A member that lets in who knows the secret, and holds up a request for ``/slow``."""

    daemon_threads = True
    request_queue_size = 128  # as of a node

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.keeper = Authenticator(SECRET, "test")
        self.answers: list[int] = []
        self.carried_out: list[bytes] = []
        self.is_slow = threading.Event()
        self.may_continue = threading.Event()


class _Handler(StandIn):
    server: Member

    def do_POST(self) -> None:
        body = self.body()
        headers = {name.lower(): value for name, value in self.headers.items()}
        keeper = self.server.keeper
        status = 401 if keeper.refusal(headers, "POST", self.path) else 200
        self.server.answers.append(status)
        if status == 200:
            self.server.carried_out.append(body)
            if self.path == "/slow":
                self.server.is_slow.set()
                self.server.may_continue.wait(20)
        self.reply(status, body, {**keeper.answered(headers, status, body), BOOT: keeper.boot})


@pytest.fixture
def member() -> Iterator[Member]:
    with serving(Member()) as server:
        yield server
        server.may_continue.set()


@pytest.fixture
def peers(tmp_path: Path) -> Peers:
    return Peers(evolve(config(tmp_path), secret=SECRET))


async def forwarded(peers: Peers, member: Member, body: bytes, target: str = "/fast") -> bytes:
    address = f"127.0.0.1:{member.server_address[1]}"
    return (await peers.forward(address, "POST", target, body, "text/plain")).body


def test_a_request_is_signed_as_the_one_before_it(member: Member, peers: Peers) -> None:
    async def play() -> None:
        for number in range(20):
            assert await forwarded(peers, member, b"%d" % number) == b"%d" % number

    asyncio.run(play())
    assert member.answers == [401, *[200] * 20]


def test_a_member_that_was_started_again_is_asked_again_and_carries_each_out_once(member: Member, peers: Peers) -> None:
    async def play() -> None:
        assert await forwarded(peers, member, b"1") == b"1"
        member.keeper = Authenticator(SECRET, "test")
        assert await forwarded(peers, member, b"2") == b"2"

    asyncio.run(play())
    assert member.answers == [401, 200, 401, 200]
    assert member.carried_out == [b"1", b"2"]


def test_no_request_waits_for_another_one(member: Member, peers: Peers) -> None:
    async def play() -> None:
        slow = asyncio.create_task(forwarded(peers, member, b"slow", "/slow"))
        await asyncio.to_thread(member.is_slow.wait, 20)
        for number in range(3):
            assert await forwarded(peers, member, b"%d" % number) == b"%d" % number
        assert not slow.done()
        member.may_continue.set()
        assert await slow == b"slow"
        await asyncio.gather(*(forwarded(peers, member, b"%d" % number) for number in range(50)))

    asyncio.run(play())
    assert member.answers.count(401) <= 8
    assert len(member.carried_out) == 54
