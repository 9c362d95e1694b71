"""Every function and operator against the values that H2 gives, see ``cases.py``."""

import datetime as dt
import decimal
import math
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import evolve
from sqlglot import exp

sys.path.insert(0, str(Path(__file__).parent))

from seatunnel_core.errors import TransformError, UsageError
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.rows.java_text import java_text
from seatunnel_core.transforms.sql.call import MANY
from seatunnel_core.transforms.sql.dialect import read, shown
from seatunnel_core.transforms.sql.expression import Expressions
from seatunnel_core.transforms.sql.functions.catalog import FUNCTIONS
from seatunnel_core.transforms.sql.transform import Sql
from tests.transforms.sql.cases import read_cases
from tests.transforms.tables import batch_of, made

ONE = TableSchema(table="dual", columns=pa.schema([("one", pa.int32())]))
KINDS = {
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.float32(): "REAL",
    pa.float64(): "DOUBLE PRECISION",
    pa.string(): "CHARACTER VARYING",
    pa.bool_(): "BOOLEAN",
    pa.binary(): "BINARY VARYING",
    pa.date32(): "DATE",
    pa.time64("us"): "TIME",
    pa.timestamp("us"): "TIMESTAMP",
    pa.timestamp("us", tz="UTC"): "TIMESTAMP WITH TIME ZONE",
    pa.null(): "NULL",
}


Answer = tuple[str, str]
"""A type and a value."""


def written(value: Any, kind: pa.DataType) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        signs = (
            f"\\u{ord(sign):04x}" if sign < " " or sign in "\\" or "\uffef" < sign < "\U00010000" else sign
            for sign in value
        )
        return f"'{''.join(signs)}'"
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return java_text(value, single=kind == pa.float32())
    if isinstance(value, dt.datetime):
        text = value.replace(tzinfo=None).isoformat(" ")
        return (text.rstrip("0") if "." in text else text) + ("+00" if kind.tz else "")
    return str(value)


def agree(ours: tuple[str, str], expected: tuple[str, str]) -> bool:
    """Decimals are compared by value, doubles to the last digit but one, and a null of H2 may have any type."""
    (kind, value), (wanted_kind, wanted) = ours, expected
    if value == wanted == "null" and wanted_kind.startswith(("NULL", "NUMERIC(100000")):
        return True
    if kind.startswith("decimal") and wanted_kind.startswith(("NUMERIC", "DECIMAL")):
        return wanted == value or ("null" not in (value, wanted) and decimal.Decimal(value) == decimal.Decimal(wanted))
    if kind == wanted_kind == "DOUBLE PRECISION" and "null" not in (value, wanted):
        one, other = float(value), float(wanted)
        return value == wanted or math.isclose(one, other, rel_tol=4e-16)
    return (kind, value) == (wanted_kind, wanted)


def computed(expressions: Sequence[str], table: TableSchema = ONE, row: Sequence[Any] = (1,)) -> dict[str, Answer]:
    """Our type and value of each, as H2 writes them, ``!`` for an error. Computed together as far as none fails."""
    query = ", ".join(f"{each} AS x{at}" for at, each in enumerate(expressions))
    try:
        sql = made(Sql, query=f"SELECT {query} FROM dual")
        columns = sql.output_schema(table).columns
        (after,) = sql.apply(batch_of([row, [None] * len(row)], table))
    except (TransformError, UsageError):
        if len(expressions) == 1:
            return {expressions[0]: ("!", "")}
        half = len(expressions) // 2
        return computed(expressions[:half], table, row) | computed(expressions[half:], table, row)
    assert after.rows.schema == columns
    after.rows.validate(full=True)
    return {
        each: (KINDS.get(field.type, str(field.type)), written(column[0].as_py(), field.type))
        for each, field, column in zip(expressions, columns, after.rows.columns, strict=True)
    }


@cache
def with_columns() -> tuple[Mapping[str, str], TableSchema, Sequence[Any]]:
    """The good cases with columns in place of their literals, and the table and row that give them their values."""
    fields: list[pa.Field] = []
    row: list[Any] = []
    lifted = {}
    for each in GOOD:
        (tree,) = read(f"SELECT {each} FROM dual").outputs
        for literal in list(tree.find_all(exp.Literal)):
            if not stays(literal):
                value = Expressions(ONE.columns, ()).value(literal)
                column = exp.column(f"c{len(fields)}")
                tree = column if literal is tree else tree
                literal.replace(column)
                fields.append(pa.field(f"c{len(fields)}", value.type))
                row.append(value.constant.as_py())  # type: ignore[union-attr]
        lifted[each] = shown(tree)
    return lifted, TableSchema(table="dual", columns=pa.schema(fields)), row


