"""Files in the staging folders of file sinks, and the committables that refer to them (protocol rule R9)."""

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from attrs import evolve, frozen

from seatunnel_core.config.job_file import Kind
from seatunnel_core.connectors.filesystems.staged_name import (
    FENCE,
    PREPARED,
    PROBE,
    REPLACED,
    REPLACING,
    SAVE_MODE,
    STAGING,
    committable_id,
    owner,
)
from seatunnel_core.inspector.survey import JobSurvey


@frozen(kw_only=True)
class StagedFile:
    """A staged file of a sink, or a folder that contains only its marker file.

    Its path is below ``<target>/.seatunnel/<job>/<pipeline>/<epoch>/``, below ``<target>/.seatunnel/<job>/replacing/``,
    or below the fence of a save mode in the epoch's folder, which contains files that the save mode removes.
    """

    path: str
    job_id: str
    pipeline: int
    epoch: int
    size_bytes: int
    modified_at: float
    committable: str | None = None
    """ID of the committable that may refer to the file; ``None`` for a probe, a foreign file or a folder."""

    is_folder: bool = False
    is_foreign: bool = False
    """True if sinks do not create files with this name."""

    is_committed: bool = False
    """True if its rows are committed and will replace existing rows: the job needs it regardless of checkpoints."""


Make = Callable[..., StagedFile]


def targets_of(jobs: Iterable[JobSurvey]) -> tuple[str, ...]:
    """Return the sorted target folders of the jobs' sinks, from the manifests."""
    folders = {
        folder
        for job in jobs
        for number in job.pipelines
        for seat in job.assignments(Kind.SINK, number).values()
        for folder in seat.targets
    }
    return tuple(sorted(folders))


def staged(target: str) -> Iterator[StagedFile]:
    """Yield all staged files of all jobs in a target folder. A missing folder has none."""
    root = Path(target, STAGING)
    for job_folder in _folders(root):
        for pipeline_folder in _numbered(job_folder):
            for epoch_folder in _numbered(pipeline_folder):
                yield from _epoch(epoch_folder, _of(job_folder, pipeline_folder.name, epoch_folder.name))
        for fence in _folders(job_folder / SAVE_MODE):
            if found := FENCE.fullmatch(fence.name):
                yield from _all_below(fence, _of(job_folder, found["pipeline"], found["epoch"]))
        if (job_folder / REPLACING).is_dir():
            yield from _replacing(job_folder)


def _of(job_folder: Path, pipeline: str, epoch: str) -> Make:
    """Return a constructor for the files of an epoch, which takes the remaining attributes."""
    return partial(StagedFile, job_id=job_folder.name, pipeline=int(pipeline), epoch=int(epoch))


def _replacing(job_folder: Path) -> Iterator[StagedFile]:
    """Yield the files of a pending replacement, and replaced files that were not removed yet."""
    folder = job_folder / REPLACING
    for each in _all_below(folder, _of(job_folder, "0", "0")):
        found = REPLACED.match(os.path.relpath(each.path, folder))
        yield evolve(each, pipeline=int(found["pipeline"]) if found else 0, is_committed=True)


def _all_below(folder: Path, make: Make) -> Iterator[StagedFile]:
    """Yield a folder and its contents, folders after their contents."""
    for where, folders, names in os.walk(folder, topdown=False):
        links = [name for name in folders if os.path.islink(os.path.join(where, name))]
        for path in (*(os.path.join(where, name) for name in (*names, *links)), where):
            status = os.lstat(path)
            size = 0 if path == where else status.st_size
            yield make(path=path, size_bytes=size, modified_at=status.st_mtime, is_folder=path == where)


def _epoch(folder: Path, make: Make) -> Iterator[StagedFile]:
    entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    for entry in entries:
        if entry.name == PREPARED:
            continue
        status = entry.stat(follow_symlinks=False)
        unit = owner(entry.name, folder.parents[1].name)
        yield make(
            path=entry.path,
            size_bytes=status.st_size,
            modified_at=status.st_mtime,
            committable=committable_id(unit) if unit is not None else None,
            is_foreign=entry.is_dir(follow_symlinks=False) or (unit is None and not entry.name.startswith(PROBE)),
        )
    yield make(path=str(folder), size_bytes=0, modified_at=folder.stat().st_mtime, is_folder=True)


def _numbered(folder: Path) -> list[Path]:
    return [each for each in _folders(folder) if each.name.isdigit() and each.name.isascii()]


def _folders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return sorted(Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return []
