"""Periodic recording of a job's metrics over time, and of its state in the log."""

import asyncio
from collections.abc import Callable, Sequence

from seatunnel_core.clock import wall_clock
from seatunnel_core.reporting.counters import SAMPLE_S
from seatunnel_core.reporting.series import JobSeries
from seatunnel_core.runtime.pipeline_run import PipelineRun


class JobRecorder:
    """Recorder that adds a point to the job's metrics every ``SAMPLE_S`` seconds, and logs the job less often.

    A point is the sum of the last samples of all pipelines, so that even thousands of waiting pipelines cost almost
    nothing. ``runs`` may grow; ``log`` logs the job.
    """

    def __init__(self, runs: Sequence[PipelineRun], log: Callable[[], None]) -> None:
        self.series = JobSeries()
        self._runs = runs
        self._log = log

    def start(self, loop: asyncio.AbstractEventLoop, log_every_s: float) -> None:
        """Start recording, and log the job every ``log_every_s`` seconds."""
        self._loop = loop
        self._log_every_s = log_every_s
        self._sample()
        loop.call_later(self._log_every_s, self._log_now)

    def record(self) -> None:
        """Add a point now."""
        self.series.add(wall_clock(), {run.id: run.point for run in self._runs})

    def _sample(self) -> None:
        self.record()
        self._loop.call_later(SAMPLE_S, self._sample)

    def _log_now(self) -> None:
        self._log()
        self._loop.call_later(self._log_every_s, self._log_now)
