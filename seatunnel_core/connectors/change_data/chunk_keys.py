"""Assignment of keys to chunks by the bounds of the chunks."""

from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as of

from seatunnel_core.connectors.jdbc.column import Column
from seatunnel_core.connectors.jdbc.databases.dialect import Asking, Dialect
from seatunnel_core.connectors.jdbc.order import OWN, quoted

_AT_ONCE = 500
"""Maximum number of keys in a statement."""


def intervals_of(
    dialect: Dialect,
    ask: Asking,
    relation: str,
    column: Column,
    order: str,
    bounds: Sequence[str],
    keys: pa.Array,
    *,
    literal: Callable[[Any], str] | None = None,
) -> npt.NDArray[np.int64]:
    """Return for each key the number of bounds that are less than or equal to it, which is the index of its chunk.

    Integers are compared locally. The database compares all other keys, as it does for the SELECT of a chunk.

    Args:
        dialect: The database.
        ask: Runs a statement and returns its rows; called only if the database must compare.
        relation: The table, as an expression after FROM. Its column determines the collation.
        column: The split column.
        order: Key of the sort order of the bounds in ``dialect.orders``.
        bounds: Lower bounds of all chunks except the first one, in that order.
        keys: Values of the column. Null belongs to the first chunk.
        literal: Returns the SQL literal of a value; by default, the value as a quoted string.
    """
    if not bounds:
        return np.zeros(len(keys), np.int64)
    if order == OWN and of.is_integer(column.arrow):
        values = keys.fill_null(0).to_numpy(zero_copy_only=False)
        found = np.searchsorted(np.array([int(bound) for bound in bounds], values.dtype), values, side="right")
        return np.where(keys.is_null().to_numpy(zero_copy_only=False), 0, found).astype(np.int64)
    different = keys.unique().to_pylist()
    known: dict[Any, int] = {None: 0}
    asked = [value for value in different if value is not None]
    how = dialect.orders[order]
    by = how.by.replace("{}", dialect.quoted(column.name))
    counted = " + ".join(f"CASE WHEN {by} >= {how.literal(bound)} THEN 1 ELSE 0 END" for bound in bounds)
    for start in range(0, len(asked), _AT_ONCE):
        some = asked[start : start + _AT_ONCE]
        written = literal or (lambda value: quoted(key_text(value)))
        rows = " UNION ALL ".join(f"SELECT {number}, {written(value)}" for number, value in enumerate(some))
        # This SELECT returns no row. It gives the keys the type and the collation of the column.
        values_of = f"SELECT 0 AS seatunnel_number, {dialect.quoted(column.name)} FROM {relation} WHERE 1 = 0"
        answer = ask(f"SELECT seatunnel_number, {counted} FROM ({values_of} UNION ALL {rows}) AS seatunnel_keys")
        known |= {some[int(number)]: int(index) for number, index in answer}
    return np.array([known[value] for value in keys.to_pylist()], np.int64)


def key_text(value: Any) -> str:
    """Return a key value as databases format it."""
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return format(value, "f")
    return str(value)
