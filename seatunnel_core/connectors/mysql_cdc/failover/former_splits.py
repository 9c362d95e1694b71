"""Splits that were planned for the former server of a job. They are never read from another server."""

from collections.abc import Mapping
from typing import Any

from seatunnel_core import stored
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connectors.mysql_cdc.failover.candidate import Candidate
from seatunnel_core.connectors.mysql_cdc.failover.continuation import COPIED, UNKNOWN
from seatunnel_core.connectors.mysql_cdc.server import Server, ServerState


def is_skipped(server: Server, state: ServerState, body: Mapping[str, Any], context: ReadContext) -> bool:
    """Return True if a split was planned for another server, and report that none of its range was read.

    The next poll then determines from the reported GTIDs where reading continues.

    Raises:
        ServerReplacedError: The task uses an outdated server. Restart the pipeline.
        SourceChangedError: The split is a chunk or a range between chunks, or the range has no GTIDs.
    """
    if body.get("server", state.identity) == state.identity:  # earlier versions did not store the server
        return False
    server.dialect.pool.close_idle()  # they may lead to a former server of the url
    now = server.state().identity
    if now != state.identity:
        raise server.replaced(now)
    candidate = Candidate(server, state, stored.text(body, "server"))
    if "reread" in body:
        raise candidate.refused(f"the job was rereading the table {stored.text(body, 'table')}")
    if "chunk" in body or "window" in body:
        raise candidate.refused(COPIED)
    if not body.get("gtids"):
        raise candidate.refused(UNKNOWN)
    context.report_fact(
        {
            "read": stored.text(body, "from"),
            "gtids": stored.text(body, "gtids"),
            "last": stored.text(body, "last"),
            "prepared": stored.texts(body, "prepared"),
            "stopped": "",
            "ended": False,
        }
    )
    return True
