"""Streaming pipelines that have nothing to do: what each takes of a processor, and what their checkpoints take."""

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from tests.bench import jobs, tables
from tests.bench.bench import Bench
from tests.bench.figure import Figure, at_most
from tests.bench.process_tree import watched

PIPELINES = 100
FILES = (1, 1000, 100_000)
BEGIN_WITHIN_S = 120.0
SETTLE_S = 15.0
WATCHED_S = 30.0


def report(bench: Bench) -> None:
    values = []
    for _ in range(bench.rounds):
        with tempfile.TemporaryDirectory(prefix="run-", dir=bench.data) as folder:
            seen = _seen(jobs.write_idle(Path(folder), PIPELINES), Path(folder), PIPELINES)
            values.append(seen.cpu_s / WATCHED_S / PIPELINES * 100)
    what = f"{PIPELINES} streaming pipelines without rows, each"
    bench.record(Figure(what=what, values=values, unit="% of a core", goal=at_most(0.1)))


def report_states(bench: Bench) -> None:
    """A streaming job with a checkpoint every second, whose state is what it remembers of files that are there."""
    in_rounds: list[dict[int, Seen]] = []
    for _ in range(bench.rounds):
        in_rounds.append({})
        for files in FILES:
            table = tables.lineitem_in_pieces(bench.data, files)
            with tempfile.TemporaryDirectory(prefix="run-", dir=bench.data) as folder:
                in_rounds[-1][files] = _seen(jobs.write_watching(Path(folder), table), Path(folder), 1)
    for files in FILES:
        seen = [each[files] for each in in_rounds]
        values, known = [each.cpu_s / each.checkpoints * 1000 for each in seen], f"{files:,} files that are known"
        bench.record(
            Figure(what=f"{known}, a checkpoint with all that the job does", values=values, unit="ms of the processor"),
            Figure(
                what=f"{known}, checkpoints", values=[each.checkpoints / WATCHED_S for each in seen], unit="a second"
            ),
            Figure(what=f"{known}, state", values=[each.state_bytes for each in seen], unit="bytes"),
        )


@frozen(kw_only=True)
class Seen:
    """What a streaming job did within ``WATCHED_S``."""

    cpu_s: float
    checkpoints: int
    """Of the first pipeline."""

    state_bytes: int
    """As the last one was stored."""


def _seen(conf: Path, folder: Path, pipelines: int) -> Seen:
    command = [sys.executable, "-m", "seatunnel_core.cli", "-c", str(conf), "-m", "local[2]"]
    engine_file = jobs.write_engine(folder)
    with (folder / "log").open("wb") as log:
        engine = subprocess.Popen([*command, "--engine-config", str(engine_file)], stdout=log, stderr=log)
    with watched(engine) as tree, _stopped_at_the_end(engine):
        deadline = time.monotonic() + BEGIN_WITHIN_S
        while len(list((folder / "checkpoints").glob("*/0*/*.epoch"))) < pipelines:
            assert engine.poll() is None, (folder / "log").read_text()[-3000:]
            assert time.monotonic() < deadline, "the pipelines did not begin"
            time.sleep(0.2)
        time.sleep(SETTLE_S)
        began, (number, _) = time.monotonic(), _last_checkpoint(folder)
        time.sleep(WATCHED_S)
        ended, (last_number, state_bytes) = time.monotonic(), _last_checkpoint(folder)
        tree.sample()
        assert engine.poll() is None, "the pipelines ended, so it was easy for them to have nothing to do"
        cpu_s = (tree.cpu_s_at(ended) - tree.cpu_s_at(began)) * WATCHED_S / (ended - began)
        return Seen(cpu_s=cpu_s, checkpoints=last_number - number, state_bytes=state_bytes)


def _last_checkpoint(folder: Path) -> tuple[int, int]:
    """Of the first pipeline: its number, and the size of its file."""
    stored = (folder / "checkpoints").glob("*/000001/*.ckpt")
    return max((int(file.name.split(".")[0].rpartition("-")[2]), file.stat().st_size) for file in stored)


@contextmanager
def _stopped_at_the_end(engine: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        for _ in range(3):
            engine.send_signal(signal.SIGTERM)
            time.sleep(0.3)
        engine.kill()
