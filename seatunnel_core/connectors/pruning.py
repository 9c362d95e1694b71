"""What sinks with ``write_mode = prune`` share: they remove the rows of their target whose keys did not come."""

import logging
from collections.abc import Callable, Collection, Sequence
from typing import Any

from seatunnel_core.config.problem import nearest
from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.quantity import pick

_log = logging.getLogger(__name__)


def require_key(named: str, there: Collection[str], names: Sequence[str], rows: str) -> None:
    """Refuse rows with a column that the target lacks.

    Args:
        named: The target.
        there: Its columns, as they are compared.
        names: The columns of the rows, as they are compared.
        rows: The name of the rows' table.

    Raises:
        SinkError: The message names the column.
    """
    for name in names:
        if name not in there:
            meant = nearest(name, list(there))
            raise SinkError(
                f"write_mode = prune: the rows of {rows} have a column {name!r}, which is none of the table {named}"
                + (f"; did you mean {meant}?" if meant else "; let the source give the columns of its key alone")
            )


def removal(ask: Callable[[str], Sequence[Any]], table: str, keys: str, names: Sequence[str]) -> str | None:
    """Return the statement that removes the rows of a table whose key was not collected; ``None`` if those were all.

    Args:
        ask: Returns the rows of a query, in the transaction of the removal.
        table: The quoted table; its rows with null in the key stay.
        keys: The quoted table of collected keys.
        names: The quoted columns of the key.
    """
    same = " AND ".join(f"{table}.{name} = seatunnel_keys.{name}" for name in names)
    known = f"EXISTS (SELECT 1 FROM {keys} AS seatunnel_keys WHERE {same})"
    if ask(f"SELECT 1 FROM {table} LIMIT 1") and not ask(f"SELECT 1 FROM {table} WHERE {known} LIMIT 1"):
        return None
    whole = " AND ".join(f"{table}.{name} IS NOT NULL" for name in names)
    return f"DELETE FROM {table} WHERE {whole} AND NOT {known}"


def no_key_matches(who: str, named: str, names: Sequence[str]) -> SinkError:
    """Return the error that all rows of a target would be removed."""
    return SinkError(
        f"{who}: write_mode = prune would remove every row of {named}, because no key ({', '.join(names)}) that came "
        "is there: compare the types and what the source gives. If the target is meant to be emptied, write "
        "write_mode = replace"
    )


def tell_removed(sink: str, named: str, rows: int) -> None:
    """Tell the user how many rows were removed, if any."""
    if rows:
        _log.warning(
            "the sink %s: %s removed from the table %s, whose key did not come", sink, pick(rows, "row"), named
        )
