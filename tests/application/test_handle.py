"""What an application does with a job that runs, on the Spark session that it has already."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seatunnel_core as st
from seatunnel_core.spark.starting.java import find_java
from seatunnel_core.spark.starting.settings import cache_folder

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("handle"), pytest.mark.timeout(300)]

ROWS = 400


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    """A plain session, as a notebook has one, but for a JVM that compiles less; the jobs use it as it is."""
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patches:
        patches.setenv("PYSPARK_PYTHON", sys.executable)
        patches.setenv("JAVA_HOME", str(find_java(os.environ, cache_folder(os.environ)).home))
        settings = {
            "spark.ui.enabled": "false",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        }
        spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
        yield spark
        spark.stop()


@pytest.fixture
def engine(session: Any, tmp_path: Path) -> Path:
    """The engine's file of jobs that find the session."""
    file = tmp_path / "seatunnel.yaml"
    storage = f"{{type: hdfs, plugin-config: {{storage.type: local, namespace: {tmp_path}/checkpoints/}}}}"
    file.write_text(f"seatunnel: {{engine: {{checkpoint: {{storage: {storage}}}}}}}\n")
    return file


def held_job(folder: Path) -> st.Job:
    """Its tasks say that they have begun, and go on when the gate is there."""
    begun, gate = str(folder / "begun"), str(folder / "gate")

    def wait_at_the_gate(rows: pa.RecordBatch) -> pa.RecordBatch:
        import os
        import time

        if rows.num_rows:  # without rows it is asked for its columns only
            open(begun, "w").close()
            while not os.path.exists(gate):
                time.sleep(0.02)
        return rows

    job = st.Job("held", {"checkpoint.interval": 600_000, "parallelism": 1})
    numbers = job.source(
        "FakeSource",
        {"row.num": ROWS, "split.num": 2, "auto.increment.enabled": True},
        name="numbers",
        schema={"fields": {"id": "bigint"}},
    )
    rows = numbers.map_batches(wait_at_the_gate, name="gate")
    rows.sink("LocalFile", name="out", path=str(folder / "out"), file_format_type="parquet")
    return job


def until_a_task_runs(handle: st.JobHandle, folder: Path) -> None:
    while not (folder / "begun").exists():
        assert handle.wait(timeout=0.05) is None, "it ended before"


def interrupted_while_it_waits(handle: st.JobHandle) -> None:
    """Wait for the result, with a Ctrl-C as soon as the wait has begun."""
    waiting = threading.main_thread().ident
    assert waiting == threading.get_ident(), "signals reach the main thread"

    def interrupt() -> None:
        while "result" not in names_of_calls(sys._current_frames()[waiting]):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        handle.result()
    finally:
        thread.join()


def names_of_calls(frame: FrameType | None) -> list[str]:
    return [] if frame is None else [frame.f_code.co_name, *names_of_calls(frame.f_back)]


def published(folder: Path) -> list[int]:
    files = sorted((folder / "out").glob("*.parquet"))
    return sorted(value for file in files for value in pq.read_table(file, partitioning=None).column(0).to_pylist())


@pytest.mark.torture
def test_a_job_that_is_cancelled_without_a_checkpoint_stores_nothing_more(tmp_path: Path, engine: Path) -> None:
    with held_job(tmp_path).submit(engine_config=engine, job_id="held") as handle:
        until_a_task_runs(handle, tmp_path)
        stored = handle.checkpoints()
        report = handle.cancel(checkpoint=False)
        assert report is not None
        assert report.outcome is st.JobOutcome.STOPPED
        assert handle.checkpoints() == stored, "a clean stop takes one more"
        (metrics,) = handle.metrics().pipelines
        assert (metrics.name, metrics.phase, metrics.rows_committed) == ("numbers -> out", "stopped", 0)
    assert handle.cancel() == handle.cancel(checkpoint=False) == report, "there is nothing left to stop"
    with pytest.raises(st.UsageError, match="is not running"):
        handle.savepoint()
    assert_resumes(tmp_path, engine)


def test_an_interrupt_of_a_wait_for_the_result_stops_the_job_after_a_last_checkpoint(
    tmp_path: Path, engine: Path
) -> None:
    """Ctrl-C, and the stop button of a notebook."""
    with held_job(tmp_path).submit(engine_config=engine, job_id="held") as handle:
        until_a_task_runs(handle, tmp_path)
        stored = handle.checkpoints()
        with pytest.raises(KeyboardInterrupt):
            interrupted_while_it_waits(handle)
        report = handle.wait(timeout=0)
        assert report is not None
        assert report.outcome is st.JobOutcome.STOPPED
        assert len(handle.checkpoints()) == len(stored) + 1
    assert_resumes(tmp_path, engine)


def assert_resumes(folder: Path, engine: Path) -> None:
    """The job gives each row once when it is restored."""
    assert published(folder) == []
    (folder / "gate").touch()
    report = held_job(folder).run(engine_config=engine, restore="held")
    assert report.outcome is st.JobOutcome.FINISHED
    assert published(folder) == list(range(1, ROWS + 1))


def test_sql_sees_rows_by_the_name_of_their_node(tmp_path: Path, engine: Path, session: Any) -> None:
    (tmp_path / "cities.csv").write_text("city,inhabitants\nBerne,134794\nLima,10092000\n")
    job = st.Job("cities")
    cities = job.source(
        "LocalFile", name="cities", path=str(tmp_path / "cities.csv"), file_format_type="csv", csv_use_header_line=True
    )
    large = cities.sql(
        "SELECT upper(city) AS name, inhabitants DIV 1000 AS thousands FROM cities WHERE inhabitants > 1e6"
    )
    large.sink("LocalFile", path=str(tmp_path / "out"), file_format_type="parquet")
    assert job.run(engine_config=engine).outcome is st.JobOutcome.FINISHED
    (file,) = (tmp_path / "out").glob("*.parquet")
    assert pq.read_table(file).to_pylist() == [{"name": "LIMA", "thousands": 10092}]
    assert pa.types.is_int64(pq.read_schema(file).field("thousands").type)
    assert session.range(3).count() == 3, "the application's session is left open"
