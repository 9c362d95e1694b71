"""Flat tables of nested rows join to the rows again, and names that two columns would have are refused."""

import os
from collections import defaultdict
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.inference.contract import SchemaContract
from seatunnel_core.rows.inference.fitting import Fitting
from seatunnel_core.rows.inference.looking import infer_shape
from seatunnel_core.rows.native_json import parsed
from seatunnel_core.rows.nesting import LIST_INDEX, PARENT_ID, ROW_ID, VALUE, Nesting, row_id, safe
from tests.rows.inference.json_rows import ROWS

FLAT = Nesting(kind="tables")


def nested(lines: list[bytes], slices: int = 100) -> tuple[pa.Schema, list[pa.RecordBatch]]:
    """The rows of some lines with their ids, in batches that are slices of an array."""
    inferred = infer_shape(lines).columns()
    fitting = Fitting(inferred, SchemaContract(), "rows")
    columns = FLAT.identified(inferred)
    rows = [{ROW_ID: row_id("a", place), **fitting.row(parsed(line), pytest.fail)} for place, line in enumerate(lines)]
    whole = pa.RecordBatch.from_pylist(rows, columns)
    return columns, [whole.slice(place, slices) for place in range(0, len(rows), slices)]


def joined(columns: pa.Schema, tables: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The nested rows of flat tables."""
    by_parent: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for table, rows in tables.items():
        for row in sorted(rows, key=lambda row: row.get(LIST_INDEX, 0)):
            by_parent[table, row.get(PARENT_ID, "")].append(row)

    def value(kind: pa.DataType, table: str, name: str, row: dict[str, Any]) -> Any:
        if pa.types.is_struct(kind):
            return {part.name: value(part.type, table, f"{name}__{part.name}", row) for part in kind}
        if not pa.types.is_list(kind):
            return row[name]
        below, element = f"{table}__{name}", kind.value_type
        if pa.types.is_struct(element):
            return [
                {part.name: value(part.type, below, part.name, child) for part in element}
                for child in by_parent[below, row[ROW_ID]]
            ]
        return [value(element, below, VALUE, child) for child in by_parent[below, row[ROW_ID]]]

    return [{c.name: value(c.type, "t", c.name, row) for c in columns} for row in by_parent["t", ""]]


def plain(found: Any, kind: pa.DataType) -> Any:
    """A value without what flat tables do not tell: null from an object of nulls, and null from no elements."""
    if pa.types.is_struct(kind):
        return {part.name: plain((found or {}).get(part.name), part.type) for part in kind}
    if pa.types.is_list(kind):
        return [plain(each, kind.value_type) for each in found or []]
    return found


@pytest.mark.fuzz
@settings(max_examples=int(os.environ.get("SEATUNNEL_EXAMPLES", "20")))
@given(lines=ROWS, slices=st.integers(1, 3))
def test_flat_tables_join_to_the_nested_rows(lines: list[bytes], slices: int) -> None:
    columns, batches = nested(lines, slices)
    schemas = {each.table: each.columns for each in FLAT.schemas(TableSchema(table="t", columns=columns))}
    tables: dict[str, list[dict[str, Any]]] = {table: [] for table in schemas}
    for batch in batches:
        for flat in FLAT.batches(Batch(table="t", rows=batch)):
            assert flat.rows.schema.equals(schemas[flat.table])
            assert not any(pa.types.is_nested(column.type) for column in flat.rows.schema)
            tables[flat.table] += flat.rows.to_pylist()
    ids = [row[ROW_ID] for rows in tables.values() for row in rows if ROW_ID in row]
    assert len(set(ids)) == len(ids)
    expected = [row for batch in batches for row in batch.to_pylist()]
    wanted = [{column.name: plain(row[column.name], column.type) for column in columns} for row in expected]
    assert list(map(repr, joined(columns, tables))) == list(map(repr, wanted))  # as texts: NaN is not equal to itself


def test_objects_become_columns_and_lists_stay_where_that_is_asked_for() -> None:
    schema = TableSchema(
        table="t",
        columns=pa.schema([("a", pa.struct([("b", pa.struct([("c", pa.int64())]))])), ("l", pa.list_(pa.int64()))]),
        primary_key=("l",),
    )
    (found,) = Nesting(kind="columns").schemas(schema)
    assert (found.columns.names, found.columns.types) == (["a__b__c", "l"], [pa.int64(), pa.list_(pa.int64())])
    assert Nesting().schemas(schema) == (schema,)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("id", "id"),
        ("unitPrice", "unit_price"),
        ("HTTPStatus", "httpstatus"),
        ("Unit Price (EUR)", "unit_price_eur"),
        ("2nd", "_2nd"),
        ("Größe", "gr_e"),
        ("名", "_"),
        ("", "_"),
        ("_row_id", "_row_id"),
        ("a__b", "a__b"),
        ("a.b-c", "a_b_c"),
        ("x_", "x_"),
    ],
)
def test_safe_names(written: str, expected: str) -> None:
    assert safe(written) == expected
    assert safe(expected) == expected


@pytest.mark.parametrize(
    ("line", "nesting", "message"),
    [
        (b'{"a b":1,"a-b":2}', Nesting(safe_names=True), "two columns of the table t would be named 'a_b'"),
        (b'{"a":{"b":1},"a__b":2}', FLAT, "two columns of the table t would be named 'a__b'"),
        (b'{"a":[{"_parent_id":1}]}', FLAT, "two columns of the table t__a would be named '_parent_id'"),
        (b'{"a":{"b":[1]},"a__b":[2]}', FLAT, "two tables would be named 't__a__b'"),
    ],
)
def test_names_that_collide_are_refused(line: bytes, nesting: Nesting, message: str) -> None:
    columns = nesting.identified(infer_shape([line]).columns())
    with pytest.raises(ValueError, match=message):
        nesting.schemas(TableSchema(table="t", columns=columns))


def test_a_field_with_the_name_of_the_id_is_refused() -> None:
    with pytest.raises(ValueError, match="a field is named _row_id"):
        FLAT.identified(infer_shape([b'{"_row_id":1,"a":[1]}']).columns())
    assert FLAT.identified(infer_shape([b'{"_row_id":1}']).columns()).names == ["_row_id"]
