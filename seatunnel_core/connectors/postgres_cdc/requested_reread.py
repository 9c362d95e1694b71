"""Requests to read a captured table again."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connectors.change_data.rereading import NOT_ENDLESS, require_table
from seatunnel_core.connectors.postgres_cdc.cursor import Capture
from seatunnel_core.connectors.postgres_cdc.large_values import partially_logged, whole_rows
from seatunnel_core.connectors.postgres_cdc.settings import Settings
from seatunnel_core.connectors.postgres_cdc.tables import Captured


def requested(
    state: Capture,
    table: str,
    settings: Settings,
    tables: Sequence[Captured],
    connected: Callable[[], AbstractContextManager[Any]],
    *,
    emits_rows: bool,
) -> Capture:
    """Return the state with a request to read a table again.

    Args:
        state: The state of the source.
        table: Name of the table.
        settings: The settings of the job.
        tables: The captured tables.
        connected: Function that opens a connection to the server.
        emits_rows: True if the source emits rows; False if it emits messages.

    Raises:
        UsageError: The table is unknown or is already being read again, its log may lack values, or the job is bounded
            or emits messages.
    """
    if not settings.is_endless:
        raise UsageError(NOT_ENDLESS)
    known = {each.name: each for each in tables if each.name in dict(state.tables)}
    require_table(table, [each.found for each in known.values()], emits_rows=emits_rows)
    after = state.requested(table)
    with connected() as connection:
        partial = partially_logged(connection, known[table].path)
    if partial:
        raise UsageError(
            f"{', '.join(partial)} can contain large values (TOAST). The log omits large values that an update did "
            "not change, so the target cannot apply the update before it contains the row; run "
            f"{whole_rows(partial)}, and repeat the request when the job has read the earlier changes"
        )
    return after
