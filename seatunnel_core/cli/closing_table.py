"""Closing table of a job: times, rows, checkpoints, failures, warnings and the command that resumes it."""

from collections.abc import Sequence
from datetime import datetime

from seatunnel_core.cli.restore_arguments import with_flags
from seatunnel_core.cli.terminal.pipeline_table import NARROWEST
from seatunnel_core.quantity import count, duration, pick
from seatunnel_core.reporting.report import JobOutcome, JobReport, PipelineView
from seatunnel_core.reporting.shown_pipelines import shown_pipelines

MOST_TABLES = 20
"""Maximum number of tables that are listed per pipeline, largest first."""

SHORTEST_NAME = 12
"""Minimum width of the pipeline name column, even on narrow terminals."""

FENCED = "fenced"
"""Phase of a pipeline that another process took over."""

_HEADINGS = ("pipeline", "state", "read", "written", "committed", "skipped", "checkpoints", "restarts")
_COUNTED = ("rows_read", "rows_written", "rows_committed", "rows_skipped", "checkpoints_completed", "restarts")
_NUMBERS_FROM = 2
_GAP = 2
_WORDS = {JobOutcome.FINISHED: "finished", JobOutcome.STOPPED: "stopped", JobOutcome.FAILED: "FAILED"}


def closing_table(report: JobReport, resume_command: str, *, width: int | None = None) -> str:
    """Return the text that is printed at the end of a job, with pipeline names truncated to fit ``width`` columns.

    A pipeline is named only if there are several.
    """
    took = duration(report.ended_at - report.started_at)
    when = "this run started" if report.resumed else "started"
    lines = [
        "",
        f"Job {report.job_id} ({report.name}) {_WORDS[report.outcome]}",
        *_times(when, report, took, narrow=width is not None and width < NARROWEST),
        "",
        *_table(report.pipelines, width),
    ]
    lines += _told(report.pipelines)
    if report.resumed:
        lines += ["", "Row counts are for the whole job; time, checkpoints and restarts are for this run."]
    if report.ended_before:
        lines += ["", "This job had already finished; nothing was moved."]
    if report.failure:
        lines += ["", f"The job failed: {with_flags(report.failure)}"]
    lines += _failures(report)
    if report.warnings:
        lines += ["", f"{pick(len(report.warnings), 'warning')}:", *(f"  {warning}" for warning in report.warnings)]
    lines += _repeated(report.pipelines)
    if report.log_file is not None:
        lines += ["", f"Spark's log: {report.log_file}"]
    if any(view.phase == FENCED for view in report.pipelines):
        lines += [
            "",
            f"Another process now runs this job: let that process run. To take the job over again: {resume_command}",
        ]
    elif report.outcome is not JobOutcome.FINISHED:
        lines += ["", f"To resume this job: {resume_command}"]
    return "\n".join(lines)


def _times(when: str, report: JobReport, took: str, *, narrow: bool) -> list[str]:
    parts = [f"{when} {_moment(report.started_at)}", f"ended {_moment(report.ended_at)}", f"took {took}"]
    return [f"  {part}" for part in parts] if narrow else [f"  {', '.join(parts)}"]


def _told(pipelines: Sequence[PipelineView]) -> list[str]:
    """Return lines with the committed rows of each table, and lines about targets that already contained rows."""
    lines = []
    for view in pipelines:
        whose = "" if len(pipelines) == 1 else f"pipeline {view.id}: "
        shown = sorted(view.table_rows.items(), key=lambda each: (-each[1], each[0]))[:MOST_TABLES]
        lines += [f"  {whose}{table}: {pick(rows, 'row')} committed" for table, rows in shown]
        if len(view.table_rows) > MOST_TABLES:
            lines.append(f"  {whose}… and {count(len(view.table_rows) - MOST_TABLES)} more tables")
        lines += [f"  {whose}{sentence}" for sentence in view.added]
    return ["", *lines] if lines else []


def _failures(report: JobReport) -> list[str]:
    failed, several = [view for view in report.pipelines if view.failure], len(report.pipelines) > 1
    lines = ["", f"{pick(len(failed), 'pipeline')} failed:"] if failed else []
    lines += [f"  {f'{view.id} {view.name}: ' * several}{with_flags(view.failure)}" for view in failed]
    codes = dict.fromkeys([report.code, *(view.code for view in failed)])
    return lines + [f"  More: seatunnel help {code}" for code in codes if code]


def _repeated(pipelines: Sequence[PipelineView]) -> list[str]:
    """Return lines about rows that were written and then discarded; no other counter includes them."""
    units = sum(view.units_repeated for view in pipelines)
    if not units:
        return []
    where = ", ".join(str(view.id) for view in pipelines if view.units_repeated)
    named = f"pipeline {where}" if where.isdigit() else f"the pipelines {where}"
    ran = "1 work unit of" if units == 1 else f"{count(units)} work units of"
    return ["", f"{ran} {named} ran more than once: rows may be duplicated in sinks that write directly"]


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _table(pipelines: Sequence[PipelineView], width: int | None) -> list[str]:
    if width is not None and width < NARROWEST:
        return [line for view in shown_pipelines(pipelines) for line in _in_lines(view, several=len(pipelines) > 1)]
    shown = shown_pipelines(pipelines)
    several = len(pipelines) > 1
    names = [f"{view.id} {view.name}" if several else str(view.id) for view in shown]
    rows = [_HEADINGS, *(_cells(name, view.phase, [view]) for name, view in zip(names, shown, strict=True))]
    if len(shown) < len(pipelines):
        rows.append((f"… and {count(len(pipelines) - len(shown))} more", *[""] * (len(_HEADINGS) - 1)))
    if several:
        rows.append(_cells("total", "", pipelines))
    if not any(view.restarts for view in pipelines):
        rows = [row[:-1] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if width is not None:
        room = width - sum(_GAP + each for each in widths[1:]) - _GAP
        widths[0] = min(widths[0], max(SHORTEST_NAME, room))
    return ["  " + _aligned(row, widths).rstrip() for row in rows]


def _in_lines(view: PipelineView, *, several: bool) -> list[str]:
    """Format one pipeline as lines, for terminals that are too narrow for columns."""
    skipped = f", {count(view.rows_skipped)} skipped" if view.rows_skipped else ""
    restarts = f", {pick(view.restarts, 'restart')}" if view.restarts else ""
    return [
        f"{view.id} {view.name}" if several else f"pipeline {view.id}",
        f"  {view.phase}, {count(view.rows_read)} read{skipped}",
        f"  {count(view.rows_written)} written, {count(view.rows_committed)} committed",
        f"  {pick(view.checkpoints_completed, 'checkpoint')}{restarts}",
    ]


def _cells(name: str, state: str, views: Sequence[PipelineView]) -> tuple[str, ...]:
    return (name, state, *(count(sum(getattr(view, each) for view in views)) for each in _COUNTED))


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    name = row[0] if len(row[0]) <= widths[0] else f"{row[0][: widths[0] - 1]}…"
    cells = (
        cell.ljust(width) if column < _NUMBERS_FROM else cell.rjust(width)
        for column, (cell, width) in enumerate(zip((name, *row[1:]), widths, strict=True))
    )
    return "  ".join(cells)
