"""Arguments of ``seatunnel init``."""

from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from seatunnel_core.cli.command import Command, Parser, Subcommand
from seatunnel_core.cli.declared import add_options, read_options, switch


@frozen(kw_only=True)
class InitArguments(Command):
    """Arguments of ``seatunnel init DIR``."""

    folder: Path
    cluster: bool = switch(
        "--cluster", help=("also create the files of a cluster: hazelcast.yaml, a secret and start scripts")
    )


def _parse(parser: Parser, argv: Sequence[str]) -> InitArguments:
    parser.add_argument(
        "folder", metavar="DIR", type=Path, help=("folder, created if missing; existing files are not overwritten")
    )
    add_options(parser, InitArguments)
    values = parser.parse_args(argv)
    return read_options(InitArguments, values, folder=values.folder)


INIT = Subcommand(
    name="init", summary="create a folder with a configuration, a first job and bin/seatunnel.sh", parse=_parse
)
