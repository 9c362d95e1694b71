"""The page of a node, as its HTTP serves it: to whom, with which headers, and the help that it opens."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.rest.access import LOCAL, Door
from seatunnel_core.server.rest.application import application
from seatunnel_core.server.transport.http_config import HttpConfig
from tests.server.state.stores import local_store
from tests.server.test_rest import config_of


def served(agent: Agent, path: str, *, door: Door = LOCAL, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Return the status, the headers and the body of an answer."""
    headers = {"host": "localhost", **headers}
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "server": ("node", 80),
        "headers": [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()],
    }
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(application(agent, signed=False, door=door)(scope, receive, send))
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], found, b"".join(each.get("body", b"") for each in sent[1:])


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    """One that does not lead: each node has the page."""
    return Agent(config_of(tmp_path), local_store(tmp_path), "127.0.0.1:1")


def test_the_page_is_served_with_its_policy_and_once(agent: Agent) -> None:
    status, headers, body = served(agent, "/")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert headers["content-security-policy"].startswith("default-src 'self'")
    assert b'src="page/app.js"' in body
    status, headers, body = served(agent, "/page/vendor/preact.js")
    assert (status, headers["content-type"]) == (200, "text/javascript; charset=utf-8")
    assert served(agent, "/page/vendor/preact.js", if_none_match=headers["etag"])[::2] == (304, b"")


@pytest.mark.parametrize("path", ["/page/", "/page/nothing.js", "/page/../assets.py", "/page/%2e%2e/assets.py"])
def test_no_other_file_is(agent: Agent, path: str) -> None:
    status, _, body = served(agent, path)
    assert (status, json.loads(body)["status"]) == (404, "fail")


def test_the_page_asks_for_the_password_too(agent: Agent) -> None:
    agent.config = evolve(agent.config, http=HttpConfig(login=("admin", "hunter2")))
    for path in ("/", "/page/app.js", "/help/STALE-EPOCH"):
        status, headers, body = served(agent, path)
        assert (status, headers["www-authenticate"][:5]) == (401, "Basic")
        assert b"<html" not in body
    basic = base64.b64encode(b"admin:hunter2").decode()
    assert served(agent, "/", authorization=f"Basic {basic}")[0] == 200


def test_the_page_is_below_the_prefix_of_rest_and_names_its_files_from_there(agent: Agent) -> None:
    door = Door(prefix="/seatunnel")
    assert b'src="page/app.js"' in served(agent, "/seatunnel/", door=door)[2]
    assert served(agent, "/seatunnel/page/app.js", door=door)[0] == 200
    assert served(agent, "/page/app.js", door=door)[0] == 404


def test_help_on_an_error_and_on_a_page(agent: Agent) -> None:
    error = json.loads(served(agent, "/help/stale-epoch")[2])
    assert error["code"] == "STALE-EPOCH"
    assert {"Tried again", "What to do"} <= set(error["parts"])
    assert "# " in json.loads(served(agent, "/help/restore")[2])["text"]
    for path in ("/help/nothing", "/help/..%2Frestore", "/help/restore.md"):
        assert served(agent, path)[0] == 404
