"""``python -m tests.bench.clusters ours|workers|seatunnel jobs|failover``: a cluster, and SeaTunnel's beside it.

The same jobs are submitted to both by REST and watched by REST, every 10 ms. ``jobs``: small ones one after the other,
from the request to FINISHED and until rows stand in the sink, and a hundred at once. ``failover``: the active master of
a job is killed with all of its processes, and the time is taken until the other node tells that the job runs, and until
new rows stand in its sink. ``ours`` are two nodes, ``workers`` two masters and a worker, whose Spark moves the rows.
SeaTunnel's engine is in the folder that ``SEATUNNEL_PEER_HOME`` names, made by ``tests.bench.seatunnel_engine``.
"""

import argparse
import contextlib
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from attrs import define

from tests.server.nodes import Node, free_port, masters_and_workers, some_nodes, until

WARM, MEASURED, MANY, ROWS = 3, 9, 100, 10
MAPS = "/hazelcast/rest/maps"

HAZELCAST = """hazelcast:
  cluster-name: peer
  network:
    rest-api:
      enabled: true
      endpoint-groups: {{ CLUSTER_WRITE: {{ enabled: true }}, DATA: {{ enabled: true }} }}
    join: {{ tcp-ip: {{ enabled: true, member-list: {members} }} }}
    port: {{ auto-increment: false, port: {port} }}
  properties:
    hazelcast.logging.type: log4j2
    hazelcast.phone.home.enabled: false
    hazelcast.invocation.max.retry.count: 20
    hazelcast.tcp.join.port.try.count: 30
    hazelcast.operation.generic.thread.count: 50
"""
"""As SeaTunnel's own file has it."""


def batch_job() -> dict[str, Any]:
    """Return a job with ten rows."""
    return {
        "env": {"job.mode": "BATCH", "parallelism": 1},
        "source": [
            {
                "plugin_name": "FakeSource",
                "result_table_name": "f",
                "row.num": ROWS,
                "schema": {"fields": {"id": "bigint", "name": "string"}},
            }
        ],
        "transform": [],
        "sink": [{"plugin_name": "Console", "source_table_name": "f"}],
    }


def long_job(target: Path) -> dict[str, Any]:
    """Return a job that writes some rows each second into files, for minutes, with a checkpoint twice a second."""
    job = file_job(target)
    job["env"] |= {"checkpoint.interval": 500, "read_limit.rows_per_second": 50}
    job["source"][0] |= {"row.num": 10_000, "split.num": 400}
    return job


def file_job(target: Path) -> dict[str, Any]:
    """Return a job with ten rows, into files."""
    job = batch_job()
    job["sink"] = [
        {
            "plugin_name": "LocalFile",
            "source_table_name": "f",
            "path": str(target),
            "tmp_path": f"{target}-tmp",
            "file_format_type": "json",
        }
    ]
    return job


class Asked(Protocol):
    """A node that answers by REST."""

    def ask(self, method: str, target: str, body: Any = None) -> tuple[int, Any]:
        """Return the status and the JSON value of an answer."""

    def kill(self) -> None:
        """Kill everything of the node."""


@define(eq=False)
class Peer:
    """A node of SeaTunnel's cluster."""

    port: int
    process: "subprocess.Popen[bytes]"

    def ask(self, method: str, target: str, body: Any = None) -> tuple[int, Any]:
        """Return the status and the JSON value of an answer."""
        connection = http.client.HTTPConnection("localhost", self.port, timeout=20)
        try:
            connection.request(method, MAPS + target, body if body is None else json.dumps(body))
            response = connection.getresponse()
            return response.status, json.loads(response.read() or b"null")
        finally:
            connection.close()

    def kill(self) -> None:
        """Kill the node."""
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def ours(folder: Path) -> Iterator[list[Node]]:
    """Give two warm nodes, the one that leads first."""
    with some_nodes(folder / "cluster", 2) as nodes:
        for node in nodes:
            node.start()
        for node in nodes:
            node.wait_ready()
        leader = nodes[0].cluster.leader()
        (standby,) = (node for node in nodes if node is not leader)
        until("the standby is a member", lambda: standby.address in standby.members().get("members", ()))
        yield [leader, standby]


@contextlib.contextmanager
def workers(folder: Path) -> Iterator[list[Node]]:
    """Give two masters, the one that leads first; a worker moves the rows of both."""
    with masters_and_workers(folder / "cluster", 2, 1) as (masters, working):
        for node in (*masters, *working):
            node.start()
        for node in masters:
            node.wait_ready()
        leader = masters[0].cluster.leader()
        yield [leader, *(node for node in masters if node is not leader)]


