"""What the processes of a node hold and take, as ``/proc`` shows it."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from attrs import evolve, frozen

from tests.server.nodes import Node

_KINDS = {"seatunnel_core.server.host": "host", "seatunnel_core.server": "agent", "java": "JVM"}
"""By a text of its command line, in order; all others are Python processes of Spark."""


@frozen(kw_only=True)
class Vitals:
    """The processes of one kind, at one moment."""

    processes: int = 0
    resident: int = 0
    """Bytes of the largest."""

    threads: int = 0
    files: int = 0
    """How many are open."""

    cpu_s: float = 0.0
    """User and system time since their starts."""

    def __str__(self) -> str:
        held = f"{self.resident / 2**20:.0f} MiB, {self.threads} threads, {self.files} files"
        return held if self.processes == 1 else f"{self.processes} of at most {held}"


def vitals_of(node: Node) -> Mapping[str, Vitals]:
    """Return what a node's processes hold, by kind: ``agent``, ``host``, ``JVM`` and ``Python``."""
    found: dict[str, Vitals] = {}
    for pid, command in node.processes().items():
        kind = _kind(command)
        with contextlib.suppress(OSError):
            before, own = found.get(kind, Vitals()), _vitals(pid)
            found[kind] = evolve(
                before,
                processes=before.processes + 1,
                resident=max(before.resident, own.resident),
                threads=before.threads + own.threads,
                files=before.files + own.files,
                cpu_s=before.cpu_s + own.cpu_s,
            )
    return found


def spent_s(node: Node) -> Mapping[tuple[str, int], float]:
    """Return what each process of a node has had of a processor, by kind and process id: they come and go."""
    found = {}
    for pid, command in node.processes().items():
        with contextlib.suppress(OSError):
            found[_kind(command), pid] = _vitals(pid).cpu_s
    return found


def _kind(command: str) -> str:
    return next((kind for text, kind in _KINDS.items() if text in command), "Python")


def _vitals(pid: int) -> Vitals:
    lines = Path(f"/proc/{pid}/status").read_text("utf-8", "replace").splitlines()
    status = dict(line.split(":", 1) for line in lines if ":" in line)
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    return Vitals(
        resident=int(status.get("VmRSS", "0 kB").split()[0]) * 1024,
        threads=int(status["Threads"]),
        files=len(os.listdir(f"/proc/{pid}/fd")),
        cpu_s=(int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"),
    )


def left_in(folder: Path) -> dict[str, tuple[int, int]]:
    """Return how many files lie below each folder of a folder, and their bytes."""
    found: dict[str, tuple[int, int]] = {}
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            if path.is_file():
                name = path.relative_to(folder).parts[0]
                count, size = found.get(name, (0, 0))
                found[name] = count + 1, size + path.stat().st_size
    return found
