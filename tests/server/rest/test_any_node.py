"""Each node answers: masters that lead and that do not, and workers, while one of them stands still."""

import json
import os
import signal
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.server.nodes import Node, masters_and_workers, until

JOB = json.dumps(
    {
        "env": {"job.mode": "BATCH"},
        "source": [{"plugin_name": "FakeSource", "schema": {"fields": {"id": "bigint"}}}],
        "sink": [{"plugin_name": "Console"}],
    }
)


def measured(node: Node) -> dict[str, dict[str, str]]:
    """Return what each node measures of itself, by its port, as one node tells it."""
    status, found = node.ask("GET", "/system-monitoring-information")
    return {each["port"]: each for each in found} if status == 200 else {}


def answered_late(node: Node, ports: set[str], late: set[str]) -> bool:
    """Return True if ``node`` knows all ports, and only ``late`` did not answer it in time.

    Nodes that start or are busy may be late for a moment.
    """
    begun = time.monotonic()
    found = measured(node)
    assert time.monotonic() - begun < 5
    return found.keys() == ports and late == {port for port, each in found.items() if "timeout" in each}


@pytest.mark.spark
@pytest.mark.torture
@pytest.mark.timeout(400)
def test_each_node_answers_while_one_stands_still(tmp_path: Path) -> None:
    with masters_and_workers(tmp_path, masters=2, workers=1) as (masters, (worker,)):
        for node in (*masters, worker):
            node.start()
        leader = masters[0].cluster.leader()
        (standby,) = (node for node in masters if node is not leader)
        all_ports = {str(node.port) for node in (*masters, worker)}
        for node in (leader, standby, worker):
            until(f"all nodes answer {node.address} in time", partial(answered_late, node, all_ports, set()))
            found = measured(node)
            assert [port for port, each in found.items() if each["isMaster"] == "true"] == [str(leader.port)]
            assert all(abs(int(each["cluster.timeDiff"])) < 1_000 for each in found.values())
            assert node.ask("GET", "/thread-dump")[1][0]["process"].startswith("agent ")
            assert node.ask("GET", "/openapi.json")[0] == 200
            assert node.ask("POST", "/submit-job?jobId=1", JOB)[1]["jobId"] == "1", "sent again, it is the same job"
            assert node.ask("GET", "/job-info/1")[1]["jobId"] == "1"
            assert node.ask("GET", "/running-jobs?page=9")[1]["code"] == "bad_request"
        checked: Any = worker.ask("POST", "/check", JOB)[1]
        assert checked["valid"], checked
        assert standby.agent is not None
        os.kill(standby.agent.pid, signal.SIGSTOP)
        try:
            until("only it is late", partial(answered_late, leader, all_ports, {str(standby.port)}))
        finally:
            os.kill(standby.agent.pid, signal.SIGCONT)
