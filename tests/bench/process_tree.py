"""Processor time and memory of a process with everything below it: the driver, its JVM, the Python workers.

It is found by looking: the parent of Spark's Python workers ignores their end, so that the kernel adds their time to
nobody's, and some of them outlive the process that they were forked from.
"""

import bisect
import contextlib
import ctypes
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from attrs import define, field, frozen

LOOK_EVERY_S = 0.1
_MEMORY_EVERY = 4
"""Looks, because it is costlier: a twentieth of a processor for two or three looks a second at a Spark."""

_SET_CHILD_SUBREAPER = 36
_ENDS_WITHIN_S = 150.0
"""What is left behind by a process that has ended; a Spark that archives its classes takes the longest."""


@frozen
class _Seen:
    """A process at one look."""

    pid: int
    name: str
    parent: int
    began: int
    """In ticks since the machine was started: another process with that ``pid`` began at another time."""

    ticks: int
    """Of the processor, its own; not those of children that ended."""

    ended: bool


@define
class Watch:
    """A process tree as it was at each look. Who was once in it stays in it, whoever its parent is now, and so do
    orphans that this process has adopted meanwhile."""

    root: int
    peak_bytes: int = 0
    """The most that the tree had in memory at any look."""

    driver_bytes: int = 0
    """The most that the child itself had with its JVM, where Spark's driver runs in both."""

    _strangers: set[int] = field(factory=set)
    """Processes that were there before, and what they started: they are most of the machine, and not looked at."""

    _ticks: dict[tuple[int, int], int] = field(factory=dict)
    _moments: list[float] = field(factory=list)
    _spent_s: list[float] = field(factory=list)
    _looking: threading.Lock = field(factory=threading.Lock)

    def __attrs_post_init__(self) -> None:
        self._strangers = _pids() - {self.root}
        self.sample()

    def sample(self) -> list[_Seen]:
        """Note what each process of the tree has spent; a process that has ended keeps what was last seen of it."""
        with self._looking:
            tree = self._tree()
            self._ticks.update({(each.pid, each.began): each.ticks for each in tree})
            self._moments.append(time.monotonic())
            self._spent_s.append(sum(self._ticks.values()) / os.sysconf("SC_CLK_TCK"))
        return tree

    @property
    def cpu_s(self) -> float:
        """User and system time of the tree until the last look, in seconds."""
        return self._spent_s[-1]

    def cpu_s_at(self, moment: float) -> float:
        """Until then, by ``time.monotonic()``, which is the same clock in all processes; in a line between looks."""
        after = bisect.bisect_left(self._moments, moment)
        if after == len(self._moments):
            return self._spent_s[-1]
        if after == 0:
            return self._spent_s[0]
        (began, ended), (low, high) = self._moments[after - 1 : after + 1], self._spent_s[after - 1 : after + 1]
        return low + (high - low) * (moment - began) / (ended - began)

    def look_at_memory(self, tree: list[_Seen]) -> None:
        memory = [(each, _memory_bytes(each.pid)) for each in tree]
        drivers = (has for each, has in memory if each.pid == self.root or each.name == "java")
        self.peak_bytes = max(self.peak_bytes, sum(has for _, has in memory))
        self.driver_bytes = max(self.driver_bytes, sum(drivers))

    def wait_for_orphans(self) -> None:
        """Until nothing is left of the tree but its root, which is waited for by who started it."""
        deadline = time.monotonic() + _ENDS_WITHIN_S
        while left := [each for each in self._tree() if each.pid != self.root]:
            for each in left:
                if each.parent == os.getpid():
                    with contextlib.suppress(ChildProcessError):
                        os.waitpid(each.pid, os.WNOHANG)
                if time.monotonic() > deadline and not each.ended:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(each.pid, signal.SIGKILL)
            time.sleep(LOOK_EVERY_S / 10)

    def _tree(self) -> list[_Seen]:
        pids, here = _pids(), os.getpid()
        self._strangers &= pids
        there = [seen for pid in pids - self._strangers if (seen := _look_at(pid)) is not None]
        below: dict[int, list[_Seen]] = {}
        for each in there:
            below.setdefault(each.parent, []).append(each)
        known = {each.pid: each for each in there if each.pid == self.root or (each.pid, each.began) in self._ticks}
        tree = {**known, **{each.pid: each for each in below.get(here, ())}}
        found = list(tree.values())
        for each in found:  # it grows meanwhile
            for child in below.get(each.pid, ()):
                if child.pid not in tree:
                    tree[child.pid] = child
                    found.append(child)
        strangers = self._strangers - {here}
        self._strangers |= {each.pid for each in there if each.pid not in tree and each.parent in strangers}
        return found


@contextmanager
def watched(root: subprocess.Popen[bytes]) -> Iterator[Watch]:
    """Within the block, a thread looks at the tree of a child several times a second, and this process adopts the
    tree's orphans. At its end the child is waited for, and so are they: what is left would be measured with the next.
    """
    over = threading.Event()
    _adopt_orphans(True)
    watch = Watch(root.pid)

    def go_on_looking() -> None:
        number = 0
        while not over.wait(LOOK_EVERY_S):
            tree, number = watch.sample(), number + 1
            if number % _MEMORY_EVERY == 1:
                watch.look_at_memory(tree)

    thread = threading.Thread(target=go_on_looking, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        over.set()
        thread.join()
        watch.sample()
        root.wait()
        watch.wait_for_orphans()
        _adopt_orphans(False)


def _adopt_orphans(adopts: bool) -> None:
    """Whether this process becomes the parent of those below it whose parent ends; only Linux knows that."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, int(adopts), 0, 0, 0)


def _pids() -> set[int]:
    """Of all processes of the machine."""
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}


def _look_at(pid: int) -> _Seen | None:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            before, _, after = file.read().rpartition(")")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = after.split()
    return _Seen(
        pid=pid,
        name=before.partition("(")[2],
        parent=int(fields[1]),
        began=int(fields[19]),
        ticks=int(fields[11]) + int(fields[12]),
        ended=fields[0] in "ZX",
    )


def _memory_bytes(pid: int) -> int:
    """What a process has in memory. A page that several share, as forked workers do, counts once (the kernel's
    proportional set size)."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
            return 1024 * next((int(line.split()[1]) for line in file if line.startswith("Pss:")), 0)
    except OSError:
        return 0  # it has ended meanwhile
