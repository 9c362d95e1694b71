"""Choose the checkpoint that a start builds on (R4c), and decide whether it may restore an older one (R10).

A restore is checked twice, by the same functions: when a process claims the job, for all pipelines at once, and by each
start after it has claimed its epoch, because another engine may have stored a checkpoint in between.

The messages use Python's option names (``retract=True``); the command line shows its flags instead.
"""

import enum
from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve, field, frozen

from seatunnel_core.checkpoint.errors import RestoreRefusedError
from seatunnel_storage_api import lineage
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef, CheckpointType

_NAMED = 5
"""Maximum number of newer checkpoints listed in a message; the others are counted."""


class Rewind(enum.Enum):
    """Treatment of rows that were published after the checkpoint to which a start rewinds."""

    REFUSED = "refused"
    """The rewind is rejected."""

    RETRACTED = "retracted"
    """The sinks roll the rows back before anything is read again, so every row exists once."""

    ACCEPTED = "accepted"
    """The rows remain in the target, and are published a second time."""


@frozen(kw_only=True)
class RestoreRequest:
    """Checkpoint that a start restores; by default the latest, as in every restart."""

    ref: CheckpointRef | None = None
    """Checkpoint to restore; ``None`` for the latest."""

    rewind: Rewind = Rewind.REFUSED
    allow_non_restored: bool = False
    """True if the state of sources and sinks that were removed from the job may be dropped."""

    drops_staged: bool = False
    """True to drop the staged output of a savepoint's cut, which is already published or will be read again."""

    saved: frozenset[str] = frozenset()
    """Sinks that must not apply their save mode again, even if it is pending in the base: another sink of the job has
    written to the same target, or the save mode was applied after the base."""

    changed_bindings: Mapping[str, Sequence[tuple[int, str]]] = field(factory=dict, hash=False)
    """Differences between the sinks' earlier options and the current ones, by sink: for each binding, oldest first, its
    first epoch and a description (empty if equal). The former engine may have staged more since its state was
    inspected."""

    requires_known: bool = False
    """True if the base must contain all output that the targets show as published."""

    since: int | None = None
    """First epoch that may execute the request: it was executed if this epoch or a later one has a checkpoint."""

    def of_process(self, *, since: int, is_restored: bool) -> "RestoreRequest":
        """Return the request as this process executes it; ``since`` is the first epoch that it may claim.

        The base of a restored job must contain all published output, unless the user has decided about the other
        output.
        """
        return evolve(self, since=since, requires_known=is_restored and self.rewind is Rewind.REFUSED)

    def changes_since(self, sink: str, epoch: int) -> str:
        """Return the differences of the sink's options in an epoch from the current ones; empty if they are equal."""
        words = [words for since, words in self.changed_bindings[sink] if since <= epoch < (self.since or 0)]
        return words[-1] if words else ""

    def as_of(self, checkpoints: Sequence[CheckpointInfo]) -> "RestoreRequest":
        """Return the remaining request, given the stored checkpoints.

        Once the first start has stored a checkpoint, restarts continue from the state that it restored.
        """
        if self.since is None or all(info.epoch < self.since for info in checkpoints):
            return self
        return RestoreRequest(allow_non_restored=self.allow_non_restored)


@frozen(kw_only=True)
class Base:
    """Checkpoint from which an epoch starts, and the ID of the restore point."""

    info: CheckpointInfo | None
    """The checkpoint itself; ``None`` for a pipeline that never ran."""

    cut: CheckpointInfo | None
    """Checkpoint with the state: ``info``, or the checkpoint of the savepoint ``info``."""

    restore_point_id: int
    """ID larger than every listed one, including orphaned ones, so that a newer ID never sorts below an older one."""

    rewind: Rewind | None = None
    """Treatment of rows that were published after ``info``. ``None`` if ``info`` is the latest checkpoint, unless the
    user requested a rollback: newer checkpoints may have been removed manually."""

    @property
    def ref(self) -> CheckpointRef | None:
        """Epoch and ID of the base; ``None`` for a pipeline that never ran."""
        return None if self.info is None else self.info.ref

    @property
    def is_published(self) -> bool:
        """True if the base is a savepoint of ``cut``: it is stored only when all output of the cut is published."""
        return self.cut is not self.info


