"""Arguments of ``seatunnel tables``."""

from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from seatunnel_core.cli.command import Command, Parser, Subcommand
from seatunnel_core.cli.control_arguments import job_id
from seatunnel_core.cli.declared import add_options, option, read_options
from seatunnel_core.errors import UsageError

_VERBS = """\
  reread ID TABLE             read a captured table again while the job runs

ID is a job of your user on this machine or, with -m cluster, a job of a cluster. TABLE is the name that the job shows,
such as shop.public.orders. The other tables are captured as before. Rows that exist only in
the target are not removed."""


@frozen(kw_only=True)
class TablesArguments(Command):
    """Arguments of ``seatunnel tables reread …``."""

    job_id: str
    table: str
    mode: str | None = option(
        *("-m", "--master"), metavar="cluster", choices=("cluster",), help="the job runs in a cluster"
    )
    cluster: str | None = option(
        "-cn", "--cluster", metavar="NAME", help="cluster name, which overrides the name in hazelcast-client.yaml"
    )
    engine_config: Path | None = option(
        "--engine-config", metavar="FILE", type=Path, help="seatunnel.yaml; the client's files are in the same folder"
    )


def parse_tables(parser: Parser, argv: Sequence[str]) -> TablesArguments:
    """Parse the arguments of ``seatunnel tables``. Raises the same errors as ``arguments.parse``."""
    parser.usage = "seatunnel tables reread ID TABLE [-m cluster]"
    parser.epilog = _VERBS
    parser.add_argument("verb", metavar="VERB", choices=("reread",), help="subcommand; see below")
    parser.add_argument("job_id", metavar="ID", type=job_id, help="the running job")
    parser.add_argument("table", metavar="TABLE", help="the captured table")
    add_options(parser, TablesArguments)
    values = parser.parse_args(argv)
    if values.mode is None and (values.cluster is not None or values.engine_config is not None):
        raise UsageError("--cluster and --engine-config are for jobs of a cluster: add -m cluster")
    return read_options(TablesArguments, values, job_id=values.job_id, table=values.table)


TABLES = Subcommand(name="tables", summary="read a captured table of a running job again", parse=parse_tables)
