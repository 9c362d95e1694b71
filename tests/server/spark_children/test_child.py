"""A supervised child: started again when it dies, after longer and longer pauses, and gone with its agent."""

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from attrs import define

from seatunnel_core.server.spark_children import bound, child
from seatunnel_core.server.spark_children.child import LEAST_PAUSE_S, STEADY_S, Child
from tests.server.nodes import until


@define
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Time stands still, and children are programs of this machine, not of Spark."""
    monkeypatch.setattr(child, "spark_class", lambda: ["/bin/sh", "-c"])
    monkeypatch.setattr(child, "jvm_environment", dict)
    return Clock()


def is_there(pid: int) -> bool:
    """Return whether a process runs; one that has ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def has_lines(path: Path, lines: int) -> bool:
    return path.exists() and len(path.read_text().splitlines()) == lines


def test_a_dead_child_is_started_again_after_a_pause_that_doubles(tmp_path: Path, clock: Clock) -> None:
    starts = tmp_path / "starts"
    one = Child("a child", lambda: [f"echo x >> {starts}; exec sleep 600"], tmp_path / "log", {}, clock=clock)
    for death in range(3):
        one.supervise()
        assert one.pid
        until("it has begun", partial(has_lines, starts, death + 1))
        os.kill(one.pid, signal.SIGKILL)
        until("it is dead", lambda: not is_there(one.pid))
        one.supervise()
        assert one.pid == 0
        assert one.deaths == death + 1
        clock.now += LEAST_PAUSE_S * 2**death - 0.01
        one.supervise()
        assert one.pid == 0
        clock.now += 0.02
    one.supervise()
    clock.now += STEADY_S + 1
    one.supervise()
    assert one.deaths == 0
    pid = one.pid
    one.end()
    assert not is_there(pid)


def test_a_child_ends_with_its_agent_however_that_ends(tmp_path: Path) -> None:
    script = (
        "import os, subprocess, sys, time\n"
        f"subprocess.Popen([sys.executable, '-I', '-S', {bound.__file__!r}, str(os.getpid()), '/bin/sh', '-c', "
        f"'echo $$ > {tmp_path}/pid; exec sleep 600'])\n"
        "time.sleep(600)\n"
    )
    agent = subprocess.Popen([sys.executable, "-c", script])
    pid = int(until("the child runs", lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip()))
    assert is_there(pid)
    agent.kill()
    agent.wait()
    until("the child is gone", lambda: not is_there(pid), wait_s=60)


def test_nothing_is_started_for_an_agent_that_is_gone(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, bound.__file__, "1", "/bin/sh", "-c", f"echo > {tmp_path}/ran"], check=True)
    assert done.returncode == 0
    assert not (tmp_path / "ran").exists()
