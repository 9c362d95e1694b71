"""Arguments of the command line. For unsupported arguments of SeaTunnel's own command, an alternative is suggested."""

import argparse
import difflib
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from attrs import field, frozen

from seatunnel_core.cli.cluster_arguments import asks_cluster, parse_cluster
from seatunnel_core.cli.command import Command, Parser, Subcommand
from seatunnel_core.cli.control_arguments import add_control, control_arguments, job_id, variable
from seatunnel_core.cli.declared import add_options, flag_of, option, read_options, switch
from seatunnel_core.cli.restore_arguments import add_restore, restore_arguments
from seatunnel_core.cli.subcommands import SUBCOMMANDS
from seatunnel_core.config.env import no_master
from seatunnel_core.errors import UsageError
from seatunnel_core.job.restoring import Restore

_OF_CLUSTERS = ("-cn", "--cluster")

_RUN = ("run", "start", "submit")
"""Subcommands of other programs that run a job; the error message suggests ``seatunnel -c``."""

LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


def _master(text: str) -> str:
    if text == "cluster":
        raise argparse.ArgumentTypeError(
            "cluster cannot be combined with another -m: specify only -m cluster; to run on a Spark cluster, use "
            "-m spark://HOST:PORT"
        )
    if text == "local":
        return "local[*]"
    if re.fullmatch(r"local\[(\*|0*[1-9]\d*)\]", text) or text.startswith("spark://"):
        return text
    raise argparse.ArgumentTypeError(no_master(text))


def _log_level(text: str) -> str:
    level = {"WARN": "WARNING"}.get(text.upper(), text.upper())
    if level not in LOG_LEVELS:
        raise argparse.ArgumentTypeError(f"expected one of {', '.join(LOG_LEVELS)}, not {text!r}")
    return level


def _jvm_option(text: str) -> str:
    key, equals, value = text.partition("=")
    if key != "JvmOption" or not equals:
        raise argparse.ArgumentTypeError(f'expected -DJvmOption="…", for example -DJvmOption="-Xmx4G", not -D{text}')
    return value.strip()


@frozen(kw_only=True)
class RunArguments(Command):
    """Arguments of ``seatunnel --config FILE``."""

    config: Path = option("-c", "--config", metavar="FILE", type=Path, help="job file: HOCON, JSON, YAML or SQL")
    variables: dict[str, str] = option(
        *("-i", "--variable"), metavar="NAME=VALUE", action="append", type=variable, help="replaces ${NAME}",
        default=[], converter=dict, repr=False)  # fmt: skip
    """Values of variables; may contain secrets."""

    name: str | None = option(
        "-n", "--name", metavar="NAME", help="name of the job, which overrides job.name in its env"
    )
    set_job_id: str | None = option(
        "--set-job-id", exclusive="id", metavar="ID", type=job_id, help="start the job under this id, which must be new"
    )
    restore: str | None = option(
        *("-r", "--restore"), exclusive="id", metavar="ID", type=job_id,
        help="resume this job, which was stopped or killed")  # fmt: skip
    restoring: Restore
    """Checkpoint or savepoint to resume from, without the ID of the job."""

    master: str | None = option(
        *("-m", "--master"), metavar="WHERE", type=_master, aliases={"-e --deploy-mode": "the same as --master"},
        help="local (all cores), local[N], spark://HOST:PORT; or cluster, which takes other options")  # fmt: skip
    """Spark master; ``None`` to use ``spark.master`` from the job's ``env``."""

    background: bool = switch("--async", exclusive="ending", help="run the job in a background process")
    close_job: bool = switch(
        *("-cj", "--close-job"), exclusive="ending",
        help="stop the job when this command ends (the default without --async)")  # fmt: skip
    ui: bool = switch("--ui", help="serve a web page that shows the job, and print its address")
    begun_to: int | None = option("--begun-to", metavar="FD", type=int, help=argparse.SUPPRESS)
    """File descriptor of a pipe to notify when the job has started; set only in a background process."""

    check: bool = switch(
        *("-d", "--check", "--dry-run"), exclusive="instead",
        help="check the files and sources, and print the plan and guarantees, without moving any rows")  # fmt: skip
    verbose: bool = switch("--verbose", help="with --check: also show options that have their default values")
    encrypt: bool = switch(
        "--encrypt", exclusive="instead",
        help="print the job file with its secrets encrypted by the shade.identifier of its env")  # fmt: skip
    decrypt: bool = switch("--decrypt", exclusive="instead", help="print the job file with its secrets in plain text")
    strict: bool = switch("--strict", help="report unknown keys in connector blocks as errors, not warnings")
    engine_config: Path | None = option(
        "--engine-config", metavar="FILE", type=Path, help="engine file to use instead of the detected seatunnel.yaml"
    )
    given_log_level: str | None = option("--log-level", metavar="LEVEL", type=_log_level, help=", ".join(LOG_LEVELS))
    log_format: str = option(
        "--log-format", choices=("text", "json"), default="text", help="json: one object per line, for machines"
    )
    jvm_options: str = option(
        "-D", metavar="JvmOption=…", action="append", default=[], type=_jvm_option, converter=" ".join,
        help='JVM options of the Spark driver: -DJvmOption="-Xmx4G"')  # fmt: skip
    """Options of the Spark driver's JVM, added after ``JAVA_OPTS``."""

    typed: tuple[str, ...] = field(repr=False)
    """Arguments as typed; part of the command that resumes the job."""

    @property
    def log_level(self) -> str:
        """Log level; by default ``WARNING``, or ``INFO`` for JSON output, which then also reports the progress."""
        return self.given_log_level or ("INFO" if self.log_format == "json" else "WARNING")


