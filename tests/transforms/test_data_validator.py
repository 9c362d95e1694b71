"""``DataValidator``: which values hold which rule, and what becomes of rows that do not."""

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.errors import TransformError, UsageError
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.transforms.data_validator import DataValidator
from tests.transforms.tables import CHANGES, PEOPLE, ROWS, batch_of, changed, made

EMAIL = r"^[\w-\.]+@([\w-]+\.)+[\w-]{2,4}$"
DAY = datetime.date(2026, 1, 2)


def rule(kind: str, **rest: Any) -> dict[str, Any]:
    return {"field_name": "v", "rule_type": kind, **rest}


UDF = rule("UDF", function_name="EMAIL")
"""Was refused, though it is no jar: SeaTunnel has it built in."""


@pytest.mark.parametrize(
    ("kind", "values", "written", "held"),
    [
        (pa.string(), ["a", "", None], rule("NOT_NULL"), [True, True, False]),
        (pa.int32(), [-1, 0, 150, 151, None], rule("range", min_value=0, max_value="150"), [0, 1, 1, 0, 1]),
        (pa.int64(), [0, 1], rule("RANGE", min_value=0, min_inclusive=False), [0, 1]),
        (pa.int8(), [9, 10], rule("RANGE", max_value=10, max_inclusive="false"), [1, 0]),
        (pa.int32(), [1, 2], rule("RANGE", min_value=1.5), [0, 1]),
        (pa.int8(), [1, 127], rule("RANGE", max_value=1000), [1, 1]),
        (pa.float64(), [0.1, 0.3, float("nan")], rule("RANGE", min_value=0.2, max_value=1), [0, 1, 0]),
        (pa.decimal128(5, 2), [Decimal("1.50"), Decimal("1.51")], rule("RANGE", max_value="1.5"), [1, 0]),
        (pa.date32(), [DAY, datetime.date(2025, 12, 31)], rule("RANGE", min_value="2026-01-01"), [1, 0]),
        (pa.string(), ["b", "a"], rule("RANGE", min_value="b"), [1, 0]),
        (pa.string(), ["é", "éé", "ééé", None], rule("LENGTH", min_length=2, max_length=2), [0, 1, 0, 1]),
        (pa.binary(), ["é".encode(), b"x"], rule("LENGTH", exact_length=2), [1, 0]),
        (pa.list_(pa.int8()), [[], [1], None], rule("LENGTH", min_length="1"), [0, 1, 1]),
        (pa.string(), ["a@b.de", "a@b", "x a@b.de", "a@b.de\n"], rule("REGEX", pattern=EMAIL), [1, 0, 0, 0]),
        (pa.string(), ["a@b.de", " é+x@b.de ", "", "  ", None, f"{'x' * 63}@b.de"], UDF, [1, 1, 1, 1, 1, 1]),
        (pa.string(), ["a@b", "@b.de", "a@b@c.de", "a b", "a'@b.de", "a@ü.de", f"{'x' * 64}@b.de"], UDF, [0] * 7),
        (pa.string(), [f"a@{'b' * 249}.de", f"a@{'b' * 250}.de"], UDF, [1, 0]),
        (pa.string(), ["ab", "AB", "abc"], rule("REGEX", pattern="a|ab", case_sensitive=False), [1, 1, 0]),
    ],
)
def test_rules(kind: pa.DataType, values: list[Any], written: dict[str, Any], held: list[int]) -> None:
    schema = TableSchema(table="t", columns=pa.schema([("n", pa.int32()), ("v", kind)]))
    validator = made(DataValidator, field_rules=[written], row_error_handle_way="SKIP")
    kept = [row[0] for _, row in changed(validator, list(enumerate(values)), schema, kinds=None)]
    assert kept == [at for at, holds in enumerate(held) if holds]


