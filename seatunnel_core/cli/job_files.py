"""Files given to a command: the job file and the engine file."""

import contextlib
import sys
from collections.abc import Iterator

from attrs import frozen

from seatunnel_core.claiming.increments import job_to_go_on_with
from seatunnel_core.cli.arguments import RunArguments
from seatunnel_core.config.engine import EngineConfig, default_engine, load_engine
from seatunnel_core.config.job_file import RawJob, load_job
from seatunnel_core.config.variables import Variables
from seatunnel_core.errors import ConfigError, SeaTunnelError
from seatunnel_core.findings import Findings
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.planning.variable_uses import secret_variables
from seatunnel_core.registry import lookup
from seatunnel_storage_api.errors import CheckpointStorageError


@frozen(kw_only=True)
class Request:
    """Parsed job that is not planned yet, with its engine configuration."""

    raw: RawJob
    engine: EngineConfig
    secrets: frozenset[str] = frozenset()
    """Names of ``-i`` variables that the job file uses as secrets."""


def read_job(arguments: RunArguments) -> Request:
    """Read the job file and the engine file; raise a ``UsageError`` that lists every problem."""
    secrets = secret_variables(arguments.config, arguments.variables, lookup) if arguments.variables else frozenset()
    findings = Findings(ConfigError)
    with findings.part():
        engine = load_engine(arguments.engine_config, strict=arguments.strict)
    with findings.part():
        raw = load_job(arguments.config, Variables(arguments.variables), strict=arguments.strict)
        if findings.found:  # the engine file is invalid; report it together with the problems of the job
            plan_job(raw, lookup, default_engine(), reads_input=False)
    findings.raise_all()
    return Request(raw=raw, engine=engine, secrets=secrets)


@contextlib.contextmanager
def warnings_first(request: Request) -> Iterator[None]:
    """Print the warnings of the job before an error in the context, because a misspelt key may be the cause."""
    try:
        yield
    except (SeaTunnelError, CheckpointStorageError):
        for warning in request.raw.problems.warnings:
            print(f"warning: {warning}", file=sys.stderr)
        raise


def begun_before_this(arguments: RunArguments, request: Request) -> str | None:
    """Return the ID of the incremental job to resume, unless the command specifies a job or a savepoint."""
    if arguments.restore or arguments.set_job_id or arguments.restoring.from_savepoint:
        return None
    return job_to_go_on_with(request.raw, request.engine, arguments.name)
