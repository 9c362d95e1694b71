"""Masters without executors and workers without state, as processes: whatever is killed, jobs go on, rows come once."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path

import pytest

from seatunnel_core.control.signing import read_secret
from seatunnel_core.server.agent.host_spark import FORGOTTEN_AFTER_S
from seatunnel_core.server.spark_children.credentials import Credentials
from tests.live_folder import content_of, files_below
from tests.runtime.command import column
from tests.server.nodes import NODE, Node, masters_and_workers, until
from tests.server.test_single_node import ROWS, slow_job

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

EXECUTOR, SPARK_MASTER, SPARK_WORKER = "CoarseGrainedExecutorBackend", "deploy.master.Master", "deploy.worker.Worker"
PYTHON = "-m seatunnel_executor_daemon"

AT_LONGEST_S = FORGOTTEN_AFTER_S + 90
"""A Spark master that recovers may lose the end of an executor that is reported meanwhile, and order no other one. A
host that it knows is replaced only after ``FORGOTTEN_AFTER_S`` without executors; then it and its JVM start."""


@contextmanager
def running(folder: Path, masters: int = 1, workers: int = 1) -> Iterator[tuple[list[Node], list[Node]]]:
    """Give nodes that are all started, with a warm host on each master."""
    with masters_and_workers(folder, masters, workers) as (leading, working):
        for node in (*leading, *working):
            node.start()
        for node in leading:
            node.wait_ready()
        yield leading, working


@pytest.mark.torture
def test_a_job_runs_on_workers_alone(tmp_path: Path) -> None:
    with running(tmp_path) as ((master,), (worker,)):
        worker.submit(slow_job(tmp_path / "out"), "1")
        worker.wait_rows("1")
        on_master, on_worker = master.processes().values(), worker.processes().values()
        assert not [each for each in on_master if EXECUTOR in each or PYTHON in each or "-m pyspark" in each]
        assert any(EXECUTOR in each for each in on_worker)
        assert any(PYTHON in each for each in on_worker)
        assert_secrets_are_kept(tmp_path, (*on_master, *on_worker))
        assert_pages_are_closed([*master.pids("java"), *worker.pids("java")])
        assert master.ask("GET", "/overview")[1]["workers"] == "1"
        assert list(master.members()["workers"]) == list(worker.members()["workers"]) == [worker.address]
        assert worker.wait_end("1")["jobStatus"] == "FINISHED"
        assert column(tmp_path / "out", "id") == list(range(1, ROWS + 1))


def kill_one(node: Node, text: str) -> None:
    """Kill the one process of a node whose command line has a text."""
    (pid,) = node.pids(text)
    os.kill(pid, signal.SIGKILL)


def await_progress(master: Node, what: str, *, within_s: float) -> None:
    """Wait until the job commits further rows than what was under way."""
    before, began = master.committed("1"), time.monotonic()
    until(f"rows are committed after the loss of {what}", lambda: master.committed("1") >= before + 12, wait_s=within_s)
    print(f"killed: {what}; 12 more rows are committed after {time.monotonic() - began:.1f} s")


def assert_secrets_are_kept(folder: Path, commands: Iterable[str]) -> None:
    """Neither the cluster's secret nor what is derived from it stands on a command line or in a log."""
    secret = read_secret(folder / "config/cluster.secret")
    assert secret is not None
    keys = Credentials.of(secret, "seatunnel")
    kept = [
        secret.value.decode(),
        keys.rpc,
        keys.page_properties()["spark.org.apache.spark.ui.JWSFilter.param.secretKey"],
    ]
    assert not [each for each in commands if any(key in each for key in kept)]
    logs = [path for path in files_below(folder) if path.suffix in (".log", "") and "logs" in path.parts]
    assert len(logs) > 3
    assert not [path for path in logs if any(key.encode() in content_of(path) for key in kept)]


