"""The line that says, now and then, what the engine is busy with."""

import asyncio
import logging

import pytest
from attrs import define, evolve

from seatunnel_core.claiming.claim import Claim
from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.engine_options import PRINT_EXECUTION_INFO
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.reporting.execution_info import execution_info
from seatunnel_core.reporting.metrics import PipelineMetrics
from seatunnel_core.runtime.job_threads import JobThreads
from seatunnel_core.spark.backend import SparkBackend
from seatunnel_core.spark.starting.settings import SparkSettings

RUNNING = PipelineMetrics(
    id=1, name="a -> b", phase="running", units_in_flight=1_000, units_running=2, uncommitted=1, splits_done=7
)
STUCK = PipelineMetrics(id=2, name="c -> d", phase="running", degraded="nothing moves", units_in_flight=4)


@pytest.mark.parametrize(
    ("pipelines", "slots", "line"),
    [
        ((), None, "0 pipelines: none; 0 work units in flight, 0 running (Spark starts); 0 committables not published"),
        (
            (RUNNING, STUCK, RUNNING),
            8,
            "3 pipelines: 1 degraded, 2 running; 2,004 work units in flight, 4 running (8 slots); 2 committables not "
            "published",
        ),
    ],
)
def test_the_line(pipelines: tuple[PipelineMetrics, ...], slots: int | None, line: str) -> None:
    assert execution_info(pipelines, slots) == line


@define
class PlannedNothing:
    manifest: Manifest | None = None


class Heard(logging.Handler):
    """Two lines of the log."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.twice = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{vars(record)['job']}: {record.getMessage()}")
        if len(self.lines) == 2:
            self.twice.set()


def test_it_is_said_again_and_again(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "seatunnel")
    threads = JobThreads(
        job_id="night",
        claim=Claim(version=1, job=PlannedNothing()),  # type: ignore[arg-type]
        engine=evolve(load_engine(environment={"HOME": "/"}), options={PRINT_EXECUTION_INFO: 0.01}),  # type: ignore[arg-type]
        storage=None,  # type: ignore[arg-type]
        backend=SparkBackend(SparkSettings()),
        on_begun=None,
        on_end=print,
        restored=False,
    )
    heard = Heard()
    logging.getLogger("seatunnel").addHandler(heard)
    try:
        threads._recorder.start(threads._loop, threads._engine.options[PRINT_EXECUTION_INFO])
        threads._loop.run_until_complete(asyncio.wait_for(heard.twice.wait(), 60))
    finally:
        logging.getLogger("seatunnel").removeHandler(heard)
        threads._loop.close()
    assert heard.lines == [f"night: {execution_info((), None)}"] * 2
