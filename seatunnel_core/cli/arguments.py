"""What may stand on the command line. Everything that SeaTunnel's own command knows either works or is refused with a
sentence that says what to write instead; nothing is accepted and ignored."""

import argparse
import difflib
import enum
import re
import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NoReturn

from attrs import field, frozen

from seatunnel_core.cli.restore_arguments import RestoreArguments, add_restore, restore_arguments
from seatunnel_core.config.master import no_master
from seatunnel_core.errors import UsageError

SUBCOMMANDS = {
    "checkpoints": "look into checkpoint storages: list, show, diff, verify, export, copy, gc",
    "init": "write a configuration, a first job and bin/seatunnel.sh into a folder",
    "plugins": "list the storages, sources, transforms and sinks that are installed",
}

_NO_SERVER = "a job runs in the process that you start (-m local), and there is no server to give it to"
_LATER = {
    "--async": f"{_NO_SERVER}; put the command into the background instead: nohup seatunnel … &",
    "-cj": f"{_NO_SERVER}; a job ends with its process anyway, and --close-job is deprecated",
    "-cn": f"{_NO_SERVER}, so there is no cluster name to give",
    "-d": "write --check: it reads the files, inspects the sources and prints the plan, and moves no row",
}
_LATER_LONG = {
    "--close-job": "-cj",
    "--cluster": "-cn",
    "--dry-run": "-d",
}

_RUN = ("run", "start", "submit")
"""What other programs call it."""

LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


@frozen(kw_only=True)
class RunArguments:
    """``seatunnel --config …``"""

    config: Path
    variables: dict[str, str] = field(repr=False)
    """From ``-i``; may hold secrets."""

    name: str | None
    set_job_id: str | None
    restore: str | None
    restoring: RestoreArguments
    master: str | None
    """``local[*]``, ``local[N]`` or ``spark://…``; ``None`` leaves it to ``spark.master`` in the job's ``env``."""

    check: bool
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


class ControlVerb(enum.Enum):
    """What is asked of jobs that run in other processes."""

    LIST = "list"
    METRICS = "metrics"
    SAVEPOINT = "savepoint"
    STOP = "stop"


@frozen(kw_only=True)
class ControlArguments:
    """``seatunnel --list``, ``--savepoint ID`` and so on"""

    verb: ControlVerb
    job_ids: tuple[str, ...]
    """Empty: all that run."""

    savepoint_name: str | None
    keep_running: bool
    drain: bool
    at_once: bool
    open_metrics: bool


@frozen(kw_only=True)
class ShadeArguments:
    """``seatunnel --encrypt --config …``, or ``--decrypt``"""

    config: Path
    variables: dict[str, str] = field(repr=False)
    """From ``-i``; may hold secrets."""

    encrypt: bool
    """Otherwise decrypt."""


@frozen(kw_only=True)
class InitArguments:
    """``seatunnel init DIR``"""

    folder: Path


@frozen(kw_only=True)
class PluginsArguments:
    """``seatunnel plugins``"""


@frozen(kw_only=True)
class CheckpointsCommand:
    """``seatunnel checkpoints VERB …``"""

    argv: tuple[str, ...] = field(repr=False)
    """What stands behind it, for ``checkpoints_arguments``, which needs more of the package; may hold secrets."""


Arguments = RunArguments | ControlArguments | ShadeArguments | InitArguments | PluginsArguments | CheckpointsCommand