def assert_pages_are_closed(pids: list[int]) -> None:
    """No port of Spark's answers who has no token and no secret, and pages are on loopback."""
    found = [address for pid in pids for address in listening(pid)]
    assert len(found) >= 7  # two pages, and a port of each process and for the blocks of driver and executor
    answers = {address: first_line(address) for address in found}
    pages = {address: line for address, line in answers.items() if line.startswith("HTTP")}
    assert len(pages) == 2
    assert all("403" in line and host == "127.0.0.1" for (host, _), line in pages.items()), pages


def listening(pid: int) -> list[tuple[str, int]]:
    """Return the addresses on which a process listens."""
    sockets = set()
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            sockets.add(os.readlink(path))
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                host, port = fields[1].split(":")
                found.append((str(ip_address(bytes.fromhex(host[-8:])[::-1])), int(port, 16)))
    return found


def first_line(address: tuple[str, int]) -> str:
    """Return the first line that a port answers to a browser; empty when it answers nothing."""
    host = "127.0.0.1" if address[0] == "0.0.0.0" else address[0]
    with socket.create_connection((host, address[1]), timeout=3) as connection, suppress(OSError):
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        return connection.recv(200).decode("latin-1").partition("\r\n")[0]
    return ""


@pytest.mark.torture
def test_whatever_is_killed_the_job_goes_on_and_its_rows_come_once(tmp_path: Path) -> None:
    with running(tmp_path) as ((master,), (worker,)):
        host = master.host()["pid"]
        master.submit(slow_job(tmp_path / "out", rows_per_second=4), "1")
        master.wait_rows("1")

        kill_one(worker, EXECUTOR)
        await_progress(master, "the executor", within_s=60)

        kill_one(worker, SPARK_WORKER)
        await_progress(master, "the Spark worker", within_s=60)

        kill_one(master, SPARK_MASTER)
        await_progress(master, "the Spark master", within_s=60)
        until("the Spark master is there again", lambda: master.pids(SPARK_MASTER))
        kill_one(worker, EXECUTOR)  # the new Spark master orders another one
        await_progress(master, "the Spark master, then the executor", within_s=AT_LONGEST_S)

        worker.kill_agent()
        until("nothing is left of the worker", lambda: not worker.processes())
        worker.start()
        await_progress(master, "the worker's agent", within_s=60)

        master.kill_agent()
        until("the Spark master ends with its agent", lambda: not master.pids(SPARK_MASTER))
        master.start()
        assert master.wait_ready() == host
        assert "attempt 2 of job 1" not in master.log()
        await_progress(master, "the master's agent", within_s=60)

        kill_one(worker, EXECUTOR)  # the Spark master of the new agent knows the old host
        await_progress(master, "the master's agent, then the executor", within_s=AT_LONGEST_S)

        master.kill_host()
        master.wait_ready(other_than=host)
        await_progress(master, "the host", within_s=60)
        ended = master.wait_end("1")
        assert ended["jobStatus"] == "FINISHED", ended
        assert column(tmp_path / "out", "id") == list(range(1, ROWS + 1))


@pytest.mark.torture
def test_an_executor_that_is_starting_ends_with_its_spark_worker(tmp_path: Path) -> None:
    """An executor learns of the end of its Spark worker from their connection, which it does not have yet."""
    with running(tmp_path) as ((master,), (worker,)):
        for pid in worker.pids(EXECUTOR):
            os.kill(pid, signal.SIGKILL)
        ended = set(worker.pids(EXECUTOR))
        (starting,) = until("a further executor starts", lambda: set(worker.pids(EXECUTOR)) - ended)
        worker.kill_agent()
        until("nothing is left of the worker", lambda: not worker.processes(), wait_s=60)
        worker.start()
        until("the master has an executor again", lambda: master.host().get("executors") == 1)
        assert starting not in worker.processes()


