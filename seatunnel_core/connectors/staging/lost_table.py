"""Detection of tables that were dropped or replaced after rows were published to them."""

import logging

from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connector_api.sink_context import SinkContext

_log = logging.getLogger(__name__)


def require_same_table(
    context: SinkContext,
    who: str,
    table: str,
    identity: str | None,
    kind: type[SinkError] = SinkError,
    *,
    what: str = "table",
) -> None:
    """Raise ``kind`` if rows were published to a table that is missing or was replaced by another table.

    ``identity`` is the identity of the existing table, ``""`` if it has none; ``None`` if the table does not exist.
    ``what`` is the word for the table in the message, such as ``topic``. If a table does not exist yet and the job
    reads only an increment, a warning is logged. A missing table is rejected if any sink of the job has published rows
    to it: after it is created again, a table without an identity cannot be distinguished from the lost one.
    """
    if identity is None:
        if context.has_published_to(table):
            raise kind(lost(who, table, exists=False, what=what))
        if context.increment:
            told = "%s: the %s %s does not exist, and %s. The new %s will not contain the rows of earlier jobs"
            _log.warning(told, who, what, table, context.increment, what)
        return
    known = context.published_to.get(table)
    if known and identity and known != identity:
        raise kind(lost(who, table, exists=True, what=what))


def lost(who: str, table: str, *, exists: bool, what: str = "table") -> str:
    """Return the message about a table that no longer exists, or was replaced by another with the same name."""
    found = (
        f"is not the {what} to which this job has committed rows: it was dropped and created again"
        if exists
        else "does not exist, but this job has committed rows to it: it was dropped or renamed, or its database or "
        "catalog was created again"
    )
    return (
        f"{who}: the {what} {table} {found}. The job does not continue with another {what}, because those rows would "
        f"be missing. Restore the {what} with its rows and resume the job, or start a new job, which reads everything "
        "again"
    )


def gone(context: SinkContext, who: str, table: str) -> str:
    """Return the message about a missing table during a commit."""
    if table in context.published_to:
        return lost(who, table, exists=False)
    return (
        f"{who}: the table {table} no longer exists: it was dropped or renamed after this job had checked or "
        "created it. Nothing was committed to it. Restore the table and resume the job, or start a new job"
    )
