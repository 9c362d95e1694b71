"""Processor time of a process with everything below it: the driver, its JVM, the Python workers."""

import os


def cpu_s(root: int | None = None) -> float:
    """User and system time of a process tree so far, in seconds; what has ended and was waited for is included."""
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
    return sum(spent.get(pid, 0) for pid in tree) / os.sysconf("SC_CLK_TCK")
