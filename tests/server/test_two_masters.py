"""Two masters on one machine, by their ports: one leads, the other takes over and goes on with the jobs."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.runtime.command import column
from tests.server.nodes import Node, some_nodes, until
from tests.server.test_single_node import ROWS, slow_job

pytestmark = [pytest.mark.spark, pytest.mark.torture, pytest.mark.timeout(900)]


def both_ready(nodes: list[Node]) -> tuple[Node, Node]:
    """Start both, wait until each is warm and knows the other, and return the leader and the standby."""
    for node in nodes:
        node.start()
    for node in nodes:
        node.wait_ready()
    leader = nodes[0].cluster.leader()
    standby = next(node for node in nodes if node is not leader)
    until("the standby is a member", lambda: standby.address in standby.members().get("members", ()))
    return leader, standby


def test_any_node_answers_and_takes_jobs(tmp_path: Path) -> None:
    with some_nodes(tmp_path, 2) as nodes:
        leader, standby = both_ready(nodes)
        standby.submit(slow_job(tmp_path / "out", rows_per_second=100_000), "1")
        assert standby.wait_end("1")["jobStatus"] == "FINISHED"
        assert leader.job("1") == standby.job("1")
        assert standby.ask("GET", "/overview")[1]["workers"] == "2"
        assert column(tmp_path / "out", "id") == list(range(1, ROWS + 1))


@pytest.mark.parametrize("how", ["agent", "all"])
def test_the_leader_is_killed_and_the_other_goes_on(tmp_path: Path, how: str) -> None:
    """Of the agent alone, or of its host too. The host that is left over is fenced by the job's manifest."""
    with some_nodes(tmp_path, 2) as nodes:
        leader, standby = both_ready(nodes)
        leader.submit(slow_job(tmp_path / "out"), "1")
        leader.wait_rows("1")
        before = leader.committed("1")
        began = time.monotonic()
        leader.kill_agent() if how == "agent" else leader.kill()
        until("the standby leads", standby.leads)
        led = time.monotonic() - began
        standby.wait_rows("1", least=before + 30)  # more than what was under way when the leader was killed
        committed = time.monotonic() - began
        print(f"killed {how}: another leads after {led:.2f} s, rows are committed after {committed:.2f} s")
        assert standby.wait_end("1")["jobStatus"] == "FINISHED"
        assert column(tmp_path / "out", "id") == list(range(1, ROWS + 1))
        leader.start()
        until("the killed one is a standby", lambda: leader.members().get("leader") == standby.address)


def test_a_leader_that_stands_still_is_replaced_and_harmless_when_it_wakes(tmp_path: Path) -> None:
    with some_nodes(tmp_path, 2) as nodes:
        leader, standby = both_ready(nodes)
        leader.submit(slow_job(tmp_path / "out", rows_per_second=10), "1")
        leader.wait_rows("1")
        before = leader.committed("1")
        assert leader.agent is not None
        os.kill(leader.agent.pid, signal.SIGSTOP)
        began = time.monotonic()
        until("the standby leads", standby.leads)
        print(f"stopped: another leads after {time.monotonic() - began:.2f} s")
        standby.wait_rows("1", least=before + 10)
        os.kill(leader.agent.pid, signal.SIGCONT)
        until("the old leader is a standby", lambda: leader.members().get("leader") == standby.address)
        assert standby.leads()
        assert leader.wait_end("1")["jobStatus"] == "FINISHED"
        assert column(tmp_path / "out", "id") == list(range(1, ROWS + 1))