@contextlib.contextmanager
def seatunnel(folder: Path) -> Iterator[list[Peer]]:
    """Give two nodes, the one that leads first: the oldest member."""
    home = Path(os.environ["SEATUNNEL_PEER_HOME"])
    ports = [free_port() for _ in range(2)]
    nodes: list[Peer] = []
    with contextlib.ExitStack() as opened:
        for port in ports:
            config = folder / f"hazelcast-{port}.yaml"
            config.write_text(HAZELCAST.format(members=[f"localhost:{each}" for each in ports], port=port))
            log = opened.enter_context((folder / f"node-{port}.log").open("wb"))
            command = [str(home / "bin/seatunnel-cluster.sh"), str(config), "peer"]
            process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            nodes.append(Peer(port, process))
            opened.callback(nodes[-1].kill)
            until(f"the node {port} answers", lambda: _is_up(nodes[-1]))
        yield nodes


def _is_up(node: Peer) -> bool:
    try:
        status, answer = node.ask("GET", "/overview")
    except (OSError, ValueError, http.client.HTTPException):
        return False
    return status == 200 and "projectVersion" in answer


def submit(node: Asked, name: str, job: dict[str, Any]) -> str:
    """Submit a job and return its id."""
    status, answer = node.ask("POST", f"/submit-job?jobName={name}", job)
    if status != 200:
        sys.exit(f"{name} is refused: {answer}")
    return str(answer["jobId"])


def _finished(node: Asked, job_id: str) -> bool:
    _, answer = node.ask("GET", f"/job-info/{job_id}")
    state = answer.get("jobStatus")
    if state in ("FAILED", "CANCELED"):
        sys.exit(f"{job_id}: {answer}")
    return bool(state == "FINISHED")


def _wait(found: Callable[[], bool]) -> None:
    while not found():
        time.sleep(0.01)


def jobs(nodes: list[Any]) -> dict[str, Any]:
    """Return the times of small jobs, one after the other and many at once, in seconds."""
    node, ends, rows = nodes[0], [], []
    for number in range(WARM + MEASURED):
        began = time.monotonic()
        job_id = submit(node, f"small-{number}", batch_job())
        _wait(lambda job_id=job_id: _finished(node, job_id))  # type: ignore[misc]
        ends.append(time.monotonic() - began)
    for number in range(WARM + MEASURED):
        with tempfile.TemporaryDirectory(prefix="rows-") as made:
            target, began = Path(made) / "out", time.monotonic()
            job_id = submit(node, f"rows-{number}", file_job(target))
            _wait(lambda target=target: _published(target) > 0)  # type: ignore[misc]
            rows.append(time.monotonic() - began)
            _wait(lambda job_id=job_id: _finished(node, job_id))  # type: ignore[misc]
    began = time.monotonic()
    many = [submit(node, f"many-{number}", batch_job()) for number in range(MANY)]
    accepted = time.monotonic() - began
    for job_id in many:
        _wait(lambda job_id=job_id: _finished(node, job_id))  # type: ignore[misc]
    return {
        "submit to FINISHED": _spread(ends[WARM:]),
        "submit to rows in the sink": _spread(rows[WARM:]),
        f"{MANY} accepted": accepted,
        f"{MANY} FINISHED": time.monotonic() - began,
    }


def _spread(seconds: list[float]) -> list[float]:
    """Return the median, the least and the most."""
    return [statistics.median(seconds), min(seconds), max(seconds)]


def _runs(node: Asked, job_id: str) -> bool:
    try:
        _, answer = node.ask("GET", f"/job-info/{job_id}")
    except (OSError, ValueError, http.client.HTTPException):
        return False
    return bool(answer.get("jobStatus") == "RUNNING")


def _published(target: Path) -> int:
    """Return how many rows stand in the files that readers of a sink's folder see."""
    return sum(path.read_bytes().count(b"\n") for path in target.glob("*.json"))


def failover(nodes: list[Any]) -> dict[str, Any]:
    """Return after how many seconds rows come again when the active master of a job is killed."""
    leader, other = nodes
    with tempfile.TemporaryDirectory(prefix="failover-") as made:
        target = Path(made) / "out"
        job_id = submit(leader, "long", long_job(target))
        _wait(lambda: _published(target) > 100)
        leader.kill()
        began, before, running, more = time.monotonic(), _published(target), 0.0, 0.0
        while not (running and more):
            running = running or (time.monotonic() - began if _runs(other, job_id) else 0.0)
            more = more or (time.monotonic() - began if _published(target) > before else 0.0)
            time.sleep(0.01)
    return {"RUNNING again": running, "more rows": more}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.clusters", description=__doc__)
    parser.add_argument("system", choices=("ours", "workers", "seatunnel"))
    parser.add_argument("what", choices=("jobs", "failover"))
    arguments = parser.parse_args()
    system, measure = globals()[arguments.system], globals()[arguments.what]
    with tempfile.TemporaryDirectory(prefix="clusters-") as made, system(Path(made)) as nodes:
        print(json.dumps({"load": os.getloadavg()[0], **measure(nodes)}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