_OF_A_NEW_JOB = (
    *("variables", "name", "set_job_id", "restore", "master", "background", "close_job"),
    *("check", "encrypt", "decrypt", "strict", "engine_config"),
)
"""Options for starting a job, which are rejected in requests to running jobs."""


@frozen(kw_only=True)
class ShadeArguments(Command):
    """Arguments of ``seatunnel --encrypt --config …`` and ``--decrypt``."""

    config: Path
    variables: dict[str, str] = field(repr=False)
    """Values of variables; may contain secrets."""

    encrypt: bool
    """True to encrypt, False to decrypt."""


def parse(argv: Sequence[str], version: str) -> Command:
    """Parse the command line.

    Raises:
        UsageError: An argument is missing, unknown or not available; the message suggests an alternative.
    """
    if argv and argv[0] in SUBCOMMANDS:
        return _parse_subcommand(SUBCOMMANDS[argv[0]], argv[1:])
    if asks_cluster(argv):
        return parse_cluster(argv)
    _refuse_what_is_of_clusters(argv)
    parser = _run_parser(version)
    if not argv:
        raise UsageError(
            "Nothing to do: specify a job file with --config FILE. To create an example job: seatunnel init DIR\n\n"
            f"{parser.format_usage()}"
        )
    values, unknown = parser.parse_known_args(argv)
    if unknown:
        raise UsageError(_unknown(unknown[0], parser))
    restoring = restore_arguments(values)
    control = control_arguments(values)
    if control is not None:
        _refuse_options_of_a_job(values)
        return control
    return _of_job_file(read_options(RunArguments, values, restoring=restoring, typed=tuple(argv)), values)


def _parse_subcommand(subcommand: Subcommand, argv: Sequence[str]) -> Command:
    parser = Parser(
        prog=f"seatunnel {subcommand.name}", description=f"{subcommand.summary.capitalize()}.", allow_abbrev=False
    )
    return subcommand.parse(parser, argv)


