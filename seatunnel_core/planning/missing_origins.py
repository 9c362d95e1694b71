"""Rejection of transforms that need the time or position of a change, for rows of sources that have neither."""

from collections.abc import Iterable

from seatunnel_core.config.problem import Problems
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.planning.operator_chains import roots
from seatunnel_core.planning.plan import PlannedPipeline


def refuse_missing_origins(pipelines: Iterable[PlannedPipeline], problems: Problems) -> None:
    """Report every transform with ``needs_origins`` that receives rows of a source without ``has_origins``."""
    for pipeline in pipelines:
        without = {each.name for each in pipeline.sources if not each.source.has_origins}
        for transform in pipeline.transforms:
            if not (isinstance(transform.transform, Transform) and transform.transform.needs_origins):
                continue
            for name in sorted(without & roots(pipeline, transform.name)):
                problems.error(
                    f"the transform {transform.name!r} needs the time or position of each change, and rows of the "
                    f"source {name!r} have neither: only change data sources that emit rows provide them",
                    transform.position,
                    "Remove EventTime and Position from its metadata_fields",
                )
