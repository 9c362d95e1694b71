"""What users are told while the cluster's state is older than what its nodes have seen."""

import asyncio
from pathlib import Path

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
