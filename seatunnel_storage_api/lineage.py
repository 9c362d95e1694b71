"""Pure functions that classify a pipeline's checkpoints as live or orphaned.

Every start of a pipeline claims an epoch and continues from a *base*, a checkpoint of an older epoch; the name of each
checkpoint contains the base of its epoch. So the names alone define the pipeline's history: the latest checkpoint, the
smaller IDs of its epoch, that epoch's base, the smaller IDs of the base's epoch, and so on. These are *live*. Any other
checkpoint was stored by a replaced engine, and is *orphaned*, regardless of how many live checkpoints have expired.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef

_AGE = operator.attrgetter("epoch", "checkpoint_id")
"""Sort key that orders checkpoints like their refs, without creating the refs."""


def latest(checkpoints: Iterable[CheckpointInfo]) -> CheckpointInfo | None:
    """Return the checkpoint with the largest (epoch, ID), or ``None``. Clocks, file times and order are irrelevant."""
    return max(checkpoints, key=_AGE, default=None)


def live(checkpoints: Iterable[CheckpointInfo]) -> frozenset[CheckpointRef]:
    """Return the live checkpoints among all checkpoints of *one* pipeline.

    If an intermediate epoch has no checkpoint left, its base is unknown, and everything older is treated as orphaned.
    """
    by_epoch: dict[int, list[CheckpointInfo]] = {}
    for info in checkpoints:
        by_epoch.setdefault(info.epoch, []).append(info)
    history: set[CheckpointRef] = set()
    newest = latest(info for epoch in by_epoch.values() for info in epoch)
    head = newest.ref if newest else None
    while head is not None and head.epoch in by_epoch:
        siblings = by_epoch.pop(head.epoch)
        history.update(info.ref for info in siblings if info.checkpoint_id <= head.checkpoint_id)
        base = siblings[0].base
        head = base if base is not None and base.epoch < head.epoch else None
    return frozenset(history)


def orphaned(checkpoints: Iterable[CheckpointInfo]) -> frozenset[CheckpointRef]:
    """Return the orphaned checkpoints among all checkpoints of *one* pipeline."""
    infos = tuple(checkpoints)
    return frozenset(info.ref for info in infos) - live(infos)
