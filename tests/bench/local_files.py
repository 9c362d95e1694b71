"""What a checkpoint in local files costs beyond the system calls that it requires."""

import hashlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from seatunnel_storage_hdfs.local import LocalFileStorage, create

from seatunnel_storage_api import envelope, layout
from seatunnel_storage_api.state import CheckpointType, PipelineState
from tests.bench.bench import Bench
from tests.bench.figure import Figure, at_most

JOB = "job"
SIZES = {"1 KiB": (2**10, 300), "1 MiB": (2**20, 100), "64 MiB": (2**26, 9)}
"""Bytes, and how many rounds give a median that stays."""

Took = tuple[float, float]
"""Seconds by the clock, and of the processor."""

KEPT = 3
GIB = 2**30


def report(bench: Bench) -> None:
    """Everything lies below the bench's folder meanwhile."""
    data = bench.data
    for name, (size, rounds) in SIZES.items():
        with tempfile.TemporaryDirectory(prefix="run-", dir=data) as folder:
            took = _store_against_bare(Path(folder), size, rounds)
        for what, clock, goal in (("time", 0, at_most(1.5)), ("processor time", 1, None)):
            ours, bare = ([each[clock] * 1000 for each in turns] for turns in zip(*took, strict=True))
            middle = statistics.median(ours) / statistics.median(bare)
            bench.record(
                Figure(what=f"store / bare, {name}, {what}, of the medians", values=(middle,), goal=goal),
                Figure(what=f"store, {name}, {what}", values=ours, unit="ms"),
                Figure(what=f"bare, {name}, {what}", values=bare, unit="ms"),
            )
    for verb in ("store", "load"):
        with tempfile.TemporaryDirectory(prefix="run-", dir=data) as folder:
            copies = _peak_of_another_process(verb, folder)
        bench.record(Figure(what=f"{verb} 1 GiB, in memory at most", values=(copies,), unit="copies"))
    with tempfile.TemporaryDirectory(prefix="run-", dir=data) as folder:
        bench.record(*_latest_among_many(Path(folder)))


def _open(folder: Path) -> LocalFileStorage:
    return create({"namespace": f"{folder}/", "max-retained": "1000000"})


def _state(epoch: int, number: int, body: bytes, pipeline_id: int = 1) -> PipelineState:
    return PipelineState(
        job_id=JOB,
        pipeline_id=pipeline_id,
        epoch=epoch,
        checkpoint_id=number,
        checkpoint_type=CheckpointType.CHECKPOINT,
        states=body,
    )


# -- a store, against what it requires


def _store_against_bare(folder: Path, size: int, rounds: int) -> list[tuple[Took, Took]]:
    """The two take turns on the same bytes, and which one begins changes; each folder holds as many files."""
    with _open(folder / "ours") as storage:
        epoch = storage.acquire_epoch(JOB, 1, 1)
        bare = folder / "bare"
        (bare / "unfinished").mkdir(parents=True)
        for number in range(KEPT):
            storage.store_checkpoint(_state(epoch, number, b"old"))
            (bare / f"old-{number}").write_bytes(b"old")
        rounds_took = []
        for number in range(KEPT, KEPT + rounds):
            body = os.urandom(size)
            state = _state(epoch, number, body)
            turns: list[tuple[str, Callable[[], object]]] = [
                ("ours", lambda: storage.store_checkpoint(state)),  # noqa: B023
                ("bare", lambda: _bare_store(bare, body)),  # noqa: B023
            ]
            took = {name: _timed(turn) for name, turn in (turns if number % 2 else reversed(turns))}
            rounds_took.append((took["ours"], took["bare"]))
            storage.delete_checkpoint(JOB, 1, number)
            (bare / "stored").unlink()
            os.sync()
    return rounds_took


def _bare_store(folder: Path, body: bytes) -> None:
    """SHA-256, write, fsync, link, fsync of the folder, one listing."""
    unfinished, target = f"{folder}/unfinished/file", f"{folder}/stored"
    digest = hashlib.sha256(body).digest()
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    rest = memoryview(body)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.write(descriptor, digest)
    os.fsync(descriptor)
    os.close(descriptor)
    os.link(unfinished, target)
    os.unlink(unfinished)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(descriptor)
    os.close(descriptor)
    with os.scandir(folder) as entries:
        for entry in entries:
            entry.stat(follow_symlinks=False)


def _timed(turn: Callable[[], object]) -> Took:
    began, began_cpu = time.perf_counter(), time.process_time()
    turn()
    return time.perf_counter() - began, time.process_time() - began_cpu


# -- memory


def _peak_of_another_process(verb: str, folder: str) -> float:
    """Copies of a GiB that another process held at its peak, the state itself included."""
    if verb == "load":
        _run("store", folder)
    return float(_run(verb, folder))


def _run(verb: str, folder: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.local_files", verb, folder], check=True, capture_output=True, text=True
    )
    return done.stdout


def main(verb: str, folder: str) -> None:
    """The other process."""
    with _open(Path(folder)) as storage:
        epoch = storage.newest_epoch(JOB, 1) or storage.acquire_epoch(JOB, 1, 1)
        storage.store_checkpoint(_state(epoch, 1, b"everything that is imported late is imported now"))
        before = _most_kib()
        if verb == "store":
            storage.store_checkpoint(_state(epoch, 2, b"x" * GIB))
        else:
            latest = storage.get_latest_checkpoint(JOB, 1)
            assert latest is not None
            assert len(latest.states) == GIB
        print((_most_kib() - before) * 1024 / GIB)


def _most_kib() -> int:
    """Since this program was loaded; what ``getrusage`` tells begins with the process that started it."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))


# -- many


def _latest_among_many(folder: Path, pipelines: int = 1000, each: int = 10) -> Iterator[Figure]:
    with _open(folder) as storage:
        for pipeline in range(1, pipelines + 1):
            for number in range(each):
                _put_without_sync(storage, _state(1, number, b"states", pipeline))
        reads: list[str] = []
        read = storage.read
        storage.read = lambda key: (reads.append(key), read(key))[1]  # type: ignore[method-assign]
        one_s, _ = _timed(lambda: storage.get_latest_checkpoint(JOB, pipelines // 2))
        payloads = len(reads)
        all_s, _ = _timed(lambda: storage.get_latest_checkpoints(JOB))
    among = f"among {pipelines * each:,} checkpoints of {pipelines:,} pipelines"
    yield Figure(what=f"latest of one {among}", values=(one_s * 1000,), unit="ms")
    yield Figure(what=f"latest of one {among}, read", values=(payloads,), unit="payloads")
    yield Figure(what=f"latest of each {among}", values=(all_s * 1000,), unit="ms")
    yield Figure(what=f"latest of each {among}, read", values=(len(reads) - payloads,), unit="payloads")


def _put_without_sync(storage: LocalFileStorage, state: PipelineState) -> None:
    path = Path(storage.locate(layout.checkpoint_key(state)))
    path.parent.mkdir(parents=True, exist_ok=True)
    fields = {"job_id": JOB, "pipeline_id": state.pipeline_id, "epoch": 1, "checkpoint_id": state.checkpoint_id}
    sealed = envelope.seal("checkpoint", state.states, **fields, checkpoint_type="checkpoint", base=None)
    path.write_bytes(sealed)


if __name__ == "__main__":
    main(*sys.argv[1:])
