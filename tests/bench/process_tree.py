"""Processor time and memory of a process with everything below it: the driver, its JVM, the Python workers."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from attrs import define

LOOK_EVERY_S = 0.2


def cpu_s(root: int | None = None) -> float:
    """User and system time of a process tree so far, in seconds; what has ended and was waited for is included."""
    return sum(spent for _, spent in _tree(root)) / os.sysconf("SC_CLK_TCK")


def memory_bytes(root: int) -> int:
    """What a process tree has in memory. A page that several of its processes share, as forked workers do, counts once
    (the kernel's proportional set size)."""
    found = 0
    for pid, _ in _tree(root):
        try:
            with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
                found += next((int(line.split()[1]) for line in file if line.startswith("Pss:")), 0)
        except OSError:
            continue  # it has ended meanwhile
    return found * 1024


@define
class Peak:
    """The most that a process tree had in memory at any look."""

    bytes: int = 0


@contextmanager
def watched_memory(root: int) -> Iterator[Peak]:
    """Within the block, a thread looks at the tree several times a second."""
    peak, over = Peak(), threading.Event()

    def look() -> None:
        while not over.wait(LOOK_EVERY_S):
            peak.bytes = max(peak.bytes, memory_bytes(root))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()


def _tree(root: int | None) -> list[tuple[int, int]]:
    """Each process with its clock ticks."""
    below: dict[int, list[int]] = {}
    spent: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    fields = file.read().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            below.setdefault(int(fields[1]), []).append(int(name))
            spent[int(name)] = sum(map(int, fields[11:15]))  # utime, stime, cutime, cstime
    tree = [os.getpid() if root is None else root]
    for pid in tree:
        tree.extend(below.get(pid, ()))
    return [(pid, spent.get(pid, 0)) for pid in tree]