class _Parser(argparse.ArgumentParser):
    """Raises instead of leaving, so that one place decides about exit codes."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message[:1].upper()}{message[1:]}. See: {self.prog} --help")


def parse(argv: Sequence[str], version: str) -> Arguments:
    """Turn the command line into a value.

    Raises:
        UsageError: something is missing, unknown or not available, with what to write instead.
        SystemExit: with 0, after ``--help`` or ``--version`` printed their text.
    """
    if argv and argv[0] in SUBCOMMANDS:
        return _parse_subcommand(argv[0], argv[1:])
    _refuse_what_comes_later(argv)
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
    control = _control(values)
    if control is not None:
        return control
    if values.config is None:
        raise UsageError("No job file: write --config FILE. See: seatunnel --help")
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
        strict=values.strict,
        engine_config=values.engine_config,
        log_level=values.log_level or ("INFO" if values.log_format == "json" else "WARNING"),
        log_format=values.log_format,
        jvm_options=" ".join(values.jvm_option),
        typed=tuple(argv),
    )


def _run_parser(version: str) -> _Parser:
    commands = "\n".join(f"  {name:<22}{text}" for name, text in SUBCOMMANDS.items())
    parser = _Parser(
        prog="seatunnel",
        usage="\n       ".join(
            (
                "seatunnel -c FILE [options]",
                "seatunnel -l | -s ID | -can ID",
                "seatunnel init DIR",
                "seatunnel plugins",
                "seatunnel checkpoints VERB",
            )
        ),
        description="Moves data exactly once, on Spark. Kill it at any time; the command that it prints first goes on.",
        epilog=f"other commands:\n{commands}\n\n"
        "exit code: 0 done, 1 failed, 2 wrong usage or configuration, 130 stopped\n"
        "Ctrl-C stops after a last checkpoint; a second Ctrl-C stops at once.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("-c", "--config", metavar="FILE", type=Path, help="the job: HOCON, JSON or YAML")
    add("-i", "--variable", metavar="NAME=VALUE", action="append", default=[], type=_variable, help="replaces ${NAME}")
    add("-n", "--name", metavar="NAME", help="the job's name, instead of job.name in its env")
    which = parser.add_mutually_exclusive_group()
    job_id = partial(which.add_argument, metavar="ID", type=_job_id)
    job_id("--set-job-id", help="start the job under this id, which must be new")
    job_id("-r", "--restore", help="go on with this job where it stopped or was killed")
    add_restore(parser)
    for flags in (("-m", "--master"), ("-e", "--deploy-mode")):
        add(*flags, dest="master", metavar="WHERE", type=_master, help=_MASTER_HELP[flags[0]])
    _add_control(parser)
    instead = parser.add_mutually_exclusive_group()
    flag = partial(instead.add_argument, action="store_true")
    flag("--check", help="look at the files and the sources, print the plan and the guarantees, move no row")
    flag("--encrypt", help="print the job file with its secrets encrypted, as shade.identifier in its env says")
    flag("--decrypt", help="print the job file with its secrets in the clear")
    add("--strict", action="store_true", help="unknown keys in connectors' blocks are errors, not warnings")
    add("--engine-config", metavar="FILE", type=Path, help="instead of the seatunnel.yaml that is found")
    add("--log-level", metavar="LEVEL", type=_log_level, help=", ".join(LOG_LEVELS))
    add("--log-format", choices=("text", "json"), default="text", help="json: one object per line, for machines")
    add("-D", dest="jvm_option", metavar="JvmOption=…", action="append", default=[], type=_jvm_option,
        help='options of Spark\'s driver: -DJvmOption="-Xmx4G"')  # fmt: skip
    add("--version", action="version", version=f"seatunnel-core {version}")
    return parser


def _add_control(parser: argparse.ArgumentParser) -> None:
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
"""By the flag that says how a verb is meant: which one, and its own flag."""

_OF_A_NEW_JOB = (
    *("--variable", "--name", "--set-job-id", "--restore", "--master"),
    *("--check", "--encrypt", "--decrypt", "--strict", "--engine-config"),
)
"""What would be ignored beside a question to running jobs."""


def _asked_of_job(verb: ControlVerb, job_id: str) -> tuple[ControlVerb, str]:
    return verb, _job_id(job_id)


def _control(values: argparse.Namespace) -> ControlArguments | None:
    """What is asked of running jobs; ``None`` when nothing is."""
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


_MASTER_HELP = {"-m": "local (all cores), local[N] or spark://HOST:PORT", "-e": "the same as --master"}


def _parse_subcommand(name: str, argv: Sequence[str]) -> Arguments:
    if name == "checkpoints":
        return CheckpointsCommand(argv=tuple(argv))
    parser = _Parser(prog=f"seatunnel {name}", description=SUBCOMMANDS[name].capitalize() + ".", allow_abbrev=False)
    if name == "plugins":
        parser.parse_args(argv)
        return PluginsArguments()
    parser.add_argument("folder", metavar="DIR", type=Path, help="is made when it is not there; nothing is overwritten")
    return InitArguments(folder=parser.parse_args(argv).folder)


def _refuse_what_comes_later(argv: Sequence[str]) -> None:
    for argument in argv:
        flag = argument.partition("=")[0]
        reason = _LATER.get(_LATER_LONG.get(flag, flag))
        if reason is not None:
            raise UsageError(f"{flag} is not available in this version: {reason}.")


def _unknown(argument: str, parser: argparse.ArgumentParser) -> str:
    known = [flag for action in parser._actions for flag in action.option_strings]
    flag = argument.partition("=")[0]
    if flag.startswith("-"):
        return f"Unknown option {flag}{_did_you_mean(flag, {each: each for each in known})} See: seatunnel --help"
    if Path(argument).is_file():
        return f"{argument} is a file and no command: to run it as a job, write seatunnel -c {shlex.quote(argument)}"
    if argument in _RUN:
        return f"There is no command {argument!r}: a job is run with seatunnel -c FILE. See: seatunnel --help"
    words = {each.removeprefix("--"): each for each in known if each.startswith("--")} | {s: s for s in SUBCOMMANDS}
    return f"Unknown command {argument!r}{_did_you_mean(argument, words)} See: seatunnel --help"


def _did_you_mean(word: str, known: dict[str, str]) -> str:
    """Ends the sentence; ``known`` says what to write for what is near."""
    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {known[close[0]]}?" if close else "."


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, as in -i day=2026-01-31, not {text!r}")
    return name, value


def _job_id(text: str) -> str:
    from seatunnel_storage_api.errors import InvalidIdError
    from seatunnel_storage_api.layout import require_job_id

    try:
        return require_job_id(text)
    except InvalidIdError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _master(text: str) -> str:
    if text == "cluster":
        raise argparse.ArgumentTypeError(
            "cluster is not available in this version; write local, or spark://HOST:PORT for a Spark cluster"
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
