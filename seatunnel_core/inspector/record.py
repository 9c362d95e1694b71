"""Results of the inspector as JSON values.

The keys are stable and documented in ``docs/guides/inspector.md``; new keys may be added. Times are seconds since 1970,
sizes are bytes, checkpoints are ``EPOCH-ID``.
"""

import enum
from collections.abc import Sequence
from typing import Any

from attrs import asdict

from seatunnel_core.inspector.content import CheckpointContent
from seatunnel_core.inspector.copy import Copied
from seatunnel_core.inspector.diff import Change
from seatunnel_core.inspector.garbage import Findings
from seatunnel_core.inspector.survey import JobSurvey, PipelineSurvey
from seatunnel_core.inspector.verify import Verification
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef

Record = dict[str, Any]


def job(survey: JobSurvey, *, with_checkpoints: bool) -> Record:
    """Return the record of a job."""
    return {
        **_named(survey, "job_id", "name", "state", "manifest_version"),
        "ended_at": survey.ended["ended_at"] if survey.ended else None,
        "active_at": survey.active_at,
        "pipelines": [pipeline(each, with_checkpoints=with_checkpoints) for each in survey.pipelines.values()],
        "checkpoints": len(survey.checkpoints),
        "size_bytes": survey.size_bytes,
        "problems": list(survey.all_problems),
    }


def pipeline(survey: PipelineSurvey, *, with_checkpoints: bool) -> Record:
    """Return the record of a pipeline."""
    found: Record = {
        "pipeline": survey.number,
        "title": survey.title,
        "newest_epoch": survey.listing.newest_epoch,
        **_named(survey, "latest", "problems"),
    }
    if with_checkpoints:
        found["checkpoints"] = [checkpoint(info, survey) for info in survey.listing.checkpoints]
    return found


def checkpoint(info: CheckpointInfo, survey: PipelineSurvey) -> Record:
    """Return the record of a checkpoint in a listing."""
    return {
        "checkpoint": str(info.ref),
        **_named(info, "epoch", "checkpoint_id"),
        "type": info.checkpoint_type.value,
        **_named(info, "size_bytes", "stored_at"),
        "live": survey.is_live(info),
        **_named(info, "base"),
    }


def content(opened: CheckpointContent) -> Record:
    """Return the record of a checkpoint's content."""
    info = opened.info
    return {
        "job_id": info.job_id,
        "pipeline": info.pipeline_id,
        "checkpoint": str(info.ref),
        "type": info.checkpoint_type.value,
        **_named(info, "base"),
        **_named(opened, "live", "states_bytes"),
        "vertices": [
            {
                **_named(vertex, "kind", "name", "words"),
                "facts": dict(vertex.facts),
                "parts": [{"name": name, **_named(part, "words", "details")} for name, part in vertex.parts.items()],
            }
            for vertex in opened.vertices
        ],
    }


def comparison(before: CheckpointContent, after: CheckpointContent, found: Sequence[Change]) -> Record:
    """Return the record of the differences between two checkpoints of a pipeline."""
    refs = {"from": str(before.info.ref), "to": str(after.info.ref)}
    changed = [_named(each, "vertex", "what", "before", "after") for each in found]
    return {"pipeline": after.info.pipeline_id, **refs, "changes": changed}


def verification(found: Verification) -> Record:
    """Return the record of a verification."""
    damaged = ("job_id", "pipeline", "kind", "checkpoint", "path", "problem")
    verdict = ("job_id", "pipeline", "latest", "restorable", "words")
    return {
        **_named(found, "sound", "objects", "size_bytes"),
        "damaged": [_named(each, *damaged) for each in found.damaged],
        "problems": list(found.problems),
        "pipelines": [_named(each, *verdict) for each in found.verdicts],
        **_named(found, "unfinished", "foreign"),
    }


def copied(done: Copied) -> Record:
    """Return the record of a copied job."""
    return asdict(done)


def findings(found: Findings) -> Record:
    """Return the record of garbage."""
    garbage = ("what", "job_id", "pipeline", "path", "size_bytes", "age_s")
    return {
        "garbage": [_named(each, *garbage) for each in found.garbage],
        **_named(found, "size_bytes", "spared", "damaged"),
    }


def _named(found: Any, *names: str) -> Record:
    return {name: _plain(getattr(found, name)) for name in names}


def _plain(value: Any) -> Any:
    match value:
        case CheckpointInfo():
            return str(value.ref)
        case CheckpointRef():
            return str(value)
        case enum.Enum():
            return value.value
        case tuple():
            return list(value)
    return value
