"""What may stand on the command line with ``-m cluster``: what a client of a cluster asks."""

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import field, frozen

from seatunnel_core.cli.command import Command, Parser
from seatunnel_core.cli.control_arguments import job_id
from seatunnel_core.errors import UsageError

_MODE = ("-m", "--master", "-e", "--deploy-mode")
_HERE = {"-h", "--help", "--version", "--check", "--encrypt", "--decrypt"}
"""Flags by which nothing runs, so that no cluster is asked."""


@frozen(kw_only=True)
class ClusterArguments(Command):
    """``seatunnel -m cluster …``."""

    config: Path | None
    """The job to submit; ``None`` when something else is asked for."""

    variables: Mapping[str, str] = field(repr=False)
    """From ``-i``; may hold secrets."""

    name: str | None
    set_job_id: str | None
    restore: str | None
    leave: bool
    """Whether the command ends when the job is accepted."""

    close_job: bool
    """Whether the job is cancelled when the command is interrupted."""

    listed: bool
    shown: str | None
    """The id of a job whose state is asked for."""

    savepoint: str | None
    cancelled: tuple[str, ...]
    at_once: bool
    metrics: str | None
    all_metrics: bool
    jvm_options: tuple[str, ...]
    """Of a JVM that a client of a cluster has not."""

    cluster: str | None
    engine_config: Path | None

    def execute(self, *, last: bool) -> int:
        """Ask the cluster and return the exit code."""
        from seatunnel_core.cli.cluster_client import ask_cluster

        return ask_cluster(self)


def asks_cluster(argv: Sequence[str], environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether a command line is for a cluster.

    ``-m cluster`` says so; without ``-m`` the script ``seatunnel.sh`` asks a cluster where ``SEATUNNEL_MODE`` says
    ``cluster``, or else ``mode`` in the engine's file. The command ``seatunnel`` alone runs jobs itself, whatever the
    environment holds.

    Raises:
        UsageError: ``SEATUNNEL_MODE``, or the engine's file, holds something else.
    """
    for place, argument in enumerate(argv):
        flag, equals, value = argument.partition("=")
        if flag in _MODE:
            return (value if equals else "".join(argv[place + 1 : place + 2])) == "cluster"
    by_script = environment.get("SEATUNNEL_COMMAND", "").endswith(".sh")
    starts = bool(argv) and argv[0].startswith("-") and not _HERE.intersection(argv)
    return by_script and starts and _mode(argv, environment) == "cluster"


def _mode(argv: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return what ``seatunnel.sh`` does with a job: ``local`` or ``cluster``."""
    said = environment.get("SEATUNNEL_MODE", "").strip().lower()
    if said not in ("", "local", "cluster"):
        raise UsageError(f"SEATUNNEL_MODE is {said!r}: write local or cluster")
    if said:
        return said
    from seatunnel_core.config.engine import engine_mode

    files = Parser(prog="seatunnel", add_help=False, allow_abbrev=False)
    files.add_argument("--engine-config", type=Path)
    return engine_mode(files.parse_known_args(argv)[0].engine_config, environment, Path())


def parse_cluster(argv: Sequence[str]) -> ClusterArguments:
    """Turn the command line into a value.

    Raises:
        UsageError: something is missing, or has no meaning for a cluster.
        SystemExit: with 0, after ``--help`` printed its text.
    """
    parser = _parser()
    values, unknown = parser.parse_known_args(argv)
    if unknown:
        raise UsageError(
            f"{unknown[0].partition('=')[0]} is not available with -m cluster. See: seatunnel -m cluster --help"
        )
    asked = ("listed", "shown", "savepoint", "cancelled", "metrics", "all_metrics")
    if values.config is None and not any(getattr(values, each) for each in asked):
        raise UsageError("Nothing to do: name a job file with --config FILE, or ask with -l, -j, -s, -can or --metrics")
    if values.config is not None and any(getattr(values, each) for each in asked):
        raise UsageError("A job file and a question to running jobs do not go together: leave --config out")
    return ClusterArguments(
        config=values.config,
        variables=dict(values.variable),
        name=values.name,
        set_job_id=values.set_job_id,
        restore=values.restore,
        leave=values.leave,
        close_job=values.close_job != "false",
        listed=values.listed,
        shown=values.shown,
        savepoint=values.savepoint,
        cancelled=tuple(values.cancelled or ()),
        at_once=values.at_once,
        metrics=values.metrics,
        all_metrics=values.all_metrics,
        jvm_options=tuple(values.jvm_option),
        cluster=values.cluster,
        engine_config=values.engine_config,
    )


def _parser() -> Parser:
    parser = Parser(
        prog="seatunnel -m cluster",
        description="Submits a job to a cluster, or asks about its jobs. hazelcast-client.yaml names the nodes.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("-c", "--config", metavar="FILE", type=Path, help="the job: HOCON, JSON, YAML or SQL")
    add("-i", "--variable", metavar="NAME=VALUE", action="append", default=[], type=_variable, help="replaces ${NAME}")
    add("-n", "--name", metavar="NAME", help="the job's name, instead of job.name in its env")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--set-job-id", metavar="ID", type=job_id, help="submit the job under this id")
    which.add_argument("-r", "--restore", metavar="ID", type=job_id, help="go on with this job, which has stopped")
    add(*_MODE, dest="mode", metavar="cluster", help="this mode")
    add("--async", dest="leave", action="store_true", help="end when the job is accepted")
    add("-cj", "--close-job", nargs="?", const="true", default="true", choices=("true", "false"), metavar="true|false",
        help="cancel the job when this command is interrupted; true")  # fmt: skip
    asks = parser.add_mutually_exclusive_group()
    asks.add_argument("-l", "--list", dest="listed", action="store_true", help="list running and ended jobs")
    asks.add_argument("-j", "--job-id", dest="shown", metavar="ID", type=job_id, help="show one job")
    asks.add_argument("-s", "--savepoint", metavar="ID", type=job_id, help="stop a job with a savepoint")
    asks.add_argument("-can", "--cancel-job", dest="cancelled", metavar="ID", type=job_id, nargs="+",
                      help="stop jobs after a last checkpoint each")  # fmt: skip
    asks.add_argument("--metrics", metavar="ID", type=job_id, help="print a job's figures as JSON")
    asks.add_argument("--get_running_job_metrics", dest="all_metrics", action="store_true",
                      help="print the figures of all running jobs as JSON")  # fmt: skip
    add("-f", "--force-cancel", dest="at_once", action="store_true", help="with -can: at once, without a checkpoint")
    add("-cn", "--cluster", metavar="NAME", help="the cluster's name, instead of that of hazelcast-client.yaml")
    add("-D", dest="jvm_option", metavar="JvmOption=…", action="append", default=[], help="has no effect here")
    add("--engine-config", metavar="FILE", type=Path, help="a seatunnel.yaml, beside which the client's files stand")
    return parser


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, as in -i day=2026-01-31, not {text!r}")
    return name, value
