"""A folder in which real jobs run, die and are restored, with tasks in this process: for tests that need many jobs."""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from attrs import frozen

from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.job_file import load_job
from seatunnel_core.config.variables import Variables
from seatunnel_core.inspector import find_garbage, remove, survey
from seatunnel_core.job.restoring import ChosenCheckpoint
from seatunnel_core.registry import lookup
from seatunnel_core.reporting.report import JobOutcome, JobReport
from seatunnel_core.runtime import job_run
from seatunnel_core.runtime.job_run import JobRun
from seatunnel_storage_api import lineage
from seatunnel_storage_api.discovery import open_storage
from tests.runtime.command import Command, column, fake_source, job, parquet_sink
from tests.runtime.in_process import InProcessBackend

ROWS = 600
ALL = list(range(1, ROWS + 1))
OLD, NEW = "old-job", "new-job"
WAIT_S = 120


@frozen(kw_only=True)
class Ground:
    """One folder in which jobs run, again and again from the same beginnings."""

    folder: Path
    kept: Path
    """By way to die: what such a job left."""

    @property
    def work(self) -> Path:
        return self.folder / "work"

    def tables(self, *names: str, parallelism: int = 1, rows_per_second: int | None = 400) -> str:
        limit = "" if rows_per_second is None else f", read_limit.rows_per_second = {rows_per_second}"
        env = f"job.mode = BATCH, checkpoint.interval = 40, job.retry.times = 0{limit}"
        sources = [
            fake_source(name, rows=ROWS, splits=60).replace("parallelism = 1", f"parallelism = {parallelism}")
            for name in names
        ]
        return job(env, sources, [parquet_sink(name, self.work / "out" / name) for name in names])

    def run(self, text: str, job_id: str = OLD, **how: object) -> JobRun:
        """A job that is about to start."""
        command = Command.of(self.work, text)
        engine = load_engine(command.folder / "seatunnel.yaml")
        raw = load_job(command.folder / "job.conf", Variables({}, {}))
        return JobRun(raw, engine, job_id=job_id, **{"registry": lookup, **how})  # type: ignore[arg-type]

    def rows(self, table: str) -> list[int]:
        return column(self.work / "out" / table, "id")

    def collect_garbage(self) -> None:
        with open_storage("hdfs", {"namespace": f"{self.work}/state/"}) as storage:
            remove(storage, find_garbage(storage, survey(storage), older_than_s=0).garbage)

    def older(self) -> ChosenCheckpoint:
        """The oldest checkpoint of the first pipeline that can be gone back to."""
        with open_storage("hdfs", {"namespace": f"{self.work}/state/"}) as storage:
            infos = storage.list_checkpoints(OLD, 1)
        alive = [info.ref for info in infos if info.ref in lineage.live(infos)]
        assert len(alive) > 1, "there is nothing older"
        return ChosenCheckpoint.parse(f"1:{alive[0]}")

    def begin(self, died: str) -> None:
        """What such a job left; runs it when it was never run."""
        shutil.rmtree(self.work, ignore_errors=True)
        kept = self.kept / died
        if not kept.exists():
            for rows_per_second in (400, 100, 25):  # a machine that is busy may come to the end before it is stopped
                shutil.rmtree(self.work, ignore_errors=True)
                self.work.mkdir(parents=True)
                if self._dies(died, rows_per_second):
                    break
            else:
                pytest.fail(f"however slow it is, the job ends before it is {died}")
            shutil.copytree(self.work, kept, symlinks=True)
        else:
            shutil.copytree(kept, self.work, symlinks=True)

    def _dies(self, died: str, rows_per_second: int) -> bool:
        """Run the job, and return whether it ended as it was to."""
        with self.run(self.tables("a", "b", rows_per_second=rows_per_second)) as first:
            first.start()
            until(lambda: committed(first) >= ROWS // 6, first)
            first.savepoint("middle", timeout=WAIT_S)
            seen = committed(first)
            until(lambda: committed(first) >= seen + ROWS // 10, first)
            if died == "killed":
                first.kill()
            elif died == "stopped":
                first.stop()
            elif died == "savepoint-stop":
                first.savepoint("end", stop=True, timeout=WAIT_S)
            report = first.wait(WAIT_S)
            assert report is not None
            wanted = JobOutcome.FINISHED if died == "finished" else JobOutcome.STOPPED
            assert report.outcome in (wanted, JobOutcome.FINISHED), report
            return report.outcome is wanted


def committed(run: JobRun) -> int:
    """Of the pipeline that has least."""
    return min((view.rows_committed for view in run.progress().pipelines), default=0)


def until(condition: Callable[[], bool], run: JobRun) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert run.wait(0.005) is None, "it ended too early"
        assert time.monotonic() < deadline


def kill(run: JobRun) -> JobReport:
    """Kill it while it runs: it has not come to its end by itself."""
    run.kill()
    report = run.wait(WAIT_S)
    assert report is not None
    assert report.outcome is JobOutcome.STOPPED
    return report


@contextmanager
def ground_in(folder: Path) -> Iterator[Ground]:
    """Jobs that are started within the block run their tasks in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job_run, "SparkBackend", InProcessBackend)
        patch.setenv("HOME", str(folder))
        patch.delenv("XDG_STATE_HOME", raising=False)
        yield Ground(folder=folder, kept=folder / "kept")


def run_through(run: JobRun) -> tuple[JobReport, tuple[str, ...]]:
    """Start the job and wait for its end: its report, and what was told at its start."""
    with run:
        run.start()
        report = run.wait(WAIT_S)
        assert report is not None
        return report, run.notes
