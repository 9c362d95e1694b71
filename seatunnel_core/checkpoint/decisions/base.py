"""Which stored checkpoint a start builds on (R4c), and whether it may go back (R10)."""

import enum
from collections.abc import Iterable, Mapping, Sequence

from attrs import field, frozen

from seatunnel_core.checkpoint.errors import RestoreRefusedError
from seatunnel_storage_api import lineage
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef, CheckpointType


class Rewind(enum.Enum):
    """What may happen to rows that were published after the checkpoint to which a start goes back."""

    REFUSED = "refused"
    """No start goes back."""

    RETRACTED = "retracted"
    """The sinks take them back before anything is read again: every row is there once."""

    ACCEPTED = "accepted"
    """They stay, and are published a second time."""


@frozen(kw_only=True)
class RestoreRequest:
    """What the start is asked to restore; by default the latest checkpoint, as every restart does."""

    ref: CheckpointRef | None = None
    """``None``: the latest."""

    rewind: Rewind = Rewind.REFUSED
    allow_non_restored: bool = False
    """Whether the state of a source or sink that the job no longer has may be dropped."""

    settled: bool = False
    """Whether all that a savepoint's cut names as staged is given up: it is published, or is read again."""

    saved: frozenset[str] = frozenset()
    """The sinks whose save modes have nothing to do any more, whatever the base says: another sink of the job has
    written into the same target, or they acted after the base."""

    told_otherwise: Mapping[str, Sequence[tuple[int, str]]] = field(factory=dict, hash=False)
    """By sink: from which epoch on it was told what else than now, as words; the newest last, and empty where that was
    the same. The engine before may have staged something for it since that was looked at."""

    since: int | None = None
    """The first epoch that may do it: a checkpoint of that one or a later one says that it was done."""

    def as_of(self, checkpoints: Sequence[CheckpointInfo]) -> "RestoreRequest":
        """What is left of it when these are stored: a restart goes on from what the first start restored."""
        if self.since is None or all(info.epoch < self.since for info in checkpoints):
            return self
        return RestoreRequest(allow_non_restored=self.allow_non_restored)


@frozen(kw_only=True)
class Base:
    """The checkpoint that an epoch starts from, and the id of its restore point."""

    info: CheckpointInfo | None
    """``None`` for a pipeline that never ran."""

    cut: CheckpointInfo | None
    """Whose state is restored: ``info``'s, or that of the checkpoint of which ``info`` is the savepoint."""

    restore_point_id: int
    """Above every id that was listed, void ones included: a newer id never sorts below an older one that stands."""

    rewind: Rewind | None = None
    """What becomes of rows that were published after ``info``. ``None`` when it is the latest, unless it was asked for
    with the word to take back: somebody may have removed newer ones."""

    @property
    def ref(self) -> CheckpointRef | None:
        return None if self.info is None else self.info.ref


def choose_base(checkpoints: Sequence[CheckpointInfo], request: RestoreRequest) -> Base:
    """The latest, or the live one that was asked for.

    The latest is the largest (epoch, id) that exists, and it is live by definition. No clock, file time or listing
    order takes part; markers of epochs without a checkpoint do not count.

    Raises:
        RestoreRefusedError: what was asked for is not there, is void, or lies behind newer live ones; for a person.
    """
    latest = lineage.latest(checkpoints)
    chosen = latest if request.ref is None else _asked_for(request.ref, checkpoints)
    goes_back = chosen is not latest
    if chosen is not None and goes_back and request.rewind is Rewind.REFUSED:
        raise RestoreRefusedError(_rewind_refused(chosen, checkpoints))
    takes_back = request.ref is not None and request.rewind is Rewind.RETRACTED
    return Base(
        info=chosen,
        cut=_with_what_is_staged(chosen, checkpoints),
        restore_point_id=max((info.checkpoint_id for info in checkpoints), default=0) + 1,
        rewind=request.rewind if goes_back or takes_back else None,
    )


def savepoint_of(ref: CheckpointRef, checkpoints: Iterable[CheckpointInfo]) -> CheckpointInfo | None:
    """The savepoint of the same cut as checkpoint ``ref``, stored under the id behind it; ``None`` if there is none."""
    behind = CheckpointRef(ref.epoch, ref.checkpoint_id + 1)
    savepoints = (info for info in checkpoints if info.checkpoint_type is CheckpointType.SAVEPOINT)
    return next((info for info in savepoints if info.ref == behind), None)


def _asked_for(ref: CheckpointRef, checkpoints: Sequence[CheckpointInfo]) -> CheckpointInfo:
    """The live checkpoint ``ref``, or the savepoint of the same cut: it would be void behind a start from ``ref``."""
    live = lineage.live(checkpoints)
    found = {info.ref: info for info in checkpoints if info.ref in live}
    if ref not in found:
        there = ", ".join(str(each) for each in sorted(found)) or "none"
        void = any(info.ref == ref for info in checkpoints)
        reason = "is void: the pipeline went back behind it, or was taken over before" if void else "is not there"
        raise RestoreRefusedError(f"checkpoint {ref} {reason}. These can be restored: {there}")
    return savepoint_of(ref, found.values()) or found[ref]


def _rewind_refused(chosen: CheckpointInfo, checkpoints: Sequence[CheckpointInfo]) -> str:
    live = lineage.live(checkpoints)
    newer = sorted(ref for ref in live if ref > chosen.ref)
    return (
        f"checkpoint {chosen.ref} is not the latest: {', '.join(map(str, newer))} came after it, and rows that were "
        "published since then would be published again. Write --retract to delete them from the targets first, which "
        "the sinks have to be able to do, or --accept-duplicates to leave them there and get them twice"
    )


def _with_what_is_staged(chosen: CheckpointInfo | None, listed: Sequence[CheckpointInfo]) -> CheckpointInfo | None:
    """A savepoint is the cut of the checkpoint before it without what is staged. While that one exists, a start in the
    same job takes its state: it also names the finished units that were held back for order, and so the sweep keeps
    them for as long as a live checkpoint needs them (R9)."""
    if chosen is None or chosen.checkpoint_type is not CheckpointType.SAVEPOINT:
        return chosen
    before = CheckpointRef(chosen.epoch, chosen.checkpoint_id - 1)
    return next((info for info in listed if info.ref == before), chosen)
