"""Texts that Arrow keeps as views, as Polars writes them: most of Arrow's functions take none."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seatunnel_core.connector_api.testing import options_of, plan, read
from seatunnel_core.connectors.file.source import LocalFileSource
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.transforms.python import PythonFunction
from seatunnel_core.transforms.replace import Replace

VIEWS = pa.table(
    {
        "name": pa.array(["a b", None], pa.string_view()),
        "raw": pa.array([b"x", b""], pa.binary_view()),
        "names": pa.array([["a"], None], pa.list_(pa.string_view())),
        "pairs": pa.array([[("k", "v")], []], pa.map_(pa.string_view(), pa.string_view())),
        "row": pa.array([{"s": "x"}, None], pa.struct([pa.field("s", pa.string_view())])),
    }
)
TEXTS = ["string", "binary", "list<element: string>", "map<string, string>", "struct<s: string>"]
ROWS: list[dict[str, Any]] = VIEWS.to_pylist()


def viewed(rows: pa.RecordBatch) -> pa.Table:
    return VIEWS


def replaced(schema: TableSchema, rows: pa.RecordBatch) -> list[Any]:
    replace = Replace(options_of(Replace, {"replace_field": "name", "pattern": " ", "replacement": "_"}))
    assert replace.output_schema(schema) == schema
    (after,) = replace.apply(Batch(table=schema.table, rows=rows))
    return after.rows.column("name").to_pylist()


def test_a_parquet_file_with_views_is_one_with_texts(tmp_path: Path) -> None:
    pq.write_table(VIEWS, tmp_path / "a")
    options = {"path": str(tmp_path), "file_format_type": "parquet"}
    source = LocalFileSource(options_of(LocalFileSource, options))
    found = plan(source)
    assert [str(column.type) for column in found.schemas[0].columns] == TEXTS
    rows = read(source, found)
    assert rows == ROWS
    assert replaced(found.schemas[0], pa.RecordBatch.from_pylist(rows, found.schemas[0].columns)) == ["a_b", None]


def test_a_function_that_returns_views_gives_texts() -> None:
    python = PythonFunction(options_of(PythonFunction, {"function": viewed}))
    schema = python.output_schema(TableSchema(table="t", columns=pa.schema([("n", pa.int8())])))
    assert [str(column.type).replace("item", "element") for column in schema.columns] == TEXTS
    (after,) = python.apply(Batch(table="t", rows=pa.RecordBatch.from_pylist([{"n": 1}])))
    assert after.rows.schema == schema.columns
    assert after.rows.to_pylist() == ROWS
    assert replaced(schema, after.rows) == ["a_b", None]
