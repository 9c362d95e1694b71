"""HTTP: REST v2 for users, and what nodes and clients of the cluster say to each other.

Every node answers: one that does not lead forwards to the one that does. Starlette is imported when an application is
made, so that nothing else of the engine needs it.
"""

import asyncio
import base64
import hmac
import ipaddress
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from seatunnel_core import stored
from seatunnel_core.claiming.job_id import new_job_id
from seatunnel_core.clock import wall_clock
from seatunnel_core.control.signing import BOOT
from seatunnel_core.errors import SeaTunnelError, StoredValueError, UsageError
from seatunnel_core.server.agent import answers
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.agent.peers import LARGEST_BODY, ORDERS_BYTES, order_bytes
from seatunnel_core.server.discovery.joining import MEET, PROBE, Joining
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.state.records import JobRecord, Wanted
from seatunnel_core.server.submitted_job import FORMATS, SubmittedJob
from seatunnel_storage_api.errors import InvalidIdError
from seatunnel_storage_api.layout import require_job_id

logger = logging.getLogger("seatunnel.cluster")

_REALM = 'Basic realm="SeaTunnel Web UI"'

FORWARDED = "x-seatunnel-forwarded"

Request = Any
"""``starlette.requests.Request``."""

Handler = Callable[[Agent, Request, bytes], Awaitable[Any]]
"""From a request and its body to a JSON value."""


def application(agent: Agent, *, signed: bool, joining: Joining | None = None) -> Any:
    """Return the ASGI application of a node.

    Args:
        agent: answers.
        signed: whether requests need the cluster's signature: on the member port. REST v2 on its own port is asked by
            programs that have none, and listens on loopback.
        joining: answers nodes that join, where requests are signed; ``None``: nobody does.
    """
    from starlette.applications import Starlette
    from starlette.routing import Route

    internal = (*_INTERNAL, *(_meetings(joining) if joining is not None else ()))
    routes = [
        Route(path, _endpoint(agent, handler, signed=signed, forwards=forwards), methods=[method])
        for method, path, handler, forwards in (*_ROUTES, *(internal if signed else ()))
    ]
    unknown = _endpoint(agent, _unknown, signed=signed, forwards=False)
    return Starlette(routes=[*routes, Route("/{path:path}", unknown, methods=_METHODS)])


def _endpoint(agent: Agent, handler: Handler, *, signed: bool, forwards: bool) -> Callable[[Request], Awaitable[Any]]:
    async def answered(request: Request) -> Any:
        from starlette.responses import JSONResponse, Response

        try:
            refusal = _refusal(agent, request, signed=signed)  # a stranger's body is not received
            body = b"" if refusal is not None else await _body(request)
            if refusal is None and signed and not agent.doorkeeper.owns(request.headers, body):
                refusal = "the body is another one than was signed"
            if refusal is not None:
                block = {"status": "fail", "message": refusal}
                headers = {BOOT: agent.doorkeeper.boot} if signed else {"WWW-Authenticate": _REALM}
                return JSONResponse(block, status_code=401, headers=headers)
            if forwards and agent.state is None:
                status, answered, kind = await _forwarded(agent, request, body)
                return Response(answered, status_code=status, media_type=kind)
            return JSONResponse(await handler(agent, request, body))
        except RequestError as error:
            return JSONResponse({"status": "fail", "message": str(error)}, status_code=error.status)
        except (UsageError, InvalidIdError, StoredValueError) as error:
            return JSONResponse({"status": "fail", "message": str(error)}, status_code=400)
        except SeaTunnelError as error:
            return JSONResponse({"status": "fail", "message": str(error)}, status_code=500)
        except Exception as error:
            logger.exception("a bug of ours: %s %s failed", request.method, request.url.path)
            return JSONResponse({"status": "fail", "message": f"{type(error).__name__}: {error}"}, status_code=500)

    async def endpoint(request: Request) -> Any:
        answer = await answered(request)
        if signed:
            answer.headers.update(agent.doorkeeper.answered(request.headers, answer.status_code, answer.body))
        return answer

    return endpoint


async def _body(request: Request) -> bytes:
    received = bytearray()
    async for part in request.stream():
        received += part
        if len(received) > LARGEST_BODY:
            raise RequestError(f"the body is larger than {LARGEST_BODY} bytes", status=413)
    return bytes(received)


def _refusal(agent: Agent, request: Request, *, signed: bool) -> str | None:
    """Return why a request is not let in.

    A web page of another site cannot make a browser ask: it sends its origin. Where nobody is asked for a password or a
    signature, nor can one whose name was made to lead to this machine: it sends that name as the host.
    """
    origin, host = request.headers.get("origin"), request.headers.get("host", "")
    if origin is not None and urlsplit(origin).netloc != host:
        return "a request of another site is refused"
    is_open = agent.config.secret is None if signed else agent.config.http_login is None
    if is_open and not _is_address(host):
        return f"a request to {host!r} is refused: write the address of this node, or localhost"
    if not signed:
        return None if _is_logged_in(agent.config.http_login, request.headers) else "who are you?"
    target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return agent.doorkeeper.refusal(request.headers, request.method, target)


