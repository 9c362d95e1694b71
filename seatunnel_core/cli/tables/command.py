"""``seatunnel tables reread``: reads a captured table of a running job again."""

from seatunnel_core.cli.cluster_arguments import ClusterArguments
from seatunnel_core.cli.cluster_client import client_place
from seatunnel_core.cli.command import DONE
from seatunnel_core.cli.tables.arguments import TablesArguments
from seatunnel_core.control import client


def reread(arguments: TablesArguments) -> int:
    """Send the request, print the result once a checkpoint contains the request, and return the exit code."""
    if arguments.mode is None:
        client.ask(arguments.job_id, {"do": "reread", "table": arguments.table})
    else:
        place = client_place(ClusterArguments(cluster=arguments.cluster, engine_config=arguments.engine_config))
        place.client.ask("POST", "/reread-table", {"jobId": arguments.job_id, "table": arguments.table})
    print(
        f"Job {arguments.job_id} reads the table {arguments.table} again. The job's progress shows when the table has "
        "been read."
    )
    return DONE
