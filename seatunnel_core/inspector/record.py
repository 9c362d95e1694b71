"""Results of the inspector as JSON values, for programs.

The keys are stable and documented in ``docs/guides/inspector.md``; new ones may be added. Times are seconds since 1970,
sizes are bytes, checkpoints are ``EPOCH-ID``.
"""

from typing import Any

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
        "job_id": survey.job_id,
        "name": survey.name,
        "state": survey.state.value,
        "manifest_version": survey.manifest_version,
        "ended_at": survey.ended["ended_at"] if survey.ended else None,
        "active_at": survey.active_at,
        "pipelines": [pipeline(each, with_checkpoints=with_checkpoints) for each in survey.pipelines.values()],
        "checkpoints": len(survey.checkpoints),
        "size_bytes": survey.size_bytes,
        "problems": list(survey.all_problems),
    }


def pipeline(survey: PipelineSurvey, *, with_checkpoints: bool) -> Record:
    """Return the record of a pipeline."""
    latest = survey.latest
    found: Record = {
        "pipeline": survey.number,
        "title": survey.title,
        "newest_epoch": survey.listing.newest_epoch,
        "latest": None if latest is None else str(latest.ref),
        "problems": list(survey.problems),
    }
    if with_checkpoints:
        found["checkpoints"] = [checkpoint(info, survey) for info in survey.listing.checkpoints]
    return found


def checkpoint(info: CheckpointInfo, survey: PipelineSurvey) -> Record:
    """Return the record of a checkpoint in a listing."""
    return {
        "checkpoint": str(info.ref),
        "epoch": info.epoch,
        "checkpoint_id": info.checkpoint_id,
        "type": info.checkpoint_type.value,
        "size_bytes": info.size_bytes,
        "stored_at": info.stored_at,
        "live": survey.is_live(info),
        "base": _ref(info.base),
    }


def content(opened: CheckpointContent) -> Record:
    """Return the record of a checkpoint's content."""
    info = opened.info
    return {
        "job_id": info.job_id,
        "pipeline": info.pipeline_id,
        "checkpoint": str(info.ref),
        "type": info.checkpoint_type.value,
        "base": _ref(info.base),
        "live": opened.live,
        "states_bytes": opened.states_bytes,
        "vertices": [
            {
                "kind": vertex.kind,
                "name": vertex.name,
                "words": list(vertex.words),
                "facts": dict(vertex.facts),
                "parts": [
                    {"name": name, "words": part.words, "details": list(part.details)}
                    for name, part in vertex.parts.items()
                ],
            }
            for vertex in opened.vertices
        ],
    }


def change(found: Change) -> Record:
    """Return the record of one difference."""
    return {"vertex": found.vertex, "what": found.what, "before": found.before, "after": found.after}


def verification(found: Verification) -> Record:
    """Return the record of a verification."""
    return {
        "sound": found.sound,
        "objects": found.objects,
        "size_bytes": found.size_bytes,
        "damaged": [
            {
                "job_id": damage.job_id,
                "pipeline": damage.pipeline,
                "kind": damage.kind.value,
                "checkpoint": None if damage.checkpoint is None else str(damage.checkpoint.ref),
                "path": damage.path,
                "problem": damage.problem,
            }
            for damage in found.damaged
        ],
        "problems": list(found.problems),
        "pipelines": [
            {
                "job_id": verdict.job_id,
                "pipeline": verdict.pipeline,
                "latest": _ref(verdict.latest),
                "restorable": _ref(verdict.restorable),
                "words": verdict.words,
            }
            for verdict in found.verdicts
        ],
        "unfinished": found.unfinished,
        "foreign": found.foreign,
    }


def copied(done: Copied) -> Record:
    """Return the record of a copied job."""
    return {
        "job_id": done.job_id,
        "checkpoints": done.checkpoints,
        "attachments": done.attachments,
        "size_bytes": done.size_bytes,
        "was_there": done.was_there,
        "left_behind": list(done.left_behind),
        "warnings": list(done.warnings),
    }


def findings(found: Findings) -> Record:
    """Return the record of garbage."""
    return {
        "garbage": [
            {
                "what": each.what,
                "job_id": each.job_id,
                "pipeline": each.pipeline,
                "path": each.path,
                "size_bytes": each.size_bytes,
                "age_s": each.age_s,
            }
            for each in found.garbage
        ],
        "size_bytes": found.size_bytes,
        "spared": list(found.spared),
        "damaged": found.damaged,
    }


def _ref(ref: CheckpointRef | None) -> str | None:
    return None if ref is None else str(ref)