def _is_address(host: str) -> bool:
    """Return whether the host of a request is an address or ``localhost``, with or without a port."""
    name = ""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        ipaddress.ip_address(name)
    except ValueError:
        return name == "localhost"
    return True


def _is_logged_in(login: tuple[str, str] | None, headers: Mapping[str, str]) -> bool:
    """Return whether a request carries user and password, by basic authentication; both are compared in any case."""
    if login is None:
        return True
    scheme, _, encoded = headers.get("authorization", "").partition(" ")
    try:
        given = base64.b64decode(encoded, validate=True) if scheme.lower() == "basic" else b""
    except ValueError:
        given = b""
    return hmac.compare_digest(given, ":".join(login).encode())


async def _forwarded(agent: Agent, request: Request, body: bytes) -> tuple[int, bytes, str]:
    leader = agent.leader()
    if leader in ("", agent.address) or FORWARDED in request.query_params:
        raise RequestError("the cluster has no leader now: try again", status=503)
    query = f"{request.url.query}&" if request.url.query else ""
    target = f"{request.url.path}?{query}{FORWARDED}=1"
    kind = request.headers.get("content-type", "application/json")
    try:
        answer = await agent.peers.forward(leader, request.method, target, body, kind)
    except SeaTunnelError as error:
        raise RequestError(f"the leader {leader} does not answer: {error}", status=503) from error
    return answer.status, answer.body, answer.content_type


# -- REST v2 ----------------------------------------------------------------------------------------------------------


async def _overview(agent: Agent, request: Request, _body: bytes) -> Any:
    tags = {key: text for key, text in request.query_params.items() if key != FORWARDED}
    found = agent.require_state().snapshot()
    members, slots = agent.users.members_with(tags)
    return answers.overview(found, workers=members if tags else agent.working(), slots=slots)


async def _running_jobs(agent: Agent, _request: Request, _body: bytes) -> Any:
    jobs = agent.require_state().snapshot().jobs.values()
    return [_running(agent, job) for job in sorted(jobs, key=lambda job: (job.submitted_at, job.job_id))]


def _running(agent: Agent, job: JobRecord) -> dict[str, Any]:
    answer = answers.running_job(job, agent.users.metrics_of(job))
    waits_for = agent.users.waits_for(job)
    pending = {"pendingReason": waits_for} if waits_for else {}
    return {**answer, "jobStatus": agent.users.state_of(job).value, **pending}


async def _job_info(agent: Agent, request: Request, _body: bytes) -> Any:
    state, job_id = agent.require_state(), str(request.path_params["job_id"])
    job, ended = state.job(job_id), state.ended(job_id)
    if job is not None:
        pipelines = agent.users.pipelines_of(job)
        return {**_running(agent, job), **({"pipelines": pipelines} if pipelines else {})}
    return {"jobId": job_id} if ended is None else answers.ended_job(ended)


async def _finished_jobs(agent: Agent, request: Request, _body: bytes) -> Any:
    state = str(request.path_params.get("state", ""))
    return answers.finished_jobs(agent.require_state().snapshot().history.values(), state)


async def _submit_job(agent: Agent, request: Request, body: bytes) -> Any:
    parameters: Mapping[str, str] = request.query_params
    if not body.strip():
        raise RequestError("Request body is empty.")
    restore = parameters.get("isStartWithSavePoint", "false").lower() == "true"
    if restore and not parameters.get("jobId"):
        raise RequestError("Please provide jobId when start with save point.")
    format = parameters.get("format", "json").lower()
    if format not in FORMATS:
        raise RequestError(f"format is {format!r}: write one of {', '.join(FORMATS)}")
    return await _accept(
        agent,
        job_id=parameters.get("jobId") or new_job_id(),
        name=parameters.get("jobName", ""),
        text=_decoded(body),
        format=format,
        variables={},
        restore=restore,
    )


