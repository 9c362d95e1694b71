"""``seatunnel iceberg compact``: rewrites the tables of a job's sinks without their deleted rows."""

import sys

from seatunnel_core.cli.command import DONE, FAILED
from seatunnel_core.cli.iceberg.arguments import IcebergArguments
from seatunnel_core.config.engine import default_engine
from seatunnel_core.config.job_file import load_job
from seatunnel_core.config.variables import Variables
from seatunnel_core.connectors.iceberg.compacting import Compacted
from seatunnel_core.connectors.iceberg.sink import IcebergSink
from seatunnel_core.errors import SeaTunnelError, UsageError
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.quantity import pick
from seatunnel_core.registry import lookup


def compact(arguments: IcebergArguments) -> int:
    """Rewrite the tables, print a result or an error for each, and return the exit code."""
    raw = load_job(arguments.config, Variables(arguments.variables))
    job = plan_job(raw, lookup, default_engine(), reads_input=False)
    sinks = [each.sink for pipeline in job.pipelines for each in pipeline.sinks if isinstance(each.sink, IcebergSink)]
    if not sinks:
        raise UsageError(f"{arguments.config}: the job has no Iceberg sink, so there is no table to compact")
    code = DONE
    for table in [each for sink in sinks for each in sink.to_compact()]:
        try:
            print(_sentence(table.run()), flush=True)
        except SeaTunnelError as error:
            print(f"{table.named}: {error}\nMore: seatunnel help {error.code}", file=sys.stderr)
            code = FAILED
    return code


def _sentence(table: Compacted) -> str:
    if not table.deletes:
        return f"{table.named}: no deleted rows"
    old = f"{pick(table.rewritten, 'data file')} and {pick(table.deletes, 'delete file')}"
    return f"{table.named}: {old} replaced by {pick(table.added, 'data file')}"
