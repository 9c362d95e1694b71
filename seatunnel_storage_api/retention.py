"""Pure functions that select the objects that expire after a checkpoint was stored, from a single listing."""

from collections.abc import Sequence

from attrs import frozen

from seatunnel_storage_api import lineage
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef, CheckpointType, PipelineListing


@frozen(kw_only=True)
class Pruning:
    """Objects in a pipeline's folder that may be removed after one of its checkpoints was stored."""

    checkpoints: tuple[CheckpointInfo, ...]

    epochs: tuple[int, ...]
    """Markers of fenced engines. A fenced engine finds the newer marker instead."""


def prune(listing: PipelineListing, *, stored: CheckpointRef, max_retained: int) -> Pruning:
    """Return the checkpoints and markers to remove once ``stored`` exists (promise 5).

    At most ``max_retained`` checkpoints remain. Savepoints, the newest live completed point and the checkpoints that
    lead to a savepoint are neither counted nor removed, and ``stored`` is never removed. Orphaned checkpoints are
    removed first, then the oldest. A live checkpoint newer than ``stored`` is not removed either, because two
    concurrent stores would remove each other's checkpoints. Therefore a checkpoint that is stored after a newer one may
    exceed the limit until the pipeline's next store.

    Args:
        listing: The whole pipeline, listed after the store; its newest epoch is the epoch of ``stored``.
        stored: The checkpoint that was just stored.
        max_retained: Number of checkpoints to keep, at least 1.
    """
    epochs = tuple(epoch for epoch in listing.epochs if epoch < stored.epoch)
    if len(listing.checkpoints) <= max_retained:
        return Pruning(checkpoints=(), epochs=epochs)
    alive = lineage.live(listing.checkpoints)
    expiring = counted(listing.checkpoints)
    excess = max(len(expiring) - max_retained, 0)
    orphaned = [info for info in expiring if info.ref not in alive and info.ref != stored]
    older = [info for info in expiring if info.ref in alive and info.ref < stored]
    return Pruning(checkpoints=tuple((orphaned + older)[:excess]), epochs=epochs)


def counted(checkpoints: Sequence[CheckpointInfo]) -> tuple[CheckpointInfo, ...]:
    """Return the checkpoints of a whole listing that count towards ``max_retained``, and so expire eventually."""
    alive = lineage.live(checkpoints)
    spared = _kept_for_ever(checkpoints, alive) | _ways_to_savepoints(checkpoints, alive)
    return tuple(info for info in checkpoints if info.ref not in spared)


def _kept_for_ever(checkpoints: Sequence[CheckpointInfo], alive: frozenset[CheckpointRef]) -> frozenset[CheckpointRef]:
    savepoints = [info.ref for info in checkpoints if info.checkpoint_type is CheckpointType.SAVEPOINT]
    completed = [
        info.ref for info in checkpoints if info.checkpoint_type is CheckpointType.COMPLETED_POINT and info.ref in alive
    ]
    return frozenset([*savepoints, *sorted(completed)[-1:]])


def _ways_to_savepoints(
    checkpoints: Sequence[CheckpointInfo], alive: frozenset[CheckpointRef]
) -> frozenset[CheckpointRef]:
    """Return the newest live checkpoint of each epoch between the oldest live savepoint and the latest epoch.

    Only the names of an epoch's checkpoints contain its base; without them, older savepoints would be orphaned.
    """
    live = [info for info in checkpoints if info.ref in alive]
    oldest = min((info.epoch for info in live if info.checkpoint_type is CheckpointType.SAVEPOINT), default=None)
    if oldest is None:
        return frozenset()
    newest = {info.epoch: info.ref for info in live if oldest < info.epoch < max(alive).epoch}
    return frozenset(newest.values())
