"""What the coordinator costs the driver: ``make bench ARGS=coordinator``.

A work unit and a checkpoint are measured on the protocol alone, which does no I/O: events in, commands out. Pipelines
are held by the runtime itself, with its loop, its pools and a storage; Spark is still starting, so that the one work
unit of each waits and nothing but checkpoints happens.
"""

import contextlib
import json
import os
import statistics
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from attrs import frozen
from seatunnel_storage_hdfs.local import create

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.decisions.trigger import CheckpointPolicy
from seatunnel_core.checkpoint.state.topology import SinkSpec, SourceSpec, Topology
from seatunnel_core.checkpoint.vertices.limits import Limits
from seatunnel_core.claiming.claim import claim_new
from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.job_file import load_job
from seatunnel_core.errors import PlatformError
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.registry import lookup
from seatunnel_core.runtime.job_threads import JobThreads
from seatunnel_core.spark.backend import SparkBackend
from seatunnel_core.spark.starting.settings import SparkSettings
from seatunnel_core.work.split import Split
from seatunnel_core.work.unit import AttemptId
from seatunnel_storage_api.blob import Blob, BlobStorage
from seatunnel_storage_api.state import CheckpointRef, CheckpointType
from seatunnel_storage_api.storage import CheckpointStorage
from tests.bench import jobs
from tests.bench.bench import Bench
from tests.bench.figure import Figure, at_most
from tests.checkpoint.played import Played, committable

UNITS = 20_000
IN_FLIGHT = {1: 200, 1000: 200, 100_000: 5}
"""Units, which are what a state is made of, and how many checkpoints are taken of them."""

GOAL_IN_FLIGHT = 1000
HELD = (10, 100, 1000)
"""Pipelines."""

HELD_S = 10
PARALLELISM = 64
_OF_PROCESSOR = "ms of the processor"


def report(bench: Bench, *, units: int = UNITS, held: Iterable[int] = HELD, held_s: float = HELD_S) -> None:
    """Local checkpoints lie below the bench's folder meanwhile."""
    for every in (0, 100):
        beside = f"with a checkpoint every {every} units" if every else "without a checkpoint"
        one_ms = cpu_s_of_units(units, every) / units * 1e3
        bench.record(Figure(what=f"a work unit, {beside}", values=(one_ms,), unit=_OF_PROCESSOR, goal=at_most(1)))
    unit_ms: dict[int, float] = {}
    for in_flight, checkpoints in IN_FLIGHT.items():
        checkpoint_ms, json_ms, state_bytes = checkpoints_in_flight(in_flight, checkpoints)
        state = f"with {in_flight:,} units in flight ({state_bytes:,} bytes)"
        goal = at_most(10) if in_flight == GOAL_IN_FLIGHT else None
        bench.record(
            Figure(what=f"a checkpoint {state}", values=checkpoint_ms, unit=_OF_PROCESSOR, goal=goal),
            Figure(what="json.dumps of the same state", values=json_ms, unit=_OF_PROCESSOR),
        )
        unit_ms[in_flight] = statistics.median(checkpoint_ms) / in_flight
    for fewer, more in pairwise(unit_ms):
        compared = f"a unit in flight, in a checkpoint, {more:,} units / {fewer:,}"
        bench.record(Figure(what=compared, values=(unit_ms[more] / unit_ms[fewer],)))
    for name in ("memory", "local files"):
        pipeline_ms: dict[int, float] = {}
        for pipelines in held:
            with _storage(name, bench.data) as storage, _one_processor():
                took = hold(pipelines, storage, bench.data, held_s)
            held_in = f"{pipelines:,} pipelines with a checkpoint a second in {name}"
            bench.record(
                Figure(what=held_in, values=(took.cpu_ms,), unit="ms of the processor per pipeline and second"),
                Figure(what=f"{held_in}, checkpoints of each", values=(took.checkpoints,), unit="a second"),
            )
            pipeline_ms[pipelines] = took.cpu_ms / took.checkpoints
        for fewer, more in pairwise(pipeline_ms):
            compared = f"a checkpoint in {name}, {more:,} pipelines / {fewer:,}, processor time"
            bench.record(Figure(what=compared, values=(pipeline_ms[more] / pipeline_ms[fewer],)))


