"""The arguments of the command line.

Everything that the command of SeaTunnel's own engine accepts either works or is refused with a sentence that says what
to write instead; nothing is accepted and ignored.
"""

import argparse
import difflib
import re
import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from attrs import field, frozen

from seatunnel_core.cli.cluster_arguments import asks_cluster, parse_cluster
from seatunnel_core.cli.command import DONE, Command, Parser, Subcommand
from seatunnel_core.cli.control_arguments import add_control, control_arguments, job_id
from seatunnel_core.cli.restore_arguments import add_restore, restore_arguments
from seatunnel_core.cli.subcommands import SUBCOMMANDS
from seatunnel_core.config.env import no_master
from seatunnel_core.errors import UsageError
from seatunnel_core.job.restoring import Restore

_OF_CLUSTERS = ("-cn", "--cluster")

_RUN = ("run", "start", "submit")
"""The commands of other programs that run a job."""

LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


@frozen(kw_only=True)
class RunArguments(Command):
    """The arguments of ``seatunnel --config …``."""

    config: Path
    variables: dict[str, str] = field(repr=False)
    """From ``-i``; may hold secrets."""

    name: str | None
    set_job_id: str | None
    restore: str | None
    restoring: Restore
    """Without the ID of the job."""

    master: str | None
    """``local[*]``, ``local[N]`` or ``spark://…``; ``None`` leaves it to ``spark.master`` in the job's ``env``."""

    check: bool
    verbose: bool
    """Whether ``check`` shows the options at their defaults, too."""

    background: bool
    """Whether the job is left to a process of its own."""

    ui: bool
    """Whether a page in a browser shows the job while it runs."""

    begun_to: int | None
    """The descriptor of a pipe that is notified when the job has begun; for the process that runs in the background."""

    strict: bool
    engine_config: Path | None
    log_level: str
    """``WARNING`` unless it was given; ``INFO`` for JSON, where progress is a log record too."""

    log_format: str
    """``text`` or ``json``."""

    jvm_options: str
    """Options of the Spark driver's JVM, as one would write them behind ``java``; they come after ``JAVA_OPTS``."""

    typed: tuple[str, ...] = field(repr=False)
    """The arguments as they were typed, for the command that resumes the job."""

    def execute(self, *, last: bool) -> int:
        if self.background:
            from seatunnel_core.cli.background import run_in_background

            return run_in_background(self)
        if self.check:
            from seatunnel_core.cli.check import check

            return check(self)
        from seatunnel_core.cli.run import run

        return run(self, last=last)


@frozen(kw_only=True)
class ShadeArguments(Command):
    """The arguments of ``seatunnel --encrypt --config …``, or ``--decrypt``."""

    config: Path
    variables: dict[str, str] = field(repr=False)
    """From ``-i``; may hold secrets."""

    encrypt: bool
    """Otherwise decrypt."""

    def execute(self, *, last: bool) -> int:
        from seatunnel_core.cli.shade import shade

        shade(self)
        return DONE


def parse(argv: Sequence[str], version: str) -> Command:
    """Parse the command line.

    Raises:
        UsageError: An argument is missing, unknown or not available; the message says what to write instead.
        SystemExit: With code 0, after ``--help`` or ``--version`` printed their text.
    """
    if asks_cluster(argv):
        return parse_cluster(argv)
    if argv and argv[0] in SUBCOMMANDS:
        return _parse_subcommand(SUBCOMMANDS[argv[0]], argv[1:])
    _refuse_what_is_of_clusters(argv)
    parser = _run_parser(version)
    if not argv:
        raise UsageError(
            "Nothing to do: name a job file with --config FILE; seatunnel init DIR writes a first one.\n\n"
            f"{parser.format_usage()}"
        )
    values, unknown = parser.parse_known_args(argv)
    if unknown:
        raise UsageError(_unknown(unknown[0], parser))
    restoring = restore_arguments(values)
    return control_arguments(values) or _of_job_file(values, restoring, tuple(argv))


def _parse_subcommand(subcommand: Subcommand, argv: Sequence[str]) -> Command:
    parser = Parser(
        prog=f"seatunnel {subcommand.name}", description=f"{subcommand.summary.capitalize()}.", allow_abbrev=False
    )
    return subcommand.parse(parser, argv)


def _of_job_file(values: argparse.Namespace, restoring: Restore, typed: tuple[str, ...]) -> Command:
    if values.config is None:
        raise UsageError("No job file: write --config FILE. See: seatunnel --help")
    _refuse_background_of_nothing(values)
    _refuse_page_of_nothing(values)
    if values.encrypt or values.decrypt:
        return ShadeArguments(config=values.config, variables=dict(values.variable), encrypt=values.encrypt)
    return RunArguments(
        config=values.config,
        variables=dict(values.variable),
        name=values.name,
        set_job_id=values.set_job_id,
        restore=values.restore,
        restoring=restoring,
        master=values.master,
        check=values.check,
        verbose=values.verbose,
        background=getattr(values, "async"),
        ui=values.ui,
        begun_to=values.begun_to,
        strict=values.strict,
        engine_config=values.engine_config,
        log_level=values.log_level or ("INFO" if values.log_format == "json" else "WARNING"),
        log_format=values.log_format,
        jvm_options=" ".join(values.jvm_option),
        typed=typed,
    )


def _refuse_background_of_nothing(values: argparse.Namespace) -> None:
    for flag in ("check", "encrypt", "decrypt"):
        if getattr(values, "async") and getattr(values, flag):
            raise UsageError(f"--async leaves a job that runs to the background, and --{flag} runs none: leave one out")


