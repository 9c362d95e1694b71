"""Rows of Python as Arrow: types of values decide, nothing is converted, and what does not fit is named."""

import datetime as dt
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some

from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.memory.held import hold_rows
from seatunnel_core.connectors.memory.source import MemorySource
from seatunnel_core.errors import RowError
from seatunnel_core.rows.python_rows import AT_ONCE, PythonRows
from seatunnel_core.rows.schema_block import table_schema, written_in_python

ZURICH = ZoneInfo("Europe/Zurich")


def made(rows: Any, schema: Any = None) -> pa.Table:
    declared = table_schema(written_in_python(schema)) if schema is not None else None
    found = PythonRows(declared.columns if declared else None)
    return pa.Table.from_batches(list(found.batches(rows)), found.columns)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, pa.bool_()),
        (2**63 - 1, pa.int64()),
        (1.5, pa.float64()),
        ("é", pa.string()),
        (b"\xff", pa.binary()),
        (dt.date(2024, 2, 29), pa.date32()),
        (dt.datetime(2024, 2, 29, 5), pa.timestamp("us")),
        (dt.datetime(2024, 2, 29, 5, tzinfo=ZURICH), pa.timestamp("us", "UTC")),
        (dt.time(1, 2, 3, 4), pa.time64("us")),
        (Decimal("-12.345"), pa.decimal128(5, 3)),
        (Decimal("1E+3"), pa.decimal128(4, 0)),
        (Decimal("0.001"), pa.decimal128(3, 3)),
        ({"a": 1, "b": {"c": "x"}}, pa.struct([("a", pa.int64()), ("b", pa.struct([("c", pa.string())]))])),
        ([[1], []], pa.list_(pa.list_(pa.int64()))),
        (None, pa.null()),
    ],
)
def test_the_type_of_a_column_is_that_of_its_values(value: Any, kind: pa.DataType) -> None:
    table = made([{"x": value}, {}, {"x": None}])
    assert table.schema == pa.schema([("x", kind)])
    assert table.column("x").to_pylist() == [value, None, None]


def test_what_is_in_few_rows_only_is_in_the_type() -> None:
    rows = [{"s": {"a": 1}, "d": Decimal("100")}, {"s": {"b": "x"}, "d": Decimal("0.25")}, {"l": [{"k": 1}, {"m": 2}]}]
    table = made(rows)
    assert table.schema.field("d").type == pa.decimal128(5, 2)
    assert table.column("s").to_pylist() == [{"a": 1, "b": None}, {"a": None, "b": "x"}, None]
    assert table.column("l").to_pylist()[2] == [{"k": 1, "m": None}, {"k": None, "m": 2}]
    backwards = made(rows[::-1])
    assert {each.name: each.type for each in backwards.schema}["d"] == pa.decimal128(5, 2)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2.5, -(2**53)], pa.float64()),
        ([1, 2**53 + 1, 2**63 - 1], pa.int64()),
        ([[1], [2.5], None], pa.list_(pa.float64())),
        ([{"b": 1}, {"a": 1, "b": 2.5}], pa.struct([("a", pa.int64()), ("b", pa.float64())])),
    ],
)
def test_kinds_that_a_type_holds_are_in_one_column(values: list[Any], kind: pa.DataType) -> None:
    for ordered in (values, values[::-1]):
        assert made([{"x": value} for value in ordered]).schema.field("x").type == kind
        kept = hold_rows([{"x": value} for value in ordered], None)
        assert MemorySource(options_of(MemorySource, {"data": kept})).planned_schemas()[0].columns.field(0).type == kind


def test_columns_stand_where_their_key_stands_in_any_row() -> None:
    rows = [{"id": 1, "name": "x", "zip": 1}, {"id": 2, "email": "e", "name": "y"}, {"name": "z"}]
    assert made(rows).schema.names == made(rows[::-1]).schema.names == ["id", "name", "email", "zip"]


VALUES = some.recursive(
    some.sampled_from([None, 1, 2**53, 2.5, -0.5]),
    lambda inner: some.dictionaries(some.sampled_from("abc"), inner, min_size=1, max_size=3),
    max_leaves=4,
)


