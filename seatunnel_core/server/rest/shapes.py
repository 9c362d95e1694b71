"""JSON Schemas of responses, for the OpenAPI document and for tests."""

from collections.abc import Mapping
from typing import Any

Shape = Mapping[str, Any]

ANY: Shape = {}
TEXT: Shape = {"type": "string"}
WHOLE: Shape = {"type": "integer"}
FLAG: Shape = {"type": "boolean"}
TEXT_OR_NULL: Shape = {"type": ["string", "null"]}
WHOLE_OR_NULL: Shape = {"type": ["integer", "null"]}


def block(fields: Mapping[str, Shape], more: Mapping[str, Shape] | None = None) -> Shape:
    """Return the schema of an object with required and optional fields."""
    properties = {**fields, **(more or {})}
    return {"type": "object", "properties": properties, "required": list(fields), "additionalProperties": False}


def by_name(values: Shape) -> Shape:
    """Return the schema of an object with arbitrary keys."""
    return {"type": "object", "additionalProperties": values}


def items(each: Shape) -> Shape:
    """Return the schema of a list."""
    return {"type": "array", "items": each}


def either(*shapes: Shape) -> Shape:
    """Return the schema of a value that matches one of several schemas."""
    return {"anyOf": list(shapes)}


def nullable(shape: Shape) -> Shape:
    """Return the schema of a value that may be null."""
    return either(shape, {"type": "null"})


FAILURE = block({"status": {"const": "fail"}, "message": TEXT, "code": TEXT})
"""Schema of all responses with a status of 400 or more."""

_VERTEX = block(
    {"vertexId": WHOLE, "type": {"enum": ["source", "transform", "sink"]}, "vertexName": TEXT, "name": TEXT,
     "tablePaths": items(TEXT)}
)  # fmt: skip
DAG = block(
    {
        "jobId": TEXT,
        "pipelineEdges": by_name(items(block({"inputVertexId": WHOLE, "targetVertexId": WHOLE}))),
        "vertexInfoMap": items(_VERTEX),
        "envOptions": by_name(TEXT),
    }
)
PIPELINE = by_name(ANY)
_OF_ANY_JOB: Mapping[str, Shape] = {
    "jobId": TEXT,
    "jobName": TEXT,
    "jobStatus": TEXT,
    "createTime": TEXT,
    "createTimestamp": WHOLE,
    "isStartWithSavePoint": FLAG,
    "metrics": by_name(either(TEXT, by_name(TEXT))),
    "host": TEXT,
    "attempts": WHOLE,
}
_DETAILS: Mapping[str, Shape] = {"envOptions": by_name(TEXT), "jobDag": DAG, "pluginJarsUrls": items(ANY)}
_AT_END: Mapping[str, Shape] = {"errorMsg": TEXT_OR_NULL, "finishTime": TEXT, "finishedTime": TEXT,
                                  "finishTimestamp": WHOLE}  # fmt: skip
_ATTEMPT = block(
    {"attempt": WHOLE, "host": TEXT, "startTimestamp": WHOLE_OR_NULL, "endTimestamp": WHOLE_OR_NULL, "cause": TEXT}
)
_FAILED = block({"pipelineId": WHOLE, "timestamp": WHOLE, "message": TEXT, "code": TEXT})
_PAST: Mapping[str, Shape] = {
    "pipelines": items(PIPELINE),
    "attemptHistory": items(_ATTEMPT),
    "failures": items(_FAILED),
}

RUNNING_SUMMARY = block(_OF_ANY_JOB, {"pendingReason": TEXT})
RUNNING = block({**_OF_ANY_JOB, **_DETAILS}, {"pendingReason": TEXT})
ENDED = block({**_OF_ANY_JOB, **_DETAILS, **_AT_END})
JOB = either(
    block({**_OF_ANY_JOB, **_DETAILS}, {"pendingReason": TEXT, **_PAST}),
    block({**_OF_ANY_JOB, **_DETAILS, **_AT_END, **_PAST}),
    block({"jobId": TEXT}),
)
"""Schema of a running, finished or unknown job."""


def paged(each: Shape) -> Shape:
    """Return the schema of a list, or of one page of it."""
    return either(items(each), block({"data": items(each), "total": WHOLE}))
