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
from typing import NoReturn

from attrs import field, frozen

from seatunnel_core.cli.control_arguments import ControlArguments, add_control, control_arguments, job_id
from seatunnel_core.cli.restore_arguments import RestoreArguments, add_restore, restore_arguments
from seatunnel_core.config.master import no_master
from seatunnel_core.errors import UsageError

SUBCOMMANDS = {
    "checkpoints": "look into checkpoint storages: list, show, diff, verify, export, copy, gc",
    "help": "tell what a source, transform or sink does, with its options, or what the code of an error means",
    "init": "write a configuration, a first job and bin/seatunnel.sh into a folder",
    "plugins": "list the storages, sources, transforms and sinks that are installed",
}

_NO_SERVER = "a job runs in the process that you start (-m local), and there is no server to give it to"
_LATER = {
    "-cn": f"{_NO_SERVER}, so there is no cluster name to give",
}
_LATER_LONG = {
    "--cluster": "-cn",
}

_RUN = ("run", "start", "submit")
"""The commands of other programs that run a job."""

LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


@frozen(kw_only=True)
class RunArguments:
    """The arguments of ``seatunnel --config …``."""

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
    background: bool
    """Whether the job is left to a process of its own."""

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


@frozen(kw_only=True)
class ShadeArguments:
    """The arguments of ``seatunnel --encrypt --config …``, or ``--decrypt``."""

    config: Path
    variables: dict[str, str] = field(repr=False)
    """From ``-i``; may hold secrets."""

    encrypt: bool
    """Otherwise decrypt."""


@frozen(kw_only=True)
class InitArguments:
    """The arguments of ``seatunnel init DIR``."""

    folder: Path


@frozen(kw_only=True)
class PluginsArguments:
    """The arguments of ``seatunnel plugins``: none."""


@frozen(kw_only=True)
class HelpArguments:
    """The arguments of ``seatunnel help``: ``[source|transform|sink] [NAME]``, ``CODE`` or ``--json-schema``."""

    kind: str | None
    name: str | None
    """Of a plugin, or an error's code; ``None`` lists what there is."""

    json_schema: bool


@frozen(kw_only=True)
class CheckpointsCommand:
    """The unparsed arguments of ``seatunnel checkpoints VERB …``."""

    argv: tuple[str, ...] = field(repr=False)
    """The arguments after ``checkpoints``, for ``parse_checkpoints``, which imports more; may hold secrets."""


Arguments = (
    RunArguments
    | ControlArguments
    | ShadeArguments
    | InitArguments
    | PluginsArguments
    | HelpArguments
    | CheckpointsCommand
)


class _Parser(argparse.ArgumentParser):
    """Raises instead of leaving, so that one place decides about exit codes."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message[:1].upper()}{message[1:]}. See: {self.prog} --help")


def parse(argv: Sequence[str], version: str) -> Arguments:
    """Parse the command line.

    Raises:
        UsageError: An argument is missing, unknown or not available; the message says what to write instead.
        SystemExit: With code 0, after ``--help`` or ``--version`` printed their text.
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
    control = control_arguments(values)
    if control is not None:
        return control
    if values.config is None:
        raise UsageError("No job file: write --config FILE. See: seatunnel --help")
    _refuse_background_of_nothing(values)
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
        background=getattr(values, "async"),
        begun_to=values.begun_to,
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
                "seatunnel help [NAME]",
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
    add("-c", "--config", metavar="FILE", type=Path, help="the job: HOCON, JSON, YAML or SQL")
    add("-i", "--variable", metavar="NAME=VALUE", action="append", default=[], type=_variable, help="replaces ${NAME}")
    add("-n", "--name", metavar="NAME", help="the job's name, instead of job.name in its env")
    which = parser.add_mutually_exclusive_group()
    of_job = partial(which.add_argument, metavar="ID", type=job_id)
    of_job("--set-job-id", help="start the job under this id, which must be new")
    of_job("-r", "--restore", help="go on with this job where it stopped or was killed")
    add_restore(parser)
    for flags in (("-m", "--master"), ("-e", "--deploy-mode")):
        add(*flags, dest="master", metavar="WHERE", type=_master, help=_MASTER_HELP[flags[0]])
    ending = parser.add_mutually_exclusive_group()
    ending.add_argument("--async", action="store_true", help="leave the job to a process in the background")
    ending.add_argument("-cj", "--close-job", action="store_true", help="the job ends with this command, as it always "
                        "does without --async")  # fmt: skip
    add("--begun-to", metavar="FD", type=int, help=argparse.SUPPRESS)
    add_control(parser)
    instead = parser.add_mutually_exclusive_group()
    flag = partial(instead.add_argument, action="store_true")
    flag(
        "-d",
        "--check",
        "--dry-run",
        help="look at the files and the sources, print the plan and the guarantees, move no row",
    )
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


def _refuse_background_of_nothing(values: argparse.Namespace) -> None:
    for flag in ("check", "encrypt", "decrypt"):
        if getattr(values, "async") and getattr(values, flag):
            raise UsageError(f"--async leaves a job that runs to the background, and --{flag} runs none: leave one out")


_MASTER_HELP = {"-m": "local (all cores), local[N] or spark://HOST:PORT", "-e": "the same as --master"}


def _parse_subcommand(name: str, argv: Sequence[str]) -> Arguments:
    if name == "checkpoints":
        return CheckpointsCommand(argv=tuple(argv))
    parser = _Parser(prog=f"seatunnel {name}", description=SUBCOMMANDS[name].capitalize() + ".", allow_abbrev=False)
    if name == "plugins":
        parser.parse_args(argv)
        return PluginsArguments()
    if name == "help":
        return _help_arguments(parser, argv)
    parser.add_argument("folder", metavar="DIR", type=Path, help="is made when it is not there; nothing is overwritten")
    return InitArguments(folder=parser.parse_args(argv).folder)


_KINDS = ("source", "transform", "sink")


def _help_arguments(parser: _Parser, argv: Sequence[str]) -> HelpArguments:
    parser.usage = (
        "seatunnel help [source|transform|sink] [NAME]\n       seatunnel help CODE\n       seatunnel help --json-schema"
    )
    parser.add_argument(
        "words",
        nargs="*",
        metavar="NAME",
        help="of a source, transform or sink, or the code of an error; without, a list",
    )
    parser.add_argument("--json-schema", action="store_true", help="print the JSON Schema of job files, for editors")
    values = parser.parse_args(argv)
    words: list[str] = values.words
    kind = words.pop(0).lower() if words and words[0].lower() in _KINDS else None
    if len(words) > 1 or (values.json_schema and values.words):
        parser.error(f"one name is told about at a time, not {' '.join(argv)!r}")
    return HelpArguments(kind=kind, name=words[0] if words else None, json_schema=values.json_schema)


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
