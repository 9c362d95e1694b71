"""The rules of the sink ``Assert``: which hold, which do not, and which cannot be understood."""

from contextlib import nullcontext
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.sink import Sink
from seatunnel_core.connector_api.testing import commit, options_of, stage
from seatunnel_core.connector_api.testing.drive import place, sink_place
from seatunnel_core.connectors.assertion.sink import AssertSink
from seatunnel_core.errors import RuleError, UsageError
from seatunnel_core.rows.batch import ConstraintKey, TableSchema
from seatunnel_core.rows.schema_block import declared_table
from seatunnel_core.rows.types import arrow_type
from seatunnel_core.rows.values import plain
from tests.connectors.people import ROWS, SCHEMA

ADA = ROWS.slice(0, 1)


def test_a_long_value_in_a_message_says_how_much_of_it_is_not_shown() -> None:
    rows = pa.RecordBatch.from_pylist([{"name": "x" * 10_000}], pa.schema([("name", pa.string())]))
    with pytest.raises(RuleError, match=r'found "x{199}… \(9,802 more characters\), expected MAX_LENGTH 3'):
        asserted(
            field("name", {"rule_type": "MAX_LENGTH", "rule_value": 3}),
            rows,
            TableSchema(table="t", columns=rows.schema),
        )


def asserted(rules: dict[str, Any], rows: pa.RecordBatch = ROWS, schema: TableSchema = SCHEMA) -> None:
    sink = AssertSink(options_of(AssertSink, {"rules": rules}))
    sink.check_schema(schema)
    committable = stage(sink, schema, [rows], place())
    commit(sink, [committable], place())
    sink.conclude(rows.num_rows, committable.table_rows)


def field(name: str, *values: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"field_rules": [{"field_name": name, "field_value": list(values), **more}]}


def constraint(kind: str, *columns: str) -> dict[str, Any]:
    named = [{"constraint_key_column_name": column, "constraint_key_sort_type": "ASC"} for column in columns]
    return {"constraint_key_name": "u", "constraint_key_type": kind, "constraint_key_columns": named}


HOLDING = [
    field("name", {"rule_type": "NOT_NULL"}, {"rule_type": "MIN_LENGTH", "rule_value": 3}, field_type="string"),
    field("name", {"rule_type": "MAX_LENGTH", "rule_value": 12}, {"rule_type": "MIN_LENGTH", "rule_value": 0}),
    field("pay", {"rule_type": "NULL"}, field_type="decimal(10, 2)"),
    field("pay", {"equals_to": None}),
    {"row_rules": [{"rule_type": "MIN_ROW", "rule_value": 2}, {"rule_type": "MAX_ROW", "rule_value": 2}]},
    {"catalog_table_rule": {"primary_key_rule": {"primary_key_columns": ["name"]}}},
    {"tables_configs": [{"table_path": "people", **field("name")}]},
    {"tables_configs": [{"table_path": "others", "row_rules": [{"rule_type": "MAX_ROW", "rule_value": 0}]}]},
    {"table-names": ["people"]},
    {"catalog_table_rule": {"primary_key_rule": {"primary_key_columns": "name"}}},
    {"catalog_table_rule": {"constraint_key_rule": []}},
    {"tables_configs": [{"table_path": "people", "row_rules": [{"rule_type": "MIN_ROW", "rule_value": 2}]}]},
]


