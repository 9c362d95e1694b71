"""Measurements of a node and its machine: CPU, memory, load, threads and clock difference."""

import gc
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Set
from pathlib import Path

from attrs import frozen

logger = logging.getLogger("seatunnel.cluster")

WARN_MS = 1_000
"""Clock difference above which a warning is logged, in milliseconds."""


class ClockDifference:
    """Difference between the clocks of this node and of the leader, for information only."""

    def __init__(self) -> None:
        self.ms = 0
        """Number of milliseconds by which this node's clock is ahead of the leader's; 0 on the leader or if unknown."""

        self._warned = False

    def note(self, leader: str, theirs: float, sent: float, received: float) -> None:
        """Update the difference from the leader's time and the local times before and after the request."""
        self.ms = round(((sent + received) / 2 - theirs) * 1000)
        unsure_ms = (received - sent) * 500
        is_off = abs(self.ms) - unsure_ms > WARN_MS
        if is_off and not self._warned:
            logger.warning(
                "the clock of this node is %.1f s %s the clock of the leader %s: times in logs and responses are "
                "inconsistent; nothing else is affected",
                abs(self.ms) / 1000,
                "ahead of" if self.ms > 0 else "behind",
                leader,
            )
        self._warned = is_off


@frozen(kw_only=True)
class _Times:
    """CPU times since the start, in clock ticks, and the time at which they were read."""

    busy: int
    all: int
    own_s: float
    at: float


class Machine:
    """Measures this process and its machine. Rates are averages since the previous call."""

    def __init__(self, proc: Path = Path("/proc"), clock: Callable[[], float] = time.monotonic) -> None:
        self._proc = proc
        self._clock = clock
        self._before = self._times()
        self._peak = 0
        self._measuring = threading.Lock()

    def measured(self, hosts: Iterable[int] = ()) -> dict[str, str]:
        """Return all available measurements as strings, keyed by SeaTunnel's names; ``hosts`` are worker processes."""
        with self._measuring:
            memory, own = self._fields("meminfo"), self._fields("self/status")
            return {
                "processors": str(os.cpu_count() or 1),
                **_memory(memory),
                **_own_memory(own, memory),
                **self._node_memory({os.getpid(), *hosts}),
                **_collections(),
                **self._loads(),
                **self._threads(own),
            }

    def _node_memory(self, roots: Set[int]) -> dict[str, str]:
        """Return the number and memory of these processes and their descendants, such as JVMs and Python workers."""
        parents: dict[int, int] = {}
        pages: dict[int, int] = {}
        for folder in self._proc.glob("[0-9]*"):
            fields = self._read(f"{folder.name}/stat").rpartition(")")[2].split()
            if len(fields) > 21:
                parents[int(folder.name)], pages[int(folder.name)] = int(fields[1]), int(fields[21])
        if not pages:
            return {}
        found, new = set[int](), set(roots) & set(pages)
        while new:
            found |= new
            new = {pid for pid, parent in parents.items() if parent in new} - found
        used = sum(pages[pid] for pid in found) * os.sysconf("SC_PAGE_SIZE")
        return {"node.memory.used": _size(used), "node.processes": str(len(found))}

    def _fields(self, name: str) -> dict[str, int]:
        """Return the numbers in a file with lines such as ``VmRSS: 123 kB``, in the units of the file."""
        found: dict[str, int] = {}
        for line in self._read(name).splitlines():
            key, _, value = line.partition(":")
            number = value.split()[0] if value.split() else ""
            if number.isdigit():
                found[key] = int(number)
        return found

    def _read(self, name: str) -> str:
        try:
            return (self._proc / name).read_text("utf-8", "replace")
        except OSError:
            return ""

    def _threads(self, own: Mapping[str, int]) -> dict[str, str]:
        count = own.get("Threads", threading.active_count())
        self._peak = max(self._peak, count)
        return {"thread.count": str(count), "thread.peakCount": str(self._peak)}

    def _times(self) -> _Times:
        line = self._read("stat").partition("\n")[0].split()[1:9]
        ticks = [int(each) for each in line if each.isdigit()]
        idle = sum(ticks[3:5])
        return _Times(busy=sum(ticks) - idle, all=sum(ticks), own_s=time.process_time(), at=self._clock())

    def _loads(self) -> dict[str, str]:
        now, before = self._times(), self._before
        self._before = now
        passed = max(now.at - before.at, 0.001)
        own = (now.own_s - before.own_s) / passed / (os.cpu_count() or 1)
        found = {"load.process": _share(own)}
        if now.all > before.all:
            found["load.system"] = _share((now.busy - before.busy) / (now.all - before.all))
        average = self._read("loadavg").split()
        return {**found, **({"load.systemAverage": average[0]} if average else {})}


def _memory(found: Mapping[str, int]) -> dict[str, str]:
    if "MemTotal" not in found:
        return {}
    return {
        "physical.memory.total": _size(found["MemTotal"] * 1024),
        "physical.memory.free": _size(found.get("MemAvailable", found.get("MemFree", 0)) * 1024),
        "swap.space.total": _size(found.get("SwapTotal", 0) * 1024),
        "swap.space.free": _size(found.get("SwapFree", 0) * 1024),
    }


def _own_memory(own: Mapping[str, int], machine: Mapping[str, int]) -> dict[str, str]:
    """Return the memory of this process under SeaTunnel's heap metrics, with the machine's memory as the maximum."""
    if "VmRSS" not in own:
        return {}
    used, most = own["VmRSS"] * 1024, own.get("VmHWM", own["VmRSS"]) * 1024
    bound = machine.get("MemTotal", 0) * 1024 or most
    return {
        "heap.memory.used": _size(used),
        "heap.memory.free": _size(max(0, most - used)),
        "heap.memory.total": _size(most),
        "heap.memory.max": _size(bound),
        "heap.memory.used/total": _share(used / most),
        "heap.memory.used/max": _share(used / bound),
    }


def _collections() -> dict[str, str]:
    young, middle, old = (each["collections"] for each in gc.get_stats())
    return {"minor.gc.count": str(young + middle), "major.gc.count": str(old)}


def _size(value: float) -> str:
    """Return a size in SeaTunnel's format: ``23.5G``, ``76.5M``, ``0``."""
    for unit, letter in ((1 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if value >= unit:
            return f"{value / unit:.1f}{letter}"
    return str(int(value))


def _share(value: float) -> str:
    return f"{max(0.0, value):.2%}"
