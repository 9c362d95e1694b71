"""The SQLAlchemy types of new columns, for databases that follow the standard."""

from typing import Any

import pyarrow as pa
import pyarrow.types as of


def column_type(arrow: pa.DataType) -> Any:
    """Return SQLAlchemy's type for an Arrow type, as in most databases.

    Raises:
        TypeError: There is none; the message is the Arrow type.
    """
    import sqlalchemy as sa

    simple = {
        pa.bool_(): sa.Boolean(),
        **dict.fromkeys((pa.int8(), pa.int16(), pa.uint8()), sa.SmallInteger()),
        **dict.fromkeys((pa.int32(), pa.uint16()), sa.Integer()),
        **dict.fromkeys((pa.int64(), pa.uint32()), sa.BigInteger()),
        pa.uint64(): sa.Numeric(20, 0),
        **dict.fromkeys((pa.float16(), pa.float32()), sa.REAL()),
        pa.float64(): sa.Double(),
        **dict.fromkeys((pa.string(), pa.large_string(), pa.string_view()), sa.Text()),
        **dict.fromkeys((pa.binary(), pa.large_binary()), sa.LargeBinary()),
        pa.date32(): sa.Date(),
    }
    if arrow in simple:
        return simple[arrow]
    if of.is_decimal(arrow):
        return sa.Numeric(arrow.precision, arrow.scale)
    if of.is_time(arrow):
        return sa.Time()
    if of.is_timestamp(arrow):
        return sa.DateTime(timezone=arrow.tz is not None)
    raise TypeError(arrow)
