"""Rules for combinations of the nodes of a job. Each rule reports combinations that are not allowed."""

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from seatunnel_core.config.problem import Problems
from seatunnel_core.connector_api.capabilities import SupportsFacts
from seatunnel_core.connector_api.increments import reads_in_increments
from seatunnel_core.connector_api.transform import DataFrameTransform, Transform
from seatunnel_core.connectors.write_mode import PARTITIONS_COMPLETE, REPLACE_PARTITIONS, WRITE_MODE
from seatunnel_core.job.node import ROW_ERRORS
from seatunnel_core.planning.plan import PlannedPipeline, PlannedSink, PlannedSource
from seatunnel_core.spark.bad_rows import OnBadRow

Pipelines = tuple[PlannedPipeline, ...]


def refuse_lost_input(pipelines: Pipelines, problems: Problems) -> None:
    """Report sinks that clear a folder that a source of the job reads."""
    for sink in _sinks(pipelines):
        mode = sink.sink.save_mode
        emptied = None if mode is None else mode.emptied_folder
        if emptied is None:
            continue
        keep = "mode = append" if "mode" in sink.sink.options else "data_save_mode = APPEND_DATA"
        for source in _sources(pipelines):
            for read in (path for path in source.source.read_paths if overlap(emptied, path)):
                problems.error(
                    f"the sink {sink.name!r} empties {emptied} when the job starts, and the source {source.name!r} "
                    f"reads {read}: the job would delete its own input",
                    suggestion=f"Write to another folder, or set {keep}",
                )


def refuse_endless_input(pipelines: Pipelines, problems: Problems) -> None:
    """Report sinks that write into a folder that a source of the job watches for new files."""
    watching = [source for source in _sources(pipelines) if not source.source.bounded]
    for sink in _sinks(pipelines) if watching else ():
        written = sink.sink.target_folder
        for source in watching:
            for read in (path for path in source.source.read_paths if written and overlap(written, path)):
                problems.error(
                    f"the sink {sink.name!r} writes to {written}, and the source {source.name!r} watches {read}: "
                    "the job would endlessly read its own output",
                    suggestion="Write to another folder",
                )


def overlap(folder: str, pattern: str) -> bool:
    """Return True if a folder equals, contains or is inside a path, which may contain ``*``, ``?`` and ``[…]``."""
    for name, part in zip(_names(folder), _names(pattern), strict=False):
        if part == "**":
            return True
        if name != part and not fnmatchcase(name, part):
            return False
    return True


def _names(path: str) -> list[str]:
    """Return the components of the absolute path, with symbolic links resolved."""
    return [name for name in os.path.realpath(path).split(os.sep) if name]


def refuse_lost_facts(pipelines: Pipelines, problems: Problems) -> None:
    """Report DataFrame transforms downstream of a source whose readers report facts (rule R17).

    Spark may read a split several times for such a transform, and drops the facts.
    """
    for pipeline in pipelines:
        reporting = {
            each.name for each in pipeline.sources if not each.source.bounded and isinstance(each.source, SupportsFacts)
        }
        for transform in pipeline.transforms:
            if not isinstance(transform.transform, DataFrameTransform):
                continue
            for name in sorted(reporting & pipeline.roots(transform.name)):
                problems.error(
                    f"the transform {transform.name!r} runs on Spark's DataFrames and cannot be used with the "
                    f"source {name!r}: readers report their progress to this source, but a DataFrame passes "
                    "only rows",
                    suggestion="Use the Sql or Python transform, or transform the rows in a second job",
                )


def refuse_missing_origins(pipelines: Pipelines, problems: Problems) -> None:
    """Report transforms with ``needs_origins`` if a source or transform upstream of them provides no origins."""
    for pipeline in pipelines:
        without = {each.name for each in pipeline.sources if not each.source.has_origins}
        for transform in pipeline.transforms:
            if not (isinstance(transform.transform, Transform) and transform.transform.needs_origins):
                continue
            for name in sorted(without & pipeline.roots(transform.name)):
                problems.error(
                    f"the transform {transform.name!r} needs the time or position of each change, but the rows of "
                    f"the source {name!r} contain neither. Only change data sources that emit table rows (not "
                    "encoded messages) provide them",
                    transform.position,
                    "Remove EventTime and Position from its metadata_fields",
                )
            for name in sorted({each for node in transform.inputs for each in _dropping_origins(pipeline, node)}):
                problems.error(
                    f"the transform {transform.name!r} needs the time or position of each change, but the preceding "
                    f"transform {name!r} returns rows without them",
                    transform.position,
                    f"Put it before {name!r}, or remove EventTime and Position from its metadata_fields",
                )


