"""From a planned pipeline to what its Spark tasks run: one program per source, once the schemas are known."""

from collections.abc import Sequence

from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.runtime.planned import PlannedPipeline
from seatunnel_core.spark.program import FrameSchema, Program, Step, Target, build_program


def program_of(
    pipeline: PlannedPipeline,
    source_name: str,
    schemas: Sequence[TableSchema],
    *,
    job_id: str,
    frame_schema: FrameSchema,
) -> Program:
    """The program of one source.

    Raises:
        TransformError: a transform cannot be applied to what reaches it.
        SinkError: a sink cannot write what reaches it.
    """
    source = pipeline.source(source_name)
    return build_program(
        job_id=job_id,
        pipeline_id=pipeline.id,
        source_name=source.name,
        source_ordinal=source.ordinal,
        source=source.source,
        schemas=schemas,
        steps=[Step(name=node.name, transform=node.transform, inputs=node.inputs) for node in pipeline.transforms],
        targets=[
            Target(name=node.name, ordinal=node.ordinal, sink=node.sink, inputs=node.inputs) for node in pipeline.sinks
        ],
        skip_bad_rows=source.skip_bad_rows,
        parallelism=source.parallelism,
        frame_schema=frame_schema,
    )
