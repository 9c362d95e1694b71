"""Free slots are all slots again, whatever happened to the jobs that held them and to the nodes."""

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runtime.command import column
from tests.server.nodes import Node, some_nodes, until
from tests.server.test_single_node import FAILING, ROWS, is_jvm_of, slow_job
from tests.server.test_two_masters import both_ready

pytestmark = [pytest.mark.spark, pytest.mark.torture, pytest.mark.long, pytest.mark.timeout(1_800)]

SLOTS = ("8", "8")
"""Of two nodes of four."""


def slots(nodes: list[Node]) -> tuple[str, str]:
    """Return how many slots there are and how many are free, as the leader says; none while there is no leader."""
    status, overview = nodes[0].cluster.leader().ask("GET", "/overview")
    return (overview["totalSlot"], overview["unassignedSlot"]) if status == 200 else ("0", "0")


def wait_all_free(nodes: list[Node], what: str) -> None:
    """Wait until all slots are free, and say what is known of the nodes and the jobs if that takes too long."""
    end = time.monotonic() + 60
    while (found := slots(nodes)) != SLOTS:
        leader = nodes[0].cluster.leader()
        assert time.monotonic() < end, (
            f"after {what}, {found[1]} of {found[0]} slots are free; jobs: {leader.ask('GET', '/running-jobs')}; "
            f"nodes: {[node.members() for node in nodes]}"
        )
        time.sleep(0.05)


def kill_jvm(node: Node) -> None:
    host = node.wait_ready()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        if is_jvm_of(path, host):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(path.parent.name), signal.SIGKILL)


def restart_agent(node: Node) -> None:
    node.kill_agent()
    node.start()


def lose_node(node: Node) -> None:
    node.kill()
    time.sleep(3)
    node.start()


def stand_still(node: Node) -> None:
    assert node.agent is not None
    os.kill(node.agent.pid, signal.SIGSTOP)
    time.sleep(13)
    os.kill(node.agent.pid, signal.SIGCONT)


FAULTS: tuple[Callable[[Node], object], ...] = (Node.kill_host, kill_jvm, restart_agent, stand_still, lose_node)


def test_free_slots_are_all_slots_after_every_kind_of_fault(tmp_path: Path, figure: Callable[[str], None]) -> None:
    """One after the other, each on the leader and on the other node while jobs run, which are cancelled, stopped by a
    savepoint, or fail."""
    with some_nodes(tmp_path, 2) as nodes:
        with (tmp_path / "config/seatunnel.yaml").open("a") as file:
            file.write("    slot-service: {dynamic-slot: false, slot-num: 4}\n    job-schedule-strategy: WAIT\n")
        both_ready(nodes)
        until("all slots are known", lambda: slots(nodes) == SLOTS)
        for number, fault in enumerate(FAULTS):
            leader = nodes[0].cluster.leader()
            for struck in sorted(nodes, key=lambda node: node is leader):
                one = [f"{number}-{struck.port}-{what}" for what in ("whole", "cancelled", "saved", "failing")]
                play(nodes, struck, fault, tmp_path, one)
        figure(
            f"{2 * len(FAULTS)} faults of {len(FAULTS)} kinds: {slots(nodes)[1]} of {slots(nodes)[0]} slots are free"
        )


def play(nodes: list[Node], struck: Node, fault: Callable[[Node], object], folder: Path, names: list[str]) -> None:
    """Run a job of each fate on two full nodes, let one be struck, and count the slots when all have ended."""
    whole, cancelled, saved, failing = names
    other = next(node for node in nodes if node is not struck)
    for job_id in (whole, cancelled, saved):
        other.submit(slow_job(folder / job_id, rows_per_second=40), job_id)
    other.submit(FAILING, failing)
    for job_id in (whole, cancelled, saved):
        other.wait_rows(job_id)
    fault(struck)
    until("a node leads and answers", lambda: other.ask("POST", "/stop-job", {"jobId": cancelled})[0] == 200)
    other.ask("POST", "/stop-job", {"jobId": saved, "isStopWithSavePoint": True})
    ends = {job_id: other.wait_end(job_id)["jobStatus"] for job_id in names}
    assert (ends[whole], ends[failing]) == ("FINISHED", "FAILED"), ends
    assert ends[cancelled] in ("CANCELED", "FINISHED"), ends
    assert ends[saved] in ("SAVEPOINT_DONE", "FINISHED"), ends
    assert column(folder / whole, "id") == list(range(1, ROWS + 1))
    for node in nodes:
        node.wait_ready()
    wait_all_free(nodes, f"{fault.__name__} of {struck.address}")
