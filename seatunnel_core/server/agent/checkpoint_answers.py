"""REST responses about checkpoints in SeaTunnel's format, from the storage and from running jobs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from seatunnel_core.reporting.recent import COMPLETED, FAILED

Block = Mapping[str, Any]

MOST_HISTORY = 32
"""Maximum number of checkpoints per pipeline in the overview, as in SeaTunnel."""


def merged(
    stored: Sequence[Block], shown: Sequence[Block], recent: Mapping[str, Sequence[Block]]
) -> dict[int, list[dict[str, Any]]]:
    """Return the distinct checkpoints, keyed by pipeline number, newest first."""
    found: dict[int, dict[tuple[int, int], dict[str, Any]]] = {}
    for pipeline in stored:
        own = found.setdefault(pipeline["pipeline"], {})
        for each in pipeline["checkpoints"]:
            own[each["epoch"], each["checkpoint_id"]] = _stored(each)
    for number, told in recent.items():
        own = found.setdefault(int(number), {})
        for each in told:
            key = each["epoch"], each["checkpoint_id"]
            own[key] = {**_told(each), **_kept(own.get(key))}
    for pipeline in shown:
        told = pipeline.get("checkpoints", {})
        last = found.get(pipeline["id"], {}).get((told.get("epoch", 0), pipeline.get("checkpoint") or 0))
        if last is not None and last["durationMillis"] is None:
            last.update(_measured(last, pipeline, told))
    return {number: sorted(own.values(), key=_moment, reverse=True) for number, own in found.items()}


def _moment(checkpoint: Block) -> tuple[int, ...]:
    """Return the time of a checkpoint, then its epoch and ID: several may complete within a millisecond."""
    time_ms = checkpoint["completedTimestamp"] or checkpoint["triggerTimestamp"] or 0
    return time_ms, *map(int, checkpoint["checkpoint"].split("-"))


def _stored(found: Block) -> dict[str, Any]:
    at = None if found["stored_at"] is None else int(found["stored_at"] * 1000)
    return {
        "checkpointId": found["checkpoint_id"],
        "checkpoint": found["checkpoint"],
        "checkpointType": _type(found["type"]),
        "status": COMPLETED,
        "triggerTimestamp": at,
        "completedTimestamp": at,
        "durationMillis": None,
        "stateSize": found["size_bytes"],
        "failureReason": "",
        "stored": True,
        "live": found["live"],
    }


def _told(found: Block) -> dict[str, Any]:
    ended, took = int(found["ended_at"] * 1000), found["duration_ms"]
    return {
        "checkpointId": found["checkpoint_id"],
        "checkpoint": f"{found['epoch']}-{found['checkpoint_id']}",
        "checkpointType": _type(found["type"] or "checkpoint"),
        "status": found["status"],
        "triggerTimestamp": ended - (took or 0),
        "completedTimestamp": ended if found["status"] == COMPLETED else None,
        "durationMillis": took,
        "stateSize": found["state_bytes"],
        "failureReason": found["reason"],
        "stored": False,
        "live": False,
    }


def _kept(stored: Block | None) -> dict[str, Any]:
    """Return the fields of a stored checkpoint that override the fields reported by the job."""
    return {} if stored is None else {key: stored[key] for key in ("checkpointType", "stateSize", "stored", "live")}


def _measured(last: Block, pipeline: Block, told: Block) -> dict[str, Any]:
    """Return the duration of a pipeline's last checkpoint, unless it was measured before a restart."""
    if not told.get("completed") or pipeline.get("restarts") or last["completedTimestamp"] is None:
        return {}
    took = told["acknowledge_ms"] + told["store_ms"]
    return {"durationMillis": took, "triggerTimestamp": last["completedTimestamp"] - took}


def _type(value: str) -> str:
    return f"{value.upper().replace('-', '_')}_TYPE"


def overview(
    stored: Sequence[Block], shown: Sequence[Block], recent: Mapping[str, Sequence[Block]]
) -> list[dict[str, Any]]:
    """Return the checkpoint overview of pipelines from the storage, their metrics, and reports of the running job."""
    by_number, running = {each["pipeline"]: each for each in stored}, {each["id"]: each for each in shown}
    checkpoints = merged(stored, shown, recent)
    return [
        _pipeline(
            number,
            by_number.get(number, {}),
            running.get(number, {}),
            checkpoints.get(number, []),
            Counter(each["status"] for each in recent.get(str(number), ())),
        )
        for number in sorted({*by_number, *running, *checkpoints})
    ]


def _pipeline(
    number: int, stored: Block, live: Block, checkpoints: Sequence[dict[str, Any]], recent: Counter[str]
) -> dict[str, Any]:
    completed = [each for each in checkpoints if each["status"] == COMPLETED]
    told, count = live.get("checkpoints", {}), sum(each["stored"] for each in completed)
    # Counts are measured once a second; the job's own list may already contain more.
    return {
        "pipelineId": number,
        "title": stored.get("title") or live.get("name", ""),
        "counts": {
            "triggered": max(told.get("triggered", count), recent.total()),
            "completed": max(told.get("completed", count), recent[COMPLETED]),
            "failed": max(told.get("failed", 0), recent[FAILED]),
            "inProgress": told.get("pending", 0),
            "restored": live.get("restores", 0),
        },
        "stored": count,
        "latestCompleted": next(iter(completed), None),
        "latestFailed": next((each for each in checkpoints if each["status"] == FAILED), None),
        "latestSavepoint": next((each for each in completed if each["checkpointType"] == "SAVEPOINT_TYPE"), None),
        "inProgress": [],
        "history": [{"pipelineId": number, "checkpoint": each} for each in checkpoints[:MOST_HISTORY]],
        "problems": list(stored.get("problems", ())),
    }


def history(
    stored: Sequence[Block],
    shown: Sequence[Block],
    recent: Mapping[str, Sequence[Block]],
    *,
    pipeline: int,
    status: str,
    limit: int,
) -> list[dict[str, Any]]:
    """Return the checkpoints of a job, newest first. ``pipeline = 0`` and an empty ``status`` select all."""
    found: list[dict[str, Any]] = [
        {"pipelineId": number, "checkpoint": each}
        for number, checkpoints in merged(stored, shown, recent).items()
        if pipeline in (0, number)
        for each in checkpoints
        if status in ("", each["status"])
    ]
    found.sort(key=lambda entry: _moment(entry["checkpoint"]), reverse=True)
    return found[:limit]
