"""Internal endpoints for nodes and clients of the cluster: signed requests on the member port."""

import asyncio
from collections.abc import Callable
from typing import Any

from seatunnel_core import stored
from seatunnel_core.clock import wall_clock
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.agent.peers import LARGEST_BODY, Line
from seatunnel_core.server.agent.running_jobs import ASKED, TARGET
from seatunnel_core.server.agent.worker import QUERY
from seatunnel_core.server.discovery.joining import MEET, PROBE, Joining
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.logs.cluster_logs import NAMES, PIECE
from seatunnel_core.server.logs.log_reading import piece_wanted
from seatunnel_core.server.node_details import OWN
from seatunnel_core.server.node_details import TARGET as NODE
from seatunnel_core.server.rest import nodes, submitting
from seatunnel_core.server.rest.route import Handler, Request, Route, Routes

ROUTES = Routes(to_leader=False)


@ROUTES.get("/internal/v1/members")
async def _members(agent: Agent, request: Request, _body: bytes) -> Any:
    if QUERY in request.query_params:
        agent.note_query(request.query_params[QUERY])
    return agent.describe()


@ROUTES.post("/internal/v1/join")
async def _join(agent: Agent, _request: Request, body: bytes) -> Any:
    agent.require_state()
    block = stored.parse(body)
    unseals = stored.has(block, "unseals") and stored.flag(block, "unseals")  # earlier versions do not send it
    agent.leadership.joined(stored.text(block, "address"), works=stored.flag(block, "works"), unseals=unseals)
    return {"term": agent.leadership.term(), "clock": wall_clock()}


@ROUTES.post("/internal/v1/hosts")
async def _hosts(agent: Agent, _request: Request, body: bytes) -> Any:
    hosts = agent.own_hosts()
    hosts.require_term(stored.number(stored.parse(body), "term"))
    report = hosts.report()
    if report is None:
        raise RequestError(
            "this node is still searching for worker processes of an earlier agent: try again", status=503
        )
    return report.record()


@ROUTES.post("/internal/v1/orders", most_bytes=LARGEST_BODY)
async def _orders(agent: Agent, request: Request, body: bytes) -> Any:
    """Execute orders, unless the leader disconnected while this process was paused. The leader repeats valid orders."""
    for _ in range(2):
        await asyncio.sleep(0)  # end of file is read after the connection's data
    if await request.is_disconnected():
        return {}
    block = stored.parse(body)
    orders, as_of = stored.items(block, "orders"), stored.seconds(block, "as_of")
    await agent.own_hosts().carry_out(stored.number(block, "term"), orders, as_of)
    return {}


@ROUTES.post("/internal/v1/workers")
async def _join_as_worker(agent: Agent, _request: Request, body: bytes) -> Any:
    block = stored.parse(body)
    return agent.welcome(stored.text(block, "address"), stored.number(block, "slots"))


@ROUTES.post("/internal/v1/submit", to_leader=True, most_bytes=LARGEST_BODY)
async def _submit(agent: Agent, _request: Request, body: bytes) -> Any:
    block = stored.parse(body)
    variables = stored.below(block, "variables")
    return await submitting.accept(
        agent,
        job_id=stored.text(block, "job_id"),
        name=stored.text(block, "name"),
        text=stored.text(block, "text"),
        format=stored.text(block, "format"),
        variables={key: stored.text(variables, key) for key in variables},
        restore=stored.flag(block, "restore"),
        origin=stored.text(block, "origin") if "origin" in block else "",
    )


@ROUTES.post(NAMES)
async def _log_names(agent: Agent, _request: Request, _body: bytes) -> Any:
    return {"files": [each.record() for each in await agent.logs.own_files()]}


@ROUTES.post(PIECE)
async def _log_piece(agent: Agent, _request: Request, body: bytes) -> Any:
    from starlette.responses import Response

    name, offset, length = piece_wanted(stored.parse(body))
    piece = await agent.logs.piece(agent.address, name, offset, length)
    return Response(piece.to_bytes(), media_type="application/octet-stream")


@ROUTES.post("/internal/v1/monitoring")
async def _monitoring(agent: Agent, _request: Request, _body: bytes) -> Any:
    return await nodes.monitoring_of(agent)


@ROUTES.post(NODE)
async def _node(agent: Agent, _request: Request, body: bytes) -> Any:
    what = stored.text(stored.parse(body), "what")
    if what not in OWN:
        raise RequestError(f"expected {' or '.join(OWN)} in the field 'what'")
    return {"found": await OWN[what](agent)}


@ROUTES.post(TARGET)
async def _running_job(agent: Agent, _request: Request, body: bytes) -> Any:
    agent.own_hosts()  # raises on a worker node, which has none
    block = stored.parse(body)
    asked = stored.below(block, "request")
    if stored.text(asked, "do") not in ASKED:
        raise RequestError(f"expected {' or '.join(ASKED)} in the field 'do'")
    return await agent.running.ask(agent.address, Line.SAVEPOINT, stored.text(block, "job_id"), asked)


def meetings(joining: Joining) -> tuple[Route, ...]:
    """Return the routes for joining nodes."""

    def answered_by(function: Callable[[bytes], Any]) -> Handler:
        async def handler(_agent: Agent, _request: Request, body: bytes) -> Any:
            return await asyncio.get_running_loop().run_in_executor(None, function, body)

        return handler

    return (
        Route("POST", MEET, answered_by(joining.meet), to_leader=False),
        Route("POST", PROBE, answered_by(joining.probe), to_leader=False),
    )
