"""Nodes of a cluster as processes, for tests that start, ask and kill them."""

import contextlib
import http.client
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import define, field

from seatunnel_core.control.cluster import ClusterClient
from seatunnel_core.control.signing import Secret, read_secret
from seatunnel_core.errors import PlatformError

WAIT_S = 150
"""On a machine that has no time for anything."""

ENGINE = """seatunnel:
  engine:
    checkpoint:
      storage:
        type: hdfs
        plugin-config:
          storage.type: local
          namespace: {folder}/checkpoints/
"""

MEMBERS = """hazelcast:
  cluster-name: seatunnel
  network:
    join:
      tcp-ip:
        enabled: true
        member-list: {members}
"""

NODE = "SEATUNNEL_TEST_NODE"
"""The variable by which all processes of a node are found, those of Spark too."""


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(what: str, found: Callable[[], Any], *, wait_s: float = WAIT_S) -> Any:
    """Return the first true value."""
    end = time.monotonic() + wait_s
    while time.monotonic() < end:
        value = found()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"it took longer than {wait_s} s until {what}")


@define(eq=False)
class Node:
    """One member: its agent's process, and what it answers."""

    cluster: "Nodes"
    port: int
    role: str = "master_and_worker"
    ip: str = "127.0.0.1"
    inside: tuple[str, ...] = ()
    """The command that enters its network, if that is one of its own."""

    variables: Mapping[str, str] = field(factory=dict)
    """Of its environment alone."""

    agent: "subprocess.Popen[bytes] | None" = None

    @property
    def address(self) -> str:
        """Of the member."""
        return f"{self.ip}:{self.port}"

    def start(self, *more: str) -> None:
        """Start the agent's process, and return at once."""
        command = [
            *self.inside,
            sys.executable,
            "-m",
            "seatunnel_core.server",
            "--port",
            str(self.port),
            "-r",
            self.role,
            *more,
        ]
        with (self.cluster.folder / f"agent-{self.ip}-{self.port}.log").open("ab") as log:
            self.agent = subprocess.Popen(
                [*command, "--engine-config", str(self.cluster.folder / "config/seatunnel.yaml")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**self.cluster.environment, NODE: self.address, **self.variables},
                start_new_session=True,
            )

    def processes(self) -> dict[int, str]:
        """Return the command lines of all processes of the node, by process id."""
        mark = f"{NODE}={self.address}\0".encode()
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        found = {pid: _command(pid).replace(b"\0", b" ").decode("utf-8", "replace") for pid in pids
                 if mark in _environment(pid) + b"\0"}  # fmt: skip
        return {pid: command for pid, command in found.items() if command}

    def pids(self, text: str) -> list[int]:
        """Return the processes of the node whose command line has a text."""
        return [pid for pid, command in self.processes().items() if text in command]

    def kill_agent(self) -> None:
        """Kill the agent, and leave its host."""
        assert self.agent is not None
        self.agent.kill()
        self.agent.wait()

    def kill_host(self) -> int:
        """Kill the host, with the JVM and the Python workers of its session, and return its process id."""
        pid = self.wait_ready()
        kill_session(pid)
        return pid

    def kill(self) -> None:
        """Kill everything of the node, as a loss of power would."""
        sessions = [path.stem.partition("-")[2] for path in self.cluster.run.glob("seatunnel/hosts/*.sock")]
        own = [int(pid) for pid in sessions if self.address.encode() in _command(int(pid))]
        self.kill_agent()
        for pid in own:
            kill_session(pid)

    def ask(self, method: str, target: str, body: Any = None) -> tuple[int, Any]:
        """Return the status and the JSON value of an answer; ask again while the cluster says that it has no leader.

        A busy disk lets the lease of a leader run out now and then, and clients are told to try again.
        """
        end = time.monotonic() + 30
        while True:
            status, answer = self._ask_once(method, target, body)
            if status != 503 or time.monotonic() > end:
                return status, answer
            time.sleep(0.1)

    def _ask_once(self, method: str, target: str, body: Any) -> tuple[int, Any]:
        if self.cluster.secret is not None:
            return self._ask_signed(method, target, body)
        connection = http.client.HTTPConnection(self.ip, self.port, timeout=30)
        try:
            encoded = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
            connection.request(method, target, encoded)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def _ask_signed(self, method: str, target: str, body: Any) -> tuple[int, Any]:
        encoded = "" if body is None else body if isinstance(body, str) else json.dumps(body)
        client = ClusterClient([self.address], "seatunnel", self.cluster.secret, answer_s=30)
        try:
            answer = client.exchange(method, target, encoded.encode(), "application/json")
        except PlatformError as error:
            raise ConnectionError(error) from error
        return answer.status, json.loads(answer.body)

    def members(self) -> dict[str, Any]:
        """Return what the node says of the cluster; empty while it does not answer."""
        try:
            return dict(self.ask("GET", "/internal/v1/members")[1])
        except (OSError, http.client.HTTPException, ValueError):
            return {}

    def leads(self) -> bool:
        """Return whether the node leads."""
        return bool(self.members().get("leads"))

    def host(self) -> dict[str, Any]:
        """Return the host's process id and whether it is ready; empty while there is none."""
        return dict(self.members().get("host") or {})

    def job(self, job_id: str) -> dict[str, Any]:
        """Return a job; empty while the cluster has no leader."""
        try:
            status, answer = self.ask("GET", f"/job-info/{job_id}")
        except (OSError, http.client.HTTPException, ValueError):
            return {}
        return dict(answer) if status == 200 else {}

    def wait_ready(self, *, other_than: int = 0) -> int:
        """Wait until the node answers and its host is warm, and return the host's process id.

        ``other_than`` is the process id of a host that was killed.
        """

        def warm() -> int:
            host = self.host()
            return int(host["pid"]) if host.get("ready") and host["pid"] != other_than else 0

        return int(until(f"a host of {self.address} is ready", warm))

    def submit(self, job: str, job_id: str, *, format: str = "hocon") -> None:
        """Submit a job, which must be accepted, by a cluster that may have no leader for a moment."""

        def answered() -> tuple[int, Any] | None:
            status, answer = self.ask("POST", f"/submit-job?jobId={job_id}&format={format}", job)
            return None if status == 503 else (status, answer)

        status, answer = until("the cluster takes a job", answered)
        assert status == 200, answer
        assert answer["jobId"] == job_id

    def wait_rows(self, job_id: str, *, least: int = 1) -> None:
        """Wait until a job has committed so many rows, those of earlier attempts included."""
        until(f"the job {job_id} has committed {least} rows", lambda: self.committed(job_id) >= least)

    def committed(self, job_id: str) -> int:
        """Return how many rows a job has committed, those of earlier attempts included."""
        metrics: Mapping[str, str] = self.job(job_id).get("metrics", {})
        return int(float(metrics.get("SinkCommittedCount", "0")))

    def wait_end(self, job_id: str) -> dict[str, Any]:
        """Wait until a job has ended."""
        return dict(until(f"the job {job_id} ends", lambda: (job := self.job(job_id)).get("finishTime") and job))

    def log(self) -> str:
        """Return what the agent has logged."""
        return (self.cluster.folder / f"agent-{self.ip}-{self.port}.log").read_text("utf-8", "replace")


