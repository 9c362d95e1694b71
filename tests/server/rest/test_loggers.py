"""Levels of loggers by REST, in the shapes of SeaTunnel."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatunnel_core.control.node_client import Answer
from seatunnel_core.errors import PlatformError, UsageError
from seatunnel_core.server import log_levels
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.host.host import Host
from tests.server.test_rest import ask, config_of, leading

NAME = "seatunnel.cluster"


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    """Give an agent that leads; afterwards the levels are those of before."""
    logging.getLogger("seatunnel").setLevel(logging.INFO)
    yield leading(tmp_path, config_of(tmp_path))
    for name in tuple(log_levels._before):
        log_levels.reset(name)
    logging.getLogger("seatunnel").setLevel(logging.NOTSET)


def test_a_level_is_changed_and_reset(agent: Agent) -> None:
    assert ask(agent, "GET", f"/loggers/{NAME}")[1] == {
        "name": NAME,
        "level": "INFO",
        "origin": "FILE",
        "node": agent.address,
    }
    status, changed, _ = ask(agent, "POST", f"/loggers/{NAME}?level=debug")
    assert (status, changed["level"], changed["previousLevel"], changed["status"]) == (200, "DEBUG", "INFO", "SUCCESS")
    assert logging.getLogger(NAME).isEnabledFor(logging.DEBUG)
    shown = {each["name"]: each for each in ask(agent, "GET", "/loggers")[1]["loggers"]}
    assert shown[NAME]["origin"] == "RUNTIME"
    assert ask(agent, "POST", f"/loggers/{NAME}", '{"level": "WARN"}')[1]["previousLevel"] == "DEBUG"
    assert ask(agent, "DELETE", f"/loggers/{NAME}")[1]["level"] == "INFO"
    assert ask(agent, "DELETE", f"/loggers/{NAME}")[1]["status"] == "NO_OVERRIDE"
    assert ask(agent, "POST", "/loggers/root?level=ERROR")[1]["level"] == "ERROR"


@pytest.mark.parametrize(
    ("method", "target", "status", "said"),
    [
        ("POST", f"/loggers/{NAME}?level=LOUD", 400, "expected one of ALL, TRACE"),
        ("POST", f"/loggers/{NAME}", 400, "The level is required"),
        ("POST", "/loggers", 400, "must not be empty"),
        ("DELETE", "/loggers", 400, "must not be empty"),
        ("GET", "/loggers/no.such.logger", 404, "no logger"),
        ("POST", "/loggers/no.such.logger?level=INFO", 400, "no logger"),
        ("GET", "/loggers?scope=galaxy", 400, "Unknown scope"),
    ],
)
def test_what_cannot_be_is_refused(agent: Agent, method: str, target: str, status: int, said: str) -> None:
    found = ask(agent, method, target)
    assert (found[0], said in found[1]["message"]) == (status, True)
    assert "no.such.logger" not in logging.root.manager.loggerDict


def test_no_more_loggers_are_changed_than_are_counted(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_levels, "MOST_CHANGED", 1)
    log_levels.change("root", "INFO")
    with pytest.raises(UsageError, match="reset some of them"):
        log_levels.change(NAME, "INFO")


def test_all_nodes_are_asked_and_one_that_is_away_is_told(agent: Agent) -> None:
    async def read(member: str, target: str, body: bytes) -> Answer:
        if member == "127.0.0.1:3":
            raise PlatformError("nobody listens")
        assert json.loads(body) == {"method": "POST", "name": NAME, "level": "DEBUG"}
        return Answer(200, b'{"node": "127.0.0.1:2", "status": "SUCCESS"}', "")

    agent.logs._knows = lambda: ["127.0.0.1:2", "127.0.0.1:3"]
    agent.peers.read = read  # type: ignore[method-assign]
    found = ask(agent, "POST", f"/loggers/{NAME}?level=DEBUG&scope=cluster")[1]
    assert (found["status"], found["scope"], found["level"]) == ("PARTIAL_FAILURE", "cluster", "DEBUG")
    assert [each["status"] for each in found["nodes"]] == ["SUCCESS", "SUCCESS", "FAILURE"]


def test_a_host_takes_a_level_from_any_agent(agent: Agent) -> None:
    def no_job(_record: object) -> object:
        raise AssertionError

    host = Host(no_job, pid=1, name="", boot="b", offered=0)  # type: ignore[arg-type]
    change = host.verbs()["log-level"]
    assert change({"name": NAME, "level": "ERROR"}) == {"before": "INFO"}
    assert change({"name": NAME, "level": ""}) == {"before": "ERROR"}
