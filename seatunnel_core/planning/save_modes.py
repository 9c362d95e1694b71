"""Detection of save modes that another sink with the same target has already applied (R4)."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from attrs import frozen

from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.config.job_file import Kind
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.planning.plan import PlannedJob

StatesOf = Callable[[int], VertexStates | str | None]
"""Returns the latest states of a pipeline: ``None`` if there are none, and a message if they are damaged or a running
engine has replaced them."""


@frozen
class SharedTarget:
    """Target of the save modes of several sinks of a job. The tuples contain the pipeline and the name of a sink."""

    sinks: Sequence[tuple[int, str]]
    """Sinks that have this target now."""

    others: Sequence[tuple[int, str]]
    """Other sinks that have written to it."""

    @property
    def pipelines(self) -> frozenset[int]:
        """Return the numbers of the pipelines of all these sinks."""
        return frozenset(number for number, _ in (*self.sinks, *self.others))

    def is_written(self, states_of: StatesOf) -> bool:
        """Return True if a sink has written to the target in an earlier process, or may have.

        Then none of the sinks may apply its save mode.
        """
        return any(_is_pending(states_of(number), name) is False for number, name in self.sinks) or any(
            _is_pending(states_of(number), name) is not True for number, name in self.others
        )


def shared_targets(job: PlannedJob, stored: Manifest) -> list[SharedTarget]:
    """Return the targets with several sinks, of which some may be those of earlier processes in ``stored``."""
    found = (SharedTarget(sinks, _others_of(target, sinks, stored)) for target, sinks in _sinks_by_target(job).items())
    return [each for each in found if len(each.sinks) + len(each.others) > 1]


def by_pipeline(sinks: Iterable[tuple[int, str]]) -> Mapping[int, frozenset[str]]:
    """Return the names of sinks, keyed by pipeline."""
    names: dict[int, frozenset[str]] = {}
    for number, name in sinks:
        names[number] = names.get(number, frozenset()) | {name}
    return names


def _sinks_by_target(job: PlannedJob) -> Mapping[str, list[tuple[int, str]]]:
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
