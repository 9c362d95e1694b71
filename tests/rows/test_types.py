"""Names of types, schema blocks, and plain values."""

import datetime as dt
import decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_core.rows.schema_block import table_schema
from seatunnel_core.rows.types import SIMPLE, arrow_type, type_name
from seatunnel_core.rows.values import plain

NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True)
SIMPLE_TYPES = st.one_of(
    st.sampled_from(list(SIMPLE.values())),
    st.tuples(st.integers(1, 38), st.integers(0, 10)).map(lambda pair: pa.decimal128(max(pair), min(pair))),
)
TYPES = st.recursive(
    SIMPLE_TYPES,
    lambda inner: st.one_of(
        inner.map(pa.list_),
        st.tuples(SIMPLE_TYPES.filter(lambda key: key != pa.null()), inner).map(lambda pair: pa.map_(*pair)),
        st.dictionaries(NAMES, inner, min_size=1, max_size=3).map(lambda parts: pa.struct(list(parts.items()))),
    ),
    max_leaves=5,
)


@given(TYPES)
def test_every_type_is_read_back_from_its_name(kind: pa.DataType) -> None:
    assert arrow_type(type_name(kind)).equals(kind)
    assert arrow_type(type_name(kind).replace(" ", "").upper().lower()).equals(kind)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("DECIMAL(10,2)", "decimal(10, 2)"),
        ("map<string, {c_int = int, c_string = string}>", "map<string, {c_int = int, c_string = string}>"),
        ('{"a":"int"}', "{a = int}"),
        ("row<a int, b string>", "{a = int, b = string}"),
        ({"a": "int", "b": {"c": "array<int>"}}, "{a = int, b = {c = array<int>}}"),
        ('array<{a=int,b="decimal(3, 1)"}>', "array<{a = int, b = decimal(3, 1)}>"),
    ],
)
def test_the_ways_in_which_types_are_written(written: Any, name: str) -> None:
    assert type_name(arrow_type(written)) == name


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("integer", "did you mean int"),
        ("aray<int>", "did you mean array"),
        ("decimal", "write it as decimal"),
        ("decimal(3, 5)", "no larger than the first"),
        ("map<int>", "write it as map<string, int>"),
        ("int int", "does not belong"),
        ("", "found the end"),
        ("{a = int, a = int}", "more than once"),
        ({}, "no field"),
        (3, "expected the name of a type"),
    ],
)
def test_a_wrong_type_says_what_to_write(written: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        arrow_type(written)


def test_columns_with_a_primary_key() -> None:
    found = table_schema(
        {
            "table": "shop.orders",
            "columns": [{"name": "id", "type": "bigint", "nullable": "false"}, {"name": "at", "type": "timestamp"}],
            "primaryKey": {"name": "pk", "columnNames": ["id"]},
        }
    )
    assert found is not None
    assert (found.table, found.primary_key) == ("shop.orders", ("id",))
    assert found.columns == pa.schema([pa.field("id", pa.int64(), nullable=False), ("at", pa.timestamp("us"))])


@pytest.mark.parametrize("block", [None, {}, {"fields": {}}, {"table": "t"}])
def test_a_schema_may_be_empty(block: Any) -> None:
    assert table_schema(block) is None


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"fields": {"id": "itn"}}, "column 'id': .*did you mean int"),
        ({"fields": {"id": "int"}, "columns": [{"name": "id", "type": "int"}]}, "not both"),
        ({"fields": ["id"]}, "is a block"),
        ({"columns": {"id": "int"}}, "is a list"),
        ({"columns": [{"name": "id"}]}, "column 1 .* needs a name and a type"),
        ({"columns": [{"name": "id", "type": "int", "nulable": True}]}, "nulable"),
        ({"columns": [{"name": "id", "type": "int", "defaultValue": 0}]}, "defaultValue is not supported"),
        ({"columns": [{"name": "id", "type": "int"}] * 2}, "more than once"),
        ({"fields": {"id": "int"}, "primaryKey": {"columnNames": ["di"]}}, "primary key names"),
        ({"fields": {"id": "int"}, "primaryKey": "id"}, "primaryKey is a block"),
    ],
)
def test_a_wrong_schema_says_where(block: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        table_schema(block)


@pytest.mark.parametrize(
    ("value", "name", "wanted"),
    [
        ("12", "int", 12),
        (12.0, "tinyint", 12),
        ("TRUE", "boolean", True),
        (5, "string", "5"),
        ("2924137191386439303744.39292216", "decimal(30, 8)", decimal.Decimal("2924137191386439303744.39292216")),
        ("bWlJWmo=", "bytes", b"miIZj"),
        ("2023-04-22T23:20:58", "timestamp", dt.datetime(2023, 4, 22, 23, 20, 58)),
        ("2023-04-22T23:20:58+02:00", "timestamp_tz", dt.datetime(2023, 4, 22, 21, 20, 58, tzinfo=dt.UTC)),
        ("{ 12:01:26 = v0 }", "map<time, string>", [(dt.time(12, 1, 26), "v0")]),
        ([123, "BBB-BB"], "{a = int, b = string}", {"a": 123, "b": "BBB-BB"}),
        ({"b": "x"}, "{a = int, b = string}", {"a": None, "b": "x"}),
        ("[1, 2]", "array<int>", [1, 2]),
        (None, "int", None),
    ],
)
def test_plain_values(value: Any, name: str, wanted: Any) -> None:
    assert plain(value, arrow_type(name)) == wanted


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (300, "tinyint"),
        (1.5, "int"),
        (True, "int"),
        (True, "double"),
        ("yes", "boolean"),
        ("1.23", "decimal(3, 1)"),
        ("1000", "decimal(3, 1)"),
        ("?", "bytes"),
        ("2023-04-22T23:20:58Z", "timestamp"),
        ("2023-04-22T23:20:58", "timestamp_tz"),
        ("x", "array<int>"),
        ([1, 2], "{a = int}"),
        (["x"], "array<int>"),
        (0, "null"),
    ],
)
def test_a_value_that_is_not_of_its_type(value: Any, name: str) -> None:
    with pytest.raises(ValueError, match="is not of type"):
        plain(value, arrow_type(name))