def choose_base(checkpoints: Sequence[CheckpointInfo], request: RestoreRequest) -> Base:
    """Choose the checkpoint to start from: the latest, or the requested live one.

    The latest is the largest (epoch, ID) that exists, and it is live by definition. Clocks, file times and the order of
    the listing have no influence; markers of epochs without a checkpoint do not count.

    Raises:
        RestoreRefusedError: The requested one does not exist or is orphaned, or newer live ones follow it and
            ``request`` does not decide the treatment of their rows.
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
    """Return the live checkpoint of this ID and epoch; without an epoch, the newest live one of this ID.

    Raises:
        RestoreRefusedError: It does not exist or is orphaned; the message lists the restorable ones.
    """
    live = lineage.live(checkpoints)
    named = [info for info in checkpoints if info.checkpoint_id == checkpoint_id and epoch in (None, info.epoch)]
    found = [info for info in named if info.ref in live]
    if found:
        return found[-1]
    written = checkpoint_id if epoch is None else CheckpointRef(epoch, checkpoint_id)
    orphaned = "is orphaned: an older checkpoint was restored, or its engine had been replaced"
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
    """Require a decision about the rows that were published after the chosen checkpoint (R10).

    ``asked`` is the checkpoint as the user specified it, ``chosen`` the same one or the savepoint of that cut. ``rows``
    describes the rows that would be published again.

    Raises:
        RestoreRefusedError: No decision was made.
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
    """Require that every sink can roll back published output if the decision demands a rollback.

    Check this before the restore point records the rollback: every later start would have to execute it.

    Raises:
        RestoreRefusedError: A sink, one of ``unable``, cannot roll back published output.
    """
    if rewind is Rewind.RETRACTED and unable:
        raise RestoreRefusedError(
            f"restoring checkpoint {asked} with retract=True requires sinks that can roll back published rows; "
            f"{', '.join(map(repr, unable))} cannot. With accept_duplicates=True, {rows} will be duplicated there"
        )


def damaged(info: CheckpointRef, *, latest: bool, intact: CheckpointRef | None, reason: str) -> str:
    """Return the message for a base that cannot be read, with the newest readable checkpoint, ``intact``.

    An older base would be a rewind (R10), which only the user can decide.
    """
    which = "the latest checkpoint" if latest else "the requested checkpoint"
    remedy = (
        "no stored checkpoint can be read. Restore the files of a checkpoint from a backup, or empty the targets and "
        "start over under a new id"
        if intact is None
        else f"the newest intact one is {intact}. Restoring an older one may publish rows twice, so request it "
        "explicitly: restore it with retract=True to first delete the rows published after it from the targets, "
        "or with accept_duplicates=True to keep them"
    )
    return f"{which} {info} is damaged ({reason}); {remedy}"


def savepoint_of(ref: CheckpointRef, checkpoints: Iterable[CheckpointInfo]) -> CheckpointInfo | None:
    """Return the savepoint of the same cut as checkpoint ``ref``, if it exists: its ID is the next one."""
    behind = CheckpointRef(ref.epoch, ref.checkpoint_id + 1)
    savepoints = (info for info in checkpoints if info.checkpoint_type is CheckpointType.SAVEPOINT)
    return next((info for info in savepoints if info.ref == behind), None)


def _asked_for(ref: CheckpointRef, checkpoints: Sequence[CheckpointInfo]) -> CheckpointInfo:
    """Return the live checkpoint ``ref``, or the savepoint of the same cut, which a start from ``ref`` would orphan."""
    found = find_live(checkpoints, ref.checkpoint_id, ref.epoch)
    live = lineage.live(checkpoints)
    return savepoint_of(ref, (info for info in checkpoints if info.ref in live)) or found


def _with_what_is_staged(chosen: CheckpointInfo | None, listed: Sequence[CheckpointInfo]) -> CheckpointInfo | None:
    """Return the checkpoint with the state for ``chosen``: for a savepoint, the checkpoint before it, if it exists.

    That checkpoint also contains the finished units that were held back for order, so the sweep keeps them as long as a
    live checkpoint needs them (R9).
    """
    if chosen is None or chosen.checkpoint_type is not CheckpointType.SAVEPOINT:
        return chosen
    before = CheckpointRef(chosen.epoch, chosen.checkpoint_id - 1)
    return next((info for info in listed if info.ref == before), chosen)
