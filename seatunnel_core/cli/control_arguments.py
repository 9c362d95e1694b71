"""Options for requests to jobs that run in other processes."""

import argparse
import enum
from functools import partial

from attrs import frozen

from seatunnel_core.cli.command import Command
from seatunnel_core.cli.declared import add_options, flag_of, option, read_options, switch
from seatunnel_core.errors import UsageError


class ControlVerb(enum.Enum):
    """Kinds of requests to running jobs."""

    LIST = "list"
    METRICS = "metrics"
    SAVEPOINT = "savepoint"
    STOP = "stop"


@frozen(kw_only=True)
class ControlArguments(Command):
    """Arguments of requests to running jobs, such as ``seatunnel --list`` and ``--savepoint ID``."""

    verb: ControlVerb
    job_ids: tuple[str, ...]
    """Job IDs; empty for all running jobs."""

    keep_running: bool = switch("--keep-running", exclusive="how", help="with -s: keep the job running")
    drain: bool = switch(
        "--drain", exclusive="how", help="with -s: stop reading, commit all rows that were read, and stop"
    )
    savepoint_name: str | None = option(
        "--savepoint-name", metavar="NAME", help=("with -s: name of the savepoint (default: the next number)")
    )
    at_once: bool = switch("-f", "--force-cancel", help="with -can: stop at once, without a checkpoint")
    open_metrics: bool = switch("--open-metrics", help="with --metrics: in the Prometheus format")


def add_control(parser: argparse.ArgumentParser) -> None:
    """Add the options for requests to running jobs."""
    group = parser.add_argument_group("query your running jobs on this machine, instead of running a job file")
    verbs = group.add_mutually_exclusive_group()

    def verb(*flags: str, of: ControlVerb, help: str, many: bool = False) -> None:
        of_job = partial(_asked_of_job, of)
        verbs.add_argument(*flags, dest="asked", metavar="ID", nargs="+" if many else 1, type=of_job, help=help)

    def verb_for_all(*flags: str, of: ControlVerb, help: str) -> None:
        verbs.add_argument(*flags, dest="asked", action="store_const", const=[(of, "")], help=help)

    verb_for_all("-l", "--list", of=ControlVerb.LIST, help="list them")
    verb("-j", "--job-id", of=ControlVerb.LIST, help="show one running job")
    verb("--metrics", of=ControlVerb.METRICS, help="print the metrics of a running job as JSON")
    verb_for_all(
        "--get_running_job_metrics", of=ControlVerb.METRICS, help=("print the metrics of all running jobs as JSON")
    )
    verb("-s", "--savepoint", of=ControlVerb.SAVEPOINT, help="take a savepoint, which never expires, and stop the job")
    verb("-can", "--cancel-job", of=ControlVerb.STOP, many=True, help="stop jobs, each after a final checkpoint")
    add_options(group, ControlArguments)


_HOW = {
    "keep_running": (ControlVerb.SAVEPOINT, "-s"),
    "drain": (ControlVerb.SAVEPOINT, "-s"),
    "savepoint_name": (ControlVerb.SAVEPOINT, "-s"),
    "at_once": (ControlVerb.STOP, "-can"),
    "open_metrics": (ControlVerb.METRICS, "--metrics"),
}
"""Verb and flag that each modifying option belongs to."""


def _asked_of_job(verb: ControlVerb, text: str) -> tuple[ControlVerb, str]:
    return verb, job_id(text)


def control_arguments(values: argparse.Namespace) -> ControlArguments | None:
    """Return the request to running jobs, or ``None`` if the command line contains none."""
    verb = values.asked[0][0] if values.asked else None
    for name, (belongs_to, written) in _HOW.items():
        if getattr(values, name) and verb is not belongs_to:
            flag = flag_of(ControlArguments, name)
            raise UsageError(f"{flag} requires {written}: write {written} JOB_ID {flag}")
    if verb is None:
        return None
    if values.config is not None:
        raise UsageError("A job file cannot be combined with a query about running jobs: remove --config")
    job_ids = tuple(job_id for _, job_id in values.asked if job_id)
    return read_options(ControlArguments, values, verb=verb, job_ids=job_ids)


def job_id(text: str) -> str:
    """Return the string if it is a valid job ID; used as an ``argparse`` type."""
    from seatunnel_storage_api.errors import InvalidIdError
    from seatunnel_storage_api.layout import require_job_id

    try:
        return require_job_id(text)
    except InvalidIdError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def variable(text: str) -> tuple[str, str]:
    """Parse ``NAME=VALUE`` into a name and a value; used as an ``argparse`` type."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, for example -i day=2026-01-31, not {text!r}")
    return name, value