def _dropping_origins(pipeline: PlannedPipeline, node: str) -> Iterator[str]:
    """Yield the names of the nearest upstream transforms that drop the origins of rows."""
    transform = next((each for each in pipeline.transforms if each.name == node), None)
    if transform is None:  # a source
        return
    if not isinstance(transform.transform, Transform) or transform.transform.drops_origins:
        yield node
        return
    for each in transform.inputs:
        yield from _dropping_origins(pipeline, each)


def refuse_mixed_modes(pipelines: Pipelines, problems: Problems) -> None:
    """Report sinks with the same target and different save modes, because one may clear the other's output."""
    at: dict[str, PlannedSink] = {}
    for sink in _sinks(pipelines):
        mode = sink.sink.save_mode
        if mode is None:
            continue
        other = at.setdefault(mode.target, sink)
        others = other.sink.save_mode
        if others is not None and others.does != mode.does:
            problems.error(
                f"the sinks {other.name!r} and {sink.name!r} write to the same target, {mode.target}, with "
                f"{others.does or 'APPEND_DATA'} and {mode.does or 'APPEND_DATA'}: existing content is handled "
                "once, before either of them writes, so set the same data_save_mode and schema_save_mode in both"
            )


def refuse_lost_increments(pipelines: Pipelines, problems: Problems) -> None:
    """Report sinks that remove the output of earlier jobs although a source reads only new rows."""
    for pipeline in pipelines:
        for sink in pipeline.sinks:
            removes = _removes(sink)
            behind = pipeline.upstream(*sink.inputs)
            sources = [each for each in pipeline.sources if each.name in behind and reads_in_increments(each.source)]
            if not (removes and sources):
                continue
            partitions = tuple(sink.sink.options.get(REPLACE_PARTITIONS.key) or ())
            if partitions:
                _refuse_partial(sink, partitions, sources, problems)
                continue
            problems.error(
                f"the sink {sink.name!r} removes the rows of earlier jobs ({removes}), but its source "
                f"{sources[0].name!r} reads only rows added after those jobs (incremental): only the last increment "
                "would remain. Remove one of the two options"
            )


def _refuse_partial(
    sink: PlannedSink, partitions: Sequence[str], sources: Sequence[PlannedSource], problems: Problems
) -> None:
    """Report partitions that an increment may contain only in part, unless the job declares them complete."""
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
    """Return the option and value with which a sink removes all rows or partitions; empty if there is none."""
    mode = sink.sink.save_mode
    does = "" if mode is None else mode.does
    if "DROP_DATA" in does or "RECREATE_SCHEMA" in does or "overwrite" in does.lower():
        return does
    word = sink.sink.options.get(WRITE_MODE.key)
    return f"write_mode = {word}" if word in ("replace", "prune") else ""


def refuse_unfit_modes(pipelines: Pipelines, problems: Problems) -> None:
    """Report sinks with a write mode that makes the target non-deterministic."""
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
                    f"the sinks {other.name!r} and {sink.name!r} write to the same target {mode.target}, so its "
                    "final content would depend on which sink finishes last: use write_mode merge or replace in "
                    "one sink only"
                )


def _refuse_others(pipelines: Pipelines, sink: PlannedSink, problems: Problems) -> None:
    """Report sinks that write to a target that another sink replaces, or to a folder below it."""
    mode = sink.sink.save_mode
    if mode is None or not sink.sink.needs_end:
        return
    for other in _sinks(pipelines):
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
    reaching = pipeline.upstream(*sink.inputs)
    sources = [source.name for source in pipeline.sources if source.name in reaching]
    if sink.sink.needs_order and len(sources) > 1:
        problems.error(
            f"the sink {sink.name!r} merges rows, so the last row of a key wins, but the rows of its sources "
            f"{', '.join(map(repr, sources))} have no relative order: read them with one source (tables_configs), or "
            "in separate jobs, one after the other"
        )


def _refuse_skipping(pipeline: PlannedPipeline, sink: PlannedSink, problems: Problems) -> None:
    """Report sinks that delete rows whose keys are absent from the run, if rows may be skipped upstream."""
    reaching = pipeline.upstream(*sink.inputs)
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
            f"the sink {sink.name!r} has write_mode = prune and deletes rows with keys that are absent from the "
            f"input, but {name!r} skips bad rows: the rows with their keys would be deleted from the target. Remove "
            f"{ROW_ERRORS.key} from {name!r}"
        )


def _sinks(pipelines: Pipelines) -> Iterator[PlannedSink]:
    return (sink for pipeline in pipelines for sink in pipeline.sinks)


def _sources(pipelines: Pipelines) -> Iterator[PlannedSource]:
    return (source for pipeline in pipelines for source in pipeline.sources)


RULES = (
    refuse_lost_input,
    refuse_endless_input,
    refuse_lost_facts,
    refuse_missing_origins,
    refuse_mixed_modes,
    refuse_lost_increments,
    refuse_unfit_modes,
)
"""All rules, in the order of their messages."""
