"""Each node answers: masters that lead and that do not, and workers, while one of them stands still."""

import json
import os
import signal
import time
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
        until("all nodes are known", lambda: measured(leader).keys() == all_ports)
        for node in (leader, standby, worker):
            found = measured(node)
            assert found.keys() == all_ports
            assert not any("timeout" in each for each in found.values()), found
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
            time.sleep(1.5)  # what was told a moment ago is told again
            begun = time.monotonic()
            found = measured(leader)
            assert time.monotonic() - begun < 5
            assert found[str(standby.port)].get("timeout") == "true", found
            assert "timeout" not in found[str(worker.port)]
        finally:
            os.kill(standby.agent.pid, signal.SIGCONT)