# -- the protocol alone


def running(splits: int, limits: Limits, policy: CheckpointPolicy) -> Played:
    """A pipeline from one source to one sink that has so many splits, and runs."""
    source = SourceSpec(name="in", ordinal=0, sinks=("out",), parallelism=PARALLELISM)
    topology = Topology(sources=(source,), sinks=(SinkSpec(name="out", ordinal=0),))
    played = Played(topology, policy=policy, limits=limits)
    played.stored(played.begin().checkpoint_id)
    played.deliver(events.SinksPrepared(now_ms=0))
    played.deliver(events.Swept(now_ms=0, removed=0))
    enumeration = tuple(split(index) for index in range(splits))
    played.deliver(events.Enumerated(now_ms=0, source="in", splits=enumeration, attachment="frozen"))
    return played


def split(index: int) -> Split:
    """As ``LocalFile`` makes them."""
    body = {
        "path": f"/data/warehouse/lineitem/part-{index:05d}-5d1b3f0e.csv",
        "size": 512_000_000 + index,
        "mtime_ns": 1_763_000_000_000_000_000 + index,
        "start": index * 32_000_000,
        "end": (index + 1) * 32_000_000,
    }
    return Split(index=index, weight_bytes=32_000_000, rows=250_000, body=body)


def cpu_s_of_units(units: int, checkpoint_every: int) -> float:
    """From each unit's result to the commands that follow, publishing included."""
    played = running(units, Limits(target_unit_rows=1), CheckpointPolicy(interval_ms=None))
    handle = played.protocol.handle
    results = [
        events.UnitFinished(
            now_ms=number,
            task="in",
            attempt=AttemptId(unit=number, epoch=1, number=1),
            rows_read=250_000,
            bytes_read=32_000_000,
            rows_skipped=0,
            committables={"out": committable(number)},
        )
        for number in range(1, units + 1)
    ]
    began = time.process_time()
    for result in results:
        answer_all(handle, handle(result))
        if checkpoint_every and result.attempt.unit % checkpoint_every == 0:
            answer_all(handle, handle(trigger(result.now_ms)))
    return time.process_time() - began


def trigger(now_ms: int) -> events.TriggerRequested:
    return events.TriggerRequested(now_ms=now_ms, checkpoint_type=CheckpointType.CHECKPOINT)


Handle = Callable[[events.Event], tuple[commands.Command, ...]]


def answer_all(handle: Handle, said: tuple[commands.Command, ...]) -> None:
    """Everything is stored and published at once; units are left to the caller."""
    waiting = deque(said)
    while waiting:
        match waiting.popleft():
            case commands.StoreCheckpoint(state=state):
                waiting += handle(events.CheckpointStored(now_ms=0, ref=state.ref))
            case commands.Commit(sink=sink, committables=published):
                ids = tuple(each.id for each in published)
                waiting += handle(events.CommitSucceeded(now_ms=0, sink=sink, ids=ids))


def checkpoints_in_flight(units: int, checkpoints: int) -> tuple[list[float], list[float], int]:
    """What checkpoints take of the processor, what ``json.dumps`` of the same state takes, in turns, and its size."""
    limits = Limits(target_unit_rows=1, credits_per_source=units)
    played = running(units, limits, CheckpointPolicy(interval_ms=None))
    handle = played.protocol.handle
    assert played.protocol.progress().units_in_flight == units
    checkpoint_ms, json_ms, state_bytes = [], [], 0
    for number in range(checkpoints):
        began = time.thread_time()
        (stored,) = (each for each in handle(trigger(number)) if isinstance(each, commands.StoreCheckpoint))
        handle(events.CheckpointStored(now_ms=number, ref=CheckpointRef(1, stored.state.checkpoint_id)))
        checkpoint_ms.append((time.thread_time() - began) * 1000)
        document, state_bytes = json.loads(stored.state.states), len(stored.state.states)
        began = time.thread_time()
        json.dumps(document, sort_keys=True, separators=(",", ":"))
        json_ms.append((time.thread_time() - began) * 1000)
    return checkpoint_ms, json_ms, state_bytes


