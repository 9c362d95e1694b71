"""Log files by REST: by their names alone, in ranges and as they grow, and of other nodes through this one."""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from attrs import evolve

from seatunnel_core.control.node_client import Answer
from seatunnel_core.control.signing import AUTHORIZATION
from seatunnel_core.errors import PlatformError
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.logs.log_reading import PIECE_BYTES
from seatunnel_core.server.rest import internal, logs
from seatunnel_core.server.rest.access import AuthPolicy
from seatunnel_core.server.rest.application import application
from tests.server.test_rest import config_of, leading


class Asked:
    """A node that is asked as a server would, and what it answered."""

    def __init__(self, agent: Agent, *, prefix: str = "") -> None:
        self.application = application(agent, signed=False, policy=AuthPolicy(prefix=prefix))
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""

    def get(
        self, target: str, *, method: str = "GET", until: Callable[["Asked"], bool] | None = None, **headers: str
    ) -> "Asked":
        """Ask; with ``until``, leave as soon as it holds."""
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "scheme": "http",
            "server": ("node", 80),
            "headers": [
                (b"host", b"127.0.0.1:8080"),
                *((key.encode(), text.encode()) for key, text in headers.items()),
            ],
        }
        self.status, self.headers, self.body = 0, {}, b""
        asyncio.run(asyncio.wait_for(self._asked(scope, until), 20))
        return self

    async def _asked(self, scope: dict[str, Any], until: Callable[["Asked"], bool] | None) -> None:
        left = asyncio.Event()
        received = False

        async def receive() -> dict[str, Any]:
            nonlocal received
            if received:
                await left.wait()
                return {"type": "http.disconnect"}
            received = True
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                self.status = message["status"]
                self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            self.body += message.get("body", b"")
            if until is not None and until(self):
                left.set()

        await self.application(scope, receive, send)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    """Give an agent that leads, with some files in its folder of logs."""
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "job-7.log").write_text("one\ntwo\n")
    (folder / "job-77.log").write_text("another\n")
    (folder / "seatunnel-engine-server.log").write_text("x" * (2 * PIECE_BYTES + 5))
    (folder / "notes.txt").write_text("PRIVATE")
    (folder / ".hidden.log").write_text("PRIVATE")
    (tmp_path / "secret.log").write_text("PRIVATE")
    (folder / "job-linked.log").symlink_to(tmp_path / "secret.log")
    os.mkfifo(folder / "job-pipe.log")
    (folder / "job-folder.log").mkdir()
    return leading(tmp_path, evolve(config_of(tmp_path), logs=folder))


def test_the_list_has_the_shape_of_seatunnel(agent: Agent) -> None:
    found = Asked(agent, prefix="/st").get("/st/logs?format=json").json
    assert [each["logName"] for each in found] == ["job-7.log", "job-77.log", "seatunnel-engine-server.log"]
    link = "http://127.0.0.1:8080/st/logs/job-7.log?node=127.0.0.1%3A1"
    assert found[0] == {"node": "127.0.0.1:1", "logLink": link, "logName": "job-7.log"}
    assert Asked(agent, prefix="/st").get(link.removeprefix("http://127.0.0.1:8080")).body == b"one\ntwo\n"
    (job,) = Asked(agent).get("/logs/7?format=json").json
    assert job["logName"] == "job-7.log"
    assert Asked(agent).get("/logs/none?format=json").json == []
    assert Asked(agent).get("/get-all-log-name").json == [each["logName"] for each in found]
    own = Asked(agent).get("/log?format=json").json
    assert own[0]["logLink"] == "http://127.0.0.1:8080/log/job-7.log"
    assert Asked(agent).get("/log/job-7.log").body == b"one\ntwo\n"
    assert Asked(agent).get("/logs?format=xml").status == 400


def test_the_page_of_links_cannot_be_made_to_run_anything(agent: Agent) -> None:
    page = Asked(agent).get("/logs")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-security-policy"] == "default-src 'none'"
    assert b'<a href="/logs/job-7.log?node=127.0.0.1%3A1">job-7.log</a>' in page.body
    attacked = Asked(agent, prefix="/st").get("/st/logs/%22%3E%3Cscript%3E")
    assert b"<script>" not in attacked.body
    log = Asked(agent).get("/logs/job-7.log")
    assert (log.headers["content-type"], log.headers["x-content-type-options"]) == (
        "text/plain; charset=utf-8",
        "nosniff",
    )


@pytest.mark.parametrize("place", ["/logs/", "/log/"])
@pytest.mark.parametrize(
    "name",
    [
        "../secret.log", "..%2fsecret.log", "%2e%2e%2fsecret.log", "%2e%2e/secret.log", "..%5csecret.log",
        "....//secret.log", "%252e%252e%252fsecret.log", "..%c0%afsecret.log", "/etc/passwd", "%2fetc%2fpasswd",
        "job-7.log%00", "job-7.log%00.txt", "%00", "job-7.log%0a", ".hidden.log", "notes.txt", "job-linked.log",
        "job-pipe.log", "job-folder.log", "job-..%2fsecret.log", "job-/../secret.log", "job-%2e%2e.log",
        "job-" + "x" * 129 + ".log", "job-%EF%BC%97.log", "job-7.log.2", "spark-1.log%20", "..", "%2e%2e",
    ],
)  # fmt: skip
def test_nothing_but_a_log_is_served(agent: Agent, place: str, name: str) -> None:
    for answer in (Asked(agent).get(place + name), Asked(agent).get(place + name, range="bytes=0-9")):
        assert b"PRIVATE" not in answer.body
        assert b"root:" not in answer.body
        assert answer.status == 404 or b"<ul></ul>" in answer.body, "of a job that has no file"


