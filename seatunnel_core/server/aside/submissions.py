"""Parsing of lists of submitted jobs, and encryption of jobs. Both take a long time for large files."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from seatunnel_core import stored
from seatunnel_core.config.file import parse
from seatunnel_core.config.limits import SUBMITTED
from seatunnel_core.config.variables import Variables
from seatunnel_core.planning.encryption import encrypted_job
from seatunnel_core.server.aside.memory import BoundedMemory
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.submitted_job import FORMATS

MOST_AT_ONCE = 1_000
"""Maximum number of jobs submitted or stopped by one request."""

PARAMETERS = ("jobId", "jobName", "isStartWithSavePoint")
"""Parameters of each job in a list."""

_LONGEST_PARAMETER = 1_000


def split(request: Any) -> list[dict[str, Any]]:
    """Return the jobs of a list, each with its ``text`` as JSON and its ``params``."""
    with BoundedMemory():
        try:
            value = json.loads(stored.text(request, "body"))
        except (ValueError, RecursionError) as error:
            raise RequestError("Invalid JSON format in request body.", reason="invalid_json") from error
        if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
            raise RequestError("expected a JSON array of objects in the body", reason="invalid_json")
        if len(value) > MOST_AT_ONCE:
            raise RequestError(f"the list has {len(value)} entries: send at most {MOST_AT_ONCE}", status=413)
        return [_job(number, entry) for number, entry in enumerate(value, 1)]


def _job(number: int, entry: Mapping[str, Any]) -> dict[str, Any]:
    given = entry.get("params", {})
    if not isinstance(given, Mapping):
        raise RequestError(f"params of job {number}: expected an object", reason="invalid_json")
    parameters = {key: given[key] for key in PARAMETERS if key in given}
    for key, value in parameters.items():
        if isinstance(value, list | Mapping) or len(str(value)) > _LONGEST_PARAMETER:
            expected = f"a string, number or boolean of at most {_LONGEST_PARAMETER} characters"
            said = f"{key} of job {number} is not {expected}"
            raise RequestError(said, reason="invalid_json")
    text = json.dumps({key: value for key, value in entry.items() if key != "params"})
    if len(text) > SUBMITTED.characters:
        said = f"job {number} is too large: encoded as JSON, it has more than {SUBMITTED.characters} bytes"
        raise RequestError(said, status=413)
    return {"text": text, "params": parameters}


def encrypt(request: Any) -> dict[str, Any]:
    """Return a job with its secrets encrypted, as ``seatunnel --encrypt`` does."""
    name = FORMATS[stored.text(request, "format")]
    read, variables = partial(parse, stored.text(request, "text"), name), Variables(environment={}, of_node=True)
    with BoundedMemory():
        return encrypted_job(read, name, variables)
