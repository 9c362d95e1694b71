"""Planning of a submitted job, as far as possible without its data."""

from pathlib import Path
from typing import Any

from seatunnel_core import stored
from seatunnel_core.config.engine import load_engine
from seatunnel_core.errors import ConfigError, SeaTunnelError
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.registry import lookup
from seatunnel_core.server.aside.memory import BoundedMemory
from seatunnel_core.server.requirements import requirements_in
from seatunnel_core.server.submitted_job import SubmittedJob


def plan(request: Any) -> dict[str, Any]:
    """Return the name of a job and its warnings; raise ``ConfigError`` with all warnings and errors if it is invalid.

    Sources are not opened: the job may run on another node, and at another time.
    """
    variables = stored.below(request, "variables")
    job = SubmittedJob(
        text=stored.text(request, "text"),
        format=stored.text(request, "format"),
        variables=tuple((key, stored.text(variables, key)) for key in variables),
        origin=stored.text(request, "origin"),
    )
    engine_file = stored.text(request, "engine_file")
    raw = job.accepted(lookup, within=BoundedMemory())
    try:
        planned = plan_job(raw, lookup, load_engine(Path(engine_file) if engine_file else None), reads_input=False)
    except SeaTunnelError as error:
        raise ConfigError("\n".join([*(f"warning: {each}" for each in raw.problems.warnings), str(error)])) from error
    return {
        "name": planned.name,
        "warnings": [str(each) for each in raw.problems.warnings],
        "requirements": requirements_in(raw).record(),
    }