@pytest.mark.parametrize("rules", HOLDING)
def test_rules_that_hold(rules: dict[str, Any]) -> None:
    asserted(rules)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (field("age", {"rule_type": "NOT_NULL"}), "column 'age' of table people: found null, expected NOT_NULL"),
        (field("name", {"rule_type": "NULL"}), 'found "Ada", expected NULL'),
        (field("age", {"rule_type": "MIN", "rule_value": 37}), "found 36, expected MIN 37"),
        (field("age", {"rule_type": "MAX", "rule_value": 35.5}), "found 36, expected MAX 35.5"),
        (field("name", {"rule_type": "MIN_LENGTH", "rule_value": 4}), 'found "Ada", expected MIN_LENGTH 4'),
        (field("name", {"rule_type": "MAX_LENGTH", "rule_value": 3}), "expected MAX_LENGTH 3"),
        (field("name", {"equals_to": "Ada"}), r'found "Bob\\u001b\[2J", expected equals_to "Ada"'),
        (field("age", {"equals_to": 36}), "found null, expected equals_to 36"),
        (field("age", field_type="bigint"), "is of type int, expected bigint"),
        (field("height"), "has no column 'height'"),
        ({"row_rules": [{"rule_type": "MIN_ROW", "rule_value": 3}]}, "2 rows, expected MIN_ROW 3"),
        ({"row_rules": [{"rule_type": "MAX_ROW", "rule_value": 1}]}, "2 rows, expected MAX_ROW 1"),
        ({"table-names": ["animals"]}, "a row of table people was received; expected animals"),
        ({"table-names": "animals"}, "a row of table people was received"),
        ({"table-names": ["people", "animals"]}, "no row of table animals was received; expected people, animals"),
        ({"tables_configs": [{"table_path": "people", **field("height")}]}, "has no column 'height'"),
        (
            {"tables_configs": [{"table_path": "people", "row_rules": [{"rule_type": "MAX_ROW", "rule_value": 1}]}]},
            "2 rows of table people, expected MAX_ROW 1",
        ),
        (
            {"tables_configs": [{"table_path": "others", "row_rules": [{"rule_type": "MIN_ROW", "rule_value": 1}]}]},
            "0 rows of table others, expected MIN_ROW 1",
        ),
        (
            {"tables_configs": [{"table_path": "others", **field("nothing")}]},
            "the table others, for which rules.tables_configs has rules, was not received; received: people",
        ),
        (
            {
                "tables_configs": [
                    {"table_path": "o", "catalog_table_rule": {"primary_key_rule": {"primary_key_columns": []}}}
                ]
            },
            "the table o, .* was not received",
        ),
        (
            {"catalog_table_rule": {"constraint_key_rule": [constraint("UNIQUE_KEY", "age")]}},
            r"the keys of table people are none; expected UNIQUE_KEY u \(age\)",
        ),
        ({"catalog_table_rule": {"primary_key_rule": {"primary_key_columns": []}}}, "the primary key"),
        ({"catalog_table_rule": {"column_rule": [{"name": "name", "type": "string"}]}}, "the columns of table"),
    ],
)
def test_rules_that_do_not_hold(rules: dict[str, Any], message: str) -> None:
    with pytest.raises(RuleError, match=message) as raised:
        asserted(rules)
    assert not raised.value.retryable


@pytest.mark.parametrize(
    ("kind", "value", "rule", "number", "holds"),
    [
        ("bigint", 2**63 - 1, "MAX", 2**63 - 1, True),
        ("bigint", 2**63 - 1, "MAX", "9223372036854775806", False),
        ("bigint", 2**53, "MIN", 2**53 + 1, False),
        ("bigint", 5, "MIN", "1e400", False),
        ("bigint", 5, "MAX", "1e400", True),
        ("tinyint", -5, "MAX", -1000, False),
        ("int", 5, "MIN", 4.5, True),
        ("int", 5, "MAX", 4.5, False),
        ("decimal(38, 2)", "900000000000000000000000000000000000.01", "MIN", "9e35", True),
        ("decimal(38, 2)", "900000000000000000000000000000000000.01", "MAX", "9e35", False),
        ("decimal(38, 2)", "1.01", "MAX", "1.0099999999999999999999999", False),
        ("decimal(76, 0)", "1" + "0" * 75, "MIN", "1" + "0" * 74 + "1", False),
        ("decimal(38, 0)", "9" * 38, "MIN", "9" * 38 + ".5", False),
        ("float", 3.1, "MIN", 3.1, True),
        ("double", 0.1, "MAX", "0.1", True),
        ("double", 0.1, "MIN", "0.10000000000000002", False),
        ("double", 1.0, "MIN", "1e400", False),
    ],
)
def test_numbers_are_compared_with_all_their_digits(kind: str, value: Any, rule: str, number: Any, holds: bool) -> None:
    columns = pa.schema([("n", arrow_type(kind))])
    rows = pa.RecordBatch.from_pylist([{"n": plain(value, columns[0].type)}], columns)
    rules = field("n", {"rule_type": rule, "rule_value": number})
    with nullcontext() if holds else pytest.raises(RuleError, match=f"expected {rule} "):
        asserted(rules, rows, TableSchema(table="t", columns=columns))


