"""The driver's memory does not grow with the data, and a worker holds one work unit at a time."""

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet
import pytest

from tests.figures import Figure
from tests.runtime.command import Command, fake_source, job, parquet_sink, published, staged
from tests.torture.process import Engine, peak_bytes

ROWS = 10_000_000
SPLITS = 40
ROW_BYTES = 24
"""Eight for the number, sixteen for the text: what FakeSource's splits weigh."""

MB = 1_000_000
DRIVER_MB = 300
WORKER_MB = 200


def peaks(engine: Engine, timeout_s: float) -> tuple[int, dict[int, int]]:
    """Watch a process to its end: the peak of the driver, and that of each Python worker."""
    driver, workers = 0, dict[int, int]()
    while engine.exit_code is None:
        driver = max(driver, peak_bytes(engine.pid))
        for worker in engine.workers():
            workers[worker.pid] = max(workers.get(worker.pid, 0), peak_bytes(worker.pid))
        assert engine.age_s < timeout_s, engine.output
        time.sleep(0.1)
    assert engine.exit_code == 0, engine.output
    return driver, workers


def run(folder: Path, rows: int, splits: int) -> tuple[int, dict[int, int]]:
    env = "job.mode = BATCH, parallelism = 2, checkpoint.interval = 1000"
    source = fake_source("rows", rows=rows, splits=splits)
    return peaks(Command.of(folder, job(env, [source], [parquet_sink("rows", folder / "out")])).begin(), 400)


def unit_rows(files: Sequence[Path]) -> Counter[str]:
    """How many rows each work unit staged; its number stands in the names of its files."""
    rows: Counter[str] = Counter()
    for path in files:
        rows[path.name.partition("-u")[2].partition("-")[0]] += pyarrow.parquet.read_metadata(path).num_rows
    return rows


@pytest.mark.torture
@pytest.mark.timeout(600)
def test_ten_million_rows_stay_within_the_memory_of_a_few(tmp_path: Path, figure: Figure) -> None:
    idle, _ = run(tmp_path / "idle", 10, 1)
    driver, workers = run(tmp_path / "full", ROWS, SPLITS)
    files = published(tmp_path / "full" / "out")
    assert sum(pyarrow.parquet.read_metadata(path).num_rows for path in files) == ROWS
    assert not staged(tmp_path / "full" / "out")
    unit = max(unit_rows(files).values()) * ROW_BYTES
    figure(
        f"{ROWS:,} rows: driver {driver // MB} MB at its peak, {idle // MB} MB in a job of ten rows; "
        f"largest worker {max(workers.values()) // MB} MB, largest unit {unit // MB} MB"
    )
    assert driver - idle < DRIVER_MB * MB
    assert max(workers.values()) < unit + WORKER_MB * MB
