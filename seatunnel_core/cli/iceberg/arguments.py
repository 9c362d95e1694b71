"""Arguments of ``seatunnel iceberg``."""

from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from seatunnel_core.cli.command import Command, Parser, Subcommand
from seatunnel_core.cli.control_arguments import variable
from seatunnel_core.cli.declared import add_options, option, read_options
from seatunnel_core.errors import UsageError

_VERBS = """\
  compact -c FILE             rewrite the tables of the job's Iceberg sinks without deleted rows

The job may be running."""


@frozen(kw_only=True)
class IcebergArguments(Command):
    """Arguments of ``seatunnel iceberg compact …``."""

    config: Path = option(
        "-c", "--config", metavar="FILE", type=Path, help=("job file; the tables of its Iceberg sinks are compacted")
    )
    variables: dict[str, str] = option(
        *("-i", "--variable"), metavar="NAME=VALUE", action="append", type=variable, help="replaces ${NAME}",
        default=[], converter=dict, repr=False)  # fmt: skip
    """Values of variables; may contain secrets."""


def parse_iceberg(parser: Parser, argv: Sequence[str]) -> IcebergArguments:
    """Parse the arguments of ``seatunnel iceberg``. Raises the same errors as ``arguments.parse``."""
    parser.usage = "seatunnel iceberg compact -c FILE [options]"
    parser.epilog = _VERBS
    parser.add_argument("verb", metavar="VERB", choices=("compact",), help="subcommand; see below")
    add_options(parser, IcebergArguments)
    values = parser.parse_args(argv)
    if values.config is None:
        raise UsageError("No job file: add --config FILE. See: seatunnel iceberg --help")
    return read_options(IcebergArguments, values)


ICEBERG = Subcommand(
    name="iceberg", summary="rewrite the data files of Iceberg tables without the deleted rows", parse=parse_iceberg
)
