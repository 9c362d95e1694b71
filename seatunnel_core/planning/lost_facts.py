"""Rejection of jobs that would lose facts that readers report to their source."""

from collections.abc import Iterable

from seatunnel_core.config.problem import Problems
from seatunnel_core.connector_api.capabilities import SupportsFacts
from seatunnel_core.connector_api.transform import DataFrameTransform
from seatunnel_core.planning.operator_chains import roots
from seatunnel_core.planning.plan import PlannedPipeline


def refuse_lost_facts(pipelines: Iterable[PlannedPipeline], problems: Problems) -> None:
    """Report every DataFrame transform of the rows of a source with readers that report facts (rule R17).

    For such a transform, Spark may read a split several times, and drops the facts.
    """
    for pipeline in pipelines:
        reporting = {
            each.name for each in pipeline.sources if not each.source.bounded and isinstance(each.source, SupportsFacts)
        }
        for transform in pipeline.transforms:
            if not isinstance(transform.transform, DataFrameTransform):
                continue
            for name in sorted(reporting & roots(pipeline, transform.name)):
                problems.error(
                    f"the transform {transform.name!r} runs on Spark's DataFrames, which does not work with the source "
                    f"{name!r}: its readers report to it where to continue, and a DataFrame passes only rows",
                    suggestion="Use the transform Sql or Python, or transform the rows in a second job",
                )
