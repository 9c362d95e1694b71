"""The demo on a cluster: two masters and two workers on this machine; the leader is killed during the job.

Each node listens on a loopback port and has a mark in its environment. All processes that it has started are found by
this mark and killed at once, as in a power failure. ``verify.py`` then compares the output row by row. The demo uses
only the commands available to users, not the engine's code. Usage: ``python examples/demo/cluster.py``.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

BIN = Path(sys.executable).parent
FOLDER = Path("demo-output/cluster")
MASTERS, WORKERS = (15811, 15812), (15821, 15822)
NODE = "SEATUNNEL_DEMO_NODE"
JOB = "flights-on-a-cluster"
WAIT_S = 300.0

Value = TypeVar("Value")

HAZELCAST = """hazelcast:
  cluster-name: demo
  network:
    join:
      tcp-ip:
        enabled: true
        member-list: {members}
"""
CLIENT = """hazelcast-client:
  cluster-name: demo
  network:
    cluster-members: {members}
"""


def main() -> int:
    """Start the cluster, submit the job, kill the leader, and compare; return the exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    kill_all()  # what an earlier run has left
    shutil.rmtree(FOLDER, ignore_errors=True)
    shutil.rmtree("demo-output/parquet", ignore_errors=True)
    run("seatunnel", "init", str(FOLDER), "--cluster", needed=True)
    members = [f"127.0.0.1:{port}" for port in MASTERS]
    for role in ("", "-master", "-worker"):
        (FOLDER / f"config/hazelcast{role}.yaml").write_text(HAZELCAST.format(members=members))
    (FOLDER / "config/hazelcast-client.yaml").write_text(CLIENT.format(members=members))
    try:
        for role, ports in (("master", MASTERS), ("worker", WORKERS)):
            for port in ports:
                print(run("seatunnel-cluster", "-d", "-r", role, "--port", str(port), node=port), end="", flush=True)
        print(until("all nodes are members", lambda: members_of() if members_of().count("WORKER") == 2 else ""))
        submit()
        killed = until("rows are committed", leader_after_rows)
        kill(killed)
        print(f"Killed all processes of the leader 127.0.0.1:{killed} in the middle of the job.", flush=True)
        print(until("the job has ended", ended))
        leads = until("another node leads", leader)
    finally:
        kill_all()
    code = subprocess.run([sys.executable, "examples/demo/verify.py"], check=False).returncode
    print(f"\n127.0.0.1:{killed} led the cluster and was killed; the new leader 127.0.0.1:{leads} finished the job.")
    return code


def run(command: str, *arguments: str, node: int = 0, needed: bool = False) -> str:
    """Run a command of the engine, and return its output; all processes that it starts have the node's mark.

    If the command starts a node or is ``needed``, a failure ends the demo; the caller retries other commands.
    """
    environment = {**os.environ, "SEATUNNEL_HOME": str(FOLDER.absolute()), NODE: str(node)}
    done = subprocess.run(
        [str(BIN / command), *arguments], env=environment, capture_output=True, text=True, check=False
    )
    if (node or needed) and done.returncode:
        sys.exit(done.stdout + done.stderr)
    return done.stdout if done.returncode == 0 else done.stdout + done.stderr


def members_of() -> str:
    """Return the table of the cluster's members."""
    return run("seatunnel-cluster", "-m")


def submit() -> None:
    """Submit the demo's job, and do not wait for its end."""
    command = ["-m", "cluster", "-c", "examples/demo/flights.conf", "--set-job-id", JOB, "--async"]
    for name in ("tables", "parquet"):  # each worker has its own working folder
        command += ["-i", f"{name}={Path('demo-output', name).absolute()}"]
    print(run("seatunnel", *command), flush=True)


def leader_after_rows() -> int:
    """Return the port of the leader once the job has committed rows; until then, return 0."""
    if outcome := ended():
        sys.exit(f"The job has ended before its leader was killed:\n{outcome}")
    metrics = run("seatunnel", "-m", "cluster", "--metrics", JOB)
    committed = re.search(r'"SinkCommittedCount": *"?(\d+)', metrics)
    if committed is None or int(committed[1]) < 50_000:
        return 0
    return leader()


def leader() -> int:
    """Return the port of the leader; 0 if there is none."""
    found = re.search(r"127\.0\.0\.1:(\d+) +ACTIVE MASTER", members_of())
    return 0 if found is None else int(found[1])


def ended() -> str:
    """Return the job's status from the cluster once the job has ended; until then, an empty string."""
    told = run("seatunnel", "-m", "cluster", "-j", JOB)
    return told if re.search("FINISHED|FAILED|CANCELED", told) else ""


def kill_all() -> None:
    """Kill all nodes."""
    for port in (*MASTERS, *WORKERS):
        kill(port)


def kill(port: int) -> None:
    """Kill all processes that a node has started."""
    mark = f"{NODE}={port}\0".encode()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes() + b"\0":
                os.kill(int(process.name), signal.SIGKILL)
        except OSError:
            continue  # it has ended, or is another user's


def until(what: str, found: Callable[[], Value]) -> Value:
    """Call ``found`` until it returns a true value, and return this value; exit after a timeout."""
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        if value := found():
            return value
        time.sleep(0.2)
    sys.exit(f"It took longer than {WAIT_S:.0f} s until {what}; the logs are in {FOLDER}/logs.")


if __name__ == "__main__":
    sys.exit(main())
