"""Decide when to take a checkpoint: a pure decision, tested as a table."""

from attrs import frozen

PAUSE_AFTER_FAILURE_MS = 1000
"""The least pause after a checkpoint that failed, so that a broken storage is not asked in a tight loop."""

PATIENCE_MS = 600_000
"""Default time limit of the storage; after that it counts as not answering."""


@frozen(kw_only=True)
class CheckpointPolicy:
    """The interval and the time limits of a pipeline's checkpoints."""

    interval_ms: int | None
    """From trigger to trigger. ``None``: only the restore point, the final one, and those that a bound asks for."""

    timeout_ms: int = PATIENCE_MS
    """A pending checkpoint that takes longer, from its barriers on, is aborted; a clean stop takes no longer either."""

    restore_timeout_ms: int = PATIENCE_MS
    """A start fails if its restore point is not durable by then. No barrier is sent for it, so no option sets this."""

    min_pause_ms: int = 0
    """From the end of one checkpoint to the trigger of the next."""

    max_concurrent: int = 1
    """Checkpoints that may be pending at the same time."""

    tolerable_failures: int = 0
    """Failed checkpoints in a row that the pipeline survives; a completed one resets the count."""


@frozen(kw_only=True)
class Situation:
    """Input of the decision; times are milliseconds of the clock that stamps the events."""

    now_ms: int
    pending: int
    last_trigger_ms: int
    """Time at which the last one was triggered, or the pipeline started to run."""

    last_end_ms: int | None
    """Time at which the last one completed or was aborted."""

    last_failed: bool = False
    """True if that last one failed."""

    asked: bool = False
    """True if a user or a full sink requests one before the interval is over."""

    final: bool = False
    """True if only the final one is left: neither the interval nor the pause applies to it."""


@frozen(kw_only=True)
class Decision:
    """The decision whether to trigger a checkpoint, and the time of the next decision."""

    trigger: bool
    look_again_ms: int | None = None
    """Time of the next decision, if nothing happens before; ``None``: when something happens."""


def decide(policy: CheckpointPolicy, situation: Situation) -> Decision:
    """Decide whether to trigger a checkpoint now, at a known time, or not before something changes."""
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
