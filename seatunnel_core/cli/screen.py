"""Output of a run: a table on a terminal, plain lines or JSON lines, together with log records.

Only the thread that created the screen writes. Messages of other threads are queued, so if the reader of the output
stalls, checkpoints continue.
"""

import contextlib
import logging
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator

from attrs import asdict

from seatunnel_core.cli.logs import logs_sent_to
from seatunnel_core.cli.output import give_up_output
from seatunnel_core.cli.progress import Display, PlainDisplay, TerminalDisplay
from seatunnel_core.quantity import count
from seatunnel_core.reporting.notices import PIPELINE_LOG
from seatunnel_core.reporting.report import JobOutcome, JobProgress, JobReport, PipelineView
from seatunnel_core.reporting.report_record import report_record

LOG = logging.getLogger("seatunnel.run")

MOST_WAITING = 10_000
"""Maximum number of queued lines; further lines are dropped and counted."""


class Backlog:
    """Queue of lines from any thread. The thread that created it writes them in order."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._writer = threading.get_ident()
        self._waiting: deque[str] = deque()
        self._lost = 0

    def __call__(self, line: str) -> None:
        if len(self._waiting) < MOST_WAITING:
            self._waiting.append(line)
        else:
            self._lost += 1
        if threading.get_ident() == self._writer:
            self.flush()

    def flush(self) -> None:
        """Write the queued messages. Only the thread that created this object may call it."""
        while self._waiting:
            self._write(self._waiting.popleft())
        if self._lost:
            lost, self._lost = self._lost, 0
            self._write(
                f"{count(lost)} lines of the log are missing here, because they were written faster than they could be "
                "displayed"
            )


class Screen:
    """Display with a queue of messages. Any thread may call ``say``."""

    def __init__(self, display: Display, backlog: Backlog, say: Callable[[str], None]) -> None:
        self.say = say
        self._display = display
        self._backlog = backlog
        self._pipelines = 0

    def show(self, progress: JobProgress) -> None:
        """Write the queued messages, then show the latest state."""
        self._pipelines = len(progress.pipelines)
        self._backlog.flush()
        self._display.show(progress)

    def says_it_now(self, record: logging.LogRecord) -> bool:
        """Return False for the failure of a job's only pipeline, which the closing table shows instead."""
        return not (self._pipelines == 1 and record.name == PIPELINE_LOG and record.levelno == logging.ERROR)

    def conclude(self, report: JobReport, resume_command: str) -> None:
        """Write the queued messages, then show the result of the job."""
        self._backlog.flush()
        self._display.conclude(report, resume_command)

    def close(self) -> None:
        """Write the queued messages, then release the screen."""
        self._backlog.flush()
        self._display.close()


class JsonDisplay(Display):
    """Display that logs a record per pipeline and interval, with the counters as keys."""

    def __init__(self, *, interval_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval_s = interval_s
        self._clock = clock
        self._next = clock() + interval_s

    def show(self, progress: JobProgress) -> None:
        if self._clock() < self._next:
            return
        self._next = self._clock() + self._interval_s
        for view in progress.pipelines:
            self._log("progress", progress.job_id, view)

    def say(self, text: str) -> None:
        LOG.info("%s", text.strip())

    def conclude(self, report: JobReport, resume_command: str) -> None:
        """Log the closing table as one record, and a record for each pipeline."""
        for view in report.pipelines:
            self._log("failed" if view.failure else "ended", report.job_id, view)
        figures = {key: value for key, value in report_record(report).items() if key != "pipelines"}
        figures |= {"warnings": list(report.warnings), "log_file": report.log_file, "resume": resume_command}
        level = logging.ERROR if report.outcome is JobOutcome.FAILED else logging.INFO
        LOG.log(level, "job %s", report.outcome.value, extra={"job": report.job_id, "figures": figures})

    def close(self) -> None:
        pass

    def _log(self, message: str, job_id: str, view: PipelineView) -> None:
        figures = asdict(view, filter=lambda attribute, _: attribute.name not in ("id", "last_checkpoint_id"))
        where = {"job": job_id, "pipeline": view.id, "checkpoint": view.last_checkpoint_id}
        LOG.log(logging.ERROR if view.failure else logging.INFO, message, extra=where | {"figures": figures})


@contextlib.contextmanager
def screen(*, interval_s: float, log_level: str, log_format: str) -> Iterator[Screen]:
    """Yield the display for these options and this standard output. Log records are sent to the display."""
    display: Display
    write = _StandardOutput()
    if log_format == "json":
        display = JsonDisplay(interval_s=interval_s)
        backlog = Backlog(write)
        shown = Screen(display, backlog, say=display.say)
    else:
        display = TerminalDisplay() if sys.stdout.isatty() else PlainDisplay(write, interval_s=interval_s)
        backlog = Backlog(display.say)
        shown = Screen(display, backlog, say=backlog)
    wanted = (lambda _: True) if log_format == "json" else shown.says_it_now
    with logs_sent_to(backlog, level=log_level, format=log_format, wanted=wanted):
        try:
            yield shown
        finally:
            shown.close()
            write.close()


class _StandardOutput:
    """Writer of lines to standard output.

    If the reader of a pipe (for example ``| head``) disconnects or the disk is full, the job continues. A full disk is
    reported once.
    """

    def __init__(self) -> None:
        self._gone = False
        self._reported = False

    def __call__(self, line: str) -> None:
        if self._gone:
            return
        try:
            print(line, flush=True)
        except BrokenPipeError:
            self._gone = True
            give_up_output()
        except OSError as error:
            self._report(error)

    def close(self) -> None:
        """Flush the output. A failure is ignored, because the job has already finished."""
        try:
            sys.stdout.flush()
        except OSError:
            give_up_output()

    def _report(self, error: OSError) -> None:
        if not self._reported:
            self._reported = True
            with contextlib.suppress(OSError):  # the disk of this file may be full, too
                print(f"standard output cannot be written: {error.strerror}. The job continues", file=sys.stderr)
