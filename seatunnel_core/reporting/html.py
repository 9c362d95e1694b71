"""HTML rendering of jobs in notebooks, without scripts or style sheets, for light and dark pages.

Only this module escapes the text of a job (names, states, errors). It keeps notebooks from rendering text as formulas.
"""

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from seatunnel_core.quantity import count, duration, rate, size
from seatunnel_core.reporting.shown_pipelines import shown_pipelines

if TYPE_CHECKING:
    from seatunnel_core.reporting.metrics import JobMetrics
    from seatunnel_core.reporting.report import JobProgress, JobReport, PipelineView

_LINE = "1px solid rgba(128,128,128,.35)"
_RED, _AMBER = "#d1242f", "#bf8700"
"""Border colours; text keeps the colour of the surrounding page."""


def text(value: str) -> str:
    """Return a string escaped for HTML. A lone surrogate, which HTML cannot contain, becomes a question mark."""
    return html.escape(value.encode("utf-8", "replace").decode("utf-8"), quote=True)


def section(title: str, *parts: str) -> str:
    """Return a block with a heading. ``parts`` are HTML; empty ones are omitted."""
    heading = f'<div style="font-weight:600;margin:2px 0 6px">{text(title)}</div>'
    within = "".join(part for part in (heading, *parts) if part)
    shape = 'tabindex="0" style="margin:4px 0;overflow-x:auto"'  # makes wide content scrollable by keyboard
    return f'<div class="tex2jax_ignore mathjax_ignore" {shape}>{within}</div>'


def line(words: str) -> str:
    """Return a line of text for the end of a block, or an empty string if there is no text."""
    if not words:
        return ""
    return f'<div style="margin:4px 0;opacity:.8">{text(words)}</div>'


def note(words: str, *, failure: bool = False) -> str:
    """Return a warning or a failure with a coloured border."""
    style = f"border-left:3px solid {_RED if failure else _AMBER};padding:2px 8px;margin:6px 0;white-space:pre-wrap"
    return f'<div style="{style};overflow-wrap:anywhere">{text(words)}</div>'


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, numbers_from: int) -> str:
    """Return a table of strings; the columns from ``numbers_from`` on are right-aligned."""
    head = "".join(_cell("th", each, column >= numbers_from) for column, each in enumerate(headings))
    lines = ("".join(_cell("td", each, column >= numbers_from) for column, each in enumerate(row)) for row in rows)
    body = "".join(f"<tr>{cells}</tr>" for cells in lines)
    style = "border-collapse:collapse;margin:0;font-variant-numeric:tabular-nums"
    return f'<table style="{style}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _cell(tag: str, content: str, is_number: bool) -> str:
    shape = "text-align:right;white-space:nowrap" if is_number else "text-align:left;overflow-wrap:break-word"
    style = f"{shape};min-width:4em;max-width:40em;padding:3px 14px 3px 0;border-bottom:{_LINE}"
    return f'<{tag} style="{style}">{text(content)}</{tag}>'


def report_html(report: "JobReport") -> str:
    """Return the final state of a job: pipelines, rows, rates, checkpoints, failures and warnings."""
    seconds = report.ended_at - report.started_at
    rows = [
        _cells(view, _rate_of(view, seconds, whole=not report.resumed)) for view in shown_pipelines(report.pipelines)
    ]
    before = "This job had already finished; nothing was moved."
    resumed = "Row counts are for the whole job; time, checkpoints and restarts are for this run."
    return section(
        f"Job {report.name} ({report.job_id}) {report.outcome.value} in {duration(seconds)}",
        _pipelines(report.pipelines, rows),
        line(resumed if report.resumed else ""),
        line(before if report.ended_before else ""),
        *_failures(report.pipelines, (report.failure, report.code)),
        *(note(warning) for warning in report.warnings),
        line("" if report.outcome.value == "finished" else f"To resume it: job.run(restore={report.job_id!r})"),
    )


