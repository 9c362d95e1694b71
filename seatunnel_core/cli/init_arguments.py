"""The arguments of ``seatunnel init``."""

from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from seatunnel_core.cli.command import DONE, Command, Parser, Subcommand


@frozen(kw_only=True)
class InitArguments(Command):
    """The arguments of ``seatunnel init DIR``."""

    folder: Path
    cluster: bool = False
    """Whether the folder is for a cluster of this machine, and not for jobs alone."""

    def execute(self, *, last: bool) -> int:
        from seatunnel_core.cli.init import init

        init(self.folder, cluster=self.cluster)
        return DONE


def _parse(parser: Parser, argv: Sequence[str]) -> InitArguments:
    parser.add_argument("folder", metavar="DIR", type=Path, help="is made when it is not there; nothing is overwritten")
    parser.add_argument(
        "--cluster", action="store_true", help="for a cluster: with hazelcast.yaml, a secret, and scripts that start it"
    )
    values = parser.parse_args(argv)
    return InitArguments(folder=values.folder, cluster=values.cluster)


INIT = Subcommand(
    name="init", summary="write a configuration, a first job and bin/seatunnel.sh into a folder", parse=_parse
)
