"""A row of inferred columns, with what its contract discards counted where the row is read."""

from collections.abc import Callable
from typing import Any

from seatunnel_core.connectors.source import ReadContext
from seatunnel_core.rows.inference.fitting import Fitting


def fitted(
    fitting: Fitting, document: dict[str, Any], where: Callable[[], str], context: ReadContext
) -> dict[str, Any]:
    """Return the values of a row; ``context`` counts what is left out of it.

    Args:
        fitting: the columns and their contract.
        document: as ``native_json.parsed`` gives it.
        where: returns the place of the row, for messages.
        context: of the task.

    Raises:
        ValueError, DiscardedRowError: as ``Fitting.row``.
    """
    lost: dict[str, None] = {}
    row = fitting.row(document, lost.setdefault)
    for what in lost:
        context.note(what, where())
    return row
