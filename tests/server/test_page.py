"""The page of a node, as its HTTP serves it: to whom, with which headers, and the help that it opens."""

import base64
import json
from pathlib import Path

import pytest
from attrs import evolve

from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.rest.access import AuthPolicy
from seatunnel_core.server.transport.http_config import HttpConfig
from tests.server.rest.asked import answered
from tests.server.state.stores import local_store
from tests.server.test_rest import config_of


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    """One that does not lead: each node has the page."""
    return Agent(config_of(tmp_path), local_store(tmp_path), "127.0.0.1:1")


def test_the_page_is_served_with_its_policy_and_once(agent: Agent) -> None:
    status, headers, body = answered(agent, "/")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert headers["content-security-policy"].startswith("default-src 'self'")
    assert b'src="page/app.js"' in body
    status, headers, body = answered(agent, "/page/vendor/preact.js")
    assert (status, headers["content-type"]) == (200, "text/javascript; charset=utf-8")
    assert answered(agent, "/page/vendor/preact.js", if_none_match=headers["etag"])[::2] == (304, b"")


@pytest.mark.parametrize("path", ["/page/", "/page/nothing.js", "/page/../assets.py", "/page/%2e%2e/assets.py"])
def test_no_other_file_is(agent: Agent, path: str) -> None:
    status, _, body = answered(agent, path)
    assert (status, json.loads(body)["status"]) == (404, "fail")


def test_the_page_asks_for_the_password_too(agent: Agent) -> None:
    agent.config = evolve(agent.config, http=HttpConfig(login=("admin", "hunter2")))
    for path in ("/", "/page/app.js", "/help/STALE-EPOCH"):
        status, headers, body = answered(agent, path)
        assert (status, headers["www-authenticate"][:5]) == (401, "Basic")
        assert b"<html" not in body
    basic = base64.b64encode(b"admin:hunter2").decode()
    assert answered(agent, "/", authorization=f"Basic {basic}")[0] == 200


def test_the_page_is_below_the_prefix_of_rest_and_names_its_files_from_there(agent: Agent) -> None:
    policy = AuthPolicy(prefix="/seatunnel")
    assert b'src="page/app.js"' in answered(agent, "/seatunnel/", policy=policy)[2]
    assert answered(agent, "/seatunnel/page/app.js", policy=policy)[0] == 200
    assert answered(agent, "/page/app.js", policy=policy)[0] == 404


def test_help_on_an_error_and_on_a_page(agent: Agent) -> None:
    error = json.loads(answered(agent, "/help/stale-epoch")[2])
    assert error["code"] == "STALE-EPOCH"
    assert {"Retried", "What to do"} <= set(error["parts"])
    assert "# " in json.loads(answered(agent, "/help/restore")[2])["text"]
    for path in ("/help/nothing", "/help/..%2Frestore", "/help/restore.md"):
        assert answered(agent, path)[0] == 404