def test_workers_alone_end_after_the_grace(tmp_path: Path) -> None:
    with masters_and_workers(tmp_path, 1, 1) as ((master,), (worker,)):
        with (tmp_path / "config/seatunnel.yaml").open("a") as file:
            file.write("    cluster:\n      worker-grace-seconds: 2\n")
        worker.start()
        assert worker.agent is not None
        assert worker.agent.wait(60) == 1
        told = f"could not reach a master of the cluster 'seatunnel' for 2 s, and exits; it tried: {master.address}"
        assert told in worker.log()


@pytest.mark.long
@pytest.mark.torture
def test_a_worker_that_stands_still_is_given_up_and_harmless_when_it_wakes(tmp_path: Path) -> None:
    """As one whose machine is gone: nothing refuses a connection, and nothing answers."""
    with running(tmp_path, workers=2) as ((master,), (worker, _other)):
        until("both have executors", lambda: master.host().get("executors") == 2)
        master.submit(slow_job(tmp_path / "out", rows_per_second=4), "1")
        master.wait_rows("1")
        stopped = list(worker.processes())
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        began = time.monotonic()
        until("the executor is given up", lambda: master.host().get("executors") == 1, wait_s=60)
        print(f"stopped: its executor is given up after {time.monotonic() - began:.1f} s")
        await_progress(master, "a worker that stands still", within_s=60)
        assert master.ask("GET", "/overview")[1]["workers"] == "1"
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        until("it is a worker again", lambda: master.host().get("executors") == 2, wait_s=120)
        assert master.wait_end("1")["jobStatus"] == "FINISHED"
        assert column(tmp_path / "out", "id") == list(range(1, ROWS + 1))


@pytest.mark.long
@pytest.mark.torture
def test_a_host_that_its_spark_master_has_forgotten_is_replaced(tmp_path: Path) -> None:
    """It would wait for executors for ever, without an error."""
    with running(tmp_path) as ((master,), (_worker,)):
        host = master.host()["pid"]
        master.submit(slow_job(tmp_path / "out", rows_per_second=10), "1")
        master.wait_rows("1")
        (spark_master,) = master.pids(SPARK_MASTER)
        os.kill(spark_master, signal.SIGSTOP)  # it writes nothing any more
        for path in master.cluster.run.glob("seatunnel/spark/*/recovery/*"):
            path.unlink()
        os.kill(spark_master, signal.SIGKILL)
        began = time.monotonic()
        master.wait_ready(other_than=host)
        print(f"forgotten: another host is ready after {time.monotonic() - began:.1f} s")
        assert "is not registered with the Spark master" in master.log()
        assert master.wait_end("1")["jobStatus"] == "FINISHED"
        assert column(tmp_path / "out", "id") == list(range(1, ROWS + 1))


@pytest.mark.long
@pytest.mark.torture
def test_a_job_waits_for_the_first_worker(tmp_path: Path) -> None:
    with masters_and_workers(tmp_path, 1, 1) as ((master,), (worker,)):
        master.start()
        until("it leads, and Spark is up", lambda: master.leads() and master.host().get("application"))
        master.submit(slow_job(tmp_path / "out", rows_per_second=100_000), "1")
        time.sleep(3)
        assert master.job("1")["jobStatus"] == "PENDING"
        assert master.job("1")["pendingReason"] == "no worker node has joined, or its executor is starting"
        assert not master.host()["ready"]
        worker.start()
        assert worker.wait_end("1")["jobStatus"] == "FINISHED"
        assert "attempt 2" not in master.log()


