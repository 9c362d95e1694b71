"""Two masters under random faults: every acknowledged job ends once, and its rows come once.

``SEATUNNEL_RUNS`` says how many faults happen, ``SEATUNNEL_SEED`` which ones.
"""

import contextlib
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.runtime.command import column
from tests.server.nodes import Node, some_nodes, until
from tests.server.test_single_node import ROWS, is_jvm_of, slow_job

FAULTS = int(os.environ.get("SEATUNNEL_RUNS", "8"))
SEED = int(os.environ.get("SEATUNNEL_SEED", "1"))
MOST_OPEN = 4


class Nemesis:
    """Breaks a node in a way that is drawn, and mends it after a while."""

    def __init__(self, nodes: list[Node], draw: random.Random) -> None:
        self.nodes = nodes
        self.draw = draw
        self.counts: Counter[str] = Counter()

    def strike(self) -> None:
        """Break one node, wait, and mend it."""
        node = self.draw.choice(self.nodes)
        what = self.draw.choice([self.kill_agent, self.kill_host, self.kill_jvm, self.kill_node, self.stop_agent])
        self.counts[what.__name__] += 1
        what(node)

    def kill_agent(self, node: Node) -> None:
        node.kill_agent()
        self._pause()
        node.start()

    def kill_node(self, node: Node) -> None:
        node.kill()
        self._pause()
        node.start()

    def kill_host(self, node: Node) -> None:
        if node.host():
            node.kill_host()
        self._pause()

    def kill_jvm(self, node: Node) -> None:
        host = node.host().get("pid", 0)
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            if host and is_jvm_of(path, host):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(path.parent.name), signal.SIGKILL)
        self._pause()

    def stop_agent(self, node: Node) -> None:
        assert node.agent is not None
        os.kill(node.agent.pid, signal.SIGSTOP)
        time.sleep(self.draw.uniform(1, 15))
        os.kill(node.agent.pid, signal.SIGCONT)

    def _pause(self) -> None:
        time.sleep(self.draw.uniform(0, 6))


@pytest.mark.spark
@pytest.mark.torture
@pytest.mark.timeout(36_000)
def test_every_acknowledged_job_ends_once_and_its_rows_come_once(tmp_path: Path) -> None:
    draw = random.Random(SEED)
    with some_nodes(tmp_path, 2) as nodes:
        nemesis = Nemesis(nodes, draw)
        for node in nodes:
            node.start()
        acknowledged: list[str] = []
        ended: set[str] = set()
        for number in range(FAULTS):
            asked = until("a node answers", lambda: [node for node in nodes if node.members().get("leader")])
            ended |= {job_id for job_id in acknowledged if any(node.job(job_id).get("finishTime") for node in asked)}
            if len(acknowledged) - len(ended) < MOST_OPEN:
                job_id = str(number)
                with_rate = slow_job(tmp_path / job_id, rows_per_second=draw.choice([20, 40, 80]))
                draw.choice(asked).submit(with_rate, job_id)
                acknowledged.append(job_id)
            time.sleep(draw.uniform(0, 4))
            nemesis.strike()
        for node in nodes:
            until(f"{node.address} answers", node.members)
        leader = nodes[0].cluster.leader()
        states = {job_id: leader.wait_end(job_id) for job_id in acknowledged}
        print(f"{sum(nemesis.counts.values())} faults, {len(acknowledged)} jobs: {dict(nemesis.counts)}")
        assert {job_id: job["jobStatus"] for job_id, job in states.items()} == dict.fromkeys(states, "FINISHED"), states
        for job_id in acknowledged:
            assert column(tmp_path / job_id, "id") == list(range(1, ROWS + 1)), job_id
        assert leader.ask("GET", "/running-jobs") == (200, [])
