"""Assignment of keys to chunks. Keys are compared with bounds exactly as in the SELECT of a chunk."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as of
from attrs import evolve

from seatunnel_core.connectors.change_data.chunk_keys import intervals_of, key_text
from seatunnel_core.connectors.jdbc.databases.mysql_values import MOMENT
from seatunnel_core.connectors.jdbc.order import OWN, hexadecimal
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.mysql_cdc.server import Server

Places = npt.NDArray[np.int64]

DIVISIBLE = (OWN, "number", "binary", "bytes", MOMENT)
"""Sort orders by which tables can be divided. A table with another order, such as ENUM, is read as one chunk."""


def divisible(found: Found) -> Found:
    """Remove the split column of a table if its values cannot be placed between bounds."""
    column = found.split_column
    return found if column is None or column.order in DIVISIBLE else evolve(found, split_column=None)


def places_of(server: Server, found: Found, order: str, bounds: Sequence[str], keys: pa.Array) -> Places:
    """Return, for each key, the number of bounds that are less than or equal to it; 0 for null.

    The bounds are ascending. The server compares strings by the collation of the column.
    """
    column = found.split_column
    if not bounds or column is None:
        return np.zeros(len(keys), np.int64)
    if of.is_integer(column.arrow):
        limits = np.array([int(Decimal(bound)) for bound in bounds], np.int64)
        values = keys.cast(pa.int64()).fill_null(np.iinfo(np.int64).min).to_numpy(zero_copy_only=False)
        places: Places = np.searchsorted(limits, values, side="right").astype(np.int64)
        return places
    convert = _in_python(order, column.arrow)
    if convert is not None:
        sorted_bounds = [convert(bound) for bound in bounds]
        found_places = (0 if key is None else bisect_right(sorted_bounds, key) for key in keys.to_pylist())
        return np.fromiter(found_places, np.int64, len(keys))
    return intervals_of(
        server.dialect,
        server.ask,
        found.reading.relation,
        column,
        order,
        bounds,
        keys,
        literal=lambda value: hexadecimal(value.hex()) if isinstance(value, bytes) else _text(server, value),
    )


def _text(server: Server, value: Any) -> str:
    return server.dialect.literal(key_text(value))


def _in_python(order: str, arrow: pa.DataType) -> Callable[[str], Any] | None:
    """Return a function that parses bounds for comparison; ``None`` for strings, which the server compares."""
    if order == "number":
        return float if of.is_floating(arrow) else Decimal
    if order == "binary":
        return bytes.fromhex
    if of.is_timestamp(arrow):
        return datetime.fromisoformat
    return date.fromisoformat if of.is_date(arrow) else None
