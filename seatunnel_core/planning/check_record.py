"""Result of a check as JSON values: the plan with schemas and guarantees, and all problems."""

from typing import TYPE_CHECKING, Any

from seatunnel_core.config.engine import EngineConfig
from seatunnel_core.config.problem import Problem, Problems
from seatunnel_core.planning.check import check_report
from seatunnel_core.planning.guarantee import weakest
from seatunnel_core.planning.plan import PlannedJob, PlannedPipeline, Schemas
from seatunnel_core.planning.schemas import planned_schemas
from seatunnel_core.rows.types import type_name

if TYPE_CHECKING:
    from seatunnel_core.spark.backend import SparkBackend


def check_record(
    job: PlannedJob, engine: EngineConfig, *, master: str | None = None, spark: "SparkBackend | None" = None
) -> dict[str, Any]:
    """Return the result of ``check_report`` as JSON values and as text. Arguments and errors are the same."""
    report = check_report(job, engine, master=master, spark=spark)
    return {
        "name": job.name,
        "mode": job.mode,
        "bounded": job.bounded,
        "pipelines": [_pipeline(each, spark) for each in job.pipelines],
        "warnings": [problem_record(each) for each in job.warnings],
        "report": report,
    }


def problem_record(problem: Problem) -> dict[str, Any]:
    """Return a problem as JSON values, with its position if known."""
    place = problem.position
    return {
        "message": problem.message,
        "suggestion": problem.suggestion,
        "file": None if place is None else place.file,
        "line": None if place is None else place.line,
        "column": None if place is None else place.column,
    }


def _pipeline(pipeline: PlannedPipeline, spark: "SparkBackend | None") -> dict[str, Any]:
    scopes: dict[str, str] = {}
    known = planned_schemas(pipeline, Problems(), spark, scopes)
    held = weakest(pipeline)
    return {
        "id": pipeline.id,
        "title": pipeline.title,
        "streaming": pipeline.streaming,
        "guarantee": held.guarantee.value,
        "because": held.reason,
        "sources": [
            {
                "name": each.name,
                "plugin": each.source.identifier,
                "parallelism": each.parallelism,
                "tables": _tables(known[each.name]),
                "caveat": each.source.caveat,
            }
            for each in pipeline.sources
        ],
        "transforms": [
            {
                "name": each.name,
                "plugin": each.transform.identifier,
                "inputs": list(each.inputs),
                "tables": _tables(known[each.name]),
                "scope": scopes.get(each.name, ""),
            }
            for each in pipeline.transforms
        ],
        "sinks": [
            {"name": each.name, "plugin": each.sink.identifier, "inputs": list(each.inputs)} for each in pipeline.sinks
        ],
    }


def _tables(schemas: Schemas) -> list[dict[str, Any]] | None:
    """Return tables with their columns; ``None`` if the tables are known only when the data is read."""
    if schemas is None:
        return None
    return [
        {
            "table": schema.table,
            "columns": [{"name": column.name, "type": type_name(column.type)} for column in schema.columns],
        }
        for schema in schemas
    ]
