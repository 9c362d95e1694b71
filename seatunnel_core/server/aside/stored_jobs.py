"""Verification and comparison of stored checkpoints, which are read completely."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from seatunnel_core import inspector, stored
from seatunnel_core.errors import UsageError
from seatunnel_core.inspector import record
from seatunnel_core.inspector.survey import JobSurvey, PipelineSurvey
from seatunnel_storage_api.errors import CheckpointCorruptedError, UnsupportedFormatError
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef
from seatunnel_storage_api.storage import CheckpointStorage

_REF = re.compile(r"(\d{1,18})-(\d{1,18})", re.ASCII)


@contextmanager
def _opened(request: Any) -> Iterator[tuple[CheckpointStorage, JobSurvey]]:
    file = stored.text(request, "engine_file")
    with inspector.StorageReference(engine_file=Path(file) if file else None).open() as storage:
        yield storage, inspector.survey_job(storage, stored.text(request, "job_id"))


def verify(request: Any) -> dict[str, Any]:
    """Return the damaged checkpoints of a job, and the checkpoints that can be restored."""
    with _opened(request) as (storage, job):
        return {"job_id": job.job_id, **record.verification(inspector.verify(storage, [job]))}


def compare(request: Any) -> dict[str, Any]:
    """Return the differences between two checkpoints of each pipeline, by default the latest two."""
    number, named = stored.number(request, "pipeline"), [stored.text(request, key) for key in ("from", "to")]
    with _opened(request) as (storage, job):
        pipelines = [job.pipeline(number)] if number else list(job.pipelines.values())
        found, damaged = [], []
        for pipeline in pipelines:
            pair = _pair(pipeline, named)
            try:
                if pair is not None:
                    found.append(_compared(storage, job, pipeline, pair))
            except (CheckpointCorruptedError, UnsupportedFormatError) as error:
                damaged.append(f"pipeline {pipeline.number}: {error}")
        return {"job_id": job.job_id, "pipelines": found, "damaged": damaged}


def _pair(pipeline: PipelineSurvey, named: list[str]) -> tuple[CheckpointInfo, CheckpointInfo] | None:
    """Return the two checkpoints to compare; ``None`` if none were requested and the pipeline has fewer than two."""
    if any(named):
        before, after = (pipeline.find(_ref(text)) for text in named)
        return before, after
    return (pipeline.live[-2], pipeline.live[-1]) if len(pipeline.live) > 1 else None


def _ref(text: str) -> CheckpointRef:
    match = _REF.fullmatch(text)
    if match is None:
        raise UsageError(f"{text[:40]!r} is not a checkpoint: expected EPOCH-ID for from and to")
    return CheckpointRef(int(match[1]), int(match[2]))


def _compared(
    storage: CheckpointStorage, job: JobSurvey, pipeline: PipelineSurvey, pair: tuple[CheckpointInfo, CheckpointInfo]
) -> dict[str, Any]:
    before, after = (inspector.content_of(storage, job, pipeline, info) for info in pair)
    return record.comparison(before, after, inspector.changes(before, after))
