"""Display of a running job until it ends. Ctrl-C stops the job cleanly."""

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
"""Pause between two polls, as a multiple of the duration of the last poll (0.1 s for 1,000 pipelines)."""


class RunningJob(Protocol):
    """Methods of ``JobRun`` that this module uses."""

    def wait(self, timeout: float | None = None) -> JobReport | None:
        """Return the report, or ``None`` if the job has not ended within ``timeout`` seconds."""

    def progress(self) -> JobProgress:
        """Return the current state of each pipeline."""

    def stop(self) -> None:
        """Stop the job after a final checkpoint, without waiting for it."""

    def kill(self) -> None:
        """Stop the job immediately, without a checkpoint and without waiting for it."""


class Interrupts:
    """Counter of interrupts by Ctrl-C (SIGINT) and SIGTERM.

    Expected interrupts are only counted; any further one raises ``KeyboardInterrupt`` in the main thread. No interrupts
    are expected while a job starts, two while it runs, and one more after it has ended.
    """

    def __init__(self, *, last: bool = False) -> None:
        """Start at zero; ``last`` is True if the process exits after the job."""
        self.count = 0
        self.exit_code: int | None = None
        """Exit code of the process, once it is determined; from then on, an interrupt exits immediately."""

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
        """True if there were more interrupts than expected, so the user does not want to wait."""
        return self.count > self._answered

    def job_runs(self) -> None:
        """Expect two interrupts: the first stops the job, the second ends it immediately."""
        self._answered = 2

    def job_ended(self) -> None:
        """Expect one more interrupt, which was intended for the job but arrived too late."""
        self._answered = self.count + 1


@contextmanager
def counted_interrupts(*, last: bool = False) -> Iterator[Interrupts]:
    """Count SIGINT and SIGTERM while the context is open.

    If ``last`` is True, both signals are ignored after the context, when the process exits: Python would otherwise
    terminate with an exit code that contradicts the closing table.
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
    """Show the progress of a job until it ends, and return its report.

    The first interrupt stops the job after a final checkpoint; the second stops it immediately. For a restored job, the
    restored checkpoints are shown as soon as all pipelines have started.
    """
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
                display.say("Stopping after a final checkpoint. Press Ctrl-C again to stop at once.")
                run.stop()
            else:
                display.say(
                    "Stopping at once; rows that are not in a checkpoint are read again when the job is resumed."
                )
                run.kill()


def _all_begun(progress: JobProgress) -> bool:
    return bool(progress.pipelines) and all(view.last_checkpoint_id is not None for view in progress.pipelines)


def _standing(progress: JobProgress) -> str:
    read = sum(view.rows_read for view in progress.pipelines)
    if read == 0:
        return "This job has not stored a checkpoint yet, so it starts from the beginning."
    committed = sum(view.rows_committed for view in progress.pipelines)
    return f"The job resumes from its last checkpoints: {count(read)} rows were read, {count(committed)} are committed."
