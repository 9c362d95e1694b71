"""Sinks of a job that share the target of a save mode, and detection of save modes that were already applied (R4)."""

from collections.abc import Callable, Mapping, Sequence

from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.config.job_file import Kind
from seatunnel_core.config.problem import Problems
from seatunnel_core.connector_api.increments import reads_in_increments
from seatunnel_core.connectors.write_mode import PARTITIONS_COMPLETE, REPLACE_PARTITIONS, WRITE_MODE
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.planning.guarantee import upstream
from seatunnel_core.planning.plan import PlannedJob, PlannedPipeline, PlannedSink, PlannedSource


def refuse_mixed_modes(pipelines: tuple[PlannedPipeline, ...], problems: Problems) -> None:
    """Report sinks that write to the same target with different save modes, because one could clear its output."""
    at: dict[str, PlannedSink] = {}
    for sink in (sink for pipeline in pipelines for sink in pipeline.sinks):
        mode = sink.sink.save_mode
        if mode is None:
            continue
        other = at.setdefault(mode.target, sink)
        others = other.sink.save_mode
        if others is not None and others.does != mode.does:
            problems.error(
                f"the sinks {other.name!r} and {sink.name!r} write to the same target, {mode.target}, and have "
                f"{others.does or 'APPEND_DATA'} and {mode.does or 'APPEND_DATA'}: existing content is handled "
                "once, before either of them writes, so set the same in both (data_save_mode, schema_save_mode)"
            )


def refuse_lost_increments(pipelines: tuple[PlannedPipeline, ...], problems: Problems) -> None:
    """Report sinks that remove the output of earlier jobs while a source reads only new rows."""
    for pipeline in pipelines:
        for sink in pipeline.sinks:
            removes = _removes(sink)
            behind = upstream(pipeline, sink)
            sources = [each for each in pipeline.sources if each.name in behind and reads_in_increments(each.source)]
            if not (removes and sources):
                continue
            partitions = tuple(sink.sink.options.get(REPLACE_PARTITIONS.key) or ())
            if partitions:
                _refuse_partial(sink, partitions, sources, problems)
                continue
            problems.error(
                f"the sink {sink.name!r} removes the rows of earlier jobs ({removes}), and its source "
                f"{sources[0].name!r} reads only rows after those (incremental): only the last increment would "
                "remain. Remove one of the two"
            )


def _refuse_partial(
    sink: PlannedSink, partitions: Sequence[str], sources: Sequence[PlannedSource], problems: Problems
) -> None:
    """Report partitions that an increment may contain only partly, unless the job declares its partitions complete."""
    if sink.sink.options.get(PARTITIONS_COMPLETE.key):
        return
    for source in sources:
        key = source.source.increment_key if reads_in_increments(source.source) else ()
        if set(partitions) != set(key):
            problems.error(
                f"the sink {sink.name!r} replaces each partition ({', '.join(partitions)}) that receives a row, but "
                f"its source {source.name!r} reads only new or changed rows (incremental): the other rows of the "
                "partition would be lost. Set write_mode = merge; or replace_partitions = "
                f"[{', '.join(key) or 'the columns of incremental.key'}], the key of the increment, so that each "
                "partition is one row; or partitions_arrive_complete = true if a partition always arrives as a whole"
            )


def _removes(sink: PlannedSink) -> str:
    """Return the option values that remove all rows or partitions; empty if there are none."""
    mode = sink.sink.save_mode
    does = "" if mode is None else mode.does
    if "DROP_DATA" in does or "RECREATE_SCHEMA" in does or "overwrite" in does.lower():
        return does
    word = sink.sink.options.get(WRITE_MODE.key)
    return f"write_mode = {word}" if word in ("replace", "prune") else ""


def acted_before(
    job: PlannedJob, stored: Manifest, states_of: Callable[[int], VertexStates | str | None]
) -> Mapping[int, frozenset[str]]:
    """Return the sinks whose pending save modes must not be applied again, by pipeline.

    Another sink of the job wrote to their target in an earlier process, according to the previous manifest ``stored``.
    ``states_of`` returns the latest states of a pipeline, ``None`` if there are none, and a string if they are damaged
    or were replaced by those of a running engine.
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
    """Return pipelines and sinks, by the target of their save mode, for save modes that change something."""
    found: dict[str, list[tuple[int, str]]] = {}
    for pipeline in job.pipelines:
        for sink in pipeline.sinks:
            mode = sink.sink.save_mode
            if mode is not None and mode.does:
                found.setdefault(mode.target, []).append((pipeline.id, sink.name))
    return found


def _others_of(target: str, sinks: list[tuple[int, str]], stored: Manifest) -> list[tuple[int, str]]:
    """Return the pipelines and names of sinks that wrote to the target before they were removed or changed."""
    return [
        (seat.pipeline, name)
        for name, seat in stored.seats.items()
        if seat.kind is Kind.SINK and (seat.pipeline, name) not in sinks
        if target in seat.targets or any(each.place == target for each in seat.bindings)
    ]


def _is_pending(states: VertexStates | str | None, sink: str) -> bool | None:
    """Return True if the save mode of a sink is known to be pending; ``None`` if the states lack the sink."""
    if isinstance(states, str):
        return False
    if states is None or sink not in states.sinks:
        return None
    return states.sinks[sink].save_mode_pending
