"""Types in which values are sent to the database."""

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as of

from seatunnel_core.rows.unknown import filled


def narrowed(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast values; raise an error if Arrow would convert a number that is too large for 32 bits to infinity."""
    found = filled(values, kind)
    if of.is_float32(kind) and of.is_float64(values.type):
        grown = pc.and_(pc.is_inf(found), pc.is_finite(values))
        if pc.any(grown).as_py():
            raise pa.ArrowInvalid("the number is too large for 32 bits")
    return found


def sent_type(column: pa.DataType, declared: str, have: pa.DataType) -> pa.DataType:
    """Return the type in which values are sent. If the column has no precision, decimals keep all their digits."""
    unbounded = of.is_decimal(column) and "(" not in declared and declared
    return have if unbounded and of.is_decimal(have) else column
