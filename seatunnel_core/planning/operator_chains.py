"""Operator chains for the Spark tasks of a planned pipeline, created when the schemas are known.

Each source has a chain, except that sources combined by a query share one.
"""

from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve

from seatunnel_core.connector_api.source import Enumeration
from seatunnel_core.connector_api.transform import UNIT, DataFrameTransform
from seatunnel_core.errors import TransformError
from seatunnel_core.planning.order_groups import order_groups
from seatunnel_core.planning.plan import PlannedPipeline, PlannedSink, PlannedTransform
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.spark.operator_chain import FramePlanner, OperatorChain, Reader, Step, Target, build_chain
from seatunnel_core.work.split import Split

SEVERAL_INPUTS = "several inputs"


def chain_of(
    pipeline: PlannedPipeline,
    source_name: str,
    schemas: Sequence[TableSchema],
    *,
    job_id: str,
    beside: Sequence[Reader] = (),
    frame_plan: FramePlanner | None = None,
) -> OperatorChain:
    """Return the chain of a source; the sources in ``beside`` share it.

    Raises:
        TransformError: A transform cannot be applied to its input.
        SinkError: A sink cannot write its input.
    """
    source = pipeline.source(source_name)
    chain = build_chain(
        job_id=job_id,
        pipeline_id=pipeline.id,
        source_name=source.name,
        source_ordinal=source.ordinal,
        source=source.source,
        schemas=schemas,
        steps=[
            Step(name=node.name, transform=node.transform, inputs=node.inputs, views=node.views)
            for node in pipeline.transforms
        ],
        targets=[_target(node) for node in pipeline.sinks],
        skip_bad_rows=source.skip_bad_rows,
        parallelism=source.parallelism,
        beside=beside,
        frame_plan=frame_plan,
    )
    return evolve(chain, order_groups=order_groups(chain))


def _target(node: PlannedSink) -> Target:
    return Target(name=node.name, ordinal=node.ordinal, sink=node.sink, inputs=node.inputs, on_bad_row=node.on_bad_row)


def chains_of(
    pipeline: PlannedPipeline,
    enumerations: Mapping[str, Enumeration],
    *,
    job_id: str,
    frame_plan: FramePlanner,
) -> tuple[OperatorChain, ...]:
    """Return the chains of all sources of a pipeline with DataFrame transforms.

    Sources that a query combines share the chain of the source with the smallest ordinal.

    Raises:
        TransformError, SinkError: As for ``chain_of``; or a query combines rows of an unbounded input.
    """
    joined = (pipeline.roots(each.name) for each in pipeline.transforms if joins(pipeline, each))
    groups = _groups([{source.name} for source in pipeline.sources], joined)
    while True:
        chains = [_chain(pipeline, group, enumerations, job_id, frame_plan) for group in groups]
        across = {step.name: step.across for chain in chains for step in chain.steps if step.across}
        for name, clause in across.items():
            refuse_across(pipeline, name, clause)
        wider = _groups(groups, [pipeline.roots(name) for name in across])
        if len(wider) == len(groups):
            return tuple(_as_query(each, enumerations) for each in chains)
        groups = wider


def refuse_across(pipeline: PlannedPipeline, transform: str, clause: str) -> None:
    """Raise ``TransformError`` if the transform combines rows of a streaming job or of an unbounded source."""
    endless = [name for name in sorted(pipeline.roots(transform)) if not pipeline.source(name).source.bounded]
    if not pipeline.streaming and not endless:
        return
    why = "a streaming job" if pipeline.streaming else f"the source {endless[0]!r}, which never ends,"
    raise TransformError(
        f"transform {transform!r} combines rows ({clause}), but {why} has no last row, so each work unit would be "
        "aggregated, sorted or joined separately. Remove the transform, or run a batch job with bounded sources; "
        "to accept results per work unit, set scope = unit"
    )


def joins(pipeline: PlannedPipeline, transform: PlannedTransform) -> bool:
    """Return True if a DataFrame transform combines the rows of several sources, regardless of Spark's plan."""
    frames = isinstance(transform.transform, DataFrameTransform) and transform.transform.scope != UNIT
    return frames and len(transform.inputs) > 1 and len(pipeline.roots(transform.name)) > 1


def possible_groups(pipeline: PlannedPipeline) -> list[set[str]]:
    """Return groups of sources that a query may combine. Without Spark's plans, the groups may be too large."""
    frames = [
        each.name
        for each in pipeline.transforms
        if isinstance(each.transform, DataFrameTransform) and each.transform.scope != UNIT
    ]
    return _groups([{source.name} for source in pipeline.sources], (pipeline.roots(name) for name in frames))


def _groups(groups: Iterable[set[str]], together: Iterable[set[str]]) -> list[set[str]]:
    found = list(groups)
    for names in together:
        touched = [group for group in found if group & names]
        found = [group for group in found if not group & names] + [set[str]().union(*touched)]
    return found


def _chain(
    pipeline: PlannedPipeline,
    group: set[str],
    enumerations: Mapping[str, Enumeration],
    job_id: str,
    frame_plan: FramePlanner,
) -> OperatorChain:
    first, *others = sorted((pipeline.source(name) for name in group), key=lambda source: source.ordinal)
    beside = [
        Reader(
            name=each.name,
            source=each.source,
            schemas=enumerations[each.name].schemas,
            parallelism=each.parallelism,
            skip_bad_rows=each.skip_bad_rows,
        )
        for each in others
    ]
    schemas = enumerations[first.name].schemas
    chain = chain_of(pipeline, first.name, schemas, job_id=job_id, beside=beside, frame_plan=frame_plan)
    joining = {each.name for each in pipeline.transforms if joins(pipeline, each)}
    steps = (
        evolve(step, across=SEVERAL_INPUTS) if step.name in joining and not step.across else step
        for step in chain.steps
    )
    return evolve(chain, steps=tuple(steps))


def _as_query(chain: OperatorChain, enumerations: Mapping[str, Enumeration]) -> OperatorChain:
    if not any(step.across for step in chain.steps):
        return chain
    return evolve(chain, splits={reader.name: enumerations[reader.name].splits for reader in chain.readers})


def emitted_splits(
    chains: Sequence[OperatorChain], enumerations: Mapping[str, Enumeration]
) -> dict[str, tuple[Split, ...]]:
    """Return the splits to emit, by source.

    For a query, the first source emits one split that represents the whole input, and the others emit none. A single
    split of a single source is emitted unchanged.
    """
    emitted = {name: each.splits for name, each in enumerations.items()}
    for chain in chains:
        if chain.splits is None:
            continue
        every = [split for splits in chain.splits.values() for split in splits]
        emitted |= dict.fromkeys(chain.splits, ())
        emitted[chain.source_name] = (every[0],) if len(every) == 1 and not chain.beside else (_all(chain),)
    return emitted


def _all(chain: OperatorChain) -> Split:
    splits = chain.splits or {}
    every = [split for each in splits.values() for split in each]
    return Split(
        index=0,
        weight_bytes=sum(split.weight_bytes for split in every),
        rows=max(1, sum(split.rows for split in every)),
        body={"query_over": {name: len(each) for name, each in splits.items()}},
    )
