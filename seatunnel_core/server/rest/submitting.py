"""Endpoints that submit and stop jobs, one or several per request."""

import json
import secrets
from collections.abc import Collection, Mapping
from pathlib import PurePath
from typing import Any, TypeVar

from seatunnel_core import stored
from seatunnel_core.claiming.job_id import new_job_id
from seatunnel_core.clock import wall_clock
from seatunnel_core.config.http_options import Permission
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.agent.peers import LARGEST_BODY, ORDERS_BYTES, order_bytes
from seatunnel_core.server.aside.submissions import MOST_AT_ONCE
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.rest.route import Body, Parameter, Request, Routes, json_block, json_value, needing, truth
from seatunnel_core.server.rest.shapes import FLAG, TEXT, block, by_name, either, items
from seatunnel_core.server.state.records import DesiredState, JobRecord, Requirements
from seatunnel_core.server.submitted_job import FORMATS
from seatunnel_storage_api.layout import require_job_id

Value = TypeVar("Value")

_ENDINGS = {".json": "json", ".conf": "hocon", ".config": "hocon", ".yaml": "yaml", ".yml": "yaml", ".sql": "sql"}
"""Job format by the extension of an uploaded file."""

_NAME_CHARACTERS = 120
"""Maximum number of characters of a file name in messages."""


_ID = Parameter("jobId", "Job id; generated if missing. Send an id so that the request can be repeated safely.")
_NAME = Parameter("jobName", "Job name, which replaces the one in the job.")
_RESTORE = Parameter("isStartWithSavePoint", "`true` resumes from the latest checkpoint of the job `jobId`.", FLAG)
FORMAT = Parameter("format", f"{', '.join(FORMATS)}; `json` by default.")
FILE = Parameter("fileName", "Name of the job file, for messages.")
JOB_BODIES = (
    Body(by_name({}), doc="The job as JSON."),
    Body(TEXT, "text/plain", doc="The job in another `format`."),
)
_ACCEPTED = block({"jobId": TEXT, "jobName": TEXT}, {"warnings": items(TEXT)})
_STOP = block({"jobId": either(TEXT, {"type": "integer"})}, {"isStopWithSavePoint": FLAG, "force": FLAG})
_STOPPED = block({"jobId": TEXT})
_FORM = Body({"type": "object", "properties": {"config_file": {"type": "string", "format": "binary"},
               "variables": {"type": "string", "description": "Values for `${…}` in the job: an object of strings."}},
              "required": ["config_file"]}, "multipart/form-data")  # fmt: skip
_ENTRY = {"type": "object", "properties": {"params": by_name({})}}

ROUTES = Routes()


def _to_submit(request: Request) -> Collection[Permission]:
    return _to_submit_with(request.query_params)


def _to_submit_with(parameters: Mapping[str, Any]) -> Collection[Permission]:
    restored = truth(parameters, "isStartWithSavePoint")
    return (Permission.SUBMIT, Permission.RESTORE) if restored else (Permission.SUBMIT,)


def _to_submit_all(jobs: Any) -> Collection[Permission]:
    return {permission for each in jobs for permission in _to_submit_with(each["params"])}


def _to_stop(entry: Mapping[str, Any]) -> Collection[Permission]:
    saved = _how(entry) is DesiredState.SAVEPOINT
    return (Permission.STOP, Permission.SAVEPOINT) if saved else (Permission.STOP,)


def _how(entry: Mapping[str, Any]) -> DesiredState:
    if truth(entry, "force"):
        return DesiredState.CANCEL_AT_ONCE
    return DesiredState.SAVEPOINT if truth(entry, "isStopWithSavePoint") else DesiredState.CANCEL


async def _jobs(agent: Agent, body: bytes) -> Any:
    """Parse the jobs of a list in a separate process, so that other requests do not wait."""
    if not body.strip():
        raise RequestError("Request body is empty.", reason="empty_body")
    return await agent.planner.split(_decoded(body))


def _entries(body: bytes) -> list[Mapping[str, Any]]:
    value = json_value(body)
    if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
        raise RequestError("expected a JSON array of objects in the body", reason="invalid_json")
    if len(value) > MOST_AT_ONCE:
        raise RequestError(f"the list has {len(value)} entries: send at most {MOST_AT_ONCE}", status=413)
    return value