# -- pipelines that are held


@frozen(kw_only=True)
class Held:
    """What it takes to hold pipelines whose checkpoints are due every second."""

    cpu_ms: float
    """Per pipeline and second, of all threads of the process."""

    checkpoints: float
    """Completed per pipeline and second."""

    processors: float
    """How much of one processor all of them took."""


class Starting(SparkBackend):
    """A Spark that goes on starting."""

    def __init__(self) -> None:
        super().__init__(SparkSettings())
        self.enough = threading.Event()

    def start(self) -> None:
        self.enough.wait()
        raise PlatformError("it was only to start")


def hold(pipelines: int, storage: CheckpointStorage, folder: Path, seconds: float) -> Held:
    """Hold them for so long, once all of them run."""
    engine = load_engine(jobs.write_engine(folder))
    raw = load_job(jobs.write_waiting(folder, pipelines))
    claim = claim_new(storage, "held", lambda manifest: plan_job(raw, lookup, engine, manifest=manifest))
    backend = Starting()
    threads = JobThreads(
        job_id="held",
        claim=claim,
        engine=engine,
        storage=storage,
        backend=backend,
        on_begun=None,
        on_end=lambda _report: None,
        restored=False,
    )
    threads.start()
    try:
        while not all(view.checkpoints_completed for view in threads.views()) or len(threads.views()) < pipelines:
            time.sleep(0.2)
        before, began_cpu, began = _completed(threads), time.process_time(), time.perf_counter()
        time.sleep(seconds)
        completed, cpu_s, wall_s = (
            _completed(threads) - before,
            time.process_time() - began_cpu,
            time.perf_counter() - began,
        )
    finally:
        threads.kill()
        backend.enough.set()
        threads.close()
    return Held(
        cpu_ms=cpu_s * 1000 / wall_s / pipelines, checkpoints=completed / wall_s / pipelines, processors=cpu_s / wall_s
    )


def _completed(threads: JobThreads) -> int:
    return sum(view.checkpoints_completed for view in threads.views())


class FoldersInMemory(BlobStorage):
    """Blobs by folder, so that a listing costs what lies in the folder, as on a disk; ``MemoryStorage`` looks at all
    that it has, which is right for tests and would be all that is measured here."""

    def __init__(self) -> None:
        super().__init__(backend="memory", namespace="/bench/", max_retained=3)
        self._folders: dict[str, dict[str, bytes]] = {}
        self._lock = threading.Lock()

    def put_if_absent(self, key: str, body: bytes) -> bool:
        with self._lock:
            return self._folder(key).setdefault(key, body) is body

    def read(self, key: str) -> bytes | None:
        return self._folder(key).get(key)

    def list_blobs(self, prefix: str) -> Iterable[Blob]:
        with self._lock:
            here = self._folders.get(prefix)
            below = [here] if here else [each for name, each in self._folders.items() if name.startswith(prefix)]
            return [Blob(key=key, size_bytes=len(body)) for folder in below for key, body in folder.items()]

    def delete(self, keys: Iterable[str]) -> None:
        with self._lock:
            for key in keys:
                self._folder(key).pop(key, None)

    def _folder(self, key: str) -> dict[str, bytes]:
        return self._folders.setdefault(key.rpartition("/")[0] + "/", {})


@contextlib.contextmanager
def _storage(name: str, folder: Path) -> Iterator[CheckpointStorage]:
    if name == "memory":
        yield FoldersInMemory()
        return
    with (
        tempfile.TemporaryDirectory(prefix="run-", dir=folder) as made,
        create({"namespace": f"{made}/", "max-retained": "3"}) as storage,
    ):
        yield storage


@contextlib.contextmanager
def _one_processor() -> Iterator[None]:
    """This thread, and those that it starts, have one processor."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
