"""Formatting of inspector results as text and tables."""

import time
from collections.abc import Iterator, Sequence
from datetime import datetime

from seatunnel_core.cli.terminal.text import table
from seatunnel_core.inspector.content import CheckpointContent
from seatunnel_core.inspector.copy import Copied
from seatunnel_core.inspector.diff import Change
from seatunnel_core.inspector.garbage import Findings, Garbage
from seatunnel_core.inspector.survey import JobState, JobSurvey, PipelineSurvey
from seatunnel_core.inspector.verify import Verification
from seatunnel_core.quantity import duration, pick, size

MOST_PARTS = 10
"""Maximum number of units and committables that are listed per vertex."""

MOST_PASSED_OVER = 5
"""Maximum number of skipped objects that are listed with their path."""


def age(then: float | None) -> str:
    """Return the time since ``then`` as ``12.3 s``, ``4 h 0 min`` or ``12 days``; a dash for ``None``."""
    if then is None:
        return "-"
    seconds = time.time() - then
    return f"{seconds / 86_400:.0f} days" if seconds >= 2 * 86_400 else duration(seconds)


# -- list -------------------------------------------------------------------------------------------------------------


def jobs_table(jobs: Sequence[JobSurvey]) -> str:
    """Return a table of all jobs."""
    if not jobs:
        return "No job."
    rows = [("job", "name", "state", "pipelines", "checkpoints", "size", "last stored")]
    rows += [
        (
            job.job_id,
            job.name or "-",
            job.state.value if not job.all_problems else f"{job.state.value}, DAMAGED",
            str(len(job.pipelines)),
            str(len(job.checkpoints)),
            size(job.size_bytes),
            f"{age(job.active_at)} ago" if job.active_at is not None else "-",
        )
        for job in jobs
    ]
    problems = [f"damaged: job {job.job_id}: {problem}" for job in jobs for problem in job.all_problems]
    return "\n".join([table(rows, right=(3, 4, 5)), *(["", *problems] if problems else [])])


def job_text(job: JobSurvey) -> str:
    """Return the details of one job, with a table for each pipeline."""
    return "\n".join(_job_lines(job))


def _job_lines(job: JobSurvey) -> Iterator[str]:
    yield f"Job {job.job_id}{f' ({job.name})' if job.name else ''}: {_state(job)}"
    for problem in job.problems:
        yield f"  damaged: {problem}"
    for pipeline in job.pipelines.values():
        yield ""
        yield f"Pipeline {pipeline.number}: {pipeline.title}{_epoch(pipeline)}"
        for problem in pipeline.problems:
            yield f"  damaged: {problem}"
        if pipeline.listing.checkpoints:
            yield _checkpoints_table(pipeline)
        else:
            yield "  no checkpoint"


def _state(job: JobSurvey) -> str:
    if job.state is JobState.ENDED and job.ended is not None:
        ended_at = datetime.fromtimestamp(job.ended["ended_at"]).astimezone()
        return f"ended {ended_at:%Y-%m-%d %H:%M:%S}"
    return f"{job.state.value}, started {pick(job.manifest_version or 0, 'time')}"


def _epoch(pipeline: PipelineSurvey) -> str:
    newest = pipeline.listing.newest_epoch
    return "" if newest is None else f", epoch {newest}"


def _checkpoints_table(pipeline: PipelineSurvey) -> str:
    rows = [("checkpoint", "type", "size", "stored", "", "base of its epoch")]
    for info in pipeline.listing.checkpoints:
        state = "live" if pipeline.is_live(info) else "void"
        rows.append(
            (
                str(info.ref),
                info.checkpoint_type.value,
                size(info.size_bytes),
                f"{age(info.stored_at)} ago" if info.stored_at is not None else "-",
                "latest" if info == pipeline.latest else state,
                "none" if info.base is None else str(info.base),
            )
        )
    return table(rows, right=(2,))


# -- show, diff -------------------------------------------------------------------------------------------------------


def ended_text(job: JobSurvey) -> list[str]:
    """Return a line about the end of a finished job; an empty list for other jobs."""
    if job.state is not JobState.ENDED:
        return []
    return [
        f"Job {job.job_id} {_state(job)}: the output of its checkpoints is committed, so -r {job.job_id} moves no "
        "rows. A checkpoint is restored only on request"
    ]


def content_text(opened: CheckpointContent, pipeline: PipelineSurvey) -> str:
    """Return a description of the content of one checkpoint."""
    return "\n".join(_content_lines(opened, pipeline))


