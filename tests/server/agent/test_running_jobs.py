"""Requests to running jobs through a node."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from seatunnel_core.control import client
from seatunnel_core.server.agent.peers import Line
from seatunnel_core.server.agent.running_jobs import RunningJobs


def test_a_request_to_read_a_table_again_does_not_occupy_a_thread_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """The job stops waiting for a checkpoint after the node does."""
    asked: list[Mapping[str, Any]] = []
    monkeypatch.setattr(client, "ask", lambda _job_id, request: asked.append(request))
    peers: Any = None
    jobs = RunningJobs("here", peers)
    try:
        asyncio.run(jobs.reread("here", "1", "shop.a"))
    finally:
        jobs.close()
    (request,) = asked
    assert (request["do"], request["table"]) == ("reread", "shop.a")
    assert Line.SAVEPOINT.answer_s < request["timeout_s"] < 2 * Line.SAVEPOINT.answer_s
