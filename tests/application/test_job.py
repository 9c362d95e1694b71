"""Jobs from Python: built, run, stopped, resumed and refused."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

import seatunnel_core as st
from tests.runtime.command import engine_file

CITIES = "city,country,inhabitants\nBerne,Switzerland,134794\nLima,Peru,10092000\nGaborone,Botswana,246325\n"
SCHEMA = {"fields": {"city": "string", "country": "string", "inhabitants": "bigint"}}


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    return engine_file(tmp_path)


def cities_job(folder: Path, **options: Any) -> tuple[st.Job, Path]:
    (folder / "cities.csv").write_text(CITIES)
    job = st.Job("cities", {"checkpoint.interval": 500})
    rows = job.source(
        "LocalFile",
        name="cities",
        path=str(folder / "cities.csv"),
        file_format_type="csv",
        csv_use_header_line=True,
        schema=SCHEMA,
        **options,
    )
    rows.sink("LocalFile", name="out", path=str(folder / "out"), file_format_type="parquet")
    return job, folder / "out"


def rows_in(folder: Path) -> list[dict[str, Any]]:
    tables = [pq.read_table(file, partitioning=None) for file in sorted(folder.glob("*.parquet"))]
    return pa.concat_tables(tables).to_pylist() if tables else []


@pytest.mark.spark
@pytest.mark.xdist_group("jobs of Python")
def test_job_runs_and_reports(tmp_path: Path, engine: Path) -> None:
    job, out = cities_job(tmp_path)
    with job.submit(engine_config=engine, master="local[2]", job_id="first") as handle:
        report = handle.result()
        assert_metrics_are_what_lies_there(handle, tmp_path / "cities.csv", out)
    assert report.outcome is st.JobOutcome.FINISHED
    assert [(view.name, view.rows_committed) for view in report.pipelines] == [("cities -> out", 3)]
    assert sorted(row["city"] for row in rows_in(out)) == ["Berne", "Gaborone", "Lima"]
    assert not list(out.rglob(".seatunnel"))


def assert_metrics_are_what_lies_there(handle: st.JobHandle, read: Path, out: Path) -> None:
    """Each figure against one that was counted without us: lines of the file, sizes of files, stored checkpoints."""
    written = sum(file.stat().st_size for file in out.glob("*.parquet"))
    (metrics,) = handle.metrics().pipelines
    assert (metrics.rows_read, metrics.bytes_read) == (len(read.read_text().splitlines()) - 1, read.stat().st_size)
    assert (metrics.rows_written, metrics.rows_committed, metrics.rows_skipped) == (3, len(rows_in(out)), 0)
    assert (metrics.bytes_written, metrics.bytes_committed) == (written, written)
    assert (metrics.units_in_flight, metrics.units_running, metrics.uncommitted) == (0, 0, 0)
    assert (metrics.checkpoints_failed, metrics.checkpoints_pending, metrics.restores) == (0, 0, 0)
    assert metrics.failures == {}
    assert metrics.checkpoints_completed == metrics.checkpoint_commit.times > 0
    assert metrics.checkpoint_bytes_total >= metrics.checkpoint_bytes > 0
    last = max(handle.checkpoints(), key=lambda info: info.checkpoint_id)
    assert (metrics.last_checkpoint_id, metrics.epoch) == (last.checkpoint_id, last.epoch)
    samples = {
        sample.name: sample.value
        for family in text_string_to_metric_families(handle.open_metrics())
        for sample in family.samples
        if sample.labels.get("job_id") == "first"
    }
    assert (samples["SourceReceivedCount_total"], samples["SourceReceivedBytes_total"]) == (3, read.stat().st_size)
    assert (samples["SinkCommittedCount_total"], samples["SinkCommittedBytes_total"]) == (3, written)


@pytest.mark.spark
@pytest.mark.xdist_group("jobs of Python")
@pytest.mark.usefixtures("one_spark_for_all")
class TestOnASession:
    """That of the application, so that Spark starts once; the job before this has one of its own."""

    def test_finished_job_moves_nothing_when_it_is_restored(self, tmp_path: Path, engine: Path) -> None:
        job, out = cities_job(tmp_path)
        job.run(engine_config=engine, job_id="first")
        report = job.run(engine_config=engine, restore="first")
        assert report.ended_before
        assert report.pipelines[0].rows_committed == 3
        assert len(rows_in(out)) == 3

    def test_stopped_job_goes_on_where_it_was(self, tmp_path: Path, engine: Path) -> None:
        def job(pause_ms: int) -> st.Job:
            slow = st.Job("slow", {"checkpoint.interval": 60_000, "parallelism": 1})
            rows = slow.source(
                "FakeSource",
                {"row.num": 400, "split.num": 8, "split.read-interval": pause_ms},
                name="numbers",
                schema={"fields": {"number": "bigint", "word": "string"}},
            )
            rows.sink("LocalFile", name="out", path=str(tmp_path / "out"), file_format_type="parquet")
            return slow

        with job(1_500).submit(engine_config=engine, job_id="slow") as handle:
            assert handle.wait(timeout=0.1) is None
            while not handle.checkpoints():
                handle.wait(timeout=0.05)
            report = handle.cancel()
        assert report is not None
        assert report.outcome is st.JobOutcome.STOPPED
        report = job(100).run(engine_config=engine, restore="slow")
        assert report.outcome is st.JobOutcome.FINISHED
        assert len(rows_in(tmp_path / "out")) == 400

    def test_failed_pipeline_is_named_with_file_line_and_column(self, tmp_path: Path, engine: Path) -> None:
        job, out = cities_job(tmp_path)
        (tmp_path / "cities.csv").write_text(CITIES + "Atlantis,Ocean,many\n")
        with pytest.raises(st.JobFailedError, match=r"pipeline 1 .*cities\.csv.*line 5.*inhabitants") as caught:
            job.run(engine_config=engine)
        assert "Traceback" not in str(caught.value)
        assert rows_in(out) == []


def test_unknown_id_cannot_be_restored(tmp_path: Path, engine: Path) -> None:
    job, _ = cities_job(tmp_path)
    with pytest.raises(st.UsageError, match="there is no job nobody"):
        job.run(engine_config=engine, restore="nobody")


def test_two_ids_are_refused(tmp_path: Path, engine: Path) -> None:
    job, _ = cities_job(tmp_path)
    with pytest.raises(st.UsageError, match="pass only one of them"):
        job.submit(engine_config=engine, job_id="a", restore="b")


def test_names_are_unique() -> None:
    job = st.Job("twice")
    job.source("FakeSource", name="rows")
    with pytest.raises(st.UsageError, match="two nodes of the job 'twice' are named 'rows'"):
        job.source("FakeSource", name="rows")


def test_rows_of_another_job_are_refused() -> None:
    rows = st.Job("one").source("FakeSource")
    other = st.Job("other").source("FakeSource")
    with pytest.raises(st.UsageError, match="reads from a node of another job"):
        rows.sink("Console", {}, other)


def test_wrong_option_is_found_before_anything_starts(tmp_path: Path, engine: Path) -> None:
    job, _ = cities_job(tmp_path, parallelism="many")
    with pytest.raises(st.ConfigError, match="parallelism"):
        job.run(engine_config=engine)
    assert not (tmp_path / "checkpoints").exists()


@pytest.mark.torture
@pytest.mark.spark
def test_the_page_about_it_runs(tmp_path: Path) -> None:
    (tmp_path / "cities.csv").write_text(CITIES)
    assert run_page("python", tmp_path) == "finished [('cities -> out', 3)]"
    assert sorted(row["city"] for row in rows_in(tmp_path / "output" / "cities")) == ["BERNE", "GABORONE", "LIMA"]


@pytest.mark.torture
@pytest.mark.spark
def test_tables_in_memory_go_through_spark_and_back_as_the_page_says(tmp_path: Path) -> None:
    small = [{"city": "BERNE", "inhabitants": 134_794}, {"city": "GABORONE", "inhabitants": 246_325}]
    assert run_page("memory", tmp_path) == str(small)


@pytest.mark.torture
@pytest.mark.spark
def test_rows_of_python_go_through_spark_as_the_page_says(tmp_path: Path) -> None:
    assert run_page("rows", tmp_path) == "2"
    (written,) = (tmp_path / "output" / "rows").glob("*.json")
    assert sorted(map(json.loads, written.read_text().splitlines()), key=str) == [
        {"city": "Berne", "inhabitants": 134794},
        {"city": "Lima", "inhabitants": None},
    ]


@pytest.mark.torture
@pytest.mark.spark
def test_a_function_is_a_source_as_the_page_says(tmp_path: Path) -> None:
    assert run_page("source", tmp_path) == "6"
    lines = [line for file in (tmp_path / "output" / "sales").glob("*.json") for line in file.read_text().splitlines()]
    assert sorted((row["month"], row["number"]) for row in map(json.loads, lines)) == [
        (f"2024-0{month}", number) for month in (1, 2, 3) for number in (10, 11)
    ]


@pytest.mark.torture
@pytest.mark.spark
def test_a_function_is_a_transform_as_the_page_says(tmp_path: Path) -> None:
    assert run_page("transform", tmp_path) == "1"
    (written,) = (tmp_path / "output" / "sizes").glob("*.json")
    assert json.loads(written.read_text()) == {"city": "Berne", "size": "small"}


@pytest.mark.torture
@pytest.mark.spark
def test_the_example_with_all_names_runs(tmp_path: Path) -> None:
    assert run_page("names", tmp_path).splitlines() == ["before-2.0 numbers -> out True", "True 200"]


PAGE = Path(__file__).parents[2] / "docs" / "start" / "python-api.md"


def test_each_public_name_has_an_example_that_runs() -> None:
    examples = "".join(re.findall(r"<!-- run: \w+ -->\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL))
    assert set(re.findall(r"\bst\.(\w+)", examples)) == set(st.__all__)
    assert len(st.__all__) <= 20


def run_page(block: str, folder: Path) -> str:
    """What a block of the page prints."""
    script = re.search(rf"<!-- run: {block} -->\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert script is not None
    (folder / "page.py").write_text(script[1])
    done = subprocess.run(
        [sys.executable, "page.py"],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
