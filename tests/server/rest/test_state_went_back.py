"""What users are told, and which node leads, while the cluster's state is older than what its nodes have seen."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.errors import PlatformError
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.election import Claim, Look, SendBeat
from seatunnel_core.server.state.newest_seen import NewestSeenStore
from tests.server.state.stores import local_store
from tests.server.test_rest import JOB, ask, config_of


def test_nothing_is_accepted_from_an_older_state_and_the_answer_says_what_to_do(tmp_path: Path) -> None:
    store = NewestSeenStore(local_store(tmp_path))
    agent = Agent(config_of(tmp_path), store, "127.0.0.1:1")
    leadership = agent.leadership
    assert leadership.election.tick(0.0) == [Look()]
    asyncio.run(leadership._look())
    assert leadership.election.tick(1e12) == [Claim()]
    store.remember((9, 9, 9))  # another node has seen it
    asyncio.run(leadership._claim())
    assert agent.state is None
    for method, target, body in (("POST", "/submit-job?jobId=1", JOB), ("GET", "/running-jobs", "")):
        status, answer, _ = ask(agent, method, target, body)
        assert (status, answer["code"]) == (503, "state_went_back")
        assert "stop all nodes that may lead" in answer["message"]


def a_standby(folder: Path, answers: Mapping[str, Any]) -> Agent:
    """Return the agent of a standby that has read the first heartbeat of a leader; other nodes answer as given."""
    leader = NewestSeenStore(local_store(folder)).claim()
    members = ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"]
    leader.renew(0, json.dumps({"leader": "127.0.0.1:2", "acting": True, "members": members}).encode())
    agent = Agent(config_of(folder), NewestSeenStore(local_store(folder)), "127.0.0.1:1")
    asyncio.run(agent.leadership._look())

    async def answered(member: str, *_: Any, **__: Any) -> Any:
        if member not in answers:
            raise PlatformError(f"{member} cannot be reached")
        return answers[member]

    agent.peers.ask = answered  # type: ignore[method-assign]
    return agent


@pytest.mark.parametrize("who", ["127.0.0.1:2", "127.0.0.1:3"])
def test_a_standby_does_not_claim_a_state_that_lacks_what_another_node_has_seen(tmp_path: Path, who: str) -> None:
    """The last leader, or another standby, has seen a version between two reads of this node."""
    agent = a_standby(tmp_path, {who: {"state_version": [1, 1, 7]}})
    asyncio.run(agent.leadership._claim())
    assert agent.state is None
    assert "is older than the state that this node has seen" in agent.problem()
    assert agent.describe()["state_version"] == [1, 1, 7]


@pytest.mark.parametrize("answer", [{}, {"state_version": []}, {"state_version": [1, 1, 0]}, {"state_version": "?"}])
def test_a_standby_leads_though_others_know_no_newer_version(tmp_path: Path, answer: Mapping[str, Any]) -> None:
    """Earlier versions do not send it."""
    agent = a_standby(tmp_path, {"127.0.0.1:3": answer})
    asyncio.run(agent.leadership._claim())
    assert agent.state is not None
    asyncio.run(agent.leadership._beat(SendBeat(0, True)))
    assert json.loads(local_store(tmp_path).observe().body)["claimed_from"] == [1, 1, 0]


def test_a_standby_does_not_claim_what_has_changed_while_it_asked_the_others(tmp_path: Path) -> None:
    agent = a_standby(tmp_path, {})
    local_store(tmp_path).claim()
    asyncio.run(agent.leadership._claim())
    assert agent.state is None
    assert local_store(tmp_path).observe().claimed == 2


def test_a_leader_steps_down_when_its_last_beat_is_gone(tmp_path: Path) -> None:
    store = NewestSeenStore(local_store(tmp_path))
    agent = Agent(config_of(tmp_path), store, "127.0.0.1:1")
    leadership = agent.leadership
    leadership.election.tick(0.0)
    asyncio.run(leadership._look())
    leadership.election.tick(1e12)
    asyncio.run(leadership._claim())
    assert agent.state is not None
    asyncio.run(leadership._beat(SendBeat(0, True)))
    for beat in tmp_path.rglob("*.beat"):
        beat.unlink()
    asyncio.run(leadership._beat(SendBeat(1, True)))
    assert agent.state is None
    status, answer, _ = ask(agent, "GET", "/overview")
    assert status == 503, answer
