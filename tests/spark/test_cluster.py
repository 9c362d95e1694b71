"""A Spark standalone cluster on loopback, from the pyspark wheel: a master and two workers.

The workers' Python has pyarrow and none of our packages, and nothing of what those need.
"""

import os
import socket
import sys
import sysconfig
import threading
import time
import venv
from collections.abc import Callable, Iterator
from pathlib import Path

import pyspark
import pytest
from attrs import evolve
from watched import Numbers, numbers_chain, numbers_unit, staged_numbers

from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.errors import PlatformError
from seatunnel_core.reporting.report import JobOutcome
from seatunnel_core.spark import shipping
from seatunnel_core.spark.backend import SparkBackend
from seatunnel_core.spark.dispatch import UnitDispatcher
from seatunnel_core.spark.shipping import WAIT_OPTION
from seatunnel_core.spark.starting.settings import SparkSettings
from seatunnel_core.spark.work import UnitResult
from seatunnel_core.work.unit import UnitAttempt
from tests.figures import Figure
from tests.runtime.command import Command, column, job, parquet_sink, published, staged
from tests.servers.standalone_spark import standalone_spark
from tests.torture.process import Seen, processes

pytestmark = pytest.mark.cluster


def bare_python(folder: Path, *packages: str) -> Path:
    """A virtual environment that has the packages, linked from ours, and nothing else."""
    venv.create(folder, with_pip=False, symlinks=True)
    paths = {"base": str(folder), "platbase": str(folder)}
    theirs = Path(sysconfig.get_path("platlib", vars=paths))
    ours = Path(pyspark.__file__).parent.parent
    for package in packages:
        (theirs / package).symlink_to(ours / package)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with standalone_spark(tmp_path_factory.mktemp("cluster"), {"one": 1, "two": 1}) as url:
        yield url


def settings(master: str, python: Path, cache: Path) -> SparkSettings:
    return SparkSettings(
        options={
            "spark.master": master,
            "spark.pyspark.python": str(python),
            "spark.executor.memory": "512m",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
        },
        cache=cache,
    )


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def wait_for_both_workers(backend: SparkBackend) -> None:
    """A backend starts with the first executor; on a busy machine that one can have done everything before the second
    has started."""
    wait_until(lambda: backend.context._jsc.sc().getExecutorMemoryStatus().size() == 3)  # the driver is one of them


def test_executors_that_know_nothing_of_us_run_our_units(master: str, tmp_path: Path) -> None:
    backend = SparkBackend(settings(master, bare_python(tmp_path / "bare", "pyarrow", "numpy", "numpy.libs"), tmp_path))
    backend.start()
    try:
        assert not backend.shares_disk
        assert backend.slots == 2
        wait_for_both_workers(backend)
        planning = PlanningContext(parallelism=2)
        inspected = backend.inspect(Numbers(), [{"name": str(number)} for number in range(8)], planning)
        assert len({item["pid"] for item in inspected}) >= 2, "one executor did everything"
        assert os.getpid() not in {item["pid"] for item in inspected}
        dispatcher, results = UnitDispatcher(backend), list[UnitResult]()
        chain = numbers_chain(tmp_path)
        for number in range(1, 7):
            unit = numbers_unit(number, number * 10, number * 10 + 10)
            dispatcher.submit(chain, UnitAttempt(unit=unit, epoch=100_000, number=1), results.append)
        wait_until(lambda: len(results) == 6)
        dispatcher.close()
        assert [result.failure for result in results] == [None] * 6
        committables = [result.committables["folder"] for result in results]
        assert staged_numbers(tmp_path, committables) == list(range(10, 70))
    finally:
        backend.stop()


def test_jobs_of_one_process_share_what_is_shipped(master: str, tmp_path: Path) -> None:
    """Each backend shipped an archive of its own under the same name, which the executors refused: a second job of a
    process failed, beside the first and after it. The session here is the application's, which outlives both."""
    wanted = settings(master, bare_python(tmp_path / "bare", "pyarrow", "numpy", "numpy.libs"), tmp_path)
    application = SparkBackend(wanted)
    application.start()
    try:
        for folder in ("first", "second"):
            (tmp_path / folder).mkdir()
            backend = SparkBackend(wanted)
            backend.start()
            dispatcher, results = UnitDispatcher(backend), list[UnitResult]()
            dispatcher.submit(
                numbers_chain(tmp_path / folder),
                UnitAttempt(unit=numbers_unit(1, 0, 10), epoch=1000, number=1),
                results.append,
            )
            wait_until(lambda results=results: results)  # type: ignore[misc]
            dispatcher.close()
            backend.stop()
            assert [result.failure for result in results] == [None]
            assert staged_numbers(tmp_path / folder, [results[0].committables["folder"]]) == list(range(10))
    finally:
        application.stop()


