"""Facts of readers (R17) in whole jobs: no crash loses or repeats one."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow.dataset
import pytest

from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.job_file import load_job
from seatunnel_core.config.variables import Variables
from seatunnel_core.connector_api.sink import Guarantee
from seatunnel_core.connector_api.source import PlanningContext, PollCursor, PollResult
from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.console import ConsoleSink
from seatunnel_core.errors import JobError, SourceError
from seatunnel_core.job.restoring import Restore
from seatunnel_core.planning.plan import PlannedPipeline, PlannedSink, PlannedSource
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.reporting.report import JobOutcome
from seatunnel_core.runtime.job_run import JobRun
from seatunnel_core.runtime.source_io import SourceIO
from seatunnel_storage_api.memory import MemoryStorage
from tests.runtime.command import engine_file, job, parquet_sink, published
from tests.runtime.ground import OLD, WAIT_S, Ground, committed, ground_in, kill, until
from tests.runtime.reporting import LOG, Chunks, Registry, Silent

CHUNKS = 60
ENV = "job.mode = BATCH, parallelism = 2, checkpoint.interval = 20, job.retry.times = 0, read_limit.rows_per_second = "


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    with ground_in(tmp_path) as made:
        yield made


def run(ground: Ground, *, in_order: bool, rows_per_second: int, restore: Restore | None = None) -> JobRun:
    source = f"Chunks {{ plugin_output = chunks, chunks = {CHUNKS}, in_order = {str(in_order).lower()} }}"
    text = job(f"{ENV}{rows_per_second}", [source], [parquet_sink("chunks", ground.work / "out")])
    return ground.run(text, restore=restore, registry=Registry())


@pytest.mark.parametrize("in_order", [False, True])
def test_each_chunk_is_followed_by_its_log_once(ground: Ground, in_order: bool) -> None:
    """Whenever the job is killed, the log begins where the published reading of the chunk ended."""
    restore = None
    for rows in (15, 40, 70, 100):
        with run(ground, in_order=in_order, rows_per_second=100, restore=restore) as killed:
            killed.start()
            until(lambda: committed(killed) >= rows, killed)  # noqa: B023
            kill(killed)
        restore = Restore(OLD)
    with run(ground, in_order=in_order, rows_per_second=100_000, restore=restore) as last:
        last.start()
        report = last.wait(WAIT_S)  # The source has no more data, so the job finishes.
    assert report is not None
    assert report.outcome is JobOutcome.FINISHED, report
    table = pyarrow.dataset.dataset(published(ground.work / "out"), format="parquet").to_table()
    found = sorted(zip(*(table.column(name).to_pylist() for name in ("id", "position")), strict=True))
    assert [number for number, _ in found] == [*range(CHUNKS), *range(LOG, LOG + CHUNKS)]
    positions = [position for _, position in found]
    assert positions[:CHUNKS] == positions[CHUNKS:], "the facts are those of the readings that were published"


def test_a_restored_source_that_takes_no_facts_any_more_is_refused() -> None:
    """Without them it would continue from the wrong place."""
    facts = ({"chunk": 1, "position": 7},)
    with pytest.raises(SourceError, match=r"readers of the source 'in', but Silent does not implement absorb: resume"):
        source_io(Silent).poll("in", {}, facts)
    assert source_io(Silent).poll("in", {}, ()).again_ms == 20
    assert source_io(Chunks).poll("in", {}, facts).cursor["positions"] == {"1": 7}


class Seen(Chunks):
    """Keeps what its polls know of the job."""

    def poll(self, cursor: PollCursor, planning: PlanningContext) -> PollResult:
        self.planning = planning
        return super().poll(cursor, planning)


@pytest.mark.parametrize("guarantee", Guarantee)
def test_polls_know_whether_a_sink_writes_directly(guarantee: Guarantee) -> None:
    """Its target may then have rows that no checkpoint contains."""
    sink = ConsoleSink(options_of(ConsoleSink, {}))
    sink.guarantee = guarantee
    made = source_io(Seen, PlannedSink(name="out", ordinal=0, sink=sink, inputs=("in",)))
    made.poll("in", {}, ())
    planning = made.planned.sources[0].source.planning  # type: ignore[attr-defined]
    assert planning.writes_directly == (guarantee is not Guarantee.EXACTLY_ONCE)
    assert planning.job_id == "job"


def source_io(kind: type[Chunks], *sinks: PlannedSink) -> SourceIO:
    source = PlannedSource(name="in", ordinal=0, source=kind(options_of(kind, {"chunks": 9})), parallelism=1)
    return SourceIO(
        job_id="job",
        planned=PlannedPipeline(id=1, sources=(source,), transforms=(), sinks=sinks),
        storage=MemoryStorage(),
        backend=None,  # type: ignore[arg-type]
        upstream=None,  # type: ignore[arg-type]
    )


def test_a_dataframe_transform_of_such_a_source_is_refused(tmp_path: Path) -> None:
    """The facts would be lost on its way."""
    sql = 'SparkSql { plugin_input = [chunks], plugin_output = changed, query = "SELECT id FROM chunks" }'
    with pytest.raises(JobError) as raised:
        planned(tmp_path, sql)
    assert str(raised.value) == (
        "the transform 'changed' runs on Spark's DataFrames and cannot be used with the source 'chunks': readers "
        "report their progress to this source, but a DataFrame passes only rows. Use the Sql or Python transform, "
        "or transform the rows in a second job"
    )
    planned(tmp_path, sql.replace("SparkSql", "Sql"))


def planned(folder: Path, transform: str) -> None:
    text = job(
        "job.mode = BATCH", ["Chunks { plugin_output = chunks, chunks = 9 }"], ["Console { plugin_input = [changed] }"]
    )
    (folder / "job.conf").write_text(f"{text}\ntransform {{ {transform} }}\n", "utf-8")
    raw = load_job(folder / "job.conf", Variables({}, {}))
    plan_job(raw, Registry(), load_engine(engine_file(folder)))
