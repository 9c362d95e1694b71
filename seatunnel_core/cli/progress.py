"""Progress display of a running job: a table that is updated in place on a terminal, otherwise plain lines."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from seatunnel_core.cli.closing_table import closing_table
from seatunnel_core.cli.terminal.pipeline_table import (
    ENDED,
    PipelineTable,
    RateMeter,
    checkpoint,
    source_lines,
    splits,
    state,
    summary,
)
from seatunnel_core.cli.terminal.text import in_colour, wrapped
from seatunnel_core.errors import StoredValueError
from seatunnel_core.quantity import count, pick, rate, size
from seatunnel_core.reporting.pipeline_record import pipeline_view
from seatunnel_core.reporting.report import JobProgress, JobReport, PipelineView

if TYPE_CHECKING:
    from rich.console import Console

LINES_OF_THEIR_OWN = 10
"""Maximum number of pipelines that are shown on one plain line each; for more pipelines, one line summarizes them."""


class Display(Protocol):
    """Progress display of a running job. Only the thread that created it may use it."""

    def show(self, progress: JobProgress) -> None:
        """Show the latest state. Called several times per second."""

    def say(self, text: str) -> None:
        """Show a message in addition to the progress, for example about a start, a stop or a failure."""

    def conclude(self, report: JobReport, resume_command: str) -> None:
        """Show the result of the job and the command that resumes it."""

    def close(self) -> None:
        """Release the terminal, and keep its content on the screen."""


class PlainDisplay(Display):
    """Display that prints a line per pipeline and interval, and a line whenever a pipeline ends or stalls.

    With many pipelines, only stalled ones have their own lines. The log and the closing table explain failures.
    """

    def __init__(
        self, write: Callable[[str], None], *, interval_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._write = write
        self._interval_s = interval_s
        self._clock = clock
        self._next = clock() + interval_s
        self._rates = RateMeter(clock=clock)
        self._last_news: dict[int, str] = {}

    def show(self, progress: JobProgress) -> None:
        rates = {view.id: self._rates.rows_per_second(view) for view in progress.pipelines}
        many = len(progress.pipelines) > LINES_OF_THEIR_OWN
        for view in progress.pipelines:
            news = "" if many and view.phase in ENDED else _news(view)
            if news != self._last_news.get(view.id, ""):
                self._last_news[view.id] = news
                if news:
                    self._write(f"{_name(view, progress)}: {news}")
        if self._clock() < self._next:
            return
        self._next = self._clock() + self._interval_s
        running = [view for view in progress.pipelines if view.phase not in ENDED]
        if len(running) <= LINES_OF_THEIR_OWN:
            for view in running:
                self._write(f"{_name(view, progress)}: {', '.join(_parts(view, rates[view.id]))}")
        else:
            self._write(summary(progress.pipelines, sum(rates.values())))

    def say(self, text: str) -> None:
        self._write(text)

    def conclude(self, report: JobReport, resume_command: str) -> None:
        self._write(closing_table(report, resume_command))

    def close(self) -> None:
        pass


class TerminalDisplay(Display):
    """Table that is redrawn in place and fits the terminal's height. Narrow terminals show fewer columns."""

    def __init__(self, console: "Console | None" = None) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = console or Console(highlight=False)
        self._table = PipelineTable(self._console)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._live.start()

    def show(self, progress: JobProgress) -> None:
        self._live.update(self._table.of(progress.pipelines), refresh=True)

    def say(self, text: str) -> None:
        self._console.print(in_colour(wrapped(text, self._console.width)), soft_wrap=True)

    def conclude(self, report: JobReport, resume_command: str) -> None:
        self.close()
        self.say(closing_table(report, resume_command, width=self._console.width))

    def close(self) -> None:
        self._live.stop()


def _name(view: PipelineView, progress: JobProgress) -> str:
    """Return the name of a pipeline, or its number if it is the only one."""
    return view.name if len(progress.pipelines) > 1 else f"pipeline {view.id}"


def _news(view: PipelineView) -> str:
    """Return an event to show immediately, or ``""``."""
    if view.phase in ENDED:
        return f"{view.phase}, {pick(view.rows_committed, 'row')} committed"
    return f"DEGRADED: {view.degraded}" if view.degraded else ""


def _parts(view: PipelineView, rows_per_second: float) -> list[str]:
    return [
        state(view),
        pick(view.rows_read, "row"),
        size(view.bytes_read),
        rate(rows_per_second),
        f"splits {splits(view)}",
        f"checkpoint {checkpoint(view)}",
        *source_lines(view),
    ]


LINE_EVERY_S = 10.0
"""Seconds between two progress lines of a cluster job if the output is not a terminal."""


class JobProgressLine:
    """Progress of a job in a cluster, from responses to ``job-info``.

    Args:
        show: Function that replaces the displayed line or pipelines with new ones; ``None`` if there is no terminal.
        write: Function that writes a permanent line.
        clock: Monotonic clock, in seconds.
    """

    def __init__(
        self,
        show: "Callable[[str | Sequence[PipelineView]], None] | None",
        write: Callable[[str], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._show = show
        self._lines = PlainDisplay(write, interval_s=LINE_EVERY_S, clock=clock)
        self.write = write
        self._clock = clock
        self._next = clock() + LINE_EVERY_S
        self._last: tuple[float, int] | None = None
        self._rate = 0.0

    def tell(self, job: Mapping[str, Any]) -> None:
        """Show the pipelines of a running job as for a local job; show only totals if the response has no pipelines."""
        views = _views(job)
        if views and self._show is not None:
            self._show(views)
        elif views:
            self._lines.show(JobProgress(job_id=str(job["jobId"]), name="", pipelines=views))
        else:
            self._tell_sums(job)

    def _tell_sums(self, job: Mapping[str, Any]) -> None:
        now, read = self._clock(), _figure(job, "SourceReceivedCount")
        if self._last is not None and now - self._last[0] >= 1.0:
            self._rate = max(0.0, (read - self._last[1]) / (now - self._last[0]))
        if self._last is None or now - self._last[0] >= 1.0:
            self._last = (now, read)
        line = (
            f"Job {job['jobId']}: {job['jobStatus']}, {count(read)} rows read, "
            f"{size(_figure(job, 'SourceReceivedBytes'))}, {rate(self._rate)}, "
            f"{count(_figure(job, 'SinkCommittedCount'))} committed"
        )
        if self._show is not None:
            self._show(line)
        elif now >= self._next:
            self._next = now + LINE_EVERY_S
            self.write(line)


def _views(job: Mapping[str, Any]) -> tuple[PipelineView, ...]:
    try:
        return tuple(map(pipeline_view, job.get("pipelines", ())))
    except (StoredValueError, TypeError):  # response of a node with another version
        return ()


def _figure(job: Mapping[str, Any], name: str) -> int:
    try:
        return int(float(job["metrics"].get(name, 0)))
    except (KeyError, TypeError, ValueError, OverflowError):  # response of a node with another version
        return 0


@contextmanager
def job_progress_line() -> Iterator[JobProgressLine]:
    """Yield the progress display for this terminal."""
    if not sys.stdout.isatty():
        yield JobProgressLine(None, lambda line: print(line, flush=True))
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(highlight=False)
    table = PipelineTable(console)
    with Live(console=console, auto_refresh=False, transient=True) as live:

        def show(what: str | Sequence[PipelineView]) -> None:
            line = Text(what, overflow="ellipsis", no_wrap=True) if isinstance(what, str) else table.of(what)
            live.update(line, refresh=True)

        yield JobProgressLine(
            show,
            lambda line: console.print(line, markup=False, soft_wrap=True),
        )
