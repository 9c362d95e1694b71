"""The commands of a cluster as users type them, with a secret: submit, ask, list members, stop."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from seatunnel_core.control.cluster import ClusterClient
from seatunnel_core.control.signing import Secret, read_secret
from seatunnel_core.errors import PlatformError, SeaTunnelError, UsageError
from tests.runtime.command import column
from tests.server.nodes import Node, some_nodes, until
from tests.server.test_single_node import ROWS, slow_job


def run(node: Node, module: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a command of the cluster's user to its end."""
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=node.cluster.folder,
        env=node.cluster.environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def seatunnel(node: Node, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return run(node, "seatunnel_core.cli", "-m", "cluster", *arguments)


def configured(node: Node) -> Secret:
    """Write the client's file and the secret of the cluster, and return it."""
    made = run(node, "seatunnel_core.server", "--make-secret")
    assert made.returncode == 0, made.stderr
    assert "nothing was written" in run(node, "seatunnel_core.server", "--make-secret").stderr
    path = node.cluster.folder / "config/cluster.secret"
    assert os.stat(path).st_mode & 0o777 == 0o600
    (node.cluster.folder / "config/hazelcast-client.yaml").write_text(
        f"hazelcast-client:\n  network:\n    cluster-members: ['127.0.0.1:1', '{node.address}']\n"
    )
    secret = read_secret(path)
    assert secret is not None
    return secret


def ready(client: ClusterClient) -> bool:
    try:
        return bool(client.ask("GET", "/internal/v1/members")["host"]["ready"])
    except (SeaTunnelError, TypeError):
        return False


def interrupted_clients(node: Node) -> None:
    """A client that waits for its job is killed, which the job outlives, or ended, which cancels the job."""
    for job_id, number, code, flags, state in (
        ("9", signal.SIGTERM, 130, (), "CANCELED"),
        ("10", signal.SIGTERM, 130, ("-cj", "false"), "RUNNING"),
        ("10", signal.SIGKILL, -9, (), "RUNNING"),
    ):
        command = [sys.executable, "-m", "seatunnel_core.cli", "-m", "cluster", "-c", "slow.conf"]
        client = subprocess.Popen(
            [*command, "--set-job-id", job_id, *flags],
            cwd=node.cluster.folder,
            env=node.cluster.environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert client.stdout is not None
        said = list(iter(client.stdout.readline, f"Job {job_id}: RUNNING\n"))
        assert f"Start submit job, job id: {job_id}, with plugin jar []\n" in said
        client.send_signal(number)
        client.communicate(timeout=120)
        assert client.returncode == code
        assert f'"{state}"' in seatunnel(node, "-j", job_id).stdout
    assert seatunnel(node, "-can", "10").returncode == 0, "one job, though it was submitted twice"


@pytest.mark.spark
@pytest.mark.torture
@pytest.mark.timeout(900)
def test_the_commands_of_a_cluster_with_a_secret(tmp_path: Path) -> None:
    with some_nodes(tmp_path) as (node,):
        secret = configured(node)
        (tmp_path / "fast.conf").write_text(slow_job(tmp_path / "${where}", rows_per_second=100_000))
        (tmp_path / "slow.conf").write_text(slow_job(tmp_path / "slow", rows_per_second=5))
        unreachable = seatunnel(node, "-c", "fast.conf", "-i", "where=out")
        assert unreachable.returncode == 1
        assert "cannot be reached" in unreachable.stderr
        node.start()
        client = ClusterClient([node.address], "seatunnel", secret)
        until("the node is ready", lambda: ready(client))
        refuse_who_does_not_know_the_secret(node, secret)
        run_a_job_to_its_end(node, tmp_path / "out")
        follow_a_job_in_the_background(node)
        interrupted_clients(node)
        cancel_several_jobs(node)
        listed = seatunnel(node, "-l", "-DJvmOption=-Xmx1G").stdout
        assert listed.startswith("-DJvmOption has no effect on a cluster")
        stop_by_the_script(node)
        with pytest.raises(PlatformError, match="cannot be reached"):
            client.ask("GET", "/overview")


def refuse_who_does_not_know_the_secret(node: Node, secret: Secret) -> None:
    assert node.ask("GET", "/overview") == (
        401,
        {
            "status": "fail",
            "message": "the request is not signed with the cluster's secret",
            "code": "unauthorized",
        },
    )
    with pytest.raises(UsageError, match="a different secret"):
        ClusterClient([node.address], "seatunnel", Secret(b"x" * 32)).ask("GET", "/overview")
    with pytest.raises(UsageError, match="not 'other'"):
        ClusterClient([node.address], "other", secret).ask("GET", "/overview")


def run_a_job_to_its_end(node: Node, out: Path) -> None:
    submitted = seatunnel(node, "-c", "fast.conf", "-i", "where=out", "--set-job-id", "7", "-n", "nightly")
    assert submitted.returncode == 0, submitted.stderr
    assert submitted.stdout.splitlines()[0].startswith("Mode: cluster 'seatunnel' at 127.0.0.1:1, ")
    assert "Start submit job, job id: 7, with plugin jar []" in submitted.stdout
    assert "Submit job finished, job id: 7, job name: nightly" in submitted.stdout
    assert f"Total Committed Count   : {ROWS}" in submitted.stdout
    assert column(out, "id") == list(range(1, ROWS + 1))


def follow_a_job_in_the_background(node: Node) -> None:
    left = seatunnel(node, "-c", "slow.conf", "--async", "--set-job-id", "8")
    assert left.returncode == 0, left.stderr
    until("the job runs", lambda: '"RUNNING"' in seatunnel(node, "-j", "8").stdout)
    listed = seatunnel(node, "-l").stdout
    assert [line.split()[0] for line in listed.splitlines()[1:]] == ["8", "7"]
    assert "SourceReceivedCount" in seatunnel(node, "--metrics", "8").stdout
    saved = seatunnel(node, "-s", "8")
    assert saved.returncode == 0, saved.stderr
    assert "Job 8: SAVEPOINT_DONE" in saved.stdout
    assert "has ended: SAVEPOINT_DONE" in seatunnel(node, "-can", "8").stderr
    assert seatunnel(node, "-c", "slow.conf", "--async", "-r", "8").returncode == 0
    assert seatunnel(node, "-can", "8").returncode == 0
    until("it is cancelled", lambda: '"CANCELED"' in seatunnel(node, "-j", "8").stdout)
    assert "job 99 does not exist in the cluster" in seatunnel(node, "-can", "99").stderr


def cancel_several_jobs(node: Node) -> None:
    several = [seatunnel(node, "-c", "slow.conf", "--async", "--set-job-id", each).returncode for each in ("11", "12")]
    assert several == [0, 0]
    cancelled = seatunnel(node, "-can", "11", "99", "12", "-f")
    assert (cancelled.returncode, "job 99 does not exist in the cluster" in cancelled.stderr) == (2, True)
    assert cancelled.stdout.count("Cancellation of job") == 2, "whatever became of the one between"


def stop_by_the_script(node: Node) -> None:
    script = Path(sys.executable).with_name("stop-seatunnel-cluster.sh")
    assert node.agent is not None
    stopped = subprocess.run(
        [script], env=node.cluster.environment, capture_output=True, text=True, timeout=300, check=False
    )
    node.agent.wait(60)
    assert stopped.returncode == 0, stopped.stderr
    assert "has stopped" in stopped.stdout
