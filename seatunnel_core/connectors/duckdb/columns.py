"""DuckDB types for the types of rows.

====================================== =============================================
Arrow                                  DuckDB
====================================== =============================================
``bool``                               ``BOOLEAN``
``int8`` … ``int64``                   ``TINYINT`` … ``BIGINT``
``uint8`` … ``uint64``                 ``UTINYINT`` … ``UBIGINT``
``halffloat``, ``float``, ``double``   ``FLOAT``, ``FLOAT``, ``DOUBLE``
``decimal128(p, s)``                   ``DECIMAL(p, s)``; no more than 38 digits
``string``, ``binary``                 ``VARCHAR``, ``BLOB``
``date32``, ``date64``, any time       ``DATE``, ``TIME``
any timestamp, with any zone           ``TIMESTAMP``, ``TIMESTAMP WITH TIME ZONE``
``list``, ``fixed_size_list``          ``T[]``
``map``, ``struct``                    ``MAP(K, V)``, ``STRUCT(…)``
====================================== =============================================

Timestamps and times are staged in microseconds; a finer value is an error of its row. A column of an existing table may
have another type if it stores each value unchanged or rejects it.
"""

from collections.abc import Mapping

import pyarrow as pa

PLAIN: Mapping[pa.DataType, str] = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.uint8(): "UTINYINT",
    pa.uint16(): "USMALLINT",
    pa.uint32(): "UINTEGER",
    pa.uint64(): "UBIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "VARCHAR",
    pa.binary(): "BLOB",
    pa.date32(): "DATE",
    pa.time64("us"): "TIME",
    pa.timestamp("us"): "TIMESTAMP",
    pa.timestamp("us", "UTC"): "TIMESTAMP WITH TIME ZONE",
}
