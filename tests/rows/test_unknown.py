"""Columns without a value take the types of a table, and change none of them."""

from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.rows.inference.shape import Shape
from seatunnel_core.rows.unknown import filled, first_value, has_no_value, is_unknown, resolved, unmarked


def inferred(*rows: dict[str, Any]) -> pa.RecordBatch:
    shape = Shape()
    shape.see(list(rows))
    texts = [{name: "{}" if value == {} else value for name, value in row.items()} for row in rows]
    return pa.RecordBatch.from_pylist(texts, schema=shape.columns())


def as_in(rows: pa.RecordBatch, **table: pa.DataType | None) -> dict[str, list[Any]]:
    found = resolved(rows.schema, table)
    return {column.name: filled(rows.column(column.name), column.type).to_pylist() for column in found.columns}


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (None, pa.int64(), None),
        (None, pa.date32(), None),
        (None, pa.timestamp("us", "UTC"), None),
        (None, pa.list_(pa.struct([("a", pa.int8())])), None),
        ([], pa.list_(pa.int64()), []),
        ([], pa.list_(pa.struct([("a", pa.list_(pa.date32()))])), []),
        ([None], pa.list_(pa.int64()), [None]),
        ({}, pa.struct([("a", pa.int64())]), {"a": None}),
        ({}, pa.string(), "{}"),
        ({"a": None}, pa.struct([("a", pa.int64()), ("b", pa.date32())]), {"a": None, "b": None}),
        ({"a": None, "c": None}, pa.struct([("a", pa.int64())]), {"a": None}),
        ([{"a": []}, {"a": None}], pa.list_(pa.struct([("a", pa.list_(pa.int8()))])), [{"a": []}, {"a": None}]),
    ],
)
def test_a_column_without_a_value_is_of_any_type(value: Any, kind: pa.DataType, expected: Any) -> None:
    """Null fits every type, an empty list every list, and an empty object every object."""
    rows = inferred({"id": 1, "v": value}, {"id": 2})
    assert has_no_value(rows.schema.field("v"))
    assert as_in(rows, id=pa.int64(), v=kind) == {"id": [1, 2], "v": [expected, None]}
    assert as_in(rows.slice(1), id=pa.int64(), v=kind) == {"id": [2], "v": [None]}


@pytest.mark.parametrize("value", [None, [], {}, [None], [[]], {"a": None}, {"a": []}])
def test_a_column_without_a_value_is_no_new_column(value: Any) -> None:
    rows = inferred({"id": 1, "v": value})
    found = resolved(rows.schema, {"id": pa.int64()})
    assert (found.columns.names, found.without_values) == (["id"], ("v",))
    assert first_value(rows.column("v")) is None
    new = resolved(rows.schema, None, grows=True)
    assert (new.columns.names, new.without_values) == (["id"], ("v",))
    assert resolved(rows.schema, None, grows=True, keys=["v"]).columns.names == ["id", "v"]
    kept = resolved(rows.schema, None)
    assert (kept.columns.names, kept.without_values) == (["id", "v"], ())
    assert not is_unknown(kept.columns.field("v")) or pa.types.is_string(kept.columns.field("v").type)


def test_a_value_that_was_not_seen_is_refused() -> None:
    rows = inferred({"v": None})
    late = pa.array([None, "{}", "5"])
    assert first_value(late) == 2
    with pytest.raises(pa.ArrowInvalid, match="5 is no int64"):
        filled(late, pa.int64())
    assert resolved(rows.schema, {"v": None}).without_values == ("v",), "a type that Arrow lacks takes no value"
    assert filled(late, pa.string()).to_pylist() == [None, "{}", "5"]


def test_known_fields_of_an_object_keep_their_types_and_stand_behind_those_of_the_table() -> None:
    rows = inferred({"at": {"new": 1, "lat": None}})
    held = pa.struct([("lon", pa.float64()), ("lat", pa.float64())])
    assert as_in(rows, at=held) == {"at": [{"lon": None, "lat": None, "new": 1}]}


def test_files_do_not_have_the_mark() -> None:
    rows = inferred({"a": None, "b": [], "c": {"d": None}})
    assert b"unknown" not in unmarked(rows.schema).serialize().to_pybytes()
    assert b"unknown" in rows.schema.serialize().to_pybytes()
