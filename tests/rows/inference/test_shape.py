"""The same rows have the same columns, whatever their order and however they are divided, and keep their values."""

import datetime as dt
import itertools
import json
import os
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seatunnel_core.connector_api.testing.drive import through_json
from seatunnel_core.rows.inference.contract import SchemaContract
from seatunnel_core.rows.inference.fitting import Fitting
from seatunnel_core.rows.inference.kinds import HELD, TYPES, kind_of, kinds_of, united
from seatunnel_core.rows.inference.looking import infer_shape
from seatunnel_core.rows.inference.shape import DEEPEST, Shape
from seatunnel_core.rows.native_json import parsed
from seatunnel_core.rows.types import arrow_type
from tests.rows.inference.json_rows import ROWS, WORDS


def unchanged(value: Any, found: Any, kind: pa.DataType) -> bool:
    """Whether a value of a row is the JSON value that was written."""
    if value is None or found is None:
        return value is found
    if isinstance(found, dict):
        return all(unchanged(value.get(part.name), found[part.name], part.type) for part in kind) and not (
            value.keys() - found.keys()
        )
    if isinstance(found, list):
        return len(value) == len(found) and all(map(unchanged, value, found, [kind.value_type] * len(found)))
    if value != value or (value == "NaN" and isinstance(found, float)):  # NaN is not equal to itself
        return str(found).lower() == "nan"
    if isinstance(found, str):
        return found == value if isinstance(value, str) else repr(parsed(found.encode())) == repr(value)
    if isinstance(found, bool) or isinstance(value, bool):
        return value is found
    if isinstance(found, float):
        return Decimal(repr(found)) == Decimal(str(value))
    if isinstance(found, int):
        return isinstance(value, int) and found == value  # a column of whole numbers has no -0
    if isinstance(found, dt.datetime):
        return found == dt.datetime.fromisoformat(value)
    return str(found) == str(value)


@pytest.mark.fuzz
@given(lines=ROWS, seed=st.integers(0, 10**6), cuts=st.lists(st.integers(0, 8), max_size=3))
@example(lines=[b'{"a":{"b":1}}', b'{"a":[1]}', b'{"a":{"b":"x"}}'], seed=1, cuts=[1, 2])
def test_any_order_and_any_division_gives_the_same_columns(lines: list[bytes], seed: int, cuts: list[int]) -> None:
    whole = infer_shape(lines)
    shuffled = random.Random(seed).sample(lines, len(lines))
    places = [0, *sorted(min(cut, len(lines)) for cut in cuts), len(lines)]
    shapes = [infer_shape(shuffled[start:end]) for start, end in itertools.pairwise(places)]
    random.Random(seed + 1).shuffle(shapes)
    united_shape = Shape()
    for shape in [*shapes, *shapes[:1]]:  # one of them a second time
        united_shape.unite(Shape.of(through_json(shape.body())))
    assert united_shape == whole
    assert united_shape.columns().equals(whole.columns())


@pytest.mark.fuzz
@settings(max_examples=int(os.environ.get("SEATUNNEL_EXAMPLES", "40")))
@given(lines=ROWS)
def test_no_value_is_changed(lines: list[bytes]) -> None:
    columns = infer_shape(lines).columns()
    fitting = Fitting(columns, SchemaContract(), "rows")
    lost: list[str] = []
    documents = [parsed(line) for line in lines]
    rows = [fitting.row(document, lost.append) for document in documents]
    assert not lost
    batch = pa.Table.from_pylist(rows, columns).to_pylist() if columns.names else rows
    for document, row in zip(documents, batch, strict=True):
        assert document.keys() <= row.keys()
        for column in columns:
            assert unchanged(document.get(column.name), row[column.name], column.type), (document, row)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ("1 2", "bigint"),
        ("1 9007199254740993", "bigint"),
        ("1 9223372036854775808", "string"),
        ("1 1.5", "double"),
        ("9007199254740992 1.5", "double"),
        ("9007199254740993 1.5", "string"),
        ("0.1 1e300", "double"),
        ("0.1 1e400", "string"),
        ("0.1234567890123456789", "string"),
        ("1 true", "string"),
        ("true false null", "boolean"),
        ('"007"', "string"),
        ("1 NaN", "double"),
        ("NaN -Infinity null", "double"),
        ('1.5 "NaN"', "double"),
        ('1 "Infinity" "-Infinity"', "double"),
        ('"NaN"', "string"),
        ('1 "nan"', "string"),
        ('9007199254740993 "NaN"', "string"),
        ('"NaN" "2024-01-31"', "string"),
        ('1 "1"', "string"),
        ("null", "string"),
        ('"2024-01-31" null', "date"),
        ('"2024-01-31" "2024-01-31T10:00:00"', "timestamp"),
        ('"2024-01-31" "x"', "string"),
        ('"2024-01-31T10:00:00Z" "2024-01-31T10:00Z"', "timestamp_tz"),
        ('"2024-01-31T10:00:00Z" "2024-01-31T10:00:00"', "string"),
        ('"2024-01-31T10:00:00+02:00"', "string"),
        ("[] [1] [2.5]", "array<double>"),
        ("[[1],[]] []", "array<array<bigint>>"),
        ('[] [1] "x"', "string"),
        ("{} null", "string"),
        ('{"b":1} {"a":1,"b":2.5}', "{a = bigint, b = double}"),
        ('{"b":1} 1', "string"),
        ('[{"a":1},{"b":true}]', "array<{a = bigint, b = boolean}>"),
    ],
)
def test_the_type_of_a_column(values: str, kind: str) -> None:
    columns = infer_shape(f'{{"x":{value}}}'.encode() for value in values.split()).columns()
    assert columns.field("x").type == arrow_type(kind)


def test_columns_stand_where_they_first_stand_in_any_row() -> None:
    lines = [b'{"id":1,"name":"x","zip":1}', b'{"id":2,"email":"e","name":"y"}', b'{"name":1}']
    assert (
        infer_shape(lines).columns().names == infer_shape(lines[::-1]).columns().names == ["id", "name", "email", "zip"]
    )


def test_what_lies_too_deep_is_a_text() -> None:
    deep = "[" * (DEEPEST + 2) + "1" + "]" * (DEEPEST + 2)
    line = f'{{"x":{deep}}}'.encode()
    columns = infer_shape([line]).columns()
    row = Fitting(columns, SchemaContract(), "rows").row(parsed(line), pytest.fail)
    for _ in range(DEEPEST):
        (row["x"],) = row["x"]
    assert row["x"] == "[[1]]"


def test_united_kinds_are_a_semilattice_and_types_hold_what_they_are_read_off() -> None:
    every = [united(kinds) for kinds in range(1 << 11)]
    assert all(united(a | b) == united(united(a) | united(b)) for a in every for b in set(every))
    for kinds, kind in TYPES.items():
        if kind != pa.string():
            assert kinds & ~HELD[kind] == 0
    words = [json.loads(word, parse_float=Decimal) for word in WORDS.split()]
    assert all(kinds_of([a, b]) == united(kind_of(a) | kind_of(b)) for a in words for b in words)
