"""Stays with a running job until it has ended: shows it, and turns Ctrl-C into a clean stop."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

from seatunnel_core.cli.progress import Display
from seatunnel_core.quantity import count
from seatunnel_core.reporting.report import JobProgress, JobReport

REFRESH_S = 0.25
REST = 20
"""By how much longer no look is taken than the last one took: one at a thousand pipelines takes a tenth of a second."""


class RunningJob(Protocol):
    """What is watched: ``seatunnel_core.runtime.job_run.JobRun``."""

    def wait(self, timeout: float | None = None) -> JobReport | None: ...
    def progress(self) -> JobProgress: ...
    def stop(self) -> None: ...
    def kill(self) -> None: ...


class Interrupts:
    """How often a person or the system asked to stop: Ctrl-C (SIGINT) and SIGTERM mean the same.

    As many as something answers are counted; one more raises ``KeyboardInterrupt``, wherever the main thread is. While
    a job starts, nothing answers; while it runs, two are answered; when it has ended, one more is let go.
    """

    def __init__(self, *, last: bool = False) -> None:
        """``last`` says that nothing comes behind the job in this process."""
        self.count = 0
        self.exit_code: int | None = None
        """Of the process, once it is certain: who is in a hurry gets it at once, however long Spark takes to stop."""

        self._last = last
        self._answered = 0

    def __call__(self, signal_number: int, frame: FrameType | None) -> None:
        self.count += 1
        if not self.unanswered:
            return
        if self._last and self.exit_code is not None:
            os._exit(self.exit_code)
        raise KeyboardInterrupt

    @property
    def unanswered(self) -> bool:
        """Whether somebody asked once more than anything answers, and so waits for nothing."""
        return self.count > self._answered

    def job_runs(self) -> None:
        """The first stops it, the second ends it at once."""
        self._answered = 2

    def job_ended(self) -> None:
        """One that was meant for the job and came too late is let go."""
        self._answered = self.count + 1


@contextmanager
def counted_interrupts(*, last: bool = False) -> Iterator[Interrupts]:
    """Within the block SIGINT and SIGTERM are counted.

    Args:
        last: the process ends after the block. It ignores both from then on: in its last moments Python would die of
            them, and the exit code would say something else than the closing table.
    """
    interrupts = Interrupts(last=last)
    before = {number: signal.signal(number, interrupts) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if last else handler)


def watch(
    run: RunningJob,
    display: Display,
    interrupts: Interrupts,
    *,
    restored: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> JobReport:
    """Until the job has ended. The first interrupt asks for a last checkpoint, the second ends at once. Of a restored
    job it is said where it stands, as soon as all its pipelines have begun."""
    interrupts.job_runs()
    heeded = 0
    look_at = 0.0
    while True:
        report = run.wait(REFRESH_S)
        if report is not None:
            interrupts.job_ended()
        began = clock()
        if report is not None or began >= look_at:
            progress = run.progress()
            if restored and report is None and _all_begun(progress):
                display.say(_standing(progress))
                restored = False
            if report is None or not report.ended_before:
                display.show(progress)
            look_at = clock() + REST * (clock() - began)
        if report is not None:
            return report
        if interrupts.count > heeded:
            heeded = interrupts.count
            if heeded == 1:
                display.say("Stopping after a last checkpoint. Ctrl-C once more stops at once.")
                run.stop()
            else:
                display.say("Stopping at once; what is not in a checkpoint yet is read again when the job goes on.")
                run.kill()


def _all_begun(progress: JobProgress) -> bool:
    """Each pipeline's restore point has an id."""
    return bool(progress.pipelines) and all(view.last_checkpoint_id is not None for view in progress.pipelines)


def _standing(progress: JobProgress) -> str:
    read = sum(view.rows_read for view in progress.pipelines)
    if read == 0:
        return "Nothing of this job's work had been stored, so it begins again."
    committed = sum(view.rows_committed for view in progress.pipelines)
    return f"It goes on from its last checkpoints: {count(read)} rows were read, {count(committed)} are committed."
