"""The progress of a running job: a table that stays in place on a terminal, otherwise plain lines."""

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from seatunnel_core.cli.closing_table import closing_table
from seatunnel_core.errors import StoredValueError
from seatunnel_core.quantity import count, duration, pick, rate, size
from seatunnel_core.reporting.pipeline_record import pipeline_view
from seatunnel_core.reporting.report import JobProgress, JobReport, PipelineView

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

LINES_OF_THEIR_OWN = 10
"""The largest number of pipelines with a plain line each; more are summed up in one."""

NARROW = 110
"""Columns of a terminal below which the table leaves out what matters least."""

_COLUMNS = ("state", "splits", "rows", "bytes", "rows/s", "checkpoint")
_WIDE_ONLY = ("splits", "bytes")

_ENDED = ("finished", "stopped", "failed", "fenced")


class Display(Protocol):
    """What shows a running job; used by the thread that created it."""

    def show(self, progress: JobProgress) -> None:
        """Show the newest state; cheap enough to be called several times a second."""

    def say(self, text: str) -> None:
        """Show one message beside the progress: a start, a stop or a failure."""

    def conclude(self, report: JobReport, resume_command: str) -> None:
        """Show how the job ended, and how to resume it."""

    def close(self) -> None:
        """Release the screen, with its content as it is."""


