"""Stored checkpoints and those that a running job tells of, as one list."""

from typing import Any

from seatunnel_core.checkpoint import commands
from seatunnel_core.checkpoint.commands import AbortKind
from seatunnel_core.reporting.recent import KEPT, RecentCheckpoints
from seatunnel_core.server.agent.checkpoint_answers import history, overview
from seatunnel_storage_api.state import CheckpointType


def stored(*keys: tuple[int, int], at: float = 100.0, type: str = "checkpoint") -> dict[str, Any]:
    return {
        "pipeline": 1,
        "title": "a -> b",
        "problems": [],
        "checkpoints": [
            {
                "checkpoint": f"{epoch}-{id}", "epoch": epoch, "checkpoint_id": id, "type": type, "size_bytes": 7,
                "stored_at": at + id, "live": True,
            }
            for epoch, id in keys
        ],
    }  # fmt: skip


def recorded() -> list[Any]:
    recent = RecentCheckpoints()
    recent.epoch_started(200_000)
    kind = CheckpointType.CHECKPOINT
    for id in (4, 5):
        recent.completed(
            commands.CheckpointCompleted(
                checkpoint_id=id, checkpoint_type=kind, acknowledge_ms=30, store_ms=12, state_bytes=9
            )
        )
    recent.aborted(commands.CheckpointAborted(checkpoint_id=6, kind=AbortKind.EXPIRED, reason="too slow"))
    recent.aborted(commands.CheckpointAborted(checkpoint_id=7, kind=AbortKind.ENDED, reason="the pipeline ended"))
    return [each.record() for each in recent.listed()]


def test_each_checkpoint_is_listed_once_with_what_storage_and_job_know() -> None:
    found = history([stored((100_000, 2), (200_000, 5))], [], {"1": recorded()}, pipeline=0, status="", limit=10)
    assert [(each["checkpoint"]["checkpoint"], each["checkpoint"]["status"]) for each in found] == [
        ("200000-7", "CANCELED"),
        ("200000-6", "FAILED"),
        ("200000-5", "COMPLETED"),
        ("200000-4", "COMPLETED"),
        ("100000-2", "COMPLETED"),
    ]
    by_name = {each["checkpoint"]["checkpoint"]: each["checkpoint"] for each in found}
    both, pruned, alone = by_name["200000-5"], by_name["200000-4"], by_name["100000-2"]
    assert (both["durationMillis"], both["stateSize"], both["stored"], both["live"]) == (42, 7, True, True)
    assert both["completedTimestamp"] - both["triggerTimestamp"] == 42
    assert (pruned["durationMillis"], pruned["stateSize"], pruned["stored"], pruned["live"]) == (42, 9, False, False)
    assert (alone["durationMillis"], alone["stored"]) == (None, True)
    assert by_name["200000-6"]["failureReason"] == "too slow"
    assert history([stored((1, 1))], [], {"1": recorded()}, pipeline=2, status="", limit=10) == []
    assert len(history([stored((1, 1))], [], {"1": recorded()}, pipeline=1, status="FAILED", limit=10)) == 1


def test_checkpoints_of_one_millisecond_are_listed_by_epoch() -> None:
    """A smaller ID of a later epoch came after a larger one of an earlier epoch."""
    both = stored((100_000, 4), (200_000, 3))
    for each in both["checkpoints"]:
        each["stored_at"] = 100.0
    found = history([both], [], {}, pipeline=0, status="", limit=10)
    assert [each["checkpoint"]["checkpoint"] for each in found] == ["200000-3", "100000-4"]


def test_of_a_job_that_has_ended_the_last_one_has_its_duration_and_all_are_counted() -> None:
    counts = {"triggered": 5, "completed": 3, "failed": 2, "pending": 0}
    measured = {**counts, "epoch": 200_000, "acknowledge_ms": 30, "store_ms": 12}
    shown = {"id": 1, "name": "a -> b", "checkpoint": 5, "restarts": 0, "restores": 1, "checkpoints": measured}
    both = stored((200_000, 4), (200_000, 5))
    (pipeline,) = overview([both], [shown], {})
    assert pipeline["counts"] == {"triggered": 5, "completed": 3, "failed": 2, "inProgress": 0, "restored": 1}
    last, earlier = (each["checkpoint"] for each in pipeline["history"])
    assert (last["durationMillis"], last["completedTimestamp"] - last["triggerTimestamp"]) == (42, 42)
    assert earlier["durationMillis"] is None
    assert history([both], [shown], {}, pipeline=0, status="", limit=1)[0]["checkpoint"] == last
    for unsure in ({"restarts": 1}, {"checkpoints": {**measured, "completed": 0}}, {"checkpoint": 6}):
        (pipeline,) = overview([both], [{**shown, **unsure}], {})
        assert pipeline["latestCompleted"]["durationMillis"] is None, unsure


def test_counts_that_were_measured_a_moment_ago_hold_what_the_job_tells_of_now() -> None:
    earlier = {"id": 1, "checkpoints": {"triggered": 1, "completed": 1, "failed": 0, "pending": 0}}
    (pipeline,) = overview([stored((200_000, 5))], [earlier], {"1": recorded()})
    assert pipeline["counts"] == {"triggered": 4, "completed": 2, "failed": 1, "inProgress": 0, "restored": 0}


def test_the_latest_of_each_kind_is_named() -> None:
    (pipeline,) = overview([stored((100_000, 2), type="savepoint")], [], {"1": recorded()})
    assert pipeline["latestFailed"]["checkpoint"] == "200000-6"
    assert pipeline["latestCompleted"]["checkpoint"] == "200000-5"
    assert pipeline["latestSavepoint"]["checkpoint"] == "100000-2"
    assert (pipeline["stored"], pipeline["title"]) == (1, "a -> b")


def test_a_job_remembers_a_bounded_number() -> None:
    recent = RecentCheckpoints()
    for id in range(KEPT + 5):
        recent.aborted(commands.CheckpointAborted(checkpoint_id=id, kind=AbortKind.EXPIRED, reason=""))
    assert len(recent.listed()) == KEPT