@pytest.mark.fuzz
@given(
    rows=some.lists(
        some.fixed_dictionaries({}, optional={"n": VALUES, "l": some.lists(VALUES, max_size=2)}), min_size=1
    ),
    seed=some.randoms(use_true_random=False),
    at_once=some.integers(1, 4),
)
def test_any_order_and_any_batches_give_the_same_columns_and_rows(rows: Any, seed: Any, at_once: int) -> None:
    """Or the same refusal, whose row alone is another."""

    def found(some_rows: Any) -> Any:
        try:
            kept = hold_rows(some_rows, None)
        except RowError as error:
            return str(error)
        table = pa.ipc.open_stream(kept.stream).read_all()
        return table.schema, sorted(map(repr, table.to_pylist()))

    whole = found(rows)
    shuffled = seed.sample(rows, len(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("seatunnel_core.rows.python_rows.AT_ONCE", at_once)
        again = found(shuffled)
    assert again == whole if isinstance(whole, tuple) else isinstance(again, str)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [{"a": 2**53 + 1}, {"a": 2.5}],
            r"row 2, key 'a': found a float, but row 1 contains an int that no float .*, or declare the column",
        ),
        ([{"a": 1}, {"a": 2.5}, {"a": "x"}, {"a": b"y"}], "row 3, key 'a': found a str, but row 1 contains an int"),
        ([{"a": None}, {"a": "x"}, {"a": 1}], "row 3, key 'a': found an int, but row 2 contains a str"),
        ([{"a": True}, {"a": 1}], "row 2, key 'a': found an int, but row 1 contains a bool"),
        (
            [{"a": dt.date(2024, 1, 1)}, {"a": dt.datetime(2024, 1, 1)}],
            "row 2, key 'a': found a datetime without a zone, but",
        ),
        (
            [{"a": dt.datetime(2024, 1, 1)}, {"a": dt.datetime(2024, 1, 1, tzinfo=ZURICH)}],
            "row 2, key 'a': found a datetime with a zone, but row 1 contains a datetime without a zone",
        ),
        ([{"a": {"b": 1}}, {"a": {"b": "x"}}], r"row 2, key 'a\.b': found a str, but row 1 contains an int"),
        ([{"a": [1]}, {"a": [2, "x"]}], r"row 2, key 'a\[\]': found a str, but row 1 contains an int"),
        ([{"a": 1}, {"a": [1]}], "row 2, key 'a': found a list, but row 1 contains an int"),
        ([{"a": 2**63}], "row 1, key 'a': an int of more than 64 bits has no column type; make it a Decimal or a str"),
        ([{"a": Decimal("NaN")}], "row 1, key 'a': a Decimal that is not a number"),
        ([{"a": Decimal("1E-90")}], "row 1, key 'a': .* more than 76 digits"),
        ([{"a": dt.time(1, tzinfo=ZURICH)}], "row 1, key 'a': a time with a zone"),
        ([{"a": {}}], "row 1, key 'a': a mapping has no column type; it has no keys in any row"),
        ([{"a": {1, 2}}], "row 1, key 'a': a set is not a valid column value; make it a bool"),
        ([{"a": "\ud800"}], "row 1, key 'a': the value does not fit string"),
        ([{"a": 1}, ["x"]], "row 2 is a list; expected a mapping from column to value"),
        ([{"a": 1}, {2: 1}], "row 2: the key 2 is an int; keys must be strings"),
        ([{"a": 1}, {"a": {2: 1}}], "row 2: the key 2 of 'a' is an int"),
        ([], "there are no rows, so the columns are unknown: declare them"),
        ([{}, {}], "the rows have no keys, so the columns are unknown"),
    ],
)
def test_rows_that_have_no_common_type_are_refused_with_row_and_key(rows: Any, said: str) -> None:
    with pytest.raises(RowError, match=said):
        made(rows)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1.5, "bigint"),
        (1.0, "bigint"),
        (True, "int"),
        (1, "boolean"),
        (5, "string"),
        ("5", "bigint"),
        ("x", "bytes"),
        (b"x", "string"),
        (dt.datetime(2024, 1, 1, 5), "date"),
        (dt.datetime(2024, 1, 1, 5), "timestamp_tz"),
        (dt.datetime(2024, 1, 1, 5, tzinfo=ZURICH), "timestamp"),
        (5, "date"),
        (1.5, "decimal(5, 2)"),
        ({"a": 1, "b": 2}, "{a = bigint}"),
        ({"a": 1.5}, "{a = bigint}"),
        ({"a": 1.5}, "map<string, bigint>"),
        ([1.5], "array<bigint>"),
        ((1, 2), "{a = bigint}"),
        (300, "tinyint"),
        (2**53 + 1, "double"),
        (Decimal("1.234"), "decimal(5, 2)"),
    ],
)
def test_a_declared_type_changes_no_value(value: Any, kind: str) -> None:
    """Arrow takes most of these, and cuts or moves the value."""
    with pytest.raises(RowError, match=r"(row 2, key 'x|key 'x\.b' is not declared)"):
        made([{"x": None}, {"x": value}], {"x": kind})


@pytest.mark.parametrize(
    ("value", "kind"),
    [(5, "double"), (5, "tinyint"), (7, "decimal(5, 2)"), (2**70, "decimal(38, 0)"), ({"k": 1}, "map<string, int>")],
)
def test_a_declared_type_takes_what_it_holds(value: Any, kind: str) -> None:
    (found,) = made([{"x": value}], {"x": kind}).column("x").to_pylist()
    assert (dict(found) if isinstance(found, list) else found) == value


def test_undeclared_keys_and_nulls_are_refused() -> None:
    with pytest.raises(RowError, match=r"row 2: the key 'b' is not a column: add it to the schema, or remove it"):
        made([{"a": 1}, {"a": 1, "b": 2}], {"a": "int"})
    with pytest.raises(RowError, match="row 2, key 'a': the value is None, but the column is not nullable"):
        made([{"a": 1}, {}], pa.schema([pa.field("a", pa.int64(), nullable=False)]))
    assert made([], {"a": "int"}).num_rows == 0


