"""Two rows of people, one of them with what steers a terminal."""

import pyarrow as pa

from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.rows.types import arrow_type

SCHEMA = TableSchema(
    table="people",
    columns=pa.schema(
        [
            ("name", pa.string()),
            ("age", pa.int32()),
            ("tags", arrow_type("map<string, int>")),
            ("pay", pa.decimal128(10, 2)),
        ]
    ),
    primary_key=("name",),
)
ROWS = pa.RecordBatch.from_pylist(
    [
        {"name": "Ada", "age": 36, "tags": [("a", 1), ("b", 2)], "pay": None},
        {"name": "Bob\x1b[2J", "age": None, "tags": None, "pay": None},
    ],
    SCHEMA.columns,
)
