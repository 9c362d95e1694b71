"""Endpoints beyond SeaTunnel's: check a job before it is submitted, verify and compare stored checkpoints."""

from typing import Any

from seatunnel_core.config.http_options import Permission
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.agent.peers import LARGEST_BODY
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.rest.route import Parameter, Request, Routes, needing, number
from seatunnel_core.server.rest.shapes import (
    ANY,
    FLAG,
    TEXT,
    TEXT_OR_NULL,
    WHOLE,
    WHOLE_OR_NULL,
    block,
    by_name,
    items,
    nullable,
)
from seatunnel_core.server.rest.submitting import FILE, FORMAT, JOB_BODIES, file_name, job_of
from seatunnel_storage_api.layout import require_job_id

KINDS = ("source", "transform", "sink")


_PROBLEM = block(
    {"message": TEXT, "suggestion": TEXT, "file": TEXT_OR_NULL, "line": WHOLE_OR_NULL, "column": WHOLE_OR_NULL}
)
_TABLE = block({"table": TEXT, "columns": items(block({"name": TEXT, "type": TEXT}))})
_TABLES = nullable(items(_TABLE))
_PLANNED = block(
    {
        "id": WHOLE,
        "title": TEXT,
        "streaming": FLAG,
        "guarantee": TEXT,
        "because": TEXT,
        "sources": items(
            block({"name": TEXT, "plugin": TEXT, "parallelism": WHOLE, "tables": _TABLES, "caveat": TEXT})
        ),
        "transforms": items(
            block({"name": TEXT, "plugin": TEXT, "inputs": items(TEXT), "tables": _TABLES, "scope": TEXT})
        ),
        "sinks": items(block({"name": TEXT, "plugin": TEXT, "inputs": items(TEXT)})),
    }
)
_CHECKED = block(
    {"valid": FLAG, "errors": items(_PROBLEM), "warnings": items(_PROBLEM), "report": TEXT},
    {"code": TEXT, "name": TEXT, "mode": TEXT, "bounded": FLAG, "pipelines": items(_PLANNED)},
)
_VERIFIED = block(
    {
        "job_id": TEXT,
        "sound": FLAG,
        "objects": WHOLE,
        "size_bytes": WHOLE,
        "damaged": items(by_name(ANY)),
        "problems": items(TEXT),
        "pipelines": items(by_name(ANY)),
        "unfinished": WHOLE,
        "foreign": WHOLE,
    }
)
_CHANGE = block({"vertex": TEXT, "what": TEXT, "before": ANY, "after": ANY})
_COMPARED = block(
    {
        "job_id": TEXT,
        "pipelines": items(block({"pipeline": WHOLE, "from": TEXT, "to": TEXT, "changes": items(_CHANGE)})),
        "damaged": items(TEXT),
    }
)
_OPTION = block(
    {"key": TEXT, "type": TEXT, "defaultValue": ANY, "description": TEXT, "fallbackKeys": items(TEXT),
     "optionValues": ANY}
)  # fmt: skip
_RULES = block(
    {
        "optionalOptions": items(_OPTION),
        "requiredOptions": items(block({"ruleType": TEXT, "options": items(_OPTION)}, {"unless": items(TEXT)})),
        "conditionRules": items(ANY),
        "valueConstraints": items(ANY),
    }
)

ROUTES = Routes()


@ROUTES.post(
    "/check",
    "Check a job as `seatunnel --check` does: plan, schemas, guarantees, and all problems.",
    to_leader=False,
    needs=needing(Permission.CHECK, Permission.SUBMIT),
    most_bytes=LARGEST_BODY,
    parameters=(FORMAT, FILE),
    bodies=JOB_BODIES,
    answer=_CHECKED,
)
async def _check(agent: Agent, request: Request, body: bytes) -> Any:
    text, format = job_of(request, body)
    return await agent.asides.ask("check", {"text": text, "format": format, "origin": file_name(request)})


@ROUTES.get(
    "/jobs/checkpoints/verify/{job_id}",
    "Read all stored data of a job; report damage and restorable checkpoints.",
    answer=_VERIFIED,
)
async def _verify(agent: Agent, request: Request, _body: bytes) -> Any:
    return await agent.asides.ask("verify", {"job_id": _job_id(request)})


@ROUTES.get(
    "/jobs/checkpoints/compare/{job_id}",
    "Differences between two checkpoints, by default the latest two.",
    parameters=(
        Parameter("pipelineId", "Only this pipeline.", WHOLE),
        Parameter("from", "The earlier checkpoint, as `EPOCH-ID`."),
        Parameter("to", "The later checkpoint, as `EPOCH-ID`."),
    ),
    answer=_COMPARED,
)
async def _compare(agent: Agent, request: Request, _body: bytes) -> Any:
    query = request.query_params
    asked = {"pipeline": number(request, "pipelineId", 0, least=0, most=10**9)}
    asked |= {"from": query.get("from", ""), "to": query.get("to", "")}
    return await agent.asides.ask("compare", {"job_id": _job_id(request), **asked})


def _job_id(request: Request) -> str:
    job_id = str(request.path_params["job_id"])
    require_job_id(job_id)
    return job_id


@ROUTES.get(
    "/option-rules",
    "Options of a plugin.",
    to_leader=False,
    parameters=(
        Parameter("type", "`source`, `transform` or `sink`.", {"enum": list(KINDS)}, required=True),
        Parameter("plugin", "Name of the plugin.", required=True),
    ),
    answer=block({"engineType": TEXT, "pluginType": TEXT, "pluginName": TEXT, "optionRule": _RULES}),
)
async def _option_rules(agent: Agent, request: Request, _body: bytes) -> Any:
    kind, plugin = request.query_params.get("type", "").lower(), request.query_params.get("plugin", "")
    if kind not in KINDS:
        raise RequestError(f"type is {kind[:40]!r}: expected one of {', '.join(KINDS)}")
    if not plugin:
        raise RequestError("plugin cannot be empty.")
    return await agent.asides.ask("options", {"type": kind, "plugin": plugin})