class RateMeter:
    """Rows per second of each pipeline over the last few seconds."""

    def __init__(self, *, window_s: float = 5.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._window_s = window_s
        self._clock = clock
        self._samples: dict[int, deque[tuple[float, int]]] = {}

    def rows_per_second(self, view: PipelineView) -> float:
        """Take a sample and return the rate; 0 until there are two samples at different times."""
        now = self._clock()
        samples = self._samples.setdefault(view.id, deque())
        samples.append((now, view.rows_read))
        while len(samples) > 2 and samples[0][0] < now - self._window_s:
            samples.popleft()
        (first_time, first_rows), (last_time, last_rows) = samples[0], samples[-1]
        return max(0.0, (last_rows - first_rows) / (last_time - first_time)) if last_time > first_time else 0.0


class PlainDisplay(Display):
    """A display of lines: one for each pipeline at every interval, and one whenever a pipeline ends or stalls.

    Of many pipelines only those that stall have lines. The log and the closing table say why one failed.
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
            news = "" if many and view.phase in _ENDED else _news(view)
            if news != self._last_news.get(view.id, ""):
                self._last_news[view.id] = news
                if news:
                    self._write(f"{view.name}: {news}")
        if self._clock() < self._next:
            return
        self._next = self._clock() + self._interval_s
        running = [view for view in progress.pipelines if view.phase not in _ENDED]
        if len(running) <= LINES_OF_THEIR_OWN:
            for view in running:
                self._write(f"{view.name}: {', '.join(_parts(view, rates[view.id]))}")
        else:
            self._write(_summary(progress.pipelines, sum(rates.values())))

    def say(self, text: str) -> None:
        self._write(text)

    def conclude(self, report: JobReport, resume_command: str) -> None:
        self._write(closing_table(report, resume_command))

    def close(self) -> None:
        pass


class TerminalDisplay(Display):
    """A table that is redrawn in place, as high as the terminal allows; on a narrow one with fewer columns."""

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
        self._console.print(text, markup=False, soft_wrap=True)

    def conclude(self, report: JobReport, resume_command: str) -> None:
        self.close()
        self.say(closing_table(report, resume_command, width=self._console.width))

    def close(self) -> None:
        self._live.stop()


class PipelineTable:
    """The table of pipelines on a terminal."""

    def __init__(self, console: "Console") -> None:
        self._console = console
        self._rates = RateMeter()

    def of(self, pipelines: Sequence[PipelineView]) -> "RenderableType":
        """Return how they stand now, as high and as wide as the terminal is."""
        from rich.table import Table
        from rich.text import Text

        rates = {view.id: self._rates.rows_per_second(view) for view in pipelines}
        room = max(1, self._console.height - 5)
        shown = sorted(pipelines, key=lambda view: (_urgency(view), view.id))[:room]
        narrow = self._console.width < NARROW
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", expand=narrow)
        table.add_column("pipeline", overflow="ellipsis", no_wrap=True, ratio=1)
        headings = [heading for heading in _COLUMNS if not (narrow and heading in _WIDE_ONLY)]
        for heading in headings:
            left = heading in ("state", "checkpoint")
            table.add_column(heading, justify="left" if left else "right", no_wrap=True)
        for view in sorted(shown, key=lambda view: view.id):
            cells: dict[str, str | Text] = {
                "state": Text(_state(view), style=_STYLES.get(_urgency(view), "")),
                "splits": _splits(view),
                "rows": count(view.rows_read),
                "bytes": size(view.bytes_read),
                "rows/s": count(round(rates[view.id])) if view.phase not in _ENDED else "",
                "checkpoint": _checkpoint(view),
            }
            table.add_row(Text(view.name), *(cells[heading] for heading in headings))
        if len(shown) < len(pipelines):
            table.caption = _summary(pipelines, sum(rates.values()))
            table.caption_justify = "left"
        return table


_STYLES = {0: "red", 1: "yellow", 3: "green"}


def _urgency(view: PipelineView) -> int:
    """Return a rank that puts first the pipelines that a user wants to see first."""
    if view.failure:
        return 0
    if view.degraded:
        return 1
    return 3 if view.phase in _ENDED else 2


def _state(view: PipelineView) -> str:
    return "DEGRADED" if view.degraded and view.phase not in _ENDED else view.phase


def _news(view: PipelineView) -> str:
    """Return an event that deserves a line at once, or ``""``."""
    if view.phase in _ENDED:
        return f"{view.phase}, {count(view.rows_committed)} rows committed"
    return f"DEGRADED: {view.degraded}" if view.degraded else ""


def _splits(view: PipelineView) -> str:
    if not view.bounded:
        return count(view.splits_done)
    total = "?" if view.splits_total is None else count(view.splits_total)
    return f"{count(view.splits_done)}/{total}"


def _checkpoint(view: PipelineView) -> str:
    if view.last_checkpoint_id is None:
        return "none yet"
    if view.last_checkpoint_age_ms is None or view.phase in _ENDED:
        return f"{view.last_checkpoint_id}"
    return f"{view.last_checkpoint_id}, {duration(view.last_checkpoint_age_ms / 1000)} ago"


def _parts(view: PipelineView, rows_per_second: float) -> list[str]:
    return [
        _state(view),
        f"{count(view.rows_read)} rows",
        size(view.bytes_read),
        rate(rows_per_second),
        f"splits {_splits(view)}",
        f"checkpoint {_checkpoint(view)}",
    ]


def _summary(pipelines: Sequence[PipelineView], rows_per_second: float) -> str:
    states: dict[str, int] = {}
    for view in pipelines:
        states[_state(view)] = states.get(_state(view), 0) + 1
    parts = [f"{count(number)} {state}" for state, number in sorted(states.items())]
    rows = sum(view.rows_read for view in pipelines)
    read = size(sum(view.bytes_read for view in pipelines))
    return (
        f"{pick(len(pipelines), 'pipeline')}: {', '.join(parts)}; {count(rows)} rows, {read}, {rate(rows_per_second)}"
    )


LINE_EVERY_S = 10.0
"""Between two lines of a job on a cluster, where there is no terminal."""


class JobProgressLine:
    """Says how a job stands, from the answers of ``job-info``.

    Args:
        show: shows a line, or pipelines, that the next ones replace; ``None`` where lines stay.
        write: writes a line that stays.
        clock: monotonic seconds.
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
        """Show how a running job stands: its pipelines, as those of a local job, or its sums where there are none."""
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
    except (StoredValueError, TypeError):  # a node of another version
        return ()


def _figure(job: Mapping[str, Any], name: str) -> int:
    try:
        return int(float(job["metrics"].get(name, 0)))
    except (KeyError, TypeError, ValueError, OverflowError):  # a node of another version
        return 0


@contextmanager
def job_progress_line() -> Iterator[JobProgressLine]:
    """Yield what shows a job on this standard output."""
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