@ROUTES.post(
    "/submit-job",
    "Submit a job. When this responds, the job is stored durably.",
    parameters=(_ID, _NAME, _RESTORE, FORMAT, FILE),
    bodies=JOB_BODIES,
    answer=_ACCEPTED,
    needs=_to_submit,
    most_bytes=LARGEST_BODY,
)
async def _submit_job(agent: Agent, request: Request, body: bytes) -> Any:
    text, format = job_of(request, body)
    return await _submitted(agent, request.query_params, text, format, origin=file_name(request))


def file_name(request: Request) -> str:
    """Return the name of the job file for messages; empty if it is not given."""
    name = PurePath(request.query_params.get("fileName", "")).name
    return name[-_NAME_CHARACTERS:] if name.isprintable() else ""


def job_of(request: Request, body: bytes) -> tuple[str, str]:
    """Return the text and the format of a job."""
    if not body.strip():
        raise RequestError("Request body is empty.", reason="empty_body")
    format = request.query_params.get("format", "json").lower()
    if format not in FORMATS:
        raise RequestError(f"format is {format[:40]!r}: expected one of {', '.join(FORMATS)}", reason="unknown_format")
    return _decoded(body), format


@ROUTES.post(
    "/submit-job/upload",
    "Submit a job as a file; the file extension determines the format. The form field `variables` sets the "
    "variables `${…}` of the job.",
    parameters=(_ID, _NAME, _RESTORE),
    bodies=(_FORM,),
    answer=_ACCEPTED,
    needs=_to_submit,
    most_bytes=LARGEST_BODY,
)
async def _submit_upload(agent: Agent, request: Request, body: bytes) -> Any:
    name, content, variables = await _uploaded(request, body)
    format = _ENDINGS.get(PurePath(name).suffix.lower())
    if format is None:
        raise RequestError(
            f"unknown format of file {name[-60:]!r}: expected one of the extensions {', '.join(_ENDINGS)}",
            reason="unknown_format",
        )
    return await _submitted(agent, request.query_params, _decoded(content), format, variables, PurePath(name).name)


async def _uploaded(request: Request, body: bytes) -> tuple[str, bytes, Mapping[str, str]]:
    """Return the name and content of the form's file ``config_file``, and the variables in its field ``variables``."""
    from starlette.datastructures import UploadFile
    from starlette.formparsers import MultiPartException, MultiPartParser

    async def received() -> Any:
        yield body

    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise RequestError("expected multipart/form-data with the job as the file config_file")
    try:
        form = await MultiPartParser(request.headers, received(), max_files=1, max_fields=10).parse()
    except (MultiPartException, KeyError, ValueError) as error:
        raise RequestError(f"the form cannot be read: {error}", reason="invalid_form") from error
    try:
        file = form.get("config_file")
        if not isinstance(file, UploadFile) or not file.filename:
            raise RequestError("the form has no file config_file", reason="invalid_form")
        return file.filename, await file.read(), _variables(form.get("variables", "{}"))
    finally:
        await form.close()


def _variables(given: Any) -> Mapping[str, str]:
    """Return the variables of a form. Errors never contain their values."""
    try:
        found = json.loads(given) if isinstance(given, str) else None
    except (ValueError, RecursionError):
        found = None
    texts = (*found, *found.values()) if isinstance(found, Mapping) else ()
    if not isinstance(found, Mapping) or not all(isinstance(each, str) and _writable(each) for each in texts):
        raise RequestError(
            'the form field variables must be a JSON object of strings, such as {"day": "2026-01-31"}',
            reason="invalid_form",
        )
    return found


async def _submitted(
    agent: Agent,
    parameters: Mapping[str, Any],
    text: str,
    format: str,
    variables: Mapping[str, str] | None = None,
    origin: str = "",
) -> dict[str, Any]:
    restore, given = truth(parameters, "isStartWithSavePoint"), parameters.get("jobId") not in (None, "")
    if restore and not given:
        raise RequestError("Please provide jobId when start with save point.", reason="missing_job_id")
    return await accept(
        agent,
        job_id=job_id_of(parameters) if given else new_job_id(),
        name=str(parameters.get("jobName") or ""),
        text=text,
        format=format,
        variables=variables or {},
        restore=restore,
        origin=origin,
    )


