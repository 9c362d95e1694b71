"""What ``Sql`` says of statements, expressions and rows that cannot be."""

from typing import Any

import pytest

from seatunnel_core.errors import TransformError, UsageError
from seatunnel_core.transforms.sql.transform import Sql
from tests.transforms.tables import PEOPLE, changed, made


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "a single statement SELECT"),
        ("SELECT FROM WHERE", "cannot be parsed: line 1"),
        ("SELECT TRIM(LEADING 'x') FROM t", "expected FROM after LEADING"),
        ("INSERT INTO t VALUES (1)", "a single statement SELECT"),
        ("SELECT id FROM t; SELECT name FROM t", "a single statement SELECT"),
        ("SELECT 1", "the query has no FROM"),
        ("SELECT id FROM t JOIN u ON t.id = u.id", "a JOIN or a second table is not supported.*SparkSql"),
        ("SELECT id FROM t, u", "a JOIN or a second table is not supported"),
        ("SELECT id FROM (SELECT id FROM t)", "a query inside FROM is not supported"),
        ("SELECT id FROM t TABLESAMPLE (10 PERCENT)", "FROM must be followed by only the name of a table"),
        ("SELECT a FROM t AS x(a)", "FROM must be followed by only the name of a table"),
        ("SELECT id FROM t UNION SELECT id FROM t", "a single statement SELECT"),
        ("SELECT id FROM t GROUP BY id", "GROUP BY is not supported"),
        ("SELECT DISTINCT id FROM t", "DISTINCT is not supported"),
        ("SELECT id FROM t ORDER BY id", "ORDER BY is not supported"),
        ("SELECT id FROM t LIMIT 1", "LIMIT is not supported"),
        ("SELECT id,\n  LENGHT(name) FROM t", "line 2, column 3: there is no function LENGHT; did you mean LENGTH"),
        ("SELECT SUM(id) FROM t", "SUM is not supported: .* each row of one table separately"),
    ],
)
def test_statements_that_cannot_be(query: str, message: str) -> None:
    with pytest.raises(UsageError, match=rf"option 'query'.* {message}"):
        made(Sql, query=query)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("nme", "line 1, column 8: there is no column nme; did you mean name?"),
        ("NAME", "there is no column NAME; did you mean name?"),
        ("x.id", "there is no column x"),
        ("name.first", "string has no fields"),
        ("LEFT(name)", r"LEFT at line 1, column 8 has 1 arguments, expected 2"),
        ("ABS(TRUE)", "ABS at line 1, column 8: argument 1 is boolean, but must be a number"),
        ("name + name", "string is not a number"),
        ("age + CURRENT_DATE", "date is not a number"),
        ("FORMATDATETIME(CURRENT_DATE, 'bogus')", "the pattern bogus contains the unknown letter b"),
        ("FORMATDATETIME(CURRENT_DATE, name)", "argument 2 must be a format such as .* in quotes"),
        ("FORMATDATETIME(CURRENT_TIME, 'yyyy')", "the format contains a date, but the value is a time of day"),
        ("TO_CHAR(age, '9X')", "the format 9X is unknown"),
        ("TO_CHAR(CURRENT_DATE, 'YYYY BC')", "the format YYYY BC contains the unknown element BC"),
        ("DATEADD(CURRENT_DATE, 1, 'FORTNIGHT')", "FORTNIGHT is not a unit of time; expected one of"),
        ("DATEADD(CURRENT_TIME, 1, 'DAY')", "a time of day has no DAY"),
        (
            "DATEDIFF(CURRENT_TIME, CURRENT_DATE, 'HOUR')",
            "the difference between a time of day and a date is undefined",
        ),
        ("EXTRACT(SOUL FROM CURRENT_DATE)", "SOUL is not a field; expected one of YEAR"),
        ("YEAR(CURRENT_TIME)", "a time of day has no YEAR"),
        ("YEAR(age)", "argument 1 is int, but must be a date, a time or a timestamp"),
        ("FROM_UNIXTIME(id, 'yyyy', 'Mars')", "Mars is not a time zone"),
        ("CAST(id AS DATE)", "cannot convert bigint to date"),
        ("CAST(age AS JSON)", "CAST does not support the type JSON; expected one of STRING"),
        ("REGEXP_LIKE(name, '(')", "is not a regular expression"),
        ("REGEXP_LIKE(name, 'a', 'x')", "the flag 'x' is not one of i, c, n or m"),
        ("id IN (SELECT 1)", "is not supported by the Sql transform"),
        ("name ILIKE 'a'", "is not supported by the Sql transform"),
        ("age BETWEEN SYMMETRIC 1 AND 2", "is not supported by the Sql transform"),
        ("CASE WHEN age = 1 THEN TRUE ELSE 1 END", "boolean and int have no common type"),
        ("EXPLODE(name)", "EXPLODE at line 1, column 8 is allowed only after LATERAL VIEW"),
        ("ARRAY_MAX(name)", "argument 1 is string, but must be an array"),
        ("VECTOR_NORM(name)", "must be a vector of numbers"),
        ("id, name AS id", "two columns have the name id"),
        ("123456789012345678901234567890123456789", "more than 38 digits"),
    ],
)
def test_expressions_that_do_not_fit_the_columns(expression: str, message: str) -> None:
    with pytest.raises(TransformError, match=f"Sql: .*{message}"):
        made(Sql, query=f"SELECT {expression} FROM t").output_schema(PEOPLE)


@pytest.mark.parametrize(
    ("view", "message"),
    [
        ("EXPLODE(name) AS x", "EXPLODE needs an array, but name is not an array"),
        ("EXPLODE(SPLIT(name, ' '))", "EXPLODE needs one column name"),
        ("UPPER(name) AS x", "must be followed by \\[OUTER\\] EXPLODE"),
    ],
)
def test_lateral_views_that_cannot_be(view: str, message: str) -> None:
    with pytest.raises(TransformError, match=f"Sql: .*{message}"):
        made(Sql, query=f"SELECT id FROM t LATERAL VIEW {view}").output_schema(PEOPLE)


@pytest.mark.parametrize(
    ("expression", "row", "message"),
    [
        ("CAST(name AS INT)", (1, "x", 0), r"CAST\(name AS INT\) at line 1, column 13 has no result for 'x'"),
        ("100 / age", (1, "x", 0), "100 / age at line 1, column 8 has no result for 100, 0: divide by zero"),
        ("age * age", (1, "x", 2**20), "has no result for 1048576, 1048576: overflow"),
        ("LN(age)", (1, "x", 0), "LN at line 1, column 8 has no result for 0.0"),
        ("REGEXP_REPLACE(name, 'x', '$1')", (1, "x", 0), "refers to a group that the pattern does not have"),
    ],
)
def test_a_row_without_a_result_is_named(expression: str, row: tuple[Any, ...], message: str) -> None:
    rows = [(0, "1", 1), (0, None, None), row, (0, "1", 1)]
    with pytest.raises(TransformError, match=message):
        changed(made(Sql, query=f"SELECT {expression} AS x FROM t"), rows, kinds=None)