@pytest.mark.parametrize(
    ("name", "rule", "message"),
    [
        ("nothing", {"rule_type": "MIN_LENGTH", "rule_value": 1}, "MIN_LENGTH counts characters .* type null$"),
        ("tags", {"rule_type": "MAX_LENGTH", "rule_value": 1}, "MAX_LENGTH counts characters or bytes, .* type map"),
        ("name", {"rule_type": "MIN", "rule_value": 1}, "MIN compares numbers, but the column is of type string$"),
        ("born", {"rule_type": "MAX", "rule_value": 1}, "MAX compares numbers, but the column is of type date$"),
        ("alive", {"rule_type": "MAX", "rule_value": 1}, "MAX compares numbers, but the column is of type boolean$"),
        ("age", {"equals_to": "abc"}, "equals_to does not have the type of the column: 'abc' is not of type int"),
        ("age", {"rule_type": "NOT_NULL", "equals_to": 2**31}, "2147483648 is not of type int"),
        ("born", {"equals_to": "yesterday"}, "'yesterday' is not of type date"),
        ("tags", {"equals_to": {"a": "x"}}, "'x' is not of type int"),
        ("pay", {"equals_to": 1.001}, r"1.001 is not of type decimal\(10, 2\)"),
        ("nothing", {"equals_to": 1}, "1 is not of type null"),
    ],
)
def test_a_rule_that_does_not_go_with_its_column_is_refused_before_there_are_rows(
    name: str, rule: dict[str, Any], message: str
) -> None:
    more = [pa.field("born", pa.date32()), pa.field("alive", pa.bool_()), pa.field("nothing", pa.null())]
    schema = TableSchema(table="people", columns=pa.schema([*SCHEMA.columns, *more]))
    sink = AssertSink(options_of(AssertSink, {"rules": field(name, rule)}))
    with pytest.raises(RuleError, match=f"column {name!r} of table people: .*{message}"):
        sink.check_schema(schema)


@pytest.mark.parametrize(
    ("rule", "number", "kind", "holds"),
    [
        ("MIN", -5, "int", False),
        ("MAX", 5, "decimal(4, 1)", False),
        ("MIN_LENGTH", 1, "string", False),
        ("MIN_LENGTH", 0, "string", True),
        ("MAX_LENGTH", 0, "bytes", True),
        ("MIN_LENGTH", 1, "int", False),
    ],
)
def test_null_is_no_number_and_has_no_characters(rule: str, number: int, kind: str, holds: bool) -> None:
    """As in SeaTunnel. A column of nulls passed whatever limits there were."""
    columns = pa.schema([("n", arrow_type(kind))])
    rows = pa.RecordBatch.from_pylist([{"n": None}], columns)
    with nullcontext() if holds else pytest.raises(RuleError, match=f"found null, expected {rule} {number}"):
        asserted(field("n", {"rule_type": rule, "rule_value": number}), rows, TableSchema(table="t", columns=columns))


@pytest.mark.parametrize(
    ("kind", "value", "length"),
    [
        ("int", -12345, 6),
        ("boolean", True, 4),
        ("date", "2024-02-29", 10),
        ("time", "07:15:00", 5),
        ("timestamp", "2024-02-29T07:15:30", 19),
        ("timestamp", "2024-02-29T07:15:00", 16),
        ("decimal(12, 2)", "100.50", 6),
        ("decimal(30, 10)", "0", 12),
        ("double", 1e10, 6),
        ("float", 1.5, 3),
    ],
)
def test_lengths_of_what_is_no_text_are_those_of_its_text(kind: str, value: Any, length: int) -> None:
    """As SeaTunnel's, which counts the characters that Java writes. They were refused."""
    columns = pa.schema([("n", arrow_type(kind))])
    rows = pa.RecordBatch.from_pylist([{"n": plain(value, columns[0].type)}], columns)
    schema = TableSchema(table="t", columns=columns)
    both = [{"rule_type": each, "rule_value": length} for each in ("MIN_LENGTH", "MAX_LENGTH")]
    asserted(field("n", *both), rows, schema)
    with pytest.raises(RuleError, match="expected MAX_LENGTH"):
        asserted(field("n", {"rule_type": "MAX_LENGTH", "rule_value": length - 1}), rows, schema)


def test_rows_are_counted_for_each_table_of_a_source_and_over_all_sources() -> None:
    """As in SeaTunnel. The rows of all tables of a source were counted together."""
    tables = [TableSchema(table=name, columns=ROWS.schema) for name in ("a", "b")]
    rules = {"row_rules": [{"rule_type": kind, "rule_value": 2} for kind in ("MIN_ROW", "MAX_ROW")]}

    def sink() -> AssertSink:
        return AssertSink(options_of(AssertSink, {"rules": rules}))

    together, apart = sink(), sink()
    together.create_tables(tables, sink_place(place()))
    together.conclude(4, {"a": 2, "b": 2})
    with pytest.raises(RuleError, match="3 rows of table b, expected MAX_ROW 2"):
        together.conclude(5, {"a": 2, "b": 3})
    with pytest.raises(RuleError, match="0 rows of table a, expected MIN_ROW 2"):
        together.conclude(2, {"b": 2})
    with pytest.raises(RuleError, match="4 rows, expected MAX_ROW 2"):
        together.conclude(4, {})  # an older checkpoint counted no tables
    for table in tables:
        apart.create_tables([table], sink_place(place()))
    with pytest.raises(RuleError, match="4 rows, expected MAX_ROW 2"):
        apart.conclude(4, {"a": 2, "b": 2})
    staged = stage(sink(), tables[0], [ROWS], place())
    assert sum(staged.table_rows.values()) == 2


