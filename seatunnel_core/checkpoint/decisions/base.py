"""Choose the checkpoint that a start restores (R4c), and decide whether it may restore an older one (R10).

Each restore is checked twice with the same functions: when a process claims the job, for all pipelines at once; and
when a pipeline has claimed its epoch, because another engine may have stored a checkpoint in between.

The messages use Python's option names (``retract=True``); the command line shows its flags instead.
"""

import enum
from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve, field, frozen

from seatunnel_core.checkpoint.errors import RestoreRefusedError
from seatunnel_storage_api import lineage
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef, CheckpointType

_NAMED = 5
"""Maximum number of newer checkpoints listed in a message; the rest are only counted."""


class Rewind(enum.Enum):
    """Treatment of rows that were published after the checkpoint to restore."""

    REFUSED = "refused"
    """Reject the restore."""

    RETRACTED = "retracted"
    """Roll back the rows before reading them again, so every row exists once."""

    ACCEPTED = "accepted"
    """Keep the rows, which are then published a second time."""


@frozen(kw_only=True)
class RestoreRequest:
    """Request for the checkpoint to restore at a start; by default the latest."""

    ref: CheckpointRef | None = None
    """Checkpoint to restore; ``None`` for the latest."""

    rewind: Rewind = Rewind.REFUSED
    allow_non_restored: bool = False
    """True to drop the state of sources and sinks that were removed from the job."""

    drops_staged: bool = False
    """True to drop staged output in a savepoint's checkpoint: it is already published, or its rows are read again."""

    saved: frozenset[str] = frozenset()
    """Sinks that must not apply a pending save mode, because another sink of the job has written to the same target or
    because the save mode was applied after the restored checkpoint.
    """

    changed_bindings: Mapping[str, Sequence[tuple[int, str]]] = field(factory=dict, hash=False)
    """Earlier options of each sink, oldest first: the first epoch of each set of options, and a description of how it
    differs from the current options (empty if equal)."""

    changed_targets: Mapping[str, Sequence[tuple[int, str]]] = field(factory=dict, hash=False)
    """The same for sinks whose target may have changed: the description is also empty for options with the same
    target."""

    requires_known: bool = False
    """True if the restored checkpoint must contain all output that is published according to the targets."""

    since: int | None = None
    """First epoch that may serve the request. The request is served once this or a later epoch has a checkpoint."""

    def of_process(self, *, since: int, is_restored: bool) -> "RestoreRequest":
        """Return the request for this process; ``since`` is the first epoch that it may claim.

        A restored job must know all published output, unless the user has chosen how to treat unknown output.
        """
        return evolve(self, since=since, requires_known=is_restored and self.rewind is Rewind.REFUSED)

    def changes_since(self, sink: str, epoch: int) -> str:
        """Describe how the sink's options in an epoch differ from the current ones; return ``""`` if they are equal."""
        return self._in_epoch(self.changed_bindings[sink], epoch)

    def may_have_moved_since(self, sink: str, epoch: int) -> bool:
        """Return True if the sink may have had another target in an epoch."""
        return bool(self._in_epoch(self.changed_targets[sink], epoch))

    def _in_epoch(self, changes: Sequence[tuple[int, str]], epoch: int) -> str:
        words = [words for since, words in changes if since <= epoch < (self.since or 0)]
        return words[-1] if words else ""

    def as_of(self, checkpoints: Sequence[CheckpointInfo]) -> "RestoreRequest":
        """Return the request; if it has been served, omit the parts that only apply to the first start."""
        if self.since is None or all(info.epoch < self.since for info in checkpoints):
            return self
        return RestoreRequest(allow_non_restored=self.allow_non_restored)


@frozen(kw_only=True)
class Base:
    """Checkpoint that an epoch restores."""

    info: CheckpointInfo | None
    """The checkpoint itself; ``None`` for a pipeline that never ran."""

    cut: CheckpointInfo | None
    """Checkpoint that contains the state: ``info``, or the checkpoint before it if ``info`` is a savepoint."""

    restore_point_id: int
    """ID for the restore point (the epoch's first checkpoint), larger than the ID of any listed checkpoint."""

    rewind: Rewind | None = None
    """Treatment of rows that were published after ``info``. ``None`` if ``info`` is the latest checkpoint and no
    rollback was requested."""

    @property
    def ref(self) -> CheckpointRef | None:
        """Epoch and ID of the checkpoint; ``None`` for a pipeline that never ran."""
        return None if self.info is None else self.info.ref

    @property
    def is_published(self) -> bool:
        """True if all output of ``cut`` is published, because its savepoint exists."""
        return self.cut is not self.info


def choose_base(checkpoints: Sequence[CheckpointInfo], request: RestoreRequest) -> Base:
    """Choose the checkpoint to restore: the requested one, or the latest.

    The latest is the checkpoint with the largest (epoch, ID). Clocks, file times, listing order and markers of epochs
    without a checkpoint have no influence.

    Raises:
        RestoreRefusedError: The requested checkpoint does not exist or is orphaned; or newer live ones exist, and
            ``request`` does not specify how to treat their rows.
    """
    latest = lineage.latest(checkpoints)
    chosen = latest if request.ref is None else _asked_for(request.ref, checkpoints)
    goes_back = chosen is not latest
    if request.ref is not None and chosen is not None and goes_back:
        require_agreed(request.rewind, asked=request.ref, chosen=chosen.ref, checkpoints=checkpoints)
    takes_back = request.ref is not None and request.rewind is Rewind.RETRACTED
    return Base(
        info=chosen,
        cut=_with_what_is_staged(chosen, checkpoints),
        restore_point_id=max((info.checkpoint_id for info in checkpoints), default=0) + 1,
        rewind=request.rewind if goes_back or takes_back else None,
    )


