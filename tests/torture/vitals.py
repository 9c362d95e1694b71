"""How much memory and how many files the processes of an engine hold, over time, as ``/proc`` shows it."""

import os
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import frozen

from tests.torture.process import Engine

WARM_UP_S = 60
"""Imports, the first tasks and the JVM's compiler come first."""

LONG_ENOUGH_S = 240
"""Only a process of this age tells by itself whether something grows in it."""

MORE_MEMORY = 1.3
MORE_BYTES = 40 << 20
MORE_FILES = 20


@frozen(kw_only=True)
class Vitals:
    """One engine at one moment: bytes of resident memory, and open files."""

    age_s: float
    driver_bytes: int
    driver_files: int
    jvm_bytes: int
    jvm_files: int
    worker_bytes: int
    """Of the largest Python worker."""

    workers: int

    def __str__(self) -> str:
        driver, jvm, worker = (each >> 20 for each in (self.driver_bytes, self.jvm_bytes, self.worker_bytes))
        return (
            f"driver {driver} MiB, {self.driver_files} files; JVM {jvm} MiB, {self.jvm_files} files; "
            f"{self.workers} workers of up to {worker} MiB"
        )


def vitals(engine: Engine) -> Vitals:
    """As they are now; 0 for what is not there."""
    jvms, workers = [seen.pid for seen in engine.jvms()], [seen.pid for seen in engine.workers()]
    return Vitals(
        age_s=engine.age_s,
        driver_bytes=resident_bytes(engine.pid),
        driver_files=open_files(engine.pid),
        jvm_bytes=max(map(resident_bytes, jvms), default=0),
        jvm_files=max(map(open_files, jvms), default=0),
        worker_bytes=max(map(resident_bytes, workers), default=0),
        workers=len(workers),
    )


def resident_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:")), 0)


def open_files(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0


_MEASURES: tuple[tuple[str, Callable[[Vitals], int], bool], ...] = (
    ("memory of the driver", lambda each: each.driver_bytes, True),
    ("memory of a worker", lambda each: each.worker_bytes, True),
    ("open files of the driver", lambda each: each.driver_files, False),
    ("open files of the JVM", lambda each: each.jvm_files, False),
)


def grown(lives: Sequence[Sequence[Vitals]]) -> list[str]:
    """What grew within an engine's life, or from the first one's to the last one's; a sentence each.

    The memory of the JVM is its own affair: it takes what it may have.
    """
    warm = [[each for each in life if each.age_s >= WARM_UP_S and each.jvm_bytes] for life in lives]
    warm = [life for life in warm if len(life) >= 4]
    compared = [(life[: len(life) // 4], life[-len(life) // 4 :]) for life in warm if life[-1].age_s >= LONG_ENOUGH_S]
    if len(warm) > 1:
        compared.append((warm[0], warm[-1]))
    found: list[str] = []
    for earlier, later in compared:
        for name, of, is_memory in _MEASURES:
            before, after = (statistics.median(map(of, part)) for part in (earlier, later))
            most = before * MORE_MEMORY + MORE_BYTES if is_memory else before + MORE_FILES
            if after > most:
                found.append(f"the {name} grew from {before:,.0f} to {after:,.0f}")
    return found
