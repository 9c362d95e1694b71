"""Endpoint for the captured tables of a running job."""

from typing import Any

from seatunnel_core.config.http_options import Permission
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.rest.route import Body, Request, Routes, json_block, needing
from seatunnel_core.server.rest.shapes import TEXT, WHOLE, block, either
from seatunnel_core.server.rest.submitting import job_id_of

ROUTES = Routes()


@ROUTES.post(
    "/reread-table",
    "Read a captured table of a running job again. Responds when a checkpoint contains the request.",
    needs=needing(Permission.STOP),
    bodies=(Body(block({"jobId": either(TEXT, WHOLE), "table": TEXT})),),
    answer=block({"jobId": TEXT, "table": TEXT}),
)
async def _reread(agent: Agent, _request: Request, body: bytes) -> Any:
    entry = json_block(body)
    job_id, table = job_id_of(entry), entry.get("table")
    if not isinstance(table, str) or not table:
        raise RequestError("expected the name of a captured table in the field 'table'")
    job = agent.require_state().job(job_id)
    if job is None or not job.host:
        raise RequestError(f"job {job_id} is not running, so no table can be read again", reason="not_running")
    await agent.running.reread(job.host, job_id, table)
    return {"jobId": job_id, "table": table}