def _content_lines(opened: CheckpointContent, pipeline: PipelineSurvey) -> Iterator[str]:
    info = opened.info
    state = (
        "latest"
        if info == pipeline.latest
        else "live"
        if opened.live
        else "VOID: no job will be restored from this checkpoint"
    )
    yield f"Pipeline {pipeline.number}: {pipeline.title}"
    stored = "" if info.stored_at is None else f", stored {age(info.stored_at)} ago"
    yield f"  {info.checkpoint_type.value} {info.ref}, {state}, {size(opened.states_bytes)}{stored}"
    for vertex in opened.vertices:
        yield f"  {vertex.title}"
        yield from (f"    {sentence}" for sentence in vertex.words)
        for name, part in list(vertex.parts.items())[:MOST_PARTS]:
            yield f"      {name}: {part.words}"
            yield from (f"        {line}" for line in part.details)
        if len(vertex.parts) > MOST_PARTS:
            yield f"      … and {len(vertex.parts) - MOST_PARTS:,} more; --json shows all"


def changes_text(before: CheckpointContent, after: CheckpointContent, found: Sequence[Change]) -> str:
    """Return a description of the differences between two checkpoints."""
    lines = [f"Pipeline {after.info.pipeline_id}: from {before.info.ref} to {after.info.ref}"]
    vertex = ""
    for change in found:
        if change.vertex != vertex:
            vertex = change.vertex
            lines.append(f"  {vertex}")
        lines.append(f"    {change.words}")
    return "\n".join(lines if found else [*lines, "  nothing changed"])


def verification_text(found: Verification) -> str:
    """Return the results of a verification as text."""
    lines = [f"Read {pick(found.objects, 'object')}, {size(found.size_bytes)}."]
    if found.unfinished or found.foreign:
        lines.append(
            f"Skipped: {pick(found.unfinished, 'unfinished write')} and {pick(found.foreign, 'object')} of other "
            "programs."
        )
        lines += [f"  {path}" for path in found.passed_over[:MOST_PASSED_OVER]]
        if len(found.passed_over) > MOST_PASSED_OVER:
            lines.append(f"  … and {len(found.passed_over) - MOST_PASSED_OVER:,} more")
    if found.damaged:
        lines += [
            "",
            f"{pick(len(found.damaged), 'object')} DAMAGED:",
            *(f"  {each.problem}" for each in found.damaged),
        ]
    if found.problems:
        lines += ["", f"{pick(len(found.problems), 'problem')}:", *(f"  {problem}" for problem in found.problems)]
    if found.verdicts:
        rows = [("job", "pipeline", "what can be restored")]
        rows += [(each.job_id, f"{each.pipeline} {each.title}", each.words) for each in found.verdicts]
        lines += ["", table(rows)]
    return "\n".join([*lines, "", "Everything is intact." if found.sound else "NOT everything is intact."])


def copied_text(done: Copied, destination: str) -> str:
    """Return the result of copying a job as text."""
    what = (
        f"{pick(done.checkpoints, 'checkpoint')}, {pick(done.attachments, 'attachment')}, {size(done.size_bytes)} "
        "of state, verified"
    )
    verb = "already exists and is identical" if done.was_there else "copied"
    lines = [f"Job {done.job_id} {verb}: {what} in {destination}"]
    lines += [f"  not copied, damaged: {problem}" for problem in done.left_behind]
    return "\n".join(lines)


# -- gc ---------------------------------------------------------------------------------------------------------------


def garbage_text(found: Findings, *, removed: bool, paths: bool) -> str:
    """Return a summary of garbage. ``paths`` is True to list each path; ``removed`` is True if it was removed."""
    lines = []
    if found.garbage:
        lines.append(table(_garbage_rows(found.garbage), right=(2, 3)))
        if paths:
            lines += ["", *(f"  {each.path}" for each in found.garbage)]
        lines.append("")
    verb = "Removed" if removed else "Would remove"
    things = "thing" if len(found.garbage) == 1 else "things"
    lines.append(
        f"{verb} {len(found.garbage):,} {things}, {size(found.size_bytes)}."
        if found.garbage
        else "There is nothing to remove."
    )
    lines += [f"note: {sentence}" for sentence in found.spared]
    return "\n".join(lines)


def _garbage_rows(garbage: Sequence[Garbage]) -> list[tuple[str, ...]]:
    groups: dict[tuple[str, str], list[Garbage]] = {}
    for each in garbage:
        groups.setdefault((each.job_id or "-", each.what), []).append(each)
    rows = [("job", "what", "how many", "size", "oldest")]
    for (job_id, what), members in sorted(groups.items()):
        ages = [each.age_s for each in members if each.age_s is not None]
        oldest = age(time.time() - max(ages)) if ages else "-"
        rows.append((job_id, what, str(len(members)), size(sum(each.size_bytes for each in members)), oldest))
    return [tuple(row) for row in rows]
