"""Terminal view of the pipelines of a running job: a table, or two lines per pipeline on narrow terminals."""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from attrs import frozen

from seatunnel_core.quantity import count, duration, pick, rate, size
from seatunnel_core.reporting.report import PipelineView
from seatunnel_core.reporting.source_words import source_words

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

NARROW = 110
"""Width in columns below which less important columns are omitted."""

NARROWEST = 70
"""Width in columns below which pipelines are shown as lines instead of table rows."""

ENDED = ("finished", "stopped", "failed", "fenced")
"""Final phases of a pipeline."""

_COLUMNS = ("state", "splits", "rows", "bytes", "rows/s", "left", "checkpoint")
_WIDE_ONLY = ("splits", "bytes", "left")
_STYLES = {0: "red", 1: "yellow", 3: "green"}


@frozen
class _Sample:
    at: float
    rows: int
    splits: int


class RateMeter:
    """Measures the recent rate of each pipeline, and estimates its remaining time."""

    def __init__(
        self, *, window_s: float = 5.0, longer_s: float = 60.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Measure rows over ``window_s`` seconds, and splits, which complete less often, over ``longer_s`` seconds."""
        self._window_s = window_s
        self._longer_s = longer_s
        self._clock = clock
        self._samples: dict[int, deque[_Sample]] = {}

    def rows_per_second(self, view: PipelineView) -> float:
        """Take a sample and return the rate; 0 until samples from two different times exist."""
        now = self._clock()
        samples = self._samples.setdefault(view.id, deque())
        samples.append(_Sample(now, view.rows_read, view.splits_done))
        while len(samples) > 2 and samples[0].at < now - self._longer_s:
            samples.popleft()
        first = samples[0]
        for each in reversed(samples):
            if each.at < now - self._window_s:
                break
            first = each
        if first.at == now and len(samples) > 1:
            first = samples[-2]
        return max(0.0, (view.rows_read - first.rows) / (now - first.at)) if now > first.at else 0.0

    def seconds_left(self, view: PipelineView) -> float | None:
        """Return the remaining time at the current rate, in seconds; ``None`` if it is unknown."""
        samples = self._samples.get(view.id)
        if not samples or not view.bounded or not view.splits_total or view.phase in ENDED:
            return None
        first, last = samples[0], samples[-1]
        done = last.splits - first.splits
        if done <= 0:
            return None
        return (view.splits_total - last.splits) * (last.at - first.at) / done


class PipelineTable:
    """Table of a job's pipelines that fits the terminal."""

    def __init__(self, console: "Console") -> None:
        self._console = console
        self._rates = RateMeter()

    def of(self, pipelines: Sequence[PipelineView]) -> "RenderableType":
        """Return a view of the current state, limited to the most urgent pipelines and the totals if space is short."""
        from rich.console import Group
        from rich.text import Text

        rates = {view.id: self._rates.rows_per_second(view) for view in pipelines}
        in_lines = self._console.width < NARROWEST
        extra = max((len(view.sources) for view in pipelines), default=0)
        room = max(1, (self._console.height - 5) // ((3 if in_lines else 1) + extra))
        shown = sorted(sorted(pipelines, key=lambda view: (_urgency(view), view.id))[:room], key=lambda view: view.id)
        body = self._lines(shown, rates) if in_lines else self._cells(shown, rates)
        below = [Text(line, overflow="ellipsis", no_wrap=True) for view in shown for line in source_lines(view)]
        if len(shown) < len(pipelines):
            below.append(Text(summary(pipelines, sum(rates.values())), style="italic dim"))
        return Group(body, *below) if below else body

    def _lines(self, shown: Sequence[PipelineView], rates: Mapping[int, float]) -> "RenderableType":
        from rich.text import Text

        text = Text()
        for view in shown:
            text.append(f"{view.name}\n", "bold")
            text.append(f"  {_progress(view)}", _STYLES.get(_urgency(view), ""))
            text.append(f", {count(view.rows_read)} rows\n")
            if view.phase not in ENDED:
                left = self._left(view)
                text.append(f"  {rate(rates[view.id])}{f', {left} left' if left else ''}\n")
        text.rstrip()
        return text

    def _cells(self, shown: Sequence[PipelineView], rates: Mapping[int, float]) -> "RenderableType":
        from rich.table import Table
        from rich.text import Text

        narrow = self._console.width < NARROW
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", expand=narrow)
        table.add_column("pipeline", overflow="ellipsis", no_wrap=True, ratio=1)
        headings = [heading for heading in _COLUMNS if not (narrow and heading in _WIDE_ONLY)]
        for heading in headings:
            left = heading in ("state", "checkpoint")
            table.add_column(heading, justify="left" if left else "right", no_wrap=True)
        for view in shown:
            cells: dict[str, str | Text] = {
                "state": Text(_progress(view), style=_STYLES.get(_urgency(view), "")),
                "splits": splits(view),
                "rows": count(view.rows_read),
                "bytes": size(view.bytes_read),
                "rows/s": count(round(rates[view.id])) if view.phase not in ENDED else "",
                "left": self._left(view),
                "checkpoint": checkpoint(view),
            }
            table.add_row(Text(view.name), *(cells[heading] for heading in headings))
        return table

    def _left(self, view: PipelineView) -> str:
        seconds = self._rates.seconds_left(view)
        return "" if seconds is None else duration(seconds)


def _urgency(view: PipelineView) -> int:
    """Return a sort key that sorts the most urgent pipelines first."""
    if view.failure:
        return 0
    if view.degraded:
        return 1
    return 3 if view.phase in ENDED else 2


def state(view: PipelineView) -> str:
    """Return the phase of a pipeline, or ``DEGRADED`` if it is stalled."""
    return "DEGRADED" if view.degraded and view.phase not in ENDED else view.phase


def _progress(view: PipelineView) -> str:
    """Return the state, and the percentage of finished splits if their total is known."""
    if not view.bounded or not view.splits_total or view.phase in ENDED or not view.splits_done:
        return state(view)
    return f"{state(view)} {100 * view.splits_done // view.splits_total} %"


def splits(view: PipelineView) -> str:
    """Return the number of finished splits, and the total if known."""
    if not view.bounded:
        return count(view.splits_done)
    total = "?" if view.splits_total is None else count(view.splits_total)
    return f"{count(view.splits_done)}/{total}"


def source_lines(view: PipelineView) -> list[str]:
    """Return a line for each source of a running pipeline that reads a log."""
    if view.phase in ENDED:
        return []
    return [f"{name}: {source_words(progress)}" for name, progress in view.sources.items()]


def checkpoint(view: PipelineView) -> str:
    """Return the last checkpoint and its age as text."""
    if view.last_checkpoint_id is None:
        return "none yet"
    if view.last_checkpoint_age_ms is None or view.phase in ENDED:
        return f"{view.last_checkpoint_id}"
    return f"{view.last_checkpoint_id}, {duration(view.last_checkpoint_age_ms / 1000)} ago"


def summary(pipelines: Sequence[PipelineView], rows_per_second: float) -> str:
    """Return a one-line summary of many pipelines."""
    states: dict[str, int] = {}
    for view in pipelines:
        states[state(view)] = states.get(state(view), 0) + 1
    parts = [f"{count(number)} {state}" for state, number in sorted(states.items())]
    rows = sum(view.rows_read for view in pipelines)
    read = size(sum(view.bytes_read for view in pipelines))
    return (
        f"{pick(len(pipelines), 'pipeline')}: {', '.join(parts)}; {count(rows)} rows, {read}, {rate(rows_per_second)}"
    )