def _decoded(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise RequestError(f"the job is not UTF-8 text: {error}", reason="not_utf8") from error


async def accept(
    agent: Agent,
    *,
    job_id: str,
    name: str,
    text: str,
    format: str,
    variables: Mapping[str, str],
    restore: bool,
    origin: str = "",
) -> dict[str, Any]:
    """Store a job durably, and return its ID and name. If the same job is already active, return its ID and name."""
    require_job_id(job_id)
    agent.require_state()  # otherwise the leader plans it
    job = {"text": text, "format": format, "variables": dict(variables), "origin": origin}
    planned = await agent.planner.plan(job)
    own_name, warnings = stored.text(planned, "name"), stored.texts(planned, "warnings")
    if not _writable(name or own_name):
        raise RequestError("the job name is not valid Unicode: it contains an unpaired surrogate")
    now = wall_clock()
    record = JobRecord(
        job_id=job_id,
        name=name or own_name,
        text=text,
        format=format,
        origin=origin,
        variables=variables,
        restore=restore,
        submission=secrets.token_hex(16),
        requirements=Requirements.from_record(planned["requirements"]) if "requirements" in planned else None,
        submitted_at=now,
        since=now,
    )
    if order_bytes(record) > ORDERS_BYTES:  # it would be accepted, but could not be sent to any member
        raise RequestError(f"the job is too large: encoded as JSON, it has more than {ORDERS_BYTES} bytes", status=413)
    accepted = await agent.users.submit(record)
    answer: dict[str, Any] = {"jobId": job_id, "jobName": accepted.name}
    return {**answer, "warnings": warnings} if warnings else answer


def _writable(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


@ROUTES.post(
    "/submit-jobs",
    "Submit several jobs, each with its `params`.",
    bodies=(Body(items(_ENTRY)),),
    answer=items(_ACCEPTED),
    needs=needing(Permission.SUBMIT),
    reads=_jobs,
    body_needs=_to_submit_all,
    most_bytes=LARGEST_BODY,
)
async def _submit_jobs(agent: Agent, _request: Request, jobs: Any) -> Any:
    """Accept jobs in order. If a job is rejected, its error lists the jobs that were accepted before it."""
    accepted: list[dict[str, Any]] = []
    for number, entry in enumerate(jobs, 1):
        try:
            accepted.append(await _submitted(agent, entry["params"], stored.text(entry, "text"), "json"))
        except Exception as error:
            if accepted:
                done = ", ".join(each["jobId"] for each in accepted[:20])
                error.add_note(f"job {number} of the list was rejected; the jobs before it were accepted: {done}")
            raise
    return accepted


@ROUTES.post(
    "/stop-job",
    "Stop a job immediately, after a final checkpoint, or with a savepoint.",
    bodies=(Body(_STOP),),
    answer=_STOPPED,
    needs=needing(Permission.STOP),
    body_needs=lambda body: _to_stop(json_block(body)),
)
async def _stop_job(agent: Agent, _request: Request, body: bytes) -> Any:
    return await _stopped(agent, json_block(body))


@ROUTES.post(
    "/stop-jobs",
    "Stop several jobs.",
    bodies=(Body(items(_STOP)),),
    answer=items(_STOPPED),
    needs=needing(Permission.STOP),
    body_needs=lambda body: {each for entry in _entries(body) for each in _to_stop(entry)},
)
async def _stop_jobs(agent: Agent, _request: Request, body: bytes) -> Any:
    entries = _entries(body)
    for each in entries:
        job_id_of(each), _how(each)  # nothing is stopped if one entry is invalid
    return [await _stopped(agent, each) for each in entries]


async def _stopped(agent: Agent, entry: Mapping[str, Any]) -> dict[str, Any]:
    job_id = job_id_of(entry)
    await agent.users.want(job_id, _how(entry))
    return {"jobId": job_id}


def job_id_of(entry: Mapping[str, Any]) -> str:
    """Return the ``jobId`` of an object; raise ``RequestError`` if it is missing or invalid."""
    job_id = entry.get("jobId")
    if job_id in (None, ""):
        raise RequestError("jobId cannot be empty.", reason="missing_job_id")
    if not isinstance(job_id, str | int) or isinstance(job_id, bool) or not _writable(str(job_id)):
        raise RequestError("jobId is neither a string nor an integer", reason="invalid_id")
    return str(job_id)


@ROUTES.post(
    "/encrypt-config",
    "Encrypt the secrets of a job, as `seatunnel --encrypt` does.",
    to_leader=False,
    parameters=(FORMAT,),
    bodies=JOB_BODIES,
    answer=by_name({}),
    needs=needing(Permission.CHECK),
    most_bytes=LARGEST_BODY,
)
async def _encrypt_config(agent: Agent, request: Request, body: bytes) -> Any:
    text, format = job_of(request, body)
    return await agent.planner.encrypt(text, format)
