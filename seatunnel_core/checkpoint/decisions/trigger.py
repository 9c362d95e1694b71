"""Decide when to take a checkpoint."""

from attrs import frozen

PAUSE_AFTER_FAILURE_MS = 1000
"""Minimum pause after a failed checkpoint, so that failing storage is not called continuously."""

PATIENCE_MS = 600_000
"""Default time limit of a storage request, after which the storage counts as unresponsive."""


@frozen(kw_only=True)
class CheckpointPolicy:
    """Interval and time limits of a pipeline's checkpoints."""

    interval_ms: int | None
    """Time between triggers; ``None`` to take checkpoints only at the start, at the end and for full sinks."""

    timeout_ms: int = PATIENCE_MS
    """Time after which a pending checkpoint is aborted; also the time limit for a clean stop."""

    restore_timeout_ms: int = PATIENCE_MS
    """Time limit for storing the restore point, the first checkpoint of an epoch. Not configurable."""

    min_pause_ms: int = 0
    """Minimum time from the end of one checkpoint to the trigger of the next."""

    max_concurrent: int = 1
    tolerable_failures: int = 0
    """Maximum number of consecutive failed checkpoints; a completed checkpoint resets the count."""


@frozen(kw_only=True)
class Situation:
    """Input of the decision. Times are in milliseconds of the events' clock."""

    now_ms: int
    pending: int
    last_trigger_ms: int
    """Time of the last trigger, or of the start if no checkpoint was triggered yet."""

    last_end_ms: int | None
    """Time at which the last checkpoint completed or was aborted."""

    last_failed: bool = False
    asked: bool = False
    """True if a user or a full sink has requested a checkpoint before the interval has passed."""

    final: bool = False
    """True if only the final checkpoint remains, which waits for neither the interval nor the minimum pause."""


@frozen(kw_only=True)
class Decision:
    """Decision whether to trigger a checkpoint, and the time of the next decision."""

    trigger: bool
    look_again_ms: int | None = None
    """Time of the next decision; ``None`` if only a new event can change it."""


def decide(policy: CheckpointPolicy, situation: Situation) -> Decision:
    """Decide whether to trigger a checkpoint now, later, or only after another event."""
    if situation.pending >= policy.max_concurrent:
        return Decision(trigger=False)
    if situation.asked or situation.final:
        due_ms = situation.now_ms
    elif policy.interval_ms is not None:
        due_ms = situation.last_trigger_ms + policy.interval_ms
    else:
        return Decision(trigger=False)
    if situation.last_end_ms is not None:
        pause_ms = 0 if situation.final else policy.min_pause_ms
        if situation.last_failed:
            pause_ms = max(pause_ms, PAUSE_AFTER_FAILURE_MS)
        due_ms = max(due_ms, situation.last_end_ms + pause_ms)
    if due_ms <= situation.now_ms:
        return Decision(trigger=True)
    return Decision(trigger=False, look_again_ms=due_ms)
