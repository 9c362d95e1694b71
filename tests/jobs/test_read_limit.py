"""The speed limit in real jobs: what is granted in 30 s, and what checkpoints take meanwhile.

A busy machine reads late what was granted in time, so the grants are counted and not the rows that arrive. It also
wakes timers late and is slow to give credit back: what the limit has to make up for is not counted against it, and what
was lost beyond that is taken off the time in which it had to grant. Nothing is taken off where it grants too much.
"""

import logging
import statistics
from collections import defaultdict
from pathlib import Path

import pytest
from attrs import field, frozen

import seatunnel_core as st
from seatunnel_core.checkpoint.vertices.source import SourceVertex
from seatunnel_core.checkpoint.vertices.speed_limit import SAVED_UP_MS
from tests.figures import Figure
from tests.runtime.command import engine_file

LIMIT = 2_000
"""Rows or bytes a second of each source."""

WINDOW_MS = 30_000
ROW_BYTES = 24
"""What ``FakeSource`` counts for a row with a bigint and a text."""

READERS, SPLITS = 2, 24
"""Of each source; and of each reader. A split is a second long."""


@frozen
class Grants:
    """What one source was granted, by the clock that the limit was given."""

    charges: list[tuple[int, int, int]] = field(factory=list)
    """When, rows, bytes; corrections of estimates as well."""

    stalls: list[tuple[int, int]] = field(factory=list)
    """From when to when the machine, not the limit, held the source up."""

    def windows(self, of: str) -> list[tuple[float, float]]:
        """Of all stretches of 30 s: what was granted per second, and per second in which the machine was awake."""
        found = []
        times = [at_ms for at_ms, rows, _ in self.charges if rows > 0]
        for start in times:
            end = next((at_ms for at_ms in times if at_ms >= start + WINDOW_MS), None)
            if end is None:
                break
            granted = sum(each[1 + (of == "bytes")] for each in self.charges if start <= each[0] < end)
            found.append((granted * 1000 / (end - start), granted * 1000 / (end - start - self.lost_ms(start, end))))
        return found

    def lost_ms(self, start_ms: int, end_ms: int) -> int:
        lengths = [min(end, end_ms) - max(start, start_ms) for start, end in self.stalls]
        return sum(max(0, length - SAVED_UP_MS) for length in lengths)


@pytest.fixture
def granted(monkeypatch: pytest.MonkeyPatch) -> dict[str, Grants]:
    """By source. Looks on: everything is done as ever."""
    seen: dict[str, Grants] = defaultdict(Grants)
    dry_since_ms: dict[str, int] = {}
    charge, emit, look_again = SourceVertex._charge, SourceVertex._emit, SourceVertex._look_again

    def charging(self: SourceVertex, rows: int, read_bytes: int) -> None:
        seen[self.spec.name].charges.append((self._wiring.now_ms, rows, read_bytes))
        charge(self, rows, read_bytes)

    def emitting(self: SourceVertex) -> None:
        since_ms = dry_since_ms.pop(self.spec.name, None)
        if since_ms is not None:
            buckets = filter(None, (self._rows_bucket, self._bytes_bucket))
            might_ms = max([since_ms, *(bucket.ready_ms() for bucket in buckets)])
            seen[self.spec.name].stalls.append((might_ms, self._wiring.now_ms))
        emit(self)
        if not self._credits:
            dry_since_ms[self.spec.name] = self._wiring.now_ms

    def looking_again(self: SourceVertex) -> None:
        assert self._looking_again_ms is not None
        seen[self.spec.name].stalls.append((self._looking_again_ms, self._wiring.now_ms))
        look_again(self)

    monkeypatch.setattr(SourceVertex, "_charge", charging)
    monkeypatch.setattr(SourceVertex, "_emit", emitting)
    monkeypatch.setattr(SourceVertex, "_look_again", looking_again)
    return seen


@pytest.mark.torture
@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize("of", ["rows", "bytes"])
def test_each_source_of_each_pipeline_is_read_at_the_limit(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, granted: dict[str, Grants], of: str, figure: Figure
) -> None:
    """Two pipelines, within 5 % in any 30 s."""
    caplog.set_level(logging.INFO, logger="seatunnel")
    wanted = LIMIT * SPLITS  # of each reader
    env: dict[str, object] = {f"read_limit.{of}_per_second": LIMIT, "checkpoint.interval": 1000, "parallelism": READERS}
    rows = wanted if of == "rows" else wanted // ROW_BYTES
    with submit(tmp_path, env, rows=rows) as handle:
        report = handle.result()
    assert report.outcome is st.JobOutcome.FINISHED
    limited_ms = checkpoint_ms(caplog)
    assert len(granted) == 2
    for name, grants in granted.items():
        assert sum(each[1] for each in grants.charges) == rows * READERS, "what was granted was read"
        rates = grants.windows(of)
        assert rates
        most, least = max(rate for rate, _ in rates), min(awake for _, awake in rates)
        start_ms, end_ms = grants.charges[0][0], grants.charges[-1][0]
        figure(
            f"{name}: {least:,.0f} to {most:,.0f} {of}/s in {len(rates)} stretches of {WINDOW_MS / 1000:.0f} s, the "
            f"limit is {LIMIT:,}; the machine lost {grants.lost_ms(start_ms, end_ms)} of {end_ms - start_ms} ms"
        )
        assert most <= LIMIT * 1.05
        assert least >= LIMIT * 0.95

    caplog.clear()
    pause = {"split.read-interval": 250}
    free: dict[str, object] = {"checkpoint.interval": 1000, "parallelism": READERS}
    with submit(tmp_path / "free", free, rows=wanted // 100, **pause) as handle:
        assert handle.result().outcome is st.JobOutcome.FINISHED
    free_ms = checkpoint_ms(caplog)
    for what, took_ms in (("with", limited_ms), ("without", free_ms)):
        median_ms = statistics.median(took_ms)
        figure(f"{len(took_ms)} checkpoints {what} the limit: median {median_ms:.0f} ms, most {max(took_ms)} ms")


def submit(folder: Path, env: dict[str, object], *, rows: int, **more: object) -> st.JobHandle:
    folder.mkdir(exist_ok=True)
    job = st.Job("limited", env)
    options = {"row.num": rows, "split.num": SPLITS, **more}
    schema = {"fields": {"id": "bigint", "text": "string"}}
    sources = [job.source("FakeSource", options, name=f"source-{number}", schema=schema) for number in range(2)]
    for number, source in enumerate(sources):
        source.sink("Console", {"log.print.data": False}, name=f"out-{number}")
    return job.submit(engine_config=engine_file(folder), master="local[4]")


def checkpoint_ms(caplog: pytest.LogCaptureFixture) -> list[int]:
    """From trigger to completion, of the checkpoints that the interval asked for."""
    completed = [record.args for record in caplog.records if "completed in" in str(record.msg)]
    return [args[2] for args in completed if isinstance(args, tuple) and args[1] == "checkpoint"]  # type: ignore[misc]