def test_ranges_are_those_of_http(agent: Agent) -> None:
    asked = Asked(agent)
    for wanted, part, told in (
        ("bytes=0-2", b"one", "bytes 0-2/8"),
        ("bytes=4-", b"two\n", "bytes 4-7/8"),
        ("bytes=4-999", b"two\n", "bytes 4-7/8"),
        ("bytes=-4", b"two\n", "bytes 4-7/8"),
        ("bytes=-999", b"one\ntwo\n", "bytes 0-7/8"),
    ):
        found = asked.get("/logs/job-7.log", range=wanted)
        assert (found.status, found.body, found.headers["content-range"]) == (206, part, told)
    for wanted in ("bytes=8-", "bytes=999999999999-", "bytes=5-2", "bytes=-0"):
        found = asked.get("/logs/job-7.log", range=wanted)
        assert (found.status, found.headers["content-range"]) == (416, "bytes */8")
    for wanted in ("bytes=0-1,3-4", "lines=1-2", "bytes=", "bytes=a-b"):
        assert asked.get("/logs/job-7.log", range=wanted).status == 200


def test_a_large_file_is_sent_in_pieces_and_a_range_of_it_has_one(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    piece = agent.logs.piece

    async def measured(*arguments: Any) -> Any:
        found = await piece(*arguments)
        sizes.append(len(found.content))
        return found

    monkeypatch.setattr(agent.logs, "piece", measured)
    whole = Asked(agent).get("/logs/seatunnel-engine-server.log")
    assert (whole.status, len(whole.body)) == (200, 2 * PIECE_BYTES + 5)
    assert max(sizes) == PIECE_BYTES
    part = Asked(agent).get("/logs/seatunnel-engine-server.log", range="bytes=1-")
    assert (part.status, len(part.body)) == (206, PIECE_BYTES)
    assert part.headers["content-range"] == f"bytes 1-{PIECE_BYTES}/{2 * PIECE_BYTES + 5}"


def test_a_file_is_followed_until_the_client_goes(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over what is appended, and when the file was set aside and begins again."""
    monkeypatch.setattr(logs, "FOLLOW_S", 0.01)
    path = agent.config.logs / "job-7.log"
    written = iter([lambda: path.write_text("one\ntwo\nthree\n"), lambda: path.write_text("anew\n")])

    def went_on(asked: Asked) -> bool:
        assert agent.logs.followed == bool(asked.body)
        if asked.body.endswith((b"two\n", b"three\n")):
            next(written)()
        return asked.body.endswith(b"anew\n")

    found = Asked(agent).get("/logs/job-7.log?follow=true", until=went_on)
    assert found.body == b"one\ntwo\nthree\nanew\n"
    assert agent.logs.followed == 0
    assert Asked(agent).get("/logs/job-7.log?follow=true", method="HEAD").status == 200
    monkeypatch.setattr(logs, "MOST_FOLLOWED", 0)
    assert Asked(agent).get("/logs/job-7.log?follow=true").status == 503


def test_files_of_other_nodes_are_read_through_this_one(agent: Agent, tmp_path: Path) -> None:
    """A name that several have is the one that was written last, unless a node is named."""
    (tmp_path / "there").mkdir()
    there = leading(tmp_path / "there", evolve(config_of(tmp_path), logs=tmp_path / "there"))
    (tmp_path / "there/job-7.log").write_text("newer\n")
    (tmp_path / "there/job-8.log").write_text("x" * (PIECE_BYTES + 1))
    os.utime(agent.config.logs / "job-7.log", (1, 1))
    handlers = {each.path: each.handler for each in internal.ROUTES}

    async def read(member: str, target: str, body: bytes) -> Answer:
        if member == "127.0.0.1:3":
            raise PlatformError("nobody listens")
        try:
            found = await handlers[target](there, None, body)
        except Exception as error:
            return Answer(404, json.dumps({"message": str(error)}).encode(), "")
        return Answer(200, found.body if hasattr(found, "body") else json.dumps(found).encode(), "")

    agent.logs._knows = lambda: ["127.0.0.1:2", "127.0.0.1:3"]
    agent.peers.read = read  # type: ignore[method-assign]
    there.address, there.logs._address = "127.0.0.1:2", "127.0.0.1:2"
    asked = Asked(agent)
    listed = asked.get("/logs/7?format=json")
    assert [each["node"] for each in listed.json] == ["127.0.0.1:1", "127.0.0.1:2"]
    assert listed.headers["x-seatunnel-silent-nodes"] == "127.0.0.1:3"
    newest = asked.get("/logs/job-7.log")
    assert (newest.body, newest.headers["x-seatunnel-node"]) == (b"newer\n", "127.0.0.1:2")
    assert asked.get("/logs/job-7.log?node=127.0.0.1:1").body == b"one\ntwo\n"
    assert len(asked.get("/logs/job-8.log").body) == PIECE_BYTES + 1
    assert asked.get("/logs/job-8.log?node=127.0.0.1:1").status == 404
    assert asked.get("/logs/job-8.log?node=127.0.0.1:3").status == 503
    stranger = asked.get("/logs/job-8.log?node=192.0.2.9:80")
    assert (stranger.status, "this cluster has no node" in stranger.json["message"]) == (404, True)
    assert asked.get("/log/job-8.log").status == 404, "it is not here"
    assert "did not respond" in asked.get("/logs/job-9.log").json["message"]


def test_a_client_with_the_secret_asks_for_ranges(agent: Agent) -> None:
    """What is signed is signed as a whole, before it is sent."""
    refused = Asked(agent).get("/logs/seatunnel-engine-server.log", **{AUTHORIZATION: "me-1 x"})  # type: ignore[arg-type]
    assert (refused.status, "request ranges" in refused.json["message"]) == (413, True)