def test_a_table_without_rows_has_come() -> None:
    rules = {"tables_configs": [{"table_path": "people", **field("name", {"rule_type": "NOT_NULL"})}]}
    asserted(rules, ROWS.slice(0, 0))


def test_the_characters_of_a_large_string_are_counted_and_not_its_bytes() -> None:
    columns = pa.schema([("name", pa.large_string())])
    rows = pa.RecordBatch.from_pylist([{"name": "Zoë"}], columns)
    schema = TableSchema(table="people", columns=columns)
    asserted(field("name", {"rule_type": "MAX_LENGTH", "rule_value": 3}), rows, schema)


def test_equality_of_maps_knows_no_order() -> None:
    asserted(field("tags", {"equals_to": {"b": 2, "a": 1}}), ADA)
    with pytest.raises(RuleError, match=r'found {"a":1,"b":2}, expected equals_to {"b":2,"a":2}'):
        asserted(field("tags", {"equals_to": {"b": 2, "a": 2}}), ADA)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"field_rules": [{}]}, "needs field_name"),
        (field("a", {"rule_type": "MINIMUM"}), "one of these values of rule_type: NOT_NULL"),
        (field("a", {"rule_type": "MIN"}), "MIN needs a number"),
        (field("a", {"rule_type": "MAX", "rule_value": "inf"}), "MAX needs a number as rule_value, found 'inf'"),
        (field("a", {"rule_type": "MAX", "rule_value": True}), "MAX needs a number as rule_value, found True"),
        (field("a", {"rule_type": "MIN_LENGTH", "rule_value": 1.5}), "MIN_LENGTH needs a non-negative whole number"),
        ({"row_rules": [{"rule_type": "MAX_ROW", "rule_value": "1.5"}]}, "MAX_ROW needs a non-negative .* found '1.5'"),
        ({"row_rules": [{"rule_type": "MIN_ROW", "rule_value": "1e999999999"}]}, "MIN_ROW needs a non-negative whole"),
        (field("a", field_type="integer"), "field 'a': .* did you mean int"),
        ({"row_rules": [{"rule_type": "MIN", "rule_value": 1}]}, "MIN_ROW or MAX_ROW"),
        ({"tables_configs": [{}]}, "needs table_path"),
        ({"catalog_table_rule": {"primary_key_rule": {}}}, "primary_key_rule needs primary_key_columns"),
        (
            {"catalog_table_rule": {"constraint_key_rule": [{**constraint("KEY"), "constraint_key_columns": [{}]}]}},
            "needs constraint_key_column_name",
        ),
        ({"catalog_table_rule": {"constraint_key_rule": [{}]}}, "needs constraint_key_name"),
        ({"catalog_table_rule": {"column_rule": [{"type": "int"}]}}, "each entry of column_rule needs name"),
        ({"catalog_table_rule": {"column_rule": ["id"]}}, "column_rule: expected a list of blocks"),
        ({"row_rules": "MIN_ROW"}, r"row_rules: expected a list of blocks, row_rules = \[ \{ … \} \]"),
        ({"field_rules": [{"field_name": "a", "field_value": ["NOT_NULL"]}]}, "field_value: expected a list of blocks"),
    ],
)
def test_rules_that_cannot_be_understood(rules: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        asserted(rules)


@pytest.mark.parametrize(
    ("kind", "value", "expected", "holds"),
    [
        ("string", None, "null", True),
        ("string", "a", "null", False),
        ("float_vector(3)", [1, 2, 3], "float_vector", True),
        ("float_vector(3)", [1, 2, 3], "float_vector(3)", True),
        ("float_vector(3)", [1, 2, 3], "float_vector(4)", False),
        ("float_vector", [1, 2, 3], "float_vector", True),
        ("float16_vector(3)", [1, 2, 3], "float16_vector", True),
        ("bfloat16_vector(3)", [1, 2, 3], "bfloat16_vector", True),
        ("binary_vector(8)", [1], "binary_vector", True),
        ("binary_vector(8)", [1], "float_vector", False),
        ("decimal(12, 4)", "1.5", "decimal(10, 2)", True),
        ("double", 1.5, "decimal(10, 2)", False),
        ("array<float>", [1.0], "array<double>", False),
    ],
)
def test_a_type_is_expected_of_values(kind: str, value: Any, expected: str, holds: bool) -> None:
    """``null`` was compared with the type of the column, and vectors needed their dimension."""
    columns = pa.schema([("v", arrow_type(kind))])
    rows = pa.RecordBatch.from_pylist([{"v": plain(value, columns[0].type)}], columns)
    schema = TableSchema(table="t", columns=columns)
    for rules in (
        field("v", field_type=expected),
        {"catalog_table_rule": {"column_rule": [{"name": "v", "type": expected}]}},
    ):
        of_values = "null" in expected and "catalog_table_rule" in rules
        with nullcontext() if holds or of_values else pytest.raises(RuleError, match=r"expected|NULL"):
            asserted(rules, rows, schema)


def test_a_block_stands_for_a_list_of_one() -> None:
    """Its keys were read as rules: ``'str' object has no attribute 'get'``."""
    rule = {"rule_type": "MIN_ROW", "rule_value": 2}
    asserted({"row_rules": rule, "field_rules": {"field_name": "name", "field_value": {"rule_type": "NOT_NULL"}}})
    with pytest.raises(RuleError, match="2 rows, expected MIN_ROW 3"):
        asserted({"row_rules": {**rule, "rule_value": 3}})


def test_the_name_of_a_table_is_a_rule_too() -> None:
    rule = {"table": "people"}
    asserted({"catalog_table_rule": {"table_identifier_rule": rule}})
    with pytest.raises(RuleError, match="received a table people, expected animals"):
        asserted({"catalog_table_rule": {"table_identifier_rule": {**rule, "table": "animals"}}})
    with pytest.raises(UsageError, match="catalog_name cannot be compared"):
        asserted({"catalog_table_rule": {"table_identifier_rule": {**rule, "catalog_name": "FakeSource"}}})


def test_what_the_catalog_says_of_columns_and_keys() -> None:
    columns = [
        pa.field("id", pa.int64(), nullable=False, metadata={"comment": "from the till"}),
        pa.field("age", pa.int32()),
    ]
    keys = (ConstraintKey(name="u", kind="UNIQUE_KEY", columns=("id", "age")),)
    schema = TableSchema(table="t", columns=pa.schema(columns), constraint_keys=keys)
    rows = pa.RecordBatch.from_pylist([{"id": 1, "age": 2}], schema.columns)

    def check(**changed: Any) -> None:
        first = {"name": "id", "type": "bigint", "nullable": False, "comment": "from the till", **changed}
        catalog = {
            "constraint_key_rule": [constraint("unique_key", "id", "age")],
            "column_rule": [first, {"name": "age"}],
        }
        asserted({"catalog_table_rule": catalog}, rows, schema)

    check()
    for changed in ({"nullable": True}, {"comment": "x"}, {"type": "int"}, {"name": "ids"}):
        with pytest.raises(RuleError, match="the columns of table t are id bigint not null comment 'from the till', "):
            check(**changed)


def test_what_a_schema_says_of_the_length_and_the_default_of_a_column() -> None:
    declared = [
        {"name": "id", "type": "int", "defaultValue": 7},
        {"name": "name", "type": "string", "columnLength": 20, "defaultValue": "new"},
    ]
    table = declared_table({"columns": declared})
    assert table is not None
    schema = table.schema
    rows = pa.RecordBatch.from_pylist([], schema.columns)

    def check(**changed: Any) -> None:
        second = {"name": "name", "column_length": 20, "default_value": "new", **changed}
        rule = {"column_rule": [{"name": "id", "default_value": 7}, second]}
        asserted({"catalog_table_rule": rule}, rows, schema)

    check()
    check(column_length="20")
    said = "are id int length '' default '7', name string length '20' default 'new'; expected .* name length '"
    for changed in ({"column_length": 21}, {"default_value": "old"}):
        with pytest.raises(RuleError, match=said):
            check(**changed)


def test_a_repeated_commit_of_assert_is_harmless() -> None:
    sink: Sink = AssertSink(options_of(AssertSink, {"rules": HOLDING[0]}))
    sink.prepare(sink_place(place()))
    committable = stage(sink, SCHEMA, [ROWS], place())
    for again in (False, True):
        commit(sink, [committable], place(), may_be_committed=again)
