"""Planning of submitted jobs without access to their data, and checks of jobs, which may need Spark."""

from pathlib import Path
from typing import Any

from seatunnel_core import stored
from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.file import parse
from seatunnel_core.config.job_file import read_job
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables
from seatunnel_core.errors import ConfigError, SeaTunnelError
from seatunnel_core.planning.check import spark_to_ask
from seatunnel_core.planning.check_record import check_record, problem_record
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.registry import lookup
from seatunnel_core.server.aside.memory import BoundedMemory
from seatunnel_core.server.requirements import requirements_in
from seatunnel_core.server.submitted_job import FORMATS, SubmittedJob, require_absolute_paths
from seatunnel_storage_api.errors import CheckpointStorageError


def plan(request: Any) -> dict[str, Any]:
    """Return the name of a job and its warnings. Raise ConfigError with all warnings and errors if the job is invalid.

    Sources are not opened, because the job may run later on another node.
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


def check(request: Any) -> dict[str, Any]:
    """Check a job and return the result, even if the job is invalid. ``engine_file`` of the request may be empty."""
    problems = Problems()
    try:
        return {"valid": True, "errors": [], **_checked(request, problems)}
    except (SeaTunnelError, CheckpointStorageError) as error:
        found = [problem_record(each) for each in problems.errors] or [
            {"message": line, "suggestion": "", "file": None, "line": None, "column": None}
            for line in str(error).splitlines()
        ]
        warnings = [problem_record(each) for each in problems.warnings]
        return {"valid": False, "errors": found, "warnings": warnings, "code": error.code, "report": str(error)}


def _checked(request: Any, problems: Problems) -> dict[str, Any]:
    name, engine_file = FORMATS[stored.text(request, "format")], stored.text(request, "engine_file")
    engine = load_engine(Path(engine_file) if engine_file else None)
    origin = (stored.text(request, "origin") if "origin" in request else "") or name
    with BoundedMemory():
        tree = parse(stored.text(request, "text"), origin, Variables(of_node=True), problems, like=name)
        raw = read_job(tree, origin, problems)
    require_absolute_paths(raw, problems)
    # A job with errors opens no files, so its paths may be relative. The planner raises all errors.
    job = plan_job(raw, lookup, engine, look=not problems.errors, reads_input=not problems.errors)
    with spark_to_ask(job) as spark:
        return check_record(job, engine, spark=spark)
