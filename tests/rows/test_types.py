"""Names of types, schema blocks, and plain values."""

import datetime as dt
import decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seatunnel_core.config import document
from seatunnel_core.config.file import parse
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables
from seatunnel_core.rows.schema_block import declared_table, table_schema
from seatunnel_core.rows.types import SIMPLE, VECTORS, arrow_type, type_name
from seatunnel_core.rows.values import plain

NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True)
SIMPLE_TYPES = st.one_of(
    st.sampled_from(list(SIMPLE.values())),
    st.tuples(st.integers(1, 38), st.integers(0, 10)).map(lambda pair: pa.decimal128(max(pair), min(pair))),
)
VECTOR_TYPES = st.one_of(
    st.tuples(st.sampled_from(["float_vector", "float16_vector", "bfloat16_vector"]), st.integers(1, 99)),
    st.tuples(st.just("binary_vector"), st.integers(1, 99).map(lambda count: count * 8)),
).map(lambda pair: arrow_type(f"{pair[0]}({pair[1]})"))
TYPES = st.recursive(
    SIMPLE_TYPES | VECTOR_TYPES,
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


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=4, unique=True))
@example(["a(b", 'a"b', "a\\", ""])
@example(["a.b", "A.B", "\u00a0x", "\n"])
def test_a_field_of_a_row_may_have_any_name(names: list[str]) -> None:
    kind = pa.struct([(name, pa.list_(pa.int32())) for name in names])
    assert arrow_type(type_name(kind)).equals(kind)


@pytest.mark.parametrize("name", VECTORS)
def test_a_vector_takes_the_dimension_that_stands_beside_it(name: str) -> None:
    assert type_name(arrow_type(name.upper(), {name: 16})) == f"{name}(16)"
    assert type_name(arrow_type(f"{name}(24)", {name: 16})) == f"{name}(24)"
    found = table_schema({"columns": [{"name": "v", "type": name, "columnScale": "32"}]})
    assert found is not None
    assert type_name(found.columns.field("v").type) == f"{name}(32)"


def test_types_of_equal_look_are_distinguished() -> None:
    """Each type has an Arrow type of its own, so that a sink knows what it gets."""
    names = ["array<float>", "float_vector(4)", "float16_vector(4)", "bfloat16_vector(4)", "binary_vector(32)"]
    kinds = {arrow_type(name) for name in [*SIMPLE, *names, "map<int, float>", "array<tinyint>"]}
    assert len(kinds) == len(SIMPLE) + len(names) + 2


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("DECIMAL(10,2)", "decimal(10, 2)"),
        ("map<string, {c_int = int, c_string = string}>", "map<string, {c_int = int, c_string = string}>"),
        ('{"a":"int"}', "{a = int}"),
        ("row<a int, b string>", "{a = int, b = string}"),
        ('{"unit price": "int", \'it"s\' = int}', '{"unit price" = int, "it\\"s" = int}'),
        ("sparse_float_vector", "sparse_float_vector"),
        ({"a": "int", "b": {"c": "array<int>"}}, "{a = int, b = {c = array<int>}}"),
        ('array<{a=int,b="decimal(3, 1)"}>', "array<{a = int, b = decimal(3, 1)}>"),
        ("map<string, {kind = string\nweight = double}>", "map<string, {kind = string, weight = double}>"),
        ("{\n  a = int\n  b : {c = date\n\n}\n,\n d = array<int>,\n}", "{a = int, b = {c = date}, d = array<int>}"),
        ("row<a = int\nb = string>", "{a = int, b = string}"),
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
        ("decimal(3, 5)", "must not be larger than the precision"),
        ("map<int>", "write it as map<string, int>"),
        ("int int", "unexpected 'int' in the type"),
        ("", "found the end"),
        ("{a = int, a = int}", "more than once"),
        ({}, "no field"),
        (3, "expected the name of a type"),
        (None, 'in quotes: "null"'),
        ("map<null, int>", "would all be null"),
        ("bfloat16_vector", "columnScale = 8"),
        ("float_vector(0)", "has 1 to"),
        ("binary_vector(12)", "multiple of 8"),
        ("float_vector(x)", r"write it as float_vector\(8\)"),
        ("flot_vector(4)", "did you mean float_vector"),
        ("decimal(9999999999)", "expected a whole number"),
        ('{"a\\q" = int}', "an invalid JSON escape"),
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


