"""The files that a command names: the job and its engine."""

from typing import TYPE_CHECKING

from attrs import frozen

from seatunnel_core.claiming.increments import job_to_go_on_with
from seatunnel_core.config.engine import EngineConfig, load_engine
from seatunnel_core.config.job_file import RawJob, load_job
from seatunnel_core.config.variables import Variables

if TYPE_CHECKING:
    from seatunnel_core.cli.arguments import RunArguments


@frozen(kw_only=True)
class Request:
    """What was asked for, read but not planned."""

    raw: RawJob
    engine: EngineConfig


def read_job(arguments: "RunArguments") -> Request:
    """Read the job file and the engine file.

    Raises:
        UsageError: They are wrong; the message lists every problem.
    """
    engine = load_engine(arguments.engine_config, strict=arguments.strict)
    return Request(
        raw=load_job(arguments.config, Variables(arguments.variables), strict=arguments.strict), engine=engine
    )


def begun_before_this(arguments: "RunArguments", request: Request) -> str | None:
    """Return the id of the job with increments that goes on, where the command names neither a job nor a savepoint."""
    if arguments.restore or arguments.set_job_id or arguments.restoring.from_savepoint:
        return None
    return job_to_go_on_with(request.raw, request.engine, arguments.name)