def _of_job_file(arguments: RunArguments, values: argparse.Namespace) -> Command:
    if values.config is None:
        raise UsageError("No job file: add --config FILE. See: seatunnel --help")
    _refuse_options_without_a_run(arguments)
    if arguments.encrypt or arguments.decrypt:
        return ShadeArguments(config=arguments.config, variables=arguments.variables, encrypt=arguments.encrypt)
    return arguments


def _refuse_options_of_a_job(values: argparse.Namespace) -> None:
    for name in _OF_A_NEW_JOB:
        if getattr(values, name):
            flag = flag_of(RunArguments, name)
            raise UsageError(f"{flag} has an effect only when a job starts, not on a running job: remove it")


def _refuse_options_without_a_run(arguments: RunArguments) -> None:
    for name in ("check", "encrypt", "decrypt", "background"):
        flag, runs = flag_of(RunArguments, name), name == "background"
        if arguments.background and getattr(arguments, name) and not runs:
            raise UsageError(f"--async runs a job in the background, but {flag} does not run a job: remove one of them")
        if arguments.ui and getattr(arguments, name):
            why = "the address of the page would not be visible" if runs else f"{flag} does not run a job"
            raise UsageError(
                f"--ui shows a job that runs in this process, but with {flag} {why}: remove one of the two"
            )


def _run_parser(version: str) -> Parser:
    parser = _empty_parser()
    add_options(parser, RunArguments)
    add_restore(parser)
    add_control(parser)
    parser.add_argument("--version", action="version", version=f"seatunnel-core {version}")
    return parser


def _empty_parser() -> Parser:
    commands = "\n".join(f"  {each.name:<22}{each.summary}" for each in SUBCOMMANDS.values())
    return Parser(
        prog="seatunnel",
        usage="\n       ".join(
            (
                "seatunnel -c FILE [options]",
                "seatunnel -l | -s ID | -can ID",
                "seatunnel init DIR",
                "seatunnel plugins",
                "seatunnel help [NAME]",
                "seatunnel checkpoints VERB",
                "seatunnel state VERB",
                "seatunnel iceberg compact -c FILE",
                "seatunnel slots VERB -c FILE",
                "seatunnel tables reread ID TABLE",
            )
        ),
        description=(
            "Moves data exactly once, on Spark. A job can be killed at any time; the job prints the command that "
            "resumes it."
        ),
        epilog=f"other commands:\n{commands}\n\n"
        "exit code: 0 done, 1 failed, 2 wrong usage or configuration, 130 stopped\n"
        "Ctrl-C stops after a final checkpoint; a second Ctrl-C stops at once.",
        allow_abbrev=False,
    )


def _refuse_what_is_of_clusters(argv: Sequence[str]) -> None:
    for flag in (argument.partition("=")[0] for argument in argv):
        if flag in _OF_CLUSTERS:
            raise UsageError(
                f"{flag} is not available here: it refers to a cluster, and without -m cluster a job runs in this "
                "process."
                ""
            )


def _unknown(argument: str, parser: argparse.ArgumentParser) -> str:
    known = [flag for action in parser._actions for flag in action.option_strings]
    flag = argument.partition("=")[0]
    if flag.startswith("-"):
        return f"Unknown option {flag}{_did_you_mean(flag, {each: each for each in known})} See: seatunnel --help"
    if Path(argument).is_file():
        return f"{argument} is a file, not a command: to run it as a job, use seatunnel -c {shlex.quote(argument)}"
    if argument in _RUN:
        return f"There is no command {argument!r}: to run a job, use seatunnel -c FILE. See: seatunnel --help"
    words = {each.removeprefix("--"): each for each in known if each.startswith("--")} | {
        name: name for name in SUBCOMMANDS
    }
    return f"Unknown command {argument!r}{_did_you_mean(argument, words)} See: seatunnel --help"


def _did_you_mean(word: str, known: dict[str, str]) -> str:
    """Return a suggestion to append to a message; ``known`` maps each known word to its correct spelling."""
    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {known[close[0]]}?" if close else "."
