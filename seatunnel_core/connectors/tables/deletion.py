"""Deletion of the rows whose keys did not occur in the run (``write_mode = prune``)."""

import logging
from collections.abc import Callable, Collection, Sequence
from typing import Any

from seatunnel_core.config.problem import nearest
from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.quantity import pick

_log = logging.getLogger(__name__)


def require_key(named: str, columns: Collection[str], names: Sequence[str], rows: str) -> None:
    """Raise ``SinkError`` if the target lacks a column of the rows. Names must be normalized for comparison."""
    for name in names:
        if name not in columns:
            meant = nearest(name, list(columns))
            raise SinkError(
                f"write_mode = prune: the rows of {rows} have a column {name!r}, which the table {named} lacks"
                + (f"; did you mean {meant}?" if meant else "; select only the columns of the key in the source")
            )


def removal(ask: Callable[[str], Sequence[Any]], table: str, keys: str, names: Sequence[str]) -> str | None:
    """Return the statement that deletes rows whose keys are not in ``keys``; ``None`` if it would delete all rows.

    Rows with null in the key are kept.
    """
    same = " AND ".join(f"{table}.{name} = seatunnel_keys.{name}" for name in names)
    known = f"EXISTS (SELECT 1 FROM {keys} AS seatunnel_keys WHERE {same})"
    if ask(f"SELECT 1 FROM {table} LIMIT 1") and not ask(f"SELECT 1 FROM {table} WHERE {known} LIMIT 1"):
        return None
    whole = " AND ".join(f"{table}.{name} IS NOT NULL" for name in names)
    return f"DELETE FROM {table} WHERE {whole} AND NOT {known}"


def no_key_matches(who: str, named: str, names: Sequence[str]) -> SinkError:
    """Return the error for a run that would delete all rows of a target."""
    return SinkError(
        f"{who}: write_mode = prune would remove every row of {named}, because the table contains none of the keys "
        f"({', '.join(names)}) of this run: compare their types and values. To empty the table, write write_mode = "
        "replace"
    )


def report_removed(sink: str, named: str, rows: int) -> None:
    """Log the number of deleted rows, if any."""
    if rows:
        keys = "its key was" if rows == 1 else "their keys were"
        told = "the sink %s: deleted %s from the table %s, because %s not in this run"
        _log.warning(told, sink, pick(rows, "row"), named, keys)
