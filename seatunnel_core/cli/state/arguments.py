"""Arguments of ``seatunnel state``."""

from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from seatunnel_core.cli.command import Command, Parser, Subcommand
from seatunnel_core.cli.declared import add_options, option, read_options, switch
from seatunnel_core.errors import UsageError

_VERBS = """\
  show [NAME]                 the position of each source, and the job that stored it
  set NAME [SOURCE] VALUE     the next job reads the rows after this value
  reset NAME                  the next job reads everything again

NAME is state.name of the job, or job.name. SOURCE is optional if the job has only one source."""


@frozen(kw_only=True)
class StateArguments(Command):
    """Arguments of ``seatunnel state VERB …``."""

    verb: str
    name: str | None = None
    """Name of the state; ``None`` for all states."""

    source: str | None = None
    """Name of the source; ``None`` if the job has only one."""

    value: str = ""
    engine_config: Path | None = option(
        "--engine-config",
        exclusive="which",
        metavar="FILE",
        type=Path,
        help="engine file that configures the storage",
    )
    storage: str | None = option(
        "--storage",
        exclusive="which",
        metavar="STORAGE",
        help="the storage, in the form that seatunnel checkpoints accepts",
    )
    """Storage, as for ``seatunnel checkpoints``; ``None`` for the default storage of jobs."""

    json: bool = switch("--json", help="show: print JSON; its keys are documented and stable")


def parse_state(parser: Parser, argv: Sequence[str]) -> StateArguments:
    """Parse the arguments of ``seatunnel state``. Raises the same errors as ``arguments.parse``."""
    parser.usage = "seatunnel state VERB [NAME] [options]"
    parser.epilog = _VERBS
    parser.add_argument("verb", metavar="VERB", choices=("show", "set", "reset"), help="subcommand; see below")
    parser.add_argument("words", metavar="NAME", nargs="*", help="arguments of the subcommand; see below")
    add_options(parser, StateArguments)
    values = parser.parse_args(argv)
    words, verb = values.words, values.verb
    least, most = {"show": (0, 1), "set": (2, 3), "reset": (1, 1)}[verb]
    if not least <= len(words) <= most:
        line = next(line.strip() for line in _VERBS.splitlines() if line.strip().startswith(verb))
        raise UsageError(f"Expected: seatunnel state {line.split('  ')[0]}. See: seatunnel state --help")
    return read_options(
        StateArguments,
        values,
        verb=verb,
        name=words[0] if words else None,
        source=words[1] if len(words) == 3 else None,
        value=words[-1] if verb == "set" else "",
    )


STATE = Subcommand(name="state", summary="show, set or reset the position of incremental jobs", parse=parse_state)