@pytest.mark.parametrize("schema", [{}, {"a": int}, {"fields": {}}, {"primaryKey": {"name": "p"}}])
def test_what_is_no_schema_is_refused(schema: Any) -> None:
    with pytest.raises(ValueError, match="a schema maps columns to names of types"):
        written_in_python(schema)


def test_schemas_of_python_become_blocks() -> None:
    block = {"fields": {"a": "int"}, "primaryKey": {"name": "p", "columnNames": ["a"]}}
    assert written_in_python(block) is block
    arrow = pa.schema([pa.field("a", pa.large_string(), nullable=False), ("b", pa.list_(pa.decimal128(5, 2)))])
    declared = table_schema(written_in_python(arrow))
    assert declared is not None
    assert declared.columns == pa.schema(
        [pa.field("a", pa.string(), nullable=False), ("b", pa.list_(pa.decimal128(5, 2)))]
    )


def test_row_numbers_go_on_over_batches() -> None:
    rows = ({"a": 1 if number < AT_ONCE + 7 else "x"} for number in range(1, AT_ONCE + 10))
    with pytest.raises(RowError, match=f"row {AT_ONCE + 7:}, key 'a': found a str, but row 1 contains an int"):
        made(rows)


VALUES = some.one_of(
    some.none(), some.booleans(), some.integers(-(2**63), 2**63 - 1), some.floats(allow_nan=False), some.text("aé")
)


@settings(max_examples=30)
@example(rows=[{"a": None, "b": 0}, {"b": 0.0}])
@given(some.lists(some.dictionaries(some.sampled_from("abc"), VALUES | some.lists(VALUES, max_size=2)), max_size=6))
def test_rows_come_back_as_they_were_or_are_refused(rows: list[dict[str, Any]]) -> None:
    try:
        table = made(rows)
    except RowError:
        return
    keys = {key for row in rows for key in row}
    found = table.to_pylist()
    assert [{key: row.get(key) for key in keys} for row in rows] == found
    for key in keys:  # an int beside a float becomes a float of the same value
        given = [type(row.get(key)) for row in rows]
        assert [type(row[key]) for row in found] in (given, [float if each is int else each for each in given])


def test_values_of_libraries_are_those_of_python() -> None:
    """A UUID and scalars of NumPy were refused, and so was a whole number beside a Decimal."""
    uuid = UUID(int=5)
    moment = np.datetime64("2024-02-29T10:00:00", "ns")
    rows: list[dict[str, Any]] = [
        {"u": uuid, "i": np.int64(7), "f": np.float32(0.5), "b": np.bool_(True), "s": np.str_("x"), "t": moment},
        {"u": None, "i": 8, "f": None, "b": False, "s": "y", "t": np.datetime64("NaT")},
    ]
    rows[0] |= {
        "d": Decimal("1.25"),
        "l": np.array([1, 2]),
        "m": {"u": uuid, "n": [np.int8(1)]},
        "day": moment.astype("M8[D]"),
    }
    rows[1] |= {"d": 2**70, "l": [3], "m": {"u": None, "n": []}, "day": None}
    made = PythonRows(None)
    list(made.batches(rows))
    (batch,) = PythonRows(made.columns).batches(rows)
    assert batch.to_pylist() == [
        {
            "u": str(uuid),
            "i": 7,
            "f": 0.5,
            "b": True,
            "s": "x",
            "t": dt.datetime(2024, 2, 29, 10),
            "d": Decimal("1.25"),
            "l": [1, 2],
            "m": {"u": str(uuid), "n": [1]},
            "day": dt.date(2024, 2, 29),
        },
        {**rows[1], "t": None, "d": Decimal(2**70)},
    ]
    assert made.columns.field("d").type == pa.decimal128(24, 2)
    with pytest.raises(RowError, match="row 1, key 'x': a datetime64 is not a valid column value"):
        list(PythonRows(None).batches([{"x": np.datetime64("2024-02-29T10:00:00.000000001", "ns")}]))
    with pytest.raises(RowError, match="row 3, key 'x': found a str, but row 1 contains"):
        list(PythonRows(None).batches([{"x": Decimal(1)}, {"x": 2}, {"x": "3"}]))


@pytest.mark.parametrize("missing", [pd.NaT, pd.NA, np.ma.masked, np.array(None), np.datetime64("NaT")])
def test_missing_values_of_libraries_are_null(missing: Any) -> None:
    """Rows of ``DataFrame.to_dict("records")`` were refused: NaT was a datetime with nanoseconds."""
    assert made([{"a": missing, "n": [missing]}, {"a": dt.datetime(2024, 2, 29), "n": [1]}]).to_pylist() == [
        {"a": None, "n": [None]},
        {"a": dt.datetime(2024, 2, 29), "n": [1]},
    ]


def test_arrays_without_a_dimension_and_masked_ones() -> None:
    rows = [{"a": np.array(5), "b": np.ma.array([1, 2], mask=[False, True])}]
    assert made(rows).to_pylist() == [{"a": 5, "b": [1, None]}]
