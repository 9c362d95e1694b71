"""A host that is killed takes its JVM along, in whatever state that is."""

import os
import signal
import subprocess
from pathlib import Path

from seatunnel_core.server.agent.host_process import _kill_with_group
from tests.server.nodes import until


def test_a_jvm_that_stands_still_ends_with_its_host() -> None:
    """A JVM ends when its standard input is closed, which one that hangs or is stopped does not notice."""
    shell = "sleep 1000 & echo $!; kill -STOP $!; wait"
    host = subprocess.Popen(["sh", "-c", shell], stdout=subprocess.PIPE, start_new_session=True)
    assert host.stdout is not None
    jvm = int(host.stdout.readline())
    until("it stands still", lambda: _state(jvm) == "T", wait_s=60)
    _kill_with_group(host.pid)
    assert host.wait(60) == -signal.SIGKILL
    until("the JVM is gone", lambda: _state(jvm) in ("", "Z"), wait_s=60)
    host.stdout.close()


def test_a_process_of_this_group_is_killed_alone() -> None:
    with subprocess.Popen(["sleep", "1000"]) as child:
        _kill_with_group(child.pid)
        assert child.wait(60) == -signal.SIGKILL
    assert os.getpgid(0)


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return ""
