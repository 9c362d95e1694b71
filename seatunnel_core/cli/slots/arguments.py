"""Arguments of ``seatunnel slots``."""

from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from seatunnel_core.cli.command import Command, Parser, Subcommand
from seatunnel_core.cli.control_arguments import variable
from seatunnel_core.cli.declared import add_options, option, read_options, switch
from seatunnel_core.errors import UsageError

_VERBS = """\
  list -c FILE                show the replication slots and publications of the job's sources
  drop -c FILE [NAME]         remove them, or only the slot NAME and its publication

drop removes a publication only if the engine created it, and fails for a slot that the engine did not create or
that a job's checkpoint needs. A slot in use is never removed."""


@frozen(kw_only=True)
class SlotsArguments(Command):
    """Arguments of ``seatunnel slots VERB …``."""

    verb: str
    name: str | None = None
    """Name of the slot to drop; ``None`` for all slots of the job."""

    config: Path = option("-c", "--config", metavar="FILE", type=Path, help="job file; its sources read the slots")
    variables: dict[str, str] = option(
        *("-i", "--variable"), metavar="NAME=VALUE", action="append", type=variable, help="replaces ${NAME}",
        default=[], converter=dict, repr=False)  # fmt: skip
    """Values of variables; may contain secrets."""

    engine_config: Path | None = option(
        "--engine-config", metavar="FILE", type=Path, help="engine file that configures the checkpoint storage"
    )
    force: bool = switch(
        "--force", help="drop: also remove a slot that a job's checkpoint needs, or that the engine did not create"
    )


def parse_slots(parser: Parser, argv: Sequence[str]) -> SlotsArguments:
    """Parse the arguments of ``seatunnel slots``. Raises the same errors as ``arguments.parse``."""
    parser.usage = "seatunnel slots VERB -c FILE [NAME] [options]"
    parser.epilog = _VERBS
    parser.add_argument("verb", metavar="VERB", choices=("list", "drop"), help="one of the verbs below")
    parser.add_argument("name", metavar="NAME", nargs="?", help="drop: name of the slot to drop; by default, all slots")
    add_options(parser, SlotsArguments)
    values = parser.parse_args(argv)
    if values.config is None:
        raise UsageError("No job file: add --config FILE. See: seatunnel slots --help")
    if values.verb == "list" and (values.name is not None or values.force):
        raise UsageError("NAME and --force are for drop. See: seatunnel slots --help")
    return read_options(SlotsArguments, values, verb=values.verb, name=values.name)


SLOTS = Subcommand(name="slots", summary="list or drop the replication slots of a job", parse=parse_slots)
