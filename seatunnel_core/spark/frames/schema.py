"""Conversion of schemas between Arrow and Spark."""

import inspect
from typing import TYPE_CHECKING

import pyarrow as pa

from seatunnel_core.errors import TransformError
from seatunnel_core.rows.batch import TableSchema

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def spark_schema(schema: TableSchema) -> "StructType":
    """Return the Spark types of a table's columns. Raise TransformError if Spark lacks a type."""
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructField, StructType

    fields = []
    for column in schema.columns:
        try:
            if pa.types.is_decimal256(column.type):
                raise TypeError("Spark's decimals have at most 38 digits")
            fields.append(StructField(column.name, from_arrow_type(column.type, True)))
        except Exception as error:
            raise TransformError(
                f"column {column.name!r} of table {schema.table!r} has the type {column.type}, which Spark does "
                "not support; remove or convert it before this transform"
            ) from error
    return StructType(fields)


def arrow_columns(schema: "StructType") -> pa.Schema:
    """Return the Arrow columns of a Spark schema. All columns are nullable, and timestamps are in UTC."""
    from pyspark.sql.pandas.types import to_arrow_type

    # Spark 4.0 and 4.1 use UTC by default; later versions need the time zone.
    zone = {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_type).parameters else {}
    fields = []
    for column in schema:
        try:
            fields.append(pa.field(column.name, to_arrow_type(column.dataType, **zone)))
        except Exception as error:
            kind = column.dataType.simpleString()
            raise TransformError(f"column {column.name!r} has Spark type {kind}, which no sink can write") from error
    return pa.schema(fields)
