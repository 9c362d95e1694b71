"""``seatunnel checkpoints``: inspects checkpoint storages, copies jobs and removes garbage."""

import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from seatunnel_core.checkpoint.errors import StateFormatError
from seatunnel_core.cli.checkpoints import tables as tables
from seatunnel_core.cli.checkpoints.arguments import CheckpointsArguments
from seatunnel_core.cli.logs import logs_sent_to
from seatunnel_core.errors import CopyError, UsageError
from seatunnel_core.inspector import record
from seatunnel_core.inspector.archive import publish
from seatunnel_core.inspector.content import CheckpointContent, content_of
from seatunnel_core.inspector.copy import copy_job
from seatunnel_core.inspector.diff import changes
from seatunnel_core.inspector.garbage import find_garbage, remove
from seatunnel_core.inspector.misplaced import misplaced
from seatunnel_core.inspector.reference import title
from seatunnel_core.inspector.survey import JobSurvey, PipelineSurvey, survey, survey_job
from seatunnel_core.inspector.verify import verify
from seatunnel_storage_api.errors import (
    CheckpointCorruptedError,
    StorageAccessError,
    StorageUsageError,
    UnsupportedFormatError,
)
from seatunnel_storage_api.inventory import Holding
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef
from seatunnel_storage_api.storage import CheckpointStorage

DONE = 0
FAILED = 1

UNREADABLE = (CheckpointCorruptedError, UnsupportedFormatError, StateFormatError, StorageAccessError)
"""Errors for damaged, incompatible or inaccessible objects. They are reported alongside the readable objects."""

_CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
"""Control characters to remove from stored names, because they could manipulate the terminal."""

_EVERY_S = 5.0
"""Seconds between two progress lines if standard error is not a terminal."""


def checkpoints(arguments: CheckpointsArguments) -> int:
    """Run a verb, print its result, and return the exit code."""
    try:
        with logs_sent_to(_say, level="WARNING", format="text"), _opened(arguments) as storage:
            return _VERBS[arguments.verb](arguments, storage)
    except StorageUsageError as error:
        raise UsageError(str(error)) from error


def _opened(arguments: CheckpointsArguments) -> CheckpointStorage:
    return arguments.storage.open(to_remove=arguments.verb == "gc" and not arguments.dry_run)


def _list(arguments: CheckpointsArguments, storage: CheckpointStorage) -> int:
    jobs = _jobs(arguments, storage)
    detailed = bool(arguments.jobs)
    instead = None if any(job.checkpoints for job in jobs) else misplaced(storage)
    shown = "\n\n".join(map(tables.job_text, jobs)) if detailed else tables.jobs_table(jobs)
    _print(
        arguments,
        lambda: "\n\n".join(filter(None, (f"Storage: {title(storage)}", shown, instead))),
        {"storage": title(storage), "jobs": [record.job(job, with_checkpoints=detailed) for job in jobs]},
    )
    return FAILED if any(job.all_problems for job in jobs) else DONE


def _show(arguments: CheckpointsArguments, storage: CheckpointStorage) -> int:
    job = survey_job(storage, arguments.jobs[0])
    shown: list[tuple[PipelineSurvey, CheckpointContent]] = []
    damaged: list[str] = []
    for pipeline in _pipelines(job, arguments.pipeline):
        info = _chosen(pipeline, arguments.refs[0]) if arguments.refs else pipeline.latest
        if info is not None:
            try:
                shown.append((pipeline, content_of(storage, job, pipeline, info)))
            except UNREADABLE as error:
                damaged.append(f"Pipeline {pipeline.number}: checkpoint {info.ref} cannot be shown: {error}")
        elif arguments.pipeline is not None:
            raise UsageError(f"pipeline {pipeline.number} of job {job.job_id} has no checkpoint")
    texts = [tables.content_text(content, pipeline) for pipeline, content in shown]
    _print(
        arguments,
        lambda: "\n\n".join([*tables.ended_text(job), *texts, *damaged] if texts or damaged else ["No checkpoint."]),
        {"checkpoints": [record.content(content) for _, content in shown], "damaged": damaged},
    )
    return FAILED if damaged else DONE


def _diff(arguments: CheckpointsArguments, storage: CheckpointStorage) -> int:
    job = survey_job(storage, arguments.jobs[0])
    texts, records, damaged = [], [], []
    for pipeline in _pipelines(job, arguments.pipeline):
        pair = _pair(pipeline, arguments)
        if pair is None:
            texts.append(f"Pipeline {pipeline.number}: fewer than two live checkpoints")
            continue
        try:
            before, after = (content_of(storage, job, pipeline, info) for info in pair)
        except UNREADABLE as error:
            damaged.append(f"Pipeline {pipeline.number}: {error}")
            continue
        found = changes(before, after)
        texts.append(tables.changes_text(before, after, found))
        records.append(record.comparison(before, after, found))
    _print(
        arguments,
        lambda: "\n\n".join([*texts, *damaged]),
        {"job_id": job.job_id, "pipelines": records, "damaged": damaged},
    )
    return FAILED if damaged else DONE