@pytest.mark.parametrize("written", ["b,a", " b , a ", ["b", "a"]])
def test_the_columns_of_a_key_are_a_list_or_one_text(written: Any) -> None:
    found = table_schema({"fields": {"a": "int", "b": "int"}, "primaryKey": {"columnNames": written}})
    assert found is not None
    assert found.primary_key == ("b", "a")


EXAMPLE = """
schema {
  table = "shop.Orders"
  schema_first = false
  comment = "what was ordered"
  partition_keys = [dt]
  columns = [
    { name = Id, type = bigint, nullable = false, columnLength = 20, defaultValue = 0, comment = "primary key" }
    { name = "Unit.Price €", type = double, nullable = yes, columnScale = 2 }
    { name = "of null", type = "null" }
    { name = parts, type = { "a b" = int, "c.d" = "map<string, { \\"e f\\": int }>" } }
  ]
  primaryKey { name = pk, columns = [Id] }
  constraintKeys = [
    { constraintName = u, constraintType = UNIQUE_KEY, constraintColumns = [{ columnName = Id, sortType = DESC }] }
    { constraintName = k, constraintColumns = [{ columnName = "of null" }, { columnName = Id }] }
  ]
}
"""


def schema_of(text: str) -> Any:
    """A schema block as a plugin gets it from a job file."""
    written = document.plain(parse(text, "job.conf", Variables({}, {}), Problems()), textual=True)
    return written["schema"]


def test_a_block_with_everything_in_it() -> None:
    found = declared_table(schema_of(EXAMPLE))
    assert found is not None
    assert (found.schema.table, found.schema.primary_key) == ("shop.Orders", ("Id",))
    assert found.schema.comment == "what was ordered"
    assert [(key.name, key.kind, key.columns) for key in found.schema.constraint_keys] == [
        ("u", "UNIQUE_KEY", ("Id",)),
        ("k", "KEY", ("of null", "Id")),
    ]
    assert found.schema.unique_key == ("Id",)
    assert [field.metadata for field in found.schema.columns] == [
        {b"comment": b"primary key", b"length": b"20", b"default": b"0"},
        None,
        None,
        None,
    ]
    shown = [(column.field.name, type_name(column.field.type), column.field.nullable) for column in found.columns]
    assert shown == [
        ("Id", "bigint", False),
        ("Unit.Price €", "double", True),
        ("of null", "null", True),
        ("parts", '{"a b" = int, c.d = map<string, {"e f" = int}>}', True),
    ]
    assert [(column.length, column.scale, column.default) for column in found.columns] == [
        (20, None, "0"),
        (None, 2, None),
        (None, None, None),
        (None, None, None),
    ]


def test_fields_keep_names_with_any_sign() -> None:
    found = table_schema(schema_of('schema { fields { "a.b" = int, "a b" = string, A = int, a = int, "ü{" = date } }'))
    assert found is not None
    assert found.columns.names == ["a.b", "a b", "A", "a", "ü{"]


@pytest.mark.parametrize("block", [None, {}, {"fields": {}}, {"table": "t"}])
def test_a_schema_may_be_empty(block: Any) -> None:
    assert table_schema(block) is None