@pytest.mark.torture
def test_the_commands_of_roles_with_files_of_their_own(tmp_path: Path) -> None:
    """As users type them; each role has its file and its log, and the script stops both."""
    with masters_and_workers(tmp_path, 1, 1) as ((master,), (worker,)):
        config = tmp_path / "config"
        text = (config / "hazelcast.yaml").read_text()
        port = "    port:\n      auto-increment: false\n      port: {}\n"
        (config / "hazelcast.yaml").unlink()
        (config / "hazelcast-master.yaml").write_text(text + port.format(master.port))
        (config / "hazelcast-worker.yaml").write_text(text + port.format(worker.port))
        for node, role in ((master, "master"), (worker, "worker")):
            done = command(node, "seatunnel-cluster.sh", "-d", "-r", role)
            assert f"Node {node.address} of cluster 'seatunnel' runs in process" in done.stdout, done.stderr
            assert f"seatunnel-engine-{role}.log" in done.stdout
        master.wait_ready()
        worker.submit(slow_job(tmp_path / "out", rows_per_second=100_000), "1")
        assert master.wait_end("1")["jobStatus"] == "FINISHED"
        for role in ("master", "worker"):
            listed = command(master, "seatunnel-cluster.sh", "-r", role, "-m").stdout.splitlines()
            assert [line.split()[:-1] for line in listed[1:]] == [
                [master.address, "ACTIVE", "MASTER"],
                [worker.address, "WORKER"],
            ]
        stopped = command(worker, "stop-seatunnel-cluster.sh")
        assert stopped.stdout.count("has stopped") == 2, stopped.stderr
        until("nothing is left", lambda: not (master.processes() or worker.processes()), wait_s=60)


def command(node: Node, name: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a command as a user of the node's machine does."""
    environment = {**node.cluster.environment, NODE: node.address}
    return subprocess.run(
        [str(Path(sys.executable).with_name(name)), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.long
@pytest.mark.torture
def test_a_job_with_a_host_of_its_own_has_executors_of_its_own(tmp_path: Path) -> None:
    """The shared host, which has all cores of its Spark workers, leaves it some; none of them is left behind."""
    with running(tmp_path) as ((master,), (worker,)):
        master.submit(slow_job(tmp_path / "shared", rows_per_second=10), "1")
        master.wait_rows("1")
        own = slow_job(tmp_path / "own").replace("job.mode", 'spark.executor.memory = "600m", job.mode', 1)
        master.submit(own, "2")
        master.wait_rows("2")
        assert len(worker.pids(SPARK_WORKER)) == 2
        assert sorted("-Xmx600M" in worker.processes()[pid] for pid in worker.pids(EXECUTOR)) == [False, True]
        assert master.wait_end("2")["jobStatus"] == "FINISHED"
        until("its Spark worker ends", lambda: len(worker.pids(SPARK_WORKER)) == len(worker.pids(EXECUTOR)) == 1)
        assert master.wait_end("1")["jobStatus"] == "FINISHED"
        for name in ("shared", "own"):
            assert column(tmp_path / name, "id") == list(range(1, ROWS + 1))


@pytest.mark.long
@pytest.mark.torture
def test_one_master_is_lost_and_then_the_last_one(tmp_path: Path) -> None:
    """The other one has a Spark master and executors of its own. A worker that is left alone ends with all it has."""
    with masters_and_workers(tmp_path, 2, 1) as (masters, (worker,)):
        with (tmp_path / "config/seatunnel.yaml").open("a") as file:
            file.write("    cluster:\n      worker-grace-seconds: 5\n")
        for node in (*masters, worker):
            node.start()
        for node in masters:
            node.wait_ready()
        leader = worker.cluster.leader()
        standby = next(node for node in masters if node is not leader)
        until("the standby is a member", lambda: standby.address in leader.members()["members"])
        assert len(worker.pids(EXECUTOR)) == 2
        worker.submit(slow_job(tmp_path / "out", rows_per_second=10), "1")
        worker.wait_rows("1")
        before, began = worker.committed("1"), time.monotonic()
        leader.kill()
        until("the standby leads", standby.leads)
        worker.wait_rows("1", least=before + 12)
        print(f"killed: a master with all that it has; rows are committed after {time.monotonic() - began:.1f} s")
        assert worker.wait_end("1")["jobStatus"] == "FINISHED"
        assert column(tmp_path / "out", "id") == list(range(1, ROWS + 1))
        standby.kill()
        assert worker.agent is not None
        assert worker.agent.wait(60) == 1
        until("nothing is left of the worker", lambda: not worker.processes(), wait_s=60)
