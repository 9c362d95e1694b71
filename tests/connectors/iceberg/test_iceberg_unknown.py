"""Rows of which a column has no value, in a table of Iceberg that knows its type."""

from pathlib import Path

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.testing import commit, stage
from seatunnel_core.connector_api.testing.drive import place
from seatunnel_core.connectors.iceberg.columns import iceberg_schema
from seatunnel_core.errors import RowError
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.rows.inference.shape import Shape
from tests.connectors.iceberg.iceberg_tables import orders_sink, shop_in


def test_columns_without_a_value_take_the_types_of_the_table(tmp_path: Path) -> None:
    """A night with nothing but null in a column was refused, because such a column was a text."""
    catalog = shop_in(tmp_path)
    kinds = {"id": pa.int64(), "v": pa.int32(), "tags": pa.list_(pa.int64()), "at": pa.struct([("a", pa.date32())])}
    columns = TableSchema(table="orders", columns=pa.schema(list(kinds.items())))
    catalog.create_table("shop.orders", iceberg_schema(columns))
    shape = Shape()
    shape.see([{"id": 1, "v": None, "tags": [], "at": {}, "new": None}])
    found = pa.RecordBatch.from_pylist([{"id": 1, "tags": [], "at": "{}"}], schema=shape.columns())
    schema, sink = TableSchema(table="orders", columns=found.schema), orders_sink(tmp_path)
    commit(sink, [stage(sink, schema, [found], place())], place())
    there = catalog.load_table("shop.orders").scan().to_arrow().to_pylist()
    assert there == [{"id": 1, "v": None, "tags": [], "at": {"a": None}}]
    late = found.set_column(4, found.schema.field("new"), pa.array(["x"]))
    with pytest.raises(RowError, match=r"column 'new', row 1 of a batch: the column has a value"):
        stage(sink, schema, [late], place(unit=2))
