"""Staying with a job: the first interrupt stops it cleanly, the second one at once."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest
from attrs import evolve

from seatunnel_core.cli.watch import Interrupts, counted_interrupts, watch
from seatunnel_core.reporting.report import JobOutcome, JobProgress, JobReport, PipelineView

REPORT = JobReport(job_id="42", name="j", outcome=JobOutcome.STOPPED, pipelines=(), started_at=0, ended_at=1)


class Job:
    """Ends after so many looks, or as soon as it is told; may interrupt itself at one of them."""

    def __init__(
        self,
        *views: PipelineView,
        looks: int = 100,
        at: dict[int, Callable[[], None]] | None = None,
        ends_on: str = "",
        look_s: float = 0,
    ) -> None:
        self.now = 0.0
        self._look_s = look_s
        self._views = views
        self.calls: list[str] = []
        self._left = looks
        self._look = 0
        self._at = at or {}
        self._ends_on = ends_on

    def wait(self, timeout: float | None = None) -> JobReport | None:
        self.now += timeout or 0
        self._look += 1
        self._at.get(self._look, lambda: None)()
        return REPORT if self._look > self._left or self._ends_on in self.calls else None

    def clock(self) -> float:
        return self.now

    def progress(self) -> JobProgress:
        self.now += self._look_s
        return JobProgress(job_id="42", name="j", pipelines=self._views)

    def stop(self) -> None:
        self.calls.append("stop")

    def kill(self) -> None:
        self.calls.append("kill")


class Shown:
    def __init__(self) -> None:
        self.said: list[str] = []
        self.shows = 0

    def show(self, progress: JobProgress) -> None:
        self.shows += 1

    def say(self, text: str) -> None:
        self.said.append(text)

    def conclude(self, report: JobReport, resume_command: str) -> None:
        pass

    def close(self) -> None:
        pass


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def test_until_the_job_has_ended() -> None:
    display = Shown()
    job = Job(looks=3)
    assert watch(job, display, Interrupts(), clock=job.clock) is REPORT
    assert display.shows == 4
    assert display.said == []


def test_a_job_whose_progress_takes_long_to_find_out_is_looked_at_less_often() -> None:
    """And who interrupts it waits no longer for that."""
    display = Shown()
    job = Job(looks=40, look_s=0.1)
    watch(job, display, Interrupts(), clock=job.clock)
    assert display.shows == 6  # of 10 s, each followed by two of rest, and the last one
    job, display = Job(at={2: interrupt}, ends_on="stop", look_s=100), Shown()
    with counted_interrupts() as interrupts:
        watch(job, display, interrupts, clock=job.clock)
    assert (job.calls, display.shows) == (["stop"], 2)


@pytest.mark.parametrize("signal_sent", [interrupt, terminate])
def test_the_first_interrupt_stops_cleanly(signal_sent: Callable[[], None]) -> None:
    job, display = Job(at={2: signal_sent}, ends_on="stop"), Shown()
    with counted_interrupts() as interrupts:
        assert watch(job, display, interrupts) is REPORT
    assert job.calls == ["stop"]
    assert "final checkpoint" in display.said[0]


def test_the_second_one_stops_at_once() -> None:
    job = Job(at={2: interrupt, 4: interrupt}, ends_on="kill")
    with counted_interrupts() as interrupts:
        watch(job, Shown(), interrupts)
    assert job.calls == ["stop", "kill"]


def test_the_third_one_leaves_even_if_nothing_answers() -> None:
    job = Job(at={2: interrupt, 4: interrupt, 6: interrupt})
    with counted_interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        watch(job, Shown(), interrupts)


BEGUN = PipelineView(id=1, name="a", phase="running", last_checkpoint_id=4)


@pytest.mark.parametrize(
    ("view", "says"),
    [
        (BEGUN, ["This job has not stored a checkpoint yet, so it starts from the beginning."]),
        (
            evolve(BEGUN, rows_read=1_500, rows_committed=1_000),
            ["The job resumes from its last checkpoints: 1,500 rows were read, 1,000 are committed."],
        ),
        (evolve(BEGUN, last_checkpoint_id=None), []),
    ],
)
def test_a_restored_job_says_once_where_it_stands(view: PipelineView, says: list[str]) -> None:
    display = Shown()
    watch(Job(view, looks=5), display, Interrupts(), restored=True)
    assert display.said == says


def test_the_former_handlers_come_back() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with counted_interrupts():
        assert signal.getsignal(signal.SIGINT) is not before[0]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_while_a_job_starts_the_first_one_leaves() -> None:
    with counted_interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        interrupt()
    assert interrupts.unanswered


def test_when_the_job_has_ended_one_more_is_let_go() -> None:
    job = Job(at={2: interrupt, 3: interrupt}, ends_on="kill")
    with counted_interrupts() as interrupts:
        watch(job, Shown(), interrupts)
        interrupt()
        assert not interrupts.unanswered
        with pytest.raises(KeyboardInterrupt):
            interrupt()


LAST = """
import os, signal, time
from seatunnel_core.cli.watch import counted_interrupts
with counted_interrupts(last=True) as interrupts:
    interrupts.job_ended()
    os.kill(os.getpid(), signal.SIGINT)
    if {hurry}:
        interrupts.exit_code = 7
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
os.kill(os.getpid(), signal.SIGTERM)
os.kill(os.getpid(), signal.SIGINT)
print("said")
"""


@pytest.mark.parametrize(("hurry", "code", "said"), [(False, 0, "said\n"), (True, 7, "")])
def test_a_process_that_ends_with_its_job_reports_how_the_job_ended(hurry: bool, code: int, said: str) -> None:
    """Interrupted in its last moments it died of the signal. In a hurry it waits for nothing that still runs."""
    done = subprocess.run([sys.executable, "-c", LAST.format(hurry=hurry)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (code, said, "")
