"""The options that ask jobs in other processes, and their values."""

import argparse
from functools import partial

from attrs import frozen

from seatunnel_core.cli.command import DONE, Command
from seatunnel_core.cli.control_verb import ControlVerb
from seatunnel_core.errors import UsageError


@frozen(kw_only=True)
class ControlArguments(Command):
    """The arguments of ``seatunnel --list``, ``--savepoint ID`` and the others that ask running jobs."""

    verb: ControlVerb
    job_ids: tuple[str, ...]
    """Empty for all that run."""

    savepoint_name: str | None
    keep_running: bool
    drain: bool
    at_once: bool
    open_metrics: bool

    def execute(self, *, last: bool) -> int:
        from seatunnel_core.cli.control import control

        control(self)
        return DONE


def add_control(parser: argparse.ArgumentParser) -> None:
    """Add the options that ask running jobs."""
    group = parser.add_argument_group("instead of a job file: ask jobs that run on this machine, in processes of yours")
    verbs = group.add_mutually_exclusive_group()

    def verb(*flags: str, of: ControlVerb, help: str, many: bool = False) -> None:
        of_job = partial(_asked_of_job, of)
        verbs.add_argument(*flags, dest="asked", metavar="ID", nargs="+" if many else 1, type=of_job, help=help)

    def verb_for_all(*flags: str, of: ControlVerb, help: str) -> None:
        verbs.add_argument(*flags, dest="asked", action="store_const", const=[(of, "")], help=help)

    verb_for_all("-l", "--list", of=ControlVerb.LIST, help="list them")
    verb("-j", "--job-id", of=ControlVerb.LIST, help="show one of them")
    verb("--metrics", of=ControlVerb.METRICS, help="print its figures as JSON")
    verb_for_all("--get_running_job_metrics", of=ControlVerb.METRICS, help="print the figures of all as JSON")
    verb("-s", "--savepoint", of=ControlVerb.SAVEPOINT, help="take a savepoint, never pruned, and stop the job with it")
    verb("-can", "--cancel-job", of=ControlVerb.STOP, many=True, help="stop jobs after a last checkpoint each")
    how = group.add_mutually_exclusive_group()
    how.add_argument("--keep-running", action="store_true", help="with -s: the job goes on")
    how.add_argument("--drain", action="store_true", help="with -s: read no more, commit all that was read, and stop")
    group.add_argument("--savepoint-name", metavar="NAME", help="with -s: instead of the next number")
    group.add_argument("-f", "--force-cancel", action="store_true", help="with -can: at once, without a checkpoint")
    group.add_argument("--open-metrics", action="store_true", help="with --metrics: as the page that Prometheus reads")


_HOW = {
    "--keep-running": (ControlVerb.SAVEPOINT, "-s"),
    "--drain": (ControlVerb.SAVEPOINT, "-s"),
    "--savepoint-name": (ControlVerb.SAVEPOINT, "-s"),
    "--force-cancel": (ControlVerb.STOP, "-can"),
    "--open-metrics": (ControlVerb.METRICS, "--metrics"),
}
"""By a flag that modifies a verb: the verb, and its flag."""

_OF_A_NEW_JOB = (
    *("--variable", "--name", "--set-job-id", "--restore", "--master", "--async", "--close-job"),
    *("--check", "--encrypt", "--decrypt", "--strict", "--engine-config"),
)
"""The options of a new job, which a request to running jobs would ignore."""


def _asked_of_job(verb: ControlVerb, text: str) -> tuple[ControlVerb, str]:
    return verb, job_id(text)


def control_arguments(values: argparse.Namespace) -> ControlArguments | None:
    """Return the request to running jobs, or ``None`` if there is none."""
    verb = values.asked[0][0] if values.asked else None
    for flag, (belongs_to, written) in _HOW.items():
        if getattr(values, flag[2:].replace("-", "_")) and verb is not belongs_to:
            raise UsageError(f"{flag} says how, and not what: write it behind {written} JOB_ID")
    if verb is None:
        return None
    if values.config is not None:
        raise UsageError("A job file and a question to running jobs do not go together: leave --config out")
    for flag in _OF_A_NEW_JOB:
        if getattr(values, flag[2:].replace("-", "_")):
            raise UsageError(f"{flag} is for a job that starts, and has no meaning for one that runs: leave it out")
    return ControlArguments(
        verb=verb,
        job_ids=tuple(job_id for _, job_id in values.asked if job_id),
        savepoint_name=values.savepoint_name,
        keep_running=values.keep_running,
        drain=values.drain,
        at_once=values.force_cancel,
        open_metrics=values.open_metrics,
    )


def job_id(text: str) -> str:
    """Return the text if it is the id of a job, as a type of ``argparse``."""
    from seatunnel_storage_api.errors import InvalidIdError
    from seatunnel_storage_api.layout import require_job_id

    try:
        return require_job_id(text)
    except InvalidIdError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