class InShort:
    """HTML of a report: one line if the job succeeded without warnings, otherwise the whole report."""

    def __init__(self, report: "JobReport") -> None:
        self._report = report

    def __repr__(self) -> str:
        return repr(self._report)

    def _repr_html_(self) -> str:
        report = self._report
        if report.outcome.value != "finished" or report.warnings:
            return report_html(report)
        return line(f"Job {report.name} ({report.job_id}) {report.in_words}")


def metrics_html(metrics: "JobMetrics") -> str:
    """Return the current state of a job, with the rates of the last minute."""
    running = metrics.state == "running"
    rows = [
        _cells(view, rate(view.rows_read_per_second) if running else "") for view in shown_pipelines(metrics.pipelines)
    ]
    return section(
        f"Job {metrics.name} ({metrics.job_id}) {metrics.state}",
        _pipelines(metrics.pipelines, rows),
        *_failures(metrics.pipelines, ("", "")),
    )


def progress_html(progress: "JobProgress") -> str:
    """Return the current state of a job; rates are not included."""
    rows = [_cells(view, "") for view in shown_pipelines(progress.pipelines)]
    return section(
        f"Job {progress.name} ({progress.job_id})",
        _pipelines(progress.pipelines, rows),
        *_failures(progress.pipelines, ("", "")),
    )


_HEADINGS = ("pipeline", "state", "splits", "read", "bytes", "rate", "committed", "checkpoints", "skipped", "restarts")
_WHERE_ANY = ("skipped", "restarts")
"""Columns that are omitted if they would contain only zeros."""


def _pipelines(pipelines: "Sequence[PipelineView]", rows: Sequence[Sequence[str]]) -> str:
    if not pipelines:
        return line("No pipeline has started.")
    more = len(pipelines) - len(rows)
    columns = zip(_HEADINGS, zip(*rows, strict=True), strict=True)
    kept = [(name, cells) for name, cells in columns if name not in _WHERE_ANY or set(cells) != {"0"}]
    lines = list(zip(*(cells for _, cells in kept), strict=True))
    shown = table([name for name, _ in kept], lines, numbers_from=2)
    return shown + (line(f"… and {count(more)} more") if more else "")


def _cells(view: "PipelineView", speed: str) -> tuple[str, ...]:
    failed = f", {count(view.checkpoints_failed)} failed" if view.checkpoints_failed else ""
    return (
        f"{view.id} {view.name}",
        "degraded" if view.degraded and not view.failure else view.phase,
        splits(view),
        count(view.rows_read),
        size(view.bytes_read),
        speed,
        count(view.rows_committed),
        f"{count(view.checkpoints_completed)}{failed}",
        count(view.rows_skipped),
        count(view.restarts),
    )


def splits(view: "PipelineView") -> str:
    """Return the number of finished splits and, if known, the total: ``3/10``."""
    if not view.bounded:
        return count(view.splits_done)
    return f"{count(view.splits_done)}/{'?' if view.splits_total is None else count(view.splits_total)}"


def _rate_of(view: "PipelineView", seconds: float, *, whole: bool) -> str:
    """Return the rate of an ended job; empty for a resumed job, because its rows include those of earlier processes."""
    return rate(view.rows_read / seconds) if whole and seconds > 0 else ""


def _failures(pipelines: "Sequence[PipelineView]", job: tuple[str, str]) -> list[str]:
    failures = [(f"{view.id} {view.name}: {view.failure}", view.code) for view in pipelines if view.failure]
    stalled = [
        note(f"{view.id} {view.name}: {view.degraded}") for view in pipelines if view.degraded and not view.failure
    ]
    own = [(f"The job failed: {job[0]}", job[1])] if job[0] else []
    return stalled + [
        note(f"{words}\nMore: seatunnel help {code}" if code else words, failure=True) for words, code in own + failures
    ]
