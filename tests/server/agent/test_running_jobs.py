"""Requests to running jobs through a node."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Any

import pytest

from seatunnel_core.control import client
from seatunnel_core.server.agent.peers import Line
from seatunnel_core.server.agent.running_jobs import RunningJobs


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, Any]]:
    """Return a list that receives each request to a job, with the processes that may answer it."""
    asked: list[Mapping[str, Any]] = []

    def ask(_job_id: str, request: Mapping[str, Any], *, pids: Collection[int]) -> None:
        asked.append({**request, "pids": pids})

    monkeypatch.setattr(client, "ask", ask)
    return asked


@pytest.fixture
def jobs() -> Any:
    peers: Any = None
    jobs = RunningJobs("here", peers, lambda: (41, 42))
    yield jobs
    jobs.close()


def test_a_request_to_read_a_table_again_does_not_occupy_a_thread_for_ever(
    jobs: RunningJobs, asked: list[Mapping[str, Any]]
) -> None:
    """The job stops waiting for a checkpoint after the node does."""
    asyncio.run(jobs.reread("here", "1", "shop.a"))
    (request,) = asked
    assert (request["do"], request["table"]) == ("reread", "shop.a")
    assert Line.SAVEPOINT.answer_s < request["timeout_s"] < 2 * Line.SAVEPOINT.answer_s


def test_a_savepoint_does_not_occupy_a_thread_for_ever(jobs: RunningJobs, asked: list[Mapping[str, Any]]) -> None:
    """Four savepoints that did not complete let every other request to a job of the node time out."""
    asyncio.run(jobs.savepoint("here", "1", "nightly"))
    (request,) = asked
    assert (request["do"], request["name"]) == ("savepoint", "nightly")
    assert Line.SAVEPOINT.answer_s < request["timeout_s"] < 2 * Line.SAVEPOINT.answer_s


def test_only_worker_processes_of_the_node_are_asked(jobs: RunningJobs, asked: list[Mapping[str, Any]]) -> None:
    """A job with the same id may run in another cluster of the same user on the machine."""
    asyncio.run(jobs.savepoint("here", "1", ""))
    asyncio.run(jobs.reread("here", "1", "shop.a"))
    asyncio.run(jobs.ask("here", Line.MONITORING, "1", {"do": "plan"}))
    assert [each["pids"] for each in asked] == [(41, 42)] * 3