def _decoded(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise RequestError(f"the job is not UTF-8 text: {error}") from error


async def _accept(
    agent: Agent, *, job_id: str, name: str, text: str, format: str, variables: Mapping[str, str], restore: bool
) -> dict[str, Any]:
    require_job_id(job_id)
    own_name = SubmittedJob(text, format, tuple(variables.items())).accepted_name()
    now = wall_clock()
    record = JobRecord(
        job_id=job_id,
        name=name or own_name,
        text=text,
        format=format,
        variables=variables,
        restore=restore,
        submitted_at=now,
        since=now,
    )
    if order_bytes(record) > ORDERS_BYTES:  # it would be accepted, and no member could be told to run it
        raise RequestError(f"the job is too large: written as JSON it has more than {ORDERS_BYTES} bytes", status=413)
    await agent.users.submit(record)
    return {"jobId": job_id, "jobName": record.name}


async def _stop_job(agent: Agent, _request: Request, body: bytes) -> Any:
    block = _block(body)
    if block.get("jobId") in (None, ""):
        raise RequestError("jobId cannot be empty.")
    job_id = str(block["jobId"])
    wanted = Wanted.SAVEPOINT if block.get("isStopWithSavePoint") else Wanted.CANCEL
    await agent.users.want(job_id, Wanted.CANCEL_AT_ONCE if block.get("force") else wanted)
    return {"jobId": job_id}


async def _update_tags(agent: Agent, _request: Request, body: bytes) -> Any:
    """Set the tags of the node that is asked; an empty block clears them."""
    agent.own_hosts().tags = {key: answers.text_of(value) for key, value in _block(body).items()}
    agent.dispatcher.wake()
    return {"status": "success", "message": "update node tags done."}


def _block(body: bytes) -> Mapping[str, Any]:
    if not body.strip():
        raise RequestError("Request body is empty.")
    try:
        block = json.loads(body)
    except ValueError as error:
        raise RequestError("Invalid JSON format in request body.") from error
    return block if isinstance(block, Mapping) else {}


async def _unknown(_agent: Agent, request: Request, _body: bytes) -> Any:
    raise RequestError(f"this node answers no {request.method} {request.url.path}", status=404)


_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

_ROUTES: tuple[tuple[str, str, Handler, bool], ...] = (
    ("GET", "/overview", _overview, True),
    ("GET", "/running-jobs", _running_jobs, True),
    ("GET", "/job-info/{job_id}", _job_info, True),
    ("GET", "/running-job/{job_id}", _job_info, True),
    ("GET", "/finished-jobs", _finished_jobs, True),
    ("GET", "/finished-jobs/", _finished_jobs, True),
    ("GET", "/finished-jobs/{state}", _finished_jobs, True),
    ("POST", "/submit-job", _submit_job, True),
    ("POST", "/stop-job", _stop_job, True),
    ("POST", "/update-tags", _update_tags, False),
)

# -- between nodes and clients ----------------------------------------------------------------------------------------


async def _members(agent: Agent, _request: Request, _body: bytes) -> Any:
    return agent.describe()


async def _join(agent: Agent, _request: Request, body: bytes) -> Any:
    agent.require_state()
    block = stored.parse(body)
    agent.leadership.joined(stored.text(block, "address"), works=stored.flag(block, "works"))
    return {"term": agent.leadership.term()}


async def _hosts(agent: Agent, _request: Request, body: bytes) -> Any:
    hosts = agent.own_hosts()
    hosts.require_term(stored.number(stored.parse(body), "term"))
    report = hosts.report()
    if report is None:
        raise RequestError("this node looks for the hosts of an earlier agent: try again", status=503)
    return report.record()


async def _orders(agent: Agent, request: Request, body: bytes) -> Any:
    """Carry out orders, unless this process stood still and the leader has left: it gives wanted ones again."""
    for _ in range(2):
        await asyncio.sleep(0)  # the end of a connection is read behind its data
    if await request.is_disconnected():
        return {}
    block = stored.parse(body)
    orders, as_of = stored.items(block, "orders"), stored.seconds(block, "as_of")
    await agent.own_hosts().carry_out(stored.number(block, "term"), orders, as_of)
    return {}


async def _join_as_worker(agent: Agent, _request: Request, body: bytes) -> Any:
    block = stored.parse(body)
    return agent.welcome(stored.text(block, "address"), stored.number(block, "slots"))


async def _submit(agent: Agent, _request: Request, body: bytes) -> Any:
    block = stored.parse(body)
    variables = stored.below(block, "variables")
    return await _accept(
        agent,
        job_id=stored.text(block, "job_id"),
        name=stored.text(block, "name"),
        text=stored.text(block, "text"),
        format=stored.text(block, "format"),
        variables={key: stored.text(variables, key) for key in variables},
        restore=stored.flag(block, "restore"),
    )


def _meetings(joining: Joining) -> "tuple[tuple[str, str, Handler, bool], ...]":
    def answered_by(function: Callable[[bytes], Any]) -> Handler:
        async def handler(_agent: Agent, _request: Request, body: bytes) -> Any:
            return await asyncio.get_running_loop().run_in_executor(None, function, body)

        return handler

    return (
        ("POST", MEET, answered_by(joining.meet), False),
        ("POST", PROBE, answered_by(joining.probe), False),
    )


_INTERNAL: tuple[tuple[str, str, Handler, bool], ...] = (
    ("GET", "/internal/v1/members", _members, False),
    ("POST", "/internal/v1/join", _join, False),
    ("POST", "/internal/v1/workers", _join_as_worker, False),
    ("POST", "/internal/v1/hosts", _hosts, False),
    ("POST", "/internal/v1/orders", _orders, False),
    ("POST", "/internal/v1/submit", _submit, True),
)
