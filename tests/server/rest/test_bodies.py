"""Bodies of requests are read only if they may be, and only as far as they may be."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.config.http_options import Permission
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.agent.peers import LARGEST_BODY
from seatunnel_core.server.rest.application import application
from seatunnel_core.server.rest.route import SMALL_BODY
from seatunnel_core.server.transport.http_config import User
from tests.server.rest.test_access import ANYWHERE, EVE, HUNTER, agent_of

STRANGER = "Basic " + base64.b64encode(b"x:y").decode()
USERS = (User(name="eve", password="looks", permissions=frozenset({Permission.LOOK, Permission.CHECK})),)


def without_body(agent: Agent, path: str, **headers: str) -> tuple[int, dict[str, str], Any]:
    """Return the answer to a POST of which only the headers have arrived."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        raise AssertionError("the body is read")

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    given = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "server": ("node", 80),
        "client": ("192.0.2.7", 1),
        "headers": [(b"host", b"192.0.2.1:8080"), *given],
    }
    asyncio.run(application(agent, signed=False, policy=ANYWHERE)(scope, receive, send))
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], found, json.loads(sent[1]["body"])


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    """Return an agent that leads, with a user who may look and check."""
    return agent_of(tmp_path, login=("admin", "hunter2"), users=USERS)


@pytest.mark.parametrize(
    "path", ["/submit-job", "/submit-job/upload", "/submit-jobs", "/check", "/stop-job", "/savepoint"]
)
def test_who_may_not_do_it_sends_no_body(agent: Agent, path: str) -> None:
    for who, status in ((EVE, 403), (STRANGER, 401)):
        found, headers, _ = without_body(agent, path, authorization=who, content_length="200000")
        assert (found, headers["connection"]) == (status, "close"), path


@pytest.mark.parametrize(
    ("path", "most"),
    [("/submit-job", LARGEST_BODY), ("/check", LARGEST_BODY), ("/stop-jobs", SMALL_BODY), ("/update-tags", SMALL_BODY)],
)
def test_a_stated_length_that_is_too_large_is_rejected_at_once(agent: Agent, path: str, most: int) -> None:
    for length in (str(most + 1), str(10**12), "9" * 500):
        status, headers, answer = without_body(agent, path, authorization=HUNTER, content_length=length)
        assert (status, headers["connection"], answer["code"]) == (413, "close", "too_large")


def test_a_request_with_two_lengths_is_rejected_and_its_connection_closed(agent: Agent) -> None:
    for who in (HUNTER, STRANGER):
        status, headers, answer = without_body(
            agent, "/submit-job", authorization=who, content_length="2", transfer_encoding="chunked"
        )
        assert (status, headers["connection"], answer["code"]) == (400, "close", "two_lengths")
