"""What sinks with ``write_mode = prune`` say: they remove the rows of their target whose keys did not come."""

import logging
from collections.abc import Collection, Sequence

from seatunnel_core.config.problem import nearest
from seatunnel_core.errors import SinkError
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
