"""A job in a notebook: progress in one place, the stop button, and a kernel that goes on."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.application.kernels import Kernel, Ran, a_kernel
from tests.runtime.command import engine_file

pytestmark = [pytest.mark.notebook, pytest.mark.xdist_group("notebook")]

ROWS = 600

BUILT = """
import seatunnel_core as st

def slow(wait_ms):
    job = st.Job("<b>slow</b>", {{"checkpoint.interval": 300, "parallelism": 1}})
    numbers = job.source(
        "FakeSource",
        {{"row.num": {rows}, "split.num": 12, "split.read-interval": wait_ms, "auto.increment.enabled": True}},
        name="<i>numbers</i>",
        schema={{"fields": {{"id": "bigint"}}}},
    )
    numbers.sink("LocalFile", name="out", path="{folder}/out", file_format_type="parquet")
    return job
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("nb")


@pytest.fixture(scope="module")
def kernel(folder: Path) -> Iterator[Kernel]:
    pytest.importorskip("ipykernel", reason="pip install '.[notebook]'")
    engine_file(folder)
    with a_kernel(folder) as running:
        assert running.run(BUILT.format(folder=folder, rows=ROWS)).error == ""
        yield running


def published(folder: Path) -> list[int]:
    files = sorted((folder / "out").glob("*.parquet"))
    return sorted(value for file in files for value in pq.read_table(file, partitioning=None).column("id").to_pylist())


def test_a_job_shows_itself_in_one_place_until_it_ends(kernel: Kernel, folder: Path) -> None:
    cell = "report = slow(200).run(job_id='first', master='local[2]', engine_config='seatunnel.yaml')"
    done = kernel.run(cell)
    assert done.error == ""
    assert done.printed == ""
    assert len(done.outputs) == 1
    assert len(done.updates) > 3
    assert "&lt;b&gt;slow&lt;/b&gt; (first) running" in done.updates[1]["text/html"]
    assert "&lt;i&gt;numbers&lt;/i&gt; -&gt; out" in done.updates[1]["text/html"]
    assert "(first) finished in" in done.html[0]
    assert f"{ROWS} rows read, {ROWS} committed" in done.html[0]
    assert not any("<b>" in update["text/html"] or "<script" in update["text/html"] for update in done.updates)
    assert published(folder) == list(range(1, ROWS + 1))


def test_what_a_cell_gives_is_a_table_and_without_progress_nothing_more(kernel: Kernel) -> None:
    cell = "slow(0).run(job_id='second', master='local[2]', engine_config='seatunnel.yaml', progress=False)"
    done = kernel.run(cell)
    assert done.error == ""
    (output,) = done.outputs
    assert output["text/html"].count("<table") == 1
    assert output["text/plain"].startswith("<JobReport '<b>slow</b>' (second) finished in")
    assert kernel.run("slow(0)").html[0].count("<tr>") == 3


def test_a_report_is_shown_once_however_the_cell_ends(kernel: Kernel) -> None:
    """A cell that ended with `run` showed the report below the last picture of the progress, and so twice."""
    run = "slow(0).run(job_id='{}', master='local[2]', engine_config='seatunnel.yaml')"
    given = kernel.run(run.format("given"))
    assert given.error == ""
    assert len(given.outputs) == 1
    assert given.html[0].count("<table") == 1
    assert "(given) finished in" in given.html[0]
    kept = kernel.run(f"report = {run.format('kept')}\nreport")
    assert len(kept.outputs) == 1
    assert "(kept) finished in" in kept.html[0]
    (again,) = kernel.run("report").outputs
    assert again["text/html"].count("<table") == 1
    other = kernel.run("list(map(type, [report]))[0].__name__")
    assert other.outputs[0]["text/plain"] == "'JobReport'"


def test_the_stop_button_stops_the_job_and_the_same_cell_goes_on(kernel: Kernel, folder: Path) -> None:
    for file in (folder / "out").glob("*.parquet"):
        file.unlink()
    pressed: list[Ran] = []

    def press(so_far: Ran) -> None:
        if not pressed and "committed" in so_far.html[0] and ">0/12<" not in so_far.html[0]:
            pressed.append(so_far)
            kernel.interrupt()

    cell = "slow(400).run({which}='third', master='local[2]', engine_config='seatunnel.yaml')"
    stopped = kernel.run(cell.format(which="job_id"), watch=press)
    assert pressed
    assert stopped.error == "KeyboardInterrupt"
    assert "(third) stopped in" in stopped.html[0]
    assert "job.run(restore=&#x27;third&#x27;)" in stopped.html[0]
    assert kernel.run("6 * 7").outputs[0]["text/plain"] == "42"
    assert len(published(folder)) < ROWS
    done = kernel.run(cell.format(which="restore").replace("400", "0"))
    assert done.error == ""
    assert published(folder) == list(range(1, ROWS + 1))


def test_a_cell_is_run_twice_on_the_session_of_the_notebook(kernel: Kernel) -> None:
    session = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
before = spark.sparkContext.applicationId
"""
    assert kernel.run(session).error == ""
    for _ in range(2):
        done = kernel.run("slow(0).run(engine_config='seatunnel.yaml').outcome.value")
        assert done.error == ""
        assert done.outputs[-1]["text/plain"] == "'finished'"
    after = kernel.run("spark.range(3).count(), spark.sparkContext.applicationId == before")
    assert after.outputs[0]["text/plain"] == "(3, True)"


def test_an_error_is_shown_without_our_frames(kernel: Kernel) -> None:
    cell = """
def bad(rows):
    raise ValueError("<b>no</b>")

job = st.Job("bad")
rows = job.source("FakeSource", name="in", schema={"fields": {"id": "bigint"}})
rows.map_batches(bad, name="bad").collect(name="out")
job.run(master="local[2]", engine_config="seatunnel.yaml")
"""
    failed = kernel.run(cell)
    assert failed.error == "JobFailedError"
    assert "job.run(master" in failed.traceback
    assert "__main__:bad failed with ValueError: <b>no</b>" in failed.traceback
    assert "seatunnel_core/" not in failed.traceback
    assert "IPython" not in failed.traceback
    assert "ValueError: &lt;b&gt;no&lt;/b&gt;" in failed.html[0]