def _refuse_page_of_nothing(values: argparse.Namespace) -> None:
    for flag in ("async", "check", "encrypt", "decrypt"):
        if values.ui and getattr(values, flag):
            why = "nobody would see its address" if flag == "async" else f"--{flag} runs none"
            raise UsageError(f"--ui shows a job that runs in this process, and with --{flag} {why}: leave one out")


def _run_parser(version: str) -> Parser:
    parser = _empty_parser()
    _add_job(parser)
    add_restore(parser)
    _add_where(parser)
    add_control(parser)
    _add_instead(parser)
    _add_engine(parser)
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
            )
        ),
        description="Moves data exactly once, on Spark. Kill it at any time; the command that it prints first goes on.",
        epilog=f"other commands:\n{commands}\n\n"
        "exit code: 0 done, 1 failed, 2 wrong usage or configuration, 130 stopped\n"
        "Ctrl-C stops after a last checkpoint; a second Ctrl-C stops at once.",
        allow_abbrev=False,
    )


def _add_job(parser: Parser) -> None:
    add = parser.add_argument
    add("-c", "--config", metavar="FILE", type=Path, help="the job: HOCON, JSON, YAML or SQL")
    add("-i", "--variable", metavar="NAME=VALUE", action="append", default=[], type=_variable, help="replaces ${NAME}")
    add("-n", "--name", metavar="NAME", help="the job's name, instead of job.name in its env")
    which = parser.add_mutually_exclusive_group()
    of_job = partial(which.add_argument, metavar="ID", type=job_id)
    of_job("--set-job-id", help="start the job under this id, which must be new")
    of_job("-r", "--restore", help="go on with this job where it stopped or was killed")


def _add_where(parser: Parser) -> None:
    for flags in (("-m", "--master"), ("-e", "--deploy-mode")):
        parser.add_argument(*flags, dest="master", metavar="WHERE", type=_master, help=_MASTER_HELP[flags[0]])
    ending = parser.add_mutually_exclusive_group()
    ending.add_argument("--async", action="store_true", help="leave the job to a process in the background")
    ending.add_argument("-cj", "--close-job", action="store_true", help="the job ends with this command, as it always "
                        "does without --async")  # fmt: skip
    parser.add_argument("--ui", action="store_true", help="print the address of a page that shows the job in a browser")
    parser.add_argument("--begun-to", metavar="FD", type=int, help=argparse.SUPPRESS)


def _add_instead(parser: Parser) -> None:
    flag = partial(parser.add_mutually_exclusive_group().add_argument, action="store_true")
    flag(
        "-d",
        "--check",
        "--dry-run",
        help="look at the files and the sources, print the plan and the guarantees, move no row",
    )
    parser.add_argument("--verbose", action="store_true", help="with --check: also show the options at their defaults")
    flag("--encrypt", help="print the job file with its secrets encrypted, as shade.identifier in its env says")
    flag("--decrypt", help="print the job file with its secrets in the clear")


def _add_engine(parser: Parser) -> None:
    add = parser.add_argument
    add("--strict", action="store_true", help="unknown keys in connectors' blocks are errors, not warnings")
    add("--engine-config", metavar="FILE", type=Path, help="instead of the seatunnel.yaml that is found")
    add("--log-level", metavar="LEVEL", type=_log_level, help=", ".join(LOG_LEVELS))
    add("--log-format", choices=("text", "json"), default="text", help="json: one object per line, for machines")
    add("-D", dest="jvm_option", metavar="JvmOption=…", action="append", default=[], type=_jvm_option,
        help='options of Spark\'s driver: -DJvmOption="-Xmx4G"')  # fmt: skip


_MASTER_HELP = {
    "-m": "local (all cores), local[N], spark://HOST:PORT; or cluster, which takes other options",
    "-e": "the same as --master",
}


def _refuse_what_is_of_clusters(argv: Sequence[str]) -> None:
    for flag in (argument.partition("=")[0] for argument in argv):
        if flag in _OF_CLUSTERS:
            raise UsageError(
                f"{flag} is not available here: it names a cluster, and without -m cluster a job runs in the process "
                "that you start."
            )


def _unknown(argument: str, parser: argparse.ArgumentParser) -> str:
    known = [flag for action in parser._actions for flag in action.option_strings]
    flag = argument.partition("=")[0]
    if flag.startswith("-"):
        return f"Unknown option {flag}{_did_you_mean(flag, {each: each for each in known})} See: seatunnel --help"
    if Path(argument).is_file():
        return f"{argument} is a file and no command: to run it as a job, write seatunnel -c {shlex.quote(argument)}"
    if argument in _RUN:
        return f"There is no command {argument!r}: a job is run with seatunnel -c FILE. See: seatunnel --help"
    words = {each.removeprefix("--"): each for each in known if each.startswith("--")} | {
        name: name for name in SUBCOMMANDS
    }
    return f"Unknown command {argument!r}{_did_you_mean(argument, words)} See: seatunnel --help"


def _did_you_mean(word: str, known: dict[str, str]) -> str:
    """Return the end of a sentence, with a suggestion; ``known`` maps each word to what to write for it."""
    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {known[close[0]]}?" if close else "."


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, as in -i day=2026-01-31, not {text!r}")
    return name, value


def _master(text: str) -> str:
    if text == "cluster":
        raise argparse.ArgumentTypeError(
            "cluster stands alone; write it as the only -m, or local, or spark://HOST:PORT for a Spark cluster"
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
        raise argparse.ArgumentTypeError(f'expected -DJvmOption="…", as in -DJvmOption="-Xmx4G", not -D{text}')
    return value.strip()
