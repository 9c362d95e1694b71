"""Durable changes of a map a second, from many threads, on local files: ``make bench ARGS=map-store``.

Beside it, in turns, one thread that appends the same bytes and syncs once for each 64 changes: what the disk would
allow if groups were full and nothing else had to be done.
"""

import contextlib
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from seatunnel_storage_mapstore.maps import FileMapStoreFactory

from tests.bench.bench import Bench
from tests.bench.figure import Figure, at_least, ratios

THREADS = 64
KEYS = 10
"""Of each thread, changed in turn."""
VALUE = b"x" * 100
CHANGES = 64_000
"""In a round."""


def changes_per_s(folder: Path, changes: int) -> float:
    """With ``THREADS`` threads, each of which waits for its change before it makes the next."""
    store = FileMapStoreFactory().create("map", {"namespace": str(folder)})
    store.open()
    ready = threading.Barrier(THREADS + 1)

    def write(thread: int) -> None:
        ready.wait()
        for number in range(changes // THREADS):
            store.store(f"{thread}-{number % KEYS}", VALUE)

    with ThreadPoolExecutor(THREADS) as threads:
        writing = [threads.submit(write, thread) for thread in range(THREADS)]
        ready.wait()
        began = time.perf_counter()
        for each in writing:
            each.result()
        elapsed_s = time.perf_counter() - began
    store.destroy()
    return changes / elapsed_s


def bare_changes_per_s(folder: Path, changes: int) -> float:
    """One write and one fsync for each ``THREADS`` changes."""
    group = b"x" * (THREADS * (len(VALUE) + 15))
    descriptor = os.open(folder / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    began = time.perf_counter()
    for _ in range(changes // THREADS):
        os.write(descriptor, group)
        os.fsync(descriptor)
    elapsed_s = time.perf_counter() - began
    os.close(descriptor)
    return changes / elapsed_s


def syncs(run: Callable[[], object]) -> int:
    """How often ``run`` syncs."""
    counted, fsync = [0], os.fsync

    def counting(descriptor: int) -> None:
        counted[0] += 1
        fsync(descriptor)

    os.fsync = counting  # type: ignore[assignment]
    try:
        run()
    finally:
        os.fsync = fsync
    return counted[0]


def report(bench: Bench, changes: int = CHANGES) -> None:
    """Changes a second, and how much of the bare disk's that is."""
    folder, played = bench.data, []
    for number in range(bench.rounds):
        with _empty(folder) as each:
            bare, ours = _in_turns(number, each, changes)
        played.append((ours, bare))
        print(f"    round {number + 1}: {ours:,.0f} changes/s, bare {bare:,.0f}", flush=True)
    with _empty(folder) as each:
        synced = syncs(lambda: changes_per_s(each, changes))
    ours, bare = zip(*played, strict=True)  # type: ignore[assignment]
    bench.record(
        Figure(what=f"durable changes, from {THREADS} threads", values=ours, unit="a second", goal=at_least(20_000)),  # type: ignore[arg-type]
        Figure(what=f"one fsync per group of {THREADS}, and nothing else", values=bare, unit="a second"),  # type: ignore[arg-type]
        Figure(what="ours / that", values=ratios(ours, bare)),  # type: ignore[arg-type]
        Figure(what="changes to an fsync", values=(changes / synced,), unit="changes"),
    )


def _in_turns(number: int, folder: Path, changes: int) -> tuple[float, float]:
    """Bare and ours; every second round the other way round."""
    if number % 2:
        ours = changes_per_s(folder, changes)
        return bare_changes_per_s(folder, changes), ours
    return bare_changes_per_s(folder, changes), changes_per_s(folder, changes)


@contextlib.contextmanager
def _empty(folder: Path) -> Iterator[Path]:
    """On the disk that is measured; its name is one that the next run removes, should this one be killed."""
    with tempfile.TemporaryDirectory(prefix="run-", dir=folder) as made:
        yield Path(made)
