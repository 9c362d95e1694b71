"""Processor time and memory of the processes of a job, as ``/proc`` shows them while it runs."""

import os
import threading
from pathlib import Path

from attrs import define, field, frozen

from tests.torture.process import Seen, peak_bytes, processes

_TICKS = os.sysconf("SC_CLK_TCK")
_PAUSE_S = 0.2


@frozen
class Used:
    """One process."""

    name: str
    cpu_s: float
    peak_mib: float


@define
class Usage:
    """A thread that samples the processes of one session until it is closed."""

    session: int
    seen: dict[int, Used] = field(init=False, factory=dict)
    _over: threading.Event = field(init=False, factory=threading.Event)
    _thread: threading.Thread = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.sample()
        self._over.set()
        self._thread.join()

    def sample(self) -> None:
        """Take the figures of now."""
        for process in processes(self.session):
            cpu_s = cpu_seconds(process.pid)
            if cpu_s:
                self.seen[process.pid] = Used(_name(process), cpu_s, peak_bytes(process.pid) / 2**20)

    @property
    def cpu_s(self) -> float:
        """Processor time of all processes so far, in seconds."""
        return sum(used.cpu_s for used in self.seen.values())

    def peak_mib(self, name: str) -> float:
        """Return the largest resident size of a process with a name."""
        return max((used.peak_mib for used in self.seen.values() if used.name == name), default=0.0)

    def cpu_of(self, name: str) -> float:
        return sum(used.cpu_s for used in self.seen.values() if used.name == name)

    def _sample(self) -> None:
        while not self._over.wait(_PAUSE_S):
            self.sample()


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has used; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


def tree_cpu_seconds(pid: int) -> float:
    """Return the processor time of a process and of all processes that it has started, such as those of a server."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    try:
        below = [int(child) for child in children.read_text("ascii").split()]
    except OSError:
        below = []
    return cpu_seconds(pid) + sum(map(tree_cpu_seconds, below))


def _name(process: Seen) -> str:
    """Return ``driver``, ``jvm`` or ``worker``."""
    if process.pid == process.session:
        return "driver"
    return "jvm" if "java" in process.command.split(" ", 1)[0] else "worker"