def constraint(**changes: Any) -> dict[str, Any]:
    return {"constraintName": "k", "constraintColumns": [{"columnName": "id"}], **changes}


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"fields": {"id": "itn"}}, "column 'id': .*did you mean int"),
        ({"fields": {"id": "int"}, "columns": [{"name": "id", "type": "int"}]}, "not both"),
        ({"fields": ["id"]}, "must be a block"),
        ({"columns": {"id": "int"}}, "must be a list"),
        ({"columns": [{"name": "id"}]}, "column 1 .* needs a name and a type"),
        ({"columns": [{"name": "id", "type": "int", "defaultValue": 0}]}, "defaultValue has no effect here"),
        ({"columns": [{"name": "id", "type": "int"}] * 2}, "more than once"),
        ({"fields": {"id": "int"}, "primaryKey": {"columnNames": ["di"]}}, "primary key contains"),
        ({"fields": {"id": "int"}, "primaryKey": "id"}, "primaryKey must be a block"),
        ({"fields": {"id": "int"}, "primaryKey": {"name": "pk"}}, "contains no column"),
        ({"fields": {"id": "int"}, "primaryKey": {"columnNames": ","}}, "contains no column"),
        ({"fields": {"id": "int"}, "primaryKey": {"columnNames": [["id"]]}}, "expected text"),
        ({"fields": {"id": "int"}, "primaryKey": {"columnNames": ["id", "id"]}}, "more than once"),
        ({"fields": {"id": "int"}, "primaryKey": {"column": ["id"]}}, "primaryKey contains no column"),
        ({"metadata_table_id": "a.b.c"}, "needs a metadata service"),
        ({"columns": [{"name": "id", "type": "int", "nullable": "maybe"}]}, "nullable must be true or false"),
        ({"columns": [{"name": "id", "type": "int", "columnScale": "-1"}]}, "columnScale must be a whole number"),
        ({"columns": [{"name": "v", "type": "binary_vector"}]}, "column 'v': .*columnScale = 8"),
        *(
            ({"fields": {"id": "int"}, "constraintKeys": keys}, message)
            for keys, message in [
                ({"constraintName": "k"}, "must be a list"),
                (["k"], "key 1 .* needs a name and columns"),
                ([constraint(constraintType="UNIQ")], "'k': constraintType must be one of .*UNIQUE_KEY"),
                ([constraint(constraintColumns=["id"])], "columnName = id"),
                (
                    [constraint(constraintColumns=[{"columnName": "di"}])],
                    "'k' contains .*di.* not columns of the table",
                ),
                ([constraint(constraintColumns=[{"columnName": "id", "sortType": "UP"}])], "ASC or DESC, found 'UP'"),
            ]
        ),
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
        ([1, "2.5"], "float_vector(2)", [1.0, 2.5]),
        ("[1.0, -2]", "bfloat16_vector(2)", [0x3F80, 0xC000]),
        ([255, 0], "binary_vector(16)", [255, 0]),
        ("/wA=", "binary_vector(16)", [255, 0]),
        ({"7": 0.5}, "sparse_float_vector", [(7, 0.5)]),
    ],
)
def test_plain_values(value: Any, name: str, wanted: Any) -> None:
    assert plain(value, arrow_type(name)) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "2024/05/01 09:05:06",
        "2024.05.01 09:05:06.000",
        "2024/5/1 9:05:06",
        "2024-5-1 9:05:06",
        "20240501090506",
        "2024年05月01日 09时05分06秒",
    ],
)
def test_forms_of_moments_that_seatunnel_knows_besides(text: str) -> None:
    """They were refused, and a source such as Kafka has no option that names the form."""
    assert plain(text, arrow_type("timestamp")) == dt.datetime(2024, 5, 1, 9, 5, 6)
    assert plain(text[: text.find(" ")] if " " in text else text[:8], arrow_type("date")) == dt.date(2024, 5, 1)


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
        ("2023/13/22 23:20:58", "timestamp"),
        # Python cuts off digits below a microsecond without a word.
        ("2023-04-22T23:20:58.123456789", "timestamp"),
        ("2023/04/22 23:20:58.1234567", "timestamp"),
        ("2023-04-22T23:20:58.1234567Z", "timestamp_tz"),
        ("23:20:58.1234567", "time"),
        ("23:20:58Z", "time"),
        ("23:20:58+02:00", "time"),
        *((text, kind) for text in ("1_0", "１２") for kind in ("int", "double", "decimal(5, 1)")),
        ("2023/04-22", "date"),
        ("٢٠٢٣/04/22", "date"),
        ("20230422232058", "date"),
        ("2023-04-22T23:20:58", "timestamp_tz"),
        ("x", "array<int>"),
        ([1, 2], "{a = int}"),
        (["x"], "array<int>"),
        (0, "null"),
        ([1.0], "float_vector(2)"),
        ([1.0, None], "float_vector(2)"),
        (3, "float_vector(2)"),
        ([1e39, 0], "bfloat16_vector(2)"),
        ([256], "binary_vector(8)"),
        ("AAA=", "binary_vector(8)"),
        ({"-1": 0.5}, "sparse_float_vector"),
    ],
)
def test_a_value_that_is_not_of_its_type(value: Any, name: str) -> None:
    with pytest.raises(ValueError, match="is not of type"):
        plain(value, arrow_type(name))


def test_zeros_below_a_microsecond_are_no_digits() -> None:
    assert plain("2023-04-22T23:20:58.123456000", arrow_type("timestamp")) == dt.datetime(
        2023, 4, 22, 23, 20, 58, 123456
    )
