"""Validation of write modes: some require ordered rows, some a bounded pipeline, and all an exclusive target."""

from seatunnel_core.config.problem import Problems
from seatunnel_core.job.node import ROW_ERRORS
from seatunnel_core.planning.guarantee import upstream
from seatunnel_core.planning.plan import PlannedPipeline, PlannedSink
from seatunnel_core.spark.bad_rows import OnBadRow


def refuse_unfit_modes(pipelines: tuple[PlannedPipeline, ...], problems: Problems) -> None:
    """Report sinks whose write mode makes the target non-deterministic."""
    at: dict[str, PlannedSink] = {}
    for pipeline in pipelines:
        for sink in pipeline.sinks:
            if not (sink.sink.needs_order or sink.sink.needs_end):
                continue
            _refuse_pipeline(pipeline, sink, problems)
            if sink.sink.prunes:
                _refuse_skipping(pipeline, sink, problems)
                continue
            _refuse_others(pipelines, sink, problems)
            mode = sink.sink.save_mode
            other = at.setdefault(mode.target, sink) if mode is not None else sink
            if mode is not None and other is not sink:
                problems.error(
                    f"the sinks {other.name!r} and {sink.name!r} write to the same target {mode.target}, so its final "
                    "content would depend on which one finishes last: use write_mode merge or replace in one sink only"
                )


def _refuse_others(pipelines: tuple[PlannedPipeline, ...], sink: PlannedSink, problems: Problems) -> None:
    """Report sinks that write to a target that another sink replaces, or into a folder below such a target."""
    mode = sink.sink.save_mode
    if mode is None or not sink.sink.needs_end:
        return
    for other in (each for pipeline in pipelines for each in pipeline.sinks):
        others = other.sink.save_mode
        if others is None:
            continue
        adds = others.target == mode.target and not (other.sink.needs_order or other.sink.needs_end)
        if adds or others.target.startswith(f"{mode.target}/"):
            problems.error(
                f"the sink {sink.name!r} replaces the content of {mode.target} when its last row has arrived, and the "
                f"sink {other.name!r} writes to {others.target}: its rows would be lost. Use a different target"
            )


def _refuse_pipeline(pipeline: PlannedPipeline, sink: PlannedSink, problems: Problems) -> None:
    if sink.sink.needs_end and not pipeline.bounded:
        problems.error(
            f"the sink {sink.name!r} has write_mode = {'prune' if sink.sink.prunes else 'replace'}, which acts when "
            "the last row has arrived, but its pipeline never ends: use merge or append, or read from a source that "
            "ends"
        )
    reaching = upstream(pipeline, sink)
    sources = [source.name for source in pipeline.sources if source.name in reaching]
    if sink.sink.needs_order and len(sources) > 1:
        problems.error(
            f"the sink {sink.name!r} merges rows, so the last row of a key wins, but the rows of its sources "
            f"{', '.join(map(repr, sources))} have no relative order: read them with one source (tables_configs), or "
            "in separate jobs, one after the other"
        )


def _refuse_skipping(pipeline: PlannedPipeline, sink: PlannedSink, problems: Problems) -> None:
    """Report sinks that delete absent rows although rows may be skipped upstream of them."""
    reaching = upstream(pipeline, sink)
    skipping = [source.name for source in pipeline.sources if source.name in reaching and source.skip_bad_rows]
    skipping += [
        transform.name
        for transform in pipeline.transforms
        if transform.name in reaching and transform.transform.options.get(ROW_ERRORS.key) not in (None, "FAIL")
    ]
    if sink.on_bad_row is not OnBadRow.FAIL:
        skipping.append(sink.name)
    for name in skipping:
        problems.error(
            f"the sink {sink.name!r} has write_mode = prune and deletes rows whose key is absent from the input, and "
            f"{name!r} skips bad rows: the target rows with their keys would be deleted. Remove {ROW_ERRORS.key} there"
        )
