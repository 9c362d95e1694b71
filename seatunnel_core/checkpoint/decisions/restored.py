"""Decide whether a start may use stored state, and in which form (R4, R8, R10).

A start makes four decisions, in this order:

1. ``superseded``: does a newer engine run the job?
2. ``choose``: which checkpoint is restored?
3. ``restored``: which state does each vertex get from it?
4. ``must_list_published`` and ``require_known``: does that state include all output that the targets show as published?

A process that claims a job makes decisions 2 and 3 beforehand for all pipelines, with the same functions.
"""

from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve, frozen

from seatunnel_core.checkpoint.decisions.base import Base, RestoreRequest, Rewind, choose_base, require_retracting
from seatunnel_core.checkpoint.decisions.matching import compare, fitted, staged_elsewhere
from seatunnel_core.checkpoint.decisions.retracting import retractions
from seatunnel_core.checkpoint.errors import RestoreRefusedError
from seatunnel_core.checkpoint.state.topology import Topology
from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.quantity import pick
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef

_NAMED = 3
"""Maximum number of units listed in a message."""


@frozen(kw_only=True)
class RestoredState:
    """State that a start stores as its restore point, the first checkpoint of its epoch."""

    states: VertexStates
    is_extended: bool
    """True if the job has vertices that the restored checkpoint lacks. They start even if the pipeline had finished."""


def superseded(epoch: int, newest_epoch: int | None, checkpoints: Sequence[CheckpointInfo]) -> str | None:
    """Return an error message if a newer epoch exists, and ``None`` if this epoch is the newest (R4b)."""
    newest = max(newest_epoch or 0, max((info.epoch for info in checkpoints), default=0))
    if newest <= epoch:
        return None
    return f"epoch {newest} was claimed after epoch {epoch}: another engine runs this pipeline now"


def choose(checkpoints: Sequence[CheckpointInfo], request: RestoreRequest, topology: Topology) -> Base:
    """Choose the checkpoint to restore (R4c): the latest one, or the requested one if its restore is allowed (R10).

    Raises:
        RestoreRefusedError: The requested checkpoint cannot be restored, the user did not allow it, or a sink cannot
            roll back published output.
    """
    base = choose_base(checkpoints, request)
    unable = [sink.name for sink in topology.sinks if not sink.retracts]
    require_retracting(base.rewind, asked=base.ref, unable=unable)
    return base


def restored(states: VertexStates | None, base: Base, request: RestoreRequest, topology: Topology) -> RestoredState:
    """Return the state that each vertex of the job gets.

    ``states`` is the content of the restored checkpoint; ``None`` for a pipeline that never ran. If it contains an
    unfinished rollback to an older checkpoint, that rollback is kept.

    Raises:
        RestoreRefusedError: The states do not fit the job, or staged output would be published to a different target.
    """
    if states is None:
        return RestoredState(states=_updated_sinks(VertexStates.at_start(topology), request, base), is_extended=False)
    if base.is_published and request.drops_staged:
        states = states.without_staged()
    if not base.is_published:
        _require_same_targets(states, request)
    fitting = fitted(states, topology, allow_non_restored=request.allow_non_restored, is_published=base.is_published)
    if base.rewind is Rewind.RETRACTED and fitting.retracting is None:
        fitting = evolve(fitting, retracting=base.ref)
    updated = _updated_sinks(fitting, request, base)
    return RestoredState(states=updated, is_extended=bool(compare(states, topology).new))


def must_list_published(request: RestoreRequest, states: VertexStates, *, is_final: bool) -> bool:
    """Return True if the start has to compare the restored state with the output that the targets show as published.

    The comparison is not necessary for a finished pipeline, or if unknown output is rolled back.
    """
    return request.requires_known and states.retracting is None and not is_final


def require_known(
    published: Mapping[str, Iterable[str]],
    states: VertexStates,
    topology: Topology,
    *,
    job_id: str,
    epoch: int,
    base: CheckpointRef | None,
) -> None:
    """Require that the restored state contains every published committable; ``published`` has their IDs by sink.

    An unknown committable belongs to a newer checkpoint that was removed: its rows would be published twice.

    Raises:
        RestoreRefusedError: A committable is unknown; the message lists the units and the commands to continue.
    """
    known = retractions(states, topology, epoch=epoch, base_epoch=0 if base is None else base.epoch)
    for sink, found in published.items():
        missed = sorted({each for each in found if known[sink].misses(each)})
        if missed:
            raise RestoreRefusedError(_missed(job_id, sink, missed, base))


def _missed(job_id: str, sink: str, committables: list[str], base: CheckpointRef | None) -> str:
    units = ", ".join(committables[:_NAMED]) + (", …" if len(committables) > _NAMED else "")
    found = (
        f"the sink {sink!r} has published {pick(len(committables), 'unit')} ({units}), but "
        + ("the job has no checkpoint" if base is None else f"the latest checkpoint {base} does not contain them")
        + ": newer checkpoints existed and were removed. The rows of these units would be published twice. "
    )
    if base is None:
        return f"{found}Restore the checkpoints from a copy, or empty the target and start over under a new id"
    again = f"-r {job_id} --restore-with-checkpoint {base}"
    return (
        f"{found}Restore them from a copy; or run `{again} --retract`, which first removes those rows if the sink "
        f"supports it, or `{again} --accept-duplicates`, which keeps them"
    )


def _require_same_targets(states: VertexStates, request: RestoreRequest) -> None:
    """Reject staged units that would be published to a target for which they were not staged (R8).

    A previous engine may have staged more units after its state was checked at the claim of the job.
    """
    for name in request.changed_bindings:
        for each in filter(lambda each: any(each.body.values()), states.committables_for(name)):
            if changes := request.changes_since(name, each.epoch):
                raise RestoreRefusedError(staged_elsewhere(name, "units", changes))


def _updated_sinks(states: VertexStates, request: RestoreRequest, base: Base) -> VertexStates:
    """Return the states with applied save modes marked as done and changed targets marked as not prepared.

    Other options may stage elsewhere, but publish to the same target: its tables remain known.
    """
    sinks = dict(states.sinks)
    for name in request.saved & sinks.keys():
        sinks[name] = evolve(sinks[name], save_mode_pending=False)
    for name in request.changed_bindings.keys() & sinks.keys():
        if request.changes_since(name, sinks[name].prepared_in):
            sinks[name] = evolve(sinks[name], prepared_in=0)
    epoch = 0 if base.cut is None else base.cut.epoch
    for name in request.changed_targets.keys() & sinks.keys():
        if request.may_have_moved_since(name, epoch):
            sinks[name] = evolve(sinks[name], published_to={})
    return evolve(states, sinks=sinks)