def test_rows_that_break_a_rule_are_left_out_with_their_kinds() -> None:
    rules = [{"field_name": "age", "rules": [{"rule_type": "NOT_NULL"}, {"rule_type": "RANGE", "max_value": 20}]}]
    validator = made(DataValidator, field_rules=rules, row_error_handle_way="SKIP")
    assert validator.output_schema(PEOPLE) == PEOPLE
    rows = [(1, "a", 21), (2, "b", 20), (3, "c", None), (4, "d", 1)]
    assert changed(validator, rows, kinds=CHANGES) == [("UPDATE_BEFORE", rows[1]), ("DELETE", rows[3])]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (
            [{"field_name": "age", "rule_type": "RANGE", "min_value": 0, "max_value": 9, "max_inclusive": False}],
            "a row of the table shop.people violates 1 rule: age: 20 is not at least 0 and less than 9. With",
        ),
        (
            [
                {"field_name": "name", "rule_type": "LENGTH", "max_length": 2},
                {"field_name": "age", "rule_type": "NOT_NULL"},
                {"field_name": "id", "rule_type": "RANGE", "min_value": 5, "custom_message": "too small"},
            ],
            "violates 2 rules: name: the length of 'Joy Ding' is not at most 2; id: too small. With",
        ),
        (
            [{"field_name": "name", "rule_type": "REGEX", "pattern": "[a-z]+"}],
            "name: 'Joy Ding' does not match [a-z]+. With row_error_handle_way = SKIP such rows are skipped",
        ),
        ([{"field_name": "name", "rule_type": "NOT_NULL"}], "name: the value is null"),
    ],
)
def test_a_row_that_breaks_rules_is_reported(rules: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(TransformError) as raised:
        changed(made(DataValidator, field_rules=rules))
    assert message in str(raised.value)


def test_good_rows_pass() -> None:
    rows = [(1, "a", 1), (2, None, 2), (3, "c", 3), (4, "d", 4)]
    validator = made(DataValidator, field_rules=[{"field_name": "age", "rule_type": "NOT_NULL"}])
    assert [row for _, row in changed(validator, rows)] == rows


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"rule_type": "NOT_NULL"}, "an entry needs field_name"),
        ({"field_name": "a"}, "rule_type must be one of NOT_NULL, RANGE, LENGTH, REGEX, UDF, found None"),
        ({"field_name": "a", "rule_type": "OWN"}, "found 'OWN'; for other rules, use the Python transform"),
        ({"field_name": "a", "rule_type": "UDF"}, "column a: UDF needs function_name"),
        (
            {"field_name": "a", "rule_type": "UDF", "function_name": "PHONE"},
            "expected function_name = EMAIL, found 'PHONE'; for other rules, use the Python transform",
        ),
        ({"field_name": "a", "rule_type": "RANGE"}, "column a: RANGE needs min_value or max_value"),
        ({"field_name": "a", "rule_type": "LENGTH", "min_length": "x"}, "LENGTH: expected a whole number, found 'x'"),
        ({"field_name": "a", "rule_type": "REGEX", "pattern": "("}, r"'\(' is not a regular expression"),
        ({"field_name": "a", "rules": ["NOT_NULL"]}, "column a: rules must be a list of blocks"),
        ({"field_name": "a", "rules": []}, "no rule is set"),
    ],
)
def test_rules_that_are_written_wrongly(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=f"option 'field_rules'.*{message}"):
        made(DataValidator, field_rules=[entry])


def routing(**options: Any) -> Transform:
    rules = [
        {"field_name": "name", "rule_type": "NOT_NULL"},
        {"field_name": "age", "rules": [{"rule_type": "NOT_NULL", "custom_message": 'no "age"'}]},
    ]
    return made(DataValidator, field_rules=rules, row_error_handle_way="ROUTE_TO_TABLE", **options)


def test_rows_that_break_a_rule_become_rows_of_another_table() -> None:
    validator = routing(error_table="bad.rows")
    schemas = validator.output_schemas(PEOPLE)
    assert [schema.table for schema in schemas] == ["shop.people", "bad.rows"]
    good, bad = validator.apply(batch_of(ROWS, kinds=CHANGES))
    assert (good.table, good.rows.num_rows, good.left_out, len(good.kinds or ())) == ("shop.people", 3, 0, 3)
    assert bad.rows.schema == schemas[1].columns
    assert (bad.table, bad.kinds) == ("bad.rows", None)
    (row,) = bad.rows.to_pylist()
    assert abs(row.pop("create_time") - datetime.datetime.now()) < datetime.timedelta(minutes=1)
    assert row == {
        "source_table_id": "shop.people",
        "source_table_path": "shop.people",
        "original_data": '{"id":2,"name":null,"age":null}',
        "validation_errors": '[{"field_name":"name","error_message":"the value is null"},'
        '{"field_name":"age","error_message":"no \\"age\\""}]',
    }
    assert list(validator.apply(bad)) == [bad]
    assert validator.output_schemas(schemas[1]) == (schemas[1],)


def test_only_tables_with_bad_rows_give_any_to_the_table_of_errors() -> None:
    (only,) = routing(error_table="bad").apply(batch_of(ROWS[:2]))
    assert (only.table, only.rows.num_rows) == ("shop.people", 2)


def test_the_table_of_errors_has_a_name_of_its_own() -> None:
    with pytest.raises(UsageError, match="ROUTE_TO_TABLE needs row_error_handle_way"):
        routing()
    with pytest.raises(TransformError, match="is already an input; set another name"):
        routing(error_table="shop.people").output_schemas(PEOPLE)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"field_name": "nam", "rule_type": "NOT_NULL"}, "has no column nam; it has id, name, age"),
        (
            {"field_name": "age", "rule_type": "RANGE", "min_value": "x"},
            "age, which is int, does not support 'x' as a bound",
        ),
        ({"field_name": "age", "rule_type": "LENGTH", "min_length": 1}, "LENGTH needs .* the column age is int"),
        (
            {"field_name": "age", "rule_type": "REGEX", "pattern": "x"},
            "REGEX needs a string, but the column age is int",
        ),
    ],
)
def test_columns_that_do_not_fit(written: dict[str, Any], message: str) -> None:
    with pytest.raises(TransformError, match=rf"DataValidator: the table shop\.people.*{message}"):
        made(DataValidator, field_rules=[written]).output_schema(PEOPLE)
