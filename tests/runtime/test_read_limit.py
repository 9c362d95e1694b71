"""The speed limit in real jobs: what is read in 30 s, and what checkpoints take meanwhile."""

import itertools
import logging
import statistics
import time
from pathlib import Path

import pytest

import seatunnel_core as st

LIMIT = 2_000
"""Rows or bytes a second of each source."""

WINDOW_S = 30
KEPT_UP = 12
"""Work units in flight, of a pipeline: when more wait, it is Spark that is measured and not the limit."""

WARMED_UP = 4
"""Results after which Spark's first tasks are through."""

ROW_BYTES = 24
"""What ``FakeSource`` counts for a row with a bigint and a text."""

READERS, SPLITS = 2, 24
"""Of each source; and of each reader. A split is a second long."""


@pytest.mark.torture
@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(300)
@pytest.mark.parametrize("of", ["rows", "bytes"])
def test_each_source_of_each_pipeline_is_read_at_the_limit(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, of: str
) -> None:
    """Two pipelines, within 5 % over 30 s. It needs a machine on which Spark keeps up."""
    caplog.set_level(logging.INFO, logger="seatunnel")
    wanted = LIMIT * SPLITS  # of each reader
    env = {f"read_limit.{of}_per_second": LIMIT, "checkpoint.interval": 1000, "parallelism": READERS}
    in_flight = 0
    samples: list[tuple[float, dict[str, int]]] = []
    with submit(tmp_path, env, rows=wanted if of == "rows" else wanted // ROW_BYTES) as handle:
        while handle.wait(timeout=0.1) is None:
            views = handle.metrics().pipelines
            read = {view.name: view.rows_read if of == "rows" else view.bytes_read for view in views}
            samples.append((time.monotonic(), read))
            in_flight = max(in_flight, *(view.units_in_flight for view in views), 0)
        assert handle.result().outcome is st.JobOutcome.FINISHED
    limited_ms, off = checkpoint_ms(caplog), {}
    for name in samples[-1][1]:
        seen = [(at_s, read[name]) for at_s, read in samples if name in read]
        steps = [after for before, after in itertools.pairwise(seen) if after[1] > before[1]]
        start_s, before = steps[WARMED_UP]
        end_s, after = next(step for step in steps if step[0] >= start_s + WINDOW_S)
        rate = (after - before) / (end_s - start_s)
        print(f"{name}: {rate:,.0f} {of}/s over {end_s - start_s:.1f} s, the limit is {LIMIT:,}")
        off[name] = abs(rate / LIMIT - 1)
    if in_flight > KEPT_UP:
        pytest.skip(f"SPARK DID NOT KEEP UP with the limit: up to {in_flight} work units waited on a busy machine")
    assert max(off.values()) <= 0.05

    caplog.clear()
    pause = {"split.read-interval": 250}
    free = {"checkpoint.interval": 1000, "parallelism": READERS}
    with submit(tmp_path / "free", free, rows=wanted // 100, **pause) as handle:
        assert handle.result().outcome is st.JobOutcome.FINISHED
    free_ms = checkpoint_ms(caplog)
    for what, took_ms in (("with", limited_ms), ("without", free_ms)):
        median_ms = statistics.median(took_ms)
        print(f"{len(took_ms)} checkpoints {what} the limit: median {median_ms:.0f} ms, most {max(took_ms)} ms")


def submit(folder: Path, env: dict[str, object], *, rows: int, **more: object) -> st.JobHandle:
    folder.mkdir(exist_ok=True)
    engine = folder / "seatunnel.yaml"
    engine.write_text(
        "seatunnel:\n  engine:\n    checkpoint:\n      storage:\n        type: hdfs\n        plugin-config:\n"
        f"          namespace: {folder}/checkpoints/\n"
    )
    job = st.Job("limited", env)
    options = {"row.num": rows, "split.num": SPLITS, **more}
    schema = {"fields": {"id": "bigint", "text": "string"}}
    sources = [job.source("FakeSource", options, name=f"source-{number}", schema=schema) for number in range(2)]
    for number, source in enumerate(sources):
        source.sink("Console", {"log.print.data": False}, name=f"out-{number}")
    return job.submit(engine_config=engine, master="local[4]")


def checkpoint_ms(caplog: pytest.LogCaptureFixture) -> list[int]:
    """From trigger to completion, of the checkpoints that the interval asked for."""
    completed = [record.args for record in caplog.records if "completed in" in str(record.msg)]
    return [args[2] for args in completed if isinstance(args, tuple) and args[1] == "checkpoint"]  # type: ignore[misc]