@define(eq=False)
class Nodes:
    """The nodes of one cluster on this machine."""

    folder: Path
    run: Path
    secret: Secret | None = None
    nodes: list[Node] = field(factory=list)

    @property
    def environment(self) -> dict[str, str]:
        """Of all its processes."""
        return {
            **os.environ,
            "HOME": str(self.folder / "home"),
            "SEATUNNEL_HOME": str(self.folder),
            "XDG_RUNTIME_DIR": str(self.run),
            "SPARK_LOCAL_DIRS": str(self.folder / "spark"),
        }

    def node(self, role: str = "master_and_worker") -> Node:
        """Return one more member, not started."""
        self.nodes.append(Node(self, free_port(), role))
        return self.nodes[-1]

    def leader(self) -> Node:
        """Wait until a node leads, and return it."""
        return next(iter(until("a node leads", lambda: [node for node in self.nodes if node.leads()])))


@contextmanager
def some_nodes(folder: Path, count: int = 1) -> Iterator[list[Node]]:
    """Give so many nodes of one cluster, not started; in the end everything that they started is killed."""
    with a_cluster(folder) as cluster:
        yield [cluster.node() for _ in range(count)]


@contextmanager
def masters_and_workers(folder: Path, masters: int, workers: int) -> Iterator[tuple[list[Node], list[Node]]]:
    """Give so many nodes of each role, of one cluster with a secret and a list of its masters, not started."""
    with a_cluster(folder) as cluster:
        leading = [cluster.node("master") for _ in range(masters)]
        working = [cluster.node("worker") for _ in range(workers)]
        (folder / "config/hazelcast.yaml").write_text(MEMBERS.format(members=[node.address for node in leading]))
        give_secret(cluster)
        yield leading, working


def give_secret(cluster: Nodes) -> None:
    """Give a cluster whose nodes have not started a secret."""
    secret = cluster.folder / "config/cluster.secret"
    secret.write_text(secrets.token_hex(32))
    secret.chmod(0o600)
    cluster.secret = read_secret(secret)


@contextmanager
def a_cluster(folder: Path) -> Iterator[Nodes]:
    """Give a cluster without nodes; in the end everything that its nodes started is killed."""
    (folder / "config").mkdir(parents=True)
    (folder / "config/seatunnel.yaml").write_text(ENGINE.format(folder=folder))
    with tempfile.TemporaryDirectory(prefix="stc-", dir="/tmp") as run:
        cluster = Nodes(folder, Path(run))
        try:
            yield cluster
        finally:
            for node in cluster.nodes:
                if node.agent is not None:
                    with contextlib.suppress(ProcessLookupError):
                        node.agent.kill()
                    node.agent.wait()
            for name in os.listdir("/proc"):
                if name.isdigit() and str(folder).encode() in _environment(int(name)):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(name), signal.SIGKILL)


def kill_session(leader: int) -> None:
    """Kill a process and all that are in its session."""
    pids = [leader]
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            fields = Path(f"/proc/{int(name)}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
            if int(fields[3]) == leader:
                pids.append(int(name))
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""