def _verify(arguments: CheckpointsArguments, storage: CheckpointStorage) -> int:
    instead = misplaced(storage)
    if instead is not None:
        raise UsageError(f"Nothing was verified: {instead}")
    jobs = _jobs(arguments, storage) if arguments.jobs else survey(storage, deleted=True)
    with _progress(sum(len(job.holdings) for job in jobs), quiet=arguments.json) as progress:
        found = verify(storage, jobs, progress)
    _print(
        arguments,
        lambda: f"Storage: {title(storage)}\n\n{tables.verification_text(found)}",
        {"storage": title(storage), **record.verification(found)},
    )
    return DONE if found.sound else FAILED


def _copy(arguments: CheckpointsArguments, storage: CheckpointStorage) -> int:
    assert arguments.destination is not None
    jobs = arguments.jobs or tuple(job.job_id for job in survey(storage))
    if not jobs:
        raise UsageError(f"{title(storage)} has no job")
    done, failed = [], []
    with arguments.destination.open(to_write=True) as destination:
        for job_id in jobs:
            try:
                done.append(copy_job(storage, destination, job_id))
            except (CopyError, UsageError, *UNREADABLE) as error:
                failed.append(str(error))
        where = title(destination)
        if not failed:
            publish(destination)
        elif arguments.verb == "export":
            done, failed = [], [*failed, f"{where} was not written"]
    for each in done:
        for warning in each.warnings:
            _say(f"warning: {warning}")
    _print(
        arguments,
        lambda: "\n".join([*(tables.copied_text(each, where) for each in done), *failed]),
        {"to": where, "jobs": [record.copied(each) for each in done], "failed": failed},
    )
    return FAILED if failed or any(each.left_behind for each in done) else DONE


def _gc(arguments: CheckpointsArguments, storage: CheckpointStorage) -> int:
    found = find_garbage(
        storage,
        _jobs(arguments, storage),
        whole=not arguments.jobs,
        targets=arguments.targets,
        older_than_s=arguments.older_than_s,
        ended_jobs=arguments.ended_jobs,
    )
    failures = () if arguments.dry_run else remove(storage, found.garbage)
    _print(
        arguments,
        lambda: "\n".join(
            [tables.garbage_text(found, removed=not arguments.dry_run, paths=arguments.paths), *failures]
        ),
        {"dry_run": arguments.dry_run, "failures": list(failures), **record.findings(found)},
    )
    return FAILED if failures or found.damaged else DONE


_VERBS: dict[str, Callable[[CheckpointsArguments, CheckpointStorage], int]] = {
    "list": _list,
    "show": _show,
    "diff": _diff,
    "verify": _verify,
    "copy": _copy,
    "export": _copy,
    "gc": _gc,
}


# -- shared helpers -------------------------------------------------------------------------------------------------


def _jobs(arguments: CheckpointsArguments, storage: CheckpointStorage) -> tuple[JobSurvey, ...]:
    if arguments.jobs:
        return tuple(survey_job(storage, job_id) for job_id in arguments.jobs)
    return survey(storage)


def _pipelines(job: JobSurvey, number: int | None) -> tuple[PipelineSurvey, ...]:
    return tuple(job.pipelines.values()) if number is None else (job.pipeline(number),)


def _chosen(pipeline: PipelineSurvey, ref: CheckpointRef | int) -> CheckpointInfo:
    if isinstance(ref, CheckpointRef):
        return pipeline.find(ref)
    epochs = [info.epoch for info in pipeline.listing.checkpoints if info.checkpoint_id == ref]
    return pipeline.find(CheckpointRef(max(epochs, default=pipeline.listing.highest_epoch), ref))


def _pair(pipeline: PipelineSurvey, arguments: CheckpointsArguments) -> tuple[CheckpointInfo, CheckpointInfo] | None:
    chosen = [_chosen(pipeline, ref) for ref in arguments.refs]
    if len(chosen) == 1 and pipeline.latest is not None:
        chosen.append(pipeline.latest)
    infos = chosen or list(pipeline.live[-2:])
    return (infos[0], infos[1]) if len(infos) > 1 else None


def _print(arguments: CheckpointsArguments, text: Callable[[], str], found: record.Record) -> None:
    print(json.dumps(found, indent=2) if arguments.json else _CONTROLS.sub("?", text()))


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@contextmanager
def _progress(total: int, *, quiet: bool) -> Iterator[Callable[[Holding], object]]:
    """Show progress as a bar on a terminal, otherwise as periodic lines."""
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        yield from _bar(total)
    else:
        yield _lines(total)


def _bar(total: int) -> Iterator[Callable[[Holding], object]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = ("reading", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("reading", total=total)
        yield lambda _: progress.advance(task)


def _lines(total: int, clock: Callable[[], float] = time.monotonic) -> Callable[[Holding], object]:
    read, said = 0, clock()

    def progress(_: Holding) -> None:
        nonlocal read, said
        read += 1
        if clock() - said >= _EVERY_S:
            said = clock()
            _say(f"read {read:,} of {total:,} objects")

    return progress