def find_live(checkpoints: Sequence[CheckpointInfo], checkpoint_id: int, epoch: int | None = None) -> CheckpointInfo:
    """Return the live checkpoint with this ID and epoch; without an epoch, the newest live one with this ID.

    Raises:
        RestoreRefusedError: It does not exist or is orphaned; the message lists the restorable ones.
    """
    live = lineage.live(checkpoints)
    named = [info for info in checkpoints if info.checkpoint_id == checkpoint_id and epoch in (None, info.epoch)]
    found = [info for info in named if info.ref in live]
    if found:
        return found[-1]
    written = checkpoint_id if epoch is None else CheckpointRef(epoch, checkpoint_id)
    orphaned = "is orphaned, because an older checkpoint was restored or another engine had taken over the pipeline"
    reason = orphaned if named else "does not exist"
    restorable = ", ".join(str(info.ref) for info in checkpoints if info.ref in live) or "none"
    raise RestoreRefusedError(f"checkpoint {written} {reason}. These can be restored: {restorable}")


def require_agreed(
    rewind: Rewind,
    *,
    asked: CheckpointRef,
    chosen: CheckpointRef,
    checkpoints: Sequence[CheckpointInfo],
    rows: str = "rows",
) -> None:
    """Require that the user decided how to treat rows published after the chosen checkpoint (R10).

    ``asked`` is the checkpoint that the user specified; ``chosen`` is the same one or its savepoint. ``rows`` describes
    the rows that would be published again.

    Raises:
        RestoreRefusedError: The user made no decision.
    """
    if rewind is not Rewind.REFUSED:
        return
    newer = sorted(ref for ref in lineage.live(checkpoints) if ref > chosen)
    named = ", ".join(map(str, newer[:_NAMED])) + (f" and {len(newer) - _NAMED} more" if len(newer) > _NAMED else "")
    raise RestoreRefusedError(
        f"checkpoint {asked} is not the latest: {named} is newer, and {rows} published since then would be "
        "published twice. Restore it with retract=True to roll them back first (the sinks must support this), or with "
        "accept_duplicates=True to accept duplicates"
    )


def require_retracting(
    rewind: Rewind | None, *, asked: CheckpointRef | None, unable: Sequence[str], rows: str = "rows"
) -> None:
    """Require that every sink can roll back published output if the user requested a rollback.

    Check this before storing the restore point, which records the rollback that every later start has to execute.

    Raises:
        RestoreRefusedError: The sinks in ``unable`` cannot roll back published output.
    """
    if rewind is Rewind.RETRACTED and unable:
        raise RestoreRefusedError(
            f"restoring checkpoint {asked} with retract=True requires sinks that can roll back published rows; "
            f"{', '.join(map(repr, unable))} cannot. With accept_duplicates=True, {rows} will be duplicated there"
        )


def damaged(info: CheckpointRef, *, latest: bool, intact: CheckpointRef | None, reason: str) -> str:
    """Return the message for a checkpoint that cannot be read; ``intact`` is the newest readable one.

    Only the user can decide to restore an older checkpoint (R10).
    """
    which = "the latest checkpoint" if latest else "the requested checkpoint"
    remedy = (
        "no stored checkpoint can be read. Restore the files of a checkpoint from a backup, or empty the targets and "
        "start over under a new id"
        if intact is None
        else (
            f"the newest intact checkpoint is {intact}. Restoring an older checkpoint may publish rows twice, so "
            "request it explicitly: use retract=True to first delete the rows published after it from the targets, or "
            "accept_duplicates=True to keep them"
        )
    )
    return f"{which} {info} is damaged ({reason}); {remedy}"


def savepoint_of(ref: CheckpointRef, checkpoints: Iterable[CheckpointInfo]) -> CheckpointInfo | None:
    """Return the savepoint that was taken with checkpoint ``ref`` and has the next ID, or ``None``."""
    behind = CheckpointRef(ref.epoch, ref.checkpoint_id + 1)
    savepoints = (info for info in checkpoints if info.checkpoint_type is CheckpointType.SAVEPOINT)
    return next((info for info in savepoints if info.ref == behind), None)


def _asked_for(ref: CheckpointRef, checkpoints: Sequence[CheckpointInfo]) -> CheckpointInfo:
    """Return the live checkpoint ``ref``, or its savepoint, if any, because a start from ``ref`` would orphan it."""
    found = find_live(checkpoints, ref.checkpoint_id, ref.epoch)
    live = lineage.live(checkpoints)
    return savepoint_of(ref, (info for info in checkpoints if info.ref in live)) or found


def _with_what_is_staged(chosen: CheckpointInfo | None, listed: Sequence[CheckpointInfo]) -> CheckpointInfo | None:
    """Return the checkpoint that contains the state: for a savepoint, the preceding checkpoint if it exists.

    That checkpoint also contains finished units that were held back for order, so that the sweep keeps their output
    (R9).
    """
    if chosen is None or chosen.checkpoint_type is not CheckpointType.SAVEPOINT:
        return chosen
    before = CheckpointRef(chosen.epoch, chosen.checkpoint_id - 1)
    return next((info for info in listed if info.ref == before), chosen)