def stays(literal: exp.Literal) -> bool:
    """Whether the literal has to stand in the statement itself."""
    above = literal.parent
    if isinstance(above, exp.Anonymous):
        return literal.is_string and literal.index >= IN_QUOTES.get(above.name.upper(), MANY)  # type: ignore[operator]
    if isinstance(above, exp.Like):
        return isinstance(above.parent, exp.Escape) and literal.arg_key == "expression"
    return isinstance(above, exp.DataTypeParam | exp.Escape | exp.Interval | exp.Neg)


CASES = read_cases()
ALL = [case.expression for case in CASES]
GOOD = [case.expression for case in CASES if case.expected[0] != "!"]
BAD = [case.expression for case in CASES if case.expected[0] == "!"]
IN_QUOTES = {
    **dict.fromkeys(
        (
            "DATE_TRUNC",
            "FORMATDATETIME",
            "PARSEDATETIME",
            "TO_DATE",
            "IS_DATE",
            "FROM_UNIXTIME",
            "TO_CHAR",
            "TO_BASE64",
            "FROM_BASE64",
        ),
        1,
    ),
    **dict.fromkeys(("DATEADD", "TIMESTAMPADD", "DATEDIFF", "REGEXP_LIKE"), 2),
    "REGEXP_REPLACE": 3,
    "REGEXP_SUBSTR": 4,
}
"""From which argument on a text has to stand in the statement itself."""


def test_no_expression_stands_twice() -> None:
    assert len(ALL) == len(set(ALL))


def test_every_function_has_a_case_and_stands_on_the_page() -> None:
    """Those without a case here have a test of their own: H2 has nothing like them, or no value that stays."""
    elsewhere = ("UUID", "NOW", "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "SPLIT", "ARRAY", "INNER_PRODUCT")
    elsewhere += ("MAP", "MURMUR64")  # type: ignore[assignment]
    elsewhere += tuple(  # type: ignore[assignment]
        name for name in FUNCTIONS if name.startswith(("ARRAY_", "VECTOR_")) or name.endswith("_DISTANCE")
    )
    words = set(re.findall(r"\w+", " ".join(ALL)))
    assert sorted(set(FUNCTIONS) - words) == sorted(set(elsewhere))
    page = (Path(__file__).parents[3] / "docs" / "reference" / "transforms" / "Sql.md").read_text("utf-8")
    assert [name for name in FUNCTIONS if f"`{name}`" not in page] == []
    assert f"a table of {len(ALL)} expressions" in page


def test_literals_give_the_expected_values() -> None:
    found = computed(GOOD) | {each: computed([each])[each] for each in BAD}
    assert not wrong(found)


def test_columns_with_the_same_values_give_them_too() -> None:
    lifted, table, row = with_columns()
    found = computed(list(lifted.values()), table, row)
    assert not wrong({each: found[text] for each, text in lifted.items()})


def test_rows_around_them_and_the_cuts_of_batches_change_nothing() -> None:
    """Null in every column before and behind, rows that WHERE leaves out, and slices that begin anywhere."""
    lifted, table, row = with_columns()
    columns = table.columns.append(pa.field("keep", pa.bool_()))
    schema = TableSchema(table="dual", columns=columns)
    nulls = [None] * len(row)
    rows = [[*row, True], [*nulls, None], [*row, False], [*row, True], [*nulls, False], [*row, True], [*row, True]]
    query = ", ".join(f"{each} AS x{at}" for at, each in enumerate(lifted.values()))
    sql = made(Sql, query=f"SELECT {query} FROM dual WHERE keep")
    sql.output_schema(schema)
    batch = batch_of(rows, schema)
    (alone,) = sql.apply(batch_of(rows[:1], schema))
    expected = repr(alone.rows.to_pylist()[0])
    for first, size, kept in ((0, 7, 4), (1, 6, 3), (2, 2, 1), (5, 2, 2)):
        (after,) = sql.apply(evolve(batch, rows=batch.rows.slice(first, size)))
        assert [repr(each) for each in after.rows.to_pylist()] == [expected] * kept


def test_to_char_keeps_all_digits_of_a_decimal() -> None:
    """It failed beyond 28 digits."""
    table = TableSchema(table="dual", columns=pa.schema([("n", pa.decimal128(38, 2)), ("f", pa.float64())]))
    whole = "9" * 36
    sql = made(Sql, query=f"SELECT TO_CHAR(n, '{whole}.9') AS n, TO_CHAR(f, '9') AS f FROM dual")
    sql.output_schema(table)
    digits = "-123456789012345678901234567890123456"
    (found,) = sql.apply(batch_of([[decimal.Decimal(f"{digits}.75"), 1e300]], table))
    assert found.rows.to_pylist() == [{"n": f"{digits}.8", "f": "##"}]


def wrong(found: Mapping[str, Answer]) -> list[str]:
    """What differs from the table."""
    return [
        f"{case.expression} is {found[case.expression]}, not {case.expected}"
        for case in CASES
        if case.expression in found and not agree(found[case.expression], case.expected)
    ]
