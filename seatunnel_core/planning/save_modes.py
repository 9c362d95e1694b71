"""Detection of save modes that another sink with the same target has already applied (R4)."""

from collections.abc import Callable, Mapping

from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.config.job_file import Kind
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.planning.plan import PlannedJob


def acted_before(
    job: PlannedJob, stored: Manifest, states_of: Callable[[int], VertexStates | str | None]
) -> Mapping[int, frozenset[str]]:
    """Return the sinks that must not apply their pending save modes, keyed by pipeline.

    Another sink of the job wrote to their target in an earlier process, according to the previous manifest ``stored``.
    ``states_of`` returns the latest states of a pipeline: ``None`` if there are none, and a message if they are damaged
    or a running engine has replaced them.
    """
    acted: dict[int, frozenset[str]] = {}
    for target, sinks in _shared(job).items():
        others = _others_of(target, sinks, stored)
        if len(sinks) + len(others) < 2:
            continue
        pending = [(number, name) for number, name in sinks if _is_pending(states_of(number), name) is not False]
        done = len(pending) < len(sinks) or any(_is_pending(states_of(n), name) is not True for n, name in others)
        for number, name in pending if done else ():
            acted[number] = acted.get(number, frozenset()) | {name}
    return acted


def _shared(job: PlannedJob) -> Mapping[str, list[tuple[int, str]]]:
    """Return the pipelines and sinks whose save mode has an effect, keyed by the save mode's target."""
    found: dict[str, list[tuple[int, str]]] = {}
    for pipeline in job.pipelines:
        for sink in pipeline.sinks:
            mode = sink.sink.save_mode
            if mode is not None and mode.does:
                found.setdefault(mode.target, []).append((pipeline.id, sink.name))
    return found


def _others_of(target: str, sinks: list[tuple[int, str]], stored: Manifest) -> list[tuple[int, str]]:
    """Return the pipelines and names of other sinks that have written to the target."""
    return [
        (seat.pipeline, name)
        for name, seat in stored.seats.items()
        if seat.kind is Kind.SINK and (seat.pipeline, name) not in sinks
        if target in seat.targets or any(each.place == target for each in seat.bindings)
    ]


def _is_pending(states: VertexStates | str | None, sink: str) -> bool | None:
    """Return True if the save mode is pending, False if it was or may have been applied, ``None`` if unknown."""
    if isinstance(states, str):
        return False
    if states is None or sink not in states.sinks:
        return None
    return states.sinks[sink].save_mode_pending
