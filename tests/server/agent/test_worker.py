"""What a worker knows of masters, and what a master knows of workers and of hosts without executors. No processes."""

import asyncio
import json
from pathlib import Path
from typing import cast

import pytest
from attrs import evolve

from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.agent.host_spark import FORGOTTEN_AFTER_S, UNKNOWN_AFTER_S, verdict
from seatunnel_core.server.agent.worker import KEEP_S, Joined, WorkerAgent
from seatunnel_core.server.agent.workers import WORKER_S, Welcome, Workers
from seatunnel_core.server.member_role import MemberRole
from seatunnel_core.server.spark_children.spark_master import MasterState
from tests.server.test_rest import JOB, HerePlanner, ask, config_of, leading


def welcome(leader: str = "m1:1", *masters: str, spark: str = "spark://m1:7") -> Welcome:
    return Welcome(leader=leader, masters=masters or (leader,), workers={}, spark=spark, hosts=("", "job-1"))


def places(joined: Joined) -> set[tuple[str, str, str]]:
    return {(each.url, each.member, each.host) for each in joined.places()}


def test_masters_are_found_by_those_that_answer() -> None:
    joined = Joined("w:1", ("m1:1", "w:1", "w2:1"), 60, now=0)
    assert (joined.known(), joined.others()) == ((), ("m1:1", "w2:1"))
    joined.welcomed("m1:1", welcome("m2:1", "m1:1", "m2:1", "m3:1"), 1)
    assert (joined.known(), joined.others()) == (("m1:1", "m2:1", "m3:1"), ("w2:1",))
    assert places(joined) == {("spark://m1:7", "m1:1", ""), ("spark://m1:7", "m1:1", "job-1")}
    assert joined.newest() == welcome("m2:1", "m1:1", "m2:1", "m3:1")


def test_a_master_that_moved_has_one_spark_master_and_one_without_has_none() -> None:
    joined = Joined("w:1", ("m1:1", "m2:1"), 60, now=0)
    joined.welcomed("m1:1", welcome(spark="spark://m1:7"), 1)
    joined.welcomed("m2:1", welcome(spark=""), 1)
    joined.welcomed("m1:1", welcome(spark="spark://m1:8"), 2)
    assert {(url, member) for url, member, _ in places(joined)} == {("spark://m1:8", "m1:1")}


def test_a_silent_master_is_kept_while_its_hosts_may_live() -> None:
    joined = Joined("w:1", ("m1:1",), 600, now=0)
    joined.welcomed("m1:1", welcome(), 1)
    joined.forget(KEEP_S)
    assert joined.places()
    joined.forget(KEEP_S + 1)
    assert not joined.places()
    assert joined.newest() is None


def test_a_worker_is_orphaned_when_no_master_answers_for_the_grace() -> None:
    joined = Joined("w:1", ("m1:1", "m2:1"), 60, now=100)
    assert not joined.is_orphaned(160)
    assert joined.is_orphaned(160.1)
    joined.welcomed("m2:1", welcome("m2:1"), 160.2)
    assert not joined.is_orphaned(220)


def test_query_nodes_are_listed_while_they_are_heard_of() -> None:
    now = [0.0]
    workers = Workers(lambda: now[0])
    workers.queried("q1:1")
    workers.queried("q2:1")
    assert workers.queries() == ["q1:1", "q2:1"]
    assert workers.living() == {}
    now[0] = WORKER_S
    assert workers.queries() == []


def test_workers_are_listed_while_they_are_heard_of() -> None:
    now = [0.0]
    workers = Workers(lambda: now[0])
    workers.joined("w2:1", 4)
    now[0] = WORKER_S - 0.1
    workers.joined("w1:1", 2)
    assert workers.living() == {"w1:1": 2, "w2:1": 4}
    now[0] = WORKER_S
    assert workers.living() == {"w1:1": 2}


def state(*applications: str, workers: int = 1, free: int = 2) -> MasterState:
    return MasterState(workers=workers, free_cores=free, applications=applications)


@pytest.mark.parametrize(
    ("bare_s", "found", "told"),
    [
        (UNKNOWN_AFTER_S, None, ""),
        (UNKNOWN_AFTER_S, state("app-2", workers=0), ""),
        (UNKNOWN_AFTER_S, state("app-1"), ""),
        (UNKNOWN_AFTER_S, state("app-2"), "app-1 is not registered"),
        (FORGOTTEN_AFTER_S, state("app-1"), "2 cores are free"),
        (FORGOTTEN_AFTER_S, state("app-1", free=0), ""),
    ],
)
def test_a_host_without_executors_is_replaced_when_it_would_wait_for_ever(
    bare_s: float, found: MasterState | None, told: str
) -> None:
    assert told in verdict("app-1", bare_s, found)
    assert bool(told) == bool(verdict("app-1", bare_s, found))


def test_a_node_that_only_takes_requests_learns_who_leads_from_what_masters_say(tmp_path: Path) -> None:
    """It could not read the answer, which names no hosts, and knew of no leader for as long as it lived."""
    said = leading(tmp_path, config_of(tmp_path)).describe()
    told = Welcome.of_members(said)
    assert (told.leader, told.masters, told.spark, told.hosts) == ("127.0.0.1:1", ("127.0.0.1:1",), "", ())


def test_a_node_that_cannot_lead_encrypts_jobs_and_reads_lists_of_jobs(tmp_path: Path) -> None:
    """Both were answered with an internal error: such a node had no planning process."""
    agent = cast(Agent, WorkerAgent(evolve(config_of(tmp_path), role=MemberRole.QUERY), "127.0.0.1:1"))
    agent.planner.__class__ = HerePlanner  # plans in this process
    job = {"env": {"shade.identifier": "base64"}, "source": [{"plugin_name": "Jdbc"}], "sink": [{}]}
    assert ask(agent, "POST", "/encrypt-config", json.dumps({**job, "sink": [{"plugin_name": "Console"}]}))[0] == 200
    status, answer, _ = ask(agent, "POST", "/submit-jobs", f"[{JOB}]")
    assert (status, answer["code"]) == (503, "no_leader")


def test_a_node_that_cannot_lead_ends_its_planning_process(tmp_path: Path) -> None:
    async def closed() -> bool:
        agent = WorkerAgent(evolve(config_of(tmp_path), role=MemberRole.QUERY), "127.0.0.1:1")
        await agent.planner.split("[]")
        await agent.close(with_host=True)
        return agent.planner._process is None

    assert asyncio.run(closed())
