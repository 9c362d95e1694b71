"""Streaming pipelines that have nothing to do: what each takes of a processor, checkpoints every 10 s included."""

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench import jobs
from tests.bench.bench import Bench
from tests.bench.figure import Figure, at_most
from tests.bench.process_tree import watched

PIPELINES = 100
BEGIN_WITHIN_S = 120.0
SETTLE_S = 15.0
WATCHED_S = 30.0


def report(bench: Bench) -> None:
    values = []
    for _ in range(bench.rounds):
        with tempfile.TemporaryDirectory(prefix="run-", dir=bench.data) as folder:
            values.append(_percent_of_a_core(Path(folder)))
    bench.tell(
        Figure(
            what=f"{PIPELINES} streaming pipelines without rows, each",
            values=values,
            unit="% of a core",
            goal=at_most(0.1),
        )
    )


def _percent_of_a_core(folder: Path) -> float:
    conf, engine_file = jobs.write_idle(folder, PIPELINES), jobs.write_engine(folder)
    command = [sys.executable, "-m", "seatunnel_core.cli", "-c", str(conf), "-m", "local[2]"]
    with (folder / "log").open("wb") as log:
        engine = subprocess.Popen([*command, "--engine-config", str(engine_file)], stdout=log, stderr=log)
    with watched(engine) as tree, _stopped_at_the_end(engine):
        deadline = time.monotonic() + BEGIN_WITHIN_S
        while len(list((folder / "checkpoints").glob("*/*/"))) < PIPELINES:
            assert engine.poll() is None, (folder / "log").read_text()[-3000:]
            assert time.monotonic() < deadline, "the pipelines did not begin"
            time.sleep(0.2)
        time.sleep(SETTLE_S)
        began = time.monotonic()
        time.sleep(WATCHED_S)
        ended = time.monotonic()
        tree.look()
        assert engine.poll() is None, "the pipelines ended, so it was easy for them to have nothing to do"
        return (tree.cpu_s_at(ended) - tree.cpu_s_at(began)) / (ended - began) / PIPELINES * 100


@contextmanager
def _stopped_at_the_end(engine: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        for _ in range(3):
            engine.send_signal(signal.SIGTERM)
            time.sleep(0.3)
        engine.kill()
