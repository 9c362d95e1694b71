"""A rolling upgrade: nodes with the code of an earlier commit are replaced one by one while clients submit jobs.

``make rolling-upgrade OLD=COMMIT`` names the commit; by default it is the parent of this one. Old and new nodes elect
leaders, forward requests, give orders and read each other's records meanwhile, in both directions: the node that leads
is replaced first, so that an old node leads new ones and a new node leads old ones. The cluster has a secret: once all
nodes are new, the records of its jobs are encrypted, also those that old nodes wrote. ``SEATUNNEL_STATE_URL`` names a
database of PostgreSQL for the state, as ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``; else it is in files.
"""

import os
import random
import secrets
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from attrs import define, field

from seatunnel_core.server.agent.node_config import node_config
from seatunnel_core.server.state.location import open_store
from seatunnel_core.server.state.records import HISTORY_PREFIX, JOB_PREFIX
from tests.runtime.command import column
from tests.server.nodes import Node, Nodes, give_secret, some_nodes, until
from tests.server.test_single_node import ROWS, slow_job

ROOT = Path(__file__).parents[2]
OLD = os.environ.get("SEATUNNEL_OLD") or "HEAD~1"
END_S = 60.0

pytestmark = [pytest.mark.spark, pytest.mark.torture, pytest.mark.timeout(600)]


def code_of(commit: str, folder: Path) -> dict[str, str]:
    """Return the variables by which a node runs the code of a commit."""
    packed = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=False)
    if shutil.which("git") is None or packed.returncode:
        pytest.skip(f"the commit {commit} is not in this clone: {packed.stderr.decode().strip()}")
    folder.mkdir()
    subprocess.run(["tar", "-x", "-C", str(folder)], input=packed.stdout, check=True)
    packages = [folder, *sorted((folder / "plugins").glob("seatunnel-storage-*"))]
    return {"PYTHONPATH": os.pathsep.join(map(str, packages)), "PYTHONSAFEPATH": "1"}


def require_old_code(variables: dict[str, str], folder: Path) -> None:
    """Assert that a process with these variables imports the code in a folder."""
    shown = "import seatunnel_core.server.node as n, seatunnel_storage_mapstore as m; print(n.__file__, m.__file__)"
    environment = {**os.environ, **variables}
    found = subprocess.run([sys.executable, "-c", shown], env=environment, capture_output=True, text=True, check=True)
    assert all(each.startswith(str(folder)) for each in found.stdout.split()), found.stdout


@define(eq=False)
class Load:
    """A client that submits small jobs through nodes that it draws, until it is told to stop."""

    nodes: list[Node]
    folder: Path
    acknowledged: list[str] = field(factory=list)
    bugs: list[str] = field(factory=list)
    _enough: threading.Event = field(factory=threading.Event)

    def run(self) -> None:
        draw, number = random.Random(1), 0
        while not self._enough.wait(1.0):
            number += 1
            job_id = f"load-{number}"
            job = slow_job(self.folder / job_id, rows_per_second=200)
            while not self._is_accepted(draw.choice(self.nodes), job, job_id):
                if self._enough.wait(0.2):
                    return

    def stop(self) -> None:
        """Submit no more."""
        self._enough.set()

    def has_more_than(self, count: int) -> bool:
        """Return True if more jobs were accepted, or there will be no more."""
        return len(self.acknowledged) > count or bool(self.bugs)

    def _is_accepted(self, node: Node, job: str, job_id: str) -> bool:
        try:
            status, answer = node.ask("POST", f"/submit-job?jobId={job_id}&format=hocon", job)
        except (OSError, ValueError):
            return False
        if status == 200:
            self.acknowledged.append(job_id)
        elif status != 503:
            self.bugs.append(f"{job_id}: {status} {answer}")
            self._enough.set()
        return status == 200


@contextmanager
def state_of(cluster: Nodes) -> Iterator[Callable[[], dict[str, bytes]]]:
    """Choose where a cluster keeps its state, and give a function that reads the records of its jobs, as stored."""
    file, namespace = cluster.folder / "config/seatunnel.yaml", f"/rolling-{secrets.token_hex(4)}/"
    url = os.environ.get("SEATUNNEL_STATE_URL")
    if url:
        at = urlsplit(url)
        storage = {
            "namespace": namespace,
            "url": f"jdbc:postgresql://{at.hostname}:{at.port}{at.path}",
            "user": at.username,
            "password": at.password,
        }
        engine = {"checkpoint": {"storage": {"type": "jdbc", "plugin-config": storage}}}
        file.write_text(yaml.safe_dump({"seatunnel": {"engine": engine}}))
    config = node_config(environment={"HOME": str(cluster.folder)}, engine_file=file)

    def records() -> dict[str, bytes]:
        store = open_store(config.engine, None, config.cluster)
        try:
            stored = store.read()
            return {
                key.rpartition("/")[2]: stored[key] for key in stored if key.startswith((JOB_PREFIX, HISTORY_PREFIX))
            }
        finally:
            store.close()

    yield records


def replace(node: Node) -> None:
    """End a node as its operator would, and start it with this tree's code."""
    assert node.agent is not None
    node.agent.terminate()
    node.agent.wait(END_S)
    node.variables = {}
    node.start()
    node.wait_ready()


def require_encrypted(records: Mapping[str, bytes], jobs: Collection[str]) -> None:
    """Require an encrypted record for each of the jobs, because all nodes are new and have a secret."""
    assert records.keys() == set(jobs)
    assert [job_id for job_id, record in records.items() if not record.startswith(b'{"sealed":')] == []


def test_nodes_are_replaced_by_those_of_a_newer_version_and_no_job_is_lost_or_doubled(tmp_path: Path) -> None:
    old = tmp_path / "old"
    variables = code_of(OLD, old)
    require_old_code(variables, old)
    with some_nodes(tmp_path / "cluster", 2) as nodes, state_of(nodes[0].cluster) as state:
        give_secret(nodes[0].cluster)
        for node in nodes:
            node.variables = variables
            node.start()
        for node in nodes:
            node.wait_ready()
        leader = nodes[0].cluster.leader()
        (standby,) = (node for node in nodes if node is not leader)
        until("the standby is a member", lambda: standby.address in leader.members().get("members", ()))
        load = Load(nodes, tmp_path / "out")
        client = threading.Thread(target=load.run)
        standby.submit(slow_job(tmp_path / "long", rows_per_second=12), "long")
        client.start()
        try:
            leader.wait_rows("long")
            for node in (leader, standby):
                before = len(load.acknowledged)
                replace(node)
                until("jobs are accepted again", partial(load.has_more_than, before + 1))
        finally:
            load.stop()
            client.join(60)
        assert load.bugs == []
        assert len(load.acknowledged) >= 4
        began = time.monotonic()
        for job_id in (*load.acknowledged, "long"):
            assert nodes[0].wait_end(job_id)["jobStatus"] == "FINISHED", job_id
            target = tmp_path / "long" if job_id == "long" else tmp_path / "out" / job_id
            assert column(target, "id") == list(range(1, ROWS + 1)), job_id
        print(
            f"{len(load.acknowledged) + 1} jobs, upgraded from {OLD}, {time.monotonic() - began:.0f} s to the last end"
        )
        require_encrypted(state(), {*load.acknowledged, "long"})
        for node in nodes:
            assert "Traceback" not in node.log(), node.log()
