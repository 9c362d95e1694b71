"""``JsonPath``: values out of JSON, and what happens when they are not there."""

import datetime as dt
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_core.errors import TransformError, UsageError
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.rows.json_document import parsed
from seatunnel_core.rows.lax_json import lax
from seatunnel_core.rows.types import arrow_type
from seatunnel_core.transforms.json_path import JsonPath
from tests.transforms.tables import CHANGES, batch_of, changed, made

DOCUMENT = """{"data": {
  "c_string": "this is a string", "c_boolean": true, "c_integer": 42, "c_float": 3.14, "c_decimal": 10.55,
  "c_date": "2023-10-29", "c_datetime": "16:12:43.459", "c_array": ["item1", "item2", "item3"], "c_null": null,
  "c_map_array": [{"c_string_1": "a", "c_string_2": "b"}, {"c_string_1": "c"}], "c row": {"x": 1, "y": [2.50, true]}
}}"""
TABLE = TableSchema(table="shop.events", columns=pa.schema([("id", pa.int64()), ("data", pa.string())]))


def column(path: Any, kind: Any = "string", name: Any = "found", **more: str) -> dict[str, Any]:
    return {"src_field": "data", "path": path, "dest_field": name, "dest_type": kind, **more}


def taken(*columns: dict[str, Any], rows: Any = ((1, DOCUMENT),), table: TableSchema = TABLE, **options: Any) -> Any:
    """The new values of each row."""
    transform = made(JsonPath, columns=list(columns), **options)
    old = len(table.columns)
    return [values[old:] for _, values in changed(transform, rows, table, kinds=None)]


@pytest.mark.parametrize(
    ("path", "kind", "value"),
    [
        ("$.data.c_string", "string", "this is a string"),
        ("$.data.c_boolean", "boolean", True),
        ("$.data.c_boolean", "string", "true"),
        ("$.data.c_integer", "int", 42),
        ("$.data.c_integer", "string", "42"),
        ("$.data.c_float", "double", 3.14),
        ("$.data.c_decimal", "decimal(4,2)", Decimal("10.55")),
        ("$.data.c_date", "date", dt.date(2023, 10, 29)),
        ("$.data.c_datetime", "time", dt.time(16, 12, 43, 459000)),
        ("$.data.c_array", "array<string>", ["item1", "item2", "item3"]),
        ("$.data.c_array[-1]", "string", "item3"),
        ("$.data.c_null", "int", None),
        (
            "$.data.c_map_array",
            "array<map<string, string>>",
            [[("c_string_1", "a"), ("c_string_2", "b")], [("c_string_1", "c")]],
        ),
        ("$..c_string_1", "array<string>", ["a", "c"]),
        ("$.data.c_map_array[?(@.c_string_1 == 'c')].c_string_1", "array<string>", ["c"]),
        ("$.data.c_array[9:]", "array<string>", []),
        ("$.data['c row']", "{x = int, y = array<string>}", {"x": 1, "y": ["2.50", "true"]}),
        ("$.data['c row'].y", "string", "[2.50,true]"),
    ],
)
def test_values_of_every_type(path: str, kind: str, value: Any) -> None:
    assert taken(column(path, kind)) == [(value,)]


@pytest.mark.parametrize(
    "several",
    [
        column("$.a; $.b", "int;array<map<string, int>>", "x;y"),
        column(["$.a", " $.b"], ["int", "array<map<string, int>>"], ["x", "y"]),
    ],
)
def test_several_at_once_and_null(several: dict[str, Any]) -> None:
    rows = [(1, '{"a": 1, "b": [{"k": 2}]}'), (2, None), (3, '{"a": null, "b": []}')]
    assert taken(several, rows=rows) == [(1, [[("k", 2)]]), (None, None), (None, [])]
    transform = made(JsonPath, columns=[several, column("$.a", name="id")])
    assert transform.output_schema(TABLE).columns.names == ["id", "data", "x", "y"]
    assert transform.output_schema(TABLE).columns.field("id").type == pa.string()


@pytest.mark.parametrize(
    ("kind", "value", "path", "wanted"),
    [
        ("bytes", b'{"a": "x"}', "$.a", "x"),
        ("array<int>", [7, 8], "$[1]", "8"),
        ("map<string, date>", [("k", dt.date(2024, 1, 2))], "$.k", "2024-01-02"),
        ("map<int, decimal(5,2)>", [(3, Decimal("1.50"))], "$['3']", "1.50"),
        ("{name = string, age = int}", {"name": "a", "age": 18}, "$[1]", "18"),
        ("array<{b = bytes}>", [{"b": b"hi"}], "$[0][0]", "aGk="),
        ("array<{b = bytes}>", [None], "$[0]", None),
        ("array<time>", [dt.time(1, 2, 3)], "$[0]", "01:02:03"),
        ("bytes", '{"ä": "ö"}'.encode(), "$.ä", "ö"),
    ],
)
def test_nested_columns_are_json_too(kind: str, value: Any, path: str, wanted: str) -> None:
    table = TableSchema(table="t", columns=pa.schema([("data", arrow_type(kind))]))
    assert taken(column(path), rows=[(value,), (None,)], table=table) == [(wanted,), (None,)]


