"""Arguments of ``seatunnel -m cluster``, the cluster client."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import frozen

from seatunnel_core.cli.command import Command, Parser
from seatunnel_core.cli.control_arguments import job_id, variable
from seatunnel_core.cli.declared import add_options, option, read_options, switch
from seatunnel_core.errors import UsageError

_MODE = ("-m", "--master", "-e", "--deploy-mode")
_HERE = {"-h", "--help", "--version", "--check", "--encrypt", "--decrypt"}
"""Flags that are handled locally, without a cluster."""


@frozen(kw_only=True)
class ClusterArguments(Command):
    """Arguments of ``seatunnel -m cluster …``."""

    config: Path | None = option("-c", "--config", metavar="FILE", type=Path, help="job file: HOCON, JSON, YAML or SQL")
    """Job file to submit; ``None`` for a request about existing jobs."""

    variables: Mapping[str, str] = option(
        *("-i", "--variable"), metavar="NAME=VALUE", action="append", type=variable, help="replaces ${NAME}",
        default=[], converter=dict, repr=False)  # fmt: skip
    """Values of variables; may contain secrets."""

    name: str | None = option(
        "-n", "--name", metavar="NAME", help="name of the job, which overrides job.name in its env"
    )
    set_job_id: str | None = option(
        "--set-job-id", exclusive="id", metavar="ID", type=job_id, help="submit the job under this id"
    )
    restore: str | None = option(
        "-r", "--restore", exclusive="id", metavar="ID", type=job_id, help="resume this job, which has stopped"
    )
    mode: str | None = option(*_MODE, metavar="cluster", help="this mode")
    leave: bool = switch("--async", help="exit when the job is accepted")
    close_job: bool = option(
        *("-cj", "--close-job"), nargs="?", const="true", choices=("true", "false"), metavar="true|false",
        default="true", converter="false".__ne__,
        help="cancel the job when this command is interrupted (default: true)")  # fmt: skip
    listed: bool = switch("-l", "--list", exclusive="asks", help="list running and ended jobs")
    shown: str | None = option("-j", "--job-id", exclusive="asks", metavar="ID", type=job_id, help="show one job")
    savepoint: str | None = option(
        "-s", "--savepoint", exclusive="asks", metavar="ID", type=job_id, help="stop a job with a savepoint"
    )
    cancelled: tuple[str, ...] = option(
        *("-can", "--cancel-job"), exclusive="asks", metavar="ID", type=job_id, nargs="+", default=(), converter=tuple,
        help="stop jobs, each after a final checkpoint")  # fmt: skip
    metrics: str | None = option(
        "--metrics", exclusive="asks", metavar="ID", type=job_id, help="print a job's metrics as JSON"
    )
    all_metrics: bool = switch(
        "--get_running_job_metrics", exclusive="asks", help="print the metrics of all running jobs as JSON"
    )
    at_once: bool = switch("-f", "--force-cancel", help="with -can: stop at once, without a checkpoint")
    cluster: str | None = option(
        "-cn", "--cluster", metavar="NAME", help="cluster name, which overrides the name in hazelcast-client.yaml"
    )
    jvm_options: tuple[str, ...] = option(
        "-D", metavar="JvmOption=…", action="append", default=[], converter=tuple, help="has no effect here"
    )
    engine_config: Path | None = option(
        "--engine-config", metavar="FILE", type=Path, help="seatunnel.yaml; the client's files are in the same folder"
    )


def asks_cluster(argv: Sequence[str], environment: Mapping[str, str] = os.environ) -> bool:
    """Return True if the command line is for a cluster.

    ``-m cluster`` selects it. Without ``-m``, the script ``seatunnel.sh`` uses ``SEATUNNEL_MODE``, or else ``mode`` in
    the engine's file. The command ``seatunnel`` itself runs jobs locally.
    """
    for place, argument in enumerate(argv):
        flag, equals, value = argument.partition("=")
        if flag in _MODE:
            return (value if equals else "".join(argv[place + 1 : place + 2])) == "cluster"
    by_script = environment.get("SEATUNNEL_COMMAND", "").endswith(".sh")
    starts = bool(argv) and argv[0].startswith("-") and not _HERE.intersection(argv)
    return by_script and starts and _mode(argv, environment) == "cluster"


def _mode(argv: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return the mode in which ``seatunnel.sh`` runs a job: ``local`` or ``cluster``."""
    said = environment.get("SEATUNNEL_MODE", "").strip().lower()
    if said not in ("", "local", "cluster"):
        raise UsageError(f"SEATUNNEL_MODE is {said!r}: expected local or cluster")
    if said:
        return said
    from seatunnel_core.config.engine import engine_mode

    files = Parser(prog="seatunnel", add_help=False, allow_abbrev=False)
    files.add_argument("--engine-config", type=Path)
    return engine_mode(files.parse_known_args(argv)[0].engine_config, environment, Path())


def parse_cluster(argv: Sequence[str]) -> ClusterArguments:
    """Parse the command line. Raises the same errors as ``arguments.parse``."""
    parser = _parser()
    values, unknown = parser.parse_known_args(argv)
    if unknown:
        raise UsageError(
            f"{unknown[0].partition('=')[0]} is not available with -m cluster. See: seatunnel -m cluster --help"
        )
    asked = ("listed", "shown", "savepoint", "cancelled", "metrics", "all_metrics")
    if values.config is None and not any(getattr(values, each) for each in asked):
        raise UsageError(
            "Nothing to do: specify a job file with --config FILE, or use one of -l, -j, -s, -can or --metrics"
        )
    if values.config is not None and any(getattr(values, each) for each in asked):
        raise UsageError("A job file cannot be combined with a query about running jobs: remove --config")
    return read_options(ClusterArguments, values)


def _parser() -> Parser:
    parser = Parser(
        prog="seatunnel -m cluster",
        description="Submits a job to a cluster, or queries its jobs. hazelcast-client.yaml lists the nodes.",
        allow_abbrev=False,
    )
    add_options(parser, ClusterArguments)
    return parser
