"""``Split``: one column at a separator into several."""

import datetime as dt
import decimal
import re
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_core.errors import RowError, TransformError, UsageError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.transforms.split import Split
from tests.transforms.tables import PEOPLE, changed, made


def parts(value: str | None, separator: str, names: list[str]) -> tuple[str | None, ...]:
    split = made(Split, split_field="name", separator=separator, output_fields=names)
    ((_, row),) = changed(split, [(1, value, 7)], kinds=None)
    assert row[:3] == (1, value, 7)
    return row[3:]


@pytest.mark.parametrize(
    ("value", "separator", "names", "expected"),
    [
        ("Joy Ding", " ", ["first", "last"], ("Joy", "Ding")),
        ("Joy de Ding", " ", ["first", "last"], ("Joy", "de Ding")),
        ("Joy", " ", ["first", "last"], ("Joy", None)),
        ("", " ", ["first", "last"], ("", None)),
        (None, " ", ["first", "last"], (None, None)),
        (" a ", " ", ["x", "y", "z"], ("", "a", "")),
        ("a|b", r"\|", ["x", "y"], ("a", "b")),
        ("a1b22c", "[0-9]+", ["x", "y", "z"], ("a", "b", "c")),
        ("a b", " ", ["x"], ("a b",)),
    ],
)
def test_values(value: str | None, separator: str, names: list[str], expected: tuple[str | None, ...]) -> None:
    assert parts(value, separator, names) == expected


def test_parts_follow_the_columns_or_take_their_place() -> None:
    split = made(Split, split_field="name", separator=" ", output_fields=["last", "name"])
    assert split.output_schema(PEOPLE).columns.names == ["id", "name", "age", "last"]
    assert changed(split)[1:3] == [
        ("UPDATE_BEFORE", (1, "Ding", 20, "Joy")),
        ("UPDATE_AFTER", (1, "Dom", 21, "Joy")),
    ]


@given(st.lists(st.none() | st.text("ab,é😀", max_size=8), min_size=1, max_size=9), st.integers(2, 4))
def test_parts_are_those_of_python(values: list[str | None], count: int) -> None:
    split = made(Split, split_field="name", separator=",", output_fields=[f"p{at}" for at in range(count)])
    rows = changed(split, [(1, value, None) for value in values], kinds=None)
    for value, (_, row) in zip(values, rows, strict=True):
        found = [] if value is None else re.split(",", value, maxsplit=count - 1)
        assert list(row[3:]) == found + [None] * (count - len(found))


@pytest.mark.parametrize("separator", ["|", "x*", r"\b", "^", "$", "", r"x|\B", "(?m)^", "a?b?", r"\b[^x]?"])
def test_a_separator_that_matches_nothing_at_all_is_refused(separator: str) -> None:
    with pytest.raises(UsageError, match="also matches the empty string"):
        made(Split, split_field="name", separator=separator, output_fields=["a", "b"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"separator": "(", "output_fields": ["a"]}, r"option 'separator': '\(' is not a regular expression"),
        ({"separator": ",", "output_fields": []}, "option 'output_fields' is empty"),
        ({"separator": ",", "output_fields": ["a", "a"]}, "option 'output_fields' contains a column twice"),
    ],
)
def test_options_that_cannot_work(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        made(Split, split_field="name", **options)


@pytest.mark.parametrize(
    ("column", "message"), [("nam", "has no column nam"), ("tags", "is array<string>, which is not text")]
)
def test_columns_that_cannot_be_cut(column: str, message: str) -> None:
    split = made(Split, split_field=column, separator=",", output_fields=["a"])
    table = TableSchema(table="t", columns=PEOPLE.columns.append(pa.field("tags", pa.list_(pa.string()))))
    with pytest.raises(TransformError, match=message):
        split.output_schema(table)


@pytest.mark.parametrize(
    ("kind", "value", "separator", "parts"),
    [
        (pa.date32(), dt.date(2024, 5, 17), "-", ("2024", "05", "17")),
        (pa.timestamp("us"), dt.datetime(2024, 5, 17, 7, 15), "T", ("2024-05-17", "07:15", None)),
        (pa.timestamp("ns"), dt.datetime(2024, 5, 17, 7, 15, 30), "[-T]", ("2024", "05", "17T07:15:30")),
        (pa.time64("us"), dt.time(7, 15, 30, 500_000), ":", ("07", "15", "30.500")),
        (pa.int32(), 30107, "0", ("3", "1", "7")),
        (pa.int64(), -5, "-", ("", "5", None)),
        (pa.bool_(), True, "r", ("t", "ue", None)),
        (pa.decimal128(5, 2), decimal.Decimal("12.50"), r"\.", ("12", "50", None)),
        (pa.float64(), 1e10, r"\.", ("1", "0E10", None)),
        (pa.float32(), 2.5, r"\.", ("2", "5", None)),
        (pa.large_string(), "a,b", ",", ("a", "b", None)),
    ],
)
def test_values_of_other_types_are_cut_as_java_writes_them(
    kind: pa.DataType, value: Any, separator: str, parts: tuple[str | None, ...]
) -> None:
    """Only texts could be cut."""
    table = TableSchema(table="t", columns=pa.schema([("v", kind)]))
    split = made(Split, split_field="v", separator=separator, output_fields=["a", "b", "c"])
    found = [row[1:] for _, row in changed(split, [(value,), (None,)], schema=table, kinds=None)]
    assert found == [parts, (None, None, None)]


def test_bytes_that_are_no_text_are_named() -> None:
    """They ended in an error of Arrow."""
    split = made(Split, split_field="data", separator=" ", output_fields=["x"])
    rows = pa.record_batch({"data": [b"a b", b"\xff"]})
    with pytest.raises(RowError, match="the column data of the table t contains bytes that are not UTF-8"):
        list(split.apply(Batch(table="t", rows=rows)))
