"""Which runs a campaign consists of, before any of them is played."""

import importlib
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve

from tests.torture.campaign import MORE_KILLS, plan
from tests.torture.job import SINKS, TorturedJob
from tests.torture.moments import TARGET
from tests.torture.run import Run, Step
from tests.torture.stops import Stop, install

JOB = TorturedJob(folder=Path("/nowhere"), job_id="planned", targets=(), state=Path("/nowhere/state"))


def steps(runs: int) -> list[Step]:
    return [step for number in range(runs) for step in plan(number, JOB, random.Random(number)).steps]


def test_a_short_campaign_kills_driver_jvm_and_worker() -> None:
    """Six runs are what each change is judged by."""
    assert {step.victim for step in steps(6)} >= {"driver", "jvm", "worker"}


def test_a_long_campaign_kills_each_of_them_at_many_moments() -> None:
    """A dead JVM or worker is another thing for a driver that stores, commits or prunes than for one that waits."""
    planned = steps(30)
    for victim in ("jvm", "worker"):
        struck = [step.moment for step in planned if step.victim == victim]
        assert len({moment.name for moment in struck}) >= 5
        assert len({moment.phase for moment in struck} & {"staging", "store", "between store and commit", "commit"}) > 1
        assert any(moment.stop for moment in struck)
        assert any(not moment.stop for moment in struck)
    phases = {step.moment.phase for step in planned}
    assert phases >= {"store", "between store and commit", "commit", "prune", "restore", "after the last commit"}


def test_a_killed_worker_hides_no_later_step() -> None:
    """The job goes on without it, to its end: a restore behind it would never be played."""
    for number in range(30):
        run = plan(number, JOB, random.Random(number))
        behind = [step.moment.phase for step in run.steps[1:] if run.steps[0].victim == "worker"]
        assert not {"restore", "after the last commit"} & set(behind), number


def test_for_file_formats_more_drivers_are_killed_while_rows_flow() -> None:
    for number in range(30):
        few, many = (plan(number, job, random.Random(number)).steps for job in (JOB, evolve(JOB, sink="orc,text")))
        victims, more = (Counter(step.victim for step in steps) for steps in (few, many))
        assert more == victims + Counter(driver=MORE_KILLS)
        assert many[-1].victim == few[-1].victim, "what comes behind a killed worker is never played"


COMMITTING = {
    "file": "file.sink:FileSink",
    "orc,text": "file.sink:FileSink",
    **dict.fromkeys(("s3", "versitygw", "hdfs"), "file.sink:FileSink"),
    **dict.fromkeys(("iceberg", "iceberg-modes"), "iceberg.sink:IcebergSink"),
    **dict.fromkeys(("postgres", "postgres-modes", "mariadb", "mariadb-modes"), "jdbc.sink:JdbcSink"),
    "duckdb": "duckdb.sink:DuckDBSink",
    "kafka": "kafka.sink:KafkaSink",
}


@pytest.mark.parametrize("sink", [*SINKS, "orc,text"])
def test_a_stop_in_a_commit_is_where_the_sink_commits(sink: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of some sinks were put into another one, and were never reached."""
    module, _, name = COMMITTING[sink].partition(":")
    kind: Any = getattr(importlib.import_module(f"seatunnel_core.connectors.{module}"), name)
    committed: list[Any] = []
    stopped: list[int] = []
    monkeypatch.setattr(kind, "commit", lambda self, *arguments, **options: committed.append(arguments))
    monkeypatch.setattr(signal, "pthread_kill", lambda _thread, number: stopped.append(number))
    install(Stop("commit", TARGET, 1, "before"), sink)
    target = SimpleNamespace(layout=SimpleNamespace(root="/job/out/table"))
    kind.commit(target, [], None, may_be_committed=False)
    assert committed
    assert stopped == [signal.SIGSTOP]


STOPPED_IN_A_THREAD = """
import os, sys, threading
from tests.torture.stops import Stop
file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
stopped = Stop("write", "", 1, "after").watch(os.write, 0)
def write():
    stopped(file, b"1")
    for _ in range(1000):
        os.write(file, b"2")
threading.Thread(target=write, daemon=True).start()
threading.Event().wait()
"""


def test_a_thread_that_stops_its_process_makes_no_further_call(tmp_path: Path) -> None:
    """With a signal to the process, half of the threads went on for up to 1,000 calls before it stood still."""
    for number in range(8):
        file = tmp_path / str(number)
        engine = subprocess.Popen([sys.executable, "-c", STOPPED_IN_A_THREAD, str(file)])
        try:
            _pid, status = os.waitpid(engine.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status)
            assert file.read_text() == "1"
        finally:
            engine.kill()
            engine.wait()


class Ended:
    """Stands in for a process that has ended: what is tried here is what its end means."""

    age_s = 0.0

    def __init__(self, exit_code: int, output: str = "") -> None:
        self.exit_code, self.output = exit_code, output

    def wait(self, _seconds: float) -> int:
        return self.exit_code


@pytest.mark.parametrize(
    ("sleepers", "done", "fault"),
    [([0], True, ""), ([1, 0], True, ""), ([1], False, ""), ([], True, "ended with exit code 1")],
)
def test_who_wakes_up_with_newer_epochs_has_the_job(sleepers: list[int], done: bool, fault: str) -> None:
    run = Run(number=0, job=JOB, plain_rename=False, steps=())
    run._woken = [Ended(code) for code in sleepers]  # type: ignore[misc]
    assert run._over(Ended(1, "More: seatunnel help STALE-EPOCH"), None) is done  # type: ignore[arg-type]
    assert run.fault.startswith(fault)
    assert bool(run.fault) is bool(fault)