def test_a_cluster_is_asked_once_for_all_jobs_on_a_backend(
    master: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list of imports, the shipment and the probe cost 2.6 s, and each job paid for them."""
    from tests.spark.hosted import csv_to_parquet, run_of  # not for the tasks, which import this module

    backend = SparkBackend(settings(master, bare_python(tmp_path / "bare", "pyarrow", "numpy", "numpy.libs"), tmp_path))
    backend.start()
    try:
        with run_of(csv_to_parquet(tmp_path, "first"), tmp_path, backend, "first") as run:
            run.start()
            assert run.wait(120) is not None
        for name in ("imports_of", "wait_for_executors", "probe_executors", "write_archive"):
            monkeypatch.setattr(shipping, name, None)
        names = ["second", "third", "fourth"]
        runs = [run_of(csv_to_parquet(tmp_path, name), tmp_path, backend, name) for name in names]
        for run in runs:
            run.start()
        reports = [run.wait(120) for run in runs]
        for run in runs:
            run.close()
        assert [report and report.outcome for report in reports] == [JobOutcome.FINISHED] * 3
        for name in ["first", *names]:
            assert column(tmp_path / name, "id") == list(range(100))
    finally:
        backend.stop()


def test_an_executor_without_pyarrow_is_named_with_the_pip_line(master: str, tmp_path: Path) -> None:
    python = bare_python(tmp_path / "bare")
    backend = SparkBackend(settings(master, python, tmp_path))
    with pytest.raises(PlatformError) as caught:
        backend.start()
    said = str(caught.value)
    assert f"node {socket.gethostname()}: its Python {python} cannot import pyarrow" in said
    assert f"{python} -m pip install pyarrow" in said
    assert sys.executable not in said


class NumbersByPandas(Numbers):
    """Says that its tasks import what the workers' Python has not got."""

    task_modules = ("pandas",)


@pytest.mark.twin
def test_an_executor_without_what_a_plugin_declares_is_named_with_the_plugin(master: str, tmp_path: Path) -> None:
    python = bare_python(tmp_path / "bare", "pyarrow", "numpy", "numpy.libs")
    backend = SparkBackend(settings(master, python, tmp_path))
    backend.start()
    try:
        with pytest.raises(PlatformError) as caught:
            backend.inspect(NumbersByPandas(), [{"name": "0"}], PlanningContext(parallelism=2))
    finally:
        backend.stop()
    assert "cannot import pandas, which the source Numbers needs" in str(caught.value)
    assert f"{python} -m pip install pandas" in str(caught.value)


FILES, ROWS_EACH = 40, 250


def csv_source(folder: Path) -> str:
    """Ten thousand ids in forty files."""
    folder.mkdir()
    for number in range(FILES):
        first = number * ROWS_EACH + 1
        lines = (f"{row},text {row}\n" for row in range(first, first + ROWS_EACH))
        (folder / f"{number:02}.csv").write_text("".join(lines), "utf-8")
    return f"""
  LocalFile {{
    plugin_output = ids, path = "{folder}", file_format_type = csv
    schema {{ fields {{ id = bigint, text = string }} }}
  }}"""


def executors() -> list[Seen]:
    """What the workers, which run in the session of this process, have started and what runs still."""
    return [seen for seen in processes(os.getsid(0)) if "CoarseGrainedExecutorBackend" in seen.command]


@pytest.mark.timeout(600)
def test_a_whole_job_whose_driver_is_killed_in_the_middle_goes_on(master: str, tmp_path: Path, figure: Figure) -> None:
    """By the command, with files on the disk that the driver and the workers share. The resumed job needs the cores
    that the killed one had: the master takes them back as soon as the driver's connection ends."""
    python = bare_python(tmp_path / "bare", "pyarrow", "numpy", "numpy.libs")
    options = [f'{key} = "{value}"' for key, value in settings(master, python, tmp_path).options.items()]
    env = ", ".join(["job.mode = BATCH, checkpoint.interval = 500, read_limit.rows_per_second = 1000", *options])
    target = tmp_path / "out"
    command = Command.of(tmp_path / "job", job(env, [csv_source(tmp_path / "in")], [parquet_sink("ids", target)]))

    engine = command.begin("-m", master)
    wait_until(lambda: len(published(target)) >= 2 or engine.exit_code is not None)
    assert engine.exit_code is None, engine.output
    of_the_killed = {seen.pid for seen in executors()}
    engine.kill()
    killed_at = time.monotonic()
    before = len(column(target, "id"))
    assert 0 < before < FILES * ROWS_EACH

    resumed = command.resume("-m", master)
    wait_until(lambda: not of_the_killed & {seen.pid for seen in executors()})
    given_back_s = time.monotonic() - killed_at
    assert resumed.wait(300) == 0, resumed.output
    assert column(target, "id") == list(range(1, FILES * ROWS_EACH + 1))
    assert not staged(target)
    assert not engine.left_over()
    assert not resumed.left_over()
    figure(f"killed after {before:,} rows; executors were gone {given_back_s:.1f} s after the driver")


def end_the_application(backend: SparkBackend) -> None:
    """What happens when the master is lost, or somebody ends the application on its page."""
    wait_until(lambda: backend._pickles._shipment is not None)
    backend.context._jsc.sc().stop()


@pytest.mark.twin
@pytest.mark.timeout(600)
def test_a_cluster_that_gives_no_executor_is_waited_for_as_long_as_the_option_says(
    master: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A resumed job gave up after a minute, while the executors of a busy cluster were starting."""
    wanted = settings(master, bare_python(tmp_path / "bare"), tmp_path)
    too_much = {"spark.executor.memory": "64g", WAIT_OPTION: "12s"}
    backend = SparkBackend(evolve(wanted, options={**wanted.options, **too_much}))
    with pytest.raises(
        PlatformError, match=rf"provided no executor within 12 s\. .*spark\.executor\.memory.*{WAIT_OPTION}"
    ):
        backend.start()
    assert f"no executor yet from the cluster at {master}; waiting up to 12 s" in caplog.text

    backend = SparkBackend(evolve(wanted, options={**wanted.options, **too_much, WAIT_OPTION: "10min"}))
    thread = threading.Thread(target=end_the_application, args=[backend])
    thread.start()
    with pytest.raises(PlatformError, match=f"the cluster at {master} ended the application"):
        backend.start()
    thread.join()

    backend = SparkBackend(evolve(wanted, options={**wanted.options, **too_much, WAIT_OPTION: "10min"}))
    timer = threading.Timer(1, backend.give_up)
    timer.start()
    begun = time.monotonic()
    with pytest.raises(PlatformError, match="provided no executor before the job was stopped"):
        backend.start()
    assert time.monotonic() - begun < 300
    timer.join()