@pytest.mark.parametrize(
    ("text", "path", "kind", "wanted"),
    [
        ("{'who': 'Ida', pages: 12}", "$.who", "string", "Ida"),
        ("{'who': 'Ida', pages: 12}", "$.pages", "int", 12),
        ("{'ok': True, 'none': None}", "$.ok", "boolean", True),
        ("{a: [1, two words, 'th\\'ree',], b: {},}", "$.a[1]", "string", "two words"),
        ("{a: [1, two words, 'th\\'ree',], b: {},}", "$.a[2]", "string", "th'ree"),
        ("[,1,,2,]", "$[1]", "int", 2),
        ('{"a" : "x\\ny", b:1.10}', "$.b", "decimal(3, 2)", Decimal("1.10")),
        ("{a: null}", "$.a", "string", None),
    ],
)
@pytest.mark.parametrize("as_bytes", [False, True])
def test_what_python_and_javascript_print_is_read(text: str, path: str, kind: str, wanted: Any, as_bytes: bool) -> None:
    """It was refused: SeaTunnel's parser of paths knows names without quotes and the like."""
    table = TableSchema(table="t", columns=pa.schema([("data", pa.binary() if as_bytes else pa.string())]))
    document = text.encode() if as_bytes else text
    entry = {"src_field": "data", "path": path, "dest_field": "found", "dest_type": kind}
    assert taken(entry, rows=[(document,)], table=table) == [(wanted,)]


@pytest.mark.parametrize(
    "text",
    [
        "{a: 1",
        "{a 1}",
        "{a: }",
        "[1 2",
        "{'a: 1}",
        "{a: 1} x",
        "{a: {b}}",
        "",
        "[" * 5000,
        "{:1}",
        "{a:1}}",
        "word",
        "<html>",
        "'a'",
    ],
)
def test_what_nobody_can_read_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"[Ee]xpect|nested|Extra data"):
        lax(text)


@given(text=st.text("{}[]:,'\"a1 \\\n", max_size=12))
def test_lax_json_ends_with_a_value_or_an_error_and_agrees_with_json(text: str) -> None:
    try:
        strict = parsed(text)
    except ValueError:
        with suppress(ValueError):
            lax(text)
    else:
        assert lax(text) == strict


BAD = [(1, '{"a": 1}'), (2, "{"), (3, '{"b": 1}'), (4, '{"a": "x"}'), (5, '{"a": NaN}')]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (1, r"table shop\.events, column data, path \$\.a, for found: { is not JSON: expected } at character 2"),
        (2, r"the path selects nothing in {'b': 1}\. With row_error_handle_way = SKIP"),
        (3, "'x' is not of type int"),
        (4, "'NaN' is not of type int"),
    ],
)
def test_what_is_not_there_fails_and_says_where(row: int, message: str) -> None:
    with pytest.raises(TransformError, match=message):
        taken(column("$.a", "int"), rows=[BAD[0], BAD[row]])


def test_rows_and_columns_that_are_wrong_can_be_left_out() -> None:
    assert taken(column("$.a", "int"), rows=BAD, row_error_handle_way="SKIP") == [(1,)]
    skipping = column("$.a", "int", column_error_handle_way="SKIP")
    assert taken(skipping, rows=BAD) == [(1,), (None,), (None,), (None,), (None,)]
    row_of_b = column("$.b", "int", "other", column_error_handle_way="skip_row")
    assert taken(skipping, row_of_b, rows=BAD) == [(None, 1)]
    transform = made(JsonPath, columns=[column("$.a", "int")], row_error_handle_way="SKIP")
    (batch,) = transform.apply(batch_of(BAD, TABLE))
    assert (batch.rows.num_rows, batch.left_out) == (1, 4)
    with pytest.raises(TransformError, match="for other"):
        taken(skipping, column("$.b", name="other"), rows=BAD)


def test_the_kinds_of_the_rows_that_stay() -> None:
    transform = made(JsonPath, columns=[column("$.a", "int")], row_error_handle_way="SKIP")
    rows = [(1, '{"a": 1}'), (2, "{"), (3, '{"a": 3}'), (4, None)]
    assert [kind for kind, _ in changed(transform, rows, TABLE, CHANGES)] == ["INSERT", "UPDATE_AFTER", "DELETE"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([], "is empty"),
        ([column("$.a"), column("$.b")], "contains a dest_field twice"),
        ([{"src_field": "data", "path": "$"}], "an entry needs dest_field"),
        ([column("$.a[")], r"the path '\$\.a\[' cannot be parsed"),
        ([column("$.a", "integer")], "dest_type of found: .* did you mean int"),
        ([column(["$.a", "$.b"], {"c": "int"}, ["x", "y"])], "2 names in dest_field require as many .* found 2 and 1"),
        ([column(["$.a"], "int", ["x", "y"])], "2 names in dest_field require as many .* found 1 and 1"),
        ([column(["$.a", 1], "int", "x")], "an entry needs path as a string"),
        ([column([], [], [])], "an entry needs path as a string"),
        (
            [column("$.a;$.b", "int", "x;y")],
            "2 names in dest_field require as many values in path and dest_type, found 2 and 1",
        ),
        ([{"src_field": "data", "path": "$.a;$.b", "dest_field": "x;y"}], "found 2 and 0"),
        ([column("$.a", column_error_handle_way="DROP")], "one of FAIL, SKIP, SKIP_ROW, found DROP"),
    ],
)
def test_columns_that_are_written_wrongly(columns: list[Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        made(JsonPath, columns=columns)


def test_columns_that_hold_no_json_are_refused_before_data_moves() -> None:
    with pytest.raises(
        TransformError, match=r"the column id of the table shop\.events is bigint, but must be a string"
    ):
        made(JsonPath, columns=[{**column("$.a"), "src_field": "id"}]).output_schema(TABLE)
    with pytest.raises(TransformError, match="has no column dat; it has id, data"):
        made(JsonPath, columns=[{**column("$.a"), "src_field": "dat"}]).output_schema(TABLE)
